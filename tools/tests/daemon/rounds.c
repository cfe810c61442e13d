// SPDX-License-Identifier: GPL-2.0-only
/* Whole intervals of cpuboltd, with a recorded tree in which CPUs do come and go when asked to */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon.h"
#include "files.h"
#include "say.h"
#include "state.h"
/* Its cmocka.h makes fail() of say.h a macro. */
#include "place.h"

#define SECOND_US	1000000ULL
#define NO_CPU		(-1)

static struct config config;
static struct daemon one;
static uint64_t clock_us;
static int broken;		/* the CPU that does not come, or NO_CPU */
static unsigned int requests;
static const char *race;	/* CPUs that are left when the daemon writes its file next, or NULL */

/* -- The kernel ---------------------------------------------------------------------- */

ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);
int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
	now->tv_sec = (time_t)(clock_us / SECOND_US);
	now->tv_nsec = (long)(clock_us % SECOND_US) * 1000;
	return 0;
}

static cpu_set_t *online_now(void)
{
	char *text = file_read(folder, CPUS "online", NULL);
	cpu_set_t *set;

	assert_non_null(text);
	text[strcspn(text, "\n")] = '\0';
	set = cpus_of(text);
	free(text);
	return set;
}

static void assert_online(const char *list)
{
	cpu_set_t *set = online_now();

	assert_list(set, list);
	CPU_FREE(set);
}

static ssize_t refuse(int cpu)
{
	char text[128];

	snprintf(text, sizeof(text), "batch=%u pid=%d cpu=%d state=x86/apic:prepare errno=%d\n",
		 requests, getpid(), cpu, EIO);
	put(CPUS "bolt/last_error", text);
	errno = EIO;
	return -1;
}

static ssize_t carry_out(const char *list, size_t length, bool come)
{
	char *text = strndup(list, length), *left;
	cpu_set_t *cpus = cpus_of(text), *online = online_now();
	unsigned int cpu;
	ssize_t result = (ssize_t)length;

	requests++;
	if (come && broken != NO_CPU && CPU_ISSET_S((unsigned int)broken, machine.size, cpus))
		result = refuse(broken);
	for (cpu = 0; result >= 0 && cpu < machine.count; cpu++) {
		if (!CPU_ISSET_S(cpu, machine.size, cpus))
			continue;
		if (come)
			CPU_SET_S(cpu, machine.size, online);
		else
			CPU_CLR_S(cpu, machine.size, online);
	}
	if (result >= 0) {
		left = machine_list(&machine, online);
		make_online(left);
		free(left);
	}
	CPU_FREE(cpus);
	CPU_FREE(online);
	free(text);
	return result;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), less = strlen(end);

	return length >= less && !strcmp(text + length - less, end);
}

ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	const char *left = race;
	char link[64], path[4096];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	if (ends_with(path, CPUS "bolt/online"))
		return carry_out(data, size, true);
	if (ends_with(path, CPUS "bolt/offline"))
		return carry_out(data, size, false);
	if (left && ends_with(path, "/cpubolt/cpuboltd.new")) {
		race = NULL;
		make_online(left);
	}
	return __real_write(fd, data, size);
}

/* -- The daemon ---------------------------------------------------------------------- */

/* So many CPUs, from CPU 0 on, were busy for so many hundredths of seconds up to now. */
static void put_busy(unsigned int cpus, unsigned long ticks)
{
	char text[4096];
	size_t length;
	unsigned int cpu;

	length = (size_t)snprintf(text, sizeof(text), "cpu 0 0 0 0 0 0 0 0\n");
	for (cpu = 0; cpu < machine.count; cpu++)
		length += (size_t)snprintf(text + length, sizeof(text) - length,
					   "cpu%u %lu 0 0 0 0 0 0 0\n", cpu, cpu < cpus ? ticks : 0);
	snprintf(text + length, sizeof(text) - length, "procs_running 1\n");
	put("/proc/stat", text);
}

static void begin(const char *name, const char *policy)
{
	place_begin(name);
	clock_us = 1000 * SECOND_US;
	broken = NO_CPU;
	requests = 0;
	race = NULL;
	put("/run/x", "");
	put("/proc/x", "");
	put_busy(0, 0);
	assert_int_equal(config_init(&machine, &config), 0);
	config.policy = policy_find(policy);
	config.rules.hold_us = 3 * SECOND_US;
	config.rules.dwell_us = 5 * SECOND_US;
	one = (struct daemon){ .machine = &machine, .config = &config, .control = -1 };
	assert_int_equal(daemon_begin(&one), 0);
}

static void end(void)
{
	daemon_end(&one);
	config_free(&config);
	place_end();
}

static void wait_for(unsigned int seconds)
{
	unsigned int i;

	for (i = 0; i < seconds; i++) {
		clock_us += SECOND_US;
		assert_int_equal(daemon_round(&one), 0);
	}
}

static void assert_file(const char *list)
{
	cpu_set_t *taken = machine_set(&machine);

	state_load(&machine, taken);
	assert_list(taken, list);
	CPU_FREE(taken);
}

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

/* A task outside of the group that suffices: its group stays, and nothing comes and goes for ever. */
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

/* What is needed is looked at again, and so are CPUs that are taken. */
static void test_needs_come_and_end(void **state)
{
	begin("small+bolt", "load");
	put_task(10, "pinned", "2-3", 0, 0);
	wait_for(10);
	assert_online("0,2");
	wait_for(60);
	assert_online("0,2");
	assert_int_equal(requests, 1);
	/* Meanwhile one has become a real-time task, and there is a partition. */
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

/* Between the look and the request another program takes a CPU: that one is not the daemon's. */
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

/* The policy wanted three CPUs, of which another program takes one: that is one too few. */
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

/* One CPU that does not come holds up no other one. */
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

/* An isolated partition is made while the daemon runs. */
static void test_a_cpu_that_is_isolated_meanwhile(void **state)
{
	begin("small+bolt", "load");
	wait_for(1);
	put(CPUS "isolated", "3\n");
	wait_for(10);
	assert_online("0,3");
	end();
}

/* The answer to "cpubolt policy lease" is true when it is given. */
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

/* What a daemon before has left wrong does not keep the next one from its work. */
static void test_a_start_with_what_cannot_be_put_back(void **state)
{
	cpu_set_t *taken;
	char *text;

	begin("small+bolt", "load");
	daemon_end(&one);
	/* Intervals are due at once where the time is long over. */
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
	/* At last the CPU comes. */
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
		cmocka_unit_test(test_needs_come_and_end),
		cmocka_unit_test(test_a_cpu_that_is_taken_meanwhile),
		cmocka_unit_test(test_a_wanted_cpu_that_is_taken),
		cmocka_unit_test(test_a_cpu_that_does_not_come),
		cmocka_unit_test(test_a_cpu_that_is_isolated_meanwhile),
		cmocka_unit_test(test_a_lease_is_answered_when_cpus_are_there),
		cmocka_unit_test(test_a_start_with_what_cannot_be_put_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
