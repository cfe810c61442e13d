/* SPDX-License-Identifier: GPL-2.0-only */
/* The floor: CPUs that have to be online */
#ifndef FLOOR_H
#define FLOOR_H

#include "config.h"

/**
 * floor_alone() - find the CPUs that the daemon leaves as they are
 * @alone: overwritten with the isolated and nohz_full CPUs, which the kernel chooses at boot, and
 *	   the CPUs of "deny"
 *
 * Return: 0, -ENOMEM, or a negative errno as of cpubolt_cpus().
 */
int floor_alone(const struct machine *machine, const struct config *config, cpu_set_t *alone);

/**
 * floor_own() - the CPUs that machine and configuration keep online
 * @inputs: as for a policy; inputs->floor is not read
 * @more: CPUs that also have to be online, such as those of leases; may be NULL
 * @floor: overwritten with the CPUs that have to be online; may be inputs->floor
 *
 * These are the usable ones of the CPUs that cannot go offline and of the CPUs of "keep" and of
 * @more, and as many further usable CPUs as "min_cpus" requires, unless the policy chooses these
 * itself. Return: 0 or -ENOMEM.
 */
int floor_own(const struct machine *machine, const struct config *config,
	      const struct inputs *inputs, const cpu_set_t *more, cpu_set_t *floor);

/**
 * floor_others() - find CPUs of @going that tasks and cpusets need
 * @going: CPUs that are to go offline, or have gone
 * @after: CPUs that stay or come
 * @needed: overwritten with those of @going that have to stay
 *
 * - A task, and a cpuset, keeps one of its CPUs at least. Kernel threads do not count.
 * - A real-time or deadline task, or a virtual CPU, that may not run on all CPUs keeps all CPUs on
 *   which the task may run. Isolated CPUs and CPUs of partitions do not count among "all CPUs", as
 *   no task runs there that was not put there.
 * - A cpuset partition keeps all its CPUs; so does a cpuset of cgroup version 1, to which the
 *   kernel would not give back a CPU that was offline once, unless version 1 is mounted with
 *   "cpuset_v2_mode". Cpusets are seen only if they are mounted where the daemon runs.
 *
 * Return: 0, -ENOMEM, or a negative errno if /proc or a list of CPUs cannot be read.
 */
int floor_others(const struct machine *machine, const cpu_set_t *going, const cpu_set_t *after,
		 cpu_set_t *needed);

#endif /* FLOOR_H */
