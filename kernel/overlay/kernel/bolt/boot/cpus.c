// SPDX-License-Identifier: GPL-2.0-only
/*
 * Brings up all CPUs but the boot CPU by requests, if bolt.boot= asks for it.
 * bringup_nonboot_cpus() calls bolt_boot_cpus(), at the end of this file. CPUs that do
 * not come by a request are brought up natively. bolt_come() decides which CPUs come in
 * which request.
 */
#define pr_fmt(fmt) "bolt: " fmt

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/interrupt.h>
#include <linux/kstrtox.h>
#include <linux/memory_hotplug.h>
#include <linux/printk.h>
#include <linux/sched/clock.h>
#include <linux/string.h>

#include "../../smpboot.h"
#include "../policy.h"
#include "../request.h"
#include "../state.h"
#include "boot.h"

/*
 * How CPUs come: as natively, without requests; all at once; or in a tree, in which CPUs
 * that are online bring up other CPUs.
 */
enum bolt_order { BOLT_ONE_BY_ONE, BOLT_AT_ONCE, BOLT_IN_TREE };

static const char * const bolt_orders[] __initconst = {
	[BOLT_ONE_BY_ONE] = "serial",
	[BOLT_AT_ONCE] = "parallel",
	[BOLT_IN_TREE] = "tree",
};

static int bolt_order __initdata = BOLT_ONE_BY_ONE;

static int __init bolt_parse_order(char *str)
{
	int which = match_string(bolt_orders, ARRAY_SIZE(bolt_orders), str ?: "");

	if (which < 0)
		pr_err("bolt.boot= takes serial, parallel or tree\n");
	else
		bolt_order = which;
	return 0;
}
early_param("bolt.boot", bolt_parse_order);

/*
 * Whether CPUs come natively although bolt.boot= asks for requests: a request may fail
 * where the native way works, or be no faster. In a tree, a CPU that brings up another
 * CPU waits with a timeout, and has no ksoftirqd yet that could run the timer on
 * PREEMPT_RT or with threaded interrupts: the wait for a stuck CPU would never end.
 */
static bool __init bolt_in_doubt(void)
{
	if (bolt_order == BOLT_IN_TREE &&
	    (IS_ENABLED(CONFIG_PREEMPT_RT) || force_irqthreads()))
		return true;
	/*
	 * With an unfit state a request takes one CPU after the other, for which the
	 * native way serves as well.
	 */
	if (bolt_find_unfit() != CPUHP_INVALID)
		return true;
	return (cpu_smt_control != CPU_SMT_ENABLED &&
		cpu_smt_control != CPU_SMT_NOT_SUPPORTED &&
		cpu_smt_control != CPU_SMT_NOT_IMPLEMENTED) ||
	       !bolt_parallel_bringup();
}

/**
 * bolt_boot_idle - whether a CPU that brings up another CPU makes the idle task of
 * that other CPU
 * @max:	as for bolt_boot_cpus(), which makes the idle tasks that are missing
 *		afterwards
 *
 * Context: the boot CPU, before any other CPU is online.
 * Return: true if so.
 */
bool __init bolt_boot_idle(unsigned int max)
{
	return max && bolt_order == BOLT_IN_TREE;
}

/*
 * How many CPUs come in each of the first requests, which try whether CPUs come faster
 * together. After that all other CPUs come in one request, or one by one. With
 * bolt.trial=off there are no such first requests.
 */
static const unsigned int bolt_groups[] __initconst = { 1, 1, 1, 2, 4, 8 };

/*
 * How long a group may take, in per cent of the time that its CPUs would take one
 * by one. With 0 no group is fast enough.
 */
static unsigned int bolt_group_limit __initdata = 150;

static int __init bolt_parse_limit(char *str)
{
	if (!str || kstrtouint(str, 0, &bolt_group_limit))
		pr_err("bolt.trial_limit= takes a number of per cent, not '%s'\n",
		       str ?: "");
	return 0;
}
early_param("bolt.trial_limit", bolt_parse_limit);

/*
 * Moves the first CPUs of @left that are present, at most @max, to @group, and returns
 * how many. On the way, CPUs that are not present are removed from @left.
 */
static unsigned int __init bolt_next_group(struct cpumask *left,
					   struct cpumask *group, unsigned int max)
{
	unsigned int cpu, n = 0;

	cpumask_clear(group);
	for_each_cpu(cpu, left) {
		if (n == max)
			break;
		__cpumask_clear_cpu(cpu, left);
		/*
		 * A CPU may have been marked as not present since @left was
		 * made.
		 */
		if (!cpu_present(cpu))
			continue;
		__cpumask_set_cpu(cpu, group);
		n++;
	}
	return n;
}

static void __init bolt_come_one_by_one(const struct cpumask *left,
					unsigned int flags)
{
	unsigned int cpu;

	for_each_cpu(cpu, left) {
		if (!cpu_present(cpu))
			continue;
		idle_thread_init(cpu);
		bolt_request(cpumask_of(cpu), cpu_none_mask, flags & ~BOLT_TREE);
	}
}

/*
 * Under a hypervisor with fewer CPUs than the guest, CPUs may come slower together
 * than one by one: the CPU that holds a lock does not run while other CPUs spin for
 * the lock. So bolt_come(), unless bolt.trial is off, brings up larger groups only as
 * long as a group takes at most bolt_group_limit per cent of the time that its CPUs
 * would take one by one. The CPUs of a group are removed from @left before they come.
 */
static void __init bolt_come(struct cpumask *left, unsigned int flags)
{
	static struct cpumask group __initdata;
	u64 start, took, alone = U64_MAX;
	unsigned int i, n, most = 0;
	int err;

	for (i = 0; i < ARRAY_SIZE(bolt_groups) && bolt_boot_option(BOLT_BOOT_TRIAL); i++) {
		n = bolt_next_group(left, &group, bolt_groups[i]);
		if (!n)
			break;
		start = sched_clock();
		err = bolt_request(&group, cpu_none_mask, flags);
		took = sched_clock() - start;
		most = max(most, cpumask_weight_and(&group, cpu_active_mask));
		/*
		 * The time of a request that has failed says nothing about other
		 * groups.
		 */
		if (err)
			continue;
		if (n == 1) {
			alone = min(alone, took);
		} else if (alone < U64_MAX && !cpumask_empty(left) &&
			   100 * took > bolt_group_limit * alone * n) {
			pr_info("%u CPUs took %llu us together, one CPU %llu us alone: all further CPUs come one by one\n",
				n, took / NSEC_PER_USEC, alone / NSEC_PER_USEC);
			bolt_come_one_by_one(left, flags);
			return;
		}
	}
	n = bolt_next_group(left, &group, nr_cpu_ids);
	if (n) {
		bolt_request(&group, cpu_none_mask, flags);
		most = max(most, cpumask_weight_and(&group, cpu_active_mask));
	}
	if (most > 1)
		pr_info("up to %u CPUs came %s\n", most,
			flags & BOLT_TREE ? "in a tree" : "at once");
}

/**
 * bolt_boot_cpus - bring up all CPUs but the boot CPU by requests
 * @max:	how many CPUs to have online at most, the boot CPU included
 *
 * A CPU that does not come by a request is then brought up in the native way, from the
 * state that the CPU has reached. If a request has left such a CPU online but not active,
 * the CPU is taken offline first.
 *
 * Context: the boot CPU, before any other CPU is online.
 * Return: true if the caller need not bring up any CPU.
 */
bool __init bolt_boot_cpus(unsigned int max)
{
	static struct cpumask wanted __initdata, left __initdata;
	unsigned int flags = BOLT_NO_DEFER | BOLT_BOOT;
	bool tree = bolt_order == BOLT_IN_TREE, doubt;
	unsigned int cpu;

	if (bolt_order == BOLT_ONE_BY_ONE)
		return false;
	doubt = bolt_in_doubt();
	if (tree && !doubt && !bolt_tree_begin())
		flags |= BOLT_TREE;
	else if (tree)
		idle_threads_init();
	if (doubt)
		return false;
	for_each_present_cpu(cpu) {
		cpumask_set_cpu(cpu, &wanted);
		if (!cpu_online(cpu) && !try_online_node(cpu_to_node(cpu)))
			cpumask_set_cpu(cpu, &left);
		if (!--max)
			break;
	}
	cpu_maps_update_begin();
	bolt_come(&left, flags);
	/* CPUs that a hotplug thread has failed to bring all the way up go offline. */
	cpumask_andnot(&left, cpu_online_mask, cpu_active_mask);
	bolt_request(cpu_none_mask, &left, BOLT_NO_DEFER | BOLT_BOOT);
	cpu_maps_update_done();
	if (flags & BOLT_TREE) {
		bolt_tree_end();
		/*
		 * Makes the idle tasks of CPUs that are not present, or have not
		 * come.
		 */
		idle_threads_init();
	}
	cpumask_andnot(&wanted, &wanted, cpu_online_mask);
	bolt_retry_natively(&wanted);
	return true;
}

#include "../tests/boot-kunit.h"
