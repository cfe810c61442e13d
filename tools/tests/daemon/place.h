/* SPDX-License-Identifier: GPL-2.0-only */
/* A recorded tree as the machine of a test */
#ifndef PLACE_H
#define PLACE_H

#include "machine.h"
#include "tree.h"

#define CPUS		"/sys/devices/system/cpu/"

extern char *folder;
extern struct machine machine;

/** place_begin() - make the tree @name, and open it as "machine" */
void place_begin(const char *name);

void place_end(void);

/** put() - write a file below the tree, and make its folders */
void put(const char *path, const char *text);

/** make_online() - make these CPUs the only ones online, as if a program had asked the kernel */
void make_online(const char *list);

/** online_now() - the CPUs that the tree says are online */
cpu_set_t *online_now(void);

void assert_online(const char *list);

cpu_set_t *cpus_of(const char *list);

/** assert_list() - check that the set is this cpulist; "none" stands for an empty set */
void assert_list(const cpu_set_t *set, const char *list);

/** put_task() - add a task with these CPUs, this scheduling policy and these flags */
void put_task(int pid, const char *name, const char *allowed, unsigned int policy,
	      unsigned long flags);

#endif /* PLACE_H */
