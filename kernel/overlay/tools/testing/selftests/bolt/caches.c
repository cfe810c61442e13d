// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files about the caches of online CPUs say what they say natively, whichever CPUs
 * are parked, were settled, or have come back in any order. BOLT_ROUNDS=N sets how many
 * rounds of random requests the first test makes.
 */
#define _GNU_SOURCE
#include "draw.h"
#include "env.h"
#include "sets.h"
#include "tree.h"
#include "../kselftest_harness.h"

#define ROUNDS 150
#define NATIVE_ROUNDS 12
#define LEAVES 16

FIXTURE(caches) {
	struct world world;
	struct shared {
		cpus_t full;	/* the CPUs that share the cache when all CPUs are online */
		char id[16];
	} caches[SETS_MAX][LEAVES];
	int leaves;
};

static const char *leaf_file(int cpu, int leaf, const char *name)
{
	static char path[160];

	snprintf(path, sizeof(path), CPU_DIR "cpu%d/cache/index%d/%s", cpu, leaf, name);
	return path;
}

FIXTURE_SETUP(caches)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	if (!world_look(&self->world) || cpus_count(self->world.movable) < 3)
		SKIP(return, "needs 3 CPUs that can go offline, and at most 64 CPUs");
	ASSERT_EQ(0, sets_start_over(&self->world));
	for (int cpu = 0; cpu < self->world.nr; cpu++) {
		for (int leaf = 0; leaf < LEAVES; leaf++) {
			struct shared *shared = &self->caches[cpu][leaf];

			if (!cpus_read(leaf_file(cpu, leaf, "shared_cpu_list"),
				       &shared->full))
				break;
			get(leaf_file(cpu, leaf, "id"), shared->id, sizeof(shared->id));
			self->leaves++;
		}
	}
	if (!self->leaves)
		SKIP(return, "the kernel shows no caches of CPUs");
}

FIXTURE_TEARDOWN(caches)
{
	if (cannot_run() || !self->world.nr)
		return;
	EXPECT_EQ(0, sets_start_over(&self->world));
	EXPECT_EQ(0, start_over());
}

/* Reads all files about the caches of CPUs. A file may be missing. */
static void look(const struct world *world, struct tree *tree)
{
	static const char * const files[] = {
		"id", "level", "type", "size", "coherency_line_size", "number_of_sets",
		"physical_line_partition", "ways_of_associativity", "write_policy",
		"allocation_policy", "shared_cpu_list", "shared_cpu_map",
	};
	char text[4096], line[4400];

	for (int cpu = 0; cpu < world->nr; cpu++) {
		for (int i = 0; i < LEAVES * (int)ARRAY_SIZE(files); i++) {
			const char *path = leaf_file(cpu, i / ARRAY_SIZE(files),
						     files[i % ARRAY_SIZE(files)]);

			if (get(path, text, sizeof(text)))
				continue;
			snprintf(line, sizeof(line), "%s: %s", path, text);
			tree_add(tree, line, false);
		}
	}
}

static cpus_t draw_set(unsigned int *seed, cpus_t among)
{
	cpus_t set = 0;

	for (int cpu = 0; cpu < SETS_MAX; cpu++)
		if (among & CPU(cpu) && draw(seed, 2))
			set |= CPU(cpu);
	return set;
}

/*
 * Of the CPUs that shared a cache when all were online, those that are online now share
 * the cache. Where the machine gives two parts of one cache different ids, the kernel
 * never takes a CPU of one part out of the map of a CPU of the other part.
 */
static cpus_t sharing(struct shared caches[SETS_MAX][LEAVES], int cpu, int leaf,
		      cpus_t online)
{
	const struct shared *shared = &caches[cpu][leaf];
	cpus_t set = 0;

	for (int other = 0; other < SETS_MAX; other++)
		if (shared->full & CPU(other) &&
		    (online & CPU(other) || strcmp(shared->id, caches[other][leaf].id)))
			set |= CPU(other);
	return set;
}

static bool maps_are_right(const struct world *world,
			   struct shared caches[SETS_MAX][LEAVES], cpus_t online)
{
	bool right = true;

	for (int cpu = 0; cpu < world->nr; cpu++) {
		for (int leaf = 0; leaf < LEAVES && caches[cpu][leaf].full; leaf++) {
			const char *path = leaf_file(cpu, leaf, "shared_cpu_list");
			cpus_t wanted = online & CPU(cpu) ?
					sharing(caches, cpu, leaf, online) : 0;
			cpus_t now = 0;
			bool there = cpus_read(path, &now);

			if (there == !!wanted && now == wanted)
				continue;
			printf("# %s: %llx, not %llx\n", path,
			       (unsigned long long)now, (unsigned long long)wanted);
			right = false;
		}
	}
	fflush(stdout);
	return right;
}

TEST_F_TIMEOUT(caches, have_the_cpus_that_are_online, 600)
{
	unsigned long long rounds = env_number("BOLT_ROUNDS", ROUNDS) ?: ROUNDS;
	cpus_t all = self->world.movable & ~CPU(0), online = self->world.present;
	char text[SETS_TEXT];
	unsigned int seed = 17;

	for (unsigned long long round = 0; round < rounds; round++) {
		enum ask ask = draw(&seed, ASKS);
		cpus_t set = draw_set(&seed, all);

		if (ask == SET_THEM)
			set |= self->world.present & ~all;
		if (set) {
			ASSERT_EQ(0, ask_by_list(ask, set));
			online = ask_result(ask, set, online);
		}
		ASSERT_TRUE(maps_are_right(&self->world, self->caches, online)) {
			TH_LOG("round %llu: request %d, set %llx", round, ask,
			       (unsigned long long)set);
		}
		set = draw_set(&seed, all) & ~online;
		if (draw(&seed, 3) || !set)
			continue;
		/*
		 * Settling drops what the kernel knows of the caches of the settled CPUs,
		 * but not of CPUs that stay parked: the maps must be right after the
		 * settling, and again when CPUs come back.
		 */
		ASSERT_EQ(0, put(BOLT_DIR "settle", cpus_text(set, 0, text)));
		ASSERT_TRUE(maps_are_right(&self->world, self->caches, online)) {
			TH_LOG("round %llu: settled %s", round, text);
		}
	}
}

/* Natively brings CPUs online or takes CPUs offline, one by one, until just @online are online. */
static int go_to(const struct world *world, cpus_t online)
{
	int err = 0;

	for (int cpu = 0; cpu < world->nr && !err; cpu++)
		if (world->movable & CPU(cpu))
			err = set_online(cpu, !!(online & CPU(cpu)));
	return err;
}

TEST_F_TIMEOUT(caches, are_as_natively, 600)
{
	cpus_t all = self->world.movable & ~CPU(0);
	unsigned int seed = 4;

	for (int round = 0; round < NATIVE_ROUNDS; round++) {
		cpus_t online = self->world.present & ~draw_set(&seed, all);
		static struct tree native, parked, back, full;
		const char *line;

		ASSERT_EQ(0, enable(false));
		ASSERT_EQ(0, go_to(&self->world, online));
		look(&self->world, &native);
		ASSERT_EQ(0, go_to(&self->world, self->world.present));
		look(&self->world, &full);

		ASSERT_EQ(0, enable(true));
		ASSERT_EQ(0, ask_by_list(SET_THEM, online));
		look(&self->world, &parked);
		line = tree_differ(&native, &parked);
		EXPECT_EQ(NULL, line)
			TH_LOG("differs while CPUs are parked: %s", line);
		ASSERT_EQ(0, ask_by_list(SET_THEM, self->world.present));
		look(&self->world, &back);
		line = tree_differ(&full, &back);
		EXPECT_EQ(NULL, line)
			TH_LOG("differs with all CPUs back: %s", line);
		tree_free(&native);
		tree_free(&parked);
		tree_free(&back);
		tree_free(&full);
	}
}

TEST_HARNESS_MAIN
