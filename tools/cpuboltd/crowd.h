/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Crowds: busy tasks that may run on some CPUs only
 *
 * A crowd is all runnable tasks with one affinity, the mask of the crowd. If those CPUs of the mask
 * that stay have no room for what the CPUs of the mask run now, the crowd needs as many CPUs of the
 * mask as the crowd has tasks. A crowd goes on to need so many CPUs for a minute: tasks that sleep
 * now and then are not runnable in each look.
 */
#ifndef CROWD_H
#define CROWD_H

#include "machine.h"

/** crowd_is_likely() - tell whether CPUs are full, and more tasks are runnable than CPUs full */
bool crowd_is_likely(const struct inputs *inputs);

/** crowd_begin() - begin a look at all tasks: no task is runnable yet */
void crowd_begin(const struct machine *machine);

/**
 * crowd_add() - note that @runnable more tasks have the affinity @mask; 0 or -ENOMEM
 *
 * With @runnable 0, @mask is that of a cpuset. The kernel takes CPUs that are offline from the
 * affinities of a cpuset's tasks, so that only the cpuset tells on which CPUs these tasks may run.
 */
int crowd_add(const struct machine *machine, const cpu_set_t *mask, unsigned int runnable);

/**
 * crowd_end() - end a look: decide how many CPUs each crowd needs, and forget crowds without a need
 * @inputs: what the CPUs have run lately; inputs->floor and inputs->before are not read
 * @online: CPUs that are online
 * @after: CPUs that stay or come
 *
 * In the need of a crowd, runnable tasks whose affinity is only a part of the crowd's mask count as
 * well. Return: 0 or -ENOMEM.
 */
int crowd_end(const struct machine *machine, const struct inputs *inputs, const cpu_set_t *online,
	      const cpu_set_t *after, uint64_t now_us);

/** crowd_free() - forget all crowds */
void crowd_free(const struct machine *machine);

#endif /* CROWD_H */
