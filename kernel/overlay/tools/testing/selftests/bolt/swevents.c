// SPDX-License-Identifier: GPL-2.0-only
/*
 * A task opens the first software event of the system while a CPU comes; the event must
 * count on that CPU. In Linux 6.12 the task makes no list of events for a CPU that is not
 * online for perf yet, and bring-up makes the list only if an event is open: so bring-up
 * checks for events twice, before and after the CPU is online for perf. An event that is
 * opened while other events are open, or when the request is over, does not test the second
 * check. In the last test, an event of a thread that runs on the CPU before perf is ready on
 * that CPU must also count.
 */
#define _GNU_SOURCE
#include <dirent.h>

#include "cpus.h"
#include "draw.h"
#include "lib/perf.h"
#include "tasks.h"
#include "../kselftest_harness.h"

/*
 * How many events must be opened while a request runs, and how many requests a test
 * makes at most.
 */
#define INSIDE 75
#define ROUNDS 1500
#define PATIENCE_MS 10000

/* Memory that the test shares with the task that opens events. */
struct stage {
	unsigned long go;	/* requests that have begun */
	unsigned long done;	/* events opened, tried on all CPUs and closed */
	unsigned long lost;	/* CPUs on which an event did not count */
	unsigned long within;	/* events opened before the request was over */
	unsigned long over;	/* requests that are over */
	long span_ns;		/* how long the last request took */
};

static unsigned long peek(const unsigned long *value)
{
	return __atomic_load_n(value, __ATOMIC_SEQ_CST);
}

static void bump(unsigned long *value)
{
	__atomic_add_fetch(value, 1, __ATOMIC_SEQ_CST);
}

/* The last CPU that can go offline, and the list of all CPUs but CPU 0 that can. */
static int last_cpu;
static char others[4096];

static void find_cpus(void)
{
	int end = cpus_end();
	size_t len = 0;

	for (int cpu = 1; cpu < end && len < sizeof(others); cpu++) {
		if (!cpu_is_movable(cpu))
			continue;
		last_cpu = cpu;
		len += snprintf(others + len, sizeof(others) - len, "%s%d", len ? "," : "",
				cpu);
	}
}

/*
 * Whether the event counts task switches on @cpu. Tries several times, as a sleep
 * may be over before the task has switched.
 */
static bool counts(int fd, int cpu)
{
	struct timespec moment = { .tv_nsec = 100000 };
	unsigned long long before, after = 0;

	if (pin(0, cpu) || read(fd, &before, sizeof(before)) != sizeof(before))
		return false;
	for (int i = 0; i < 5 && after <= before; i++) {
		nanosleep(&moment, NULL);
		if (read(fd, &after, sizeof(after)) != sizeof(after))
			return false;
	}
	return after > before;
}

static int open_switches(pid_t pid, unsigned long long format)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.read_format = format,
	};

	return event_open(&attr, pid, -1);
}

/*
 * Opens one event for each request, at a random moment of the request. This task sees only
 * after a while that the request has begun, so moments in the last quarter, which would
 * mostly be after the end of the request, are left out.
 */
static void opener(struct stage *stage)
{
	unsigned long long seed = 1;

	for (unsigned long round = 1; ; round++) {
		long start;
		int fd;

		while (peek(&stage->go) < round)
			sched_yield();
		start = now_ns() + draw64(&seed, 3 * stage->span_ns / 4);
		while (now_ns() < start)
			;
		stage->within += peek(&stage->over) < round;
		fd = open_switches(0, 0);
		while (peek(&stage->over) < round)
			sched_yield();
		for (int cpu = 0; cpu <= last_cpu; cpu++)
			if (!cpu || cpu_is_movable(cpu))
				stage->lost += !counts(fd, cpu);
		unpin(0);
		close(fd);
		bump(&stage->done);
	}
}

FIXTURE(swevents) {
	struct stage *stage;
	pid_t pid;
};

FIXTURE_SETUP(swevents)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	/* The task in opener() must not wait for the CPU of the task that makes requests. */
	if (!cpu_is_movable(2))
		SKIP(return, "needs three CPUs");
	ASSERT_EQ(0, start_over_all());
	find_cpus();
	ASSERT_EQ(0, enable(true));
	self->stage = mmap(NULL, sizeof(*self->stage), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->stage);
	self->stage->span_ns = 1000000;
	self->pid = fork_mortal();
	ASSERT_GE(self->pid, 0);
	if (!self->pid)
		opener(self->stage);
}

FIXTURE_TEARDOWN(swevents)
{
	if (cannot_run())
		return;
	kill(self->pid, SIGKILL);
	waitpid(self->pid, NULL, 0);
	EXPECT_EQ(0, start_over_all());
}

static void rounds(struct __test_metadata *_metadata, struct stage *stage,
		   int (*set)(bool online))
{
	unsigned long round = 0;

	while (peek(&stage->within) < INSIDE && round < ROUNDS) {
		int patience = PATIENCE_MS;
		long start;

		round++;
		ASSERT_EQ(0, set(false));
		start = now_ns();
		bump(&stage->go);
		ASSERT_EQ(0, set(true));
		stage->span_ns = now_ns() - start;
		bump(&stage->over);
		while (peek(&stage->done) < round && patience--)
			wait_ms(1);
		ASSERT_EQ(round, peek(&stage->done));
	}
	/*
	 * If fewer than INSIDE events were opened inside a request, the test has shown
	 * too little. How often an event is opened too late depends on the host.
	 */
	EXPECT_EQ(INSIDE, stage->within);
	TH_LOG("%lu of %lu events opened inside a request", stage->within, round);
	EXPECT_EQ(0, stage->lost);
}

static int set_one(bool online)
{
	return set_online(last_cpu, online);
}

static int set_others(bool online)
{
	return put(online ? BOLT_DIR "online" : BOLT_DIR "offline", others);
}

TEST_F_TIMEOUT(swevents, opened_while_a_cpu_comes, 600)
{
	rounds(_metadata, self->stage, set_one);
}

TEST_F_TIMEOUT(swevents, opened_while_a_batch_comes, 600)
{
	rounds(_metadata, self->stage, set_others);
}

/* Returns the hotplug thread of @cpu, or -1. */
static pid_t hotplug_thread(int cpu)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	char name[32];
	pid_t pid = -1;

	snprintf(name, sizeof(name), "cpuhp/%d", cpu);
	while (dir && pid < 0 && (entry = readdir(dir))) {
		char path[300];

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		if (is(path, name))
			pid = atoi(entry->d_name);
	}
	if (dir)
		closedir(dir);
	return pid;
}

TEST_F(swevents, of_the_thread_that_brings_up_a_cpu)
{
	struct { unsigned long long value, enabled, running; } seen;
	int fd, cpu = last_cpu;

	ASSERT_EQ(0, set_online(cpu, false));
	fd = open_switches(hotplug_thread(cpu),
			   PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, set_online(cpu, true));
	/* The event counts when the thread goes back to sleep, maybe after the request. */
	for (int i = 0; i < PATIENCE_MS; i++) {
		ASSERT_EQ(sizeof(seen), read(fd, &seen, sizeof(seen)));
		if (seen.value)
			break;
		wait_ms(1);
	}
	close(fd);
	EXPECT_GT(seen.value, 0);
	/* The event must have counted since the thread first ran. */
	EXPECT_EQ(seen.enabled, seen.running);
}

TEST_HARNESS_MAIN
