// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes requests while a task that never asks the kernel for anything runs on
 * each CPU that stays, except CPU 0. The emulator's plugin (lab/plugin/bystanders.c) measures
 * these tasks; the program tells the plugin when requests begin and end.
 * usage: bystand cpus=LIST n=N warmup=N bolt=0|1 gap_ms=N
 * The program's main task, on CPU 0, makes the requests: natively for one CPU after the
 * other, with Bolt for all CPUs at once.
 *
 * With Bolt, as many further rounds follow, in which a write to bolt/settle comes
 * directly after the offline request, and runs all teardowns that Bolt has deferred.
 * These are rounds of their own because the CPUs then come back settled, not parked.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "lib/children.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MARK ((char *)0x133700000000)

enum phase { NONE, OFFLINE, ONLINE, IDLE, SETTLE, ONLINE_SETTLED };

/*
 * Puts an instruction at each of eight addresses; the plugin sees when a CPU executes
 * such an instruction.
 */
static void make_marks(void)
{
#ifdef __aarch64__
	static const unsigned int nothing = 0xd65f03c0; /* ret */
#else
	static const unsigned char nothing = 0xc3;	/* ret */
#endif
	char *map = mmap(MARK, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (map != MARK)
		die("mmap: %s", strerror(errno));
	for (int i = 0; i < 8; i++)
		memcpy(map + 64 * i, &nothing, sizeof(nothing));
	if (mprotect(map, 4096, PROT_READ | PROT_EXEC))
		die("mprotect: %s", strerror(errno));
	__builtin___clear_cache(map, map + 4096);
}

/*
 * The first requests are not counted, because the first requests also set up objects that
 * later requests find.
 */
static bool warm;

static void mark(enum phase phase)
{
	if (!warm)
		return;
	((void (*)(void))(MARK + 64 * phase))();
}

static pid_t spin(int cpu)
{
	pid_t pid = fork_mortal();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid)
		return pid;
	pin_to(cpu);
	for (;;)
		__asm__ volatile("" ::: "memory");
}

/* Writes @list to a file of Bolt, and counts the write as @phase. */
static void ask(const char *file, const char *list, enum phase phase)
{
	int err;

	mark(phase);
	err = write_text(file, list);
	mark(NONE);
	if (err)
		die("%s to %s: %s", list, file, strerror(-err));
}

static void change(const char *list, const int *cpus, int n, bool bolt, bool online)
{
	enum phase phase = online ? ONLINE : OFFLINE;
	int err = 0;

	if (bolt) {
		ask(online ? BOLT_DIR "online" : BOLT_DIR "offline", list, phase);
		return;
	}
	mark(phase);
	for (int i = 0; i < n && !err; i++)
		err = cpu_write(cpus[i], online);
	mark(NONE);
	if (err)
		die("%s %s: %s", list, online ? "online" : "offline", strerror(-err));
}

/* Counts the next @ns, in which there is no request, as phase IDLE. */
static void idle(int64_t ns)
{
	mark(IDLE);
	wait_until(CLOCK_MONOTONIC, now_ns() + ns);
	mark(NONE);
}

/*
 * There is no gap before SETTLE, because a worker of the kernel begins with teardowns of
 * class "async" as soon as the offline request has ended: in a gap these would run without
 * being counted. The offline request is not counted here, because the rounds without
 * settling count offline requests, see change().
 */
static void settle_round(const char *list, long gap_ms)
{
	ask(BOLT_DIR "offline", list, NONE);
	ask(BOLT_DIR "settle", list, SETTLE);
	wait_ms(gap_ms);
	ask(BOLT_DIR "online", list, ONLINE_SETTLED);
	wait_ms(gap_ms);
}

int main(int argc, char **argv)
{
	static int cpus[MAX_CPUS];
	static bool goes[MAX_CPUS];
	const char *list = arg_text(argv, "cpus", "1");
	int n = parse_cpus(list, cpus, MAX_CPUS), all = sysconf(_SC_NPROCESSORS_ONLN);
	long rounds = arg_long(argv, "n", 10), gap_ms = arg_long(argv, "gap_ms", 50);
	int warmup = arg_long(argv, "warmup", 2);
	bool bolt = arg_long(argv, "bolt", 0);
	pid_t pids[MAX_CPUS] = {};

	(void)argc;
	make_marks();
	for (int i = 0; i < n; i++)
		goes[cpus[i]] = true;
	if (bolt && write_text(BOLT_DIR "enabled", "1"))
		die("Bolt cannot be enabled");
	pin_to(0);
	/* By default the kernel may let a sleep last 50 us longer, to save wake-ups. */
	prctl(PR_SET_TIMERSLACK, 1);
	for (int cpu = 1; cpu < all; cpu++)
		if (!goes[cpu])
			pids[cpu] = spin(cpu);
	for (int i = -warmup; i < rounds; i++) {
		int64_t begin = now_ns(), took;

		warm = i >= 0;
		change(list, cpus, n, bolt, false);
		took = now_ns() - begin;
		wait_ms(gap_ms);
		change(list, cpus, n, bolt, true);
		wait_ms(gap_ms);
		idle(took);
	}
	for (int i = -warmup; bolt && i < rounds; i++) {
		warm = i >= 0;
		settle_round(list, gap_ms);
	}
	for (int cpu = 1; cpu < all; cpu++)
		if (pids[cpu])
			kill(pids[cpu], SIGKILL);
	emit("{\"bystanders\":%d,\"rounds\":%ld}", all - n - 1, rounds);
	return 0;
}
