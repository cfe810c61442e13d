// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which hotplug states are put off.
 *
 * Fixed states have a row here; dynamic and modular ones say so where they
 * register. A state with neither is critical.
 */
#include <linux/export.h>
#include <linux/kernel.h>

#include "internal.h"

struct bolt_policy {
	enum bolt_class class;
	const char *reason;
};

static const struct bolt_policy bolt_fixed[BOLT_NR_STATES] = {
	[CPUHP_SMPCFD_PREPARE] = {
		BOLT_ELIDE,
		"buffers that only the CPU itself sends from",
	},
	[CPUHP_TOPOLOGY_PREPARE] = {
		BOLT_ELIDE,
		"one sysfs group; its masks are computed when read",
	},
	[CPUHP_AP_BASE_CACHEINFO_ONLINE] = {
		BOLT_ELIDE,
		"sysfs devices; the shared_cpu_map of siblings is kept right by park and unpark",
	},
};

/* For states that hold memory only: nothing to hide, all for settle. */
static const struct bolt_elide bolt_keep;

/* Those that register nothing stand here; bolt_elide_state() adds the others. */
static const struct bolt_elide *bolt_elides[BOLT_NR_STATES] = {
	[CPUHP_SMPCFD_PREPARE] = &bolt_keep,
};

/**
 * bolt_class_fixed - class of a fixed hotplug state
 * @state:	the state
 * @reason:	where to put the reason, NULL if the state has no row
 *
 * Return: the class; BOLT_CRITICAL for a state without a row.
 */
enum bolt_class bolt_class_fixed(enum cpuhp_state state, const char **reason)
{
	*reason = bolt_fixed[state].reason;
	return bolt_fixed[state].class;
}

static bool bolt_dynamic(int state)
{
	return (state >= CPUHP_BP_PREPARE_DYN &&
		state <= CPUHP_BP_PREPARE_DYN_END) ||
	       (state >= CPUHP_AP_ONLINE_DYN &&
		state <= CPUHP_AP_ONLINE_DYN_END);
}

/**
 * bolt_elide_state - let the teardown of a hotplug state be put off
 * @state:	the state as cpuhp_setup_state() knows it; for a dynamic one,
 *		what it has returned
 * @elide:	how it is parked; must live as long as the state
 *
 * Call it after the state has been set up. cpuhp_remove_state() forgets it,
 * and runs what is pending first.
 *
 * Context: any that may call cpuhp_setup_state().
 * Return: 0, or -EINVAL if @state is not one that can be elided: an error
 * number, a fixed state that policy.c says is critical, one with instances or
 * with one callback only.
 */
int bolt_elide_state(int state, const struct bolt_elide *elide)
{
	const char *reason;

	if (state <= CPUHP_OFFLINE || state >= CPUHP_ONLINE)
		return -EINVAL;
	if (!bolt_dynamic(state) &&
	    bolt_class_fixed(state, &reason) != BOLT_ELIDE)
		return -EINVAL;
	if (!bolt_glue_can_elide(state))
		return -EINVAL;
	/* Pairs with bolt_elided(): a request may run on another CPU. */
	smp_store_release(&bolt_elides[state], elide);
	return 0;
}
EXPORT_SYMBOL_GPL(bolt_elide_state);

/* How @state is parked, or NULL if it is critical. */
const struct bolt_elide *bolt_elided(enum cpuhp_state state)
{
	/* Pairs with the stores: what it points to is complete. */
	return smp_load_acquire(&bolt_elides[state]);
}

/* Forgets how @state is parked. */
void bolt_drop_elide(enum cpuhp_state state)
{
	/* Pairs with bolt_elided(). */
	smp_store_release(&bolt_elides[state], NULL);
}
