// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an architecture may do in its own way when CPUs of a request go or come.
 * The functions of this file are defaults, which an architecture may replace by
 * functions of its own: x86 has some in arch/x86/kernel, arm64 has some in
 * arch/arm64/kernel/smp.c. An architecture without CONFIG_HOTPLUG_SPLIT_STARTUP, such
 * as arm64, must also have bolt_arch_kick(), which wakes a CPU without waiting for it,
 * and bolt_arch_gave_up(), which cleans up after a CPU that has not arrived. A new
 * architecture is added to Kconfig as well, and its hotplug states to rows.h and
 * names.h. Functions with "warm" in their names are for CPUs that wait in the kernel
 * while they are parked, see warm.c. Of the files of Bolt, down.c, up.c, threads.c,
 * turn.c, warm.c and boot/tree.c call these functions.
 */
#include <linux/bolt.h>
#include <linux/cpumask.h>

/**
 * bolt_arch_may_go - whether the architecture lets CPUs go
 * @cpus:	all CPUs that go
 *
 * Context: all CPUs stopped, interrupts off.
 * Return: 0, or a negative error number.
 */
int __weak bolt_arch_may_go(const struct cpumask *cpus)
{
	return 0;
}

/**
 * bolt_arch_wave - whether a CPU is woken in the first wave or the second
 * @cpu:	the CPU
 *
 * Context: the control task.
 * Return: 0; or 1 if @cpu must not be woken before all CPUs of the first wave have
 * arrived.
 */
unsigned int __weak bolt_arch_wave(unsigned int cpu)
{
	return 0;
}

/**
 * bolt_arch_slots - how many CPUs may be on their way up at once
 *
 * CPUs that come spin in a queue for each other's locks. If a hypervisor has fewer CPUs
 * than its guest, each CPU of the guest takes longer when more of these CPUs come at
 * once.
 *
 * Context: the control task; with lockdep or KUnit tests also a CPU that comes,
 * interrupts off.
 * Return: the number.
 */
unsigned int __weak bolt_arch_slots(void)
{
	return BOLT_SLOTS;
}

/**
 * bolt_arch_coming - prepare for CPUs that are about to be woken
 * @nr:	how many CPUs are to be woken
 *
 * Context: the control task, hotplug lock held for writing.
 */
void __weak bolt_arch_coming(unsigned int nr)
{
}

/**
 * bolt_arch_arrived - finish after all CPUs were woken
 * @cpus:	the CPUs that have arrived; other CPUs will not arrive any more
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
 * Return: true if some CPUs can.
 */
bool __weak bolt_arch_warm_possible(void)
{
	return false;
}

/**
 * bolt_arch_can_park_warm - whether a CPU can wait in the kernel when it dies
 * @cpu:	the CPU
 *
 * If this function returns true, the architecture has the CPU wait for an order, as
 * bolt_warm_order() reads it, in the place where the CPU is stopped natively.
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
 * Context: the control task, inside a request, before the CPU is ordered to return.
 * Return: true; or false if the CPU must be woken natively, because something has
 * changed that only a native bring-up sets up.
 */
bool __weak bolt_arch_warm_prepare(unsigned int cpu, struct task_struct *idle)
{
	return false;
}

/**
 * bolt_arch_warm_kick - have a CPU that waits in the kernel look at its order
 * @cpu:	the CPU
 *
 * Bolt calls this function again if the CPU does not answer, except after a crash.
 *
 * Context: a task, while only CPUs of its own request go or come; or a CPU that crashed.
 */
void __weak bolt_arch_warm_kick(unsigned int cpu)
{
}

/**
 * bolt_arch_warm_gone - wait for the native death of a CPU that waited
 * @cpu:	the CPU
 * @answered:	whether the CPU has taken its order; if not, the CPU dies when it runs
 *
 * Waits until the CPU is natively dead, if the architecture can tell; or resets the CPU,
 * if the CPU has not answered and the architecture can reset it.
 *
 * Context: a task; no CPU goes or comes but those of the task's own request.
 */
void __weak bolt_arch_warm_gone(unsigned int cpu, bool answered)
{
}

/**
 * bolt_arch_warm_lost - note that a CPU that waits has not answered in time
 * @cpu:	the CPU, which dies natively when it runs again
 *
 * Only called where bolt_arch_warm_resets() is false: there a native wake-up has no
 * effect on such a CPU before the CPU has run again and died.
 *
 * Context: as bolt_arch_warm_gone().
 */
void __weak bolt_arch_warm_lost(unsigned int cpu)
{
}

/**
 * bolt_arch_warm_resets - whether the native way wakes a CPU that does not answer
 *
 * Context: as bolt_arch_warm_gone().
 * Return: true if a CPU that waits in the kernel and does not answer can be woken
 * natively.
 */
bool __weak bolt_arch_warm_resets(void)
{
	return false;
}

/**
 * bolt_arch_warm_stays - whether CPUs wait in the kernel beyond the settle delay
 *
 * Context: any.
 * Return: true if waiting CPUs save as much power as natively dead CPUs; false if
 * CPUs are to die natively when the settle delay is over.
 */
bool __weak bolt_arch_warm_stays(void)
{
	return false;
}

/**
 * bolt_arch_finish_death - wait for what a CPU does after it has reported its death
 * @cpu:	the CPU; if it is not dying, the function does not wait
 *
 * Until the CPU is done, it must not be reset, and obeys no order to return or to die.
 *
 * Context: may sleep; no CPU goes or comes but those of the task's own request.
 * Return: 0, or a negative error number: the CPU is not done, and must not be reset.
 */
int __weak bolt_arch_finish_death(unsigned int cpu)
{
	return 0;
}
