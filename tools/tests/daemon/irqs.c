// SPDX-License-Identifier: GPL-2.0-only
/* Tests which interrupt cpuboltd puts on which CPU */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "irq_plan.h"

#define SECOND_US	1000000ULL
#define MOST_CPUS	64
#define MOST_IRQS	200
#define SIZE		CPU_ALLOC_SIZE(MOST_CPUS)

static const struct irq_rules rules = { .busy = 100, .dwell_us = 60 * SECOND_US };

static cpu_set_t stay, going, sets[3 * MOST_IRQS];
static struct irq_fact irqs[MOST_IRQS];
static struct irq_move moves[MOST_IRQS];
static double others[MOST_CPUS];
static struct irq_scene scene;

static cpu_set_t range(unsigned int first, unsigned int last)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (; first <= last; first++)
		CPU_SET(first, &set);
	return set;
}

/* Sets up @count interrupts, which are on CPU 0 and may be on any of @cpus CPUs. */
static void begin(unsigned int cpus, size_t count)
{
	size_t i;

	stay = range(0, cpus - 1);
	CPU_ZERO(&going);
	memset(others, 0, sizeof(others));
	scene = (struct irq_scene){
		.irqs = irqs,
		.count = count,
		.cpus = cpus,
		.size = SIZE,
		.stay = &stay,
		.going = &going,
		.others = others,
		.now_us = 1000 * SECOND_US,
		.left = 1000,
	};
	for (i = 0; i < count; i++) {
		sets[2 * i] = range(0, cpus - 1);
		sets[2 * i + 1] = range(0, 0);
		irqs[i] = (struct irq_fact){
			.movable = true,
			.measured = true,
			.allowed = &sets[2 * i],
			.where = &sets[2 * i + 1],
		};
	}
}

static void put_on(size_t irq, unsigned int cpu)
{
	sets[2 * irq + 1] = range(cpu, cpu);
}

static void allow(size_t irq, unsigned int first, unsigned int last)
{
	sets[2 * irq] = range(first, last);
}

static void rate(size_t irq, double each)
{
	irqs[irq].rate = each;
	irqs[irq].busy = each >= rules.busy;
}

static int plan(void)
{
	int count = irq_plan(&rules, &scene, moves), i;

	/* Put each interrupt that moves on its new CPU, and note the time of the move. */
	for (i = 0; i < count; i++) {
		put_on(moves[i].irq, moves[i].to);
		irqs[moves[i].irq].moved_us = scene.now_us;
	}
	return count;
}

static void test_idle_interrupts_go_to_the_base(void **state)
{
	begin(4, 3);
	scene.base = 1;
	put_on(0, 3);
	put_on(1, 1);
	allow(2, 2, 3);
	put_on(2, 2);
	rate(0, 5);
	assert_int_equal(plan(), 1);
	assert_int_equal(moves[0].irq, 0);
	assert_int_equal(moves[0].from, 3);
	assert_int_equal(moves[0].to, 1);
	assert_int_equal(moves[0].cause, CAUSE_IDLE);
	assert_string_equal(moves[0].why, "idle, 5.0 a second");
	assert_int_equal(plan(), 0);
}

static void test_busy_interrupts_are_spread(void **state)
{
	begin(4, 4);
	rate(0, 4000);
	rate(1, 3000);
	rate(2, 2000);
	rate(3, 20);
	assert_int_equal(plan(), 2);
	/*
	 * The busiest interrupt moves, and moves first: even without this interrupt, CPU 0 is
	 * busier than CPU 1, because of the other interrupts.
	 */
	assert_int_equal(moves[0].irq, 0);
	assert_int_equal(moves[0].to, 1);
	assert_int_equal(moves[0].cause, CAUSE_BUSY);
	assert_string_equal(moves[0].why,
			    "busy, 4000 a second, when CPU 0 had 9020 and CPU 1 had 0");
	assert_int_equal(moves[1].irq, 1);
	assert_int_equal(moves[1].to, 2);
	assert_int_equal(plan(), 0);
	/* An interrupt that is alone on its CPU gains nothing from another CPU. */
	begin(4, 1);
	rate(0, 50000);
	assert_int_equal(plan(), 0);
	/* Interrupts that cannot be moved add to the load of their CPU as well. */
	others[0] = 60000;
	others[1] = 20000;
	assert_int_equal(plan(), 1);
	assert_int_equal(moves[0].to, 2);
}

static void test_a_gain_that_is_not_worth_a_move(void **state)
{
	begin(2, 2);
	rate(0, 1000);
	rate(1, 100);
	others[1] = 950;
	/* CPU 0 has 1100 interrupts a second; with interrupt 1, CPU 1 would have 1050. */
	assert_int_equal(plan(), 0);
	others[1] = 850;
	assert_int_equal(plan(), 0);
	others[1] = 700;
	assert_int_equal(plan(), 1);
	assert_int_equal(moves[0].irq, 1);
}

static void test_interrupts_leave_a_cpu_that_goes(void **state)
{
	begin(4, 4);
	stay = range(0, 1);
	going = range(2, 3);
	for (size_t i = 0; i < 4; i++)
		put_on(i, 3);
	rate(0, 5000);
	rate(1, 1);
	/* If all allowed CPUs go, the base CPU takes the interrupt. */
	allow(2, 2, 3);
	irqs[3].movable = false;
	others[0] = 100;
	irqs[0].moved_us = scene.now_us - 1;
	irqs[1].measured = false;
	scene.left = 0;
	scene.forced_only = true;
	assert_int_equal(plan(), 3);
	assert_int_equal(moves[0].irq, 0);
	assert_int_equal(moves[0].to, 1);
	assert_int_equal(moves[0].cause, CAUSE_LEAVE);
	assert_string_equal(moves[0].why, "CPU 3 was about to go");
	assert_int_equal(moves[1].irq, 1);
	assert_int_equal(moves[1].to, 0);
	assert_int_equal(moves[2].irq, 2);
	assert_int_equal(moves[2].to, 0);
	assert_string_equal(moves[2].why, "CPU 3 was about to go, and no CPU of the affinity that "
					  "was found stayed");
}

/*
 * The affinity has only CPU 3, which the daemon leaves alone: such an affinity was chosen on
 * purpose, so the interrupt does not move.
 */
static void test_an_affinity_elsewhere_is_left_alone(void **state)
{
	begin(4, 1);
	stay = range(0, 2);
	allow(0, 3, 3);
	put_on(0, 3);
	assert_int_equal(plan(), 0);
	rate(0, 5000);
	others[3] = 5000;
	assert_int_equal(plan(), 0);
}

static void test_dwell_and_limit(void **state)
{
	begin(4, 3);
	for (size_t i = 0; i < 3; i++)
		put_on(i, 2);
	irqs[0].moved_us = scene.now_us - rules.dwell_us + 1;
	scene.left = 1;
	assert_int_equal(plan(), 1);
	assert_int_equal(moves[0].irq, 1);
	irqs[0].moved_us--;
	scene.left = 5;
	assert_int_equal(plan(), 2);
}

static void test_the_node_of_a_device(void **state)
{
	cpu_set_t near = range(2, 3);

	begin(4, 2);
	rate(0, 5000);
	rate(1, 5000);
	irqs[0].near = &near;
	others[2] = 300;
	others[3] = 200;
	assert_int_equal(plan(), 1);
	assert_int_equal(moves[0].irq, 0);
	assert_int_equal(moves[0].to, 3);
	/* No CPU of the device's node stays. */
	begin(4, 2);
	rate(0, 5000);
	rate(1, 5000);
	irqs[0].near = &near;
	stay = range(0, 1);
	assert_int_equal(plan(), 1);
	assert_int_equal(moves[0].to, 1);
}

static void test_the_base_is_not_filled_up(void **state)
{
	begin(4, MOST_ON_A_CPU + 20);
	for (size_t i = 10; i < scene.count; i++)
		put_on(i, 3);
	assert_int_equal(plan(), MOST_ON_A_CPU - 10);
	assert_int_equal(plan(), 0);
	scene.now_us += 1000 * SECOND_US;
	stay = range(0, 2);
	going = range(3, 3);
	assert_int_equal(plan(), 20);
	for (int i = 0; i < 20; i++)
		assert_int_not_equal(moves[i].to, 0);
}

static void test_busy_and_idle(void **state)
{
	uint64_t calm = 0, now = 1000 * SECOND_US;

	assert_false(irq_busy(&rules, 99, false, now, &calm));
	assert_true(irq_busy(&rules, 100, false, now, &calm));
	assert_true(irq_busy(&rules, 51, true, now += 100 * SECOND_US, &calm));
	assert_true(irq_busy(&rules, 49, true, now += SECOND_US, &calm));
	assert_true(irq_busy(&rules, 49, true, now += 59 * SECOND_US, &calm));
	/* After a rate of 51, the interrupt is busy until its rate was below 50 for 60 s again. */
	assert_true(irq_busy(&rules, 51, true, now += SECOND_US, &calm));
	assert_true(irq_busy(&rules, 49, true, now += SECOND_US, &calm));
	assert_true(irq_busy(&rules, 49, true, now += 59 * SECOND_US, &calm));
	assert_false(irq_busy(&rules, 49, true, now += SECOND_US, &calm));
	assert_float_equal(irq_smooth(-1, 10), 10, 1e-9);
	assert_float_equal(irq_smooth(10, 20), 15, 1e-9);
}

/* -- Made-up interrupts ---------------------------------------------------------------- */

static uint64_t seed;

static unsigned int random_below(unsigned int most)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)(seed >> 33) % most;
}

static double made_up_rate(void)
{
	return pow(10, random_below(6000) / 1000.0 - 1);
}

static void random_set(cpu_set_t *set, unsigned int cpus, unsigned int percent)
{
	unsigned int cpu;

	CPU_ZERO(set);
	for (cpu = 0; cpu < cpus; cpu++)
		if (random_below(100) < percent)
			CPU_SET(cpu, set);
}

static void make_up_a_scene(void)
{
	unsigned int cpus = 1 + random_below(MOST_CPUS), cpu;
	size_t i;

	begin(cpus, random_below(MOST_IRQS));
	random_set(&stay, cpus, random_below(101));
	scene.base = random_below(cpus);
	CPU_SET(scene.base, &stay);
	random_set(&going, cpus, random_below(101));
	for (cpu = 0; cpu < cpus; cpu++)
		if (CPU_ISSET(cpu, &stay))
			CPU_CLR(cpu, &going);
	for (cpu = 0; cpu < cpus; cpu++)
		others[cpu] = random_below(2) ? made_up_rate() : 0;
	scene.left = random_below(30);
	scene.forced_only = !random_below(10);
	for (i = 0; i < scene.count; i++) {
		random_set(&sets[2 * i], cpus, random_below(101));
		if (random_below(10))
			put_on(i, random_below(cpus));
		else
			random_set(&sets[2 * i + 1], cpus, 20);
		random_set(&sets[2 * MOST_IRQS + i], cpus, 50);
		irqs[i].near = random_below(2) ? &sets[2 * MOST_IRQS + i] : NULL;
		irqs[i].movable = random_below(5);
		irqs[i].measured = random_below(5);
		rate(i, made_up_rate());
		if (random_below(2))
			irqs[i].moved_us = scene.now_us - random_below(2 * 60) * SECOND_US;
	}
}

static bool meet(const cpu_set_t *one, const cpu_set_t *other)
{
	cpu_set_t both;

	CPU_AND(&both, one, other);
	return CPU_COUNT(&both);
}

static void check_move(const struct irq_move *move)
{
	const struct irq_fact *irq = &irqs[move->irq];
	bool forced = move->cause == CAUSE_LEAVE;

	assert_true(irq->movable);
	assert_true(CPU_ISSET(move->to, &stay));
	assert_true(CPU_ISSET(move->from, irq->where));
	assert_int_not_equal(move->from, move->to);
	assert_int_equal(forced, meet(irq->where, &going));
	if (!forced || meet(irq->allowed, &stay))
		assert_true(CPU_ISSET(move->to, irq->allowed));
	else
		assert_int_equal(move->to, scene.base);
	if (!forced)
		assert_true(irq->measured && !scene.forced_only &&
			    scene.now_us - irq->moved_us >= rules.dwell_us);
}

static void test_what_holds_for_any_interrupts(void **state)
{
	unsigned int round, unforced, total = 0;
	bool moved[MOST_IRQS];
	int count, i;
	size_t irq;

	seed = 1;
	for (round = 0; round < 20000; round++) {
		make_up_a_scene();
		memset(moved, 0, sizeof(moved));
		count = irq_plan(&rules, &scene, moves);
		assert_true(count >= 0);
		for (i = 0, unforced = 0; i < count; i++) {
			check_move(&moves[i]);
			assert_false(moved[moves[i].irq]);
			moved[moves[i].irq] = true;
			unforced += moves[i].cause != CAUSE_LEAVE;
		}
		assert_true(unforced <= scene.left);
		total += unforced;
		/* No interrupt that can be moved is left on a CPU that goes. */
		for (irq = 0; irq < scene.count; irq++)
			assert_true(moved[irq] || !irqs[irq].movable ||
				    !meet(irqs[irq].where, &going));
	}
	assert_true(total > 20000);
}

struct played {
	unsigned int moves, late;	/* all moves, and moves in the second half of the time */
	unsigned int most;		/* most moves of one interrupt */
	unsigned int back;		/* moves back to the CPU that the move before had left */
};

/*
 * Of each interrupt: the rate that was made up; "smooth" and "calm_us", which the daemon keeps from
 * one measurement to the next; the CPU before the last move, and the number of moves
 */
static struct {
	double rate, smooth;
	uint64_t calm_us;
	unsigned int before, moves;
} kept[MOST_IRQS];
static uint64_t recent[1000];

static void make_up_a_machine(void)
{
	unsigned int cpus = 2 + random_below(15);
	size_t i;

	begin(cpus, 1 + random_below(60));
	memset(kept, 0, sizeof(kept));
	for (i = 0; i < scene.count; i++) {
		kept[i].rate = made_up_rate();
		kept[i].smooth = -1;
		kept[i].before = MOST_CPUS;
		put_on(i, random_below(cpus));
	}
}

static void measure(unsigned int noise_percent)
{
	size_t i;

	for (i = 0; i < scene.count; i++) {
		double noise = (random_below(2001) / 1000.0 - 1) * noise_percent / 100;

		kept[i].smooth = irq_smooth(kept[i].smooth, kept[i].rate * (1 + noise));
		irqs[i].rate = kept[i].smooth;
		irqs[i].busy = irq_busy(&rules, kept[i].smooth, irqs[i].busy, scene.now_us,
					&kept[i].calm_us);
	}
}

static void carry_out(const struct irq_move *move, struct played *played)
{
	struct irq_fact *irq = &irqs[move->irq];

	assert_true(!irq->moved_us || scene.now_us - irq->moved_us >= rules.dwell_us);
	played->back += move->to == kept[move->irq].before;
	kept[move->irq].before = move->from;
	if (++kept[move->irq].moves > played->most)
		played->most = kept[move->irq].moves;
	recent[played->moves++ % 1000] = scene.now_us;
	irq->moved_us = scene.now_us;
	put_on(move->irq, move->to);
}

/* Plays half an hour of one machine, in steps of five seconds. */
static struct played play(unsigned int noise_percent)
{
	struct played played = { 0 };
	unsigned int step, i;
	int found, each;

	make_up_a_machine();
	for (step = 0; step < 360; step++) {
		scene.now_us += 5 * SECOND_US;
		measure(noise_percent);
		scene.left = 20;
		for (i = 0; i < played.moves && i < 1000; i++)
			if (scene.now_us - recent[i] < 60 * SECOND_US && scene.left)
				scene.left--;
		found = irq_plan(&rules, &scene, moves);
		assert_true(found >= 0);
		for (each = 0; each < found; each++)
			carry_out(&moves[each], &played);
		played.late += step >= 180 ? (unsigned int)found : 0;
	}
	return played;
}

/* Plays 1,000 machines with constant rates, and 1,000 whose rates change all the time. */
static void test_interrupts_do_not_go_back_and_forth(void **state)
{
	unsigned int machine, late = 0, back = 0;
	struct played played;

	seed = 2;
	for (machine = 0; machine < 1000; machine++) {
		played = play(0);
		assert_int_equal(played.late, 0);
		assert_int_equal(played.back, 0);
		assert_true(played.most <= 3);
	}
	for (machine = 0; machine < 1000; machine++) {
		played = play(10);
		assert_true(played.most <= 3);
		late += played.late;
		back += played.back;
	}
	/*
	 * At most one machine of ten has a move in the second quarter of an hour, and hardly any
	 * interrupt goes back.
	 */
	assert_true(late < 100);
	assert_true(back < 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_interrupts_go_to_the_base),
		cmocka_unit_test(test_busy_interrupts_are_spread),
		cmocka_unit_test(test_a_gain_that_is_not_worth_a_move),
		cmocka_unit_test(test_interrupts_leave_a_cpu_that_goes),
		cmocka_unit_test(test_an_affinity_elsewhere_is_left_alone),
		cmocka_unit_test(test_dwell_and_limit),
		cmocka_unit_test(test_the_node_of_a_device),
		cmocka_unit_test(test_the_base_is_not_filled_up),
		cmocka_unit_test(test_busy_and_idle),
		cmocka_unit_test(test_what_holds_for_any_interrupts),
		cmocka_unit_test(test_interrupts_do_not_go_back_and_forth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
