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
#include "place.h"
#include "state.h"

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

static void begin(const char *name, const char *policy)
{
	unsigned int cpu;
	char text[4096];
	size_t length;

	place_begin(name);
	clock_us = 1000 * SECOND_US;
	broken = NO_CPU;
	requests = 0;
	race = NULL;
	put("/run/x", "");
	put("/proc/x", "");
	length = (size_t)snprintf(text, sizeof(text), "cpu 0 0 0 0 0 0 0 0\n");
	for (cpu = 0; cpu < machine.count; cpu++)
		length += (size_t)snprintf(text + length, sizeof(text) - length,
					   "cpu%u 0 0 0 0 0 0 0 0\n", cpu);
	snprintf(text + length, sizeof(text) - length, "procs_running 1\n");
	put("/proc/stat", text);
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
	assert_int_equal(state_restore(&machine, back, &result), 0);
	assert_online("0-3");
	CPU_FREE(back);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_cpus_go_and_are_put_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
