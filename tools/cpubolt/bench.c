// SPDX-License-Identifier: GPL-2.0-only
/* cpubolt bench: how long requests take on this machine, with and without Bolt */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench_cpus.h"
#include "bench_energy.h"
#include "bench_machine.h"
#include "bring.h"
#include "look.h"
#include "select.h"
#include "settings.h"
#include "sets.h"
#include "sheet.h"

#define ENABLED_FILE	"/sys/devices/system/cpu/bolt/enabled"
#define EXPEDITED_FILE	"/sys/kernel/rcu_expedited"
/* How many CPUs are used at most without --cpus. */
#define USUAL_CPUS	3
#define MOST_BATCHES	16
#define MOST_PAIRS	1000000
#define MOST_GAP_MS	60000
#define BAR_WIDTH	30
/* Defaults with --energy: long waits, as a battery's gauge has a new value once in some seconds. */
#define ENERGY_WAIT_MS	5000
#define ENERGY_PAIRS	5
#define LEAST_ENERGY_MS	100	/* RAPL's counters change once in a millisecond */
#define UNSAID		(~0UL)

static const struct help help = {
	.usage = "[options]",
	.about = "Take CPUs offline and bring these online, many times, and print how long the\n"
		 "requests take: natively, with expedited grace periods, and with Bolt. Times are\n"
		 "real time. Afterwards CPUs and settings are put back, also after Ctrl-C. A task\n"
		 "that may run only on measured CPUs loses its affinity, unless only bolt is measured\n"
		 "and bolt/keep_affinity is 1.",
	.options = " -b, --batch LIST         CPUs in a request (default: 1 and all of --cpus)\n"
		   " -c, --cpus CPULIST       use these CPUs (default: at most three, not isolated)\n"
		   " -e, --energy             also measure power, with CPUs offline and online\n"
		   " -f, --force              warn of tasks that lose their last CPU, and go on\n"
		   " -g, --gap MS             wait between two pairs (default: 50)\n"
		   " -H, --hold MS            wait while the CPUs are offline (default: 0)\n"
		   " -J, --json               print the result file, in place of the table\n"
		   " -n, --pairs N            pairs of requests per variant and batch (default: 20)\n"
		   " -o, --output FILE        write a result file, for \"bolt report\"\n"
		   " -v, --variants LIST      of native, expedited and bolt (default: all)\n"
		   "     --no-check           do not look for tasks that lose their last CPU\n"
		   HELP_OPTION_HELP,
	.examples = " cpubolt bench\n"
		    " cpubolt bench --cpus 4-7 --batch 1,2,4 --pairs 100 -o machine.json\n"
		    " cpubolt bench --variants native,bolt --gap 0\n",
};

enum {
	COLUMN_CASE, COLUMN_BATCH, COLUMN_VARIANT, COLUMN_N, COLUMN_MIN, COLUMN_MEDIAN,
	COLUMN_P90, COLUMN_P99, COLUMN_MAX, COLUMN_RATIO, COLUMN_COUNT
};

static const struct sheet_column columns[COLUMN_COUNT] = {
	[COLUMN_CASE] = { "CASE", "", 0, SCOLS_JSON_STRING, true },
	[COLUMN_BATCH] = { "CPUS", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_VARIANT] = { "VARIANT", "", 0, SCOLS_JSON_STRING, true },
	[COLUMN_N] = { "N", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_MIN] = { "MIN", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_MEDIAN] = { "MEDIAN", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_P90] = { "P90", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_P99] = { "P99", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_MAX] = { "MAX", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_RATIO] = { "BOLT", "", SCOLS_FL_RIGHT, SCOLS_JSON_STRING, true },
};

struct bench {
	struct invocation *call;
	struct cpubolt *machine;
	const char *list, *output;
	bool json, force, no_check, energy;
	unsigned long pairs, gap_ms, hold_ms, warmup;
	bool variants[BENCH_VARIANTS];
	unsigned int batches[MOST_BATCHES];
	size_t batch_count;
	cpu_set_t *cpus;		/* the CPUs that come and go */
	struct bench_case *cases;	/* for each of batches[]: offline, then online */
	struct energy_meters meters;
	struct bench_power (*powers)[BENCH_VARIANTS];	/* for each of batches[], or NULL */
	struct settings settings;
	unsigned long done, total;	/* pairs of requests, for the progress bar */
	struct timespec shown;		/* when the bar was last drawn */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
	interrupted = signal;
}

/*
 * A signal does not interrupt a request. It ends a wait between two requests, and the measurement
 * when the CPUs of the pair are back online. A signal that is ignored stays ignored, as SIGHUP does
 * under nohup.
 */
static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action = { .sa_handler = on_signal }, before;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!sigaction(signals[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

/* -- Options -------------------------------------------------------------- */

static int read_count(const char *text, const char *what, unsigned long least, unsigned long most,
		      unsigned long *value)
{
	char *end;

	if (parse_number(text, least, most, value, &end) && !*end)
		return EXIT_DONE;
	return fail(EXIT_USAGE, "\"%s\" is no number of %s from %lu to %lu", text, what, least,
		    most);
}

static int read_batches(struct bench *bench, const char *text)
{
	const char *place = text;
	unsigned long value;
	char *end;

	bench->batch_count = 0;
	do {
		if (bench->batch_count == MOST_BATCHES)
			return fail(EXIT_USAGE, "--batch takes %d numbers at most", MOST_BATCHES);
		if (!parse_number(place, 1, 1u << 20, &value, &end) || (*end && *end != ','))
			return fail(EXIT_USAGE, "\"%s\" is no list of numbers such as 1,2,4", text);
		bench->batches[bench->batch_count++] = value;
		place = end + 1;
	} while (*end);
	return EXIT_DONE;
}

static int read_variants(struct bench *bench, const char *text)
{
	memset(bench->variants, 0, sizeof(bench->variants));
	for (const char *place = text; *place;) {
		size_t length = strcspn(place, ","), i;

		for (i = 0; i < BENCH_VARIANTS; i++)
			if (strlen(bench_variant_name(i)) == length &&
			    !strncmp(bench_variant_name(i), place, length))
				break;
		if (i == BENCH_VARIANTS)
			return fail(EXIT_USAGE, "\"%.*s\" is none of native, expedited and bolt",
				    (int)length, place);
		bench->variants[i] = true;
		place += length + (place[length] == ',');
	}
	return *text ? EXIT_DONE : fail(EXIT_USAGE, "--variants names no variant");
}

static int read_option(struct bench *bench, int option)
{
	switch (option) {
	case 'b':
		return read_batches(bench, optarg);
	case 'c':
		bench->list = optarg;
		return EXIT_DONE;
	case 'C':
		bench->no_check = true;
		return EXIT_DONE;
	case 'e':
		bench->energy = true;
		return EXIT_DONE;
	case 'f':
		bench->force = true;
		return EXIT_DONE;
	case 'g':
		return read_count(optarg, "milliseconds", 0, MOST_GAP_MS, &bench->gap_ms);
	case 'H':
		return read_count(optarg, "milliseconds", 0, MOST_GAP_MS, &bench->hold_ms);
	case 'J':
		bench->json = true;
		return EXIT_DONE;
	case 'n':
		return read_count(optarg, "pairs", 1, MOST_PAIRS, &bench->pairs);
	case 'o':
		bench->output = optarg;
		return EXIT_DONE;
	case 'v':
		return read_variants(bench, optarg);
	}
	return EXIT_USAGE;
}

/* Fills in the defaults of --pairs, --gap and --hold where these options are not given. */
static void set_usual(struct bench *bench)
{
	if (bench->pairs == UNSAID)
		bench->pairs = bench->energy ? ENERGY_PAIRS : 20;
	if (bench->gap_ms == UNSAID)
		bench->gap_ms = bench->energy ? ENERGY_WAIT_MS : 50;
	if (bench->hold_ms == UNSAID)
		bench->hold_ms = bench->energy ? ENERGY_WAIT_MS : 0;
}

static int read_options(struct bench *bench, bool *done)
{
	static const struct option options[] = {
		{ "batch", required_argument, NULL, 'b' },
		{ "cpus", required_argument, NULL, 'c' },
		{ "energy", no_argument, NULL, 'e' },
		{ "force", no_argument, NULL, 'f' },
		{ "gap", required_argument, NULL, 'g' },
		{ "help", no_argument, NULL, 'h' },
		{ "hold", required_argument, NULL, 'H' },
		{ "json", no_argument, NULL, 'J' },
		{ "no-check", no_argument, NULL, 'C' },
		{ "output", required_argument, NULL, 'o' },
		{ "pairs", required_argument, NULL, 'n' },
		{ "variants", required_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 }
	};
	struct invocation *call = bench->call;
	int option;

	while ((option = getopt_long(call->argc, call->argv, "b:c:efg:hH:Jn:o:v:", options,
				     NULL)) != -1) {
		if (option == 'h') {
			*done = true;
			return print_help(call, &help);
		}
		if (read_option(bench, option) != EXIT_DONE)
			return fail_usage(call);
	}
	if (bench->energy && bench->json) {
		complain("--energy prints a table, which --json cannot print");
		return fail_usage(call);
	}
	set_usual(bench);
	if (bench->energy &&
	    (bench->hold_ms < LEAST_ENERGY_MS || bench->gap_ms < LEAST_ENERGY_MS)) {
		complain("--energy needs %d milliseconds or more for --hold and --gap",
			 LEAST_ENERGY_MS);
		return fail_usage(call);
	}
	return refuse_arguments(call);
}

/* -- Variants ------------------------------------------------------------- */

/* Variants that this kernel does not have are left out, with a line that says so. */
static int check_variants(struct bench *bench)
{
	bool any = false;

	if (bench->variants[BENCH_BOLT] &&
	    !(cpubolt_features(bench->machine) & CPUBOLT_HAS_BOLT)) {
		complain("this kernel has no Bolt: only the other variants are measured");
		bench->variants[BENCH_BOLT] = false;
	}
	if (bench->variants[BENCH_EXPEDITED] && access(EXPEDITED_FILE, F_OK)) {
		complain("this kernel has no %s: only the other variants are measured",
			 EXPEDITED_FILE);
		bench->variants[BENCH_EXPEDITED] = false;
	}
	for (size_t i = 0; i < BENCH_VARIANTS; i++)
		any |= bench->variants[i];
	return any ? EXIT_DONE : fail(EXIT_FAILED, "no variant is left to measure");
}

/* -- CPUs ----------------------------------------------------------------- */

static bool has_none(struct bench *bench)
{
	if (set_count(bench->machine, bench->cpus))
		return false;
	complain("no CPU of this machine can go offline and come back");
	return true;
}

/* Refuses the CPUs of the list that are among @among, which @why says; or those that are not. */
static int refuse(struct bench *bench, const cpu_set_t *among, bool members, const char *why)
{
	cpu_set_t *wrong = set_copy(bench->machine, bench->cpus);
	char *text;
	int code = EXIT_DONE;

	if (members)
		set_and(bench->machine, wrong, among);
	else
		set_minus(bench->machine, wrong, among);
	text = set_text(bench->machine, wrong);
	if (set_count(bench->machine, wrong))
		code = fail(EXIT_FAILED, "%s: %s", why, text);
	free(text);
	CPU_FREE(wrong);
	return code;
}

/* @kept: CPUs that Bolt does not take offline. */
static int read_list(struct bench *bench, const cpu_set_t *kept)
{
	struct cpubolt *machine = bench->machine;
	cpu_set_t *online;
	size_t at = 0;
	int code, error = cpubolt_parse_list(machine, bench->list, bench->cpus, &at);

	if (error)
		return fail_list(bench->call, bench->list, error, at);
	if (means_all(bench->list)) {
		bench_drop_unusable(machine, kept, bench->cpus);
		return has_none(bench) ? EXIT_FAILED : EXIT_DONE;
	}
	if (!set_count(machine, bench->cpus))
		return fail(EXIT_USAGE, "the list of CPUs is empty");
	online = set_new(machine, CPUBOLT_ONLINE);
	code = refuse(bench, online, false, "bench needs CPUs that are online; not online");
	if (code == EXIT_DONE)
		code = refuse(bench, kept, true, "Bolt takes no CPU offline that irq_keep lists");
	if (code == EXIT_DONE && set_count(machine, bench->cpus) == set_count(machine, online))
		code = fail(EXIT_FAILED, "no CPU would be left online");
	CPU_FREE(online);
	return code;
}

static int read_cpus(struct bench *bench)
{
	struct cpubolt *machine = bench->machine;
	cpu_set_t *kept = bench->variants[BENCH_BOLT] ? bench_kept(machine) : set_empty(machine);
	int code = EXIT_DONE;

	bench->cpus = set_empty(machine);
	if (bench->list)
		code = read_list(bench, kept);
	else
		bench_choose(machine, USUAL_CPUS, kept, bench->cpus);
	if (!bench->list && has_none(bench))
		code = EXIT_FAILED;
	CPU_FREE(kept);
	return code;
}

/* Checks the numbers of --batch. By default, requests are for one CPU, and for all of --cpus. */
static int check_batches(struct bench *bench)
{
	unsigned int cpus = set_count(bench->machine, bench->cpus);

	if (!bench->batch_count) {
		bench->batches[bench->batch_count++] = 1;
		if (cpus > 1)
			bench->batches[bench->batch_count++] = cpus;
	}
	for (size_t i = 0; i < bench->batch_count; i++)
		if (bench->batches[i] > cpus)
			return fail(EXIT_FAILED, "a request for %u CPUs needs as many in --cpus, "
				    "which has %u", bench->batches[i], cpus);
	return EXIT_DONE;
}

static void say(const char *sentence)
{
	complain("%s", sentence);
}

static int check_tasks(struct bench *bench)
{
	cpu_set_t *after = set_new(bench->machine, CPUBOLT_ONLINE);
	int found = 0;

	set_minus(bench->machine, after, bench->cpus);
	if (!bench->no_check)
		found = look(bench->call, bench->cpus, after, say);
	CPU_FREE(after);
	if (found < 0)
		return fail(EXIT_FAILED, "cannot look at the tasks: %s (see --no-check)",
			    strerror(-found));
	if (found && !bench->force)
		return fail(EXIT_FAILED, "nothing was measured; --force measures all the same");
	return EXIT_DONE;
}

/* -- Settings ------------------------------------------------------------- */

static void could_not_put_back(const char *path, const char *before, int error)
{
	complain("%s could not be put back (%s): write \"%s\" to the file", path, strerror(-error),
		 before);
}

static int set_file(struct bench *bench, const char *path, const char *value)
{
	int error = settings_change(&bench->settings, path, value);

	if (!error)
		return EXIT_DONE;
	if (error == -EACCES || error == -EPERM)
		return fail(EXIT_NOT_PERMITTED, "only root may measure: %s cannot be changed",
			    path);
	return fail(EXIT_FAILED, "cannot change %s: %s", path, strerror(-error));
}

static int set_variant(struct bench *bench, enum bench_variant variant)
{
	int code = EXIT_DONE;

	if (cpubolt_features(bench->machine) & CPUBOLT_HAS_BOLT)
		code = set_file(bench, ENABLED_FILE, variant == BENCH_BOLT ? "1" : "0");
	if (code == EXIT_DONE && !access(EXPEDITED_FILE, F_OK))
		code = set_file(bench, EXPEDITED_FILE, variant == BENCH_EXPEDITED ? "1" : "0");
	if (code == EXIT_DONE && cpubolt_refresh(bench->machine))
		code = fail(EXIT_FAILED, "cannot read the state of the CPUs");
	return code;
}

/* CPUs are put back before the settings: CPUs come sooner with Bolt, which is measured last. */
static int put_back(struct bench *bench)
{
	struct cpubolt_result result;
	int error = bring_cpus(bench->machine, bench->cpus, CPUBOLT_KEEP_CHANGES, NULL, &result);
	char *sentence;

	if (error) {
		sentence = cpubolt_explain(CPUBOLT_BRING_ONLINE, &result);
		complain("%s", sentence ?: strerror(-error));
		free(sentence);
	}
	if (settings_put_back(&bench->settings, could_not_put_back))
		error = -EIO;
	return error ? EXIT_PARTIAL : EXIT_DONE;
}

/* -- Measuring ------------------------------------------------------------ */

static unsigned long ms_since(const struct timespec *then, const struct timespec *now)
{
	return (now->tv_sec - then->tv_sec) * 1000 + (now->tv_nsec - then->tv_nsec) / 1000000;
}

/* Draws the progress bar, on a terminal only, and ten times a second at most. */
static void show_progress(struct bench *bench, enum bench_variant variant, unsigned int batch)
{
	unsigned int filled = bench->done * BAR_WIDTH / bench->total;
	char bar[BAR_WIDTH + 1];
	struct timespec now;

	if (!isatty(STDERR_FILENO))
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (bench->done && ms_since(&bench->shown, &now) < 100)
		return;
	bench->shown = now;
	memset(bar, ' ', BAR_WIDTH);
	memset(bar, '=', filled);
	bar[BAR_WIDTH] = '\0';
	fprintf(stderr, "\r[%s] %3lu %%  %-9s %u CPU%-10s", bar, bench->done * 100 / bench->total,
		bench_variant_name(variant), batch, batch == 1 ? "" : "s");
}

static void hide_progress(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%*s\r", BAR_WIDTH + 40, "");
}

static void wait_for(unsigned long ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (!interrupted && nanosleep(&left, &left) && errno == EINTR)
		;
}

static int request(struct bench *bench, enum bench_variant variant, enum cpubolt_op op,
		   const cpu_set_t *cpus, struct bench_samples *samples)
{
	int flags = variant == BENCH_BOLT ? CPUBOLT_BATCH_ONLY : CPUBOLT_NATIVE;
	struct cpubolt_result result;
	int error = cpubolt_request(bench->machine, op, cpus, flags, &result);
	char *sentence;

	if (error) {
		hide_progress();
		sentence = cpubolt_explain(op, &result);
		complain("%s", sentence ?: strerror(-error));
		free(sentence);
		return exit_code_of(error);
	}
	if (result.way == CPUBOLT_WAY_NONE || result.missing ||
	    result.changed != set_count(bench->machine, cpus)) {
		hide_progress();
		return fail(EXIT_FAILED, "another program changes these CPUs at the same time");
	}
	if (samples && bench_add(samples, result.ns))
		return fail(EXIT_FAILED, "no memory");
	return EXIT_DONE;
}

/* Waits. Adds the power during the wait to @watts, unless @watts is NULL or a signal has come. */
static int wait_and_measure(struct bench *bench, unsigned long ms, struct bench_watts *watts)
{
	struct energy_reading before;
	int code = watts ? bench_energy_read(&bench->meters, &before) : EXIT_DONE;

	if (code != EXIT_DONE)
		return code;
	wait_for(ms);
	return watts && !interrupted ? bench_energy_end(&bench->meters, &before, watts) : EXIT_DONE;
}

/*
 * Takes @cpus offline and brings @cpus back. @power: NULL if power is not measured; @keep: whether
 * the times are kept, unlike those of the warm-up
 */
static int measure_pair(struct bench *bench, enum bench_variant variant, const cpu_set_t *cpus,
			struct bench_case *cases, struct bench_power *power, bool keep)
{
	int code = request(bench, variant, CPUBOLT_TAKE_OFFLINE, cpus,
			   keep ? &cases->samples[variant] : NULL);

	if (code == EXIT_DONE)
		code = wait_and_measure(bench, bench->hold_ms, power ? &power->away : NULL);
	if (code != EXIT_DONE)
		return code;
	code = request(bench, variant, CPUBOLT_BRING_ONLINE, cpus,
		       keep ? &(cases + 1)->samples[variant] : NULL);
	/* The wait varies by up to 3 ms, to be out of step with the tick of 1 to 10 ms. */
	if (code == EXIT_DONE && bench->gap_ms)
		code = wait_and_measure(bench, bench->gap_ms + bench->done * 3 % 4,
					power ? &power->there : NULL);
	return code;
}

static int measure_batch(struct bench *bench, enum bench_variant variant, size_t number)
{
	struct bench_power *power = bench->powers ? &bench->powers[number][variant] : NULL;
	struct bench_case *cases = &bench->cases[2 * number];
	cpu_set_t *cpus = set_empty(bench->machine);
	unsigned int batch = bench->batches[number];
	unsigned int cpu, count = 0;
	int code = EXIT_DONE;

	for_each_cpu(bench->machine, cpu, bench->cpus)
		if (count++ < batch)
			CPU_SET_S(cpu, cpubolt_set_size(bench->machine), cpus);
	for (unsigned long i = 0; i < bench->warmup + bench->pairs && code == EXIT_DONE; i++) {
		bool keep = i >= bench->warmup;

		show_progress(bench, variant, batch);
		code = measure_pair(bench, variant, cpus, cases, keep ? power : NULL, keep);
		bench->done++;
		if (interrupted)
			code = EXIT_FAILED;
	}
	CPU_FREE(cpus);
	return code;
}

static int measure_variant(struct bench *bench, enum bench_variant variant)
{
	int code = set_variant(bench, variant);

	for (size_t i = 0; i < bench->batch_count && code == EXIT_DONE; i++)
		code = measure_batch(bench, variant, i);
	return code;
}

static int measure(struct bench *bench)
{
	int code = bench_pin(bench->machine, bench->cpus), left;

	if (code != EXIT_DONE)
		return code;
	for (size_t i = 0; i < BENCH_VARIANTS; i++)
		bench->total += bench->variants[i] * bench->batch_count *
				(bench->warmup + bench->pairs);
	catch_signals();
	for (size_t i = 0; i < BENCH_VARIANTS && code == EXIT_DONE; i++)
		if (bench->variants[i])
			code = measure_variant(bench, i);
	hide_progress();
	left = put_back(bench);
	if (interrupted && left == EXIT_DONE)
		complain("interrupted: all is as it was before");
	return left ?: code;
}

/* -- Results -------------------------------------------------------------- */

static void put_time(struct sheet *sheet, size_t column, double ms)
{
	sheet_put(sheet, column, ms < 10 ? "%.3f" : ms < 1000 ? "%.1f" : "%.0f", ms);
}

static void put_row(struct sheet *sheet, struct bench_case *entry, enum bench_variant variant)
{
	struct bench_summary summary = bench_summarise(&entry->samples[variant]);
	struct bench_summary bolt = bench_summarise(&entry->samples[BENCH_BOLT]);

	sheet_line(sheet);
	sheet_put(sheet, COLUMN_CASE, "%s", entry->online ? "online" : "offline");
	sheet_put(sheet, COLUMN_BATCH, "%u", entry->batch);
	sheet_put(sheet, COLUMN_VARIANT, "%s", bench_variant_name(variant));
	sheet_put(sheet, COLUMN_N, "%zu", summary.count);
	put_time(sheet, COLUMN_MIN, summary.min);
	put_time(sheet, COLUMN_MEDIAN, summary.median);
	put_time(sheet, COLUMN_P90, summary.p90);
	put_time(sheet, COLUMN_P99, summary.p99);
	put_time(sheet, COLUMN_MAX, summary.max);
	if (variant != BENCH_BOLT && bolt.count && bolt.median > 0)
		sheet_put(sheet, COLUMN_RATIO, "%.1fx", summary.median / bolt.median);
}

static void print_machine(const struct bench_machine *machine)
{
	printf("\nReal time in ms, on this machine. BOLT: the median divided by the median of Bolt.\n"
	       "%s, %u CPUs online, Linux %s, ", *machine->model ? machine->model : "unknown CPU",
	       machine->cpus, machine->kernel);
	if (strcmp(machine->accel, "hardware"))
		printf("under a hypervisor (%s),\n", machine->accel);
	else
		puts("no hypervisor,");
	printf("microcode %s, idle driver %s, clock source %s\n",
	       *machine->microcode ? machine->microcode : "unknown",
	       *machine->idle_driver ? machine->idle_driver : "unknown",
	       *machine->clocksource ? machine->clocksource : "unknown");
}

static int print_table(struct bench *bench, const struct bench_machine *machine)
{
	struct sheet sheet;
	int code = sheet_open(&sheet, "cases", columns, COLUMN_COUNT, NULL, false);

	if (code != EXIT_DONE)
		return code;
	for (size_t i = 0; i < 2 * bench->batch_count; i++)
		for (size_t j = 0; j < BENCH_VARIANTS; j++)
			if (bench->cases[i].samples[j].count)
				put_row(&sheet, &bench->cases[i], j);
	sheet_print(&sheet);
	print_machine(machine);
	return EXIT_DONE;
}

static int report(struct bench *bench, FILE *output)
{
	struct bench_machine machine;
	size_t count = 2 * bench->batch_count;
	int code = EXIT_DONE, error = 0;

	bench_machine_read(bench->call, &machine);
	if (bench->json)
		bench_write(stdout, &machine, bench->cases, count);
	else
		code = print_table(bench, &machine);
	if (code == EXIT_DONE && bench->powers)
		code = bench_energy_print(&bench->meters, bench->batches, bench->batch_count,
					  bench->powers);
	if (output)
		error = bench_write(output, &machine, bench->cases, count);
	if (error)
		code = fail(EXIT_FAILED, "cannot write %s: %s", bench->output, strerror(-error));
	return code;
}

/*
 * Opens the file of --output before anything is measured, and keeps its contents until there is a
 * result. @made: whether there was no such file
 */
static int open_output(struct bench *bench, FILE **output, bool *made)
{
	int fd;

	*output = NULL;
	*made = false;
	if (!bench->output)
		return EXIT_DONE;
	fd = open_or_make(bench->output, O_WRONLY, made);
	if (fd >= 0)
		*output = fdopen(fd, "w");
	return *output ? EXIT_DONE :
	       fail(EXIT_FAILED, "cannot write %s: %s", bench->output, strerror(errno));
}

static int measure_and_report(struct bench *bench)
{
	FILE *output;
	bool made;
	int code = open_output(bench, &output, &made);

	if (code == EXIT_DONE)
		code = measure(bench);
	if (code != EXIT_DONE && made)
		unlink(bench->output);
	if (code == EXIT_DONE && output && ftruncate(fileno(output), 0) && errno != EINVAL)
		code = fail(EXIT_FAILED, "cannot write %s: %s", bench->output, strerror(errno));
	if (code == EXIT_DONE)
		code = report(bench, output);
	if (output && fclose(output) && code == EXIT_DONE)
		code = fail(EXIT_FAILED, "cannot write %s: %s", bench->output, strerror(errno));
	return code;
}

static int prepare(struct bench *bench)
{
	int code = invocation_open(bench->call);

	if (code != EXIT_DONE)
		return code;
	bench->machine = bench->call->machine;
	code = check_variants(bench);
	if (code == EXIT_DONE)
		code = read_cpus(bench);
	if (code == EXIT_DONE)
		code = check_batches(bench);
	if (code == EXIT_DONE)
		code = check_tasks(bench);
	if (code != EXIT_DONE)
		return code;
	if (bench->energy) {
		code = bench_energy_open(bench->call, &bench->meters);
		if (code != EXIT_DONE)
			return code;
		bench->powers = calloc(bench->batch_count, sizeof(*bench->powers));
	}
	bench->cases = calloc(2 * bench->batch_count, sizeof(*bench->cases));
	if (!bench->cases || (bench->energy && !bench->powers))
		return fail(EXIT_FAILED, "no memory");
	for (size_t i = 0; i < 2 * bench->batch_count; i++) {
		bench->cases[i].online = i % 2;
		bench->cases[i].batch = bench->batches[i / 2];
	}
	return EXIT_DONE;
}

static void clear(struct bench *bench)
{
	for (size_t i = 0; bench->cases && i < 2 * bench->batch_count; i++)
		for (size_t j = 0; j < BENCH_VARIANTS; j++)
			bench_free(&bench->cases[i].samples[j]);
	free(bench->cases);
	free(bench->powers);
	energy_meters_close(&bench->meters);
	CPU_FREE(bench->cpus);
}

int run_bench(struct invocation *call)
{
	struct bench bench = {
		.call = call,
		.pairs = UNSAID,
		.warmup = 2,
		.gap_ms = UNSAID,
		.hold_ms = UNSAID,
		.variants = { true, true, true },
	};
	bool done = false;
	int code = read_options(&bench, &done);

	if (done || code != EXIT_DONE)
		return code;
	if (*call->root)
		return fail(EXIT_USAGE, "bench measures this machine, not a recorded tree");
	code = prepare(&bench);
	if (code == EXIT_DONE)
		code = measure_and_report(&bench);
	clear(&bench);
	return code;
}
