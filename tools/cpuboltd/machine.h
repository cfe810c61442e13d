/* SPDX-License-Identifier: GPL-2.0-only */
/* The machine, as the daemon sees it */
#ifndef MACHINE_H
#define MACHINE_H

#include <sys/types.h>

#include <cpubolt.h>

#include "policy.h"

/*
 * Processes of the kernel, by number and by the inode of their folder in /proc, which another process
 * that gets the number does not have. The daemon does not look at these processes again.
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
	size_t size;		/* of each set */
	struct position *places;
	struct kthreads *kthreads;	/* as found last */
};

/** machine_open() - 0, or a negative errno as cpubolt_open() has it */
int machine_open(const char *root, struct machine *machine);

void machine_close(struct machine *machine);

/** machine_places() - read where CPUs are; what an offline CPU does not say stays as it was */
void machine_places(struct machine *machine);

/** machine_set() - an empty set, or NULL; to be freed with CPU_FREE() */
cpu_set_t *machine_set(const struct machine *machine);

/** machine_list() - @set as a cpulist, "none" if it is empty; to be freed; NULL without memory */
char *machine_list(const struct machine *machine, const cpu_set_t *set);

#endif /* MACHINE_H */
