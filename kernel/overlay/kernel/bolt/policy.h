/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of each hotplug state: whether its teardown may be deferred, and
 * whether its callbacks may run in a request for several CPUs.
 */
#ifndef _KERNEL_BOLT_POLICY_H
#define _KERNEL_BOLT_POLICY_H

#include <linux/bolt.h>

/**
 * enum bolt_fit - what a hotplug state allows in a request for several CPUs
 * @BOLT_UNFIT: the request takes one CPU after the other through all states, except
 *	that all CPUs that go leave the scheduler together; a state of which nothing is
 *	known is unfit
 * @BOLT_SERIAL: callbacks of the state run for one CPU at a time
 * @BOLT_CONCURRENT: callbacks of the state may run for several CPUs at once
 */
enum bolt_fit {
	BOLT_UNFIT,
	BOLT_SERIAL,
	BOLT_CONCURRENT,
};

/**
 * struct bolt_row - classification of a hotplug state
 * @class:	when the teardown of the state runs
 * @unit:	the states with which this state shares an object
 * @fit:	what the callbacks of the state allow in a request for several CPUs
 * @reason:	why class, unit and fit are right
 * @starts_overlap: whether startups may run for several CPUs at once, although the
 *		state is serial
 */
struct bolt_row {
	enum bolt_class class;
	enum bolt_unit unit;
	enum bolt_fit fit;
	const char *reason;
	bool starts_overlap;
};

const struct bolt_row *bolt_row_fixed(enum cpuhp_state state);
const struct bolt_row *bolt_row_named(enum cpuhp_state state);
struct bolt_row bolt_row(enum cpuhp_state state);

/* Whether the teardown of a state may be deferred. */
void bolt_set_defer(enum cpuhp_state state, const struct bolt_defer *defer);
void bolt_drop_defer(enum cpuhp_state state);
bool bolt_overridden(enum cpuhp_state state);
void bolt_set_overridden(enum cpuhp_state state, bool critical);

/*
 * Whether a state's callbacks may run for several CPUs at once, or in one request
 * for several CPUs at all.
 */
bool bolt_concurrent(enum cpuhp_state state);
enum bolt_fit bolt_fit(enum cpuhp_state state);
bool bolt_fit_declared(enum cpuhp_state state);
int bolt_declare_fit(enum cpuhp_state state, enum bolt_fit fit);
void bolt_forget_declared(enum cpuhp_state state);
enum cpuhp_state bolt_find_unfit(void);
bool bolt_must_go_by_cpu(void);

#endif /* _KERNEL_BOLT_POLICY_H */
