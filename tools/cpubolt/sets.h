/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions for sets of CPUs that cpubolt.h and CPU_SET(3) do not have */
#ifndef SETS_H
#define SETS_H

#include "command.h"

/** for_each_cpu() - all members of @set in ascending order; @cpu is an unsigned int */
#define for_each_cpu(machine, cpu, set)							\
	for ((cpu) = next_cpu(machine, 0, set); (cpu) < set_limit(machine);		\
	     (cpu) = next_cpu(machine, (cpu) + 1, set))

/** set_limit() - a number greater than all CPU numbers of the machine */
static inline unsigned int set_limit(const struct cpubolt *machine)
{
	return cpubolt_set_size(machine) * 8;
}

/** next_cpu() - the first member of @set from @cpu on; set_limit() if there is none */
unsigned int next_cpu(const struct cpubolt *machine, unsigned int cpu, const cpu_set_t *set);

static inline unsigned int set_count(const struct cpubolt *machine, const cpu_set_t *set)
{
	return CPU_COUNT_S(cpubolt_set_size(machine), set);
}

static inline bool set_has(const struct cpubolt *machine, unsigned int cpu, const cpu_set_t *set)
{
	return CPU_ISSET_S(cpu, cpubolt_set_size(machine), set);
}

static inline void set_and(const struct cpubolt *machine, cpu_set_t *to, const cpu_set_t *other)
{
	CPU_AND_S(cpubolt_set_size(machine), to, to, other);
}

static inline void set_or(const struct cpubolt *machine, cpu_set_t *to, const cpu_set_t *other)
{
	CPU_OR_S(cpubolt_set_size(machine), to, to, other);
}

/** set_minus() - take the members of @other out of @to */
void set_minus(const struct cpubolt *machine, cpu_set_t *to, const cpu_set_t *other);

/** set_new() - a new set, filled by cpubolt_cpus(); ends the program if memory is short */
cpu_set_t *set_new(const struct cpubolt *machine, enum cpubolt_which which);

/** set_empty() - a new set without members; ends the program if memory is short */
cpu_set_t *set_empty(const struct cpubolt *machine);

/** set_copy() - a new set with the members of @set; ends the program if memory is short */
cpu_set_t *set_copy(const struct cpubolt *machine, const cpu_set_t *set);

/** set_text() - @set as a cpulist, to be freed; ends the program if memory is short */
char *set_text(const struct cpubolt *machine, const cpu_set_t *set);

#endif /* SETS_H */
