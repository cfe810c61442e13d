// SPDX-License-Identifier: GPL-2.0-only
/* What the subcommands online, offline and set have in common */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "change.h"
#include "last.h"
#include "look.h"
#include "select.h"
#include "sets.h"
#include "smt.h"

/* At most so many messages name a task each; one more message counts the tasks that are left. */
#define MOST_SENTENCES	8

struct change {
	struct invocation *call;
	struct cpubolt *machine;
	enum cpubolt_op op;
	struct selection selection;
	bool dry_run, force, no_check, quiet;
	cpu_set_t *cpus;		/* the CPUs that the request names */
	cpu_set_t *online, *after;	/* online now, online afterwards */
	cpu_set_t *coming, *going;	/* CPUs that change */
};

static int read_cores(const char *text, unsigned int *cores)
{
	unsigned long value;
	char *end;

	if (!parse_number(text, 1, 1U << 20, &value, &end) || *end)
		return fail(EXIT_USAGE, "\"%s\" is no number of cores", text);
	*cores = value;
	return EXIT_DONE;
}

static int read_smt(enum cpubolt_op op, const char *text, enum smt_choice *smt)
{
	if (!strcmp(text, "off") && op != CPUBOLT_BRING_ONLINE)
		*smt = SMT_OFF;
	else if (!strcmp(text, "on") && op != CPUBOLT_TAKE_OFFLINE)
		*smt = SMT_ON;
	else if (!strcmp(text, "on"))
		return fail(EXIT_USAGE, "\"offline\" takes --smt off only");
	else if (!strcmp(text, "off"))
		return fail(EXIT_USAGE, "\"online\" takes --smt on only");
	else
		return fail(EXIT_USAGE, "--smt is \"on\" or \"off\", not \"%s\"", text);
	return EXIT_DONE;
}

static int read_option(struct change *change, int option)
{
	struct selection *selection = &change->selection;

	switch (option) {
	case 'c':
		return read_cores(optarg, &selection->cores);
	case 'p':
		selection->packages = optarg;
		return EXIT_DONE;
	case 'N':
		selection->nodes = optarg;
		return EXIT_DONE;
	case 's':
		return read_smt(change->op, optarg, &selection->smt);
	case 'k':
		selection->keep = optarg;
		return EXIT_DONE;
	case 'n':
		change->dry_run = true;
		return EXIT_DONE;
	case 'f':
		change->force = true;
		return EXIT_DONE;
	case 'C':
		change->no_check = true;
		return EXIT_DONE;
	case 'q':
		change->quiet = true;
		return EXIT_DONE;
	}
	return EXIT_USAGE;
}

static int read_options(struct change *change, const struct help *help, bool *done)
{
	static const char letters[] = "c:fhk:nN:p:q";
	static const struct option options[] = {
		{ "cores", required_argument, NULL, 'c' },
		{ "dry-run", no_argument, NULL, 'n' },
		{ "force", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ "keep", required_argument, NULL, 'k' },
		{ "no-check", no_argument, NULL, 'C' },
		{ "node", required_argument, NULL, 'N' },
		{ "package", required_argument, NULL, 'p' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "smt", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 }
	};
	struct invocation *call = change->call;
	int option;

	while ((option = getopt_long(call->argc, call->argv, letters, options, NULL)) != -1) {
		if (option == 'h') {
			*done = true;
			return print_help(call, help);
		}
		if (read_option(change, option) != EXIT_DONE)
			return fail_usage(call);
	}
	if (call->argc > optind + 1) {
		complain("only one list of CPUs is allowed: \"%s\" is a second list",
			 call->argv[optind + 1]);
		return fail_usage(call);
	}
	if (change->op != CPUBOLT_SET_ONLINE && change->selection.cores &&
	    change->selection.smt != SMT_ANY) {
		complain("\"%s\" takes --cores or --smt, not both", call->name);
		return fail_usage(call);
	}
	change->selection.list = call->argv[optind];
	if (!change->selection.list && !selection_needs_topology(&change->selection)) {
		complain("which CPUs? A list such as 2-3 is missing, or an option such as --node");
		return fail_usage(call);
	}
	return EXIT_DONE;
}

/* A CPU whose hotplug has stopped half-way can go offline as well as come online. */
static void add_halfway(struct change *change, cpu_set_t *cpus)
{
	cpu_set_t *present = set_new(change->machine, CPUBOLT_PRESENT);
	unsigned int cpu;

	for_each_cpu(change->machine, cpu, present)
		if (cpubolt_state(change->machine, cpu) == CPUBOLT_STATE_HALFWAY)
			CPU_SET_S(cpu, cpubolt_set_size(change->machine), cpus);
	CPU_FREE(present);
}

/* Finds which CPUs change, and which are online afterwards. */
static void plan(struct change *change)
{
	struct cpubolt *machine = change->machine;
	size_t size = cpubolt_set_size(machine);

	change->online = set_new(machine, CPUBOLT_ONLINE);
	change->coming = set_copy(machine, change->cpus);
	change->going = set_copy(machine, change->online);
	add_halfway(change, change->going);
	set_minus(machine, change->coming, change->online);
	switch (change->op) {
	case CPUBOLT_BRING_ONLINE:
		CPU_ZERO_S(size, change->going);
		break;
	case CPUBOLT_TAKE_OFFLINE:
		CPU_ZERO_S(size, change->coming);
		set_and(machine, change->going, change->cpus);
		break;
	case CPUBOLT_SET_ONLINE:
		set_minus(machine, change->going, change->cpus);
		break;
	}
	change->after = set_copy(machine, change->online);
	set_minus(machine, change->after, change->going);
	set_or(machine, change->after, change->coming);
}

/* "CPU 3" or "CPUs 2-3"; to be freed. */
static char *name_cpus(struct cpubolt *machine, const cpu_set_t *cpus)
{
	char *list = set_text(machine, cpus), *text;

	if (asprintf(&text, "CPU%s %s", set_count(machine, cpus) == 1 ? "" : "s", list) < 0)
		exit(fail(EXIT_FAILED, "no memory"));
	free(list);
	return text;
}

/*
 * Complains of those CPUs of @cpus that are in the set @which, if @members is true, or else of
 * those that are not in the set. Returns whether there are such CPUs.
 */
static bool refuse(struct change *change, const cpu_set_t *cpus, enum cpubolt_which which,
		   bool members, const char *why)
{
	cpu_set_t *named = set_copy(change->machine, cpus);
	cpu_set_t *other = set_new(change->machine, which);
	char *text;

	if (members)
		set_and(change->machine, named, other);
	else
		set_minus(change->machine, named, other);
	CPU_FREE(other);
	if (!set_count(change->machine, named)) {
		CPU_FREE(named);
		return false;
	}
	text = name_cpus(change->machine, named);
	complain("%s %s", text, why);
	free(text);
	CPU_FREE(named);
	return true;
}

/* Refuses, before any CPU has changed, a request that the kernel is known to refuse. */
static int check_cpus(struct change *change)
{
	unsigned int features = cpubolt_features(change->machine);
	bool refused = false;

	if (!(features & (CPUBOLT_HAS_HOTPLUG | CPUBOLT_HAS_BOLT)))
		return fail(EXIT_FAILED, "there is no CPU hotplug in this kernel or container");
	refused |= refuse(change, change->cpus, CPUBOLT_PRESENT, false,
			  "cannot come or go: not plugged in");
	refused |= refuse(change, change->going, CPUBOLT_FIXED, true, "cannot go offline");
	if (!set_count(change->machine, change->after)) {
		complain("no CPU would be left online");
		refused = true;
	}
	return refused ? EXIT_FAILED : EXIT_DONE;
}

static unsigned int sentences;

static void say(const char *sentence)
{
	if (sentences++ < MOST_SENTENCES)
		complain("%s", sentence);
}

static int check_tasks(struct change *change)
{
	int found;

	if (change->no_check || !set_count(change->machine, change->going))
		return EXIT_DONE;
	found = look(change->call, change->going, change->after, say);
	if (found < 0)
		return fail(EXIT_FAILED, "cannot look at the tasks in %s/proc: %s (see --no-check)",
			    change->call->root, strerror(-found));
	if (found == MOST_SENTENCES + 1)
		complain("one more task would lose its last CPU");
	else if (found > MOST_SENTENCES)
		complain("%d more tasks would lose their last CPU", found - MOST_SENTENCES);
	if (look_is_partial(change->call))
		complain("tasks outside of this container were not looked at");
	return found && !change->force ? EXIT_FAILED : EXIT_DONE;
}

/*
 * CPUs of bolt/irq_keep cannot go offline while Bolt is enabled. Only root can read the list: a dry
 * run of another user does not refuse these CPUs.
 */
static bool check_irq_keep(struct change *change)
{
	cpu_set_t *kept = set_empty(change->machine);
	char *list = NULL, *text;
	bool refused = false;
	int err = -ENOENT;

	if (cpubolt_features(change->machine) & CPUBOLT_ENABLED)
		err = cpubolt_get(change->machine, "irq_keep", &list);
	if (!err && *list)
		cpubolt_parse_list(change->machine, list, kept, NULL);
	if (err == -EOVERFLOW && set_count(change->machine, change->going))
		complain("irq_keep is longer than a page: CPUs in the list cannot go offline");
	set_and(change->machine, kept, change->going);
	if (set_count(change->machine, kept)) {
		text = name_cpus(change->machine, kept);
		complain("%s cannot go offline while listed in irq_keep", text);
		free(text);
		refused = true;
	}
	free(list);
	CPU_FREE(kept);
	return refused;
}

/*
 * Scheduler domains need a CPU that is not isolated at boot. From 7.3 on the file "isolated" also
 * has CPUs of cpuset partitions, so the file counts only if the kernel was told to isolate CPUs.
 */
static bool check_isolated(struct change *change)
{
	char *words = invocation_read(change->call, "/proc/cmdline");
	cpu_set_t *left = set_copy(change->machine, change->after);
	cpu_set_t *isolated = set_new(change->machine, CPUBOLT_ISOLATED);
	bool refused;

	set_minus(change->machine, left, isolated);
	refused = set_count(change->machine, change->going) && !set_count(change->machine, left) &&
		  words && strstr(words, "isolcpus=");
	if (refused)
		complain("only CPUs that are isolated would be left online");
	CPU_FREE(left);
	CPU_FREE(isolated);
	free(words);
	return refused;
}

/* While SMT is switched off, the kernel brings only the first CPU of a core online. */
static bool check_smt(struct change *change)
{
	struct cpubolt_topology topology;
	bool refused = false, unknown = false;
	unsigned int cpu;

	if (!smt_is_off(change->call->root))
		return false;
	for_each_cpu(change->machine, cpu, change->coming) {
		if (cpubolt_topology(change->machine, cpu, &topology) || topology.thread < 0) {
			unknown = true;
		} else if (topology.thread) {
			complain("CPU %u cannot come online while SMT is switched off", cpu);
			refused = true;
		}
	}
	if (unknown)
		complain("SMT is switched off, so only the first CPU of a core may come online");
	return refused;
}

/* Says in which way the kernel would change the CPUs, as far as this user can see that. */
static const char *way_of_plan(unsigned int features)
{
	if (features & CPUBOLT_UNREADABLE)
		return "Only root can see whether Bolt is enabled. If it is not, the kernel would "
		       "change\none CPU after the other.";
	if (features & CPUBOLT_ENABLED)
		return "Bolt would change these CPUs in one request.";
	return "Bolt is not enabled: the kernel would change one CPU after the other.";
}

static void print_plan(struct change *change)
{
	struct cpubolt *machine = change->machine;
	char *coming = name_cpus(machine, change->coming);
	char *going = name_cpus(machine, change->going);
	unsigned int come = set_count(machine, change->coming);
	unsigned int go = set_count(machine, change->going);
	char *after = set_text(machine, change->after);

	if (come)
		printf("%s would come online.\n", coming);
	if (go)
		printf("%s would go offline.\n", going);
	if (!come && !go)
		printf("Nothing would change.\n");
	else
		puts(way_of_plan(cpubolt_features(machine)));
	printf("Online afterwards: %s\n", after);
	free(coming);
	free(going);
	free(after);
}

static int dry_run(struct change *change)
{
	int code = check_cpus(change);

	if (code == EXIT_DONE &&
	    (check_irq_keep(change) || check_isolated(change) || check_smt(change)))
		code = EXIT_FAILED;
	if (code == EXIT_DONE)
		code = check_tasks(change);
	if (code != EXIT_DONE)
		return fail(code, "the request would be refused");
	print_plan(change);
	if (geteuid() && !*change->call->root)
		puts("Only root may make this request.");
	return EXIT_DONE;
}

static void print_changed(struct change *change, const cpu_set_t *cpus, const char *how,
			  const struct cpubolt_result *result)
{
	/*
	 * The time is printed from whole numbers, because printf() takes 10 us for the first
	 * floating-point number.
	 */
	unsigned long long us10 = (result->ns + 5000) / 10000;
	char *text;

	if (!set_count(change->machine, cpus))
		return;
	text = name_cpus(change->machine, cpus);
	printf("%s %s %s, %llu.%02llu ms\n", text,
	       set_count(change->machine, cpus) == 1 ? "is" : "are", how, us10 / 100, us10 % 100);
	free(text);
}

static void report_done(struct change *change, const struct cpubolt_result *result)
{
	if (set_count(change->machine, change->coming))
		last_record(change->call, true, change->coming, result);
	if (set_count(change->machine, change->going))
		last_record(change->call, false, change->going, result);
	if (result->way == CPUBOLT_WAY_NATIVE)
		complain(cpubolt_features(change->machine) & CPUBOLT_HAS_BOLT ?
			 "Bolt is not enabled: the CPUs changed one after the other" :
			 "this kernel has no Bolt: the CPUs changed one after the other");
	if (change->quiet)
		return;
	print_changed(change, change->coming, "online", result);
	print_changed(change, change->going, "offline", result);
}

static int report_error(struct change *change, const struct cpubolt_result *result, int error)
{
	char *sentence = cpubolt_explain(change->op, result);

	complain("%s", sentence ?: strerror(-error));
	free(sentence);
	if (result->changed || *result->undo)
		return EXIT_PARTIAL;
	return exit_code_of(error);
}

/* CPUs that another program has changed back do not count as changed. */
static void forget_unchanged(struct change *change)
{
	cpu_set_t *online = set_new(change->machine, CPUBOLT_ONLINE);

	set_minus(change->machine, change->going, online);
	set_and(change->machine, change->coming, online);
	CPU_FREE(online);
}

static int report_nothing(struct change *change)
{
	if (!change->quiet)
		puts("Nothing to do: the CPUs are as wanted");
	return EXIT_DONE;
}

/* Makes the request, and says what has changed. */
static int request(struct change *change)
{
	struct cpubolt_result result;
	int error = cpubolt_request(change->machine, change->op, change->cpus, 0, &result);

	if (error)
		return report_error(change, &result, error);
	if (result.way == CPUBOLT_WAY_NONE)
		return report_nothing(change);
	/* No kernel updates the files of a recorded tree after a request. */
	if (*change->call->root)
		result.missing = 0;
	if (result.missing)
		forget_unchanged(change);
	report_done(change, &result);
	if (result.missing)
		return fail(EXIT_PARTIAL, "another program has changed %u of these CPUs back",
			    result.missing);
	return EXIT_DONE;
}

/*
 * Without Bolt the request is many writes, and a signal that ended the command between two of these
 * would leave the request half done. A signal between the request and the messages about the
 * request would leave the user without its result. So signals are held until the end.
 */
static int request_undisturbed(struct change *change)
{
	sigset_t before;
	int code;

	hold_signals(&before);
	code = request(change);
	fflush(stdout);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return code;
}

static int carry_out(struct change *change)
{
	int code;

	if (change->dry_run)
		return dry_run(change);
	code = check_cpus(change);
	if (code != EXIT_DONE)
		return code;
	/* Options may choose no CPU; select_cpus() has refused a list without CPUs. */
	if (!set_count(change->machine, change->cpus))
		return report_nothing(change);
	code = check_tasks(change);
	if (code != EXIT_DONE)
		return fail(code, "nothing has changed; --force makes the request all the same");
	return request_undisturbed(change);
}

int run_change(struct invocation *call, enum cpubolt_op op, const struct help *help)
{
	struct change change = { .call = call, .op = op };
	bool done = false;
	int code = read_options(&change, help, &done);

	if (done || code != EXIT_DONE)
		return code;
	code = invocation_open(call);
	if (code != EXIT_DONE)
		return code;
	change.machine = call->machine;
	change.cpus = set_empty(call->machine);
	code = select_cpus(call, op, &change.selection, change.cpus);
	if (code == EXIT_DONE) {
		plan(&change);
		code = carry_out(&change);
	}
	CPU_FREE(change.cpus);
	CPU_FREE(change.online);
	CPU_FREE(change.after);
	CPU_FREE(change.coming);
	CPU_FREE(change.going);
	return code;
}
