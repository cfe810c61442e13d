// SPDX-License-Identifier: GPL-2.0-only
/*
 * cost [key=value ...] -- PROGRAM [ARGUMENT ...]: runs a program, and measures its duration.
 *
 * case=NAME    the name of the result: nanoseconds from the first instruction of the program, when
 *		the dynamic linker has done its work, to exit(2)
 * n=COUNT      run the program so many times
 * status=CODE  the program must end with that status (default: 0); -1: any status will do
 * race=CPU     during all runs a task takes that CPU offline and online, again and again
 * back=LIST    after each run bring these CPUs online
 * away=LIST    before each run take these CPUs offline
 * tasks=COUNT  start sleeping tasks until the guest has so many, kernel threads included
 * fifo=CPU     start a sleeping real-time task that may run on that CPU only
 * vcpu=CPU     start a sleeping task that may run on that CPU only, and has the name that QEMU
 *		gives to the thread of a virtual CPU
 *
 * What the program has written to stdout and stderr goes to stdout when the program has ended:
 * in virtual time the guest's CPUs share one clock, so that the work of a task which passed the
 * output on earlier would count as time of the program.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "lib/children.h"
#include "lib/place.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sysinfo.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_RUNS 1000
#define GAP_MS 50

#if defined(__x86_64__)
#define BREAKPOINT 0xccUL
#define BREAKPOINT_MASK 0xffUL
#elif defined(__aarch64__)
#define BREAKPOINT 0xd4200000UL
#define BREAKPOINT_MASK 0xffffffffUL
#else
#error "no breakpoint for this architecture"
#endif

/* Lets the task go on at its entry: x86 stops a task behind the breakpoint, arm64 at it. */
static void step_back(pid_t pid, unsigned long entry)
{
#if defined(__x86_64__)
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		die("registers: %s", strerror(errno));
	if (regs.rip != entry + 1)
		die("the program stopped at %llx, not at its entry %lx", regs.rip, entry);
	regs.rip = entry;
	if (ptrace(PTRACE_SETREGS, pid, NULL, &regs))
		die("registers: %s", strerror(errno));
#else
	(void)pid;
	(void)entry;
#endif
}

static unsigned long entry_of(pid_t pid)
{
	char path[64];
	Elf64_auxv_t pair;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && read(fd, &pair, sizeof(pair)) == sizeof(pair) && pair.a_type) {
		if (pair.a_type != AT_ENTRY)
			continue;
		close(fd);
		return pair.a_un.a_val;
	}
	die("%s has no entry", path);
}

static void wait_for_stop(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		die("the program did not stop by SIGTRAP: wait status %x", status);
}

/* Lets the program run up to its first instruction. */
static void go_to_entry(pid_t pid)
{
	unsigned long entry, word;

	wait_for_stop(pid);
	entry = entry_of(pid);
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, (void *)entry, NULL);
	if (errno)
		die("peek: %s", strerror(errno));
	if (ptrace(PTRACE_POKETEXT, pid, (void *)entry, (word & ~BREAKPOINT_MASK) | BREAKPOINT) ||
	    ptrace(PTRACE_CONT, pid, NULL, NULL))
		die("breakpoint: %s", strerror(errno));
	wait_for_stop(pid);
	if (ptrace(PTRACE_POKETEXT, pid, (void *)entry, word))
		die("poke: %s", strerror(errno));
	step_back(pid, entry);
}

/* Passes on what the program has printed, and empties @out. */
static void show(int out)
{
	char text[4096];
	ssize_t n;

	lseek(out, 0, SEEK_SET);
	while ((n = read(out, text, sizeof(text))) > 0)
		if (write(1, text, n) != n)
			die("output: %s", strerror(errno));
	if (ftruncate(out, 0) || lseek(out, 0, SEEK_SET))
		die("output: %s", strerror(errno));
}

/* Runs the program once, with its output into @out; returns the duration in ns. */
static int64_t run(char **program, int wanted, int out)
{
	int64_t begin;
	int status;
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		dup2(out, 1);
		dup2(out, 2);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(program[0], program);
		die("%s: %s", program[0], strerror(errno));
	}
	go_to_entry(pid);
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACEEXIT))
		die("options: %s", strerror(errno));
	begin = now_ns();
	if (ptrace(PTRACE_CONT, pid, NULL, NULL))
		die("continue: %s", strerror(errno));
	wait_for_stop(pid);
	begin = now_ns() - begin;
	if (ptrace(PTRACE_DETACH, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid)
		die("end: %s", strerror(errno));
	show(out);
	if (!WIFEXITED(status) || (wanted >= 0 && WEXITSTATUS(status) != wanted))
		die("%s %s ended with %04x, not with status %d", program[0],
		    program[1] ? program[1] : "", status, wanted);
	return begin;
}

/* Starts a task that sleeps until this task ends, and is killed then. */
static pid_t sleeper(void)
{
	pid_t pid = fork_mortal();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	while (!pid)
		pause();
	return pid;
}

static unsigned int tasks(void)
{
	struct sysinfo info;

	if (sysinfo(&info))
		die("sysinfo: %s", strerror(errno));
	return info.procs;
}

static void pin_task(pid_t pid, int cpu)
{
	int err = pin(pid, cpu);

	if (err)
		die("cannot pin to CPU %d: %s", cpu, strerror(-err));
}

static void start_fifo(int cpu)
{
	struct sched_param param = { .sched_priority = 5 };
	pid_t pid = sleeper();

	pin_task(pid, cpu);
	if (sched_setscheduler(pid, SCHED_FIFO, &param))
		die("SCHED_FIFO: %s", strerror(errno));
}

static void start_vcpu(int cpu)
{
	pid_t pid = fork_mortal();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_NAME, "CPU 0/KVM");
		for (;;)
			pause();
	}
	pin_task(pid, cpu);
	wait_ms(10);
}

/*
 * While a write to a file cpuN/online is under way, another task that wants to write to
 * such a file tries again every 5 ms. So if the racing task never rested for longer than
 * 5 ms, the program could wait for minutes.
 */
static pid_t start_race(int cpu)
{
	pid_t pid = fork_mortal();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	for (int i = 0; !pid; i++) {
		cpu_write(cpu, i % 2);
		wait_ms(1 + i % 9);
	}
	return pid;
}

static void stop_race(pid_t pid, int cpu)
{
	kill(pid, SIGKILL);
	if (waitpid(pid, NULL, 0) != pid)
		die("wait: %s", strerror(errno));
	if (cpu_write(cpu, true))
		die("CPU %d does not come", cpu);
}

static void set_cpus(const char *list, bool online)
{
	int cpus[MAX_CPUS], n = parse_cpus(list, cpus, MAX_CPUS);

	for (int i = 0; i < n; i++)
		if (cpu_write(cpus[i], online))
			die("CPU %d does not %s", cpus[i], online ? "come" : "go");
}

int main(int argc, char **argv)
{
	static int64_t ns[MAX_RUNS];
	const char *name, *back, *away;
	char **program = argv + 1;
	int n, status, fifo, vcpu, race, out = memfd_create("output", MFD_CLOEXEC);
	unsigned int wanted;
	pid_t racer = -1;

	while (*program && strcmp(*program, "--"))
		program++;
	if (!*program || !program[1])
		die("%s [key=value ...] -- PROGRAM", argc ? argv[0] : "cost");
	*program++ = NULL;
	name = arg_text(argv + 1, "case", NULL);
	back = arg_text(argv + 1, "back", "");
	away = arg_text(argv + 1, "away", "");
	n = arg_long(argv + 1, "n", 1);
	status = arg_long(argv + 1, "status", 0);
	fifo = arg_long(argv + 1, "fifo", -1);
	vcpu = arg_long(argv + 1, "vcpu", -1);
	race = arg_long(argv + 1, "race", -1);
	wanted = arg_long(argv + 1, "tasks", 0);
	if (n < 1 || n > MAX_RUNS)
		die("n=%d: 1 to %d are wanted", n, MAX_RUNS);
	/* On CPU 0, which stays online, this task and the program take turns. */
	pin_to(0);
	if (fifo >= 0)
		start_fifo(fifo);
	if (vcpu >= 0)
		start_vcpu(vcpu);
	while (tasks() < wanted)
		sleeper();
	if (race >= 0)
		racer = start_race(race);
	for (int i = 0; i < n; i++) {
		set_cpus(away, false);
		if (i)
			wait_ms(GAP_MS);
		ns[i] = run(program, status, out);
		set_cpus(back, true);
	}
	if (racer >= 0)
		stop_race(racer, race);
	if (name)
		emit_samples(name, 1, ns, n);
	if (wanted)
		emit("{\"tasks\":%u}", tasks());
	return 0;
}
