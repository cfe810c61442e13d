// SPDX-License-Identifier: GPL-2.0-only
/* Finds out on which CPUs irqbalance puts interrupts. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "irq_confined.h"
#include "programs.h"
#include "sets.h"

/*
 * Adds the CPUs of a list such as "2-1023,1" to @banned. As in irqbalance, the list may have
 * numbers that the machine cannot have.
 */
static int read_list(const struct cpubolt *machine, const char *text, cpu_set_t *banned)
{
	unsigned long first, last;
	char *end;

	while (*text) {
		if (!parse_range(text, ULONG_MAX, &first, &last, &end))
			return -EINVAL;
		for (; first <= last && first < set_limit(machine); first++)
			CPU_SET_S(first, cpubolt_set_size(machine), banned);
		text = end + (*end == ',');
	}
	return 0;
}

/* Adds the CPUs of a mask such as "ff,fffffffc" to @banned. */
static int read_mask(const struct cpubolt *machine, const char *text, cpu_set_t *banned)
{
	char one[2] = "";
	size_t cpu = 0;

	for (size_t i = strlen(text); i--;) {
		if (text[i] == ',')
			continue;
		if (!isxdigit((unsigned char)text[i]))
			return -EINVAL;
		one[0] = text[i];
		for (unsigned long bits = strtoul(one, NULL, 16); bits; bits &= bits - 1)
			CPU_SET_S(cpu + __builtin_ctzl(bits), cpubolt_set_size(machine), banned);
		cpu += 4;
	}
	return 0;
}

/*
 * The CPUs online on which irqbalance puts interrupts; NULL if its environment names no CPUs to
 * avoid, or if the environment or these CPUs cannot be read.
 */
static cpu_set_t *balanced_cpus(const struct invocation *call, int pid)
{
	char *list = program_variable(call->root, pid, "IRQBALANCE_BANNED_CPULIST");
	char *mask = program_variable(call->root, pid, "IRQBALANCE_BANNED_CPUS");
	cpu_set_t *banned = set_empty(call->machine);
	cpu_set_t *left = set_new(call->machine, CPUBOLT_ONLINE);
	int error = -EINVAL;

	if (list)
		error = read_list(call->machine, list, banned);
	else if (mask)
		error = read_mask(call->machine, mask, banned);
	set_minus(call->machine, left, banned);
	CPU_FREE(banned);
	free(list);
	free(mask);
	if (!error)
		return left;
	CPU_FREE(left);
	return NULL;
}

bool irqbalance_is_confined(const struct invocation *call, int pid, const cpu_set_t *keep)
{
	cpu_set_t *cpus = balanced_cpus(call, pid);
	bool confined;

	if (!cpus)
		return false;
	set_minus(call->machine, cpus, keep);
	confined = !set_count(call->machine, cpus);
	CPU_FREE(cpus);
	return confined;
}
