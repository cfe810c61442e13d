// SPDX-License-Identifier: GPL-2.0-only
/* Tests the policies of cpuboltd and restrain.c, with examples and with 10,000 made-up loads */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plant.h"
#include "restrain.h"

#define MOST		64
#define SECOND_US	1000000ULL
#define SIZE		CPU_ALLOC_SIZE(MOST)

/* A made-up machine, and what a daemon would know of the machine. */
struct world {
	struct inputs inputs;
	struct position places[MOST];
	struct load loads[MOST];
	cpu_set_t usable, online, floor, before, wanted, result;
	struct policy_settings settings;
	cpu_set_t fixed;
	struct restraint_rules rules;
	struct restraint *restraint;
	struct decision decision;
	struct plant plant;
	uint64_t now_us;
};

static uint64_t state = 88172645463325252ULL;

static unsigned int chance(unsigned int below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned int)(state % below);
}

static void begin(struct world *world, unsigned int count, unsigned int threads,
		  unsigned int cores, unsigned int clusters)
{
	unsigned int cpu;

	memset(world, 0, sizeof(*world));
	for (cpu = 0; cpu < count; cpu++) {
		world->places[cpu] = (struct position){
			.core = (int)(cpu / threads),
			.cluster = (int)(cpu / threads / cores),
			.package = (int)(cpu / threads / cores / clusters),
			.capacity = FULL_CAPACITY,
		};
		CPU_SET(cpu, &world->usable);
	}
	world->online = world->usable;
	CPU_SET(0, &world->floor);
	world->inputs = (struct inputs){
		.count = count,
		.size = sizeof(cpu_set_t),
		.places = world->places,
		.loads = world->loads,
		.usable = &world->usable,
		.online = &world->online,
		.floor = &world->floor,
		.before = &world->before,
	};
	world->before = world->online;
	world->settings.load.up = world->settings.package.up = 80;
	world->settings.load.down = world->settings.package.down = 60;
	world->settings.load.pressure = world->settings.package.pressure = 10;
	world->settings.steal.give = 20;
	world->settings.steal.take = 5;
	world->settings.steal.up = 70;
	world->settings.fixed = &world->fixed;
	world->rules = (struct restraint_rules){ 3 * SECOND_US, 5 * SECOND_US, 20 };
	world->decision.wanted = &world->wanted;
	world->restraint = restraint_new(count);
	assert_non_null(world->restraint);
	world->now_us = 1000 * SECOND_US;
}

static void end(struct world *world)
{
	restraint_free(world->restraint);
}

static void set_online(struct world *world, unsigned int first, unsigned int last)
{
	CPU_ZERO(&world->online);
	for (; first <= last; first++)
		CPU_SET(first, &world->online);
	world->before = world->online;
}

/* Each online CPU was busy, or not run by the host, for so many thousandths of the interval. */
static void set_loads(struct world *world, unsigned int busy, unsigned int steal)
{
	unsigned int cpu;

	for (cpu = 0; cpu < world->inputs.count; cpu++)
		world->loads[cpu] = CPU_ISSET(cpu, &world->online) ?
			(struct load){ busy, steal } : (struct load){ 0, 0 };
}

static unsigned int decide(struct world *world, const struct policy *policy)
{
	assert_int_equal(policy->decide(&world->settings, &world->inputs, &world->decision), 0);
	assert_true(*world->decision.why);
	return (unsigned int)CPU_COUNT(&world->wanted);
}

static void assert_wanted(const struct world *world, unsigned int first, unsigned int last)
{
	unsigned int cpu;

	for (cpu = 0; cpu < world->inputs.count; cpu++)
		assert_int_equal(!!CPU_ISSET(cpu, &world->wanted), cpu >= first && cpu <= last);
}

/* -- Policies --------------------------------------------------------------- */

static void test_load_takes_what_is_needed(void **unused)
{
	struct world world;

	begin(&world, 16, 2, 4, 1);
	set_loads(&world, 0, 0);
	assert_int_equal(decide(&world, &policy_load), 1);
	/* 16 CPUs are busy for a tenth of the time: the work of 1.6 CPUs is 60 % of 2.7. */
	set_loads(&world, 100, 0);
	assert_int_equal(decide(&world, &policy_load), 3);
	assert_wanted(&world, 0, 2);
	/* One CPU is online, and eight tasks run or wait: the work of 8 CPUs is 80 % of 10. */
	set_online(&world, 0, 0);
	set_loads(&world, 1000, 0);
	world.inputs.runnable = 8;
	assert_int_equal(decide(&world, &policy_load), 10);
	/*
	 * The CPUs are idle for 40 % of the time, so two CPUs suffice; but if a task nevertheless
	 * waits for a fifth of the time, a third CPU is wanted.
	 */
	set_online(&world, 0, 1);
	set_loads(&world, 600, 0);
	world.inputs.runnable = 1;
	assert_int_equal(decide(&world, &policy_load), 2);
	world.inputs.pressure = 200;
	assert_int_equal(decide(&world, &policy_load), 3);
	/* The CPUs are mostly idle although tasks waited: these tasks did not lack CPUs. */
	set_loads(&world, 100, 0);
	assert_int_equal(decide(&world, &policy_load), 1);
	end(&world);
}

static void test_load_between_its_limits(void **unused)
{
	struct world world;
	unsigned int online;

	begin(&world, 16, 1, 16, 1);
	for (online = 2; online <= 16; online++) {
		set_online(&world, 0, online - 1);
		set_loads(&world, 700, 0);
		assert_int_equal(decide(&world, &policy_load), online);
	}
	end(&world);
}

/* If CPUs that join the floor, as those of a lease, suffice, the policy wants no other CPUs. */
static void test_load_on_a_floor_that_grows(void **state)
{
	struct world world;
	unsigned int cpu;

	begin(&world, 16, 1, 16, 1);
	set_online(&world, 0, 3);
	set_loads(&world, 580, 0);
	assert_int_equal(decide(&world, &policy_load), 4);
	for (cpu = 8; cpu < 12; cpu++)
		CPU_SET(cpu, &world.floor);
	assert_int_equal(decide(&world, &policy_load), 5);
	assert_true(CPU_EQUAL(&world.wanted, &world.floor));
	end(&world);
}

/* CPU numbers as on most x86 machines: the second threads of all cores follow all first threads. */
static void test_siblings_and_packages_stay_together(void **unused)
{
	struct world world;
	unsigned int cpu;

	begin(&world, 16, 1, 4, 1);
	for (cpu = 0; cpu < 16; cpu++) {
		world.places[cpu].core = (int)(cpu % 8);
		world.places[cpu].package = (int)(cpu % 8 / 4);
		world.places[cpu].cluster = world.places[cpu].package;
	}
	CPU_ZERO(&world.floor);
	CPU_SET(6, &world.floor);
	set_loads(&world, 3 * 1000 * 60 / 100 / 16, 0);
	assert_int_equal(decide(&world, &policy_load), 3);
	/* The policy wants CPU 6, its sibling, and a CPU of the same package. */
	assert_true(CPU_ISSET(6, &world.wanted));
	assert_true(CPU_ISSET(14, &world.wanted));
	assert_true(CPU_ISSET(4, &world.wanted));
	end(&world);
}

static void test_steal_gives_back_and_takes(void **unused)
{
	struct world world;

	begin(&world, 8, 1, 8, 1);
	/* The host runs each CPU for half of the time. */
	set_loads(&world, 500, 500);
	assert_int_equal(decide(&world, &policy_steal), 4);
	set_loads(&world, 950, 50);
	assert_int_equal(decide(&world, &policy_steal), 8);
	set_online(&world, 0, 3);
	set_loads(&world, 990, 10);
	assert_int_equal(decide(&world, &policy_steal), 5);
	/* The CPUs are not busy, and the host takes nothing. */
	set_loads(&world, 300, 0);
	assert_int_equal(decide(&world, &policy_steal), 4);
	/*
	 * The host takes 75 % of the time that tasks had work, but less than half a CPU: the guest
	 * gives no CPU back.
	 */
	set_loads(&world, 10, 30);
	assert_int_equal(decide(&world, &policy_steal), 4);
	end(&world);
}

/* Another program has brought CPU 7 online while CPUs 4 to 6 are offline. */
static void test_steal_with_other_cpus_online(void **unused)
{
	struct world world;

	begin(&world, 8, 1, 8, 1);
	set_online(&world, 0, 3);
	CPU_SET(7, &world.online);
	/* One CPU more, and none less: CPU 4 may have to wait before it comes. */
	set_loads(&world, 990, 10);
	assert_int_equal(decide(&world, &policy_steal), 6);
	assert_true(CPU_ISSET(4, &world.wanted));
	assert_true(CPU_ISSET(7, &world.wanted));
	/* The host did not run two CPUs: of those online, the last two go. */
	set_loads(&world, 600, 400);
	assert_int_equal(decide(&world, &policy_steal), 3);
	assert_wanted(&world, 0, 2);
	end(&world);
}

static void test_package_empties_packages(void **unused)
{
	struct world world;

	begin(&world, 16, 1, 4, 1);
	world.settings.package_level = LEVEL_PACKAGE;
	set_loads(&world, 0, 0);
	assert_int_equal(decide(&world, &policy_package), 4);
	assert_wanted(&world, 0, 3);
	/*
	 * The work of 5.6 CPUs would be 70 % of two packages, but packages go only if the CPUs that
	 * stay are then busy for at most 60 % of the time.
	 */
	set_loads(&world, 350, 0);
	assert_int_equal(decide(&world, &policy_package), 12);
	set_online(&world, 0, 7);
	set_loads(&world, 700, 0);
	assert_int_equal(decide(&world, &policy_package), 8);
	set_loads(&world, 1000, 0);
	world.inputs.runnable = 16;
	assert_int_equal(decide(&world, &policy_package), 16);
	end(&world);
}

/*
 * The machine has four small CPUs and four big ones. The floor is empty at first, because the
 * daemon leaves min_cpus to this policy, so one cluster is online as long as one cluster suffices.
 */
static void test_package_switches_clusters(void **unused)
{
	struct world world;
	unsigned int cpu;

	begin(&world, 8, 1, 4, 2);
	world.settings.package_level = LEVEL_CLUSTER;
	for (cpu = 0; cpu < 4; cpu++)
		world.places[cpu].capacity = 446;
	CPU_ZERO(&world.floor);
	set_loads(&world, 50, 0);
	decide(&world, &policy_package);
	assert_wanted(&world, 0, 3);
	/*
	 * The small CPUs are busy for 90 % of the time, which is more than the 80 % of "up": the
	 * policy wants the big CPUs instead.
	 */
	set_online(&world, 0, 3);
	set_loads(&world, 900, 0);
	decide(&world, &policy_package);
	assert_wanted(&world, 4, 7);
	/* All CPUs online are full, and eight tasks run or wait: every CPU is wanted. */
	set_online(&world, 4, 7);
	set_loads(&world, 1000, 0);
	world.inputs.runnable = 8;
	decide(&world, &policy_package);
	assert_wanted(&world, 0, 7);
	/*
	 * One cluster suffices for the load, but the policy wants both clusters if one has fewer
	 * CPUs than min_cpus.
	 */
	world.inputs.runnable = 0;
	set_loads(&world, 50, 0);
	world.settings.min_cpus = 4;
	assert_int_equal(decide(&world, &policy_package), 4);
	world.settings.min_cpus = 5;
	assert_int_equal(decide(&world, &policy_package), 8);
	world.settings.min_cpus = 9;
	assert_int_equal(decide(&world, &policy_package), 8);
	world.settings.min_cpus = 1;
	/* A CPU of the floor keeps its cluster online. */
	CPU_SET(1, &world.floor);
	world.inputs.runnable = 0;
	set_loads(&world, 400, 0);
	decide(&world, &policy_package);
	assert_wanted(&world, 0, 7);
	end(&world);
}

static void test_fixed(void **unused)
{
	struct world world;

	begin(&world, 8, 1, 8, 1);
	CPU_SET(4, &world.fixed);
	CPU_SET(20, &world.fixed);
	assert_int_equal(decide(&world, &policy_fixed), 2);
	assert_true(CPU_ISSET(0, &world.wanted));
	assert_true(CPU_ISSET(4, &world.wanted));
	end(&world);
}

/* -- Restraint, by example ---------------------------------------------------- */

static void apply(struct world *world)
{
	restraint_changed(world->restraint, &world->inputs, &world->online, &world->result,
			  world->now_us);
	world->online = world->result;
}

static void step(struct world *world, const struct policy *policy)
{
	world->now_us += SECOND_US;
	world->before = world->wanted;
	if (!CPU_COUNT(&world->wanted))
		world->before = world->online;
	decide(world, policy);
	restrain(world->restraint, &world->rules, policy, &world->inputs, &world->wanted,
		 world->now_us, &world->result);
}

static void test_hold_and_dwell(void **unused)
{
	struct world world;
	unsigned int i;

	begin(&world, 4, 1, 4, 1);
	set_loads(&world, 0, 0);
	for (i = 0; i < 3; i++) {
		step(&world, &policy_load);
		assert_int_equal(CPU_COUNT(&world.result), 4);
		assert_int_equal(restraint_reason(world.restraint, 3), REASON_HOLD);
	}
	step(&world, &policy_load);
	assert_int_equal(CPU_COUNT(&world.result), 1);
	assert_int_equal(restraint_reason(world.restraint, 3), REASON_UNWANTED);
	apply(&world);
	/* When demand comes, CPUs come at once. */
	set_loads(&world, 1000, 0);
	world.inputs.runnable = 4;
	step(&world, &policy_load);
	assert_int_equal(CPU_COUNT(&world.result), 4);
	apply(&world);
	world.inputs.runnable = 0;
	set_loads(&world, 0, 0);
	for (i = 0; i < 4; i++) {
		step(&world, &policy_load);
		assert_int_equal(CPU_COUNT(&world.result), 4);
	}
	assert_int_equal(restraint_reason(world.restraint, 3), REASON_DWELL);
	step(&world, &policy_load);
	assert_int_equal(CPU_COUNT(&world.result), 1);
	end(&world);
}

static void test_the_last_change_brings_all(void **unused)
{
	struct world world;
	unsigned int i;

	begin(&world, 8, 1, 8, 1);
	world.rules = (struct restraint_rules){ SECOND_US, 0, 2 };
	set_loads(&world, 0, 0);
	for (i = 0; i < 2; i++)
		step(&world, &policy_load);
	assert_int_equal(CPU_COUNT(&world.result), 1);
	apply(&world);
	assert_int_equal(restraint_changes(world.restraint, world.now_us), 1);
	/* One more CPU would suffice, but the last change allowed in a minute brings all CPUs. */
	set_loads(&world, 900, 0);
	step(&world, &policy_load);
	assert_int_equal(CPU_COUNT(&world.wanted), 2);
	assert_int_equal(CPU_COUNT(&world.result), 8);
	assert_int_equal(restraint_reason(world.restraint, 7), REASON_LIMIT);
	apply(&world);
	set_loads(&world, 0, 0);
	for (i = 0; i < 58; i++) {
		step(&world, &policy_load);
		assert_int_equal(CPU_COUNT(&world.result), 8);
	}
	for (i = 0; i < 2; i++)
		step(&world, &policy_load);
	assert_int_equal(CPU_COUNT(&world.result), 1);
	end(&world);
}

/*
 * The host takes time from four CPUs, but no time as soon as the guest has given one CPU back. So
 * the policy soon ceases to want the fourth CPU each time the CPU comes, and restrain.c then lets
 * the CPU come later and later.
 */
static void test_steal_learns(void **unused)
{
	struct world world;
	unsigned int i, changes[2] = { 0, 0 };

	begin(&world, 4, 1, 4, 1);
	world.rules.dwell_us = 0;
	for (i = 0; i < 1200; i++) {
		bool many = CPU_COUNT(&world.online) > 3;

		set_loads(&world, many ? 700 : 1000, many ? 300 : 0);
		step(&world, &policy_steal);
		changes[i / 600] += !CPU_EQUAL(&world.online, &world.result);
		apply(&world);
	}
	assert_in_range(changes[0], 4, 40);
	assert_in_range(changes[1], 1, 8);
	end(&world);
}

/*
 * For two hours the host runs four of the guest's eight CPUs, and in the third hour all eight. In
 * the third hour the guest is busy for 68 to 100 % of each second: again and again the policy wants
 * one more CPU for some seconds.
 */
static void test_steal_forgets(void **state)
{
	struct world world;
	unsigned int i;

	begin(&world, 8, 1, 8, 1);
	for (i = 0; i < 7200; i++) {
		unsigned int online = (unsigned int)CPU_COUNT(&world.online);
		unsigned int steal = online > 4 ? 1000 * (online - 4) / online : 0;

		set_loads(&world, 1000 - steal, steal);
		step(&world, &policy_steal);
		apply(&world);
	}
	for (i = 0; i < 3600; i++) {
		set_loads(&world, 680 + chance(320), 0);
		step(&world, &policy_steal);
		apply(&world);
	}
	assert_int_equal(CPU_COUNT(&world.online), 8);
	end(&world);
}

static void wish(struct world *world, bool wanted)
{
	world->now_us += SECOND_US;
	CPU_ZERO(&world->wanted);
	CPU_SET(0, &world->wanted);
	if (wanted)
		CPU_SET(1, &world->wanted);
	restrain(world->restraint, &world->rules, &policy_steal, &world->inputs, &world->wanted,
		 world->now_us, &world->result);
	apply(world);
}

/* Wishes that end before the CPU comes do not change how long the CPU is held back. */
static void test_wishes_that_end_early(void **unused)
{
	struct world world;
	unsigned int i, waited, round;

	begin(&world, 2, 1, 2, 1);
	set_online(&world, 0, 0);
	for (i = 0; i < 5; i++)
		wish(&world, true);
	assert_int_equal(CPU_COUNT(&world.online), 2);
	for (i = 0; i < 10; i++)
		wish(&world, false);
	assert_int_equal(CPU_COUNT(&world.online), 1);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < 6; i++) {
			wish(&world, true);
			wish(&world, false);
		}
		world.now_us += round * 120 * SECOND_US;
	}
	for (waited = 0; waited < 300 && CPU_COUNT(&world.online) < 2; waited++)
		wish(&world, true);
	/*
	 * The policy wanted the CPU for less than a minute after the CPU first came, so the hold of
	 * three seconds is doubled.
	 */
	assert_int_equal(waited, 7);
	end(&world);
}

/* Plays so many seconds in which the CPUs but CPU 0 are nearly idle, and a task waits for CPU 0. */
static unsigned int wait_for_cpu_0(struct world *world, unsigned int seconds, unsigned int busy)
{
	unsigned int i, cpu, changes = 0;

	for (i = 0; i < seconds; i++) {
		for (cpu = 0; cpu < world->inputs.count; cpu++)
			world->loads[cpu].busy = CPU_ISSET(cpu, &world->online) ?
						 cpu ? 10 + chance(20) : busy : 0;
		world->inputs.runnable = 2;
		world->inputs.pressure = busy;
		step(world, &policy_load);
		changes += !CPU_EQUAL(&world->online, &world->result);
		apply(world);
		assert_true(!i || CPU_COUNT(&world->online) <= 3);
	}
	return changes;
}

/*
 * Two busy tasks may run on CPU 0 only. If two CPUs are online, the CPUs are more than half busy on
 * average, so the task that waits counts, and the policy wants three CPUs. If three CPUs are
 * online, the CPUs are less than half busy, the task does not count, and two CPUs seem to suffice.
 */
static void test_tasks_that_wait_for_each_other(void **state)
{
	struct world world;

	begin(&world, 64, 1, 64, 1);
	set_online(&world, 0, 0);
	assert_in_range(wait_for_cpu_0(&world, 600, 1000), 1, 10);
	assert_int_equal(CPU_COUNT(&world.online), 3);
	assert_int_equal(restraint_reason(world.restraint, 2), REASON_RETURNS);
	/* When there is less to do, CPUs 1 and 2 go after the time "hold", as CPUs usually do. */
	wait_for_cpu_0(&world, 4, 300);
	assert_int_equal(CPU_COUNT(&world.online), 1);
	end(&world);
}

/* A load that rises and falls by itself keeps no CPU online that the load can do without. */
static void test_loads_that_change_are_followed(void **state)
{
	struct world world;
	unsigned int second;

	begin(&world, 8, 1, 8, 1);
	for (second = 0; second < 600; second++) {
		unsigned int now = second % 40;
		struct sample sample = { .demand = now < 15 ? 0.4 : now < 25 ? 2.3 : 0.95 };

		plant_step(&world.plant, &sample, 1, &world.inputs, world.loads);
		step(&world, &policy_load);
		apply(&world);
		if (now == 14)
			assert_int_equal(CPU_COUNT(&world.online), 1);
		if (now == 39)
			assert_int_equal(CPU_COUNT(&world.online), 2);
	}
	end(&world);
}

/* -- 10,000 made-up loads ----------------------------------------------------- */

enum shape { STEADY, NOISY, SQUARE, SPIKES, WAVE, WALK, SHAPES };

struct made_up {
	enum shape shape;
	double base, height, walk;
	unsigned int period;
	/* How many tasks do the work, each at its own times; 0: no task waits while CPUs idle. */
	unsigned int tasks;
};

static double made_up_demand(struct made_up *load, unsigned int second, double most)
{
	switch (load->shape) {
	case STEADY:
		return load->base;
	case NOISY:
		return load->base * (0.95 + chance(1001) / 10000.0);
	case SQUARE:
		return second / load->period % 2 ? load->base : load->height;
	case SPIKES:
		return chance(load->period) ? load->base : load->height;
	case WAVE:
		return (load->base + load->height) / 2 +
		       (load->height - load->base) / 2 * sin(second * 6.2832 / load->period);
	default:
		load->walk += (chance(2001) - 1000.0) / 1000 * most / 10;
		load->walk = fmax(0, fmin(most, load->walk));
		return load->walk;
	}
}

/*
 * How much of the time more than @cpus of @tasks want to run, if each of these wants to run for the
 * share @one of the time as long as no task has to wait. In the loop @now is in proportion to the
 * time for which just i tasks want to run.
 */
static double crowded(unsigned int cpus, unsigned int tasks, double one)
{
	double now = 1, all = 0, more = 0;
	unsigned int i;

	for (i = 0; i <= tasks; i++) {
		all += now;
		more += i > cpus ? now : 0;
		/* Other tasks begin to want to run; each CPU brings one task at a time to its end. */
		now *= (tasks - i) * one / (1 - one) / (i < cpus ? i + 1 : cpus);
	}
	return more / all;
}

/*
 * Sets how many tasks run or wait, and for how long a task waited: at times more tasks want to run
 * than CPUs are online, although CPUs are idle at other times.
 */
static void let_tasks_wait(struct world *world, const struct made_up *load, double demand)
{
	unsigned int online = (unsigned int)CPU_COUNT(&world->online), i;
	double one = demand / load->tasks;

	if (one >= 1 || world->plant.backlog > 0)
		return;
	world->inputs.pressure = (unsigned int)(crowded(online, load->tasks, one) *
						(700 + chance(600)));
	for (i = 0; i < load->tasks; i++)
		world->inputs.runnable += chance(1000) < 1000 * one;
}

/* What watch_change() keeps, to check what has to hold after each decision. */
struct watch {
	uint64_t came[MOST], times[600];
	unsigned int changes;
	unsigned int again[MOST];	/* how often a CPU came while the load stays about the same */
};

static void watch_change(struct watch *watch, struct world *world, bool floor_moved, bool settled,
			 bool tasks_wait)
{
	unsigned int cpu, i, minute = 0;

	for (cpu = 0; cpu < world->inputs.count; cpu++) {
		bool before = CPU_ISSET(cpu, &world->online);
		bool after = CPU_ISSET(cpu, &world->result);

		if (before && !after && watch->came[cpu])
			assert_true(world->now_us - watch->came[cpu] >= world->rules.dwell_us);
		if (!before && after)
			watch->came[cpu] = world->now_us;
		/*
		 * While the load stays about the same, CPUs may go, but none comes. But if tasks
		 * wait on fewer CPUs, a CPU that went may come back, each CPU twice at most.
		 */
		if (settled && !before && after)
			assert_in_range(++watch->again[cpu], 1, tasks_wait ? 2 : 0);
	}
	if (floor_moved)
		return;
	watch->times[watch->changes++] = world->now_us;
	for (i = watch->changes; i--;)
		minute += world->now_us - watch->times[i] < 60 * SECOND_US;
	assert_in_range(minute, 1, world->rules.per_minute);
}

static void made_up_world(struct world *world, struct made_up *load)
{
	static const unsigned int counts[] = { 1, 2, 4, 6, 8, 12, 16, 32, 64 };
	unsigned int count = counts[chance(9)], cpu;
	double most;

	begin(world, count, 1 + chance(2), 1 + chance(8), 1 + chance(2));
	if (!chance(4))
		for (cpu = 0; cpu < count / 2; cpu++)
			world->places[cpu].capacity = 300 + (int)chance(600);
	for (cpu = 1; cpu < count; cpu++)
		if (!chance(16))
			CPU_CLR(cpu, &world->usable);
	CPU_AND(&world->online, &world->online, &world->usable);
	world->settings.package_level = chance(2) ? LEVEL_PACKAGE : LEVEL_CLUSTER;
	world->rules.hold_us = (1 + chance(6)) * SECOND_US;
	world->rules.dwell_us = chance(12) * SECOND_US;
	world->rules.per_minute = 2 + chance(30);
	CPU_SET(chance(count), &world->fixed);
	most = (double)capacity_of(&world->inputs, &world->usable) / FULL_CAPACITY;
	*load = (struct made_up){
		.shape = chance(SHAPES),
		.base = most * chance(1000) / 1000.0,
		.height = most * chance(1300) / 1000.0,
		.walk = most / 2,
		.period = 2 + chance(60),
	};
	if (!chance(2))
		return;
	load->tasks = 2 + chance(chance(2) ? 6 : 2 * count);
	load->base = fmin(most, load->tasks * chance(700) / 1000.0);
}

static void move_floor(struct world *world)
{
	unsigned int cpu = chance(world->inputs.count);

	if (CPU_ISSET(cpu, &world->usable))
		CPU_SET(cpu, &world->floor);
}

static void play(const struct policy *policy, unsigned int seconds)
{
	struct watch watch = { .changes = 0 };
	struct made_up load;
	struct world world;
	unsigned int second, i;
	bool steady, floor;
	double most;

	made_up_world(&world, &load);
	most = (double)capacity_of(&world.inputs, &world.usable) / FULL_CAPACITY;
	steady = load.shape == STEADY || load.shape == NOISY;
	for (second = 0; second < seconds; second++) {
		struct sample sample = { .demand = made_up_demand(&load, second, most) };

		if (policy == &policy_steal)
			sample.steal = load.height / 4;
		plant_step(&world.plant, &sample, 1, &world.inputs, world.loads);
		if (load.tasks)
			let_tasks_wait(&world, &load, sample.demand);
		floor = !steady && !chance(100);
		if (floor)
			move_floor(&world);
		step(&world, policy);
		for (i = 0; i < world.inputs.count; i++) {
			if (CPU_ISSET(i, &world.floor))
				assert_true(CPU_ISSET(i, &world.result));
			if (!CPU_ISSET(i, &world.usable))
				assert_false(CPU_ISSET(i, &world.result));
			/* What an urgent policy wants comes at once, if the limit allows that. */
			if (policy->urgent && CPU_ISSET(i, &world.wanted))
				assert_true(CPU_ISSET(i, &world.result) ||
					    restraint_reason(world.restraint, i) == REASON_LIMIT);
		}
		assert_true(CPU_COUNT(&world.result) >= 1);
		if (!CPU_EQUAL(&world.online, &world.result))
			watch_change(&watch, &world, floor,
				     steady && policy->urgent && second > 90, load.tasks);
		apply(&world);
	}
	end(&world);
}

static void test_made_up_loads(void **unused)
{
	unsigned int i;

	for (i = 0; i < 10000; i++)
		play(policies[i % 4], 200);
}

/* CPUs come at the end of the interval in which the load rises from 0.1 to 24 CPUs in one step. */
static void test_a_step_is_answered_at_once(void **unused)
{
	struct world world;
	unsigned int second;

	begin(&world, 32, 2, 8, 1);
	for (second = 0; second < 120; second++) {
		struct sample sample = { .demand = second < 60 ? 0.1 : 24, .runnable = 24 };

		if (second < 60)
			sample.runnable = 0;
		plant_step(&world.plant, &sample, 1, &world.inputs, world.loads);
		step(&world, &policy_load);
		apply(&world);
		if (second == 59)
			assert_int_equal(CPU_COUNT(&world.online), 1);
		if (second >= 60)
			assert_true(CPU_COUNT(&world.online) >= 30);
	}
	/* At the end the machine has done all work that had to wait. */
	assert_true(world.plant.backlog < 0.01);
	end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load_takes_what_is_needed),
		cmocka_unit_test(test_load_between_its_limits),
		cmocka_unit_test(test_load_on_a_floor_that_grows),
		cmocka_unit_test(test_siblings_and_packages_stay_together),
		cmocka_unit_test(test_steal_gives_back_and_takes),
		cmocka_unit_test(test_steal_with_other_cpus_online),
		cmocka_unit_test(test_package_empties_packages),
		cmocka_unit_test(test_package_switches_clusters),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_hold_and_dwell),
		cmocka_unit_test(test_the_last_change_brings_all),
		cmocka_unit_test(test_steal_learns),
		cmocka_unit_test(test_steal_forgets),
		cmocka_unit_test(test_wishes_that_end_early),
		cmocka_unit_test(test_tasks_that_wait_for_each_other),
		cmocka_unit_test(test_loads_that_change_are_followed),
		cmocka_unit_test(test_a_step_is_answered_at_once),
		cmocka_unit_test(test_made_up_loads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
