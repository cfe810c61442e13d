// SPDX-License-Identifier: GPL-2.0-only
/*
 * One CPU fails in a request for four CPUs, at every hotplug state that can fail, when
 * the CPUs go and when the CPUs come: all four CPUs are then as before, and the next
 * request works.
 */
#define _GNU_SOURCE
#include <sys/wait.h>

#include "cpus.h"
#include "errors.h"
#include "sets.h"
#include "../kselftest_harness.h"

#define BATCH 4

/* The four CPUs of the requests, and the hotplug states. */
FIXTURE(undo) {
	struct hp_state states[STATES_MAX];
	int nr_states;
	struct world world;
	int cpus[BATCH];
	cpus_t set;
};

FIXTURE_VARIANT(undo) {
	int which;		/* which CPU of the batch fails */
};

FIXTURE_VARIANT_ADD(undo, first) { .which = 0 };
FIXTURE_VARIANT_ADD(undo, middle) { .which = 2 };
FIXTURE_VARIANT_ADD(undo, last) { .which = 3 };

FIXTURE_SETUP(undo)
{
	const char *why = cannot_run();
	int n = 0;

	if (why)
		SKIP(return, "%s", why);
	if (!world_look(&self->world))
		SKIP(return, "more than 64 CPUs");
	/* If there are enough CPUs, there is a gap between the first CPU and the other three. */
	for (int cpu = 1; cpu < self->world.nr && n < BATCH; cpu++) {
		if (!(self->world.movable & CPU(cpu)))
			continue;
		if (n == 1 && cpus_count(self->world.movable >> cpu) > BATCH - 1)
			continue;
		self->cpus[n++] = cpu;
		self->set |= CPU(cpu);
	}
	if (n < BATCH)
		SKIP(return, "needs %d CPUs", BATCH + 1);
	ASSERT_EQ(0, start_over_all());
	ASSERT_EQ(0, sets_start_over(&self->world));
	self->nr_states = hp_states(self->states);
	if (hp_fail(self->cpus[0], self->states[self->nr_states - 2].nr) == -ENOENT)
		SKIP(return, "no fault injection for hotplug states");
	hp_fail(self->cpus[0], -1);
}

FIXTURE_TEARDOWN(undo)
{
	if (!cannot_run())
		EXPECT_EQ(0, start_over_all());
}

/* Reads the state that each CPU has reached, from cpuN/hotplug/state. */
static void stand(const int cpus[BATCH], int states[BATCH])
{
	char path[128], text[32];

	for (int i = 0; i < BATCH; i++) {
		snprintf(path, sizeof(path), CPU_DIR "cpu%d/hotplug/state",
			 cpus[i]);
		states[i] = get(path, text, sizeof(text)) ? -1 : atoi(text);
	}
}

static void every_state(struct __test_metadata *_metadata,
			const struct hp_state *states, int nr_states,
			const struct world *world, const int cpus[BATCH],
			cpus_t set, int which, enum from from)
{
	enum ask ask = from == ONLINE ? OFFLINE_THEM : ONLINE_THEM;
	int before_at[BATCH], after_at[BATCH], tried = 0, met = 0;
	struct sight before, after;
	int cpu = cpus[which];

	for (int i = 0; i < nr_states; i++) {
		char last[TEXT_MAX], wanted[TEXT_MAX];
		unsigned long batch;
		int err;

		ASSERT_EQ(0, ask_to_be(set, from))
			TH_LOG("before %s", states[i].name);
		if (hp_fail(cpu, states[i].nr))
			continue;
		tried++;
		ASSERT_TRUE(sight_take(world, &before));
		stand(cpus, before_at);
		err = ask_by_list(ask, set);
		if (hp_failing(cpu)) {
			/* The request has not passed the state that was to fail. */
			EXPECT_EQ(0, err)
				TH_LOG("%s", states[i].name);
			hp_fail(cpu, -1);
			continue;
		}
		hp_fail(cpu, -1);
		met++;
		EXPECT_EQ(-EAGAIN, err)
			TH_LOG("%s", states[i].name);
		ASSERT_TRUE(sight_take(world, &after));
		stand(cpus, after_at);
		EXPECT_EQ(before.online, after.online)
			TH_LOG("%s", states[i].name);
		EXPECT_EQ(before.files, after.files)
			TH_LOG("%s", states[i].name);
		/*
		 * A CPU that was settled and has been set up in part may be parked
		 * now.
		 */
		if (from != SETTLED) {
			EXPECT_EQ(before.parked, after.parked)
				TH_LOG("%s", states[i].name);
		}
		for (int k = 0; k < BATCH; k++) {
			EXPECT_EQ(before_at[k], after_at[k])
				TH_LOG("%s: cpu %d", states[i].name, cpus[k]);
		}
		snprintf(wanted, sizeof(wanted), "pid=%d cpu=%d state=%s errno=%d",
			 getpid(), cpu, states[i].name, EAGAIN);
		EXPECT_GT(last_error(last, &batch), 0);
		EXPECT_STREQ(wanted, last);
		/* The same request must now succeed. */
		EXPECT_EQ(0, ask_by_list(ask, set))
			TH_LOG("after %s", states[i].name);
		ASSERT_TRUE(sight_take(world, &after));
		EXPECT_EQ(ask_result(ask, set, before.online), after.online);
		EXPECT_EQ(after.online, after.files);
		EXPECT_TRUE(is(BOLT_DIR "enabled", "1"));
	}
	TH_LOG("cpu %d: %d states, %d can fail, %d failed", cpu, nr_states, tried,
	       met);
	ASSERT_GT(met, 3);
}

#define try_every_state(from)						\
	every_state(_metadata, self->states, self->nr_states,		\
		    &self->world, self->cpus, self->set,		\
		    variant->which, from)

TEST_F_TIMEOUT(undo, going_down, 3600)
{
	try_every_state(ONLINE);
}

TEST_F_TIMEOUT(undo, coming_up_from_parked, 3600)
{
	try_every_state(PARKED);
}

TEST_F_TIMEOUT(undo, coming_up_from_settled, 3600)
{
	try_every_state(SETTLED);
}

/*
 * When a write to bolt/set fails, CPUs that have come go again, and CPUs that have gone
 * come back. The state that fails is CPUHP_AP_ACTIVE, the last but one in hotplug/states: its
 * callback is the first on the way down, and the last on the way up.
 */
TEST_F_TIMEOUT(undo, both_directions_at_once, 600)
{
	int state = self->states[self->nr_states - 2].nr;
	int cpu = self->cpus[variant->which];
	cpus_t other = self->world.movable & ~self->set & ~CPU(0);
	struct sight before, after;

	if (!other)
		SKIP(return, "needs %d CPUs", BATCH + 2);
	for (int down = 0; down < 2; down++) {
		/*
		 * The first time self->set comes and @other goes, the second time it
		 * is the other way round.
		 */
		cpus_t from = CPU(0) | (down ? self->set : other);
		cpus_t to = CPU(0) | (down ? other : self->set);

		ASSERT_EQ(0, ask_by_list(SET_THEM, from));
		ASSERT_TRUE(sight_take(&self->world, &before));
		ASSERT_EQ(from, before.online);
		ASSERT_EQ(0, hp_fail(cpu, state));
		EXPECT_EQ(-EAGAIN, ask_by_list(SET_THEM, to));
		EXPECT_FALSE(hp_failing(cpu));
		ASSERT_TRUE(sight_take(&self->world, &after));
		EXPECT_TRUE(sight_same(&before, &after))
			TH_LOG("online %llx, was %llx, parked %llx, was %llx",
			       (long long)after.online, (long long)before.online,
			       (long long)after.parked, (long long)before.parked);
		EXPECT_EQ(0, ask_by_list(SET_THEM, to));
		ASSERT_TRUE(sight_take(&self->world, &after));
		EXPECT_EQ(to, after.online);
		EXPECT_EQ(to, after.files);
	}
}

/*
 * With CONFIG_CPU_HOTPLUG_STATE_CONTROL a write to cpuN/hotplug/target can leave a CPU woken
 * and not yet online, or dead and not yet offline altogether. If a request for such a CPU and
 * another CPU fails, such a CPU stays offline.
 */
TEST_F_TIMEOUT(undo, cpu_found_half_way, 600)
{
	static const struct {
		const char *name;
		bool from_online;
	} rests[] = { { "cpu:kick_ap", false }, { "idle:dead", true } };
	int state = self->states[self->nr_states - 2].nr, met = 0;
	int cpu = self->cpus[variant->which];
	int found = self->cpus[(variant->which + 1) % BATCH];
	struct sight before, after;
	char path[128], target[16];

	snprintf(path, sizeof(path), CPU_DIR "cpu%d/hotplug/target", found);
	for (size_t i = 0; i < ARRAY_SIZE(rests); i++) {
		ASSERT_EQ(0, ask_to_be(self->set, ONLINE));
		ASSERT_EQ(0, set_online(found, rests[i].from_online));
		snprintf(target, sizeof(target), "%d", hp_state_nr(rests[i].name));
		if (put(path, target))
			continue;
		ASSERT_TRUE(sight_take(&self->world, &before));
		ASSERT_EQ(0, before.online & CPU(found));
		met++;
		ASSERT_EQ(0, hp_fail(cpu, state));
		EXPECT_EQ(-EAGAIN, ask_by_list(OFFLINE_THEM, CPU(cpu) | CPU(found)));
		ASSERT_TRUE(sight_take(&self->world, &after));
		EXPECT_EQ(before.online, after.online)
			TH_LOG("%s", rests[i].name);
		EXPECT_EQ(0, put(path, "0"));
	}
	if (!met)
		SKIP(return, "no CPU can stay between two states");
}

TEST_HARNESS_MAIN
