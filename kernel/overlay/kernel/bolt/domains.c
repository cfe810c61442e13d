// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scheduler domains: the rebuild without the CPUs that have gone may be deferred, at most
 * until the first of them is settled, and is not needed if all return first. down.c calls
 * bolt_note_stale_in_domains() for each CPU that has left the scheduler. Decisions that
 * depend on cpusets, such as whether the rebuild may be deferred when a CPU of a
 * partition goes, are made in kernel/cgroup/cpuset.c, decisions that depend on domains
 * in kernel/sched/topology.c. A deferred rebuild is pending like the teardown of the
 * topmost state, as domains are the first thing that a CPU leaves.
 */

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <trace/events/bolt.h>

#include "domains.h"
#include "policy.h"
#include "state.h"

/*
 * The key is on while Bolt is enabled, not only while a rebuild is pending: to flip a
 * static key takes longer than a request.
 */
DEFINE_STATIC_KEY_FALSE(bolt_domains_key);

/* Whether domains contain CPUs that have gone. Written with sched_domains_mutex held. */
bool bolt_domains_stale __read_mostly;

static int bolt_domains_settle(unsigned int cpu)
{
	/*
	 * Rebuilds the domains without any CPU that has gone. When BOLT_DOMAINS of
	 * the next such CPU is settled, nothing is left to do.
	 */
	cpuset_flush_domains();
	return 0;
}

static const struct bolt_defer bolt_domains_defer = {
	.class = BOLT_LAZY,
	.reason = "the scheduler passes over CPUs that are not active until domains are rebuilt",
	.settle = bolt_domains_settle,
};

/**
 * bolt_may_defer_domains - whether a rebuild of domains may be deferred
 *
 * Context: inside a hotplug operation.
 * Return: true if Bolt allows the deferral; cpuset.c and topology.c may still forbid it.
 */
bool bolt_may_defer_domains(void)
{
	return bolt_may_defer() && !bolt_overridden(CPUHP_AP_ACTIVE);
}

/**
 * bolt_domains_enable - allow deferred rebuilds, or forbid them
 * @on:		true to allow them
 *
 * Context: may sleep, takes the hotplug lock for reading. Called before the first
 * request when Bolt is enabled, and after the last CPU was settled when Bolt is
 * disabled.
 */
void bolt_domains_enable(bool on)
{
	if (on)
		static_branch_enable(&bolt_domains_key);
	else
		static_branch_disable(&bolt_domains_key);
}

/**
 * bolt_note_stale_in_domains - note a rebuild as pending if domains may contain a CPU
 * @cpu:	the CPU, which is not active
 *
 * Context: hotplug lock held for writing.
 */
void bolt_note_stale_in_domains(unsigned int cpu)
{
	if (!bolt_stale_in_domains(cpu))
		return;
	bolt_note_parked(cpu);
	bolt_set_add(bolt_pending(cpu), BOLT_DOMAINS);
	trace_bolt_defer(cpu, BOLT_DOMAINS);
}

static int __init bolt_domains_init(void)
{
	bolt_set_defer(BOLT_DOMAINS, &bolt_domains_defer);
	return 0;
}
early_initcall(bolt_domains_init);

#include "tests/domains-kunit.h"
