/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a request needs to know of each hotplug state while a CPU walks through the
 * states, in one place, and which states have something to run. kernel/cpu.c
 * includes this file, too.
 */
#ifndef _KERNEL_BOLT_STEPS_H
#define _KERNEL_BOLT_STEPS_H

#ifdef CONFIG_BOLT
#include <linux/cleanup.h>
#include <linux/sched/clock.h>

#include "state.h"

/**
 * struct bolt_known - what policy.c says of a state, prepared for a quick look-up
 * @defer:	how the teardown is deferred, or NULL if the state is critical now
 * @serial:	whether teardowns of the state, and whether startups, run for one CPU at a
 *		time
 * @plain:	whether deferring or cancelling the teardown only changes its bit in
 *		the pending set
 */
struct bolt_known {
	const struct bolt_defer *defer;
	bool serial[2];
	bool plain;
};

extern struct bolt_known bolt_known[BOLT_NR_STATES];
extern struct bolt_set bolt_async, bolt_elided;

/**
 * bolt_deferred - how the teardown of a state is deferred
 * @state:	the state
 *
 * Context: any.
 * Return: the description, or NULL if the state is critical now.
 */
static inline const struct bolt_defer *bolt_deferred(enum cpuhp_state state)
{
	/* Pairs with bolt_steps_know(): the description is complete. */
	return smp_load_acquire(&bolt_known[state].defer);
}

void bolt_steps_know(enum cpuhp_state state, enum bolt_class class,
		     const struct bolt_defer *defer, bool serial, bool serial_up);
void bolt_steps_link(enum cpuhp_state state);

/*
 * bolt_startups[S] is the lowest state, S or above, that has a startup to run, or
 * BOLT_NR_STATES if there is none. bolt_teardowns[S] is the highest state, S or below,
 * that has a teardown to run, or CPUHP_OFFLINE.
 */
extern u16 bolt_startups[BOLT_NR_STATES + 1];
extern u16 bolt_teardowns[BOLT_NR_STATES];

/**
 * bolt_step_from - the next state that has something to run
 * @state:	where to begin to look, this state included
 * @bringup:	whether to look upwards for a startup, or downwards for a teardown
 *
 * Context: inside a request.
 * Return: the state; if there is none, BOLT_NR_STATES upwards, CPUHP_OFFLINE downwards.
 */
static __always_inline enum cpuhp_state bolt_step_from(enum cpuhp_state state,
						       bool bringup)
{
	return bringup ? READ_ONCE(bolt_startups[state]) :
			 READ_ONCE(bolt_teardowns[state]);
}

bool bolt_pass(unsigned int cpu, enum cpuhp_state state, bool bringup);

/*
 * Whether the CPU goes from state to state by bolt_walk(), and not by cpuhp_next_state():
 * in a request, unless cpuN/hotplug/fail asks for a failure, because bolt_walk() passes
 * over some states without a look at what was written to that file.
 */
static __always_inline bool bolt_walks(const struct cpuhp_cpu_state *st)
{
	return READ_ONCE(bolt_batch) && st->fail == CPUHP_INVALID;
}

/**
 * bolt_walk - find the next callback that a CPU of a request has to run
 * @cpu:	the CPU
 * @bringup:	whether the CPU comes
 * @next:	where to put the state whose callback is to run
 * @st:		the CPU's place in the state machine; moved on as by
 *		cpuhp_next_state()
 * @target:	the state that the CPU is to reach
 *
 * Passes over states without a callback in this direction, states with instances that
 * have none now, and states for which it only has to change the bit in the pending set.
 *
 * Context: where callbacks of the CPU run, inside a request.
 * Return: false if there is nothing left to run.
 */
static __always_inline bool bolt_walk(unsigned int cpu, bool bringup,
				      enum cpuhp_state *next,
				      struct cpuhp_cpu_state *st,
				      enum cpuhp_state target)
{
	enum cpuhp_state state;

	while (bringup ? st->state < target : st->state > target) {
		state = bolt_step_from(st->state + bringup, bringup);
		if (bringup ? state > target : state <= target) {
			st->state = target;
			break;
		}
		st->state = state - !bringup;
		*next = state;
		if (!READ_ONCE(bolt_known[state].plain) ||
		    !bolt_pass(cpu, state, bringup))
			return true;
	}
	return false;
}

/*
 * Whether a hotplug thread runs its next callback at once, without a return to
 * smpboot_thread_fn() in between.
 */
static __always_inline bool bolt_goes_on(const struct cpuhp_cpu_state *st)
{
	return st->should_run && READ_ONCE(bolt_batch);
}

/**
 * enum bolt_turn - what a callback holds while it runs
 * @BOLT_NO_TURN:	nothing: serial callbacks of other CPUs may run
 * @BOLT_SPIN_TURN:	the spinlock of turn.c, until the end of the callback
 * @BOLT_KEPT_TURN:	the semaphore of turn.c; the hotplug thread keeps it for its next
 *			callbacks
 */
enum bolt_turn {
	BOLT_NO_TURN,
	BOLT_SPIN_TURN,
	BOLT_KEPT_TURN,
};

#ifdef CONFIG_LOCKDEP
extern struct lockdep_map bolt_serial_map;
#endif

enum bolt_turn bolt_serial_begin(enum cpuhp_state state, bool bringup);
void bolt_serial_end(void);

/* Whether hotplug threads keep their turn, or wait for it, in @state. */
static __always_inline bool bolt_in_serial_range(const struct bolt_batch *batch,
						 enum cpuhp_state state, bool bringup)
{
	return state >= batch->serial_low[bringup] && state <= batch->serial_high[bringup];
}

/* Returns what bolt_serial_exit() is to get when the callback of @state is over. */
static __always_inline enum bolt_turn bolt_serial_enter(enum cpuhp_state state, bool bringup)
{
	/*
	 * The caller, or the task for which it runs the callback, has the hotplug
	 * lock. A request has that lock for writing, so a request that is under way
	 * is that of the caller.
	 */
	struct bolt_batch *batch = READ_ONCE(bolt_batch);

	/*
	 * Callbacks of the states that are excepted here run in the control task, or in
	 * helpers of boot/tree.c, which have a lock of their own.
	 */
	if (!batch || batch->alone || state < CPUHP_AP_IDLE_DEAD ||
	    state >= CPUHP_AP_ACTIVE || state == CPUHP_TEARDOWN_CPU)
		return BOLT_NO_TURN;
	if (state >= CPUHP_AP_ONLINE && bolt_in_serial_range(batch, state, bringup) &&
	    __this_cpu_read(bolt_cpus.may_run_serial)) {
		lock_map_acquire(&bolt_serial_map);
		return BOLT_KEPT_TURN;
	}
	return bolt_serial_begin(state, bringup);
}

static __always_inline void bolt_serial_exit(enum bolt_turn turn)
{
	if (turn == BOLT_SPIN_TURN)
		bolt_serial_end();
	else if (IS_ENABLED(CONFIG_LOCKDEP) && turn == BOLT_KEPT_TURN)
		lock_map_release(&bolt_serial_map);
}

DEFINE_CLASS(bolt_serial_section, enum bolt_turn, bolt_serial_exit(_T),
	     bolt_serial_enter(state, bringup), enum cpuhp_state state, bool bringup)

/* If a callback is serial, keeps serial callbacks of other CPUs off, at least in this block. */
#define bolt_serialize(state, bringup) \
	CLASS(bolt_serial_section, __bolt_serial_section)(state, bringup)

/**
 * struct bolt_run - a callback that is running
 * @state:	the callback's state, or CPUHP_INVALID outside of a request
 * @start:	nanoseconds at which the callback began; 0 if it is not timed
 */
struct bolt_run {
	enum cpuhp_state state;
	u64 start;
};

static __always_inline struct bolt_run bolt_run_begin(enum cpuhp_state state)
{
	/* As bolt_serial_enter() says, a request under way is that of the caller. */
	if (!READ_ONCE(bolt_batch))
		return (struct bolt_run){ .state = CPUHP_INVALID };
	return (struct bolt_run){
		.state = state,
		.start = static_branch_unlikely(&bolt_timing) ? local_clock() : 0,
	};
}

static __always_inline void bolt_run_end(struct bolt_run run)
{
	if (run.state == CPUHP_INVALID)
		return;
	atomic64_inc(&bolt_counts[run.state].runs);
	if (run.start)
		bolt_run_timed(run.state, run.start);
}

DEFINE_CLASS(bolt_run, struct bolt_run, bolt_run_end(_T), bolt_run_begin(state),
	     enum cpuhp_state state)

/* In a request: counts a callback, and with bolt/timing times it until the block ends. */
#define bolt_account(state) CLASS(bolt_run, __bolt_run)(state)

bool bolt_stand_in(unsigned int cpu, enum cpuhp_state state, bool bringup,
		   const struct bolt_defer *defer, int *ret);

/**
 * bolt_intercept - defer a teardown, or cancel one, in place of a callback
 * @cpu:	the CPU
 * @state:	the state whose callback is due
 * @bringup:	true for the startup, false for the teardown
 * @ret:	where to put the result that counts as the callback's
 *
 * If the teardown of the state is pending, the startup is skipped or, with @restart of
 * struct bolt_defer, runs inside this function. A teardown is not deferred, and so runs:
 * in an operation that is no request, or a request that may not defer; if there is no
 * memory to hide the entries of the state; if @may_defer of struct bolt_defer says no; if
 * a state with instances has no instance; or if the startup of one instance has failed,
 * and only the instances that have started are torn down.
 *
 * Context: where the callback would run, hotplug lock held: for writing while a CPU goes
 * or comes, for reading while a state is registered or removed.
 * Return: true if the caller must not run the callback.
 */
static __always_inline bool bolt_intercept(unsigned int cpu, enum cpuhp_state state,
					   bool bringup, int *ret)
{
	const struct bolt_defer *defer = bolt_deferred(state);

	return defer && bolt_stand_in(cpu, state, bringup, defer, ret);
}
#else
#define bolt_account(...) do { } while (0)
#define bolt_goes_on(...) false
#define bolt_intercept(...) false
#define bolt_serialize(...) do { } while (0)
#endif

#endif /* _KERNEL_BOLT_STEPS_H */
