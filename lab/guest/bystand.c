// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes requests while a task that never asks the kernel for anything runs on
 * each CPU that stays. The emulator's plugin (lab/plugin/bystanders.c) measures
 * these tasks; the program tells the plugin when requests begin and end.
 * usage: bystand cpus=LIST n=N warmup=N bolt=0|1 gap_ms=N
 * The program's main task, on CPU 0, makes the requests: natively for one CPU after the
 * other, with Bolt for all CPUs at once.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "lib/children.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MARK ((char *)0x133700000000)

enum phase { NONE, OFFLINE, ONLINE, IDLE };

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

	if (pid)
		return pid;
	pin_to(cpu);
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static void change(const char *list, const int *cpus, int n, bool bolt, bool online)
{
	int err = 0;

	mark(online ? ONLINE : OFFLINE);
	if (bolt)
		err = write_text(online ? BOLT_DIR "online" : BOLT_DIR "offline", list);
	else
		for (int i = 0; i < n && !err; i++)
			err = cpu_write(cpus[i], online);
	mark(NONE);
	if (err)
		die("%s %s: %s", list, online ? "online" : "offline", strerror(-err));
}

int main(int argc, char **argv)
{
	static int cpus[MAX_CPUS];
	static bool goes[MAX_CPUS];
	const char *list = arg_text(argv, "cpus", "1");
	int n = parse_cpus(list, cpus, MAX_CPUS), all = sysconf(_SC_NPROCESSORS_ONLN);
	long rounds = arg_long(argv, "n", 10), gap_ms = arg_long(argv, "gap_ms", 50);
	bool bolt = arg_long(argv, "bolt", 0);
	pid_t pids[MAX_CPUS] = {};

	(void)argc;
	make_marks();
	for (int i = 0; i < n; i++)
		goes[cpus[i]] = true;
	if (bolt && write_text(BOLT_DIR "enabled", "1"))
		die("this kernel has no Bolt");
	pin_to(0);
	for (int cpu = 1; cpu < all; cpu++)
		if (!goes[cpu])
			pids[cpu] = spin(cpu);
	for (int i = -arg_long(argv, "warmup", 2); i < rounds; i++) {
		int64_t begin = now_ns(), took;

		warm = i >= 0;
		change(list, cpus, n, bolt, false);
		took = now_ns() - begin;
		wait_ms(gap_ms);
		change(list, cpus, n, bolt, true);
		wait_ms(gap_ms);
		/* A phase about as long as the offline request, in which there is no request. */
		mark(IDLE);
		wait_ms(took / 1000000 + 1);
		mark(NONE);
	}
	for (int cpu = 1; cpu < all; cpu++)
		if (pids[cpu])
			kill(pids[cpu], SIGKILL);
	emit("{\"bystanders\":%d,\"rounds\":%ld}", all - n - 1, rounds);
	return 0;
}
