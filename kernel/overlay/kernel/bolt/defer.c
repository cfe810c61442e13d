// SPDX-License-Identifier: GPL-2.0-only
/*
 * How hotplug states are put off: what was registered for each of them, which
 * move together, and which were moved back to critical.
 */
#include <linux/cpu.h>
#include <linux/export.h>
#include <linux/kernel.h>

#include "internal.h"

/* For states with nothing to hide and nothing to do at once: all is settle's. */
static const struct bolt_defer bolt_keep;

/* For states that have something to hide, and nothing to do at once. */
static const struct bolt_defer bolt_keep_topology = { .node = "topology" };

/* Fixed states that have no code for it; bolt_defer_state() adds the others. */
static const struct bolt_defer *bolt_defers[BOLT_NR_STATES] = {
	[CPUHP_SLUB_DEAD]		= &bolt_keep,
	[CPUHP_DEBUG_OBJ_DEAD]		= &bolt_keep,
	[CPUHP_MM_WRITEBACK_DEAD]	= &bolt_keep,
	[CPUHP_BIO_DEAD]		= &bolt_keep,
	[CPUHP_RADIX_DEAD]		= &bolt_keep,
	[CPUHP_IOMMU_IOVA_DEAD]		= &bolt_keep,
	[CPUHP_X2APIC_PREPARE]		= &bolt_keep,
	[CPUHP_SMPCFD_PREPARE]		= &bolt_keep,
	[CPUHP_TOPOLOGY_PREPARE]	= &bolt_keep_topology,
	[CPUHP_MM_ZS_PREPARE]		= &bolt_keep,
	[CPUHP_MM_ZSWP_POOL_PREPARE]	= &bolt_keep,
	[CPUHP_ZCOMP_PREPARE]		= &bolt_keep,
	[BOLT_DOMAINS]			= &bolt_domains_defer,
};

/* Changed under the locks of bolt_glue_lock_states(). */
static struct bolt_set bolt_overrides;

/**
 * bolt_dynamic - whether a state is one of those that are handed out
 * @state:	the state
 *
 * Return: true if so; false for what is no state at all.
 */
bool bolt_dynamic(int state)
{
	return (state >= CPUHP_BP_PREPARE_DYN &&
		state <= CPUHP_BP_PREPARE_DYN_END) ||
	       (state >= CPUHP_AP_ONLINE_DYN &&
		state <= CPUHP_AP_ONLINE_DYN_END);
}

/**
 * bolt_row - classification of any hotplug state
 * @state:	the state
 *
 * For a dynamic one what the code that registers it has declared, or what names.h
 * says of its name. Does not tell what the administrator has changed: see
 * bolt_overridden() and bolt_fit().
 *
 * Context: any; for a dynamic state cpuhp_state_mutex, so that it stays.
 * Return: the row; critical and unfit for a state that has none.
 */
struct bolt_row bolt_row(enum cpuhp_state state)
{
	static const struct bolt_row none = { .reason = "no row and no declaration" };
	static const struct bolt_row foreign = {
		.reason = "the module was not built with this kernel",
	};
	const struct bolt_row *row = bolt_row_fixed(state);
	const struct bolt_defer *defer;

	if (row)
		return bolt_is_foreign(state) ? foreign : *row;
	/* Pairs with bolt_defer_state(). */
	defer = smp_load_acquire(&bolt_defers[state]);
	if (defer)
		return (struct bolt_row){
			.class = defer->class,
			.unit = defer->unit,
			.fit = defer->concurrent ? BOLT_CONCURRENT : BOLT_SERIAL,
			.reason = defer->reason,
		};
	row = bolt_row_named(state);
	if (row)
		return *row;
	return bolt_is_foreign(state) ? foreign : none;
}

/* Whether the row of @state says that it is concurrent; cheaper than the row. */
bool bolt_concurrent(enum cpuhp_state state)
{
	const struct bolt_row *row = bolt_row_fixed(state);
	const struct bolt_defer *defer;

	if (row)
		return row->fit == BOLT_CONCURRENT && !bolt_is_foreign(state);
	/* Pairs with bolt_defer_state(). */
	defer = smp_load_acquire(&bolt_defers[state]);
	if (defer)
		return defer->concurrent;
	row = bolt_row_named(state);
	return row && row->fit == BOLT_CONCURRENT;
}

/**
 * bolt_defer_state - let Bolt defer the teardown of a hotplug state
 * @state:	the state that was passed to cpuhp_setup_state(); for a dynamic
 *		state the number that cpuhp_setup_state() has returned
 * @defer:	how the state is deferred; must live as long as the state
 *
 * Call this function after the state has been set up. Until then a request for
 * several CPUs takes one CPU after the other. cpuhp_remove_state() settles the
 * state on all CPUs first, and drops @defer. Adding or removing an instance of
 * the state also settles the state first, and keeps @defer.
 *
 * A state without startup can be deferred if it is one of the DEAD states, a
 * state without teardown if it belongs to a unit. For a dynamic state that is not
 * to be deferred, @defer may say whether the state is concurrent, and why.
 *
 * Context: as cpuhp_setup_state().
 * Return: 0, or -EINVAL if @state cannot be deferred: @state is an error number,
 * a fixed state that is critical in policy.c, a dynamic state for which @defer
 * has no reason, or a state with other callbacks than these rules ask for.
 */
int bolt_defer_state(int state, const struct bolt_defer *defer)
{
	const struct bolt_row *fixed;
	enum bolt_unit unit;

	if (state <= CPUHP_OFFLINE || state >= CPUHP_ONLINE)
		return -EINVAL;
	fixed = bolt_row_fixed(state);
	if (fixed ? fixed->class == BOLT_CRITICAL :
		    !bolt_dynamic(state) || !defer->reason)
		return -EINVAL;
	unit = fixed ? fixed->unit : defer->unit;
	if ((fixed || defer->class != BOLT_CRITICAL) &&
	    !bolt_glue_can_defer(state, unit))
		return -EINVAL;
	/* Pairs with bolt_deferred(): a request may run on another CPU. */
	smp_store_release(&bolt_defers[state], defer);
	bolt_review(state);
	return 0;
}
EXPORT_SYMBOL_GPL(bolt_defer_state);

/* How @state is put off, or NULL if it is critical now. */
const struct bolt_defer *bolt_deferred(enum cpuhp_state state)
{
	/* Pairs with the stores: what it points to is complete. */
	const struct bolt_defer *defer = smp_load_acquire(&bolt_defers[state]);

	if (!defer)
		defer = bolt_defer_named(state);
	else if (bolt_dynamic(state) && defer->class == BOLT_CRITICAL)
		return NULL;	/* Says whether it is concurrent, no more. */
	if (!defer || bolt_overridden(state))
		return NULL;
	/* The row was not written for these callbacks. */
	if (bolt_row_fixed(state) && bolt_is_foreign(state))
		return NULL;
	return defer;
}

/* Forgets how @state is put off: it is being removed. */
void bolt_drop_defer(enum cpuhp_state state)
{
	if (bolt_defers[state] == &bolt_keep ||
	    bolt_defers[state] == &bolt_keep_topology)
		return;
	/* Pairs with bolt_deferred(). */
	smp_store_release(&bolt_defers[state], NULL);
	if (bolt_dynamic(state))
		clear_bit(state, bolt_overrides.states);
}

/**
 * bolt_unit_pending - whether a teardown of a unit is pending
 * @cpu:	the CPU
 * @unit:	the unit
 *
 * Context: hotplug lock held for writing.
 * Return: true if so.
 */
bool bolt_unit_pending(unsigned int cpu, enum bolt_unit unit)
{
	unsigned int state;

	for_each_set_bit(state, bolt_pending(cpu)->states, BOLT_NR_STATES) {
		if (bolt_row(state).unit == unit)
			return true;
	}
	return false;
}

/* Whether @state was moved back to critical. */
bool bolt_overridden(enum cpuhp_state state)
{
	return test_bit(state, bolt_overrides.states);
}

/**
 * bolt_override - move a state back to critical, or to what its row says
 * @state:	the state; all of its unit follow
 * @critical:	which; if false, also whether it is fit is as its row says
 *
 * What is pending of it runs first.
 *
 * Context: may sleep; takes the hotplug lock.
 */
void bolt_override(enum cpuhp_state state, bool critical)
{
	enum bolt_unit unit;
	unsigned int s, cpu;

	bolt_glue_lock_states();
	/* What is put off of CPUHP_AP_ACTIVE has a state of its own. */
	if (state == CPUHP_AP_ACTIVE)
		bolt_settle_everywhere(BOLT_DOMAINS);
	unit = bolt_row(state).unit;
	for (s = 0; s < BOLT_NR_STATES; s++) {
		if (s != state &&
		    (unit == BOLT_ALONE || bolt_row(s).unit != unit))
			continue;
		bolt_settle_everywhere(s);
		/* What is torn down natively from now on is made anew. */
		for_each_possible_cpu(cpu)
			bolt_forget_entries(cpu, s);
		assign_bit(s, bolt_overrides.states, critical);
	}
	if (!critical)
		bolt_untell_fit(state);
	bolt_glue_unlock_states();
}
