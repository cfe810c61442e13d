// SPDX-License-Identifier: GPL-2.0-only
/*
 * x86's own versions of some functions of kernel/bolt/arch.c. down.c calls
 * bolt_arch_may_go() in the stop; up.c, threads.c, turn.c and boot/tree.c call
 * bolt_arch_slots(), and up.c and boot/tree.c call the other three. smpboot.c calls
 * bolt_startup_delay() after each IPI that starts a CPU.
 */
#include <linux/bolt.h>
#include <linux/cpufeature.h>
#include <linux/delay.h>
#include <linux/smp.h>
#include <linux/topology.h>

#include <asm/bolt.h>
#include <asm/cacheinfo.h>

/*
 * Set if bolt_arch_arrived() is to set up memory types: in one stop, for all CPUs that
 * have arrived without the right memory types.
 */
static bool bolt_caches_wait;

/**
 * bolt_startup_delay - give a CPU time to accept a startup IPI
 * @usecs:	how long to wait at most, in microseconds
 *
 * In a request, except in boot and resume, returns early when the CPU has reported
 * itself alive, as it has then accepted the IPI.
 *
 * Context: the task that wakes the CPU, inside a hotplug operation; preemption off.
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
 * bolt_arch_may_go - whether CPUs that stay have room for the vectors of CPUs that
 * go
 * @cpus:	the CPUs that go
 *
 * Context: all CPUs stopped.
 * Return: 0 or -ENOSPC. If the platform has its own smp_ops.cpu_disable(), the room is
 * not checked, as natively, and the function returns 0.
 */
int bolt_arch_may_go(const struct cpumask *cpus)
{
	bolt_warm_note(cpus);
	if (smp_ops.cpu_disable != native_cpu_disable)
		return 0;
	return lapic_can_unplug_cpus(cpus);
}

/**
 * bolt_arch_wave - let primary threads come before all other threads
 * @cpu:	the CPU
 *
 * While microcode is loaded on one thread of a core, the other threads must not
 * run.
 *
 * Context: the control task.
 * Return: 0 for primary threads, else 1.
 */
unsigned int bolt_arch_wave(unsigned int cpu)
{
	return !topology_is_primary_thread(cpu);
}

/**
 * bolt_arch_slots - how many CPUs may be on their way up at once
 *
 * All CPUs may, if each CPU can find out its own number; else only one, as one variable
 * tells it its number. The limit BOLT_SLOTS is for guests whose CPUs spin for a lock;
 * on x86, with CONFIG_PARAVIRT, a guest's spinlock has no queue, or a queue in which CPUs
 * halt, unless the host says that the guest has CPUs to itself, or the command line
 * forbids such locks ("nopvspin"). CPUs of a Xen PV guest come by cpu_bringup(), which
 * does not call bolt_ap_lock(), so each must be online before the next is woken.
 *
 * Context: as the default in kernel/bolt/arch.c.
 * Return: the number of CPUs.
 */
unsigned int bolt_arch_slots(void)
{
	if (cpu_feature_enabled(X86_FEATURE_XENPV))
		return 1;
	return smpboot_control & STARTUP_PARALLEL_MASK ? nr_cpu_ids : 1;
}

/**
 * bolt_arch_coming - prepare for CPUs that are about to be woken
 * @nr:	how many CPUs are to be woken
 *
 * Natively each CPU stops the machine when it comes, to set up its memory types, except
 * at boot and after suspend. Several CPUs that come together stop the machine once, when
 * all have arrived, as after suspend, unless all of them have kept their memory types. A
 * single CPU that comes while another CPU is online but inactive, as in an undo, also
 * waits for that stop, because a stop that the CPU makes by itself, as natively, leaves
 * out CPUs that are inactive.
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
 * bolt_arch_arrived - set up memory types after CPUs have arrived
 * @cpus:	the CPUs that have arrived
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
