/* SPDX-License-Identifier: GPL-2.0-only */
/* Bolt's private types and prototypes. */
#ifndef _KERNEL_BOLT_INTERNAL_H
#define _KERNEL_BOLT_INTERNAL_H

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/bolt.h>
#include <linux/cpu_smt.h>
#include <linux/cpumask.h>
#include <linux/jump_label.h>
#include <linux/kobject.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/spinlock_types.h>

#define BOLT_NR_STATES (CPUHP_ONLINE + 1)

/* No callback has this state: it stands for the rebuild of scheduler domains. */
#define BOLT_DOMAINS CPUHP_ONLINE

/**
 * struct bolt_set - a set of hotplug states
 * @states: a bit for each enum cpuhp_state
 */
struct bolt_set {
	DECLARE_BITMAP(states, BOLT_NR_STATES);
};

/**
 * struct bolt_cpu - what Bolt knows of a CPU
 * @pending:	states whose teardown was put off; changed with the hotplug
 *		lock held for writing, or for reading plus cpuhp_state_mutex
 * @parked_at:	when it was last asked to go offline
 * @start:	where it was before the request that is under way
 * @goal:	where it is to go
 * @from:	where it was before the phase that is under way
 * @failed:	the first state whose callback failed for it in an undo, or
 *		CPUHP_INVALID
 * @half_way:	whether an undo has left it online, but not active, with its
 *		device offline; no longer if it is neither
 * @has_turn:	whether its hotplug thread may run serial callbacks
 * @has_lock:	whether it has what bolt_ap_lock() takes
 * @transit:	whether it goes or comes, and runs nothing but that with interrupts
 *		off or in its idle task
 */
struct bolt_cpu {
	struct bolt_set pending;
	ktime_t parked_at;
	enum cpuhp_state start;
	enum cpuhp_state goal;
	enum cpuhp_state from;
	enum cpuhp_state failed;
	bool half_way;
	bool has_turn;
	bool has_lock;
	bool transit;
};

DECLARE_PER_CPU(struct bolt_cpu, bolt_cpus);

/**
 * enum bolt_fit - what a hotplug state allows in a request for several CPUs
 * @BOLT_UNFIT: the request takes its CPUs through all states one after the
 *	other; so for every state of which nothing is known
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
 * @class:	when its teardown runs
 * @unit:	what it moves with
 * @fit:	what it allows in a request for several CPUs
 * @reason:	why
 */
struct bolt_row {
	enum bolt_class class;
	enum bolt_unit unit;
	enum bolt_fit fit;
	const char *reason;
};

/**
 * struct bolt_named - classification of a dynamic state by its name
 * @name:	what it is registered as
 * @module:	the module whose callbacks are meant, if they are not built in
 * @row:	what is said of it
 * @defer:	how its teardown is put off, unless @row says that it is critical
 */
struct bolt_named {
	const char *name;
	const char *module;
	struct bolt_row row;
	struct bolt_defer defer;
};

/**
 * struct bolt_count - what has become of a state's callbacks
 * @runs:	callbacks that ran inside requests
 * @skips:	callbacks that did not: teardowns put off, startups skipped
 * @settles:	teardowns that ran later
 * @slowed:	requests that went CPU by CPU because of it
 * @ns:		nanoseconds that settles took, and runs while they were timed
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
	BOLT_STATS
};

DECLARE_STATIC_KEY_FALSE(bolt_timing);

extern struct bolt_count bolt_counts[BOLT_NR_STATES];
extern u64 bolt_stats[BOLT_STATS];

/* pending.c: sets. */
int bolt_set_park(struct bolt_set *set, enum cpuhp_state state);
int bolt_set_unpark(struct bolt_set *set, enum cpuhp_state state);
int bolt_set_highest(const struct bolt_set *set);

static inline bool bolt_set_has(const struct bolt_set *set,
				enum cpuhp_state state)
{
	return test_bit(state, set->states);
}

static inline bool bolt_set_empty(const struct bolt_set *set)
{
	return bitmap_empty(set->states, BOLT_NR_STATES);
}

static inline void bolt_set_transit(unsigned int cpu, bool transit)
{
	WRITE_ONCE(per_cpu_ptr(&bolt_cpus, cpu)->transit, transit);
}

static inline struct bolt_set *bolt_pending(unsigned int cpu)
{
	return &per_cpu_ptr(&bolt_cpus, cpu)->pending;
}

/* pending.c: parked CPUs. */
extern unsigned int bolt_settle_delay_ms;

void bolt_settle_mask(const struct cpumask *mask);
void bolt_settle_later(unsigned int cpu);
void bolt_settle_delay(unsigned int ms);
void bolt_settle_pressure(void);
int bolt_settle_state(unsigned int cpu, enum cpuhp_state state);
int bolt_next_to_settle(unsigned int cpu, bool async);
int bolt_tear_down(unsigned int cpu, enum cpuhp_state state,
		   const struct bolt_defer *defer);

/* policy.c */
extern const struct bolt_named bolt_names[];
extern const unsigned int bolt_nr_names;

const struct bolt_row *bolt_row_fixed(enum cpuhp_state state);

/* fit.c */
const struct bolt_row *bolt_row_named(enum cpuhp_state state);
const struct bolt_defer *bolt_defer_named(enum cpuhp_state state);
bool bolt_is_foreign(enum cpuhp_state state);
enum bolt_fit bolt_fit(enum cpuhp_state state);
bool bolt_fit_told(enum cpuhp_state state);
void bolt_review(enum cpuhp_state state);
int bolt_tell_fit(enum cpuhp_state state, enum bolt_fit fit);
void bolt_untell_fit(enum cpuhp_state state);
enum cpuhp_state bolt_find_unfit(void);
bool bolt_goes_by_cpu(void);

/* defer.c */
bool bolt_dynamic(int state);
struct bolt_row bolt_row(enum cpuhp_state state);
bool bolt_concurrent(enum cpuhp_state state);
const struct bolt_defer *bolt_deferred(enum cpuhp_state state);
bool bolt_unit_pending(unsigned int cpu, enum bolt_unit unit);
void bolt_drop_defer(enum cpuhp_state state);
void bolt_override(enum cpuhp_state state, bool critical);
bool bolt_overridden(enum cpuhp_state state);

/* uevent.c */
struct bolt_uevent;

void bolt_uevent_tell(struct device *dev, enum kobject_action action,
		      struct bolt_uevent __rcu **slot);
void bolt_uevent_forget(struct bolt_uevent __rcu **slot);

/* hide.c */
int bolt_hide(unsigned int cpu, enum cpuhp_state state,
	      const struct bolt_defer *defer);
void bolt_show(unsigned int cpu, enum cpuhp_state state);
void bolt_forget_entries(unsigned int cpu, enum cpuhp_state state);

/* irq.c */
void bolt_irq_enable(bool on);
int bolt_irq_set_list(const struct cpumask *list);
void bolt_irq_get_list(struct cpumask *list);
bool bolt_irq_kept(unsigned int cpu);

/* domains.c */
extern const struct bolt_defer bolt_domains_defer;

void bolt_domains_enable(bool on);
void bolt_domains_left(unsigned int cpu);

#define BOLT_STATE_NAME 48

/* What bolt/last_error says of an undo that has failed: all lines fit in a page. */
#define BOLT_LOST_TEXT 120

/**
 * struct bolt_batch - a request on its way
 * @id:		number of the request
 * @up:		CPUs that come
 * @down:	CPUs that go, after the others have come
 * @flags:	BOLT_WHOLE, BOLT_FROZEN, ...
 * @first:	one of the CPUs, for traces
 * @alone:	whether there is only one
 * @by_cpu:	whether its CPUs go one after the other, each through all states
 * @undo:	whether it goes on with the CPUs that it can: it has failed and
 *		goes back, or the machine boots
 * @serial_low:	the lowest serial state of hotplug threads
 * @serial_high: the highest
 * @waking:	the CPU that is being woken
 * @round:	the CPUs that do something one after the other, or NULL
 * @at:		the one of them whose turn it is, on the way up
 * @last:	when the last phase ended
 * @lock:	for what follows
 * @culprit:	the CPU whose callback was the first to fail
 * @failed:	the name of its state, or empty; a copy, as its module may go
 * @lost:	the CPUs of bolt_lost, for bolt/last_error
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
	unsigned int serial_low;
	unsigned int serial_high;
	unsigned int waking;
	const struct cpumask *round;
	unsigned int at;
	ktime_t last;
	raw_spinlock_t lock;
	unsigned int culprit;
	char failed[BOLT_STATE_NAME];
	char lost[BOLT_LOST_TEXT];
};

extern struct bolt_batch *bolt_batch;
extern u64 bolt_batches;
extern struct cpumask bolt_lost;

/* turn.c */
void bolt_set_round(const struct cpumask *round);
void bolt_find_serial(struct bolt_batch *batch);

/* batch.c */
#define BOLT_WHOLE	BIT(0)	/* nothing is put off, no shortcuts */
#define BOLT_FROZEN	BIT(1)	/* tasks are frozen: suspend, hibernation */
#define BOLT_ANYWAY	BIT(2)	/* though hotplug is disabled */
#define BOLT_BOOT	BIT(3)	/* all that can come do so */
#define BOLT_TREE	BIT(4)	/* CPUs that have come bring others up */

struct bolt_batch *bolt_this_batch(void);
int bolt_request(const struct cpumask *up, const struct cpumask *down,
		 unsigned int flags);
int bolt_start(unsigned int cpu);
int bolt_enable(bool on);
void bolt_broken(unsigned int cpu, enum cpuhp_state state, const char *what);

/* devices.c */
void bolt_notify(const struct cpumask *mask, bool online);
void bolt_notify_lost(unsigned int cpu);

/* control.c */
int bolt_control_start(void);
void bolt_control_stop(void);
int bolt_control_do(int (*run)(void *arg), void *arg,
		    const struct cpumask *leaving);

/* phases.c */
int bolt_go_down(const struct cpumask *mask, bool poll);
int bolt_go_up(const struct cpumask *mask);

/* phases.c, tree.c */

/* How long a CPU that is woken is waited for: as natively. */
#define BOLT_ARRIVE_TIMEOUT (10 * HZ)

/* The last state before a CPU is woken; after it, the CPU runs by itself. */
#define BOLT_PREPARED (CPUHP_BP_KICK_AP - 1)

/* tree.c */
int bolt_tree_begin(void);
void bolt_tree_end(void);
int bolt_tree_up(const struct cpumask *mask);

/* Of the architecture, in its own files; see phases.c. */
unsigned int bolt_arch_wave(unsigned int cpu);
void bolt_arch_coming(unsigned int nr);
void bolt_arch_arrived(const struct cpumask *cpus);

/* boot.c */
bool bolt_wanted(void);
void bolt_boot_set(enum bolt_boot_switch what, int on);

/* parse.c */

/* What the administrator may say of a hotplug state, in bolt/states. */
enum bolt_say {
	BOLT_SAY_DEFAULT,
	BOLT_SAY_CRITICAL,
	BOLT_SAY_SERIAL,
	BOLT_SAY_UNFIT,
};

int bolt_parse_list(const char *buf, size_t count, unsigned long *bits,
		    unsigned int nbits);
int bolt_parse_mask(const void *buf, size_t count, unsigned long *bits,
		    unsigned int nbits);
bool bolt_parse_word(const char *buf, size_t count, const char *word);
int bolt_parse_number(const char *buf, size_t count, unsigned int *number);
int bolt_parse_override(char *buf, size_t count, unsigned int *state,
			enum bolt_say *say);

/* error.c */
void bolt_error_add(u64 batch, unsigned int cpu, const char *state, int err,
		    const char *lost);
void bolt_error_lost(char *text, unsigned int cpu, const char *state);
int bolt_errors_emit(char *buf);

/* glue.c, in kernel/cpu.c: all that needs its statics. */
void bolt_glue_hold_readers_slow(bool hold);
int bolt_glue_native(unsigned int cpu, bool online);
void bolt_glue_retry(const struct cpumask *mask);
int bolt_glue_forbidden(bool online);
bool bolt_glue_bootable(unsigned int cpu);
enum cpuhp_state bolt_glue_state(unsigned int cpu);
int bolt_glue_run(unsigned int cpu, enum cpuhp_state target);
int bolt_glue_bury(unsigned int cpu, enum cpuhp_state target);
bool bolt_glue_in_thread(void);
void bolt_glue_unpark(unsigned int cpu);
bool bolt_glue_kick(unsigned int cpu, enum cpuhp_state target);
int bolt_glue_wait(unsigned int cpu, enum cpuhp_state from);
int bolt_glue_idle(unsigned int cpu);
int bolt_glue_start(unsigned int cpu);
int bolt_glue_arrive(unsigned int cpu, unsigned long deadline);
int bolt_glue_take_down(const struct cpumask *cpus);
void bolt_glue_relax(void);
void bolt_glue_smt_leave(struct cpumask *cpus, enum cpuhp_smt_control control);
void bolt_glue_smt_come(struct cpumask *cpus);
bool bolt_glue_settle_next(unsigned int cpu, bool async);
bool bolt_glue_below(unsigned int cpu, enum cpuhp_state state);
bool bolt_glue_alive(unsigned int cpu);
bool bolt_glue_overlap(void);
void bolt_glue_send(unsigned int cpu, enum cpuhp_state state, bool bringup,
		    struct hlist_node *node);
bool bolt_glue_call(unsigned int cpu, enum cpuhp_state state, bool bringup,
		    struct hlist_node *node);
int bolt_glue_called(unsigned int cpu);
int bolt_glue_invoke(unsigned int cpu, enum cpuhp_state state, bool bringup,
		     struct hlist_node *node);
int bolt_glue_invoke_for(unsigned int cpu, enum cpuhp_state state, bool bringup,
			 struct hlist_node *node);
void bolt_glue_lock_calls(void);
void bolt_glue_unlock_calls(void);
bool bolt_glue_multi(enum cpuhp_state state);
void bolt_glue_add(enum cpuhp_state state, struct hlist_node *node);
bool bolt_glue_can_defer(enum cpuhp_state state, enum bolt_unit unit);
bool bolt_glue_has(enum cpuhp_state state, bool startup);
bool bolt_glue_idle_state(enum cpuhp_state state);
unsigned long bolt_glue_callback(enum cpuhp_state state, bool startup);
const char *bolt_glue_name(enum cpuhp_state state);
int bolt_glue_startup(unsigned int cpu, enum cpuhp_state state);
void bolt_glue_teardown(unsigned int cpu, enum cpuhp_state state);
void bolt_glue_lock_states(void);
void bolt_glue_unlock_states(void);

#endif /* _KERNEL_BOLT_INTERNAL_H */
