// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which hotplug states have something to run, and what a request needs to know of
 * each state while a CPU walks through the states.
 *
 * There are more than 200 states, and a machine has callbacks for about 60. A CPU
 * of a request goes from one of these 60 to the next by two lists, of startups and of
 * teardowns. A state with instances is in neither list while it has no instance.
 *
 * The lists change when a state is registered or removed, and when an instance
 * comes or goes: with cpuhp_state_mutex held, and the hotplug lock at least for
 * reading. A request reads the lists with the hotplug lock held for writing, so that
 * the lists do not change during the request, with one exception: a callback of the
 * request may register another state, by a function for callers that hold the lock. A
 * CPU that passes that state meanwhile runs the new callback or does not, as natively.
 *
 * bolt_known[] also changes when code calls bolt_set_defer() for a state, which may
 * happen during a request: bolt_set_defer() takes no lock that a request holds.
 */

#include <linux/list.h>

#include "state.h"
#include "steps.h"

struct bolt_known bolt_known[BOLT_NR_STATES];

/* States of class BOLT_ASYNC whose teardown may be deferred. */
struct bolt_set bolt_async;

/* States of class BOLT_ELIDE whose teardown may be deferred. */
struct bolt_set bolt_elided;

u16 bolt_startups[BOLT_NR_STATES + 1] = {
	[0 ... BOLT_NR_STATES] = BOLT_NR_STATES,
};

u16 bolt_teardowns[BOLT_NR_STATES];

static bool bolt_has_work(enum cpuhp_state state, bool startup)
{
	struct cpuhp_step *step = bolt_cpuhp_step(state);

	return bolt_state_has(state, startup) &&
	       !(step->multi_instance && hlist_empty(&step->list));
}

/**
 * bolt_steps_link - update bolt_startups[] and bolt_teardowns[] when callbacks or
 * instances of a state have changed
 * @state:	the state, neither CPUHP_OFFLINE nor CPUHP_ONLINE
 *
 * Context: cpuhp_state_mutex held, or early in the boot.
 */
void bolt_steps_link(enum cpuhp_state state)
{
	unsigned int s, old, new;

	old = bolt_startups[state];
	new = bolt_has_work(state, true) ? state : bolt_startups[state + 1];
	for (s = state; old != new && s > CPUHP_OFFLINE && bolt_startups[s] == old; s--)
		WRITE_ONCE(bolt_startups[s], new);

	old = bolt_teardowns[state];
	new = bolt_has_work(state, false) ? state : bolt_teardowns[state - 1];
	for (s = state; old != new && s < BOLT_NR_STATES && bolt_teardowns[s] == old; s++)
		WRITE_ONCE(bolt_teardowns[s], new);
}

/* Whether deferring and cancelling only change @state's bit in the pending set. */
static bool bolt_is_plain(enum cpuhp_state state, const struct bolt_defer *defer,
			  bool serial)
{
	/*
	 * A serial callback has to wait for its turn, except below CPUHP_AP_IDLE_DEAD:
	 * see bolt_serial_enter().
	 */
	if (!defer || (serial && state >= CPUHP_AP_IDLE_DEAD))
		return false;
	return !defer->node && !defer->device && !defer->major && !defer->restart &&
	       !defer->may_defer && !defer->at_once && !defer->cancel;
}

/**
 * bolt_steps_know - update what is known of a state
 * @state:	the state
 * @class:	when its teardown runs
 * @defer:	how the teardown is deferred, or NULL if @state is critical now
 * @serial:	whether its teardowns run for one CPU at a time
 * @serial_up:	whether its startups run for one CPU at a time
 *
 * Context: bolt_fit_lock of policy.c held.
 */
void bolt_steps_know(enum cpuhp_state state, enum bolt_class class,
		     const struct bolt_defer *defer, bool serial, bool serial_up)
{
	struct bolt_known *known = &bolt_known[state];

	assign_bit(state, bolt_async.states, defer && class == BOLT_ASYNC);
	assign_bit(state, bolt_elided.states, defer && class == BOLT_ELIDE);
	WRITE_ONCE(known->serial[false], serial);
	WRITE_ONCE(known->serial[true], serial_up);
	/* Pairs with bolt_deferred(): a request may run on another CPU. */
	smp_store_release(&known->defer, defer);
	WRITE_ONCE(known->plain, bolt_is_plain(state, defer, serial));
}

#include "tests/steps-kunit.h"
