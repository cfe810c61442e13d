// SPDX-License-Identifier: GPL-2.0-only
/*
 * Microbenchmarks of work that hotplug's bookkeeping could slow down while there
 * are no requests: context switches, tasks that begin and end, page faults. A
 * sample is the time of as many operations as the field ops of benches[] says.
 * usage: micro n=N warmup=N
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_SAMPLES 1000
#define PAGES 64

static void check(bool good, const char *what)
{
	if (!good)
		die("%s: %s", what, strerror(errno));
}

/* Pipes to and from the partner, another process, with which this task takes turns. */
static int to_partner[2], from_partner[2];
static int *word;	/* shared with the partner: says which task's turn it is */

static void pipe_turns(int ops, int in, int out, bool first)
{
	char ball = 0;

	for (int i = 0; i < ops; i++) {
		if (first)
			check(write(out, &ball, 1) == 1, "pipe");
		check(read(in, &ball, 1) == 1, "pipe");
		if (!first)
			check(write(out, &ball, 1) == 1, "pipe");
	}
}

static void futex_turns(int ops, int mine, int other)
{
	for (int i = 0; i < ops; i++) {
		while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != mine)
			syscall(SYS_futex, word, FUTEX_WAIT, other, NULL, NULL, 0);
		__atomic_store_n(word, other, __ATOMIC_RELEASE);
		syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

static void pipes(int ops)
{
	pipe_turns(ops, from_partner[0], to_partner[1], true);
}

static void pipe_partner(int ops)
{
	pipe_turns(ops, to_partner[0], from_partner[1], false);
}

static void futexes(int ops)
{
	futex_turns(ops, 1, 2);
}

static void futex_partner(int ops)
{
	futex_turns(ops, 2, 1);
}

static void yields(int ops)
{
	for (int i = 0; i < ops; i++)
		sched_yield();
}

static void *nothing(void *unused)
{
	return unused;
}

static void threads(int ops)
{
	for (int i = 0; i < ops; i++) {
		pthread_t thread;

		check(!pthread_create(&thread, NULL, nothing, NULL), "thread");
		pthread_join(thread, NULL);
	}
}

static void forks(int ops)
{
	for (int i = 0; i < ops; i++) {
		pid_t pid = fork();

		check(pid >= 0, "fork");
		if (!pid)
			_exit(0);
		check(waitpid(pid, NULL, 0) == pid, "wait");
	}
}

static void faults(int ops)
{
	long size = sysconf(_SC_PAGESIZE);

	for (int i = 0; i < ops; i++) {
		char *area = mmap(NULL, PAGES * size, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		check(area != MAP_FAILED, "mmap");
		for (int page = 0; page < PAGES; page++)
			area[page * size] = 1;
		munmap(area, PAGES * size);
	}
}

static const struct {
	const char *name;
	int ops;
	int partner_cpu;	/* where the partner runs, if there is one */
	void (*run)(int ops), (*partner)(int ops);
} benches[] = {
	{ "micro_pipe_same", 1000, 0, pipes, pipe_partner },
	{ "micro_pipe_other", 1000, 1, pipes, pipe_partner },
	{ "micro_futex_same", 1000, 0, futexes, futex_partner },
	{ "micro_futex_other", 1000, 1, futexes, futex_partner },
	{ "micro_yield", 2000, 0, yields, yields },
	{ "micro_thread", 500, 0, threads, NULL },
	{ "micro_fork", 100, 0, forks, NULL },
	{ "micro_fault", 20, 0, faults, NULL },
};

static void bench(size_t which, int n, int warmup)
{
	static int64_t ns[MAX_SAMPLES];
	int ops = benches[which].ops;
	pid_t partner = 0;

	*word = 1;
	if (benches[which].partner) {
		partner = fork();
		check(partner >= 0, "fork");
		if (!partner) {
			pin_to(benches[which].partner_cpu);
			benches[which].partner(ops * (n + warmup));
			_exit(0);
		}
	}
	for (int i = 0; i < n + warmup; i++) {
		int64_t start = now_ns();

		benches[which].run(ops);
		ns[i] = now_ns() - start;
	}
	if (partner)
		check(waitpid(partner, NULL, 0) == partner, "wait");
	emit_samples(benches[which].name, 1, ns + warmup, n);
}

int main(int argc, char **argv)
{
	int n = arg_long(argv, "n", 20), warmup = arg_long(argv, "warmup", 2);

	(void)argc;
	if (n < 1 || warmup < 0 || n + warmup > MAX_SAMPLES)
		die("n or warmup out of range");
	pin_to(0);
	word = mmap(NULL, sizeof(*word), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(word != MAP_FAILED, "mmap");
	check(!pipe2(to_partner, O_CLOEXEC) && !pipe2(from_partner, O_CLOEXEC), "pipe");
	for (size_t i = 0; i < ARRAY_SIZE(benches); i++)
		bench(i, n, warmup);
	return 0;
}
