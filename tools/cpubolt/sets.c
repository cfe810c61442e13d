// SPDX-License-Identifier: GPL-2.0-only
/* Functions for sets of CPUs that cpubolt.h and CPU_SET(3) do not have */
#include <stdlib.h>
#include <string.h>

#include "sets.h"

static void *need(void *memory)
{
	if (!memory)
		exit(fail(EXIT_FAILED, "no memory"));
	return memory;
}

cpu_set_t *set_empty(const struct cpubolt *machine)
{
	return need(cpubolt_set_new(machine));
}

cpu_set_t *set_new(const struct cpubolt *machine, enum cpubolt_which which)
{
	cpu_set_t *set = set_empty(machine);

	cpubolt_cpus(machine, which, set);
	return set;
}

cpu_set_t *set_copy(const struct cpubolt *machine, const cpu_set_t *set)
{
	return memcpy(set_empty(machine), set, cpubolt_set_size(machine));
}

char *set_text(const struct cpubolt *machine, const cpu_set_t *set)
{
	return need(cpubolt_format_list(machine, set));
}

unsigned int next_cpu(const struct cpubolt *machine, unsigned int cpu, const cpu_set_t *set)
{
	size_t size = cpubolt_set_size(machine);

	while (cpu < size * 8 && !CPU_ISSET_S(cpu, size, set))
		cpu++;
	return cpu;
}

void set_minus(const struct cpubolt *machine, cpu_set_t *to, const cpu_set_t *other)
{
	size_t size = cpubolt_set_size(machine);
	cpu_set_t *common = set_copy(machine, to);

	CPU_AND_S(size, common, common, other);
	CPU_XOR_S(size, to, to, common);
	CPU_FREE(common);
}
