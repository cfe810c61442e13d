// SPDX-License-Identifier: GPL-2.0-only
/* Tests whole intervals of cpuboltd in which interrupts move, on a recorded tree */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "fake.h"

static void assert_line(const char *path, const char *line)
{
	char *text = file_read(folder, path, NULL);

	assert_non_null(text);
	text[strcspn(text, "\n")] = '\0';
	assert_string_equal(text, line);
	free(text);
}

static void assert_affinity(size_t device, const char *list)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity_list", devices[device].irq);
	assert_line(path, list);
}

static void restore_interrupts(size_t count)
{
	struct irq_restored restored;
	struct irq_state state;

	assert_int_equal(irq_state_begin(&machine, &state), 0);
	make_online("0-3");
	irq_state_restore(&machine, &state, &restored);
	assert_int_equal(restored.back, count);
	assert_int_equal(restored.failed, 0);
	irq_state_free(&state);
	assert_int_equal(irq_state_load(&machine, &state), -ENOENT);
}

static void assert_explained(const char *request, const char *text)
{
	char *answer = control_answer(&one, request, false);

	assert_non_null(answer);
	if (!strstr(answer, text))
		fail_msg("%s: %s", request, answer);
	free(answer);
}

/* Begins with two busy interrupts, of which the daemon moves the first to CPU 1. */
static void begin_with_a_move(void)
{
	begin_interrupts("fixed", "0-1");
	devices[1].rate = 5000;
	devices[2].rate = 4000;
	wait_for(20);
	assert_affinity(1, "1");
}

/* When a CPU goes, no interrupt that can be moved is on the CPU any more. */
static void test_interrupts_leave_before_their_cpus_go(void **state)
{
	begin_interrupts("load", "0-3");
	put_affinity(&devices[0], "1-3");
	put_affinity(&devices[1], "3");
	put_affinity(&devices[2], "2");
	/* No CPU has anything to do, so all but one go. */
	put_busy(4, 0);
	wait_for(10);
	assert_online("0");
	assert_int_equal(late, 0);
	assert_affinity(0, "0");
	assert_affinity(1, "0");
	assert_affinity(2, "0");
	assert_affinity(MANAGED, "3");
	assert_explained("explain 3", "interrupt 25 (net rx) went from CPU 3 to CPU 0 ");
	assert_explained("explain 0", "CPU 2 was about to go, and no CPU of the affinity that was");
	assert_explained("status", "irqs      3 moved, 3 in the last minute; idle interrupts go to CPU 0");
	restore_interrupts(3);
	assert_affinity(0, "1-3");
	assert_affinity(1, "3");
	assert_affinity(2, "2");
	end();
}

static void test_interrupts_by_their_rates(void **state)
{
	begin_interrupts("fixed", "0-1");
	devices[1].rate = 5000;
	devices[2].rate = 4000;
	put_affinity(&devices[0], "0-1");
	config.interrupts.per_minute = 5;
	wait_for(20);
	assert_online("0-1");
	assert_affinity(0, "0-1");
	assert_affinity(1, "1");
	assert_affinity(2, "0-3");
	assert_explained("explain 1", "interrupt 25 (net rx) went from CPU 0 to CPU 1 ");
	assert_explained("explain 1", "busy, 5000 a second, when CPU 0 had 9000 and CPU 1 had 0");
	wait_for(300);
	assert_int_equal(affinities, 1);
	/* After a minute at a low rate, the interrupt counts as idle, and goes to the base CPU. */
	devices[1].rate = 10;
	wait_for(50);
	assert_int_equal(affinities, 1);
	wait_for(60);
	assert_affinity(1, "0");
	assert_int_equal(affinities, 2);
	end();
}

/*
 * The daemon leaves alone an interrupt whose affinity another program has set after the daemon has
 * moved the interrupt, even if the CPUs of that affinity go.
 */
static void test_an_affinity_that_another_program_sets(void **state)
{
	begin_interrupts("load", "0-3");
	put_affinity(&devices[0], "2-3");
	put_affinity(&devices[1], "2-3");
	wait_for(20);
	assert_online("0");
	assert_affinity(0, "0");
	assert_affinity(1, "0");
	make_online("0-3");
	put_affinity(&devices[1], "1-2");
	wait_for(100);
	assert_online("0");
	assert_affinity(0, "0");
	assert_affinity(1, "1-2");
	restore_interrupts(1);
	assert_affinity(0, "2-3");
	assert_affinity(1, "1-2");
	end();
}

/* The daemon was killed, and another program has set an affinity since. */
static void test_what_was_changed_since_is_not_put_back(void **state)
{
	begin_interrupts("load", "0-3");
	put_affinity(&devices[0], "2-3");
	put_affinity(&devices[1], "2-3");
	put_affinity(&devices[2], "2-3");
	wait_for(20);
	put_affinity(&devices[1], "0-1");
	/* Another device has the number of this interrupt. */
	devices[2].name = "sound";
	put_counts();
	devices[2].name = "net tx";
	restore_interrupts(1);
	assert_affinity(0, "2-3");
	assert_affinity(1, "0-1");
	assert_affinity(2, "0");
	end();
}

static void test_an_affinity_that_is_refused(void **state)
{
	begin_interrupts("load", "0-3");
	put_affinity(&devices[0], "3");
	devices[0].refuses = true;
	affinities = 0;
	wait_for(100);
	assert_int_equal(affinities, 1);
	assert_affinity(0, "3");
	restore_interrupts(0);
	end();
}

static void test_interrupts_are_left_to_irqbalance(void **state)
{
	begin_interrupts("fixed", "0-1");
	devices[1].rate = 5000;
	devices[2].rate = 5000;
	put("/proc/77/comm", "irqbalance\n");
	wait_for(30);
	assert_int_equal(affinities, 0);
	assert_explained("status", "irqs      left alone: irqbalance (PID 77) runs\n");
	put("/proc/77/comm", "another\n");
	wait_for(30);
	assert_int_equal(affinities, 1);
	assert_affinity(1, "1");
	/* When irqbalance starts again, the affinities that the daemon found are put back. */
	put("/proc/77/comm", "irqbalance\n");
	wait_for(6);
	assert_affinity(1, "0-3");
	assert_int_equal(affinities, 2);
	wait_for(30);
	assert_int_equal(affinities, 2);
	/* An affinity that irqbalance has set before the daemon sees irqbalance is left alone. */
	put("/proc/77/comm", "another\n");
	wait_for(30);
	assert_int_equal(affinities, 3);
	put("/proc/77/comm", "irqbalance\n");
	put_affinity(&devices[1], "0");
	wait_for(6);
	assert_affinity(1, "0");
	assert_int_equal(affinities, 3);
	/* After irqbalance has ended, that interrupt is still left alone, and another one moves. */
	put("/proc/77/comm", "another\n");
	wait_for(100);
	assert_affinity(1, "0");
	assert_affinity(2, "1");
	restore_interrupts(1);
	end();
}

/* In a suspend all CPUs but the first go, and the kernel puts interrupts on those that stay. */
static void test_affinities_after_a_suspend(void **state)
{
	begin_interrupts("fixed", "0-1");
	devices[1].rate = 5000;
	devices[2].rate = 5000;
	wait_for(30);
	assert_affinity(1, "1");
	suspended_us += 3600 * SECOND_US;
	put_affinity(&devices[1], "0,2-3");
	wait_for(200);
	/* Both interrupts were on CPU 0, so the daemon has moved one of these two. */
	assert_affinity(2, "1");
	/* An affinity that is set while the machine runs is another program's. */
	put_affinity(&devices[2], "0,2-3");
	wait_for(30);
	assert_affinity(2, "0,2-3");
	/* The other interrupt gets back what the daemon found before the suspend. */
	restore_interrupts(1);
	assert_affinity(1, "0-3");
	assert_affinity(2, "0,2-3");
	end();
}

/* A second driver requests a shared interrupt, so that its row has one more device. */
static void test_an_interrupt_that_gets_a_second_device(void **state)
{
	begin_interrupts("fixed", "0-1");
	devices[1].rate = 5000;
	devices[2].rate = 5000;
	wait_for(30);
	assert_affinity(1, "1");
	devices[1].name = "smbus, net rx";
	wait_for(30);
	assert_affinity(1, "1");
	/* The first device is gone: the interrupt is now another one. */
	devices[2].name = "smbus";
	wait_for(30);
	restore_interrupts(1);
	assert_affinity(1, "0-3");
	devices[1].name = "net rx";
	devices[2].name = "net tx";
	end();
}

/*
 * An interrupt whose affinity another program has set is still left alone after irqbalance has run
 * for a while, and the daemon has left all interrupts alone meanwhile.
 */
static void test_another_programs_affinity_is_remembered(void **state)
{
	begin_interrupts("fixed", "0-1");
	devices[1].rate = 5000;
	devices[2].rate = 5000;
	wait_for(30);
	assert_affinity(1, "1");
	put_affinity(&devices[1], "0-1");
	wait_for(30);
	assert_affinity(1, "0-1");
	put("/proc/77/comm", "irqbalance\n");
	wait_for(30);
	put("/proc/77/comm", "another\n");
	wait_for(200);
	assert_affinity(1, "0-1");
	assert_affinity(2, "1");
	restore_interrupts(1);
	end();
}

/* irqbalance has no socket in this tree, and cannot be told, so interrupts are left alone. */
static void test_an_irqbalance_that_cannot_be_told(void **state)
{
	begin_interrupts("fixed", "0-1");
	config.interrupts.irqbalance = IRQBALANCE_BAN;
	devices[1].rate = 5000;
	devices[2].rate = 5000;
	put("/proc/77/comm", "irqbalance\n");
	wait_for(30);
	assert_int_equal(affinities, 0);
	assert_explained("status", "cannot be told to leave 3 interrupts alone: No such file");
	end();
}

static void test_interrupts_are_left_to_the_keep_list(void **state)
{
	begin_interrupts("fixed", "0-1");
	devices[1].rate = 5000;
	devices[2].rate = 5000;
	put(CPUS "bolt/irq_keep", "0\n");
	wait_for(30);
	assert_int_equal(affinities, 0);
	assert_explained("status", "irq_keep is set, to CPUs 0");
	end();
}

/* The kernel does not show a keep list, the file irq_keep, that is longer than a page. */
static void test_a_keep_list_that_is_too_long_to_read(void **state)
{
	begin_interrupts("fixed", "0-1");
	devices[1].rate = 5000;
	devices[2].rate = 5000;
	overflows = true;
	wait_for(30);
	assert_int_equal(affinities, 0);
	assert_explained("status", "irq_keep is set, to CPUs of a list longer than a page");
	end();
}

/* What keeps the daemon from interrupts cannot be found: the daemon must not go on without it. */
static void test_a_reason_that_memory_is_too_short_for(void **state)
{
	begin_interrupts("fixed", "0-3");
	wait_for(30);
	devices[1].rate = 5000;
	devices[2].rate = 5000;
	put(CPUS "bolt/irq_keep", "0\n");
	affinities = 0;
	starved = true;
	clock_us += 60 * SECOND_US;
	put_counts();
	assert_int_equal(daemon_round(&one), -ENOMEM);
	/* The next round looks again, although no interval has passed. */
	assert_int_equal(daemon_round(&one), -ENOMEM);
	starved = false;
	assert_int_equal(daemon_round(&one), 0);
	assert_int_equal(affinities, 0);
	assert_explained("status", "irq_keep is set, to CPUs 0");
	end();
}

static void test_irqbalance_that_memory_is_too_short_for(void **state)
{
	begin_interrupts("fixed", "0-3");
	config.interrupts.irqbalance = IRQBALANCE_YIELD;
	put("/proc/77/comm", "irqbalance\n");
	wait_for(30);
	assert_explained("status", "irqbalance (PID 77) runs");
	devices[1].rate = 5000;
	devices[2].rate = 5000;
	affinities = 0;
	starved = true;
	clock_us += 60 * SECOND_US;
	put_counts();
	assert_int_equal(daemon_round(&one), -ENOMEM);
	assert_int_equal(affinities, 0);
	assert_explained("status", "irqbalance (PID 77) runs");
	end();
}

/* Bolt is enabled, and gets a keep list, while the daemon runs and no CPU changes. */
static void test_a_keep_list_that_is_new(void **state)
{
	begin_interrupts("fixed", "0-3");
	put(CPUS "bolt/enabled", "0\n");
	wait_for(3);
	devices[1].rate = 5000;
	devices[2].rate = 5000;
	put(CPUS "bolt/enabled", "1\n");
	put(CPUS "bolt/irq_keep", "0\n");
	wait_for(30);
	assert_int_equal(affinities, 0);
	assert_explained("status", "irq_keep is set, to CPUs 0");
	end();
}

/*
 * The keep list counts while Bolt is disabled, too: if the daemon wrote affinities then, the kernel
 * would not keep these interrupts when Bolt is enabled.
 */
static void test_a_keep_list_while_bolt_is_disabled(void **state)
{
	begin_interrupts("fixed", "0-1");
	put(CPUS "bolt/enabled", "0\n");
	put(CPUS "bolt/irq_keep", "0\n");
	devices[1].rate = 5000;
	devices[2].rate = 5000;
	wait_for(30);
	assert_int_equal(affinities, 0);
	end();
}

static void assert_kept(const char *list)
{
	assert_line(CPUS "bolt/irq_keep", list);
	assert_int_equal(listed, 0);
}

/*
 * The kernel does not keep an interrupt whose affinity a program writes while irq_keep has CPUs, so
 * the daemon empties irq_keep, writes affinities, and then sets irq_keep again.
 */
static void test_affinities_are_put_back_beside_a_keep_list(void **state)
{
	begin_with_a_move();
	put(CPUS "bolt/irq_keep", "0\n");
	wait_for(6);
	assert_affinity(1, "0-3");
	assert_kept("0");
	end();
}

/*
 * The kernel refuses to set irq_keep to a list without an online CPU. The daemon therefore could
 * not set the list again, so it does not empty irq_keep, and puts no affinity back.
 */
static void test_a_keep_list_without_a_cpu_online(void **state)
{
	struct irq_restored restored;
	struct irq_state file;

	begin_with_a_move();
	put(CPUS "bolt/irq_keep", "3\n");
	make_online("0-2");
	assert_int_equal(irq_state_begin(&machine, &file), 0);
	irq_state_restore(&machine, &file, &restored);
	assert_int_equal(restored.back, 0);
	assert_int_equal(restored.failed, 1);
	assert_int_equal(restored.error, EBUSY);
	irq_state_free(&file);
	assert_affinity(1, "1");
	assert_kept("3");
	put(CPUS "bolt/irq_keep", "2\n");
	restore_interrupts(1);
	assert_affinity(1, "0-3");
	assert_kept("2");
	end();
}

/* Another program has set the affinity, so nothing is put back, and irq_keep is not written. */
static void test_a_keep_list_beside_another_programs_affinity(void **state)
{
	begin_with_a_move();
	put_affinity(&devices[1], "0");
	put(CPUS "bolt/irq_keep", "0\n");
	lists = 0;
	wait_for(6);
	assert_affinity(1, "0");
	assert_int_equal(lists, 0);
	end();
}

static void test_a_killed_daemon_and_a_keep_list(void **state)
{
	begin_with_a_move();
	put(CPUS "bolt/irq_keep", "0\n");
	restore_interrupts(1);
	assert_affinity(1, "0-3");
	assert_kept("0");
	end();
}

/*
 * Some seconds before CPUs go, a keep list is set: the interrupts of these CPUs are left to the
 * kernel, even if the daemon does not measure interrupts between the two events.
 */
static void test_a_keep_list_before_cpus_go(void **state)
{
	unsigned int seconds, tries = 0;

	for (seconds = 1; seconds < 8; seconds++) {
		begin_interrupts("load", "0-3");
		put_affinity(&devices[0], "1-3");
		put_busy(4, 0);
		wait_for(seconds);
		if (!affinities) {
			put(CPUS "bolt/irq_keep", "0\n");
			wait_for(10);
			assert_online("0");
			assert_int_equal(affinities, 0);
			tries++;
		}
		end();
	}
	assert_true(tries > 2);
}

/* While no device uses an interrupt, kernels before 6.11 print its row without a name. */
static void test_a_row_without_a_name(void **state)
{
	begin_with_a_move();
	devices[1].nameless = true;
	wait_for(20);
	assert_affinity(1, "1");
	restore_interrupts(1);
	assert_affinity(1, "0-3");
	end();
}

/*
 * A device that was closed comes back with a new interrupt that has the same number. The kernel has
 * chosen the affinity of that interrupt, so the daemon may move the interrupt.
 */
static void test_a_device_that_comes_back_with_a_new_interrupt(void **state)
{
	begin_interrupts("load", "0-3");
	put_affinity(&devices[1], "3");
	wait_for(10);
	assert_online("0");
	assert_affinity(1, "0");
	devices[1].closed = true;
	wait_for(6);
	make_online("0-3");
	put_affinity(&devices[1], "1-3");
	devices[1].closed = false;
	wait_for(100);
	assert_online("0");
	assert_affinity(1, "0");
	assert_int_equal(interrupts_tally(one.interrupts).foreign, 0);
	restore_interrupts(1);
	assert_affinity(1, "1-3");
	end();
}

/*
 * Another program takes the CPU offline to which the daemon has moved an interrupt. The affinity
 * that the kernel then chooses does not count as one that another program has set, so the affinity
 * that the interrupt had before the daemon moved it is put back.
 */
static void test_an_affinity_that_the_kernel_chooses(void **state)
{
	begin_with_a_move();
	config.interrupts.per_minute = 0;
	make_online("0");
	put_affinity(&devices[1], "0");
	wait_for(6);
	assert_affinity(1, "0");
	make_online("0-3");
	restore_interrupts(1);
	assert_affinity(1, "0-3");
	end();
}

/*
 * The device of an interrupt is closed for some seconds: then /proc/interrupts has no row for the
 * interrupt, which keeps the affinity that the daemon has written.
 */
static void test_a_device_that_is_closed(void **state)
{
	begin_interrupts("load", "0-3");
	put_affinity(&devices[0], "1-3");
	put_affinity(&devices[1], "3");
	put_affinity(&devices[2], "0");
	wait_for(10);
	assert_online("0");
	assert_affinity(0, "0");
	assert_affinity(1, "0");
	devices[0].closed = devices[1].closed = true;
	wait_for(6);
	devices[1].closed = false;
	wait_for(6);
	/*
	 * The third interrupt has to move as well, so the daemon writes the file of affinities anew:
	 * the interrupt of the closed device must stay in that file.
	 */
	make_online("0-3");
	put_affinity(&devices[2], "3");
	wait_for(100);
	assert_online("0");
	assert_affinity(2, "0");
	restore_interrupts(3);
	assert_affinity(0, "1-3");
	assert_affinity(1, "3");
	assert_affinity(2, "3");
	end();
}

/*
 * When irqbalance starts, affinities of interrupts that have no row in /proc/interrupts are put
 * back, too.
 */
static void test_a_closed_device_and_irqbalance(void **state)
{
	begin_with_a_move();
	devices[1].closed = true;
	wait_for(6);
	put("/proc/77/comm", "irqbalance\n");
	wait_for(6);
	assert_affinity(1, "0-3");
	restore_interrupts(0);
	end();
}

/* CPUs come and go all the time while affinities are put back. */
static void test_putting_back_while_cpus_change(void **state)
{
	begin_with_a_move();
	flickers = true;
	restore_interrupts(1);
	assert_affinity(1, "0-3");
	end();
}

/* A CPU goes while /proc/interrupts is read: rows have fewer counts than line 1 has CPUs. */
static void test_a_table_that_changes_while_it_is_read(void **state)
{
	begin_with_a_move();
	assert_int_equal(affinities, 1);
	torn = 8;
	wait_for(20);
	assert_affinity(1, "1");
	assert_int_equal(affinities, 1);
	/*
	 * If the table cannot be understood in four measurements in a row, the daemon puts back the
	 * affinities, and leaves interrupts alone.
	 */
	torn = 60;
	wait_for(30);
	assert_affinity(1, "0-3");
	assert_explained("status", "left alone: cannot read /proc/interrupts");
	end();
}

/* CPUs go even if /proc/interrupts cannot be understood in the interval in which they go. */
static void test_cpus_go_while_the_table_changes(void **state)
{
	unsigned int phase;

	/* The daemon measures in each fifth interval. */
	for (phase = 0; phase < 5; phase++) {
		begin_interrupts("fixed", "0-3");
		wait_for(10 + phase);
		CPU_FREE(config.settings.fixed);
		config.settings.fixed = cpus_of("0");
		torn = 14;
		wait_for(14);
		assert_online("0");
		end();
	}
}

static void test_a_dry_run_moves_no_interrupt(void **state)
{
	begin_interrupts("load", "0-3");
	daemon_end(&one);
	one = (struct daemon){
		.machine = &machine, .config = &config, .control = -1, .dry_run = true,
	};
	assert_int_equal(daemon_begin(&one), 0);
	put_affinity(&devices[0], "2-3");
	wait_for(20);
	assert_int_equal(affinities, 0);
	assert_explained("explain 2", "interrupt 24 (disk) went from CPU 2 to CPU 0 ");
	restore_interrupts(0);
	end();
}

/* An affinity that an earlier daemon could not put back is put back when the next daemon ends. */
static void test_interrupts_of_a_daemon_before(void **state)
{
	struct irq_state state_before = { 0 };
	struct irq_saved *saved;

	begin_interrupts("load", "0-3");
	daemon_end(&one);
	saved = irq_state_add(&machine, &state_before, 24, "disk");
	assert_non_null(saved);
	CPU_SET_S(1, machine.size, saved->found);
	CPU_SET_S(2, machine.size, saved->was);
	CPU_SET_S(2, machine.size, saved->written);
	assert_int_equal(irq_state_save(&machine, &state_before), 0);
	irq_state_free(&state_before);
	put_affinity(&devices[0], "2");
	put_affinity(&devices[1], "2");
	one = (struct daemon){ .machine = &machine, .config = &config, .control = -1 };
	assert_int_equal(daemon_begin(&one), 0);
	wait_for(20);
	assert_affinity(0, "0");
	restore_interrupts(2);
	assert_affinity(0, "1");
	assert_affinity(1, "2");
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interrupts_leave_before_their_cpus_go),
		cmocka_unit_test(test_interrupts_by_their_rates),
		cmocka_unit_test(test_an_affinity_that_another_program_sets),
		cmocka_unit_test(test_what_was_changed_since_is_not_put_back),
		cmocka_unit_test(test_an_affinity_that_is_refused),
		cmocka_unit_test(test_interrupts_are_left_to_irqbalance),
		cmocka_unit_test(test_affinities_after_a_suspend),
		cmocka_unit_test(test_an_interrupt_that_gets_a_second_device),
		cmocka_unit_test(test_another_programs_affinity_is_remembered),
		cmocka_unit_test(test_an_irqbalance_that_cannot_be_told),
		cmocka_unit_test(test_interrupts_are_left_to_the_keep_list),
		cmocka_unit_test(test_a_keep_list_that_is_too_long_to_read),
		cmocka_unit_test(test_a_keep_list_that_is_new),
		cmocka_unit_test(test_a_reason_that_memory_is_too_short_for),
		cmocka_unit_test(test_irqbalance_that_memory_is_too_short_for),
		cmocka_unit_test(test_a_keep_list_while_bolt_is_disabled),
		cmocka_unit_test(test_affinities_are_put_back_beside_a_keep_list),
		cmocka_unit_test(test_a_keep_list_without_a_cpu_online),
		cmocka_unit_test(test_a_keep_list_beside_another_programs_affinity),
		cmocka_unit_test(test_a_killed_daemon_and_a_keep_list),
		cmocka_unit_test(test_a_keep_list_before_cpus_go),
		cmocka_unit_test(test_a_row_without_a_name),
		cmocka_unit_test(test_a_device_that_comes_back_with_a_new_interrupt),
		cmocka_unit_test(test_an_affinity_that_the_kernel_chooses),
		cmocka_unit_test(test_a_device_that_is_closed),
		cmocka_unit_test(test_a_closed_device_and_irqbalance),
		cmocka_unit_test(test_putting_back_while_cpus_change),
		cmocka_unit_test(test_a_table_that_changes_while_it_is_read),
		cmocka_unit_test(test_cpus_go_while_the_table_changes),
		cmocka_unit_test(test_a_dry_run_moves_no_interrupt),
		cmocka_unit_test(test_interrupts_of_a_daemon_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
