// SPDX-License-Identifier: GPL-2.0-only
/*
 * undisturbed cpus=LIST seconds=N n=N ways=WAY,...: measures what a pause of CPUs
 * costs, and which interrupts and tasks disturb the paused CPUs
 *
 * A way is a way of pause.h to keep tasks away from CPUs: the CPUs are online and idle, are in an
 * isolated partition of cpusets, are natively offline, without or with expedited grace periods, or
 * are parked, cold or warm. Without ways=, the program uses all ways that the kernel has.
 *
 * For each way, the first CPU of the list is paused and given back n times while the CPU is idle,
 * and then, unless the way is "online", n times while a task works on the CPU (inout.c, which
 * begins each of these two series with rounds that do not count). Then the CPU is paused and given
 * back once more (taken.c).
 * Then a small load runs, of a task on CPU 0 and of tasks that may run on any CPU, while all CPUs
 * of the list are paused. For each of these CPUs the program counts, by the kernel's trace events,
 * idle periods, interrupts, interprocessor interrupts among the interrupts, and tasks that ran.
 * The kernel traces nothing on a CPU that is offline. So the program also says how many more
 * interrupts /proc/interrupts counts for each CPU in a long absence than in an absence that is over
 * at once.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "lib/children.h"
#include "lib/place.h"
#include "pause.h"
#include "tracing.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETTLE BOLT_DIR "settle_delay_ms"
#define SETTLE_MS "600000"	/* no CPU is settled in the first ten minutes of the load */
#define WORKERS 3
#define WORK_NS 100000
#define MAP_SIZE 16384
#define MAX_TASKS 16
#define MAX_COMM 32

/*
 * The events that are traced; and which of these are interrupts, interrupts of the timer,
 * and interprocessor interrupts.
 */
#ifdef __aarch64__
static const char *const events[] = {
	"power/cpu_idle", "sched/sched_switch", "irq/irq_handler_entry", "ipi/ipi_entry",
};
static const char *const interrupts[] = { "irq_handler_entry: " };
static const char timer[] = "name=arch_timer";
static const char *const ipis[] = { "ipi_entry: " };
#else
static const char *const events[] = {
	"power/cpu_idle", "sched/sched_switch", "irq/irq_handler_entry", "irq_vectors",
};
static const char *const interrupts[] = {
	"irq_handler_entry: ", "local_timer_entry: ", "reschedule_entry: ",
	"call_function_entry: ", "call_function_single_entry: ", "irq_work_entry: ",
};
static const char timer[] = "local_timer_entry: ";
static const char *const ipis[] = {
	"reschedule_entry: ", "call_function_entry: ", "call_function_single_entry: ",
};
#endif

struct counts {
	unsigned long interrupts, timers, ipis, wakeups;
	int64_t idle_us, longest_us;
	struct {
		char name[MAX_COMM];
		unsigned long times;
	} tasks[MAX_TASKS];
};

/* -- A load ---------------------------------------------------------------- */

/* Is a task of the load: again and again maps and touches memory, runs for a while, and sleeps. */
static void work(int number)
{
	if (!number)
		pin_to(0);
	else if (unpin(0))
		die("no task can run on every CPU");
	for (;;) {
		int64_t end = now_ns() + WORK_NS;
		char *map = mmap(NULL, MAP_SIZE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (map == MAP_FAILED)
			_exit(1);
		memset(map, number, MAP_SIZE);
		while (now_ns() < end)
			;
		munmap(map, MAP_SIZE);
		wait_ms(5 + 3 * number);
	}
}

static void start_load(pid_t *pids)
{
	for (int i = 0; i < WORKERS; i++) {
		pids[i] = fork_mortal();
		if (pids[i] < 0)
			die("fork: %s", strerror(errno));
		if (!pids[i])
			work(i);
	}
}

static void stop_load(const pid_t *pids)
{
	for (int i = 0; i < WORKERS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

/* -- Counting -------------------------------------------------------------- */

static bool has_one(const char *line, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(line, words[i]))
			return true;
	return false;
}

/* Returns the time in a line "TASK [CPU] FLAGS SECONDS: EVENT: ...", in microseconds. */
static int64_t time_of(const char *line)
{
	const char *end = strstr(line, ": "), *start = end;
	long seconds, us;

	while (start && start > line && start[-1] != ' ')
		start--;
	if (!start || sscanf(start, "%ld.%6ld", &seconds, &us) != 2)
		die("a line of the trace has no time: %s", line);
	return seconds * 1000000LL + us;
}

/*
 * Counts the task that runs next according to @line. Threads that each CPU has of its own
 * are counted together, under their name without the number of the CPU.
 */
static void count_task(struct counts *found, const char *line)
{
	char name[MAX_COMM];
	const char *next = strstr(line, "next_comm=");
	size_t i = 0;

	if (!next || sscanf(next, "next_comm=%31[^ ]", name) != 1 || !strncmp(name, "swapper/", 8))
		return;
	if (!strncmp(name, "kworker/u", 9))
		strcpy(name, "kworker/u");
	else
		name[strcspn(name, "/")] = '\0';
	while (i < MAX_TASKS && *found->tasks[i].name && strcmp(found->tasks[i].name, name))
		i++;
	if (i == MAX_TASKS)
		die("more than %d kinds of tasks have run", MAX_TASKS);
	strcpy(found->tasks[i].name, name);
	found->tasks[i].times++;
}

static struct counts count_trace(int cpu)
{
	struct counts found = { 0 };
	int64_t since = -1;
	char path[128], line[512];
	FILE *in;

	snprintf(path, sizeof(path), TRACE_DIR "per_cpu/cpu%d/trace", cpu);
	in = fopen(path, "re");
	if (!in)
		die("%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), in)) {
		const char *idle = strstr(line, "cpu_idle: state=");

		if (*line == '#')
			continue;
		if (strstr(line, "LOST"))
			die("the trace of CPU %d is too long", cpu);
		found.interrupts += has_one(line, interrupts, ARRAY_SIZE(interrupts));
		found.ipis += has_one(line, ipis, ARRAY_SIZE(ipis));
		found.timers += !!strstr(line, timer);
		count_task(&found, line);
		if (!idle)
			continue;
		if (strncmp(idle, "cpu_idle: state=4294967295", 26)) {
			since = time_of(line);
		} else if (since >= 0) {
			int64_t took = time_of(line) - since;

			found.wakeups++;
			found.idle_us += took;
			found.longest_us = took > found.longest_us ? took : found.longest_us;
			since = -1;
		}
	}
	fclose(in);
	return found;
}

/*
 * Returns how many interrupts a CPU has had since the boot. The first line of
 * /proc/interrupts tells the CPU's column.
 */
static long all_interrupts(int cpu)
{
	static char text[65536];
	ssize_t size = read_text("/proc/interrupts", text, sizeof(text));
	long sum = 0;
	char *lines = text, *line, head[16];
	int column = -1;

	if (size <= 0)
		die("/proc/interrupts: %s", strerror((int)-size));
	snprintf(head, sizeof(head), "CPU%d", cpu);
	while ((line = strsep(&lines, "\n"))) {
		char *word;
		int at = 0;

		/* The first line has no name before its columns. */
		for (word = strtok(line, " "); word; word = strtok(NULL, " "), at++) {
			if (column < 0 && !strcmp(word, head)) {
				column = at;
				break;
			}
			if (at && at == column + 1) {
				sum += strtol(word, NULL, 10);
				break;
			}
		}
		if (column < 0)
			die("CPU %d is not in /proc/interrupts", cpu);
	}
	return sum;
}

/* -- Absences -------------------------------------------------------------- */

/*
 * Makes one absence of the CPUs. Returns in @counts, unless @counts is NULL, what the trace shows
 * of the absence for each CPU, and in @all how many interrupts each CPU took from before the
 * absence until after the absence.
 */
static void be_away(const struct pause *p, long ms, struct counts *counts, long *all)
{
	for (int i = 0; i < p->n; i++)
		all[i] = -all_interrupts(p->cpus[i]);
	pause_request(p, true);
	if (counts)
		tracing_on();
	wait_ms(ms);
	if (counts)
		tracing_off();
	pause_check(p, true);
	pause_request(p, false);
	for (int i = 0; i < p->n; i++)
		all[i] += all_interrupts(p->cpus[i]);
	for (int i = 0; counts && i < p->n; i++)
		counts[i] = count_trace(p->cpus[i]);
	wait_ms(100);
}

static void tasks_text(const struct counts *found, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (int i = 0; i < MAX_TASKS && *found->tasks[i].name; i++)
		used += snprintf(text + used, size - used, "%s\"%s\":%lu", i ? "," : "",
				 found->tasks[i].name, found->tasks[i].times);
}

static void undisturbed(const struct pause *p, long seconds)
{
	static struct counts counts[MAX_CPUS];
	static long at_once[MAX_CPUS], all[MAX_CPUS];

	/* The first short absence, in which work is done that is done only once, does not count. */
	be_away(p, 1, NULL, at_once);
	be_away(p, 1, NULL, at_once);
	be_away(p, seconds * 1000, counts, all);
	for (int i = 0; i < p->n; i++) {
		struct counts *found = &counts[i];
		long more = all[i] - at_once[i];
		double mean = found->wakeups ? found->idle_us / 1000.0 / found->wakeups :
			      seconds * 1000.0;
		double longest = found->wakeups ? found->longest_us / 1000.0 : seconds * 1000.0;
		const char *name = way_names[p->way];
		char tasks[MAX_TASKS * (MAX_COMM + 16)];

		tasks_text(found, tasks, sizeof(tasks));
		emit("{\"undisturbed\":\"%s\",\"cpu\":%d,\"seconds\":%ld,\"wakeups\":%lu,"
		     "\"interrupts\":%lu,\"timers\":%lu,\"ipis\":%lu,\"counted\":%ld,"
		     "\"mean_ms\":%.3f,\"longest_ms\":%.3f,"
		     "\"tasks\":{%s}}", name, p->cpus[i], seconds, found->wakeups,
		     found->interrupts, found->timers, found->ipis, more, mean, longest, tasks);
		printf("CPU %d %-9s %ld s: %lu wake-ups, %lu interrupts, of these %lu IPIs "
		       "(/proc/interrupts: %+ld); idle periods %.1f ms on average, %.1f ms at most\n",
		       p->cpus[i], name, seconds, found->wakeups, found->interrupts, found->ipis,
		       more, mean, longest);
	}
}

/* -- Ways ------------------------------------------------------------------- */

static void measure(enum way way, const char *list, const int *cpus, int n, long seconds, long rounds)
{
	struct pause one = { .way = way, .cpus = cpus, .n = 1 };
	struct pause all = { .way = way, .list = list, .cpus = cpus, .n = n };
	char delay[32] = "", first[16];
	pid_t pids[WORKERS];

	snprintf(first, sizeof(first), "%d", cpus[0]);
	one.list = first;
	pause_prepare(&one);
	pause_times(&one, rounds);
	pause_takes(&one);
	pause_finish(&one);

	if (way >= COLD) {
		if (read_text(SETTLE, delay, sizeof(delay)) < 0)
			die("cannot read %s", SETTLE);
		must_write(SETTLE, SETTLE_MS);
	}
	pause_prepare(&all);
	/* One task of the load runs on CPU 0, the other tasks may run on any CPU. */
	start_load(pids);
	wait_ms(200);
	undisturbed(&all, seconds);
	stop_load(pids);
	pause_finish(&all);
	if (*delay)
		must_write(SETTLE, delay);
}

int main(int argc, char **argv)
{
	static int cpus[MAX_CPUS];
	const char *list = arg_text(argv, "cpus", "2-3");
	int n = parse_cpus(list, cpus, MAX_CPUS);
	long seconds = arg_long(argv, "seconds", 10), rounds = arg_long(argv, "n", 20);
	bool bolt = !access(BOLT_DIR "enabled", F_OK);
	const char *ways = arg_text(argv, "ways", NULL);
	char path[128];

	(void)argc;
	setlinebuf(stdout);
	tracing_off();
	must_write(TRACE_DIR "trace_clock", "mono");
	must_write(TRACE_DIR "buffer_size_kb", "8192");
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		snprintf(path, sizeof(path), TRACE_DIR "events/%s/enable", events[i]);
		must_write(path, "1");
	}
	/* This task, which makes the requests, runs on CPU 0. */
	pin_to(0);
	for (enum way way = 0; way < WAYS; way++)
		if (ways ? named(ways, way_names[way]) : bolt || way < COLD)
			measure(way, list, cpus, n, seconds, rounds);
	return 0;
}
