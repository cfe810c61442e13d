// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an architecture may do in its own way when CPUs of a request go or come.
 * These functions serve for an architecture that has none of its own: x86 has some in
 * arch/x86/kernel/bolt.c, arm64 in arch/arm64/kernel/smp.c. An architecture without
 * CONFIG_HOTPLUG_SPLIT_STARTUP, such as arm64, must also have bolt_arch_kick() and
 * bolt_arch_gave_up(), which wake a CPU without waiting for it, and clean up after a
 * CPU that has not arrived. A new architecture is added to Kconfig as well, and its
 * hotplug states to rows.h and names.h. Called by down.c, up.c, threads.c, turn.c and
 * boot/tree.c.
 */
#include <linux/bolt.h>
#include <linux/cpumask.h>

/**
 * bolt_arch_may_go - whether the architecture lets CPUs go
 * @cpus:	the CPUs, all of them
 *
 * Context: all CPUs stopped, interrupts off.
 * Return: 0, or a negative error number.
 */
int __weak bolt_arch_may_go(const struct cpumask *cpus)
{
	return 0;
}

/**
 * bolt_arch_wave - when a CPU may be woken
 * @cpu:	the CPU
 *
 * Context: the control task.
 * Return: 0; or 1 if all CPUs for which it is 0 must have arrived first.
 */
unsigned int __weak bolt_arch_wave(unsigned int cpu)
{
	return 0;
}

/**
 * bolt_arch_slots - how many CPUs may be on their way at once
 *
 * CPUs on their way spin for each other's locks in a queue. Under a hypervisor
 * with fewer CPUs to run them on, a greater number takes longer.
 *
 * Context: the control task.
 * Return: the number.
 */
unsigned int __weak bolt_arch_slots(void)
{
	return BOLT_SLOTS;
}

/**
 * bolt_arch_coming - CPUs are about to be woken
 * @nr:	how many
 *
 * Context: the control task, hotplug lock held for writing.
 */
void __weak bolt_arch_coming(unsigned int nr)
{
}

/**
 * bolt_arch_arrived - the CPUs that were woken have arrived, or will not
 * @cpus:	the CPUs that have arrived
 *
 * Context: as bolt_arch_coming().
 */
void __weak bolt_arch_arrived(const struct cpumask *cpus)
{
}
