// SPDX-License-Identifier: GPL-2.0-only
/*
 * x86: those functions of kernel/bolt/arch.c that x86 has of its own. down.c asks
 * bolt_arch_may_go() in the stop; the other functions are for CPUs that are woken. smpboot.c calls
 * bolt_startup_delay() between the IPIs that wake a CPU.
 */
#include <linux/bolt.h>
#include <linux/cpufeature.h>
#include <linux/delay.h>
#include <linux/smp.h>
#include <linux/topology.h>

#include <asm/bolt.h>
#include <asm/cacheinfo.h>

/* Memory types are set up for all CPUs of the batch in one stop. */
static bool bolt_caches_wait;

/**
 * bolt_startup_delay - give a CPU time to accept a startup IPI
 * @usecs:	how much
 *
 * The CPU has accepted the IPI when it has reported itself alive.
 *
 * Context: the control task, inside a hotplug operation; preemption off.
 */
void bolt_startup_delay(unsigned int usecs)
{
	if (!bolt_may_defer()) {
		udelay(usecs);
		return;
	}
	for (; usecs && !bolt_woken_cpu_alive(); usecs--)
		udelay(1);
}

/**
 * bolt_arch_may_go - whether the vectors of CPUs find room on the others
 * @cpus:	the CPUs
 *
 * Context: all CPUs stopped.
 * Return: 0 or -ENOSPC.
 */
int bolt_arch_may_go(const struct cpumask *cpus)
{
	bolt_warm_note(cpus);
	if (smp_ops.cpu_disable != native_cpu_disable)
		return 0;
	return lapic_can_unplug_cpus(cpus);
}

/**
 * bolt_arch_wave - primary threads come before the others
 * @cpu:	the CPU
 *
 * A core must not have another thread running when its microcode is loaded.
 *
 * Context: the control task.
 * Return: 0 for primary threads, else 1.
 */
unsigned int bolt_arch_wave(unsigned int cpu)
{
	return !topology_is_primary_thread(cpu);
}

/**
 * bolt_arch_slots - how many CPUs may be on their way at once
 *
 * All CPUs, if each finds out its own number: guests have spinlocks without a queue.
 * The CPUs of a Xen PV guest come by cpu_bringup(), which does not call
 * bolt_ap_lock(): there the next CPU is woken when the last is online.
 *
 * Context: the control task.
 * Return: the number.
 */
unsigned int bolt_arch_slots(void)
{
	if (cpu_feature_enabled(X86_FEATURE_XENPV))
		return 1;
	return smpboot_control & STARTUP_PARALLEL_MASK ? nr_cpu_ids : 1;
}

/**
 * bolt_arch_coming - CPUs are about to be woken
 * @nr:	how many
 *
 * Natively each CPU stops the machine when it comes, to set up its memory types.
 * Several CPUs of a request do it together when all are there, as after suspend. So
 * does a single CPU that an undo brings back while other CPUs are inactive: the
 * native stop would leave these running.
 *
 * Context: the control task, hotplug lock held for writing.
 */
void bolt_arch_coming(unsigned int nr)
{
	bool all_active = cpumask_equal(cpu_online_mask, cpu_active_mask);

	bolt_forget_kept_types();
	bolt_caches_wait = (nr > 1 || !all_active) &&
			   !get_cache_aps_delayed_init();
	if (bolt_caches_wait)
		set_cache_aps_delayed_init(true);
}

/**
 * bolt_arch_arrived - CPUs have come
 * @cpus:	the CPUs
 *
 * Context: as bolt_arch_coming().
 */
void bolt_arch_arrived(const struct cpumask *cpus)
{
	cpus = bolt_outdated_types(cpus);
	if (bolt_caches_wait)
		cache_aps_init_cpuslocked(cpus);
	bolt_forget_kept_types();
}
