// SPDX-License-Identifier: GPL-2.0-only
/*
 * A task asks for CPUs to come or go, and then hardly gets CPU time, is stopped or
 * is killed. Its request must take no more than twice as long as natively, and no
 * reader of the hotplug lock may wait more than twice as long, except for a wait of
 * less than a tick.
 */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "env.h"
#include "sets.h"
#include "tasks.h"
#include "../kselftest_harness.h"

#define GROUP GROUP_DIR "bolt-callers"
#define BATCH 3
/* How many requests of a kind are made, unless BOLT_ROUNDS says otherwise. */
#define ROUNDS 5
/* The quota of a caller, in us of each PERIOD: a hundredth of the time of one CPU. */
#define QUOTA 1000
#define PERIOD 100000
/* How many times as long as natively a request may take, or a reader may wait. */
#define TIMES 2

/* Why the task that asks makes slow progress. */
enum ail { NOTHING, IDLE_POLICY, TURNED_IDLE, BUSY_FIFO, THROTTLED, STOPPED, KILLED };

/* Real-time priorities: of tasks that are busy, of a caller, of this task, of a reader. */
enum { BUSY_PRIORITY = 1, CALLER_PRIORITY, TEST_PRIORITY, READER_PRIORITY };

/* What a request is for: one CPU, or BATCH of them. */
static const struct want {
	const char *name;
	bool online, batch;
} wants[] = {
	{ "offline1", false, false },
	{ "online1", true, false },
	{ "offline batch", false, true },
	{ "online batch", true, true },
};

#define WANTS ARRAY_SIZE(wants)

/* Memory through which the tasks tell each other what has happened. */
struct shared {
	long long begin, end;	/* when a request began and ended for its caller, ns */
	int err;
	cpus_t cpus, wanted;	/* each of @cpus is to be online if it is in @wanted */
	long long done;		/* when a reader saw that @cpus are as wanted, ns */
	long long longest;	/* the longest wait of a reader, ns */
};

FIXTURE(callers) {
	struct shared *shared;
	struct slot *slots;
	struct task busy[CPU_SETSIZE], reader;
	int nr_busy;
	cpus_t cpus;		/* the CPUs that come and go */
};

FIXTURE_VARIANT(callers) {
	enum ail ail;
	bool busy;
};

FIXTURE_VARIANT_ADD(callers, idle_policy) { IDLE_POLICY, true };
FIXTURE_VARIANT_ADD(callers, turned_idle) { TURNED_IDLE, true };
FIXTURE_VARIANT_ADD(callers, busy_fifo) { BUSY_FIFO, true };
FIXTURE_VARIANT_ADD(callers, quota) { THROTTLED, false };
FIXTURE_VARIANT_ADD(callers, stopped) { STOPPED, false };
FIXTURE_VARIANT_ADD(callers, killed) { KILLED, false };

static struct shared *shared;

/* How many requests of a kind are made, unless the caller has idle policy. */
static int rounds(void)
{
	return env_number("BOLT_ROUNDS", ROUNDS) ?: ROUNDS;
}

/*
 * Natively a caller of idle policy may wait for seconds before it asks, so fewer requests
 * are made with this policy.
 */
static int rounds_of(enum ail ail)
{
	return ail == IDLE_POLICY ? (rounds() + 1) / 2 : rounds();
}

/*
 * Takes the hotplug lock for reading again and again, with the highest priority of all
 * tasks of this test.
 */
static void read_on(struct slot *slot)
{
	char text[4096];

	for (;;) {
		cpus_t online;
		long long start = now_ns(), took;

		if (get(BOLT_DIR "parked", text, sizeof(text)))
			abort();
		took = now_ns() - start;
		if (took > __atomic_load_n(&shared->longest, __ATOMIC_SEQ_CST))
			__atomic_store_n(&shared->longest, took, __ATOMIC_SEQ_CST);
		if (!cpus_read(CPU_DIR "online", &online))
			abort();
		if (!__atomic_load_n(&shared->done, __ATOMIC_SEQ_CST) &&
		    (online & shared->cpus) == shared->wanted)
			__atomic_store_n(&shared->done, now_ns(),
					 __ATOMIC_SEQ_CST);
		slot_beat(slot);
		wait_us(200);
	}
}

static int set_fifo(pid_t pid, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	return sched_setscheduler(pid, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) ? -errno : 0;
}

FIXTURE_SETUP(callers)
{
	const char *why = cannot_run();
	struct world world;
	int nr = sysconf(_SC_NPROCESSORS_ONLN);

	if (why)
		SKIP(return, "%s", why);
	if (!world_look(&world))
		SKIP(return, "more than 64 CPUs");
	for (int cpu = 1, n = 0; cpu < SETS_MAX && n < BATCH; cpu++) {
		if (!(world.movable & CPU(cpu)))
			continue;
		self->cpus |= CPU(cpu);
		n++;
	}
	if (cpus_count(self->cpus) < BATCH)
		SKIP(return, "needs %d CPUs that can go offline", BATCH);
	ASSERT_EQ(0, sets_start_over(&world));
	if (put(GROUP_DIR "cgroup.subtree_control", "+cpu"))
		SKIP(return, "no cpu controller at /sys/fs/cgroup");
	mkdir(GROUP, 0755);
	if (access(GROUP "/cpu.max", F_OK))
		SKIP(return, "no quotas of CPU time");
	self->shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	shared = self->shared;
	self->slots = slots_map(CPU_SETSIZE + 1);
	ASSERT_NE(NULL, self->slots);
	/*
	 * With a real-time priority this task sees at once when a caller is done, or has
	 * been stopped.
	 */
	ASSERT_EQ(0, pin(0, 0));
	ASSERT_EQ(0, set_fifo(0, TEST_PRIORITY));
	ASSERT_GT(task_start(&self->reader, &self->slots[CPU_SETSIZE], read_on), 0);
	ASSERT_EQ(0, set_fifo(self->reader.pid, READER_PRIORITY));
	for (int i = 0; i < nr && variant->busy; i++) {
		/*
		 * Hotplug threads of CPUs that go or come have a fair policy, natively
		 * too, and do not run beside a busy real-time task: so only CPUs that
		 * stay get a busy real-time task.
		 */
		if (variant->ail == BUSY_FIFO && (self->cpus & CPU(i)))
			continue;
		ASSERT_GT(task_start(&self->busy[self->nr_busy], &self->slots[i], spin), 0);
		if (variant->ail == BUSY_FIFO) {
			ASSERT_EQ(0, pin(self->busy[self->nr_busy].pid, i));
			ASSERT_EQ(0, set_fifo(self->busy[self->nr_busy].pid, BUSY_PRIORITY));
		} else {
			ASSERT_EQ(0, unpin(self->busy[self->nr_busy].pid));
		}
		self->nr_busy++;
	}
}

FIXTURE_TEARDOWN(callers)
{
	if (cannot_run() || !self->slots)
		return;
	while (self->nr_busy)
		task_kill(&self->busy[--self->nr_busy]);
	task_kill(&self->reader);
	EXPECT_EQ(0, rmdir(GROUP));
	EXPECT_EQ(0, enable(true));
	EXPECT_EQ(0, ask_by_list(ONLINE_THEM, self->cpus));
	EXPECT_EQ(0, start_over());
	unpin(0);
}

/* Takes @cpus offline or online: with Bolt in one request, natively one CPU after the other. */
static int ask_for(const struct want *want, cpus_t cpus, bool bolt)
{
	int err = 0;

	if (!want->batch)
		return set_online(cpus_first(cpus), want->online);
	if (bolt)
		return ask_by_list(want->online ? ONLINE_THEM : OFFLINE_THEM, cpus);
	for (int cpu = 0; cpu < SETS_MAX && !err; cpu++) {
		if (cpus & CPU(cpu))
			err = set_online(cpu, want->online);
	}
	return err;
}

/* Has the kernel send @signal to the task that calls this function, after @ns ns. */
static int strike(int signal, long long ns)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal };
	struct itimerspec when = { .it_value = { ns / 1000000000, ns % 1000000000 } };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &when, NULL))
		return -errno;
	return 0;
}

/* For how many ns a caller runs undisturbed in @round of rounds(). */
static long long middle(long long usual, int round)
{
	return usual * (round + 1) / (rounds() + 1);
}

/*
 * The caller gets idle policy in the middle of its request. With that policy
 * from the start, chance would say how long the caller waits before it asks.
 */
static void turn_idle(pid_t pid, long long ns)
{
	struct sched_param none = { 0 };
	long long begin;

	while (!(begin = __atomic_load_n(&shared->begin, __ATOMIC_SEQ_CST)))
		wait_us(50);
	wait_until(CLOCK_MONOTONIC, begin + ns);
	if (sched_setscheduler(pid, SCHED_IDLE, &none))
		abort();
}

/*
 * What the task that asks does. A quota that ends, or a signal, disturbs the request at
 * a different moment in each @round.
 */
static void ask(enum ail ail, const struct want *want, cpus_t cpus, bool bolt,
		long long usual, int round)
{
	struct sched_param none = { 0 };
	long long until;
	int err = unpin(0);

	switch (ail) {
	case NOTHING:
	case TURNED_IDLE:
	case BUSY_FIFO:
		/* The caller has a higher priority than the busy tasks, if there are any. */
		err = err ?: set_fifo(0, CALLER_PRIORITY);
		break;
	case IDLE_POLICY:
		err = err ?: sched_setscheduler(0, SCHED_IDLE, &none) ? -errno : 0;
		break;
	case THROTTLED:
		err = err ?: put(GROUP "/cgroup.procs", "0");
		/*
		 * Uses up 90 per cent of the quota in the first round, more in each later
		 * round, but never all. So the quota mostly ends in the middle of the
		 * request.
		 */
		until = clock_ns(CLOCK_THREAD_CPUTIME_ID) +
			QUOTA * 100LL * (9 * rounds() + round) / rounds();
		while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
			;
		break;
	case STOPPED:
	case KILLED:
		err = err ?: strike(ail == STOPPED ? SIGSTOP : SIGKILL,
				    middle(usual, round));
		break;
	}
	__atomic_store_n(&shared->begin, now_ns(), __ATOMIC_SEQ_CST);
	shared->err = err ?: ask_for(want, cpus, bolt);
	shared->end = now_ns();
	/* If the request ends before the signal comes, waits for the signal. */
	if (ail == STOPPED || ail == KILLED)
		pause();
	_exit(0);
}

/*
 * How long all requests took in sum, and the longest wait of a reader, in ns; for all
 * kinds of requests together, the sum of the longest waits beside each kind. A request of
 * a caller that is held up ends when a reader sees the CPUs as wanted, because the caller
 * itself may run again only later, for instance with its next quota.
 */
struct times {
	long long took, held;
};

/* Makes rounds_of(@ail) requests, by tasks whose trouble is @ail, natively or with Bolt. */
static void measure(struct __test_metadata *_metadata, enum ail ail,
		    const struct want *want, cpus_t cpus, bool bolt,
		    long long usual, struct times *times)
{
	char quota[32];

	snprintf(quota, sizeof(quota), "%d %d", QUOTA, PERIOD);
	for (int round = 0; round < rounds_of(ail); round++) {
		cpus_t online;
		long long end;
		int status;
		pid_t pid;

		ASSERT_EQ(0, enable(true));
		ASSERT_EQ(0, ask_by_list(want->online ? OFFLINE_THEM : ONLINE_THEM, cpus));
		ASSERT_EQ(0, settle_all());
		ASSERT_EQ(0, enable(bolt));
		if (ail == THROTTLED)
			ASSERT_EQ(0, put(GROUP "/cpu.max", quota));
		/*
		 * Waits until a caller that is to be throttled has its next quota, and,
		 * with Bolt just disabled, readers of the hotplug lock are fast again.
		 */
		wait_ms(ail == THROTTLED ? 2 * PERIOD / 1000 : 50);
		shared->begin = 0;
		shared->end = 0;
		shared->err = 0;
		shared->longest = 0;
		shared->cpus = cpus;
		shared->wanted = want->online ? cpus : 0;
		__atomic_store_n(&shared->done, 0, __ATOMIC_SEQ_CST);
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid)
			ask(ail, want, cpus, bolt, usual, round);
		if (ail == TURNED_IDLE)
			turn_idle(pid, middle(usual, round));
		ASSERT_EQ(pid, waitpid(pid, &status, WUNTRACED));
		end = shared->end ?: now_ns();
		/* After this wait a reader that has waited for the hotplug lock has taken it. */
		wait_ms(2);
		/*
		 * Natively a caller may be killed before it gets to all CPUs of the
		 * request. No reader then sees the request done, and the request ends
		 * with its caller.
		 */
		if (shared->done && ail != NOTHING)
			end = shared->done;
		times->took += end - shared->begin;
		if (shared->longest > times->held)
			times->held = shared->longest;
		if (ail == STOPPED) {
			EXPECT_TRUE(WIFSTOPPED(status));
			kill(pid, SIGCONT);
			/* The caller may have been stopped before it asked. */
			while (!__atomic_load_n(&shared->end, __ATOMIC_SEQ_CST))
				wait_ms(1);
			kill(pid, SIGKILL);
			ASSERT_EQ(pid, waitpid(pid, &status, 0));
		}
		ASSERT_GT(shared->begin, 0);
		EXPECT_EQ(0, shared->err);
		ASSERT_TRUE(cpus_read(CPU_DIR "online", &online));
		if (bolt)
			EXPECT_TRUE((online & cpus) == 0 || (online & cpus) == cpus);
		if (ail != KILLED)
			EXPECT_EQ(want->online ? cpus : 0, online & cpus);
	}
}

/* The time between two ticks of the kernel, ns. */
static long long tick(void)
{
	struct timespec res = { 0, 0 };

	clock_getres(CLOCK_MONOTONIC_COARSE, &res);
	return res.tv_nsec;
}

/* Compares how long requests took, of one kind or of all kinds. */
static void compare_times(struct __test_metadata *_metadata, const struct times *native,
			  const struct times *bolt)
{
	EXPECT_LE(bolt->took, TIMES * native->took);
}

/*
 * Compares the waits of readers, beside one kind of request or beside all. A caller
 * that is kept from running waits for a tick at least, so a reader that waits for less
 * than a tick waits only for the work of the request.
 */
static void compare_waits(struct __test_metadata *_metadata, const struct times *native,
			  const struct times *bolt)
{
	if (bolt->held > tick())
		EXPECT_LE(bolt->held, TIMES * native->held);
}

TEST_F_TIMEOUT(callers, request_is_not_held, 3600)
{
	struct times all[2] = { 0 };
	int nr = rounds_of(variant->ail);
	/*
	 * Beside busy tasks, the time of one kind of request depends on chance. So does
	 * the time of a caller with a quota: the quota may end before the kernel has the
	 * request, and then the caller asks only with its next quota. The sum over
	 * all kinds depends on chance much less.
	 */
	bool sum_times = variant->busy || variant->ail == THROTTLED;
	bool in_the_middle = variant->ail == TURNED_IDLE || variant->ail == STOPPED ||
			     variant->ail == KILLED;

	for (size_t i = 0; i < WANTS; i++) {
		cpus_t cpus = wants[i].batch ? self->cpus : CPU(cpus_first(self->cpus));
		struct times times[2] = { 0 };

		for (int bolt = 0; bolt < 2; bolt++) {
			struct times usual = { 0 };

			/*
			 * Measures first how long a request takes, to know where
			 * its middle is.
			 */
			if (in_the_middle)
				measure(_metadata, NOTHING, &wants[i], cpus, bolt, 0, &usual);
			measure(_metadata, variant->ail, &wants[i], cpus, bolt,
				usual.took / rounds(), &times[bolt]);
		}
		TH_LOG("%s: natively %lld us, readers wait up to %lld us; Bolt %lld us, %lld us",
		       wants[i].name, times[0].took / nr / 1000, times[0].held / 1000,
		       times[1].took / nr / 1000, times[1].held / 1000);
		/*
		 * Bolt holds the hotplug lock for the whole batch, but natively the lock
		 * is released after each CPU. So the time that a native batch takes counts
		 * as the native wait of a reader.
		 */
		if (wants[i].batch)
			times[0].held = times[0].took / nr;
		for (int bolt = 0; bolt < 2; bolt++) {
			all[bolt].took += times[bolt].took;
			all[bolt].held += times[bolt].held;
		}
		if (!sum_times)
			compare_times(_metadata, &times[0], &times[1]);
		if (!variant->busy)
			compare_waits(_metadata, &times[0], &times[1]);
	}
	if (sum_times)
		compare_times(_metadata, &all[0], &all[1]);
	if (variant->busy)
		compare_waits(_metadata, &all[0], &all[1]);
}

TEST_HARNESS_MAIN
