// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes random hotplug requests while processes ("workers") load the guest with fair,
 * real-time and deadline tasks, timers, files, disks, network, perf events, control groups
 * and child processes. At the end every worker must have made progress, and found all its
 * results right.
 * usage: load bolt=0|1 pause_ms=N settle_ms=N, where pause_ms is the longest wait after a
 * request, and settle_ms is the settle delay. The number of requests, BOLT_REQUESTS, and the
 * seed of all random choices, BOLT_SEED, are taken from the environment, that is from the
 * kernel's command line.
 * Or: load beside=PROGRAM ARGUMENTS...; PROGRAM then makes the requests.
 * more=KIND,...: also starts the workers of load_sched.c and load_bpf.c for which the guest
 * has what they need; this program fails if the guest lacks what one of these KINDs needs.
 */
#define _GNU_SOURCE
#include "lib/children.h"
#include "lib/xorshift.h"
#include "load.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000	/* most time until all workers have done a round more, or have ended */

static const struct worker *const kinds[] = {
	cpu_workers, time_workers, disk_workers, net_workers, group_workers,
};

static const struct worker *const more_kinds[] = {
	sched_workers, bpf_workers,
};

static struct entry *ledger;
static int workers;
struct entry *me;
int load_cpus;

static unsigned long long state;

unsigned int draw(unsigned int below)
{
	return draw64(&state, below);
}

void fill(void *data, size_t size, uint64_t seed)
{
	uint64_t *word = data;

	for (size_t i = 0; i < size / sizeof(*word); i++)
		word[i] = (seed + i) * 0x9e3779b97f4a7c15ULL;
}

bool filled(const void *data, size_t size, uint64_t seed)
{
	const uint64_t *word = data;

	for (size_t i = 0; i < size / sizeof(*word); i++)
		if (word[i] != (seed + i) * 0x9e3779b97f4a7c15ULL)
			return false;
	return true;
}

void wrong(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(me->wrong, sizeof(me->wrong), fmt, ap);
	va_end(ap);
	_exit(1);
}

/*
 * The child ends with the worker: otherwise the child would keep the output open, and init
 * would wait for the child.
 */
pid_t child(void)
{
	pid_t pid = fork_mortal();

	if (pid < 0)
		wrong("fork: %s", strerror(errno));
	return pid;
}

/* The program fails if the list @needed names a kind of load that more_kinds lacks. */
static void check_known(const char *needed)
{
	char *names = strdup(needed), *rest = names, *name;

	while ((name = strsep(&rest, ","))) {
		bool known = !*name;

		for (size_t i = 0; i < ARRAY_SIZE(more_kinds); i++)
			for (const struct worker *kind = more_kinds[i]; kind->name; kind++)
				known |= !strcmp(kind->name, name);
		if (!known)
			die("no kind of load is called %s", name);
	}
	free(names);
}

static void start(const struct worker *kind, int which)
{
	struct entry *entry = &ledger[workers];
	pid_t pid;

	if (workers == MAX_WORKERS)
		die("too many workers");
	snprintf(entry->name, sizeof(entry->name), "%s.%d", kind->name, which);
	pid = fork_mortal();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		me = entry;
		state ^= (workers + 1) * 0x9e3779b97f4a7c15ULL;
		kind->run(which);
		_exit(0);
	}
	entry->pid = pid;
	workers++;
}

/*
 * Starts the workers of @tables. The program fails if the guest lacks what a kind of load in
 * the list @needed needs.
 */
static void start_all(const struct worker *const *tables, size_t n, const char *needed)
{
	for (size_t i = 0; i < n; i++) {
		for (const struct worker *kind = tables[i]; kind->name; kind++) {
			if (kind->ready && !kind->ready()) {
				if (named(needed, kind->name))
					die("no load %s: not in this guest", kind->name);
				printf("no load %s: not in this guest\n", kind->name);
				continue;
			}
			for (int which = 0; which < kind->copies; which++)
				start(kind, which);
		}
	}
}

/*
 * Ends the program, and before that prints the complaints of all workers, because the worker
 * that was found to fail may be stuck only because of another worker.
 */
static void fail(const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (int i = 0; i < workers; i++)
		if (ledger[i].wrong[0])
			fprintf(stderr, "%s: %s\n", ledger[i].name, ledger[i].wrong);
	die("%s", text);
}

static void look_at(struct entry *entry)
{
	int status;

	if (waitpid(entry->pid, &status, WNOHANG))
		fail("%s ended: %s", entry->name, entry->wrong[0] ? entry->wrong : "no reason");
}

/* Waits until every worker has done one more round. */
static void all_come_forward(void)
{
	int64_t end = now_ns() + PATIENCE_MS * 1000000LL;
	unsigned long before[MAX_WORKERS];

	for (int i = 0; i < workers; i++)
		before[i] = __atomic_load_n(&ledger[i].done, __ATOMIC_RELAXED);
	for (int i = 0; i < workers; i++) {
		while (__atomic_load_n(&ledger[i].done, __ATOMIC_RELAXED) == before[i]) {
			look_at(&ledger[i]);
			if (now_ns() > end)
				fail("%s is stuck after %lu rounds", ledger[i].name, before[i]);
			wait_ms(10);
		}
	}
}

static void all_end(void)
{
	int64_t end = now_ns() + PATIENCE_MS * 1000000LL;

	for (int i = 0; i < workers; i++)
		__atomic_store_n(&ledger[i].stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < workers; i++) {
		int status;
		pid_t pid;

		while (!(pid = waitpid(ledger[i].pid, &status, WNOHANG))) {
			if (now_ns() > end)
				fail("%s does not end", ledger[i].name);
			wait_ms(10);
		}
		if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
			fail("%s ended with wait status %#x: %s", ledger[i].name, status, ledger[i].wrong);
	}
}

static void put_setting(const char *file, const char *text)
{
	int err = write_text(file, text);

	if (err)
		fail("%s: %s", file, strerror(-err));
}

/* Makes @n requests, each of which takes a random CPU offline or online. CPU 0 stays online. */
static int requests(long n, bool bolt, long pause_ms)
{
	bool online[MAX_CPUS];
	int most_down = 0, down = 0;

	memset(online, true, sizeof(online));
	for (long i = 0; i < n; i++) {
		int cpu = 1 + draw(load_cpus - 1);
		int err = cpu_write(cpu, !online[cpu]);

		if (err)
			fail("request %ld, CPU %d %s: %s", i, cpu,
			     online[cpu] ? "offline" : "online", strerror(-err));
		online[cpu] = !online[cpu];
		down += online[cpu] ? -1 : 1;
		if (down > most_down)
			most_down = down;
		for (int j = 0; j < workers; j++)
			look_at(&ledger[j]);
		wait_ms(draw(pause_ms + 1));
		if (bolt && i % 16 == 15)
			put_setting(BOLT_DIR "settle", "all");
		if (i % 32 == 31)
			all_come_forward();
	}
	for (int cpu = 1; cpu < load_cpus; cpu++)
		if (!online[cpu] && cpu_write(cpu, true))
			fail("CPU %d does not come back", cpu);
	return most_down;
}

/* Runs @program, which makes the requests, and watches the workers until the program ends. */
static void beside(const char *program, char **args)
{
	pid_t pid = fork_mortal();
	int status;

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		args[0] = (char *)program;
		execv(program, args);
		_exit(127);
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		for (int i = 0; i < workers; i++)
			look_at(&ledger[i]);
		wait_ms(100);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail("%s ended with wait status %#x", program, status);
}

static void show_ledger(void)
{
	for (int i = 0; i < workers; i++)
		printf("%-16s %lu\n", ledger[i].name, ledger[i].done);
}

int main(int argc, char **argv)
{
	const char *requested = getenv("BOLT_REQUESTS"), *seed = getenv("BOLT_SEED");
	const char *program = arg_text(argv, "beside", NULL);
	const char *more = arg_text(argv, "more", NULL);
	long n = requested ? atol(requested) : 200;
	bool bolt = arg_long(argv, "bolt", 0);
	int most_down;

	if (argc > 1 && !strcmp(argv[1], "nothing"))
		return 0;	/* a worker's child runs this program only for the execve() */
	if (n < 1)
		die("BOLT_REQUESTS=%s: 1 or more are wanted", requested);
	state = (seed ? strtoull(seed, NULL, 0) : (unsigned long long)now_ns()) ?: 1;
	printf("BOLT_SEED=%llu\n", state);
	load_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (load_cpus < 2)
		die("the guest has only one CPU");
	ledger = mmap(NULL, MAX_WORKERS * sizeof(*ledger), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ledger == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	if (more)
		check_known(more);
	if (bolt) {
		put_setting(BOLT_DIR "settle_delay_ms", arg_text(argv, "settle_ms", "100"));
		put_setting(BOLT_DIR "enabled", "1");
	}
	fflush(stdout);
	start_all(kinds, ARRAY_SIZE(kinds), NULL);
	if (more)
		start_all(more_kinds, ARRAY_SIZE(more_kinds), more);
	all_come_forward();
	if (program) {
		beside(program, argv + 1);
		all_come_forward();
		all_end();
		show_ledger();
		return 0;
	}
	most_down = requests(n, bolt, arg_long(argv, "pause_ms", 20));
	all_come_forward();
	all_end();
	if (bolt)
		put_setting(BOLT_DIR "enabled", "0");
	printf("%ld requests, at most %d CPUs offline at a time, %d workers:\n", n, most_down, workers);
	show_ledger();
	return 0;
}
