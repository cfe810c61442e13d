// SPDX-License-Identifier: GPL-2.0-only
/* Chooses the CPUs of cpubolt bench. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench_cpus.h"
#include "sets.h"

/* The general CPUs (online, not isolated, not nohz_full), of which one has to stay; to be freed. */
static cpu_set_t *general_cpus(struct cpubolt *machine)
{
	cpu_set_t *cpus = set_new(machine, CPUBOLT_ONLINE);
	cpu_set_t *isolated = set_new(machine, CPUBOLT_ISOLATED);
	cpu_set_t *nohz_full = set_new(machine, CPUBOLT_NOHZ_FULL);

	set_minus(machine, cpus, isolated);
	set_minus(machine, cpus, nohz_full);
	CPU_FREE(isolated);
	CPU_FREE(nohz_full);
	return cpus;
}

cpu_set_t *bench_kept(struct cpubolt *machine)
{
	cpu_set_t *kept = set_empty(machine);
	char *list;

	if (!cpubolt_get(machine, "irq_keep", &list))
		cpubolt_parse_list(machine, list, kept, NULL);
	free(list);
	return kept;
}

/*
 * Removes from @cpus those of @kept, the CPUs that cannot go, and one general CPU if no general CPU
 * would stay.
 */
static void leave_needed(struct cpubolt *machine, const cpu_set_t *kept, cpu_set_t *cpus)
{
	cpu_set_t *general = general_cpus(machine), *fixed = set_new(machine, CPUBOLT_FIXED);
	cpu_set_t *stay = set_copy(machine, general);

	set_minus(machine, cpus, fixed);
	set_minus(machine, cpus, kept);
	set_minus(machine, stay, cpus);
	if (!set_count(machine, stay))
		CPU_CLR_S(next_cpu(machine, 0, general), cpubolt_set_size(machine), cpus);
	CPU_FREE(general);
	CPU_FREE(fixed);
	CPU_FREE(stay);
}

/* Chooses the last CPUs, because the first ones have most of the interrupts. */
void bench_choose(struct cpubolt *machine, unsigned int most, const cpu_set_t *kept,
		  cpu_set_t *cpus)
{
	cpu_set_t *usable = general_cpus(machine);
	unsigned int cpu;

	leave_needed(machine, kept, usable);
	for (cpu = set_limit(machine); cpu-- && set_count(machine, cpus) < most;)
		if (set_has(machine, cpu, usable))
			CPU_SET_S(cpu, cpubolt_set_size(machine), cpus);
	CPU_FREE(usable);
}

void bench_drop_unusable(struct cpubolt *machine, const cpu_set_t *kept, cpu_set_t *cpus)
{
	cpu_set_t *online = set_new(machine, CPUBOLT_ONLINE);

	set_and(machine, cpus, online);
	leave_needed(machine, kept, cpus);
	CPU_FREE(online);
}

/* Binds this program to the first CPU of @among that the program may use; 0 or a negative errno. */
static int stay_on(struct cpubolt *machine, const cpu_set_t *among)
{
	size_t size = cpubolt_set_size(machine);
	cpu_set_t *one = set_empty(machine);
	int error = -EINVAL;
	unsigned int cpu;

	for_each_cpu(machine, cpu, among) {
		CPU_ZERO_S(size, one);
		CPU_SET_S(cpu, size, one);
		error = sched_setaffinity(0, size, one) ? -errno : 0;
		/* -EINVAL: the cpuset of this program lacks the CPU, so the next CPU is tried. */
		if (error != -EINVAL)
			break;
	}
	CPU_FREE(one);
	return error;
}

int bench_pin(struct cpubolt *machine, const cpu_set_t *cpus)
{
	cpu_set_t *stay = set_new(machine, CPUBOLT_ONLINE), *general = general_cpus(machine);
	cpu_set_t *fixed = set_new(machine, CPUBOLT_FIXED);
	int error;

	set_minus(machine, stay, cpus);
	set_minus(machine, general, cpus);
	set_minus(machine, fixed, cpus);
	error = stay_on(machine, fixed);
	if (error == -EINVAL)
		error = stay_on(machine, general);
	if (error == -EINVAL)
		error = stay_on(machine, stay);
	CPU_FREE(stay);
	CPU_FREE(general);
	CPU_FREE(fixed);
	if (error == -EINVAL)
		return fail(EXIT_FAILED, "this program may run on the measured CPUs only");
	return error ? fail(EXIT_FAILED, "cannot stay on one CPU: %s", strerror(-error)) :
	       EXIT_DONE;
}
