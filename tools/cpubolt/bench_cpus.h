/* SPDX-License-Identifier: GPL-2.0-only */
/* Which CPUs "cpubolt bench" takes offline, and on which CPU the program stays meanwhile */
#ifndef BENCH_CPUS_H
#define BENCH_CPUS_H

#include "command.h"

/** bench_kept() - the CPUs of irq_keep, which Bolt does not take offline; to be freed */
cpu_set_t *bench_kept(struct cpubolt *machine);

/**
 * bench_choose() - add the CPUs that are measured without --cpus to @cpus: @most or fewer
 * @kept: CPUs that are not to be chosen
 */
void bench_choose(struct cpubolt *machine, unsigned int most, const cpu_set_t *kept,
		  cpu_set_t *cpus);

/** bench_drop_unusable() - for "all": remove @kept and those that are offline or have to stay */
void bench_drop_unusable(struct cpubolt *machine, const cpu_set_t *kept, cpu_set_t *cpus);

/**
 * bench_pin() - bind this program to a CPU that is online and not in @cpus
 *
 * A CPU that cannot go is preferred, then one that is neither isolated nor nohz_full.
 *
 * Return: EXIT_DONE, or another exit code after a message.
 */
int bench_pin(struct cpubolt *machine, const cpu_set_t *cpus);

#endif /* BENCH_CPUS_H */
