// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much memory parked CPUs keep, by hotplug state: what the teardowns that are
 * pending would give back. debugfs.c shows the sums in bolt/stats. A request counts
 * nothing: the bytes are added up when that file is read.
 *
 * The bytes of a state are the sum of three parts: entries in sysfs, as visibility.c
 * counts them; the result of the function that the code of the state has passed to
 * cpuhp_count_kept(); and what this file itself knows of some fixed states without such
 * a function.
 *
 * What a parked CPU keeps is bounded by what the CPU may have while it is online: a
 * CPU that is offline takes no page, object, stack or I/O address. Other CPUs take from
 * what the CPU keeps; in 6.12 other CPUs also free objects into slabs that the CPU keeps.
 */

#include <linux/cacheinfo.h>
#include <linux/cpuhotplug_kept.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/radix-tree.h>
#include <linux/smp.h>

#include "compat.h"
#include "kept.h"
#include "state.h"
#include "steps.h"
#include "visibility.h"

/* How many bytes alloc_cpumask_var() allocates for a mask. */
#define BOLT_MASK_BYTES (IS_ENABLED(CONFIG_CPUMASK_OFFSTACK) ? cpumask_size() : 0)

/* For each state the function that counts what its teardown would free, or NULL. */
static cpuhp_kept_fn bolt_kept_fns[BOLT_NR_STATES];

/**
 * cpuhp_count_kept - set the function that counts what a hotplug state keeps for a CPU
 * @state:	the state that was passed to cpuhp_setup_state(); for a dynamic
 *		state what cpuhp_setup_state() has returned; an error number is
 *		ignored
 * @kept:	counts what the teardown of the state would free
 *
 * Call this function after the state has been set up. cpuhp_remove_state() drops
 * @kept.
 *
 * Context: as cpuhp_setup_state().
 */
void cpuhp_count_kept(int state, cpuhp_kept_fn kept)
{
	if (state > CPUHP_OFFLINE && state < CPUHP_ONLINE)
		WRITE_ONCE(bolt_kept_fns[state], kept);
}
EXPORT_SYMBOL_GPL(cpuhp_count_kept);

/**
 * bolt_forget_kept - forget the function that counts what a removed state keeps
 * @state:	the state
 *
 * Context: cpuhp_state_mutex held.
 */
void bolt_forget_kept(enum cpuhp_state state)
{
	WRITE_ONCE(bolt_kept_fns[state], NULL);
}

static unsigned int bolt_instances(enum cpuhp_state state)
{
	struct hlist_node *node;
	unsigned int nr = 0;

	hlist_for_each(node, &bolt_cpuhp_step(state)->list)
		nr++;
	return nr;
}

/* Returns how many bytes the teardown of a fixed state frees; 0 if not known here. */
static unsigned long bolt_kept_fixed(unsigned int cpu, enum cpuhp_state state)
{
	switch (state) {
	case CPUHP_PAGE_ALLOC:
		return bolt_pages_held(cpu) << PAGE_SHIFT;
	case CPUHP_AP_BASE_CACHEINFO_ONLINE:
		/* Each cache has a device; one more device is the parent of all of these. */
		if (!bolt_entries_bytes(cpu, state))
			return 0;
		return (1 + get_cpu_cacheinfo(cpu)->num_leaves) * sizeof(struct device);
	case CPUHP_RADIX_DEAD:
		return per_cpu(radix_tree_preloads, cpu).nr *
		       sizeof(struct radix_tree_node);
	case CPUHP_SMPCFD_PREPARE:
		return compat_csds_freed() * sizeof(call_single_data_t) +
		       2 * BOLT_MASK_BYTES;
	case CPUHP_X2APIC_PREPARE:
		return BOLT_MASK_BYTES;
	case CPUHP_MM_ZSWP_POOL_PREPARE:
		return bolt_instances(state) * COMPAT_ZSWAP_PAGES * PAGE_SIZE;
	case CPUHP_ZCOMP_PREPARE:
		return bolt_instances(state) * COMPAT_ZCOMP_PAGES * PAGE_SIZE;
	default:
		return 0;
	}
}

/* Returns how many bytes the function of @state counts, for all instances of @state. */
static unsigned long bolt_kept_said(unsigned int cpu, enum cpuhp_state state)
{
	cpuhp_kept_fn kept = READ_ONCE(bolt_kept_fns[state]);
	struct cpuhp_step *step = bolt_cpuhp_step(state);
	struct hlist_node *node;
	unsigned long bytes = 0;

	if (!kept)
		return 0;
	if (!step->multi_instance)
		return kept(cpu, NULL);
	hlist_for_each(node, &step->list)
		bytes += kept(cpu, node);
	return bytes;
}

/**
 * bolt_kept_by - how much memory a CPU keeps because a teardown is pending
 * @cpu:	the CPU
 * @state:	the state of the teardown
 *
 * Context: hotplug lock held for reading, and cpuhp_state_mutex. May sleep.
 * Return: the bytes; 0 if the teardown is not pending.
 */
unsigned long bolt_kept_by(unsigned int cpu, enum cpuhp_state state)
{
	if (!bolt_set_has(bolt_pending(cpu), state))
		return 0;
	return bolt_entries_bytes(cpu, state) + bolt_kept_fixed(cpu, state) +
	       bolt_kept_said(cpu, state);
}

/**
 * bolt_kept - how much memory all parked CPUs keep for a hotplug state
 * @state:	the state
 *
 * Context: as bolt_kept_by().
 * Return: the bytes.
 */
unsigned long bolt_kept(enum cpuhp_state state)
{
	unsigned long bytes = 0;
	unsigned int cpu;

	for_each_cpu(cpu, &bolt_parked_mask)
		bytes += bolt_kept_by(cpu, state);
	return bytes;
}

#include "tests/kept-kunit.h"
