// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an architecture may do in its own way when CPUs of a request go or come.
 * These functions serve for an architecture that has none of its own: x86 has some in
 * arch/x86/kernel/bolt.c, arm64 in arch/arm64/kernel/smp.c. An architecture without
 * CONFIG_HOTPLUG_SPLIT_STARTUP, such as arm64, must also have bolt_arch_kick() and
 * bolt_arch_gave_up(), which wake a CPU without waiting for it, and clean up after a
 * CPU that has not arrived. A new architecture is added to Kconfig as well, and its
 * hotplug states to rows.h and names.h. Those with warm in their names are for CPUs that
 * wait in the kernel while they are parked, see warm.c. Called by down.c, up.c, threads.c,
 * turn.c, warm.c, settle.c and boot/tree.c.
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

/**
 * bolt_arch_warm_possible - whether CPUs of this machine can be parked warm
 *
 * Context: any.
 * Return: true if some can.
 */
bool __weak bolt_arch_warm_possible(void)
{
	return false;
}

/**
 * bolt_arch_can_park_warm - whether a CPU can wait in the kernel when it dies
 * @cpu:	the CPU
 *
 * Such an architecture has the CPU wait, as bolt_warm_order() says, where natively
 * the CPU would be stopped.
 *
 * Context: the CPU, in bolt_warm_park().
 * Return: true if so.
 */
bool __weak bolt_arch_can_park_warm(unsigned int cpu)
{
	return false;
}

/**
 * bolt_arch_warm_prepare - prepare the return of a CPU that waits in the kernel
 * @cpu:	the CPU
 * @idle:	its idle task
 *
 * Context: the control task, inside a request. The CPU has no order yet.
 * Return: true; or false if the CPU must be woken natively, because something has
 * changed that is set up on that way only.
 */
bool __weak bolt_arch_warm_prepare(unsigned int cpu, struct task_struct *idle)
{
	return false;
}

/**
 * bolt_arch_warm_kick - have a CPU that waits in the kernel look at its order
 * @cpu:	the CPU
 *
 * May be called again when the CPU does not answer.
 *
 * Context: a task; no CPU is on its way but those of the task's request.
 */
void __weak bolt_arch_warm_kick(unsigned int cpu)
{
}

/**
 * bolt_arch_warm_gone - a CPU that waited in the kernel dies natively
 * @cpu:	the CPU
 * @answered:	whether the CPU has taken its order; if not, the CPU dies when it runs
 *
 * Waits until the CPU is as dead as natively, where the architecture can tell.
 *
 * Context: as bolt_arch_warm_kick().
 */
void __weak bolt_arch_warm_gone(unsigned int cpu, bool answered)
{
}

/**
 * bolt_arch_warm_lost - a CPU that waits in the kernel has not answered in time
 * @cpu:	the CPU, which dies natively when it runs again
 *
 * In the native way the CPU would not have arrived either. Only called where
 * bolt_arch_warm_resets() is false.
 *
 * Context: as bolt_arch_warm_kick().
 */
void __weak bolt_arch_warm_lost(unsigned int cpu)
{
}

/**
 * bolt_arch_warm_resets - whether the native way wakes a CPU that does not answer
 *
 * Context: as bolt_arch_warm_kick().
 * Return: true if a CPU that waits in the kernel can be woken natively all the same.
 */
bool __weak bolt_arch_warm_resets(void)
{
	return false;
}

/**
 * bolt_arch_warm_stays - whether CPUs wait in the kernel beyond the settle delay
 *
 * Context: any.
 * Return: true if they save as much there as natively; false if they are to die
 * natively when the delay is over.
 */
bool __weak bolt_arch_warm_stays(void)
{
	return false;
}
