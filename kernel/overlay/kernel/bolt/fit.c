// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which hotplug states are fit for a request for several CPUs.
 *
 * A callback may ask whether its CPU is the last one of a package, choose a
 * successor for a duty of its CPU, or wait for what other CPUs do. In a request
 * for several CPUs the answer is another one than natively, because CPUs that
 * are about to go are still online, and CPUs that have come are not active. A
 * state is therefore fit only if somebody has looked at its callbacks and said
 * so: a row of policy.c, by the state's number or by its name; the code that
 * registers the state, through bolt_defer_state(); or the administrator. One
 * registered state that is not fit makes every request for several CPUs take
 * these CPUs one after the other through all states, in native order.
 *
 * A row of policy.c describes code of this kernel's source. It does not count
 * for callbacks of a module that was built elsewhere, whatever name or number
 * that module has chosen for its state.
 */
#define pr_fmt(fmt) "bolt: " fmt

#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "internal.h"

/* Keeps what follows in step with what is registered and declared. */
static DEFINE_SPINLOCK(bolt_fit_lock);

/* Registered, and not fit. */
static struct bolt_set bolt_unfit;

/* Registered by a module that was not built with this kernel. */
static struct bolt_set bolt_foreign;

/* What the administrator has declared, in bolt/states. */
static struct bolt_set bolt_told_fit, bolt_told_unfit;

/* What is said of the dynamic states that names.h knows by their name. */
static const struct bolt_named *bolt_named_states[BOLT_NR_STATES];

/* Whether @code is part of the kernel's image. */
static bool bolt_built_in(unsigned long code)
{
	return !code || core_kernel_text(code);
}

#ifdef CONFIG_MODULES
/*
 * Whether @code is part of a module of this kernel's source, of the one called
 * @name unless that is NULL.
 */
static bool bolt_in_module(unsigned long code, const char *name)
{
	struct module *mod;

	guard(preempt)();
	mod = __module_address(code);
	return mod && !test_bit(TAINT_OOT_MODULE, &mod->taints) &&
	       (!name || !strcmp(mod->name, name));
}
#else
static bool bolt_in_module(unsigned long code, const char *name)
{
	return false;
}
#endif

/* Whether both callbacks of @state belong to this kernel, or to its module @name. */
static bool bolt_owned(enum cpuhp_state state, const char *name)
{
	unsigned int up;

	for (up = 0; up < 2; up++) {
		unsigned long code = bolt_glue_callback(state, up);

		if (!bolt_built_in(code) && !bolt_in_module(code, name))
			return false;
	}
	return true;
}

static const struct bolt_named *bolt_find_named(enum cpuhp_state state)
{
	const char *name = bolt_glue_name(state);
	unsigned int i;

	for (i = 0; name && i < bolt_nr_names; i++) {
		const struct bolt_named *named = &bolt_names[i];

		if (!strcmp(named->name, name) &&
		    bolt_owned(state, named->module))
			return named;
	}
	return NULL;
}

/**
 * bolt_row_named - classification of a dynamic state by its registered name
 * @state:	the state
 *
 * Context: any; cpuhp_state_mutex, so that the state stays.
 * Return: the row, or NULL if there is none for that name and that code.
 */
const struct bolt_row *bolt_row_named(enum cpuhp_state state)
{
	const struct bolt_named *named = READ_ONCE(bolt_named_states[state]);

	return named ? &named->row : NULL;
}

/**
 * bolt_defer_named - how names.h says that the teardown of a state is put off
 * @state:	the state
 *
 * Context: as bolt_row_named().
 * Return: the description, or NULL: the state has no row by its name, or is
 * critical there.
 */
const struct bolt_defer *bolt_defer_named(enum cpuhp_state state)
{
	const struct bolt_named *named = READ_ONCE(bolt_named_states[state]);

	return named && named->row.class != BOLT_CRITICAL ? &named->defer : NULL;
}

/**
 * bolt_is_foreign - whether a module built elsewhere has registered a state
 * @state:	the state
 *
 * Context: as bolt_row_named().
 * Return: true if so: rows of policy.c do not describe its callbacks.
 */
bool bolt_is_foreign(enum cpuhp_state state)
{
	return bolt_set_has(&bolt_foreign, state);
}

/**
 * bolt_fit - what a hotplug state allows in a request for several CPUs
 * @state:	the state
 *
 * Context: as bolt_row_named().
 * Return: what the administrator has declared, otherwise what the state's row
 * says or the code that has registered the state.
 */
enum bolt_fit bolt_fit(enum cpuhp_state state)
{
	enum bolt_fit fit;

	if (bolt_set_has(&bolt_told_unfit, state))
		return BOLT_UNFIT;
	fit = bolt_row(state).fit;
	if (fit == BOLT_UNFIT && bolt_set_has(&bolt_told_fit, state))
		return BOLT_SERIAL;
	return fit;
}

/**
 * bolt_fit_told - whether the administrator has declared a state fit or unfit
 * @state:	the state
 *
 * Context: any.
 * Return: true if so.
 */
bool bolt_fit_told(enum cpuhp_state state)
{
	return bolt_set_has(&bolt_told_fit, state) ||
	       bolt_set_has(&bolt_told_unfit, state);
}

/**
 * bolt_review - look again at a state: what is known of it has changed
 * @state:	the state, which has been registered, removed or declared
 *
 * Context: cpuhp_state_mutex held, or the task that has registered @state.
 */
void bolt_review(enum cpuhp_state state)
{
	bool there = bolt_glue_has(state, true) || bolt_glue_has(state, false);

	guard(spinlock)(&bolt_fit_lock);
	assign_bit(state, bolt_foreign.states,
		   there && !bolt_owned(state, NULL));
	if (bolt_dynamic(state))
		WRITE_ONCE(bolt_named_states[state],
			   there ? bolt_find_named(state) : NULL);
	assign_bit(state, bolt_unfit.states,
		   there && bolt_fit(state) == BOLT_UNFIT);
}

/**
 * bolt_registered - the callbacks of a hotplug state have changed
 * @state:	the state: it has been registered, or removed
 *
 * What the administrator has declared was about the callbacks that were there.
 *
 * Context: cpuhp_state_mutex held.
 */
void bolt_registered(enum cpuhp_state state)
{
	clear_bit(state, bolt_told_fit.states);
	clear_bit(state, bolt_told_unfit.states);
	atomic64_set(&bolt_counts[state].slowed, 0);
	bolt_review(state);
}

/**
 * bolt_tell_fit - the administrator declares a state fit or unfit
 * @state:	the state
 * @fit:	BOLT_SERIAL; BOLT_UNFIT
 *
 * BOLT_SERIAL does not change a state that is concurrent.
 *
 * Context: may sleep; takes the hotplug lock.
 * Return: 0, or -ENOENT if no such state is registered.
 */
int bolt_tell_fit(enum cpuhp_state state, enum bolt_fit fit)
{
	int err = -ENOENT;

	bolt_glue_lock_states();
	if (bolt_glue_has(state, true) || bolt_glue_has(state, false)) {
		assign_bit(state, bolt_told_fit.states, fit != BOLT_UNFIT);
		assign_bit(state, bolt_told_unfit.states, fit == BOLT_UNFIT);
		bolt_review(state);
		err = 0;
	}
	bolt_glue_unlock_states();
	return err;
}

/**
 * bolt_untell_fit - what the administrator has declared no longer counts
 * @state:	the state
 *
 * Context: hotplug lock held for reading, and cpuhp_state_mutex.
 */
void bolt_untell_fit(enum cpuhp_state state)
{
	clear_bit(state, bolt_told_fit.states);
	clear_bit(state, bolt_told_unfit.states);
	bolt_review(state);
}

/**
 * bolt_find_unfit - the state that makes requests go CPU by CPU
 *
 * A state with instances does not count while it has none: no callback runs.
 *
 * Context: hotplug lock held for writing, or early in the boot.
 * Return: the lowest such state, or CPUHP_INVALID if there is none.
 */
enum cpuhp_state bolt_find_unfit(void)
{
	unsigned int state;

	for_each_set_bit(state, bolt_unfit.states, BOLT_NR_STATES) {
		if (!bolt_glue_idle_state(state))
			return state;
	}
	return CPUHP_INVALID;
}

/**
 * bolt_goes_by_cpu - whether the request that begins must go CPU by CPU
 *
 * Counts it for the state that is the reason, and says so the first time.
 *
 * Context: hotplug lock held for writing.
 * Return: true if so.
 */
bool bolt_goes_by_cpu(void)
{
	enum cpuhp_state state = bolt_find_unfit();

	if (state == CPUHP_INVALID)
		return false;
	bolt_stats[BOLT_STAT_BY_CPU]++;
	if (atomic64_inc_return(&bolt_counts[state].slowed) == 1)
		pr_info("hotplug state %s is not declared fit for requests for several CPUs: such requests take one CPU after the other\n",
			bolt_glue_name(state) ?: "unnamed");
	return true;
}

/* States that were there from the beginning. */
static int __init bolt_fit_init(void)
{
	enum cpuhp_state state;

	for (state = CPUHP_OFFLINE + 1; state < CPUHP_ONLINE; state++)
		bolt_review(state);
	return 0;
}
early_initcall(bolt_fit_init);
