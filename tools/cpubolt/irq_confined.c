// SPDX-License-Identifier: GPL-2.0-only
/* Finds out on which CPUs irqbalance puts interrupts. */
#include <errno.h>
#include <stdlib.h>

#include "irq_confined.h"
#include "programs.h"
#include "sets.h"

/*
 * CPUs on which irqbalance puts interrupts; NULL if no list of CPUs that irqbalance avoids can be
 * read.
 */
static cpu_set_t *balanced_cpus(const struct invocation *call, int pid)
{
	char *list = program_variable(call->root, pid, "IRQBALANCE_BANNED_CPULIST");
	char *mask = program_variable(call->root, pid, "IRQBALANCE_BANNED_CPUS");
	cpu_set_t *banned = set_empty(call->machine);
	cpu_set_t *left = set_new(call->machine, CPUBOLT_ONLINE);
	int error = -EINVAL;

	if (list)
		error = cpubolt_parse_list(call->machine, list, banned, NULL);
	else if (mask)
		error = cpubolt_parse_mask(call->machine, mask, banned, NULL);
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
