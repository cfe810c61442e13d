/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all files of kernel/bolt share: the request that is under way, what Bolt knows
 * of each CPU, and how often each callback ran. Every file of kernel/bolt may call
 * state.c; state.c itself calls only glue.c.
 */
#ifndef _KERNEL_BOLT_STATE_H
#define _KERNEL_BOLT_STATE_H

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/bolt.h>
#include <linux/cpumask.h>
#include <linux/jump_label.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/spinlock_types.h>

#include "glue.h"

struct bolt_stop;
struct task_struct;
struct work_struct;

#define BOLT_NR_STATES (CPUHP_ONLINE + 1)

/* No callback has this state, which stands for the rebuild of scheduler domains. */
#define BOLT_DOMAINS CPUHP_ONLINE

/* The last state that a CPU on its way up reaches before the CPU is woken. */
#define BOLT_PREPARED (CPUHP_BP_KICK_AP - 1)

/**
 * struct bolt_set - a set of hotplug states
 * @states: a bit for each enum cpuhp_state
 */
struct bolt_set {
	DECLARE_BITMAP(states, BOLT_NR_STATES);
};

/**
 * struct bolt_cpu - what Bolt knows of a CPU
 * @pending:	states whose teardown was deferred; changed with the hotplug
 *		lock held for writing, or for reading plus cpuhp_state_mutex
 * @parked_at:	when a request last asked the CPU to go offline
 * @start:	the CPU's state before the request that is under way
 * @goal:	the state to which that request takes the CPU
 * @from:	the CPU's state before its hotplug thread was started
 * @failed:	in an undo, the first state whose callback failed for the CPU, or CPUHP_INVALID
 * @half_way:	whether an undo has left the CPU online, but not all the way up, and its
 *		device offline; ignored once the CPU is offline or all the way up
 * @may_run_serial:	whether the CPU's hotplug thread may run serial callbacks
 * @has_lock:	whether the CPU has the lock of bolt_ap_lock()
 * @woken_warm:	whether the CPU was last woken from its wait in the kernel
 * @transit:	whether the CPU is between the stop and its death, or between its wake-up
 *		and its idle loop; then all that the CPU runs with interrupts off, or in
 *		its idle task, belongs to the request
 */
struct bolt_cpu {
	struct bolt_set pending;
	ktime_t parked_at;
	enum cpuhp_state start;
	enum cpuhp_state goal;
	enum cpuhp_state from;
	enum cpuhp_state failed;
	bool half_way;
	bool may_run_serial;
	bool has_lock;
	bool woken_warm;
	bool transit;
};

DECLARE_PER_CPU(struct bolt_cpu, bolt_cpus);

extern struct cpumask bolt_parked_mask;

#define BOLT_NO_DEFER	BIT(0)	/* every teardown runs in the request, as natively */
#define BOLT_FROZEN	BIT(1)	/* tasks are frozen: suspend, hibernation */
#define BOLT_FORCED	BIT(2)	/* allowed while hotplug is disabled */
#define BOLT_BOOT	BIT(3)	/* the machine boots: all CPUs come that can */
#define BOLT_TREE	BIT(4)	/* CPUs that have come bring up other CPUs */
#define BOLT_PARK_COLD	BIT(5)	/* no CPU waits in the kernel while it is parked */

#define BOLT_STATE_NAME 48

/*
 * How many bytes bolt/last_error has for the CPUs that one undo has not put back.
 * With this number, all lines of bolt/last_error fit in a page.
 */
#define BOLT_LOST_TEXT 120

/**
 * struct bolt_batch - the request that is under way
 * @id:		number of the request
 * @up:		CPUs that come
 * @down:	CPUs that go, after those of @up have come
 * @flags:	BOLT_NO_DEFER, BOLT_FROZEN, ...
 * @first:	the CPU with the lowest number, for traces
 * @alone:	whether the request is for a single CPU
 * @by_cpu:	whether CPUs come one by one, and go likewise after all have left the scheduler
 * @undo:	whether the request goes on after a callback has failed: the request has
 *		failed already and takes its CPUs back, or the machine boots
 * @serial_low:	the lowest serial state of hotplug threads, for teardowns and for startups
 * @serial_high: the highest such state; below @serial_low if there is none
 * @waking:	the CPU that is being woken
 * @round:	CPUs whose callbacks of CPUHP_AP_ACTIVE run one after the other, or NULL
 * @at:		the CPU of @round whose startup runs
 * @last:	when the last phase ended
 * @lock:	protects @culprit, @err, @failed, and @failed of the CPUs
 * @culprit:	the CPU whose callback failed first, or for which the request was refused
 * @err:	the error that this callback has returned, or 0
 * @failed:	the name of that callback's state, or empty; a copy, as the state's
 *		module may be unloaded
 * @lost:	the CPUs of bolt_lost, as text for bolt/last_error
 */
struct bolt_batch {
	u64 id;
	const struct cpumask *up;
	const struct cpumask *down;
	unsigned int flags;
	unsigned int first;
	bool alone;
	bool by_cpu;
	bool undo;
	unsigned int serial_low[2];
	unsigned int serial_high[2];
	unsigned int waking;
	const struct cpumask *round;
	unsigned int at;
	ktime_t last;
	raw_spinlock_t lock;
	unsigned int culprit;
	int err;
	char failed[BOLT_STATE_NAME];
	char lost[BOLT_LOST_TEXT];
};

/* The two pointers are set while bolt_run() holds the hotplug lock, else NULL. */
extern struct bolt_batch *bolt_batch;
extern struct task_struct *bolt_control_task;
extern unsigned int bolt_asker_cpu;

/* Written by request.c, with cpu_add_remove_lock held. */
extern bool bolt_on;
extern u64 bolt_batches;
extern struct cpumask bolt_lost;

/* bolt_broken() sets the flag, and queues the work, when law 2 does not hold. */
extern bool bolt_is_broken;
extern struct work_struct bolt_disabler;

/*
 * The CPUs that a phase is about, see bolt_find(); and the struct bolt_stop of down.c
 * for the stop in which CPUs go.
 */
extern struct cpumask bolt_round;
extern struct bolt_stop *bolt_stopping;

/**
 * struct bolt_count - how often a state's callbacks ran or were skipped
 * @runs:	callbacks that ran inside requests
 * @skips:	callbacks that did not run: teardowns deferred, startups skipped
 * @settles:	deferred teardowns that ran later
 * @slowed:	requests that went CPU by CPU, the state being the lowest unfit one
 * @ns:		nanoseconds that @settles took, and @runs while bolt/timing was on
 */
struct bolt_count {
	atomic64_t runs;
	atomic64_t skips;
	atomic64_t settles;
	atomic64_t slowed;
	atomic64_t ns;
};

/* Indices of bolt_stats[]. */
enum bolt_stat {
	BOLT_STAT_BATCHES,
	BOLT_STAT_OFFLINE,
	BOLT_STAT_ONLINE,
	BOLT_STAT_FAILED,
	BOLT_STAT_BY_CPU,
	BOLT_STAT_CANCELLED,
	BOLT_STAT_SETTLED,
	BOLT_STAT_PRESSURE,
	BOLT_STAT_WARM,
	BOLT_STAT_WITHDRAWN,
	BOLT_STAT_WARM_COLD,
	BOLT_STAT_WARM_SILENT,
	BOLT_STATS
};

DECLARE_STATIC_KEY_FALSE(bolt_timing);

extern struct bolt_count bolt_counts[BOLT_NR_STATES];
extern u64 bolt_stats[BOLT_STATS];

bool bolt_find(const struct cpumask *mask, enum cpuhp_state low,
	       enum cpuhp_state high, bool up);
void bolt_run_timed(enum cpuhp_state state, u64 start);
int bolt_inject(unsigned int cpu, enum cpuhp_state state);
unsigned long bolt_pages_held(unsigned int cpu);
void bolt_broken(unsigned int cpu, enum cpuhp_state state, const char *what);

static inline struct bolt_set *bolt_pending(unsigned int cpu)
{
	return &per_cpu_ptr(&bolt_cpus, cpu)->pending;
}

static inline bool bolt_set_has(const struct bolt_set *set,
				enum cpuhp_state state)
{
	return test_bit(state, set->states);
}

static inline bool bolt_set_empty(const struct bolt_set *set)
{
	return bitmap_empty(set->states, BOLT_NR_STATES);
}

/**
 * bolt_set_add - note that a state's teardown was deferred
 * @set:	the CPU's pending set
 * @state:	the state
 *
 * Return: 0, or -EALREADY if the teardown was pending already.
 */
static inline int bolt_set_add(struct bolt_set *set, enum cpuhp_state state)
{
	return __test_and_set_bit(state, set->states) ? -EALREADY : 0;
}

/**
 * bolt_set_remove - note that a state's teardown is no longer pending
 * @set:	the CPU's pending set
 * @state:	the state
 *
 * Return: 0, or -ENOENT if the teardown was not pending.
 */
static inline int bolt_set_remove(struct bolt_set *set, enum cpuhp_state state)
{
	return __test_and_clear_bit(state, set->states) ? 0 : -ENOENT;
}

/**
 * bolt_set_highest - the state to settle next
 * @set:	the CPU's pending set
 *
 * Teardowns run in descending order of states, as natively.
 *
 * Return: the state, or -ENOENT if the set is empty.
 */
static inline int bolt_set_highest(const struct bolt_set *set)
{
	unsigned int state = find_last_bit(set->states, BOLT_NR_STATES);

	return state < BOLT_NR_STATES ? state : -ENOENT;
}

/* Called when a teardown of @cpu is about to be deferred. */
static inline void bolt_note_parked(unsigned int cpu)
{
	/*
	 * A CPU enters bolt_undrained_mask last and leaves it first, so that under the
	 * hotplug lock this mask is always a part of bolt_parked_mask.
	 */
	if (cpumask_test_cpu(cpu, &bolt_undrained_mask))
		return;
	cpumask_set_cpu(cpu, &bolt_parked_mask);
	cpumask_set_cpu(cpu, &bolt_undrained_mask);
}

/* Called when no teardown of @cpu is pending any more. */
static inline void bolt_note_not_parked(unsigned int cpu)
{
	cpumask_clear_cpu(cpu, &bolt_undrained_mask);
	cpumask_clear_cpu(cpu, &bolt_parked_mask);
}

static inline void bolt_set_transit(unsigned int cpu, bool transit)
{
	WRITE_ONCE(per_cpu_ptr(&bolt_cpus, cpu)->transit, transit);
}

/* The state to which the request that is under way takes @cpu. */
static inline enum cpuhp_state bolt_goal(unsigned int cpu)
{
	return per_cpu_ptr(&bolt_cpus, cpu)->goal;
}

/**
 * bolt_set_round - say for which CPUs the control task runs the next callback
 * @round:	the CPUs, in the order of their numbers; NULL when the callback has run
 *
 * Context: the control task, inside a request.
 */
static inline void bolt_set_round(const struct cpumask *round)
{
	bolt_batch->round = round;
}

/* Whether @err ends the phase. In an undo, and in boot, other CPUs of the phase go on. */
static inline bool bolt_gives_up(int err)
{
	return err && !bolt_batch->undo;
}

#endif /* _KERNEL_BOLT_STATE_H */
