// SPDX-License-Identifier: GPL-2.0-only
/*
 * undisturbed cpus=LIST seconds=N: how long CPUs that nothing needs stay idle, and what wakes them
 *
 * The same small load runs on the other CPUs or wherever the scheduler puts it, while the CPUs of
 * LIST are online; natively offline; and, where there is Bolt, parked warm and parked cold. Counted
 * for each of them are idle periods, interrupts, and interprocessor interrupts among these, by the
 * kernel's trace events. Nothing is traced on a CPU that is offline; so the interrupts that
 * /proc/interrupts has for a CPU are compared, too: after an absence, and after one that is over at
 * once.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "tracing.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACING "/sys/kernel/tracing/"
#define BOLT "/sys/devices/system/cpu/bolt/"
#define SETTLE_MS 600000	/* no CPU is settled while this measures */
#define WORKERS 3
#define WORK_NS 100000
#define MAP_SIZE 16384

enum state { IDLE_ONLINE, NATIVE, COLD, WARM, STATES };

static const char *const names[STATES] = {
	[IDLE_ONLINE] = "online", [NATIVE] = "native", [COLD] = "cold", [WARM] = "warm",
};

#ifdef __aarch64__
static const char *const events[] = { "power/cpu_idle", "irq/irq_handler_entry", "ipi/ipi_entry" };
static const char *const interrupts[] = { "irq_handler_entry: " };
static const char *const ipis[] = { "ipi_entry: " };
#else
static const char *const events[] = { "power/cpu_idle", "irq/irq_handler_entry", "irq_vectors" };
static const char *const interrupts[] = {
	"irq_handler_entry: ", "local_timer_entry: ", "reschedule_entry: ",
	"call_function_entry: ", "call_function_single_entry: ", "irq_work_entry: ",
};
static const char *const ipis[] = {
	"reschedule_entry: ", "call_function_entry: ", "call_function_single_entry: ",
};
#endif

struct counts {
	unsigned long interrupts, ipis, wakeups;
	int64_t idle_us, longest_us;
};

/* -- A load ---------------------------------------------------------------- */

/* Runs for a while, touches memory that it has mapped anew, and sleeps. */
static void work(int number)
{
	if (!number)
		pin_to(0);
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
		sleep_ms(5 + 3 * number);
	}
}

static void start_load(pid_t *pids)
{
	for (int i = 0; i < WORKERS; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			die("fork: %s", strerror(errno));
		if (!pids[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			work(i);
		}
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

/* Microseconds of a line "TASK [CPU] FLAGS SECONDS: EVENT: ..." */
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

static struct counts count_trace(int cpu)
{
	struct counts found = { 0 };
	int64_t since = -1;
	char path[128], line[512];
	FILE *in;

	snprintf(path, sizeof(path), TRACING "per_cpu/cpu%d/trace", cpu);
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

/* All of a CPU's interrupts since the boot; its column is found by the first line. */
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

/* -- States ---------------------------------------------------------------- */

static void settings_of(enum state state)
{
	if (state < COLD) {
		write_text(BOLT "enabled", "0");	/* a kernel without Bolt has none */
		return;
	}
	must_write(BOLT "enabled", "1");
	must_write(BOLT "park", state == WARM ? "warm" : "cold");
}

static void change(enum state state, const char *list, const int *cpus, int n, bool online)
{
	if (state == IDLE_ONLINE)
		return;
	if (state >= COLD) {
		must_write(online ? BOLT "online" : BOLT "offline", list);
		return;
	}
	for (int i = 0; i < n; i++)
		if (cpu_write(cpus[i], online))
			die("CPU %d does not change", cpus[i]);
}

/* One absence; @counts may be NULL. Returns in @all how many interrupts each CPU took from end to end. */
static void be_away(enum state state, const char *list, const int *cpus, int n, long ms,
		    struct counts *counts, long *all)
{
	for (int i = 0; i < n; i++)
		all[i] = -all_interrupts(cpus[i]);
	change(state, list, cpus, n, false);
	if (counts)
		tracing_on();
	sleep_ms(ms);
	if (counts)
		tracing_off();
	change(state, list, cpus, n, true);
	for (int i = 0; i < n; i++)
		all[i] += all_interrupts(cpus[i]);
	for (int i = 0; counts && i < n; i++)
		counts[i] = count_trace(cpus[i]);
	sleep_ms(100);
}

static void measure(enum state state, const char *list, const int *cpus, int n, long seconds)
{
	static struct counts counts[MAX_CPUS];
	static long at_once[MAX_CPUS], all[MAX_CPUS];

	settings_of(state);
	/* The first absence finds nothing prepared. */
	be_away(state, list, cpus, n, 1, NULL, at_once);
	be_away(state, list, cpus, n, 1, NULL, at_once);
	be_away(state, list, cpus, n, seconds * 1000, counts, all);
	for (int i = 0; i < n; i++) {
		struct counts *found = &counts[i];
		long more = all[i] - at_once[i];
		double mean = found->wakeups ? found->idle_us / 1000.0 / found->wakeups :
			      seconds * 1000.0;
		double longest = found->wakeups ? found->longest_us / 1000.0 : seconds * 1000.0;

		emit("{\"undisturbed\":\"%s\",\"cpu\":%d,\"seconds\":%ld,\"wakeups\":%lu,"
		     "\"interrupts\":%lu,\"ipis\":%lu,\"counted\":%ld,\"mean_ms\":%.3f,"
		     "\"longest_ms\":%.3f,\"output\":\"CPU %d %-6s %ld s: %lu wake-ups, %lu "
		     "interrupts, of these %lu IPIs (/proc/interrupts: %+ld); idle periods %.1f ms "
		     "on average, %.1f ms at most\"}", names[state], cpus[i], seconds,
		     found->wakeups, found->interrupts, found->ipis, more, mean, longest, cpus[i],
		     names[state], seconds, found->wakeups, found->interrupts, found->ipis, more,
		     mean, longest);
	}
}

int main(int argc, char **argv)
{
	static int cpus[MAX_CPUS];
	const char *list = arg_text(argv, "cpus", "2-3");
	int n = parse_cpus(list, cpus, MAX_CPUS);
	long seconds = arg_long(argv, "seconds", 10);
	bool bolt = !access(BOLT "enabled", F_OK);
	pid_t pids[WORKERS];
	char path[128];

	(void)argc;
	tracing_off();
	must_write(TRACING "trace_clock", "mono");
	must_write(TRACING "buffer_size_kb", "8192");
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		snprintf(path, sizeof(path), TRACING "events/%s/enable", events[i]);
		must_write(path, "1");
	}
	if (bolt) {
		snprintf(path, sizeof(path), "%d", SETTLE_MS);
		must_write(BOLT "settle_delay_ms", path);
	}
	/* The load may run anywhere, but for one of its tasks; this task stays on CPU 0. */
	start_load(pids);
	pin_to(0);
	for (enum state state = 0; state < (bolt ? STATES : COLD); state++)
		measure(state, list, cpus, n, seconds);
	for (int i = 0; i < WORKERS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	return 0;
}
