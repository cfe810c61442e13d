/* SPDX-License-Identifier: GPL-2.0-only */
/* The machine, as the daemon sees it */
#ifndef MACHINE_H
#define MACHINE_H

#include <sys/types.h>

#include <cpubolt.h>

#include "policy.h"

/*
 * Kernel threads, by PID and by the inode of their folder in /proc: another process that gets the
 * PID has another inode. Kernel threads keep no CPU online, see floor_others(), so the daemon does
 * not read again the affinity of a kernel thread of this list.
 */
struct kthreads {
	struct kthread {
		int pid;
		ino_t inode;
	} *list;
	size_t count;
};

struct machine {
	const char *root;	/* stands for "/"; "" is the running system */
	struct cpubolt *handle;
	unsigned int count;	/* CPU numbers are 0 to count - 1 */
	size_t size;		/* size of each set */
	struct position *places;	/* core, cluster, package and capacity of each CPU */
	struct kthreads *kthreads;	/* the kernel threads found last */
};

/** machine_open() - open the machine; 0, or a negative errno as of cpubolt_open() */
int machine_open(const char *root, struct machine *machine);

void machine_close(struct machine *machine);

/** machine_places() - read machine->places; the entry of a CPU without topology stays as it was */
void machine_places(struct machine *machine);

/** machine_set() - an empty set, to be freed with CPU_FREE(); NULL if memory is short */
cpu_set_t *machine_set(const struct machine *machine);

/** machine_list() - @set as a cpulist, or "none"; to be freed; NULL if memory is short */
char *machine_list(const struct machine *machine, const cpu_set_t *set);

#endif /* MACHINE_H */
