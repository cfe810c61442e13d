// SPDX-License-Identifier: GPL-2.0-only
/* Tests whole intervals of cpuboltd, on a recorded tree whose CPUs come and go on request */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "state.h"
#include "fake.h"

static void test_idle_cpus_go_and_are_put_back(void **state)
{
	struct cpubolt_result result;
	cpu_set_t *back;

	begin("small+bolt", "load");
	wait_for(10);
	assert_online("0");
	assert_list(one.owner.taken, "1-3");
	assert_file("1-3");
	back = machine_set(&machine);
	assert_int_equal(state_restore(&machine, NULL, back, &result), 0);
	assert_online("0-3");
	CPU_FREE(back);
	end();
}

/*
 * A task needs a CPU outside of the cluster that suffices for the load: the cluster of that CPU
 * stays online, and CPUs do not come and go for ever.
 */
static void test_a_pinned_task_with_the_policy_package(void **state)
{
	unsigned int before;

	begin("clusters+bolt", "package");
	config.settings.package_level = LEVEL_CLUSTER;
	put_task(10, "pinned", "5", 0, 0);
	wait_for(30);
	assert_true(CPU_ISSET_S(5, machine.size, one.owner.online));
	before = requests;
	wait_for(60);
	assert_int_equal(requests, before);
	end();
}

/* For @seconds seconds, lets the first @cpus CPUs be busy for @percent percent of the time. */
static void work(unsigned int cpus, unsigned long percent, unsigned int seconds)
{
	static unsigned long ticks;

	while (seconds--) {
		put_busy(cpus, ticks += percent);
		wait_for(1);
	}
}

/*
 * big.LITTLE: when the small CPUs do not suffice for the load, the big ones come, and the small
 * ones go; when the load is low again, the small ones come back, and the big ones go.
 */
static void test_clusters_are_switched(void **state)
{
	begin("clusters+bolt", "package");
	config.settings.package_level = LEVEL_CLUSTER;
	work(8, 0, 10);
	assert_online("0-3");
	work(8, 90, 1);
	work(8, 40, 9);
	assert_online("4-7");
	work(8, 5, 10);
	assert_online("0-3");
	/* A task needs a small CPU, so the small CPUs stay beside the big ones. */
	put_task(10, "pinned", "0-3", 0, 0);
	work(8, 90, 20);
	assert_true(CPU_ISSET_S(0, machine.size, one.owner.online));
	assert_true(CPU_ISSET_S(7, machine.size, one.owner.online));
	/* Each cluster alone has fewer CPUs than min_cpus, so both clusters stay. */
	put_task(10, "pinned", "0-7", 0, 0);
	config.settings.min_cpus = 5;
	work(8, 0, 60);
	assert_online("0-7");
	end();
}

/*
 * In a pause in which no CPU goes, as after a failed request that named no CPU, the daemon goes on
 * writing its metrics: tree_delete() would fail if the file were missing.
 */
static void test_metrics_in_a_pause(void **state)
{
	begin("small+bolt", "load");
	config.metrics = strdup("/metrics");
	wait_for(2);
	tree_delete(folder, "/metrics");
	one.stay_until_us = clock_us + 60 * SECOND_US;
	wait_for(15);
	assert_int_equal(requests, 0);
	tree_delete(folder, "/metrics");
	wait_for(60);
	assert_online("0");
	end();
}

/*
 * Every ten seconds the daemon looks again which CPUs tasks and partitions need, also among the
 * CPUs that it has taken.
 */
static void test_needs_come_and_end(void **state)
{
	begin("small+bolt", "load");
	put_task(10, "pinned", "2-3", 0, 0);
	wait_for(10);
	assert_online("0,2");
	wait_for(60);
	assert_online("0,2");
	assert_int_equal(requests, 1);
	/* The task becomes a real-time task; after that, a partition is made. */
	put_task(10, "pinned", "2-3", 1, 0);
	wait_for(11);
	assert_online("0,2-3");
	put("/sys/fs/cgroup/a/cpuset.cpus", "1\n");
	put("/sys/fs/cgroup/a/cpuset.cpus.partition", "root\n");
	wait_for(11);
	assert_online("0-3");
	put("/sys/fs/cgroup/a/cpuset.cpus.partition", "member\n");
	put("/sys/fs/cgroup/a/cpuset.cpus", "\n");
	put_task(10, "pinned", "0-3", 0, 0);
	wait_for(20);
	assert_online("0");
	end();
}

/*
 * After the daemon has read which CPUs are online, and before its request, another program takes a
 * CPU: that CPU is then not the daemon's.
 */
static void test_a_cpu_that_is_taken_meanwhile(void **state)
{
	struct cpubolt_result result;
	cpu_set_t *back;

	begin("small+bolt", "load");
	race = "0-2";
	wait_for(10);
	assert_online("0");
	assert_list(one.owner.taken, "1-2");
	assert_list(one.owner.foreign, "3");
	assert_file("1-2");
	back = machine_set(&machine);
	assert_int_equal(state_restore(&machine, NULL, back, &result), 0);
	assert_online("0-2");
	CPU_FREE(back);
	end();
}

/*
 * The policy wants three CPUs. Another program takes one of them offline, so the daemon brings
 * another CPU online.
 */
static void test_a_wanted_cpu_that_is_taken(void **state)
{
	unsigned long ticks = 0;
	unsigned int i;

	begin("small+bolt", "load");
	for (i = 0; i < 10; i++) {
		put_busy(3, ticks += 50);
		wait_for(1);
	}
	assert_online("0-2");
	make_online("0-1");
	put_busy(2, ticks += 93);
	wait_for(1);
	assert_list(one.owner.foreign, "2");
	assert_online("0-1,3");
	end();
}

/* If one CPU does not come, all other CPUs of the request come nevertheless. */
static void test_a_cpu_that_does_not_come(void **state)
{
	cpu_set_t *all;

	begin("small+bolt", "load");
	wait_for(10);
	assert_online("0");
	broken = 2;
	all = cpus_of("1-3");
	assert_true(lease_add(&one, all, 60) > 0);
	wait_for(1);
	assert_online("0-1,3");
	assert_list(one.owner.taken, "2");
	assert_file("2");
	assert_true(owner_waits(&one.owner, 2, clock_us));
	CPU_FREE(all);
	end();
}

static void lease(const char *list, unsigned int seconds)
{
	cpu_set_t *cpus = cpus_of(list);

	assert_true(lease_add(&one, cpus, seconds) > 0);
	CPU_FREE(cpus);
}

/*
 * While CPU hotplug is disabled for a moment, the daemon makes one request in each interval, so
 * that CPUs come and go as soon as the kernel lets them: no CPU that comes counts as at fault, and
 * a CPU that goes counts as at fault only after three refusals in a row.
 */
static void test_hotplug_that_is_disabled_for_a_moment(void **state)
{
	unsigned int before;

	begin("small+bolt", "load");
	wait_for(2);
	disabled = true;
	wait_for(4);
	assert_online("0-3");
	disabled = false;
	wait_for(1);
	assert_online("0");
	disabled = true;
	lease("1-3", 60);
	before = requests;
	wait_for(10);
	assert_int_equal(requests, before + 10);
	assert_online("0");
	disabled = false;
	wait_for(1);
	assert_online("0-3");
	end();
}

/* Without Bolt, CPUs that have come stay online if another CPU of the request does not come. */
static void test_a_cpu_that_does_not_come_without_bolt(void **state)
{
	begin("smt", "load");
	wait_for(10);
	assert_online("0");
	broken = 3;
	requests = 0;
	lease("1-8", 3);
	wait_for(1);
	assert_online("0-2,4-8");
	assert_int_equal(requests, 8);
	end();
}

/*
 * On arm64, unplugging a CPU that is offline changes only the list "enabled". The daemon sees that,
 * and no longer has the CPU in its file.
 */
static void test_a_cpu_that_is_not_enabled_any_more(void **state)
{
	begin("small+bolt", "load");
	put(CPUS "enabled", "0-3\n");
	wait_for(10);
	assert_online("0");
	assert_file("1-3");
	put(CPUS "enabled", "0-2\n");
	wait_for(1);
	assert_file("1-2");
	end();
}

/*
 * The kernel refuses three times in a row to let the same CPU go: then the daemon leaves that CPU
 * alone for a while, so that the other idle CPUs can go.
 */
static void test_a_cpu_that_may_not_go(void **state)
{
	begin("small+bolt", "load");
	disabled = true;
	wait_for(8);
	assert_true(owner_waits(&one.owner, 1, clock_us));
	assert_false(owner_waits(&one.owner, 2, clock_us));
	disabled = false;
	wait_for(1);
	assert_online("0-1");
	end();
}

/*
 * A CPU that irq_keep lists cannot go: after one refusal the daemon leaves the CPU alone for a
 * while.
 */
static void test_a_cpu_in_irq_keep(void **state)
{
	unsigned int i;

	begin("small+bolt", "load");
	put(CPUS "bolt/irq_keep", "1\n");
	disabled = true;
	for (i = 0; i < 10 && !requests; i++)
		wait_for(1);
	assert_int_equal(requests, 1);
	assert_true(owner_waits(&one.owner, 1, clock_us));
	assert_false(owner_waits(&one.owner, 2, clock_us));
	end();
}

/*
 * While CPU hotplug is disabled, each request waits up to 0.6 s and fails: so a program that puts
 * CPUs back gives up after a few requests, and does not make a request for each CPU.
 */
static void test_putting_back_while_hotplug_is_disabled(void **state)
{
	struct cpubolt_result result;
	cpu_set_t *back;

	begin("smt+bolt", "load");
	wait_for(10);
	assert_online("0");
	disabled = true;
	requests = 0;
	back = machine_set(&machine);
	assert_int_equal(state_restore(&machine, NULL, back, &result), -EBUSY);
	assert_in_range(requests, 2, 20);
	assert_file("1-31");
	disabled = false;
	assert_int_equal(state_restore(&machine, NULL, back, &result), 0);
	assert_online("0-31");
	CPU_FREE(back);
	end();
}

/* After a request that failed and named no CPU, no CPU goes for a while, but CPUs come. */
static void test_cpus_come_after_an_error_without_a_cpu(void **state)
{
	begin("small+bolt", "load");
	wait_for(10);
	assert_online("0");
	lease("1-2", 3);
	wait_for(1);
	assert_online("0-2");
	short_of_memory = true;
	wait_for(10);
	assert_online("0-2");
	short_of_memory = false;
	lease("3", 10);
	wait_for(1);
	assert_online("0-3");
	wait_for(30);
	assert_online("0-3");
	wait_for(60);
	assert_online("0");
	end();
}

/*
 * A CPU that the daemon has taken, and that is unplugged, is not the daemon's any more when the CPU
 * is plugged in again.
 */
static void test_a_cpu_that_is_unplugged(void **state)
{
	begin("small+bolt", "load");
	wait_for(10);
	assert_file("1-3");
	put(CPUS "present", "0-2\n");
	wait_for(1);
	assert_file("1-2");
	put(CPUS "present", "0-3\n");
	wait_for(1);
	assert_list(one.owner.foreign, "3");
	assert_file("1-2");
	end();
}

/* A look at tasks that fails is made again in the next interval, not ten seconds later. */
static void test_a_look_at_tasks_that_fails(void **state)
{
	char from[4096], to[4096];

	begin("small+bolt", "load");
	wait_for(10);
	assert_online("0");
	put_task(10, "pinned", "2", 0, 0);
	snprintf(from, sizeof(from), "%s/proc", folder);
	snprintf(to, sizeof(to), "%s/gone", folder);
	one.needs_until_us = 0;
	assert_int_equal(rename(from, to), 0);
	clock_us += SECOND_US;
	assert_true(daemon_round(&one) < 0);
	assert_int_equal(rename(to, from), 0);
	wait_for(1);
	assert_online("0,2");
	end();
}

/* While the daemon cannot write which CPUs it has taken, no CPU goes, but CPUs come. */
static void test_cpus_come_when_no_file_can_be_written(void **state)
{
	char path[4096];

	begin("small+bolt", "load");
	wait_for(10);
	assert_online("0");
	free(control_answer(&one, "lease 1 10", true));
	assert_online("0-1");
	snprintf(path, sizeof(path), "%s/run/cpubolt/cpuboltd.new", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	wait_for(20);
	assert_online("0-1");
	free(control_answer(&one, "lease 3 60", true));
	assert_online("0-1,3");
	assert_int_equal(rmdir(path), 0);
	wait_for(90);
	assert_online("0");
	end();
}

/* Without a list the policy "fixed" wants all CPUs, also CPUs that are plugged in later. */
static void test_fixed_without_a_list(void **state)
{
	begin("small+bolt+slots", "fixed");
	assert_true(CPU_COUNT_S(machine.size, config.settings.fixed) >
		    CPU_COUNT_S(machine.size, one.owner.present));
	wait_for(10);
	assert_int_equal(requests, 0);
	end();
}

/*
 * The daemon brings the CPUs of a lease online before it answers "cpubolt policy lease"; the answer
 * names the CPUs that have not come.
 */
static void test_a_lease_is_answered_when_cpus_are_there(void **state)
{
	char *answer;

	begin("small+bolt", "load");
	wait_for(10);
	assert_online("0");
	answer = control_answer(&one, "lease 1 60", true);
	assert_online("0-1");
	assert_string_equal(answer, "ok lease 1: CPUs 1 for 60 s\n");
	free(answer);
	broken = 2;
	answer = control_answer(&one, "lease 1-3 60", true);
	assert_string_equal(answer, "ok lease 2: CPUs 1-3 for 60 s, of which CPUs 2 are still "
				    "offline\n");
	assert_online("0-1,3");
	free(answer);
	end();
}

/*
 * If the list of parked CPUs is longer than a page, the library says that it does not know which
 * CPUs are parked, and the daemon goes on: a lease brings its CPU online.
 */
static void test_a_list_of_parked_cpus_longer_than_a_page(void **state)
{
	begin("small+bolt", "load");
	put(CPUS "bolt/parked", "1-3\n");
	wait_for(10);
	assert_online("0");
	assert_int_equal(cpubolt_state(machine.handle, 3), CPUBOLT_STATE_PARKED);
	assert_false(cpubolt_features(machine.handle) & CPUBOLT_PARKED_UNKNOWN);
	overflows = true;
	lease("1", 60);
	wait_for(1);
	assert_online("0-1");
	assert_int_equal(cpubolt_state(machine.handle, 3), CPUBOLT_STATE_OFFLINE);
	assert_true(cpubolt_features(machine.handle) & CPUBOLT_PARKED_UNKNOWN);
	end();
}

/* When the daemon has ended, the file of the metrics says that no CPU is taken. */
static void test_the_last_metrics(void **state)
{
	char *text;

	begin("small+bolt", "load");
	daemon_end(&one);
	/*
	 * By clock_us, the first interval ends at two seconds. But the event loop waits by the real
	 * CLOCK_MONOTONIC, which is past two seconds already, so the event loop does not wait.
	 */
	clock_us = SECOND_US;
	config.rules.hold_us = 0;
	config.metrics = strdup("/metrics");
	assert_int_equal(run_daemon(&machine, &config, false, 3), EXIT_DONE);
	assert_int_equal(requests, 2);
	assert_online("0-3");
	text = file_read(folder, "/metrics", NULL);
	assert_non_null(text);
	assert_non_null(strstr(text, "{set=\"online\"} 4\n"));
	assert_non_null(strstr(text, "{set=\"taken\"} 0\n"));
	assert_non_null(strstr(text, "{direction=\"online\"} 3\n"));
	free(text);
	config_free(&config);
	place_end();
}

/* A daemon works even if it cannot bring back CPUs that an earlier daemon has left offline. */
static void test_a_start_with_what_cannot_be_put_back(void **state)
{
	cpu_set_t *taken;
	char *text;

	begin("small+bolt", "load");
	daemon_end(&one);
	/*
	 * By clock_us, the first interval ends at two seconds. But the event loop waits by the real
	 * CLOCK_MONOTONIC, which is past two seconds already, so the event loop does not wait.
	 */
	clock_us = SECOND_US;
	taken = cpus_of("2-3");
	make_online("0-1");
	assert_int_equal(state_save(&machine, taken), 0);
	broken = 2;
	config.metrics = strdup("/metrics");
	assert_int_equal(run_daemon(&machine, &config, false, 3), EXIT_FAILED);
	assert_online("0-1,3");
	assert_file("2");
	text = file_read(folder, "/metrics", NULL);
	assert_non_null(text);
	assert_non_null(strstr(text, "{set=\"foreign\"} 1\n"));
	free(text);
	/* Now CPU 2 can come online. */
	broken = NO_CPU;
	assert_int_equal(run_daemon(&machine, &config, false, 3), EXIT_DONE);
	assert_online("0-3");
	put("/run/cpubolt/cpuboltd", "nonsense");
	assert_int_equal(run_daemon(&machine, &config, false, 3), EXIT_DONE);
	assert_text(folder, STATE_BAD_FILE, "nonsense");
	CPU_FREE(taken);
	config_free(&config);
	place_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_cpus_go_and_are_put_back),
		cmocka_unit_test(test_a_pinned_task_with_the_policy_package),
		cmocka_unit_test(test_clusters_are_switched),
		cmocka_unit_test(test_metrics_in_a_pause),
		cmocka_unit_test(test_needs_come_and_end),
		cmocka_unit_test(test_a_cpu_that_is_taken_meanwhile),
		cmocka_unit_test(test_a_wanted_cpu_that_is_taken),
		cmocka_unit_test(test_a_cpu_that_does_not_come),
		cmocka_unit_test(test_hotplug_that_is_disabled_for_a_moment),
		cmocka_unit_test(test_a_cpu_that_does_not_come_without_bolt),
		cmocka_unit_test(test_a_cpu_that_is_not_enabled_any_more),
		cmocka_unit_test(test_a_cpu_that_may_not_go),
		cmocka_unit_test(test_a_cpu_in_irq_keep),
		cmocka_unit_test(test_putting_back_while_hotplug_is_disabled),
		cmocka_unit_test(test_cpus_come_after_an_error_without_a_cpu),
		cmocka_unit_test(test_a_cpu_that_is_unplugged),
		cmocka_unit_test(test_a_look_at_tasks_that_fails),
		cmocka_unit_test(test_cpus_come_when_no_file_can_be_written),
		cmocka_unit_test(test_fixed_without_a_list),
		cmocka_unit_test(test_a_lease_is_answered_when_cpus_are_there),
		cmocka_unit_test(test_a_list_of_parked_cpus_longer_than_a_page),
		cmocka_unit_test(test_the_last_metrics),
		cmocka_unit_test(test_a_start_with_what_cannot_be_put_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
