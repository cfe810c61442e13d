// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is known of each hotplug state: whether its teardown may be deferred, and
 * whether its callbacks may run in a request for several CPUs. In the course of a
 * request, request.c, domains.c and boot/tree.c call functions of this file; other files
 * look into bolt_known[] of steps.c, which this file keeps up to date.
 *
 * Rows classify the states. rows.h, with compat-rows.h, has a row, with a reason, for
 * every fixed state that x86_64 or arm64 can have; a fixed state whose teardown may be
 * deferred has an entry in bolt_defers[] below as well, or its code calls
 * bolt_defer_state(). A dynamic state has a row by its registered name, in names.h or
 * compat-names.h, or its code calls bolt_defer_state(), mostly because the state has
 * functions of its own that defer and cancel. The administrator may make a state
 * critical, fit or unfit in bolt/states. A state of which nothing is known is critical,
 * and makes requests for several CPUs go CPU by CPU.
 *
 * A reason says what would go wrong if the teardown were deferred, or what the
 * callbacks do, and under which lock several CPUs may run these at once.
 * bolt/states shows the reason after the name of the state. Where the reason has no
 * subject, that name is the subject: "umwait:online (sets a register of the CPU)".
 *
 * What does "fit" mean? A callback may ask whether its CPU is the last one of a
 * package, choose a successor for a duty of its CPU, or wait for what other CPUs
 * do. In a request for several CPUs the callback may find another answer than
 * natively, because CPUs that are about to go are still online, and CPUs that have
 * come are not active yet. A state is therefore fit only if a person has read its
 * callbacks and declared the state fit. One state that is not fit, with callbacks to run,
 * makes every request for several CPUs take these CPUs one after the other through all
 * states, in native order, except that all CPUs that go leave the scheduler together.
 *
 * A row describes code of this kernel's source. A row does not apply to callbacks
 * of a module that was built from other source, whatever name or number that module
 * has chosen for its state.
 */
#define pr_fmt(fmt) "bolt: " fmt

#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/major.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "policy.h"
#include "started.h"
#include "state.h"
#include "steps.h"

/**
 * struct bolt_named - classification of a dynamic state by its name
 * @name:	what the state is registered as
 * @module:	the module that has the callbacks, if these are not built in
 * @row:	the classification
 * @defer:	how the teardown is deferred, unless @row says that the state is critical
 */
struct bolt_named {
	const char *name;
	const char *module;
	struct bolt_row row;
	struct bolt_defer defer;
};

/*
 * Callbacks of a serial state run for one CPU of a request at a time. Callbacks of
 * a concurrent state touch only data of their own CPU, or take locks for all else.
 * A callback of either kind that gives work of its CPU to another CPU must not choose
 * a CPU that the same request takes offline: see cpuhp_successor(). A state whose
 * callbacks may choose such a CPU is unfit.
 */
#define SERIAL BOLT_SERIAL
#define CONCURRENT BOLT_CONCURRENT

#define CRITICAL(why) \
	{ .class = BOLT_CRITICAL, .fit = SERIAL, .reason = why }
#define STARTS_OVERLAP(why) \
	{ .class = BOLT_CRITICAL, .fit = SERIAL, .starts_overlap = true, .reason = why }
#define OVERLAPS(why) \
	{ .class = BOLT_CRITICAL, .fit = CONCURRENT, .reason = why }
#define UNFIT(why) \
	{ .class = BOLT_CRITICAL, .fit = BOLT_UNFIT, .reason = why }

/* Serial if CONFIG_@option is set, else concurrent. */
#define CONCURRENT_UNLESS(option) \
	(IS_ENABLED(CONFIG_##option) ? SERIAL : CONCURRENT)

/* Rows of the fixed states, by the number of the state. */
static const struct bolt_row bolt_rows[BOLT_NR_STATES] = {
#include "rows.h"
#include "compat-rows.h"
};

/**
 * bolt_row_fixed - classification of a fixed hotplug state
 * @state:	the state
 *
 * Return: the row, or NULL if the state is dynamic, or exists neither on x86_64
 * nor on arm64.
 */
const struct bolt_row *bolt_row_fixed(enum cpuhp_state state)
{
	return bolt_rows[state].reason ? &bolt_rows[state] : NULL;
}

#define NAMED(_name, _module, _fit, why)				\
	{ .name = _name, .module = _module,				\
	  .row = { .class = BOLT_CRITICAL, .fit = _fit, .reason = why } }
#define NAMED_SERIAL(name, module, why) NAMED(name, module, SERIAL, why)
#define NAMED_CONCURRENT(name, module, why) NAMED(name, module, CONCURRENT, why)
#define NAMED_UNFIT(name, module, why) NAMED(name, module, BOLT_UNFIT, why)

/*
 * A state that may be deferred. Arguments after @why are members of struct
 * bolt_defer.
 */
#define NAMED_DEFERRED(_name, _module, _class, _fit, why, ...)		\
	{ .name = _name, .module = _module,				\
	  .row = { .class = _class, .fit = _fit, .reason = why },	\
	  .defer = { __VA_ARGS__ } }
#define NAMED_LAZY(name, module, fit, why, ...) \
	NAMED_DEFERRED(name, module, BOLT_LAZY, fit, why, ##__VA_ARGS__)
#define NAMED_ELIDED(name, module, fit, why, ...) \
	NAMED_DEFERRED(name, module, BOLT_ELIDE, fit, why, ##__VA_ARGS__)

/* Rows of dynamic states of the kernel's own code, by name and module. */
static const struct bolt_named bolt_names[] = {
#include "names.h"
#include "compat-names.h"
};

static const unsigned int bolt_nr_names = ARRAY_SIZE(bolt_names);

/*
 * For states that hide nothing from user space and have nothing to do at once: the
 * whole teardown is deferred.
 */
static const struct bolt_defer bolt_defer_all;

/*
 * For a state that hides the directory topology/ of the CPU, and has nothing to do
 * at once.
 */
static const struct bolt_defer bolt_defer_topology = { .node = "topology" };

/*
 * Fixed states that may be deferred without functions of their own. If the code of such
 * a state calls bolt_defer_state(), the state is left out: bolt_set_defer() adds it, as
 * bolt_set_defer() adds the states that have such functions.
 */
static const struct bolt_defer *bolt_defers[BOLT_NR_STATES] = {
	[CPUHP_SLUB_DEAD]		= &bolt_defer_all,
	[CPUHP_DEBUG_OBJ_DEAD]		= &bolt_defer_all,
	[CPUHP_MM_WRITEBACK_DEAD]	= &bolt_defer_all,
	[CPUHP_BIO_DEAD]		= &bolt_defer_all,
	[CPUHP_RADIX_DEAD]		= &bolt_defer_all,
	[CPUHP_IOMMU_IOVA_DEAD]		= &bolt_defer_all,
	[CPUHP_X2APIC_PREPARE]		= &bolt_defer_all,
	[CPUHP_SMPCFD_PREPARE]		= &bolt_defer_all,
	[CPUHP_TOPOLOGY_PREPARE]	= &bolt_defer_topology,
	[CPUHP_ZCOMP_PREPARE]		= &bolt_defer_all,
#include "compat-defers.h"
};

/* States that the administrator has moved back to critical; see bolt_override(). */
static struct bolt_set bolt_overrides;

/* Protects bolt_unfit, bolt_foreign and bolt_known[] against two updates at once. */
static DEFINE_SPINLOCK(bolt_fit_lock);

/* States that are registered, and not fit. */
static struct bolt_set bolt_unfit;

/* States that have a callback in a module built from other source than the kernel. */
static struct bolt_set bolt_foreign;

/* States that the administrator has declared fit or unfit, in bolt/states. */
static struct bolt_set bolt_declared_fit, bolt_declared_unfit;

/* For each dynamic state its entry of names.h, or NULL. */
static const struct bolt_named *bolt_named_states[BOLT_NR_STATES];

/**
 * bolt_dynamic - whether the number of a state is one that the kernel hands out
 * @state:	the state
 *
 * Return: true if so; false also if @state is not the number of a state.
 */
static bool bolt_dynamic(int state)
{
	return (state >= CPUHP_BP_PREPARE_DYN &&
		state <= CPUHP_BP_PREPARE_DYN_END) ||
	       (state >= CPUHP_AP_ONLINE_DYN &&
		state <= CPUHP_AP_ONLINE_DYN_END);
}

/* Whether @code is part of the kernel's image, or is 0, as there is no code. */
static bool bolt_built_in(unsigned long code)
{
	return !code || core_kernel_text(code);
}

#ifdef CONFIG_MODULES
/*
 * Whether @code is part of a module built from this kernel's source, and of the
 * module @name unless @name is NULL.
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

/* The address of @state's startup or teardown; 0 if there is none. */
static unsigned long bolt_state_callback(enum cpuhp_state state, bool startup)
{
	struct cpuhp_step *step = bolt_cpuhp_step(state);

	/*
	 * For a state with instances, the callback is in another member of the same
	 * union, so that reading @single finds the address of that callback, too.
	 */
	return (unsigned long)(startup ? step->startup.single :
					 step->teardown.single);
}

/* Whether both callbacks of @state are in this kernel or its module @name (NULL: any). */
static bool bolt_owned(enum cpuhp_state state, const char *name)
{
	unsigned int up;

	for (up = 0; up < 2; up++) {
		unsigned long code = bolt_state_callback(state, up);

		if (!bolt_built_in(code) && !bolt_in_module(code, name))
			return false;
	}
	return true;
}

/*
 * Whether bolt_intercept() can defer and cancel in place of the callbacks of
 * @state. A teardown without a startup can be deferred if it runs for a dead CPU: such
 * a teardown only cleans up, so if the CPU comes back before the teardown has run, no
 * startup is needed.
 */
static bool bolt_state_deferrable(enum cpuhp_state state)
{
	return bolt_state_has(state, false) &&
	       (bolt_state_has(state, true) || state < CPUHP_BRINGUP_CPU);
}

/* Whether the callbacks of @state allow it to be deferred as @defer says. */
static bool bolt_defer_fits(const struct bolt_defer *defer, enum cpuhp_state state)
{
	if (defer->restart && (!bolt_state_has(state, true) ||
			       bolt_cpuhp_step(state)->multi_instance))
		return false;
	return bolt_state_deferrable(state);
}

/*
 * Whether @named may have been written for the callbacks of @state: if @named defers
 * the state, the callbacks must allow that.
 */
static bool bolt_named_fits(const struct bolt_named *named, enum cpuhp_state state)
{
	return named->row.class == BOLT_CRITICAL ||
	       bolt_defer_fits(&named->defer, state);
}

static const struct bolt_named *bolt_find_named(enum cpuhp_state state)
{
	const char *name = bolt_state_name(state);
	unsigned int i;

	for (i = 0; name && i < bolt_nr_names; i++) {
		const struct bolt_named *named = &bolt_names[i];

		if (!strcmp(named->name, name) &&
		    bolt_owned(state, named->module) &&
		    bolt_named_fits(named, state))
			return named;
	}
	return NULL;
}

/**
 * bolt_row_named - classification of a dynamic state by its registered name
 * @state:	the state
 *
 * Context: any; with cpuhp_state_mutex if the state must not be removed meanwhile.
 * Return: the row, or NULL if names.h has none for this name and this module.
 */
const struct bolt_row *bolt_row_named(enum cpuhp_state state)
{
	const struct bolt_named *named = READ_ONCE(bolt_named_states[state]);

	return named ? &named->row : NULL;
}

/**
 * bolt_defer_named - what names.h says about deferring the teardown of a state
 * @state:	the state
 *
 * Context: as bolt_row_named().
 * Return: the description, or NULL if names.h does not have the state, or has it as
 * critical.
 */
static const struct bolt_defer *bolt_defer_named(enum cpuhp_state state)
{
	const struct bolt_named *named = READ_ONCE(bolt_named_states[state]);

	return named && named->row.class != BOLT_CRITICAL ? &named->defer : NULL;
}

/**
 * bolt_is_foreign - whether a callback of a state is in a module built elsewhere
 * @state:	the state
 *
 * Context: as bolt_row_named().
 * Return: true if so; rows do not describe the callbacks of such a module.
 */
static bool bolt_is_foreign(enum cpuhp_state state)
{
	return bolt_set_has(&bolt_foreign, state);
}

/**
 * bolt_row - classification of any hotplug state
 * @state:	the state
 *
 * The row of a dynamic state is what its code has declared by bolt_defer_state(),
 * or what names.h says of its name. The row does not include what the administrator
 * has changed: see bolt_overridden() and bolt_fit().
 *
 * Context: any; for a dynamic state with cpuhp_state_mutex, so that the state is not
 * removed.
 * Return: the row; critical and unfit if no row describes the callbacks of the state.
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
	/* Pairs with bolt_set_defer(). */
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

/*
 * Whether bolt_row(@state).fit is BOLT_CONCURRENT, found out in less time than by
 * bolt_row().
 */
bool bolt_concurrent(enum cpuhp_state state)
{
	const struct bolt_row *row = bolt_row_fixed(state);
	const struct bolt_defer *defer;

	if (row)
		return row->fit == BOLT_CONCURRENT && !bolt_is_foreign(state);
	/* Pairs with bolt_set_defer(). */
	defer = smp_load_acquire(&bolt_defers[state]);
	if (defer)
		return defer->concurrent;
	row = bolt_row_named(state);
	return row && row->fit == BOLT_CONCURRENT;
}

/* Whether the administrator has moved @state back to critical. */
bool bolt_overridden(enum cpuhp_state state)
{
	return test_bit(state, bolt_overrides.states);
}

/* Returns what bolt_deferred() will return for @state. */
static const struct bolt_defer *bolt_find_defer(enum cpuhp_state state)
{
	/* Pairs with bolt_set_defer(): all fields of *defer have been set. */
	const struct bolt_defer *defer = smp_load_acquire(&bolt_defers[state]);

	if (!defer)
		defer = bolt_defer_named(state);
	else if (bolt_dynamic(state) && defer->class == BOLT_CRITICAL)
		return NULL;	/* This declaration only says whether the state is concurrent. */
	if (!defer || bolt_overridden(state))
		return NULL;
	/* The row describes other callbacks than those of the foreign module. */
	if (bolt_row_fixed(state) && bolt_is_foreign(state))
		return NULL;
	return defer;
}

/* Updates bolt_known[] for @state. bolt_fit_lock is held. */
static void bolt_know(enum cpuhp_state state)
{
	bool serial = !bolt_concurrent(state) || bolt_overridden(state);
	struct bolt_row row = bolt_row(state);

	bolt_steps_know(state, row.class, bolt_find_defer(state), serial,
			serial && !(row.starts_overlap && !bolt_overridden(state)));
}

/**
 * bolt_set_overridden - note that the administrator has made a state critical
 * @state:	the state, of which nothing is pending
 * @critical:	false if the administrator has moved the state back to its class
 *
 * Context: hotplug lock held for reading, and cpuhp_state_mutex.
 */
void bolt_set_overridden(enum cpuhp_state state, bool critical)
{
	guard(spinlock)(&bolt_fit_lock);
	assign_bit(state, bolt_overrides.states, critical);
	bolt_know(state);
}

/**
 * bolt_set_defer - let the teardown of a state be deferred
 * @state:	the state
 * @defer:	how the state is deferred, which is not checked here; NULL: not any more
 *
 * Context: a task.
 */
void bolt_set_defer(enum cpuhp_state state, const struct bolt_defer *defer)
{
	guard(spinlock)(&bolt_fit_lock);
	/* Pairs with bolt_row() and other readers: a request may run on another CPU. */
	smp_store_release(&bolt_defers[state], defer);
	bolt_know(state);
}

/* Forgets what code has said of deferring @state, as @state is being removed. */
void bolt_drop_defer(enum cpuhp_state state)
{
	if (bolt_defers[state] == &bolt_defer_all ||
	    bolt_defers[state] == &bolt_defer_topology)
		return;
	bolt_set_defer(state, NULL);
}

/**
 * bolt_fit - what a hotplug state allows in a request for several CPUs
 * @state:	the state
 *
 * Context: as bolt_row_named().
 * Return: what the administrator has declared, but a concurrent state that was declared
 * fit stays concurrent; otherwise what the row of the state, or its code, says.
 */
enum bolt_fit bolt_fit(enum cpuhp_state state)
{
	enum bolt_fit fit;

	if (bolt_set_has(&bolt_declared_unfit, state))
		return BOLT_UNFIT;
	fit = bolt_row(state).fit;
	if (fit == BOLT_UNFIT && bolt_set_has(&bolt_declared_fit, state))
		return BOLT_SERIAL;
	return fit;
}

/**
 * bolt_fit_declared - whether the administrator has declared a state fit or unfit
 * @state:	the state
 *
 * Context: any.
 * Return: true if so.
 */
bool bolt_fit_declared(enum cpuhp_state state)
{
	return bolt_set_has(&bolt_declared_fit, state) ||
	       bolt_set_has(&bolt_declared_unfit, state);
}

/**
 * bolt_review - update all that is known of a state
 * @state:	the state, which has been registered, removed, or declared fit or
 *		unfit
 *
 * Context: cpuhp_state_mutex held, or the task that has registered @state, or boot.
 */
static void bolt_review(enum cpuhp_state state)
{
	bool there = bolt_registered(state);

	guard(spinlock)(&bolt_fit_lock);
	assign_bit(state, bolt_foreign.states,
		   there && !bolt_owned(state, NULL));
	if (bolt_dynamic(state))
		WRITE_ONCE(bolt_named_states[state],
			   there ? bolt_find_named(state) : NULL);
	assign_bit(state, bolt_unfit.states,
		   there && bolt_fit(state) == BOLT_UNFIT);
	bolt_know(state);
}

/**
 * bolt_defer_state - let Bolt defer the teardown of a hotplug state
 * @state:	the state that was passed to cpuhp_setup_state(); for a dynamic
 *		state the number that cpuhp_setup_state() has returned
 * @defer:	how the state is deferred; must live as long as the state
 *
 * Call this function after the state has been set up. Until this function is called
 * for a dynamic state, a request for several CPUs takes one CPU after the other.
 * cpuhp_remove_state() settles the state on all CPUs first, and drops @defer.
 * Adding or removing an instance of the state also settles the state first, and
 * keeps @defer.
 *
 * A state without startup can be deferred only below CPUHP_BRINGUP_CPU. If @restart
 * of @defer is set, the state must have a startup, and must not be one with instances.
 * For a dynamic state that is not to be deferred, @defer may say whether the state is
 * concurrent, and why.
 *
 * Context: as cpuhp_setup_state().
 * Return: 0, or -EINVAL if @state is not between CPUHP_OFFLINE and CPUHP_ONLINE, as
 * an error number is not; is a fixed state that rows.h calls critical or lacks; is a
 * dynamic state for which @defer has no reason; or is to be deferred and has other
 * callbacks than these rules ask for.
 */
int bolt_defer_state(int state, const struct bolt_defer *defer)
{
	const struct bolt_row *fixed;

	if (state <= CPUHP_OFFLINE || state >= CPUHP_ONLINE)
		return -EINVAL;
	fixed = bolt_row_fixed(state);
	if (fixed ? fixed->class == BOLT_CRITICAL :
		    !bolt_dynamic(state) || !defer->reason)
		return -EINVAL;
	if ((fixed || defer->class != BOLT_CRITICAL) && !bolt_defer_fits(defer, state))
		return -EINVAL;
	bolt_set_defer(state, defer);
	bolt_review(state);
	return 0;
}
EXPORT_SYMBOL_GPL(bolt_defer_state);

/**
 * bolt_callbacks_changed - update what is known of a state with new callbacks
 * @state:	the state, which has been registered or removed
 *
 * The counts of the state begin at 0, and what the administrator has declared is
 * dropped, as both were about the callbacks that the state had before. A fixed state that
 * the administrator has made critical stays critical.
 *
 * Context: cpuhp_state_mutex held.
 */
void bolt_callbacks_changed(enum cpuhp_state state)
{
	clear_bit(state, bolt_declared_fit.states);
	clear_bit(state, bolt_declared_unfit.states);
	if (bolt_dynamic(state))
		clear_bit(state, bolt_overrides.states);
	memset(&bolt_counts[state], 0, sizeof(bolt_counts[state]));
	bolt_steps_at_rest();
	bolt_steps_link(state);
	bolt_review(state);
}

/**
 * bolt_instances_changed - note that a state has got an instance, or lost one
 * @state:	the state
 *
 * Context: cpuhp_state_mutex held.
 */
void bolt_instances_changed(enum cpuhp_state state)
{
	bolt_steps_link(state);
}

/**
 * bolt_declare_fit - declare a state fit or unfit, by order of the administrator
 * @state:	the state
 * @fit:	BOLT_SERIAL or BOLT_UNFIT
 *
 * A state that is concurrent stays concurrent when BOLT_SERIAL is declared.
 *
 * Context: may sleep; takes the hotplug lock.
 * Return: 0, or -ENOENT if no such state is registered.
 */
int bolt_declare_fit(enum cpuhp_state state, enum bolt_fit fit)
{
	int err = -ENOENT;

	bolt_lock_states();
	if (bolt_registered(state)) {
		assign_bit(state, bolt_declared_fit.states, fit != BOLT_UNFIT);
		assign_bit(state, bolt_declared_unfit.states, fit == BOLT_UNFIT);
		bolt_review(state);
		err = 0;
	}
	bolt_unlock_states();
	return err;
}

/**
 * bolt_forget_declared - drop what the administrator has declared
 * @state:	the state
 *
 * Context: hotplug lock held for reading, and cpuhp_state_mutex.
 */
void bolt_forget_declared(enum cpuhp_state state)
{
	clear_bit(state, bolt_declared_fit.states);
	clear_bit(state, bolt_declared_unfit.states);
	bolt_review(state);
}

/* Whether @state is a state with instances that has no instance now. */
static bool bolt_state_no_instance(enum cpuhp_state state)
{
	struct cpuhp_step *step = bolt_cpuhp_step(state);

	return step->multi_instance && hlist_empty(&step->list);
}

/**
 * bolt_find_unfit - find the state that makes requests go CPU by CPU
 *
 * A state with instances does not count while it has no instance, as none of its
 * callbacks runs then.
 *
 * Context: hotplug lock held for writing, or as bolt_forget_declared(), or early in boot.
 * Return: the lowest state that is not fit, or CPUHP_INVALID if all states are fit.
 */
enum cpuhp_state bolt_find_unfit(void)
{
	unsigned int state;

	for_each_set_bit(state, bolt_unfit.states, BOLT_NR_STATES) {
		if (!bolt_state_no_instance(state))
			return state;
	}
	return CPUHP_INVALID;
}

/**
 * bolt_must_go_by_cpu - whether the request that begins must go CPU by CPU
 *
 * If states are unfit, adds the request to the count of requests that the lowest of these
 * states has slowed, and prints a message if it is the first request in that count.
 *
 * Context: hotplug lock held for writing.
 * Return: true if so.
 */
bool bolt_must_go_by_cpu(void)
{
	enum cpuhp_state state = bolt_find_unfit();

	if (state == CPUHP_INVALID)
		return false;
	bolt_stats[BOLT_STAT_BY_CPU]++;
	if (atomic64_inc_return(&bolt_counts[state].slowed) == 1)
		pr_info("hotplug state %s is not declared fit for requests for several CPUs: such requests take one CPU after the other\n",
			bolt_state_name(state) ?: "unnamed");
	return true;
}

/* Looks at the states that are in the table of kernel/cpu.c from the beginning. */
static int __init bolt_fit_init(void)
{
	enum cpuhp_state state;

	for (state = CPUHP_OFFLINE + 1; state < CPUHP_ONLINE; state++) {
		bolt_steps_link(state);
		bolt_review(state);
	}
	return 0;
}
early_initcall(bolt_fit_init);

#include "tests/policy-kunit.h"
