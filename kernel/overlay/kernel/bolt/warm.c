// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs that are parked warm. A CPU that dies in a request may wait for its return in a
 * loop of its architecture, in the kernel and with interrupts off. Natively such a CPU
 * is powered off, or reset before it returns: the CPU is natively dead. The hardware of
 * a CPU that waits is not reset, so that on the way back only what software has torn
 * down is set up again. Except for the last steps of its death and the first steps of
 * its return, the CPU is treated as any other CPU that is offline.
 *
 * Each CPU has a word, which says what the CPU is to do. A CPU that dies calls
 * bolt_warm_park() at the end of its way down; its return begins when up.c calls
 * bolt_warm_wake(). settle.c, pm.c and this file call bolt_warm_leave() when a CPU must
 * be natively dead.
 *
 *	COLD --park--> WARM --wake--> WAKE --take------> COLD, and returns
 *	                              WAKE --withdraw--> COLD, and is reset, or dies
 *	               WARM --leave-> LEAVE --take-----> COLD, and dies natively
 *	                              LEAVE --give up--> COLD, and dies when it looks
 *	               WARM --forget------------------> COLD: was reset, and is online
 *
 * The CPU itself makes the transitions park and take. The other transitions are made by a
 * task that has the hotplug lock for writing, or for reading with cpuhp_state_mutex, so
 * that two of these never overlap; or after a crash by the CPU that has crashed. A CPU
 * that waits and finds COLD dies natively.
 */
#define pr_fmt(fmt) "bolt: " fmt

#include <linux/bolt.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/processor.h>
#include <linux/suspend.h>

#include "compat.h"
#include "glue.h"
#include "state.h"
#include "warm.h"

/*
 * How long a CPU may take to answer an order. A CPU answers in a few microseconds, unless
 * it is a virtual CPU that the hypervisor does not run meanwhile, or is stuck.
 */
#define BOLT_WARM_ANSWER_US 1000

/* After how long a CPU that may have missed its kick is kicked again. */
#define BOLT_WARM_KICK_US 50

/* How many times at most bolt_warm_await_cold() sleeps and waits for an answer again. */
#define BOLT_WARM_LEAVE_TRIES 100

/* Each word has a cache line of its own, which the CPU may monitor by MWAIT. */
DEFINE_PER_CPU_ALIGNED(atomic_t, bolt_warm_words);

/* Whether CPUs are parked warm if they can be; user space sets this in bolt/park. */
static bool bolt_park_warm = true;

/* Set while the system is suspended, or about to be. */
static bool bolt_suspending;

static atomic_t *bolt_word(unsigned int cpu)
{
	return per_cpu_ptr(&bolt_warm_words, cpu);
}

/**
 * bolt_is_warm - whether a CPU waits in the kernel
 * @cpu:	the CPU
 *
 * Context: any. Without the hotplug lock, the CPU may begin or end its wait meanwhile.
 * Return: true if so, also while an order waits to be taken; false if it was taken back.
 */
bool bolt_is_warm(unsigned int cpu)
{
	return atomic_read(bolt_word(cpu)) != BOLT_COLD;
}

/**
 * bolt_warm_must_end - whether a CPU waits in the kernel but must not stay there
 * @cpu:	the CPU
 *
 * Context: as bolt_is_warm().
 * Return: true if the CPU is to become natively dead when the settle delay is over.
 */
bool bolt_warm_must_end(unsigned int cpu)
{
	return bolt_is_warm(cpu) && !bolt_arch_warm_stays();
}

/**
 * bolt_warm_park - let this CPU, which dies, wait in the kernel if it may
 *
 * Before suspend, and before another kernel starts, CPUs die natively. The control task
 * still waits for the CPU to report its death, so that no task changes the CPU's word in
 * bolt_warm_words meanwhile. If the hypervisor has not run the CPU for ten seconds, the
 * control task has given up: if there is no batch any more, the CPU dies natively.
 *
 * Context: the idle task of the CPU, interrupts off, before cpuhp_ap_report_dead(),
 * whose full barrier makes the word visible before the report.
 * Return: true if the CPU is to wait until bolt_warm_order() is no longer BOLT_WARM.
 */
bool bolt_warm_park(void)
{
	const struct bolt_batch *batch = READ_ONCE(bolt_batch);
	unsigned int cpu = smp_processor_id();

	if (!batch || !bolt_may_defer() || (batch->flags & BOLT_PARK_COLD) ||
	    !READ_ONCE(bolt_park_warm) || READ_ONCE(bolt_suspending) ||
	    !bolt_arch_can_park_warm(cpu))
		return false;
	compat_forget_idle(cpu);
	return bolt_word_park(bolt_word(cpu));
}

/**
 * bolt_warm_take - take the order for which this CPU has waited
 *
 * Context: the CPU, when bolt_warm_order() is no longer BOLT_WARM. RCU does not
 * watch the CPU, so this function must not be instrumented. Implies a full barrier if
 * the CPU returns.
 * Return: true if the CPU returns; false if the CPU is to die natively, because the
 * order was to die, or because the order, of either kind, has been taken back.
 */
noinstr bool bolt_warm_take(void)
{
	return bolt_word_take(raw_cpu_ptr(&bolt_warm_words));
}

/*
 * Waits until @cpu has taken @order. @cpu is kicked again from time to time, as a
 * kick may get lost when it reaches a CPU that is about to halt. Returns false if @cpu
 * has not answered in time.
 */
static bool bolt_warm_answered(unsigned int cpu, enum bolt_warm order)
{
	ktime_t start = ktime_get();
	s64 us, kicked = 0;

	while (atomic_read(bolt_word(cpu)) == order) {
		us = ktime_us_delta(ktime_get(), start);
		if (us >= BOLT_WARM_ANSWER_US)
			return false;
		if (us - kicked >= BOLT_WARM_KICK_US) {
			kicked = us;
			bolt_arch_warm_kick(cpu);
		}
		cpu_relax();
	}
	return true;
}

/*
 * Waits until @cpu, which was ordered to die, has become natively dead, as far as the
 * architecture can tell. Gives up only after BOLT_WARM_LEAVE_TRIES, because a hypervisor
 * may leave a virtual CPU waiting for some time, and the CPU must not wake up in this
 * kernel's memory after another kernel, or a hibernation image, has replaced that memory.
 */
static void bolt_warm_await_cold(unsigned int cpu)
{
	unsigned int tries = BOLT_WARM_LEAVE_TRIES;
	bool silent;

	while (!bolt_warm_answered(cpu, BOLT_LEAVE) && tries--)
		usleep_range(1000, 2000);
	/* If the CPU has answered, bolt_word_give_up() changes nothing. */
	silent = bolt_word_give_up(bolt_word(cpu));
	/*
	 * A CPU that has yet to report its death, because the hypervisor does not run the
	 * CPU, finds COLD when it runs again. If the CPU were reset before, the CPU would
	 * never report. So bolt_arch_warm_gone() is not called for such a CPU on an
	 * architecture on which that function resets a CPU.
	 */
	if (!silent || bolt_cpu_dead(cpu) || !bolt_arch_warm_resets())
		bolt_arch_warm_gone(cpu, !silent);
	bolt_stats[BOLT_STAT_WARM_SILENT] += silent;
	bolt_stats[BOLT_STAT_WARM_COLD]++;
}

/**
 * bolt_warm_wake - order a CPU that is parked warm to return
 * @cpu:	the CPU
 * @idle:	its idle task
 *
 * Context: the control task, inside a request.
 * Return: true if the CPU has the order to return, and was kicked: bolt_warm_taken()
 * must be called then; false if the CPU is to be woken natively.
 */
bool bolt_warm_wake(unsigned int cpu, struct task_struct *idle)
{
	atomic_t *word = bolt_word(cpu);

	if (!bolt_is_warm(cpu))
		return false;
	if (bolt_may_defer() && bolt_arch_warm_prepare(cpu, idle)) {
		/*
		 * bolt_word_wake() is a full barrier, so that the CPU sees what has
		 * been prepared for it.
		 */
		if (!bolt_word_wake(word))
			return false;
		bolt_arch_warm_kick(cpu);
		return true;
	}
	if (bolt_word_leave(word)) {
		bolt_arch_warm_kick(cpu);
		bolt_warm_await_cold(cpu);
	}
	return false;
}

/**
 * bolt_warm_taken - wait until a CPU has taken the order to return
 * @cpu:	the CPU, for which bolt_warm_wake() has returned true
 *
 * A hypervisor may leave a virtual CPU waiting for a while. If the native way
 * resets a CPU whatever that CPU does, the control task need not wait for such a
 * CPU: the order is withdrawn, so that the CPU does not begin to return while it is
 * being reset.
 *
 * Context: as bolt_warm_wake().
 * Return: true if the CPU has taken the order, or may still take it; false if the CPU
 * is to be woken natively.
 */
bool bolt_warm_taken(unsigned int cpu)
{
	return bolt_warm_answered(cpu, BOLT_WAKE) || !bolt_arch_warm_resets() ||
	       !bolt_warm_withdraw(cpu);
}

/**
 * bolt_warm_withdraw - take back a CPU's order to return
 * @cpu:	the CPU
 *
 * Context: as bolt_warm_wake().
 * Return: true if the CPU has not taken the order, and dies natively when it looks
 * at its word; false if the CPU has taken the order, or had none.
 */
bool bolt_warm_withdraw(unsigned int cpu)
{
	if (!bolt_word_withdraw(bolt_word(cpu)))
		return false;
	bolt_stats[BOLT_STAT_WITHDRAWN]++;
	return true;
}

/**
 * bolt_warm_forget - clear the word of a CPU that is online
 * @cpu:	the CPU
 *
 * A task that brings a CPU up natively has settled the CPU before, but has dropped
 * the hotplug lock in between: a request may have parked the CPU warm again, and
 * the native way has then reset the CPU without a look at its word.
 *
 * Context: hotplug lock held for writing.
 */
void bolt_warm_forget(unsigned int cpu)
{
	if (cpu_online(cpu))
		atomic_cmpxchg(bolt_word(cpu), BOLT_WARM, BOLT_COLD);
}

/**
 * bolt_warm_leave - have CPUs that are offline become natively dead
 * @cpus:	the CPUs; CPUs that are parked warm have to leave the kernel
 *
 * A CPU may fail to answer in time: the hypervisor does not run the CPU, or the CPU is
 * stuck. bolt_warm_await_cold() resets such a CPU if the architecture can do so safely,
 * and the CPU has reported its death; otherwise the CPU becomes natively dead when it
 * runs again. Without Bolt, too, a CPU that is stuck on its way down does not die. A
 * request waits for one such CPU at the most.
 *
 * Context: may sleep; takes the hotplug lock for reading and cpuhp_state_mutex, once for
 * every CPU, so that no CPU goes or comes meanwhile.
 */
void bolt_warm_leave(const struct cpumask *cpus)
{
	unsigned int cpu;

	for_each_cpu(cpu, cpus) {
		bolt_lock_states();
		bolt_arch_finish_death(cpu);
		/*
		 * A CPU takes its order shortly before it is natively dead, so
		 * bolt_warm_await_cold() also waits for the death of the CPU, where the
		 * architecture can tell.
		 */
		if (bolt_word_leave(bolt_word(cpu))) {
			bolt_arch_warm_kick(cpu);
			bolt_warm_await_cold(cpu);
		}
		bolt_unlock_states();
	}
}

/**
 * bolt_warm_crash - have CPUs that wait in this kernel die, as the kernel has crashed
 *
 * On arm64, the only architecture that calls this function, the crash kernel can only
 * start CPUs that are natively dead. No task is left to wait for the CPUs, and no lock
 * can be taken.
 *
 * Context: the CPU that has crashed.
 */
void bolt_warm_crash(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		if (bolt_word_leave(bolt_word(cpu)))
			bolt_arch_warm_kick(cpu);
	}
}

/**
 * bolt_warm_wanted - whether CPUs are to be parked warm, and some can be
 *
 * Context: any.
 * Return: true if so.
 */
bool bolt_warm_wanted(void)
{
	return READ_ONCE(bolt_park_warm) && bolt_arch_warm_possible();
}

/**
 * bolt_warm_want - say whether CPUs are to be parked warm
 * @warm:	true to park CPUs warm; if false, CPUs that are parked warm now
 *		become natively dead
 *
 * Context: as bolt_warm_leave().
 * Return: 0, or -EOPNOTSUPP if @warm and no CPU of this machine can be parked warm.
 */
int bolt_warm_want(bool warm)
{
	if (warm && !bolt_arch_warm_possible())
		return -EOPNOTSUPP;
	/*
	 * A CPU that still reads the old value dies in a request. When that request
	 * is over, the word of the CPU is BOLT_WARM, and bolt_warm_leave() finds the
	 * CPU.
	 */
	WRITE_ONCE(bolt_park_warm, warm);
	if (!warm)
		bolt_warm_leave(cpu_possible_mask);
	return 0;
}

/*
 * Suspend to idle leaves CPUs that are offline where they are, perhaps for hours,
 * and a CPU that waits in the kernel may keep its package or cluster from the
 * deepest idle states. As in bolt_warm_want(), a request that has not seen
 * bolt_suspending set is over before bolt_warm_leave() gets the hotplug lock. While Bolt
 * is disabled no CPU waits, so bolt_warm_leave() is not called: its locks may be held by
 * a task whose hotplug callback never returns, which must not block the suspend.
 */
static int bolt_warm_pm(struct notifier_block *nb, unsigned long action, void *unused)
{
	switch (action) {
	case PM_SUSPEND_PREPARE:
		WRITE_ONCE(bolt_suspending, true);
		cpu_maps_update_begin();
		if (bolt_enabled())
			bolt_warm_leave(cpu_possible_mask);
		cpu_maps_update_done();
		break;
	case PM_POST_SUSPEND:
		WRITE_ONCE(bolt_suspending, false);
		break;
	}
	return NOTIFY_DONE;
}

static int __init bolt_warm_init(void)
{
	pm_notifier(bolt_warm_pm, 0);
	return 0;
}
late_initcall(bolt_warm_init);

#include "tests/warm-kunit.h"
