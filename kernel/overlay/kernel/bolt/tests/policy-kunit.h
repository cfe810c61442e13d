/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: the first suite checks the policy's rows, without touching a CPU. The second
 * suite is about states that are fit for requests for several CPUs, and states that are
 * not. The second suite takes all CPUs but the first offline and back, together and one
 * after the other; it is skipped with fewer than three CPUs.
 */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_POLICY_KUNIT_H
#define _BOLT_TESTS_POLICY_KUNIT_H

#include <linux/delay.h>
#include <linux/nmi.h>

#include "fixture.h"

static bool registered(int state)
{
	return bolt_state_has(state, true) || bolt_state_has(state, false);
}

/* Every fixed state that this kernel has registered has a row. */
static void every_fixed_state_has_a_row(struct kunit *test)
{
	int state;

	for (state = CPUHP_OFFLINE + 1; state < CPUHP_ONLINE; state++) {
		if (!registered(state) ||
		    (state >= CPUHP_BP_PREPARE_DYN &&
		     state <= CPUHP_BP_PREPARE_DYN_END) ||
		    (state >= CPUHP_AP_ONLINE_DYN &&
		     state <= CPUHP_AP_ONLINE_DYN_END))
			continue;
		KUNIT_EXPECT_NOT_NULL_MSG(test, bolt_row_fixed(state),
					  "state %d, %s", state,
					  bolt_state_name(state));
	}
}

/*
 * STARTING states are critical, as the CPU may be reset between their teardown and
 * their startup.
 */
static void starting_is_critical(struct kunit *test)
{
	int state;

	for (state = CPUHP_BP_KICK_AP; state < CPUHP_AP_ONLINE; state++) {
		KUNIT_EXPECT_EQ_MSG(test, bolt_row(state).class, BOLT_CRITICAL,
				    "state %d", state);
		KUNIT_EXPECT_NULL_MSG(test, bolt_deferred(state), "state %d",
				      state);
	}
}

/*
 * A state that may be deferred has a class other than critical, a reason, and callbacks
 * that allow deferring.
 */
static void deferred_states_fit(struct kunit *test)
{
	int state;

	for (state = CPUHP_OFFLINE + 1; state < CPUHP_ONLINE; state++) {
		struct bolt_row row = bolt_row(state);

		if (!registered(state) || !bolt_deferred(state))
			continue;
		KUNIT_EXPECT_NE_MSG(test, row.class, BOLT_CRITICAL,
				    "state %d", state);
		KUNIT_EXPECT_LT_MSG(test, row.unit, BOLT_UNITS, "state %d",
				    state);
		KUNIT_EXPECT_NOT_NULL_MSG(test, row.reason, "state %d", state);
		KUNIT_EXPECT_TRUE_MSG(test, bolt_state_deferrable(state),
				      "state %d", state);
	}
}

static void defer_refuses_what_it_must(struct kunit *test)
{
	static const struct bolt_defer defer = {
		.class = BOLT_ELIDE,
		.reason = "test",
	};
	static const struct bolt_defer no_reason = { .concurrent = true };
	static const struct bolt_defer unexplained = { .class = BOLT_ELIDE };

	/*
	 * A number that cpuhp_setup_state() returns when it fails, and the two ends
	 * of the enum.
	 */
	KUNIT_EXPECT_EQ(test, bolt_defer_state(-ENOSPC, &defer), -EINVAL);
	KUNIT_EXPECT_EQ(test, bolt_defer_state(CPUHP_OFFLINE, &defer), -EINVAL);
	KUNIT_EXPECT_EQ(test, bolt_defer_state(CPUHP_ONLINE, &defer), -EINVAL);
	/* A fixed state that is critical, and a fixed state without a row. */
	KUNIT_EXPECT_EQ(test, bolt_defer_state(CPUHP_AP_ACTIVE, &defer),
			-EINVAL);
	KUNIT_EXPECT_EQ(test,
			bolt_defer_state(CPUHP_S390_PFAULT_DEAD, &defer),
			-EINVAL);
	/*
	 * A dynamic state that is not registered, and descriptions without a
	 * reason.
	 */
	KUNIT_EXPECT_EQ(test, bolt_defer_state(CPUHP_AP_ONLINE_DYN_END, &defer),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, bolt_defer_state(CPUHP_AP_ONLINE_DYN, &no_reason),
			-EINVAL);
	KUNIT_EXPECT_EQ(test,
			bolt_defer_state(CPUHP_AP_ONLINE_DYN, &unexplained),
			-EINVAL);
	KUNIT_EXPECT_NULL(test, bolt_deferred(CPUHP_AP_ACTIVE));
	KUNIT_EXPECT_NULL(test, bolt_deferred(CPUHP_AP_ONLINE_DYN_END));
}

static struct kunit_case bolt_policy_cases[] = {
	KUNIT_CASE(every_fixed_state_has_a_row),
	KUNIT_CASE(starting_is_critical),
	KUNIT_CASE(deferred_states_fit),
	KUNIT_CASE(defer_refuses_what_it_must),
	{}
};

static struct kunit_suite bolt_policy_suite = {
	.name = "bolt_policy",
	.test_cases = bolt_policy_cases,
};

kunit_test_suite(bolt_policy_suite);

/* How many ms dying_waits() waits at most, while stop_machine() stops the CPUs. */
#define DYING_WAIT_MS 20

/* What one callback has seen of the machine. */
struct call {
	unsigned int cpu;
	unsigned int online;
	bool startup;
};

/*
 * The first calls since forget_calls(), with room for a teardown and a startup on each
 * CPU. seen.nr counts all calls.
 */
static struct call *calls;
static int max_calls;

static struct {
	atomic_t nr;
	atomic_t inside;
	atomic_t met;
	unsigned int refuses;
	bool refuses_startup;
} seen;

struct fit_test {
	struct bolt_fixture fixture;
	struct cpumask cpus;
	int state;
};

static int note(unsigned int cpu, bool startup)
{
	int i = atomic_inc_return(&seen.nr) - 1;
	int err = 0;

	if (atomic_inc_return(&seen.inside) > 1)
		atomic_inc(&seen.met);
	if (i < max_calls)
		calls[i] = (struct call){
			.cpu = cpu,
			.online = num_online_cpus(),
			.startup = startup,
		};
	if (cpu == seen.refuses && startup == seen.refuses_startup) {
		seen.refuses = nr_cpu_ids;
		err = -ENXIO;
	}
	atomic_dec(&seen.inside);
	return err;
}

static int note_startup(unsigned int cpu)
{
	return note(cpu, true);
}

static int note_teardown(unsigned int cpu)
{
	return note(cpu, false);
}

static void forget_calls(void)
{
	memset(&seen, 0, sizeof(seen));
	seen.refuses = nr_cpu_ids;
}

static int add_state(struct kunit *test, const char *name)
{
	struct fit_test *ft = test->priv;

	ft->state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, name,
					      note_startup, note_teardown);
	KUNIT_ASSERT_GT(test, ft->state, 0);
	return ft->state;
}

/* Takes the CPUs offline and back by requests for one CPU each. */
static void go_one_by_one(struct kunit *test, const struct cpumask *cpus)
{
	unsigned int cpu;

	for_each_cpu(cpu, cpus)
		KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	for_each_cpu(cpu, cpus)
		KUNIT_ASSERT_EQ(test, add_cpu(cpu), 0);
}

static void go_together(struct kunit *test, const struct cpumask *cpus)
{
	KUNIT_ASSERT_EQ(test, bolt_test_go(cpus, false), 0);
	KUNIT_ASSERT_EQ(test, bolt_test_go(cpus, true), 0);
}

static s64 slowed(int state)
{
	return atomic64_read(&bolt_counts[state].slowed);
}

/*
 * Callbacks of a state of which nothing is known are called in native order, and
 * see what they see natively.
 */
static void unknown_states_see_what_they_see_natively(struct kunit *test)
{
	struct fit_test *ft = test->priv;
	int state = add_state(test, "bolt/test:unknown"), i, nr;
	struct call *native;

	KUNIT_EXPECT_EQ(test, bolt_fit(state), BOLT_UNFIT);
	KUNIT_ASSERT_EQ(test, bolt_enable(false), 0);
	forget_calls();
	go_one_by_one(test, &ft->cpus);
	nr = atomic_read(&seen.nr);
	KUNIT_ASSERT_EQ(test, nr, 2 * cpumask_weight(&ft->cpus));
	native = kunit_kcalloc(test, nr, sizeof(*native), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, native);
	memcpy(native, calls, nr * sizeof(*native));

	KUNIT_ASSERT_EQ(test, bolt_enable(true), 0);
	forget_calls();
	go_together(test, &ft->cpus);
	KUNIT_EXPECT_EQ(test, slowed(state), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.met), 0);
	KUNIT_ASSERT_EQ(test, atomic_read(&seen.nr), nr);
	for (i = 0; i < nr; i++) {
		KUNIT_EXPECT_EQ(test, calls[i].cpu, native[i].cpu);
		KUNIT_EXPECT_EQ(test, calls[i].online, native[i].online);
		KUNIT_EXPECT_EQ(test, calls[i].startup, native[i].startup);
	}
}

/*
 * Callbacks of a state that was declared fit find all CPUs of the request in
 * cpu_online_mask.
 */
static void declared_states_see_the_others(struct kunit *test)
{
	static const struct bolt_defer defer = { .reason = "test" };
	struct fit_test *ft = test->priv;
	int state = add_state(test, "bolt/test:declared"), i;

	KUNIT_ASSERT_EQ(test, bolt_defer_state(state, &defer), 0);
	KUNIT_EXPECT_EQ(test, bolt_fit(state), BOLT_SERIAL);
	if (bolt_find_unfit() != CPUHP_INVALID)
		kunit_skip(test, "another state is unfit");
	forget_calls();
	go_together(test, &ft->cpus);
	KUNIT_EXPECT_EQ(test, slowed(state), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.met), 0);
	KUNIT_ASSERT_EQ(test, atomic_read(&seen.nr),
			2 * cpumask_weight(&ft->cpus));
	for (i = 0; i < atomic_read(&seen.nr); i++)
		KUNIT_EXPECT_EQ(test, calls[i].online, num_online_cpus());
}

/*
 * A request that goes CPU by CPU is undone like any other request, wherever it
 * fails.
 */
static void a_failure_is_undone(struct kunit *test)
{
	struct fit_test *ft = test->priv;
	int state = add_state(test, "bolt/test:unknown");
	unsigned int cpu;

	for_each_cpu(cpu, &ft->cpus) {
		forget_calls();
		seen.refuses = cpu;
		KUNIT_EXPECT_EQ(test, bolt_test_go(&ft->cpus, false), -ENXIO);
		KUNIT_EXPECT_TRUE(test, cpumask_subset(&ft->cpus,
						       cpu_active_mask));
		KUNIT_EXPECT_EQ(test, bolt_cpu_state(cpu), CPUHP_ONLINE);
	}
	KUNIT_ASSERT_EQ(test, bolt_test_go(&ft->cpus, false), 0);
	for_each_cpu(cpu, &ft->cpus) {
		forget_calls();
		seen.refuses = cpu;
		seen.refuses_startup = true;
		KUNIT_EXPECT_EQ(test, bolt_test_go(&ft->cpus, true), -ENXIO);
		KUNIT_EXPECT_FALSE(test, cpumask_intersects(&ft->cpus,
							    cpu_online_mask));
		KUNIT_EXPECT_EQ(test, bolt_cpu_state(cpu), CPUHP_OFFLINE);
	}
	forget_calls();
	KUNIT_ASSERT_EQ(test, bolt_test_go(&ft->cpus, true), 0);
	KUNIT_EXPECT_EQ(test, slowed(state),
			2 * cpumask_weight(&ft->cpus) + 2);
}

/*
 * A state is fit or unfit as the administrator has declared, until the declaration is
 * taken back. The counts of the state grow until the state is removed.
 */
static void the_administrator_decides(struct kunit *test)
{
	static const struct bolt_defer concurrent = {
		.reason = "test",
		.concurrent = true,
	};
	struct fit_test *ft = test->priv;
	int state = add_state(test, "bolt/test:unknown");

	forget_calls();
	go_together(test, &ft->cpus);
	KUNIT_EXPECT_GT(test, atomic64_read(&bolt_counts[state].runs), 0);
	KUNIT_EXPECT_EQ(test, bolt_declare_fit(state, BOLT_SERIAL), 0);
	KUNIT_EXPECT_EQ(test, bolt_fit(state), BOLT_SERIAL);
	KUNIT_EXPECT_TRUE(test, bolt_fit_declared(state));
	KUNIT_EXPECT_EQ(test, bolt_override(state, false), 0);
	KUNIT_EXPECT_EQ(test, bolt_fit(state), BOLT_UNFIT);
	KUNIT_EXPECT_FALSE(test, bolt_fit_declared(state));

	KUNIT_ASSERT_EQ(test, bolt_defer_state(state, &concurrent), 0);
	KUNIT_EXPECT_EQ(test, bolt_declare_fit(state, BOLT_SERIAL), 0);
	KUNIT_EXPECT_EQ(test, bolt_fit(state), BOLT_CONCURRENT);
	KUNIT_EXPECT_EQ(test, bolt_declare_fit(state, BOLT_UNFIT), 0);
	KUNIT_EXPECT_EQ(test, bolt_fit(state), BOLT_UNFIT);
	KUNIT_EXPECT_NE(test, bolt_find_unfit(), CPUHP_INVALID);
	KUNIT_EXPECT_EQ(test, bolt_override(state, true), 0);
	KUNIT_EXPECT_TRUE(test, bolt_overridden(state));
	cpuhp_remove_state_nocalls(state);
	KUNIT_EXPECT_FALSE(test, bolt_fit_declared(state));
	KUNIT_EXPECT_EQ(test, bolt_declare_fit(state, BOLT_SERIAL), -ENOENT);

	/*
	 * The next state that gets the same number is another state, and nothing is
	 * declared or counted for it.
	 */
	KUNIT_EXPECT_EQ(test, bolt_override(state, true), -ENOENT);
	KUNIT_EXPECT_EQ(test, add_state(test, "bolt/test:unknown"), state);
	KUNIT_EXPECT_FALSE(test, bolt_overridden(state));
	KUNIT_EXPECT_EQ(test, atomic64_read(&bolt_counts[state].runs), 0);
	KUNIT_EXPECT_EQ(test, bolt_fit(state), BOLT_UNFIT);
	KUNIT_EXPECT_FALSE(test, bolt_fit_declared(state));
}

/*
 * An unfit multi-instance state does not slow requests down while it has no
 * instance.
 */
static void without_instances_nothing_is_slow(struct kunit *test)
{
	enum cpuhp_state before = bolt_find_unfit();
	int state;

	state = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN,
					"bolt/test:instances", NULL, NULL);
	KUNIT_ASSERT_GT(test, state, 0);
	KUNIT_EXPECT_EQ(test, bolt_find_unfit(), before);
	cpuhp_remove_multi_state(state);
}

/* A dynamic state that this kernel registers gets the row of names.h for its name. */
static void names_have_rows(struct kunit *test)
{
	struct fit_test *ft = test->priv;
	unsigned int i;

	for (i = 0; i < bolt_nr_names; i++) {
		const struct bolt_named *named = &bolt_names[i];
		int state = add_state(test, named->name);

		/*
		 * Several modules may use the same name for a state; then all rows
		 * of that name must agree.
		 */
		KUNIT_EXPECT_EQ_MSG(test, bolt_fit(state), named->row.fit, "%s",
				    named->name);
		KUNIT_EXPECT_NOT_NULL_MSG(test, named->row.reason, "%s",
					  named->name);
		KUNIT_EXPECT_EQ_MSG(test, bolt_row(state).class,
				    named->row.class, "%s", named->name);
		KUNIT_EXPECT_EQ_MSG(test, !bolt_deferred(state),
				    named->row.class == BOLT_CRITICAL, "%s",
				    named->name);
		cpuhp_remove_state_nocalls(state);
		KUNIT_EXPECT_NULL_MSG(test, bolt_deferred(state), "%s",
				      named->name);
		ft->state = 0;
	}
}

static int note_instance(unsigned int cpu, struct hlist_node *node)
{
	return 0;
}

/*
 * A row that defers a state does not apply to a state of the same name whose callbacks
 * do not allow deferring.
 */
static void names_need_their_callbacks(struct kunit *test)
{
	static const struct bolt_defer restart = {
		.class = BOLT_ELIDE,
		.reason = "test",
		.restart = true,
	};
	static const struct bolt_defer in_unit = {
		.class = BOLT_ELIDE,
		.unit = BOLT_UNIT_RCU,
		.reason = "test",
	};
	struct fit_test *ft = test->priv;
	int state;

	/*
	 * A teardown without a startup, in the ONLINE section, where no callback undoes
	 * the teardown.
	 */
	state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN,
					  "fork:vm_stack_cache", NULL,
					  note_teardown);
	KUNIT_ASSERT_GT(test, state, 0);
	ft->state = state;
	KUNIT_EXPECT_NULL(test, bolt_deferred(state));
	KUNIT_EXPECT_EQ(test, bolt_fit(state), BOLT_UNFIT);
	cpuhp_remove_state_nocalls(state);
	ft->state = 0;

	/* A startup without a teardown: there is nothing to defer, in a unit neither. */
	state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "scs:scs_cache",
					  note_startup, NULL);
	KUNIT_ASSERT_GT(test, state, 0);
	ft->state = state;
	KUNIT_EXPECT_NULL(test, bolt_deferred(state));
	KUNIT_EXPECT_EQ(test, bolt_fit(state), BOLT_UNFIT);
	KUNIT_EXPECT_EQ(test, bolt_defer_state(state, &in_unit), -EINVAL);
	cpuhp_remove_state_nocalls(state);
	ft->state = 0;

	/*
	 * The row has .restart set, which is not possible for a state with
	 * instances.
	 */
	state = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "crash/cpuhp",
					note_instance, note_instance);
	KUNIT_ASSERT_GT(test, state, 0);
	KUNIT_EXPECT_NULL(test, bolt_deferred(state));
	KUNIT_EXPECT_EQ(test, bolt_fit(state), BOLT_UNFIT);
	KUNIT_EXPECT_EQ(test, bolt_defer_state(state, &restart), -EINVAL);
	cpuhp_remove_multi_state(state);
}

/* Returns how often note() ran for startups, or for teardowns. */
static int calls_of(bool startup)
{
	int i, n = 0;

	for (i = 0; i < min(atomic_read(&seen.nr), max_calls); i++)
		n += calls[i].startup == startup;
	return n;
}

/*
 * A row of names.h can defer a state; the code that registers the state need not
 * call Bolt.
 */
static void names_are_put_off(struct kunit *test)
{
	struct fit_test *ft = test->priv;
	int nr = cpumask_weight(&ft->cpus);
	int state = add_state(test, "fork:vm_stack_cache");

	if (bolt_find_unfit() != CPUHP_INVALID)
		kunit_skip(test, "another state is unfit");
	forget_calls();
	go_together(test, &ft->cpus);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.nr), 0);
	/*
	 * When the state is moved back to critical, its teardown and startup run as
	 * natively.
	 */
	bolt_override(state, true);
	KUNIT_EXPECT_NULL(test, bolt_deferred(state));
	go_together(test, &ft->cpus);
	KUNIT_EXPECT_EQ(test, calls_of(false), nr);
	KUNIT_EXPECT_EQ(test, calls_of(true), nr);
	bolt_override(state, false);
	/* A pending teardown runs when the state is removed. */
	KUNIT_ASSERT_EQ(test, bolt_test_go(&ft->cpus, false), 0);
	forget_calls();
	cpuhp_remove_state_nocalls(state);
	ft->state = 0;
	KUNIT_EXPECT_EQ(test, calls_of(false), nr);
	KUNIT_ASSERT_EQ(test, bolt_test_go(&ft->cpus, true), 0);
}

/* By .restart a row says that the startup runs although the teardown was deferred. */
static void a_startup_may_run_without_a_teardown(struct kunit *test)
{
	struct fit_test *ft = test->priv;
	int nr = cpumask_weight(&ft->cpus);
	unsigned int cpu;

	add_state(test, "crash/cpuhp");
	if (bolt_find_unfit() != CPUHP_INVALID)
		kunit_skip(test, "another state is unfit");
	forget_calls();
	KUNIT_ASSERT_EQ(test, bolt_test_go(&ft->cpus, false), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.nr), 0);
	KUNIT_ASSERT_EQ(test, bolt_test_go(&ft->cpus, true), 0);
	KUNIT_EXPECT_EQ(test, calls_of(true), nr);
	KUNIT_EXPECT_EQ(test, calls_of(false), 0);

	/* If that startup fails, the teardown runs, and the CPU stays offline. */
	KUNIT_ASSERT_EQ(test, bolt_test_go(&ft->cpus, false), 0);
	cpu = cpumask_first(&ft->cpus);
	forget_calls();
	seen.refuses = cpu;
	seen.refuses_startup = true;
	KUNIT_EXPECT_EQ(test, bolt_test_go(cpumask_of(cpu), true), -ENXIO);
	KUNIT_EXPECT_EQ(test, calls_of(false), 1);
	KUNIT_EXPECT_FALSE(test, cpu_online(cpu));
	forget_calls();
	KUNIT_EXPECT_EQ(test, bolt_test_go(&ft->cpus, true), 0);
	KUNIT_EXPECT_EQ(test, calls_of(true), nr);
}

static atomic_t dying_late;
static struct cpumask dying_seen;

/*
 * Does what tboot_dying_cpu() does: the last CPU that goes waits until the CPUs
 * that went before it are dead.
 */
static int dying_waits(unsigned int cpu)
{
	unsigned int other, left = DYING_WAIT_MS;

	if (num_online_cpus() > 1)
		goto out;
	for_each_cpu(other, &dying_seen) {
		for (; left && bolt_cpu_state(other) > CPUHP_AP_IDLE_DEAD;
		     left--) {
			mdelay(1);
			touch_nmi_watchdog();
		}
		if (bolt_cpu_state(other) > CPUHP_AP_IDLE_DEAD)
			atomic_inc(&dying_late);
	}
out:
	cpumask_set_cpu(cpu, &dying_seen);
	return 0;
}

static void the_last_to_die_finds_the_others_dead(struct kunit *test)
{
	struct fit_test *ft = test->priv;
	int err;

	/*
	 * The test uses the number of tboot's state, which a guest does not
	 * register.
	 */
	err = cpuhp_setup_state_nocalls(CPUHP_AP_X86_TBOOT_DYING,
					"bolt/test:dying", NULL, dying_waits);
	if (err == -EBUSY)
		kunit_skip(test, "this machine has TXT");
	KUNIT_ASSERT_EQ(test, err, 0);
	atomic_set(&dying_late, 0);
	cpumask_clear(&dying_seen);
	KUNIT_EXPECT_EQ(test, bolt_test_go(&ft->cpus, false), 0);
	KUNIT_EXPECT_EQ(test, bolt_test_go(&ft->cpus, true), 0);
	cpuhp_remove_state_nocalls(CPUHP_AP_X86_TBOOT_DYING);
	KUNIT_EXPECT_TRUE(test, cpumask_equal(&dying_seen, &ft->cpus));
	KUNIT_EXPECT_EQ(test, atomic_read(&dying_late), 0);
}

static struct cpumask torn_down;
static atomic_t early, looks;

/* Notes whether a CPU of the request has yet to go below @state. */
static int look_whether_all_are_below(enum cpuhp_state state)
{
	unsigned int cpu;

	for_each_cpu(cpu, &torn_down) {
		if (bolt_cpu_state(cpu) >= state)
			atomic_inc(&early);
	}
	atomic_inc(&looks);
	return 0;
}

static int look_after_timers(unsigned int cpu)
{
	return look_whether_all_are_below(CPUHP_TIMERS_PREPARE);
}

static int look_after_softirqs(unsigned int cpu)
{
	return look_whether_all_are_below(CPUHP_SOFTIRQ_DEAD);
}

/*
 * The timers of all dead CPUs are moved before later teardowns run, and so are tasklets
 * and block requests: such a teardown may wait for a task that waits for one of these.
 */
static void work_of_all_the_dead_is_moved_first(struct kunit *test)
{
	/* States that only Xen and a driver for AMD's processors register. */
	static const enum cpuhp_state states[] = {
		CPUHP_XEN_EVTCHN_PREPARE, CPUHP_PERF_X86_AMD_UNCORE_PREP,
	};
	struct fit_test *ft = test->priv;
	int err;

	if (bolt_find_unfit() != CPUHP_INVALID)
		kunit_skip(test, "another state is unfit");
	err = cpuhp_setup_state_nocalls(states[0], "bolt/test:early", NULL,
					look_after_timers);
	if (!err) {
		err = cpuhp_setup_state_nocalls(states[1], "bolt/test:late", NULL,
						look_after_softirqs);
		if (err)
			cpuhp_remove_state_nocalls(states[0]);
	}
	if (err == -EBUSY)
		kunit_skip(test, "this machine has one of the states");
	KUNIT_ASSERT_EQ(test, err, 0);
	atomic_set(&early, 0);
	atomic_set(&looks, 0);
	cpumask_copy(&torn_down, &ft->cpus);
	KUNIT_EXPECT_EQ(test, bolt_find_unfit(), CPUHP_INVALID);
	KUNIT_EXPECT_EQ(test, bolt_test_go(&ft->cpus, false), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&looks), 2 * cpumask_weight(&ft->cpus));
	KUNIT_EXPECT_EQ(test, atomic_read(&early), 0);
	KUNIT_EXPECT_EQ(test, bolt_test_go(&ft->cpus, true), 0);
	cpuhp_remove_state_nocalls(states[1]);
	cpuhp_remove_state_nocalls(states[0]);
}

static int fit_init(struct kunit *test)
{
	struct fit_test *ft;
	int err;

	ft = kunit_kzalloc(test, sizeof(*ft), GFP_KERNEL);
	max_calls = 2 * nr_cpu_ids;
	calls = kunit_kcalloc(test, max_calls, sizeof(*calls), GFP_KERNEL);
	if (!ft || !calls)
		return -ENOMEM;
	err = bolt_fixture_begin(test, &ft->fixture);
	if (err)
		return err;
	test->priv = ft;
	bolt_test_choose(&ft->cpus);
	forget_calls();
	if (cpumask_weight(&ft->cpus) < 2)
		kunit_skip(test, "fewer than two CPUs besides CPU 0 can go");
	return 0;
}

static void fit_exit(struct kunit *test)
{
	struct fit_test *ft = test->priv;

	if (!ft)
		return;
	forget_calls();
	if (ft->state > 0)
		cpuhp_remove_state_nocalls(ft->state);
	bolt_fixture_end(&ft->fixture);
}

static struct kunit_case bolt_fit_cases[] = {
	KUNIT_CASE(unknown_states_see_what_they_see_natively),
	KUNIT_CASE(declared_states_see_the_others),
	KUNIT_CASE(a_failure_is_undone),
	KUNIT_CASE(the_administrator_decides),
	KUNIT_CASE(without_instances_nothing_is_slow),
	KUNIT_CASE(names_have_rows),
	KUNIT_CASE(names_need_their_callbacks),
	KUNIT_CASE(names_are_put_off),
	KUNIT_CASE(a_startup_may_run_without_a_teardown),
	KUNIT_CASE(the_last_to_die_finds_the_others_dead),
	KUNIT_CASE(work_of_all_the_dead_is_moved_first),
	{}
};

static struct kunit_suite bolt_fit_suite = {
	.name = "bolt_fit",
	.init = fit_init,
	.exit = fit_exit,
	.test_cases = bolt_fit_cases,
};

kunit_test_suite(bolt_fit_suite);

#endif /* _BOLT_TESTS_POLICY_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */
