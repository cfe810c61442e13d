// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several processes at once, the actors, make requests of all kinds, native requests
 * among them, while other actors switch Bolt on and off, settle CPUs or suspend the
 * machine, for example. Each attempt counts as done, refused for a good reason, or wrong. Now
 * and then all actors wait while the program checks the rules that must hold.
 *
 * usage: storm [KEY=VALUE]...
 *	actors=NAME[*N],...	the actors, N of each kind; names are in storm.h. If the
 *				kernel or the machine lacks what an actor needs, the run
 *				fails, but an actor that was not named here is left out.
 *				On a machine with one CPU, actors for CPUs that come and
 *				go are left out even if they are named here.
 *	requests=N seconds=N	the run ends when one of these limits is reached
 *	seed=N			of random numbers; by default from the time
 *	bolt=0|1		whether Bolt is enabled at first; by default 1
 *	module=FILE		for the actor "module"
 *
 * Each actor's counts stand in a line "# actor NAME asks=N attempted=N ...".
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "errors.h"
#include "lib/args.h"
#include "storm.h"
#include "tree.h"
#include "../kselftest.h"

#define CAST 32			/* actors at most */
#define ROUND_MS 500		/* from one check of the rules to the next */
#define PATIENCE_MS 300000	/* how long an actor may be in the middle of a request */
#define DEFAULT_ACTORS "batch*3,malformed,all,single,target,switch,settle,keep,read,smt"

static struct storm *storm;
static struct tally *tallies;
static const struct kind *cast[CAST];
static int actors;		/* how many actors there are */

static long long now_ms(void)
{
	return now_ns() / 1000000;
}

/*
 * Adds the actors of "NAME*N". Returns false if there is no such kind, or no room. @must:
 * ends the program if kind->ready() says that the kernel or the machine lacks what the
 * actors need.
 */
static bool hire(char *text, bool must)
{
	char *times = strchr(text, '*');
	int n = times ? atoi(times + 1) : 1;

	if (times)
		*times = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct kind *kind = &kinds[i];

		if (strcmp(text, kind->name))
			continue;
		if (kind->moves && !storm->players) {
			ksft_print_msg("no actor %s with only one CPU\n", kind->name);
			return true;
		}
		if (kind->ready && !kind->ready(storm)) {
			if (must)
				ksft_exit_fail_msg("no actor %s here\n", kind->name);
			ksft_print_msg("no actor %s on this machine\n", kind->name);
			return true;
		}
		if (actors + n > CAST)
			return false;
		storm->may |= kind->permits;
		storm->native_targets |= !strcmp(kind->name, "target");
		while (n-- > 0)
			cast[actors++] = kind;
		return true;
	}
	return false;
}

/* Adds the actors of @names, or those that act by default if @names is NULL. */
static void hire_all(const char *names)
{
	char *copy = strdup(names ?: DEFAULT_ACTORS), *name, *at = copy;

	while ((name = strsep(&at, ",")))
		if (*name && !hire(name, names))
			ksft_exit_fail_msg("there is no actor '%s', or more than %d are wanted\n",
					   name, CAST);
	free(copy);
}

/* Waits while storm->closed is true, so that the actor begins no request. */
static void pass_gate(struct tally *tally)
{
	for (;;) {
		while (__atomic_load_n(&storm->closed, __ATOMIC_SEQ_CST))
			wait_ms(1);
		__atomic_store_n(&tally->outside, false, __ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&storm->closed, __ATOMIC_SEQ_CST))
			return;
		__atomic_store_n(&tally->outside, true, __ATOMIC_SEQ_CST);
	}
}

static void act(int which, unsigned long long seed)
{
	const struct kind *kind = cast[which];
	struct actor actor = { .storm = storm, .tally = &tallies[which] };

	actor.seed = (seed ^ (which + 1) * 0x9e3779b97f4a7c15ULL) ?: 1;
	for (;;) {
		wait_ms(roll(&actor, kind->pause_ms + 1));
		pass_gate(actor.tally);
		kind->run(&actor);
		__atomic_store_n(&actor.tally->outside, true, __ATOMIC_SEQ_CST);
	}
}

static void start(int which, unsigned long long seed)
{
	pid_t pid;

	tallies[which].outside = true;
	fflush(stdout);
	pid = fork_mortal();
	if (pid < 0)
		ksft_exit_fail_perror("fork");
	if (!pid)
		act(which, seed);
	tallies[which].pid = pid;
}

static void stop_all(void)
{
	for (int i = 0; i < actors; i++)
		kill(tallies[i].pid, SIGKILL);
	for (int i = 0; i < actors; i++)
		waitpid(tallies[i].pid, NULL, 0);
}

/*
 * Sets storm->closed and waits until no actor is in the middle of a request. Returns
 * false if an actor is stuck in the middle of a request, or has died.
 */
static bool close_gate(void)
{
	long long end = now_ms() + PATIENCE_MS;

	__atomic_store_n(&storm->closed, true, __ATOMIC_SEQ_CST);
	for (int i = 0; i < actors; i++) {
		for (;;) {
			if (waitpid(tallies[i].pid, NULL, WNOHANG)) {
				ksft_print_msg("actor %s has died\n", cast[i]->name);
				return false;
			}
			if (__atomic_load_n(&tallies[i].outside, __ATOMIC_SEQ_CST))
				break;
			if (now_ms() > end) {
				ksft_print_msg("actor %s is stuck\n", cast[i]->name);
				return false;
			}
			wait_ms(1);
		}
	}
	return true;
}

static unsigned long requests(void)
{
	unsigned long sum = 0;

	for (int i = 0; i < actors; i++)
		if (cast[i]->asks)
			sum += __atomic_load_n(&tallies[i].attempted, __ATOMIC_RELAXED);
	return sum;
}

static bool any_wrong(void)
{
	for (int i = 0; i < actors; i++)
		if (__atomic_load_n(&tallies[i].wrong, __ATOMIC_RELAXED))
			return true;
	return false;
}

/*
 * Checks the rules while all actors wait. Returns NULL, or the rule that does not
 * hold.
 */
static const char *broken_rule(void)
{
	static unsigned long long faults;
	unsigned long long before = faults;
	struct sight sight;

	if (!sight_take(&storm->world, &sight))
		return "cpuN/online, cpu/online or bolt/parked cannot be read";
	/* A CPU that a write to its hotplug/target has taken offline still has 1 in cpuN/online. */
	if (!storm->native_targets && sight.files != sight.online)
		return "cpuN/online and cpu/online differ";
	if (sight.parked & sight.online)
		return "a CPU is parked and online";
	if (sight.parked & ~storm->players)
		return "a CPU is parked that no actor takes offline";
	if (sight.parked && is(BOLT_DIR "enabled", "0"))
		return "a CPU is parked while Bolt is disabled";
	faults = rules_faults();
	if (faults < before)
		return "the sum of page faults goes backwards";
	for (int cpu = 0; cpu < SETS_MAX; cpu++)
		if (sight.online & CPU(cpu) && rules_visit(cpu))
			return "a CPU that is online runs no task";
	return NULL;
}

/* Empties irq_keep, switches SMT on and brings all CPUs online. */
static int all_back(void)
{
	char path[128], top[16];
	int err = 0;

	put(BOLT_DIR "irq_keep", "\n");
	if (is(SMT_DIR "control", "off"))
		put(SMT_DIR "control", "on");
	snprintf(top, sizeof(top), "%d", storm->top);
	for (int cpu = 0; cpu < SETS_MAX && !err; cpu++) {
		if (!(storm->players & CPU(cpu)))
			continue;
		snprintf(path, sizeof(path), CPU_DIR "cpu%d/hotplug/target", cpu);
		err = set_online(cpu, true);
		if (!err && !is(path, top))
			err = put(path, top);
	}
	return err;
}

/* Makes the shared data, or ends the program if no storm can run here. */
static void set_up(char **args)
{
	storm = mmap(NULL, sizeof(*storm) + CAST * sizeof(*tallies), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (storm == MAP_FAILED)
		ksft_exit_fail_perror("mmap");
	tallies = (struct tally *)(storm + 1);
	if (!world_look(&storm->world))
		ksft_exit_skip("more than 64 CPUs, or no lists of CPUs\n");
	storm->players = storm->world.movable & ~CPU(0);
	storm->top = hp_top_state();
	storm->module = arg_text(args, "module", NULL);
	if (storm->top < 0)
		ksft_exit_fail_msg(CPU_DIR "hotplug/states cannot be read\n");
}

static const char *weather(long long end, unsigned long wanted)
{
	while (now_ms() < end && requests() < wanted && !any_wrong()) {
		const char *rule;

		wait_ms(ROUND_MS);
		if (!close_gate())
			return "an actor is stuck or has died";
		rule = broken_rule();
		if (rule)
			return rule;
		__atomic_store_n(&storm->closed, false, __ATOMIC_SEQ_CST);
	}
	return close_gate() ? NULL : "an actor is stuck or has died";
}

static void report(long long ms)
{
	for (int i = 0; i < actors; i++) {
		struct tally *tally = &tallies[i];

		ksft_print_msg("actor %s asks=%d attempted=%lu done=%lu refused=%lu wrong=%lu\n",
			       cast[i]->name, cast[i]->asks, tally->attempted, tally->done,
			       tally->refused, tally->wrong);
		if (tally->wrong)
			ksft_print_msg("%s: %s\n", cast[i]->name, tally->complaint);
	}
	ksft_print_msg("storm requests=%lu ms=%lld\n", requests(), ms);
}

static struct tree before, after;

int main(int argc, char **args)
{
	const char *seed_text = arg_text(args, "seed", NULL), *rule, *line;
	unsigned long long seed = strtoull(seed_text ?: "0", NULL, 0);
	long long begin, seconds = atoll(arg_text(args, "seconds", "20"));
	unsigned long wanted = strtoul(arg_text(args, "requests", "1000"), NULL, 0);
	bool bolt = atoi(arg_text(args, "bolt", "1"));
	char last[TEXT_MAX];
	unsigned long batch;

	ksft_print_header();
	if (geteuid())
		ksft_exit_skip("needs root\n");
	if (access(BOLT_DIR "enabled", F_OK))
		ksft_exit_skip("the kernel has no Bolt\n");
	if (restore_smt_is_off())
		ksft_exit_skip("SMT is switched off, so that some CPUs cannot come online\n");
	set_up(args);
	ksft_set_plan(3);
	seed = seed ?: now_ms();
	ksft_print_msg("seed=%llu\n", seed);
	hire_all(arg_text(args, "actors", NULL));
	if (enable(false) || all_back())
		ksft_exit_fail_msg("Bolt cannot be disabled, or a CPU does not come\n");
	tree_of_cpus(&before, true);
	put(BOLT_DIR "settle_delay_ms", "100");
	enable(bolt);
	begin = now_ms();
	for (int i = 0; i < actors; i++)
		start(i, seed);
	rule = weather(begin + 1000 * seconds, wanted);
	stop_all();
	report(now_ms() - begin);
	if (rule)
		ksft_print_msg("%s\n", rule);
	ksft_test_result(!rule, "what must hold at any time\n");
	ksft_test_result(!any_wrong(), "requests end as they may\n");
	if (last_error(last, &batch) > 0)
		ksft_print_msg("last_error: batch %lu %s\n", batch, last);
	if (rule || any_wrong())
		ksft_exit_fail();
	line = enable(false) || all_back() ? "a CPU does not come back" : NULL;
	if (!line && !is(BOLT_DIR "parked", ""))
		line = BOLT_DIR "parked";
	tree_of_cpus(&after, true);
	line = line ?: tree_differ(&before, &after);
	if (line)
		ksft_print_msg("differs after the storm: %s\n", line);
	ksft_test_result(!line, "everything is as before\n");
	ksft_finished();
}
