// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random requests take CPUs offline and bring them back, some natively and some with Bolt,
 * with pauses around the settle delay. BOLT_PAIRS=N sets how many pairs of an offline and an
 * online request are made, BOLT_SEED=N repeats a run; the seed is printed.
 */
#define _GNU_SOURCE
#include <sched.h>

#include "bolt.h"
#include "draw.h"
#include "env.h"
#include "lib/cpulist.h"
#include "rules.h"
#include "tree.h"
#include "../kselftest_harness.h"

#define PAIRS 100
#define MAX_CPUS 64

/* The state that the kernel should show, and counts of what has happened. */
struct world {
	unsigned long long seed;
	int cpus[MAX_CPUS], n;		/* the CPUs that can go offline */
	bool online[MAX_CPUS];
	int up;				/* how many CPUs are online, of all CPUs */
	bool enabled;
	int delay_ms;
	int pairs, most_down, switched, settled;
	unsigned long long events;	/* page faults since boot */
};

static unsigned int roll(struct world *w, unsigned int below)
{
	return draw64(&w->seed, below);
}

static void find_cpus(struct world *w)
{
	w->up = sysconf(_SC_NPROCESSORS_ONLN);
	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (!cpu_is_online(cpu))
			continue;
		w->cpus[w->n] = cpu;
		w->online[w->n++] = true;
	}
}

/* Returns the CPUs of the list in a file, such as "0,2-3", or all ones on an error. */
static unsigned long long mask_of(const char *path)
{
	unsigned long long mask = 0;
	char text[4096];
	const char *at = text;
	long first, last;
	int more;

	if (get(path, text, sizeof(text)))
		return ~0ULL;
	while ((more = cpulist_next(&at, &first, &last)) > 0)
		for (; first <= last && first < MAX_CPUS; first++)
			mask |= 1ULL << first;
	return more ? ~0ULL : mask;
}

/* Returns NULL, or the rule that does not hold although it always must. */
static const char *broken_rule(struct world *w)
{
	unsigned long long offline = 0, online = mask_of(CPU_DIR "online");
	unsigned long long parked = mask_of(BOLT_DIR "parked");
	unsigned long long events = rules_faults();

	for (int i = 0; i < w->n; i++) {
		if (!w->online[i])
			offline |= 1ULL << w->cpus[i];
		if (!(online >> w->cpus[i] & 1) == w->online[i])
			return "cpu/online does not follow the requests";
	}
	if (parked & ~offline)
		return "a CPU is parked that is not offline";
	if (parked && !w->enabled)
		return "a CPU is parked while Bolt is disabled";
	if (events < w->events)
		return "the sum of page faults has gone back";
	w->events = events;
	return NULL;
}

static int request(struct world *w)
{
	int i = roll(w, w->n), err;

	if (w->online[i] && w->up == 1)
		return 0;
	err = set_online(w->cpus[i], !w->online[i]);
	if (err)
		return err;
	w->online[i] = !w->online[i];
	w->up += w->online[i] ? 1 : -1;
	if (!w->online[i]) {
		int down = 0;

		for (int j = 0; j < w->n; j++)
			down += !w->online[j];
		if (down > w->most_down)
			w->most_down = down;
		return 0;
	}
	w->pairs++;
	return roll(w, 4) ? 0 : rules_visit(w->cpus[i]);
}

/* Waits shorter or longer than the settle delay, or about as long. */
static int nap(struct world *w)
{
	switch (roll(w, 3)) {
	case 0:
		wait_ms(roll(w, w->delay_ms + 1));
		break;
	case 1:
		wait_ms(w->delay_ms + roll(w, 5));
		break;
	default:
		wait_ms(roll(w, 2 * w->delay_ms + 10));
	}
	return 0;
}

static int new_delay(struct world *w)
{
	static const int delays[] = { 0, 1, 10, 50, 200 };
	char text[16];

	w->delay_ms = delays[roll(w, ARRAY_SIZE(delays))];
	snprintf(text, sizeof(text), "%d", w->delay_ms);
	return put(BOLT_DIR "settle_delay_ms", text);
}

static int other_keep(struct world *w)
{
	return put(BOLT_DIR "keep", roll(w, 2) ? "delay" : "pressure");
}

static int other_affinity(struct world *w)
{
	return put(BOLT_DIR "keep_affinity", roll(w, 4) ? "1" : "0");
}

static int other_mode(struct world *w)
{
	w->enabled = !w->enabled;
	w->switched++;
	return enable(w->enabled);
}

static int settle(struct world *w)
{
	char text[16];

	w->settled++;
	if (roll(w, 2))
		return settle_all();
	snprintf(text, sizeof(text), "%d", w->cpus[roll(w, w->n)]);
	return put(BOLT_DIR "settle", text);
}

/*
 * bolt/park changes also while CPUs are parked, so that warm and cold CPUs are parked
 * at the same time.
 */
static int park(struct world *w)
{
	int err = put(BOLT_DIR "park", roll(w, 3) ? "warm" : "cold");

	/* Not every machine can park CPUs warm. */
	return err == -EOPNOTSUPP ? 0 : err;
}

static const struct {
	const char *name;
	int weight;
	int (*run)(struct world *w);
} actions[] = {
	{ "request", 69, request },
	{ "nap", 13, nap },
	{ "park", 3, park },
	{ "settle_delay_ms", 3, new_delay },
	{ "keep", 1, other_keep },
	{ "keep_affinity", 1, other_affinity },
	{ "enabled", 5, other_mode },
	{ "settle", 5, settle },
};

static int act(struct world *w)
{
	int at = roll(w, 100), which = 0;

	while (at >= actions[which].weight)
		at -= actions[which++].weight;
	return which;
}

FIXTURE(random) {
	struct tree before, after;
	struct world w;
};

FIXTURE_SETUP(random)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_over());
}

FIXTURE_TEARDOWN(random)
{
	tree_free(&self->before);
	tree_free(&self->after);
	if (!cannot_run())
		EXPECT_EQ(0, start_over());
}

TEST_F_TIMEOUT(random, pairs, 3600)
{
	int pairs = env_number("BOLT_PAIRS", PAIRS);
	struct world *w = &self->w;
	const char *line;

	ASSERT_GT(pairs, 0);
	w->seed = env_seed();
	find_cpus(w);
	tree_of_cpus(&self->before, true);
	w->delay_ms = 1000;
	for (int step = 0; w->pairs < pairs; step++) {
		int which = act(w), err = actions[which].run(w);
		const char *rule = err ? NULL : broken_rule(w);

		ASSERT_EQ(0, err)
			TH_LOG("step %d, %s: %s", step, actions[which].name, strerror(-err));
		ASSERT_EQ(NULL, rule)
			TH_LOG("step %d, %s: %s", step, actions[which].name, rule);
	}
	TH_LOG("%d pairs, %d CPUs down at most, enabled switched %d times, settled %d times",
	       w->pairs, w->most_down, w->switched, w->settled);
	for (int i = 0; i < w->n; i++)
		ASSERT_EQ(0, set_online(w->cpus[i], true));
	ASSERT_EQ(0, enable(false));
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
	tree_of_cpus(&self->after, true);
	line = tree_differ(&self->before, &self->after);
	EXPECT_EQ(NULL, line)
		TH_LOG("sysfs differs from before at %s", line ?: "");
}

TEST_HARNESS_MAIN
