/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load that runs beside requests, and its ledger: each worker is a process that
 * counts its rounds, checks its own results, and reports what is wrong.
 */
#ifndef BOLT_LOAD_H
#define BOLT_LOAD_H

#include "guest.h"
#include "work.h"

#define MAX_WORKERS 64

/* One worker's entry in the ledger, shared between the worker and the main process. */
struct entry {
	char name[24];
	pid_t pid;
	unsigned long done;	/* number of rounds */
	bool stop;		/* set by the main process: the worker is to end */
	char wrong[200];	/* empty, or the worker's complaint */
};

/*
 * A kind of worker. @copies processes call @run, each with a number of its own, from 0 on; @run
 * does rounds until stopping() is true, and returns. @ready tells whether the guest has what the
 * worker needs; without @ready every guest has that.
 */
struct worker {
	const char *name;
	int copies;
	void (*run)(int which);
	bool (*ready)(void);
};

/* Each table ends with a row without a name. */
extern const struct worker cpu_workers[], time_workers[], disk_workers[], net_workers[],
	group_workers[];

/* Workers that the program load starts only if it has an argument more=, see load.c. */
extern const struct worker sched_workers[], bpf_workers[];

extern struct entry *me;
extern int load_cpus;	/* how many CPUs the guest has */

static inline bool stopping(void)
{
	return __atomic_load_n(&me->stop, __ATOMIC_RELAXED);
}

static inline void once_round(void)
{
	__atomic_add_fetch(&me->done, 1, __ATOMIC_RELAXED);
}

/* Ends the worker with a complaint. */
void wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
unsigned int draw(unsigned int below);

/* Allows this worker CPU @cpu only, or any CPU if @cpu is negative. Returns 0 or -errno. */
int affine(int cpu);

/* fork() of a child that ends with its parent; an error ends the worker. */
pid_t child(void);

/* fill() fills @data with bytes made from @seed; filled() tells whether @data has these bytes. */
void fill(void *data, size_t size, uint64_t seed);
bool filled(const void *data, size_t size, uint64_t seed);

#endif
