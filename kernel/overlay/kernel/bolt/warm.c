// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs that are parked warm. A CPU that dies in a request may wait in a loop of its
 * architecture, in the kernel and with interrupts off, where natively it is reset, or
 * powered off, until it is woken. Nothing of it was reset, so that on its way back
 * nothing is set up again but what software has torn down. For everything but the
 * last steps of its death and the first of its return the CPU is as any that is
 * offline.
 *
 * Each CPU has a word, which says what it is to do. down.c ends with a CPU that calls
 * bolt_warm_park(); up.c begins with bolt_warm_wake() for the CPU. Whoever needs a
 * CPU natively dead calls bolt_warm_leave(): settle.c and sysfs.c.
 *
 *	COLD --park--> WARM --wake--> WAKE --take------> COLD, and returns
 *	                              WAKE --withdraw--> COLD, and is woken natively
 *	               WARM --leave-> LEAVE --take-----> COLD, and dies natively
 *	                              LEAVE --give up--> COLD, as soon as it looks
 *
 * park and take are the CPU's, the others are the control task's, or of a task that
 * has the hotplug lock for reading and cpuhp_state_mutex: none of them while another
 * is under way. A CPU that waits and finds COLD dies natively.
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
#include <linux/tick.h>

#include "../time/tick-sched.h"
#include "state.h"
#include "warm.h"

/* How long a CPU may take to answer. A CPU that runs does so in a few microseconds. */
#define BOLT_WARM_ANSWER_US 1000

/* After how long the CPU is kicked again: it may have missed the kick. */
#define BOLT_WARM_KICK_US 50

/* How often a CPU that is told to die is waited for, and slept between. */
#define BOLT_WARM_LEAVE_TRIES 100

/* In a cache line of its own: the CPU may have the line monitored. */
DEFINE_PER_CPU_ALIGNED(atomic_t, bolt_warm_words);

/* bolt/park: whether CPUs that can are parked warm. */
static bool bolt_park_warm = true;

/* The system is suspended, or about to be. */
static bool bolt_suspending;

static atomic_t *bolt_word(unsigned int cpu)
{
	return per_cpu_ptr(&bolt_warm_words, cpu);
}

/**
 * bolt_is_warm - whether a CPU waits in the kernel
 * @cpu:	the CPU
 *
 * Context: any. Without the hotplug lock the answer may be old.
 * Return: true if so, also if the CPU has an order that it has not taken yet.
 */
bool bolt_is_warm(unsigned int cpu)
{
	return atomic_read(bolt_word(cpu)) != BOLT_COLD;
}

/**
 * bolt_warm_must_end - whether a CPU waits in the kernel that is not to stay there
 * @cpu:	the CPU
 *
 * Context: as bolt_is_warm().
 * Return: true if the CPU is to become natively dead when the settle delay is over.
 */
bool bolt_warm_must_end(unsigned int cpu)
{
	return bolt_is_warm(cpu) && !bolt_arch_warm_stays();
}

/*
 * The idle loop has noted that this CPU is idle, before it saw that the CPU is offline.
 * The first interrupt after the return would take the time between for idle time.
 */
static void bolt_forget_idle(unsigned int cpu)
{
	if (IS_ENABLED(CONFIG_TICK_ONESHOT))
		tick_get_tick_sched(cpu)->flags &= ~(TS_FLAG_INIDLE | TS_FLAG_IDLE_ACTIVE);
}

/**
 * bolt_warm_park - this CPU dies: it waits in the kernel if it may
 *
 * Suspend and another kernel find CPUs natively dead. The control task still waits for
 * the CPU to report its death, so that no other task changes the word.
 *
 * Context: the idle task of the CPU, interrupts off, before cpuhp_ap_report_dead(),
 * which has a full barrier.
 * Return: true if the CPU is to wait for bolt_warm_order().
 */
bool bolt_warm_park(void)
{
	unsigned int cpu = smp_processor_id();

	if (!bolt_may_defer() || (bolt_batch->flags & BOLT_PARK_COLD) ||
	    !READ_ONCE(bolt_park_warm) || READ_ONCE(bolt_suspending) ||
	    !bolt_arch_can_park_warm(cpu))
		return false;
	bolt_forget_idle(cpu);
	return bolt_word_park(bolt_word(cpu));
}

/**
 * bolt_warm_take - this CPU takes the order for which it has waited
 *
 * Context: the CPU, when bolt_warm_order() is no longer BOLT_WARM. RCU does not watch
 * it, nothing may be instrumented. A full barrier if the CPU returns.
 * Return: true if the CPU returns; false if it is to die natively: it was told to, or
 * the order to return has been withdrawn.
 */
noinstr bool bolt_warm_take(void)
{
	return bolt_word_take(raw_cpu_ptr(&bolt_warm_words));
}

/*
 * Waits until @cpu has taken @order. The CPU is kicked again from time to time: an
 * architecture may lose the kick of a CPU that is about to stop. False: no answer.
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
 * Waits until @cpu, which has been told to, has become natively dead. A virtual CPU may
 * not be run for some time, and must not wake in this kernel when another one, or an
 * image, takes its place: the patience here is long.
 */
static void bolt_warm_await_cold(unsigned int cpu)
{
	unsigned int tries = BOLT_WARM_LEAVE_TRIES;
	bool silent;

	while (!bolt_warm_answered(cpu, BOLT_LEAVE) && tries--)
		usleep_range(1000, 2000);
	/* Does nothing if the CPU has answered. */
	silent = bolt_word_give_up(bolt_word(cpu));
	bolt_arch_warm_gone(cpu, !silent);
	bolt_stats[BOLT_STAT_WARM_SILENT] += silent;
	bolt_stats[BOLT_STAT_WARM_COLD]++;
}

/**
 * bolt_warm_wake - have a CPU return that is parked warm
 * @cpu:	the CPU
 * @idle:	its idle task
 *
 * Context: the control task, inside a request.
 * Return: true if the CPU has been kicked: bolt_warm_taken() must be called; false if
 * it is to be woken natively.
 */
bool bolt_warm_wake(unsigned int cpu, struct task_struct *idle)
{
	atomic_t *word = bolt_word(cpu);

	if (!bolt_is_warm(cpu))
		return false;
	if (bolt_may_defer() && bolt_arch_warm_prepare(cpu, idle)) {
		/* A full barrier: what has been prepared is there for the CPU. */
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
 * A virtual CPU may not be run for a while. Where the native way resets a CPU
 * whatever the CPU does, there is no need to wait for it: the order is withdrawn,
 * so that the CPU does not begin to return while it is reset.
 *
 * Context: as bolt_warm_wake().
 * Return: true if the CPU has taken the order, or may still do so; false if it is to
 * be woken natively.
 */
bool bolt_warm_taken(unsigned int cpu)
{
	if (!bolt_warm_answered(cpu, BOLT_WAKE) && bolt_arch_warm_resets() &&
	    bolt_warm_withdraw(cpu))
		return false;
	bolt_stats[BOLT_STAT_WARM]++;
	return true;
}

/**
 * bolt_warm_withdraw - take back the order to return
 * @cpu:	the CPU
 *
 * Context: as bolt_warm_wake().
 * Return: true if the CPU has not taken the order, and dies natively when it looks;
 * false if it has, or there was none.
 */
bool bolt_warm_withdraw(unsigned int cpu)
{
	if (!bolt_word_withdraw(bolt_word(cpu)))
		return false;
	bolt_stats[BOLT_STAT_WITHDRAWN]++;
	return true;
}

/**
 * bolt_warm_forget - a CPU that is online waits for nothing
 * @cpu:	the CPU
 *
 * A task that brings a CPU up natively has settled the CPU before, but not under the
 * same lock: another request may have parked the CPU again, and the native way has
 * reset it.
 *
 * Context: hotplug lock held for writing.
 */
void bolt_warm_forget(unsigned int cpu)
{
	if (cpu_online(cpu))
		atomic_cmpxchg(bolt_word(cpu), BOLT_WARM, BOLT_COLD);
}

/**
 * bolt_warm_leave - have CPUs that are parked warm become natively dead
 * @cpus:	the CPUs; those that do not wait in the kernel are passed over
 *
 * A CPU that does not answer in time becomes so when it runs: the hypervisor has not
 * run it, or it is stuck, in which case it would not answer natively either. A request
 * waits for one such CPU at the most.
 *
 * Context: may sleep; takes the hotplug lock for reading, once for every CPU: no CPU is
 * on its way.
 */
void bolt_warm_leave(const struct cpumask *cpus)
{
	unsigned int cpu;

	for_each_cpu(cpu, cpus) {
		bolt_lock_states();
		/* A CPU that has taken its order is not natively dead yet. */
		if (bolt_word_leave(bolt_word(cpu))) {
			bolt_arch_warm_kick(cpu);
			bolt_warm_await_cold(cpu);
		}
		bolt_unlock_states();
	}
}

/**
 * bolt_warm_crash - this kernel has crashed: CPUs that wait in it die natively
 *
 * A kernel that follows can only start CPUs that are dead. Nobody is left to wait
 * for them, and no lock can be taken.
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
 * bolt_warm_wanted - whether CPUs are parked warm that can be
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
 * @warm:	which; if not, CPUs that are parked warm become natively dead
 *
 * Context: as bolt_warm_leave().
 * Return: 0, or -EOPNOTSUPP if no CPU of this machine can.
 */
int bolt_warm_want(bool warm)
{
	if (warm && !bolt_arch_warm_possible())
		return -EOPNOTSUPP;
	/* A CPU that has read this before dies in a request: its word is WARM after it. */
	WRITE_ONCE(bolt_park_warm, warm);
	if (!warm)
		bolt_warm_leave(cpu_possible_mask);
	return 0;
}

/*
 * Suspend to idle leaves CPUs where they are, for hours: a CPU that waits in the kernel
 * may keep its package, or cluster, from the deepest states. As in bolt_warm_want(), a
 * request that has not seen the flag is over before bolt_warm_leave() has the lock.
 */
static int bolt_warm_pm(struct notifier_block *nb, unsigned long action, void *unused)
{
	switch (action) {
	case PM_SUSPEND_PREPARE:
		WRITE_ONCE(bolt_suspending, true);
		bolt_warm_leave(cpu_possible_mask);
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
