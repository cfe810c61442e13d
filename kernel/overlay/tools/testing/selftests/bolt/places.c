// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a request for all CPUs of NUMA nodes fails while these CPUs leave the scheduler,
 * or later, the CPUs keep their places in the scheduler domains, and later requests
 * build the same domains.
 */
#define _GNU_SOURCE
#include "cpus.h"
#include "facts.h"
#include "sets.h"
#include "../kselftest_harness.h"

#define SPANS_MAX 16384
/* How many states are made to fail, from "sched:active" on in the order of a teardown. */
#define FAILURES 3

FIXTURE(places) {
	struct hp_state states[STATES_MAX];
	int active;		/* the index of "sched:active" in @states */
	cpus_t set;		/* the CPUs of the request */
	int cpu;		/* the CPU for which a callback fails: one of @set */
	char before[SPANS_MAX];
	char after[SPANS_MAX];
};

FIXTURE_VARIANT(places) {
	int nodes;		/* the request has the CPUs of nodes 1 to @nodes */
	bool last;		/* whether a callback fails for the last CPU, or the first */
};

FIXTURE_VARIANT_ADD(places, first_of_a_node) { .nodes = 1, .last = false };
FIXTURE_VARIANT_ADD(places, last_of_a_node) { .nodes = 1, .last = true };
FIXTURE_VARIANT_ADD(places, first_of_two_nodes) { .nodes = 2, .last = false };
FIXTURE_VARIANT_ADD(places, last_of_two_nodes) { .nodes = 2, .last = true };

/*
 * Reads which CPUs the domains of each CPU have. Returns false if the kernel shows no
 * domains, or more than @text has room for.
 */
static bool spans(char text[SPANS_MAX])
{
	FILE *file = fopen("/proc/schedstat", "r");
	char line[4096];
	size_t at = 0;

	text[0] = '\0';
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "domain", 6) && at < SPANS_MAX)
			at += snprintf(text + at, SPANS_MAX - at, "%.*s\n",
				       schedstat_span(line), line);
	}
	if (file)
		fclose(file);
	return at && at < SPANS_MAX;
}

FIXTURE_SETUP(places)
{
	const char *why = cannot_run();
	struct world world;
	char path[64];
	cpus_t node;
	int n;

	if (why)
		SKIP(return, "%s", why);
	if (!world_look(&world))
		SKIP(return, "more than 64 CPUs");
	ASSERT_EQ(0, start_over_all());
	ASSERT_EQ(0, sets_start_over(&world));
	for (int i = 1; i <= variant->nodes; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", i);
		if (!cpus_read(path, &node) || !node || node & ~world.movable)
			SKIP(return, "needs %d nodes", variant->nodes + 1);
		self->set |= node;
	}
	self->cpu = variant->last ? SETS_MAX - 1 - __builtin_clzll(self->set) :
				    cpus_first(self->set);
	if (!spans(self->before))
		SKIP(return, "no scheduler domains in /proc/schedstat");
	n = hp_states(self->states);
	while (--n > 0 && strcmp(self->states[n].name, "sched:active"))
		;
	ASSERT_GT(n, 0);
	self->active = n;
	if (hp_fail(self->cpu, self->states[n].nr) == -ENOENT)
		SKIP(return, "no fault injection for hotplug states");
	hp_fail(self->cpu, -1);
}

FIXTURE_TEARDOWN(places)
{
	if (!cannot_run())
		EXPECT_EQ(0, start_over_all());
}

/* Compares the scheduler domains with the domains before the test. */
#define same_domains(when, name)						\
	do {									\
		ASSERT_TRUE(spans(self->after));				\
		EXPECT_STREQ(self->before, self->after)				\
			TH_LOG("%s, when %s had failed", when, name);		\
	} while (0)

/*
 * Takes one state after the other, from "sched:active" downwards as in a teardown. For each,
 * a request is made in which the callback of the state is to fail.
 */
TEST_F_TIMEOUT(places, are_kept, 600)
{
	int met = 0;

	for (int i = self->active; i > 0 && met < FAILURES; i--) {
		const struct hp_state *state = &self->states[i];
		int err;

		if (hp_fail(self->cpu, state->nr))
			continue;
		err = ask_by_list(OFFLINE_THEM, self->set);
		if (hp_failing(self->cpu)) {
			/* The request did not run the callback that was to fail. */
			ASSERT_EQ(0, err);
			hp_fail(self->cpu, -1);
			ASSERT_EQ(0, ask_by_list(ONLINE_THEM, self->set));
			continue;
		}
		met++;
		EXPECT_EQ(-EAGAIN, err)
			TH_LOG("%s", state->name);
		same_domains("after the undo", state->name);
		/* The kernel must build the same domains anew, natively and then in a batch. */
		ASSERT_EQ(0, enable(false));
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_EQ(0, set_online(VICTIM, true));
		same_domains("after native requests", state->name);
		ASSERT_EQ(0, enable(true));
		ASSERT_EQ(0, ask_by_list(OFFLINE_THEM, self->set));
		ASSERT_EQ(0, ask_by_list(ONLINE_THEM, self->set));
		ASSERT_EQ(0, settle_all());
		same_domains("after a batch", state->name);
	}
	TH_LOG("CPU %d: callbacks of %d states failed", self->cpu, met);
	ASSERT_EQ(FAILURES, met);
}

TEST_HARNESS_MAIN
