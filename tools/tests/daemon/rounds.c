// SPDX-License-Identifier: GPL-2.0-only
/* Tests whole intervals of cpuboltd, on a recorded tree whose CPUs come and go on request */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon.h"
#include "files.h"
#include "irq_state.h"
#include "say.h"
#include "state.h"
/* place.h comes last: place.h includes cmocka.h, whose macro fail() would break say.h. */
#include "place.h"

#define SECOND_US	1000000ULL
#define NO_CPU		(-1)

static struct config config;
static struct daemon one;
static uint64_t clock_us;
static int broken;		/* requests that bring this CPU online fail; or NO_CPU */
static unsigned int requests;
/* If not NULL: CPUs that another program leaves online when the daemon next writes its file. */
static const char *race;

/* Interrupts of the machine, and how often each has occurred on each CPU. */
static struct device {
	int irq;
	const char *name;
	unsigned int rate;		/* interrupts a second */
	unsigned int counts[4];
	bool refuses;			/* whether writes of the affinity fail */
} devices[] = {
	{ .irq = 24, .name = "disk" }, { .irq = 25, .name = "net rx" },
	{ .irq = 26, .name = "net tx" }, { .irq = 27, .name = "nvme0q1" },
};

#define DEVICES	(sizeof(devices) / sizeof(devices[0]))
#define MANAGED	3			/* index of the managed interrupt, which is the last */

static unsigned int affinities;		/* how many affinities were written */
static unsigned int late;		/* movable interrupts on CPUs when these went offline */

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

static ssize_t refuse(int cpu)
{
	char text[128];

	snprintf(text, sizeof(text), "batch=%u pid=%d cpu=%d state=x86/apic:prepare errno=%d\n",
		 requests, getpid(), cpu, EIO);
	put(CPUS "bolt/last_error", text);
	errno = EIO;
	return -1;
}

static struct device *device_of(const char *path)
{
	char end[64];
	size_t i;

	for (i = 0; i < DEVICES; i++) {
		snprintf(end, sizeof(end), "/proc/irq/%d/smp_affinity_list", devices[i].irq);
		if (strstr(path, end))
			return &devices[i];
	}
	return NULL;
}

/* As with a GIC, the interrupt is on the first online CPU of its affinity. */
static void put_affinity(const struct device *device, const char *list)
{
	cpu_set_t *cpus = cpus_of(list), *online = online_now();
	char path[64], text[16];
	unsigned int cpu;

	CPU_AND_S(machine.size, online, online, cpus);
	for (cpu = 0; cpu < machine.count && !CPU_ISSET_S(cpu, machine.size, online); cpu++)
		;
	assert_true(cpu < machine.count);
	snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity_list", device->irq);
	put(path, list);
	snprintf(path, sizeof(path), "/proc/irq/%d/effective_affinity_list", device->irq);
	snprintf(text, sizeof(text), "%u\n", cpu);
	put(path, text);
	CPU_FREE(cpus);
	CPU_FREE(online);
}

static ssize_t write_affinity(const struct device *device, const char *data, size_t size)
{
	char *list = strndup(data, size);

	affinities++;
	if (device->refuses) {
		free(list);
		put_affinity(device, "3");
		errno = EIO;
		return -1;
	}
	put_affinity(device, list);
	free(list);
	return (ssize_t)size;
}

static unsigned int place_of(const struct device *device)
{
	char path[64], *text;
	unsigned int cpu;

	snprintf(path, sizeof(path), "/proc/irq/%d/effective_affinity_list", device->irq);
	text = file_read(folder, path, NULL);
	assert_non_null(text);
	cpu = (unsigned int)atoi(text);
	free(text);
	return cpu;
}

static void count_late(const cpu_set_t *going)
{
	size_t i;

	for (i = 0; config.interrupts.enabled && i < MANAGED; i++)
		late += !!CPU_ISSET_S(place_of(&devices[i]), machine.size, going);
}

static ssize_t carry_out(const char *list, size_t length, bool come)
{
	char *text = strndup(list, length), *left;
	cpu_set_t *cpus = cpus_of(text), *online = online_now();
	unsigned int cpu;
	ssize_t result = (ssize_t)length;

	requests++;
	if (!come)
		count_late(cpus);
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
	if (ends_with(path, "/smp_affinity_list") && device_of(path))
		return write_affinity(device_of(path), data, size);
	if (left && ends_with(path, "/cpubolt/cpuboltd.new")) {
		race = NULL;
		make_online(left);
	}
	return __real_write(fd, data, size);
}

/* -- The daemon ---------------------------------------------------------------------- */

/* Writes that the first @cpus CPUs have been busy for @ticks hundredths of seconds up to now. */
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

/* Counts the interrupts of one more second. */
static void put_counts(void)
{
	cpu_set_t *online = online_now();
	char text[4096] = "";
	unsigned int cpu;
	size_t i;

	for (cpu = 0; cpu < 4; cpu++)
		if (CPU_ISSET_S(cpu, machine.size, online))
			sprintf(text + strlen(text), " CPU%u", cpu);
	for (i = 0; i < DEVICES; i++) {
		devices[i].counts[place_of(&devices[i])] += devices[i].rate;
		sprintf(text + strlen(text), "\n%d:", devices[i].irq);
		for (cpu = 0; cpu < 4; cpu++)
			if (CPU_ISSET_S(cpu, machine.size, online))
				sprintf(text + strlen(text), " %u", devices[i].counts[cpu]);
		sprintf(text + strlen(text), " PCI-MSI 1-edge  %s", devices[i].name);
	}
	strcat(text, "\nLOC: 1 1 1 1 Local timer interrupts\n");
	put("/proc/interrupts", text);
	CPU_FREE(online);
}

/* Each interrupt may be anywhere, and is on CPU 0; but the managed interrupt is on CPU 3. */
static void put_interrupts(void)
{
	char *path;
	size_t i;

	for (i = 0; i < DEVICES; i++) {
		devices[i].rate = 0;
		devices[i].refuses = false;
		memset(devices[i].counts, 0, sizeof(devices[i].counts));
		put_affinity(&devices[i], i == MANAGED ? "3" : "0-3");
	}
	assert_true(asprintf(&path, "%s/proc/irq/27/smp_affinity_list", folder) > 0);
	assert_int_equal(chmod(path, 0444), 0);
	free(path);
	put_counts();
	affinities = 0;
	late = 0;
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
		if (config.interrupts.enabled)
			put_counts();
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

/* Lets the first @cpus CPUs be busy, for @percent of the time, for so many seconds. */
static void work(unsigned int cpus, unsigned long percent, unsigned int seconds)
{
	static unsigned long ticks;

	while (seconds--) {
		put_busy(cpus, ticks += percent);
		wait_for(1);
	}
}

/* big.LITTLE: when the small CPUs are full, the big ones come, and the small ones go. */
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
	/* One cluster has fewer CPUs than this. */
	put_task(10, "pinned", "0-7", 0, 0);
	config.settings.min_cpus = 5;
	work(8, 0, 60);
	assert_online("0-7");
	end();
}

/* The daemon makes no request for a while, but goes on writing its metrics. */
static void test_metrics_in_a_pause(void **state)
{
	begin("small+bolt", "load");
	config.metrics = strdup("/metrics");
	wait_for(2);
	tree_delete(folder, "/metrics");
	one.pause_until_us = clock_us + 60 * SECOND_US;
	wait_for(15);
	assert_int_equal(requests, 0);
	tree_delete(folder, "/metrics");
	wait_for(60);
	assert_online("0");
	end();
}

/* The daemon looks again which CPUs are needed, also among the CPUs that it has taken. */
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

/* The kernel lists a CPU as isolated while the daemon runs. */
static void test_a_cpu_that_is_isolated_meanwhile(void **state)
{
	begin("small+bolt", "load");
	wait_for(1);
	put(CPUS "isolated", "3\n");
	wait_for(10);
	assert_online("0,3");
	end();
}

/* The kernel lists a CPU as isolated that the daemon has taken: the daemon brings the CPU back. */
static void test_a_cpu_that_is_isolated_after_it_went(void **state)
{
	begin("small+bolt", "load");
	wait_for(10);
	assert_online("0");
	put(CPUS "isolated", "3\n");
	wait_for(2);
	assert_online("0,3");
	wait_for(10);
	assert_online("0,3");
	end();
}

/* While the file of the CPUs taken cannot be written, no CPU goes, but CPUs come. */
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

/* The answer to "cpubolt policy lease" says which CPUs are online at that time. */
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

/* A daemon works even if it cannot bring back CPUs that an earlier daemon has left offline. */
static void test_a_start_with_what_cannot_be_put_back(void **state)
{
	cpu_set_t *taken;
	char *text;

	begin("small+bolt", "load");
	daemon_end(&one);
	/* The event loop uses the real clock, which is past the end of each interval already. */
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

/* -- Interrupts ------------------------------------------------------------------------ */

static void begin_interrupts(const char *policy, const char *fixed)
{
	begin("small+bolt", policy);
	daemon_end(&one);
	put_interrupts();
	config.interrupts.enabled = true;
	CPU_FREE(config.settings.fixed);
	config.settings.fixed = cpus_of(fixed);
	one = (struct daemon){ .machine = &machine, .config = &config, .control = -1 };
	assert_int_equal(daemon_begin(&one), 0);
}

static void assert_affinity(size_t device, const char *list)
{
	char path[64], *text;

	snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity_list", devices[device].irq);
	text = file_read(folder, path, NULL);
	assert_non_null(text);
	text[strcspn(text, "\n")] = '\0';
	assert_string_equal(text, list);
	free(text);
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
	/* After a minute the interrupt counts as idle, and goes to the base CPU. */
	devices[1].rate = 10;
	wait_for(50);
	assert_int_equal(affinities, 1);
	wait_for(60);
	assert_affinity(1, "0");
	assert_int_equal(affinities, 2);
	end();
}

/*
 * The daemon leaves alone an interrupt whose affinity another program has set, even if the CPUs of
 * that affinity go.
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
	/* When irqbalance starts again, the daemon puts back the affinities that it found. */
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
	restore_interrupts(0);
	end();
}

/* irqbalance has no socket here. */
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
	assert_explained("status", "the kernel keeps these on CPUs 0 (irq_keep)");
	end();
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
		cmocka_unit_test(test_idle_cpus_go_and_are_put_back),
		cmocka_unit_test(test_a_pinned_task_with_the_policy_package),
		cmocka_unit_test(test_clusters_are_switched),
		cmocka_unit_test(test_metrics_in_a_pause),
		cmocka_unit_test(test_needs_come_and_end),
		cmocka_unit_test(test_a_cpu_that_is_taken_meanwhile),
		cmocka_unit_test(test_a_wanted_cpu_that_is_taken),
		cmocka_unit_test(test_a_cpu_that_does_not_come),
		cmocka_unit_test(test_a_cpu_that_is_isolated_meanwhile),
		cmocka_unit_test(test_a_cpu_that_is_isolated_after_it_went),
		cmocka_unit_test(test_cpus_come_when_no_file_can_be_written),
		cmocka_unit_test(test_fixed_without_a_list),
		cmocka_unit_test(test_a_lease_is_answered_when_cpus_are_there),
		cmocka_unit_test(test_a_start_with_what_cannot_be_put_back),
		cmocka_unit_test(test_interrupts_leave_before_their_cpus_go),
		cmocka_unit_test(test_interrupts_by_their_rates),
		cmocka_unit_test(test_an_affinity_that_another_program_sets),
		cmocka_unit_test(test_what_was_changed_since_is_not_put_back),
		cmocka_unit_test(test_an_affinity_that_is_refused),
		cmocka_unit_test(test_interrupts_are_left_to_irqbalance),
		cmocka_unit_test(test_an_irqbalance_that_cannot_be_told),
		cmocka_unit_test(test_interrupts_are_left_to_the_keep_list),
		cmocka_unit_test(test_a_dry_run_moves_no_interrupt),
		cmocka_unit_test(test_interrupts_of_a_daemon_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
