// SPDX-License-Identifier: GPL-2.0-only
/*
 * After batches of all CPUs that can go, but one, everything that belongs to a CPU
 * belongs to a CPU that is online: interrupts, timers, tasks, the clock, work items,
 * readers of PMUs, affinities of kernel threads. What belongs to a CPU that goes is taken
 * over by the CPU that natively takes it over when the same CPUs go one after the other. The
 * tests make interrupts arrive, also those of disk BOLT_DISK and network card BOLT_NIC, if set.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <glob.h>
#include <sys/time.h>
#include <sys/timerfd.h>

#include "cpus.h"
#include "facts.h"
#include "lib/perf.h"
#include "tasks.h"
#include "wire.h"
#include "../kselftest_harness.h"

#define ROUNDS 8
#define BLOCK 4096
#define PATIENCE_MS 10000
#define MSEC 1000000LL
#define IRQS_MAX 256
#define TASKS_MAX (3 * CPUS_MAX)

/* With which timer a task waits. WIDE is TIMER, for a task that may also run on the survivor. */
enum kind { TIMER, WHEEL, WIDE, KINDS };

struct irq {
	int nr;
	bool movable;	/* user space may set the affinity */
	bool stays;	/* the interrupt stays on a CPU that goes, natively as well */
	bool arrives;	/* make_some_arrive() makes the interrupt arrive */
	char affinity[256];
};

FIXTURE(owners) {
	int leaving[CPUS_MAX], nr_leaving;
	int survivor;		/* the lowest or highest CPU online: no test takes it offline */
	cpu_set_t stay;		/* the survivor, and CPUs that cannot leave */
	char list[512];		/* the CPUs that leave */
	struct slot *slots;
	struct task tasks[TASKS_MAX];
	int nr_tasks;
	struct irq irqs[IRQS_MAX];
	int nr_irqs;
	struct facts down, up;	/* after native requests: CPUs offline; CPUs back online */
	int echo;
};

FIXTURE_VARIANT(owners) {
	bool highest;
};

FIXTURE_VARIANT_ADD(owners, lowest_stays) { .highest = false };
FIXTURE_VARIANT_ADD(owners, highest_stays) { .highest = true };

/*
 * Finds the interrupts that have an affinity. If smp_affinity_list cannot be written,
 * user space cannot move the interrupt.
 */
static int irqs_find(struct irq irqs[IRQS_MAX])
{
	glob_t found;
	int n = 0;

	if (glob("/proc/irq/[0-9]*", 0, NULL, &found))
		return 0;
	for (size_t i = 0; i < found.gl_pathc && n < IRQS_MAX; i++) {
		struct irq *irq = &irqs[n];
		char path[128];

		irq->nr = atoi(strrchr(found.gl_pathv[i], '/') + 1);
		irq->stays = false;
		snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity_list",
			 irq->nr);
		if (get(path, irq->affinity, sizeof(irq->affinity)))
			continue;
		irq->movable = !put(path, irq->affinity);
		n++;
	}
	globfree(&found);
	return n;
}

static int irq_set(const struct irq *irq, const char *list)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity_list", irq->nr);
	return irq->movable ? put(path, list) : 0;
}

/*
 * Whether the interrupt can be sent only to CPUs of @cpus, or to no CPU. True as well if
 * the kernel does not show to which CPUs the interrupt can be sent.
 */
static bool irq_is_within(const struct irq *irq, const cpu_set_t *cpus)
{
	char path[128], list[256];
	cpu_set_t set;

	snprintf(path, sizeof(path), "/proc/irq/%d/effective_affinity_list",
		 irq->nr);
	if (get(path, list, sizeof(list)))
		return true;
	set_parse(list, &set);
	return set_within(&set, cpus);
}

/*
 * Makes interrupts of console, disk and network arrive, as some chips move an
 * interrupt only when it arrives.
 */
static int make_some_arrive(int echo_fd)
{
	void *block = aligned_alloc(BLOCK, BLOCK);
	int fd = no_disk() ? -1 : disk_open(O_DIRECT), err = 0;

	if (fd < 0 && !no_disk())
		err = fd;
	for (int i = 0; i < 8 && !err; i++) {
		if (write(2, ".", 1) != 1)
			err = -errno;
		if (fd >= 0 && (pread(fd, block, BLOCK, 0) < 0 ||
				pwrite(fd, block, BLOCK, 0) < 0 || fsync(fd)))
			err = -errno;
		if (echo_fd >= 0 && !err)
			err = echo(echo_fd, i, 100);
		wait_ms(1);
	}
	if (fd >= 0)
		close(fd);
	free(block);
	return err;
}

/* Finds out which interrupts make_some_arrive() makes arrive. */
static void irqs_that_arrive(struct irq *irqs, int nr, int echo_fd)
{
	unsigned long before[IRQS_MAX], counts[MAX_CPUS];

	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < nr; i++) {
			unsigned long sum = 0;

			irq_counts(irqs[i].nr, counts);
			for (int cpu = 0; cpu < MAX_CPUS; cpu++)
				sum += counts[cpu];
			irqs[i].arrives = pass && sum != before[i];
			before[i] = sum;
		}
		if (!pass)
			make_some_arrive(echo_fd);
	}
}

/*
 * Makes the kernel run work items on every CPU that is online, and work items that may run
 * on any CPU.
 */
static int make_works(int echo_fd)
{
	int err = put("/proc/sys/vm/stat_refresh", "1");

	err = err ?: put("/proc/sys/vm/drop_caches", "1");
	sync();
	return err ?: make_some_arrive(echo_fd);
}

static int child_cpu, child_survivor;
static enum kind child_kind;

static void run_child(struct slot *slot)
{
	struct itimerspec when = {
		.it_value.tv_nsec = 2 * MSEC, .it_interval.tv_nsec = 2 * MSEC,
	};
	struct timeval tv = { .tv_usec = 4000 };
	int timer = timerfd_create(CLOCK_MONOTONIC, 0), fds[2];
	unsigned long long n;
	char c;

	if (pin(0, child_cpu) || socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) ||
	    setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) ||
	    timerfd_settime(timer, 0, &when, NULL))
		_exit(1);
	if (child_kind == WIDE)
		pin_pair(0, child_cpu, child_survivor);
	for (;;) {
		if (child_kind == WHEEL)
			recv(fds[0], &c, 1, 0);
		else if (read(timer, &n, sizeof(n)) != sizeof(n))
			_exit(1);
		slot->value = sched_getcpu();
		slot_beat(slot);
	}
}

static int clock_event(int cpu)
{
	return event_open_software(PERF_COUNT_SW_CPU_CLOCK, cpu);
}

/* Returns how far @fd counts within 10 ms; also 0 if @fd cannot be read any more. */
static long long counted(int fd)
{
	unsigned long long from = 0, to = 0;

	if (read(fd, &from, sizeof(from)) != sizeof(from))
		return 0;
	wait_ms(10);
	if (read(fd, &to, sizeof(to)) != sizeof(to))
		return 0;
	return to - from;
}

/*
 * Returns how many ms CLOCK_MONOTONIC_COARSE, which the tick of the timekeeper advances,
 * goes on within 50 ms.
 */
static long long coarse_ms(void)
{
	long long from = clock_ns(CLOCK_MONOTONIC_COARSE);

	burn_ns(CLOCK_MONOTONIC, 50 * MSEC);
	return (clock_ns(CLOCK_MONOTONIC_COARSE) - from) / MSEC;
}

static int one_by_one(const int *cpus, int nr, bool online)
{
	int err = 0;

	for (int i = 0; i < nr && !err; i++)
		err = set_online(cpus[i], online);
	return err;
}

FIXTURE_SETUP(owners)
{
	const char *why = cannot_run();
	int cpus[CPUS_MAX], n;
	char list[512];
	size_t len = 0;
	cpu_set_t all;

	if (why)
		SKIP(return, "%s", why);
	if (access(BOLT_DIR "offline", F_OK))
		SKIP(return, "the kernel has no batches");
	ASSERT_EQ(0, start_over_all());
	ASSERT_EQ(0, get(CPU_DIR "online", list, sizeof(list)));
	set_parse(list, &all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		self->survivor = cpu;
		if (!variant->highest)
			break;
	}
	self->stay = all;
	n = cpus_movable(cpus);
	for (int i = 0; i < n; i++) {
		if (cpus[i] == self->survivor || !CPU_ISSET(cpus[i], &all))
			continue;
		CPU_CLR(cpus[i], &self->stay);
		self->leaving[self->nr_leaving++] = cpus[i];
		len += snprintf(self->list + len, sizeof(self->list) - len,
				"%s%d", len ? "," : "", cpus[i]);
	}
	self->echo = -1;
	if (self->nr_leaving < 2)
		SKIP(return, "needs 3 CPUs, 4 if one cannot leave");
	self->nr_irqs = irqs_find(self->irqs);
	ASSERT_LT(0, self->nr_irqs);
	self->slots = slots_map(TASKS_MAX);
	ASSERT_NE(NULL, self->slots);
	if (no_disk())
		TH_LOG("without interrupts of a disk; a test of these %s", no_disk());
	if (no_nic()) {
		TH_LOG("without interrupts of a network card; a test of these %s", no_nic());
	} else {
		ASSERT_EQ(0, nic_up());
		self->echo = echo_open();
		ASSERT_LE(0, self->echo);
	}

	irqs_that_arrive(self->irqs, self->nr_irqs, self->echo);

	ASSERT_EQ(0, one_by_one(self->leaving, self->nr_leaving, false));
	facts_gather(&self->down);
	for (int i = 0; i < self->nr_irqs; i++)
		self->irqs[i].stays = !irq_is_within(&self->irqs[i],
						     &self->stay);
	ASSERT_EQ(0, one_by_one(self->leaving, self->nr_leaving, true));
	facts_gather(&self->up);
	ASSERT_EQ(0, enable(true));
	/*
	 * The settle delay is longer than the test, so that CPUs are settled only when the
	 * test asks or memory is short.
	 */
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "4000000000"));
}

FIXTURE_TEARDOWN(owners)
{
	if (cannot_run() || !self->slots)
		return;
	for (int i = 0; i < self->nr_tasks; i++)
		task_kill(&self->tasks[i]);
	if (self->echo >= 0)
		close(self->echo);
	unpin(0);
	EXPECT_EQ(0, start_over_all());
	for (int i = 0; i < self->nr_irqs; i++)
		irq_set(&self->irqs[i], self->irqs[i].affinity);
}

/* Takes CPUs offline or back online, in one batch or one by one. */
static int go(const int *cpus, int nr, const char *list, bool batch, bool online)
{
	if (!batch)
		return one_by_one(cpus, nr, online);
	return put(online ? BOLT_DIR "online" : BOLT_DIR "offline", list);
}

TEST_F_TIMEOUT(owners, of_timers_tasks_and_the_clock, 7200)
{
	for (int i = 0; i < self->nr_leaving; i++) {
		for (child_kind = 0; child_kind < KINDS; child_kind++) {
			int n = self->nr_tasks++;

			child_cpu = self->leaving[i];
			child_survivor = self->survivor;
			ASSERT_LT(0, task_start(&self->tasks[n],
						&self->slots[n], run_child));
		}
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < self->nr_tasks; i++) {
			if (i % KINDS != WIDE)
				pin(self->tasks[i].pid,
				    self->leaving[i / KINDS]);
			ASSERT_TRUE(task_lives(&self->tasks[i], 2, PATIENCE_MS));
		}
		/* In some rounds the task that asks is on a CPU that goes. */
		ASSERT_EQ(0, pin(0, round % 2 ? self->survivor :
						self->leaving[0]));
		ASSERT_EQ(0, go(self->leaving, self->nr_leaving, self->list,
				round % 4 != 2, false));
		for (int i = 0; i < self->nr_tasks; i++) {
			const struct slot *slot = &self->slots[i];

			EXPECT_TRUE(task_lives(&self->tasks[i], 3, PATIENCE_MS))
				TH_LOG("task %d of CPU %d", i % KINDS,
				       self->leaving[i / KINDS]);
			EXPECT_TRUE(CPU_ISSET(slot->value, &self->stay));
			if (i % KINDS == WIDE)
				EXPECT_EQ(self->survivor, slot->value);
		}
		EXPECT_LE(30, coarse_ms());
		ASSERT_EQ(0, go(self->leaving, self->nr_leaving, self->list,
				round % 4 != 1, true));
	}
}

/*
 * Orders the movable interrupts. Interrupts that make_some_arrive() makes arrive come
 * last, another of these at the end for each @turn: if a CPU forgets the last of its
 * interrupts, the test notices only if that interrupt arrives.
 */
static int irqs_in_order(const struct irq *irqs, int nr, int turn, int *order)
{
	int n = 0, first;

	for (int i = 0; i < nr; i++)
		if (irqs[i].movable && !irqs[i].arrives)
			order[n++] = i;
	first = n;
	for (int i = 0; i < nr; i++)
		if (irqs[i].movable && irqs[i].arrives)
			order[n++] = i;
	for (; turn && n - first > 1; turn--) {
		int last = order[n - 1];

		memmove(&order[first + 1], &order[first],
			(n - 1 - first) * sizeof(order[0]));
		order[first] = last;
	}
	return n;
}

TEST_F_TIMEOUT(owners, of_interrupts, 7200)
{
	int moved = 0;

	for (int round = 0; round < ROUNDS; round++) {
		int order[IRQS_MAX], n;
		cpu_set_t leaving;
		char list[640];

		/*
		 * In even rounds each interrupt is moved to one of the CPUs that go; in odd
		 * rounds, to all of these CPUs and the survivor.
		 */
		n = irqs_in_order(self->irqs, self->nr_irqs, round / 2, order);
		for (int i = 0; i < n; i++) {
			if (round % 2)
				snprintf(list, sizeof(list), "%s,%d",
					 self->list, self->survivor);
			else
				snprintf(list, sizeof(list), "%d",
					 self->leaving[(round / 2 + i) %
						       self->nr_leaving]);
			irq_set(&self->irqs[order[i]], list);
		}
		ASSERT_EQ(0, make_some_arrive(self->echo));
		set_parse(self->list, &leaving);
		for (int i = 0; i < self->nr_irqs; i++)
			moved += self->irqs[i].movable &&
				 irq_is_within(&self->irqs[i], &leaving);
		ASSERT_EQ(0, go(self->leaving, self->nr_leaving, self->list,
				true, false));
		for (int i = 0; i < self->nr_irqs; i++) {
			const struct irq *irq = &self->irqs[i];

			EXPECT_TRUE(irq->stays || irq_is_within(irq, &self->stay))
				TH_LOG("interrupt %d, round %d", irq->nr, round);
		}
		EXPECT_EQ(0, make_some_arrive(self->echo));
		ASSERT_EQ(0, go(self->leaving, self->nr_leaving, self->list,
				true, true));
	}
	EXPECT_LT(0, moved);
}

TEST_F_TIMEOUT(owners, of_works_and_threads, 7200)
{
	const char *wrong;

	for (int round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(0, make_works(self->echo));
		ASSERT_EQ(0, go(self->leaving, self->nr_leaving, self->list,
				round % 4 != 2, false));
		EXPECT_EQ(0, make_works(self->echo));
		/* Until the CPUs are settled, thresholds of zones may still count these CPUs. */
		if (round % 2) {
			ASSERT_EQ(0, settle_all());
			wrong = facts_differ(&self->down);
			EXPECT_EQ(NULL, wrong)
				TH_LOG("while the CPUs are offline: %s", wrong);
		}
		ASSERT_EQ(0, go(self->leaving, self->nr_leaving, self->list,
				round % 4 != 1, true));
		EXPECT_EQ(0, make_works(self->echo));
		wrong = facts_differ(&self->up);
		EXPECT_EQ(NULL, wrong)
			TH_LOG("when the CPUs are back: %s", wrong);
	}
}

TEST_F_TIMEOUT(owners, of_performance_events, 7200)
{
	int ours = clock_event(self->survivor), theirs[CPUS_MAX], again;

	if (ours < 0)
		SKIP(return, "no performance events");
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < self->nr_leaving; i++) {
			theirs[i] = clock_event(self->leaving[i]);
			ASSERT_LE(0, theirs[i]);
			EXPECT_LT(0, counted(theirs[i]));
		}
		ASSERT_EQ(0, go(self->leaving, self->nr_leaving, self->list,
				true, false));
		EXPECT_LT(0, counted(ours));
		EXPECT_TRUE(pmu_readers_are_online());
		for (int i = 0; i < self->nr_leaving; i++) {
			EXPECT_EQ(0, counted(theirs[i]));
			close(theirs[i]);
			again = clock_event(self->leaving[i]);
			EXPECT_EQ(-ENODEV, again);
		}
		ASSERT_EQ(0, go(self->leaving, self->nr_leaving, self->list,
				round % 4 != 1, true));
		EXPECT_TRUE(pmu_readers_are_online());
	}
	close(ours);
}

TEST_HARNESS_MAIN
