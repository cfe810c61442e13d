// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks leave a CPU that goes, and may come back to it, by the native rules:
 * whatever their policy, pinned or not, running or asleep.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/stat.h>

#include "env.h"
#include "tasks.h"
#include "../kselftest_harness.h"

#define ROUNDS 6
#define TASKS_MAX 64
#define TEXT_MAX 512
#define GROUP GROUP_DIR "bolt-migration"
/* A task that has not run within this time never will. */
#define PATIENCE_MS 5000

static int rounds(void)
{
	return env_number("BOLT_ROUNDS", ROUNDS);
}

static void nap(struct slot *slot)
{
	for (;;) {
		struct timespec ts = { 0, 1500000 };

		slot_beat(slot);
		for (int i = 0; i < 20000; i++)
			__asm__ __volatile__("" : : : "memory");
		clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
	}
}

static void yielder(struct slot *slot)
{
	for (;;) {
		slot_beat(slot);
		sched_yield();
	}
}

/* Makes new tasks all the time. */
static void breed(struct slot *slot)
{
	for (;;) {
		pid_t pid = fork();

		if (!pid) {
			slot_beat(slot);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

/* Tasks that run listen_up() sleep until the test writes to this pipe. */
static int told[2];

static void listen_up(struct slot *slot)
{
	char c;

	slot_beat(slot);
	while (read(told[0], &c, 1) == 1)
		slot_beat(slot);
}

struct kind {
	const char *name;
	void (*run)(struct slot *slot);
	int policy, prio;
};

static const struct kind kinds[] = {
	{ "spin", spin, SCHED_OTHER, 0 },
	{ "nap", nap, SCHED_OTHER, 0 },
	{ "yield", yielder, SCHED_OTHER, 0 },
	{ "breed", breed, SCHED_OTHER, 0 },
	{ "batch", spin, SCHED_BATCH, 0 },
	{ "idle", nap, SCHED_IDLE, 0 },
	{ "fifo", nap, SCHED_FIFO, 10 },
	{ "rr", nap, SCHED_RR, 10 },
};

static int task_policy(const struct task *task, int policy, int prio)
{
	struct sched_param param = { .sched_priority = prio };

	return sched_setscheduler(task->pid, policy, &param) ? -errno : 0;
}

/* The data of a test. */
struct crew {
	struct slot *slots;
	struct task tasks[TASKS_MAX];
	int n;
};

FIXTURE(migration) {
	struct crew crew;
};

FIXTURE_SETUP(migration)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	if (access(CPU_DIR "cpu2/online", F_OK))
		SKIP(return, "needs three CPUs");
	ASSERT_EQ(0, start_over());
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "4000000000"));
	ASSERT_EQ(0, pipe(told));
	self->crew.slots = slots_map(TASKS_MAX);
	ASSERT_NE(NULL, self->crew.slots);
}

static void kill_all(struct crew *crew)
{
	while (crew->n)
		task_kill(&crew->tasks[--crew->n]);
}

FIXTURE_TEARDOWN(migration)
{
	if (cannot_run())
		return;
	kill_all(&self->crew);
	rmdir(GROUP);
	EXPECT_EQ(0, start_over());
}

static struct task *start(struct crew *crew, const struct kind *kind)
{
	struct task *task = &crew->tasks[crew->n];

	if (crew->n == TASKS_MAX)
		abort();
	memset(&crew->slots[crew->n], 0, sizeof(crew->slots[0]));
	if (task_start(task, &crew->slots[crew->n], kind->run) < 0)
		return NULL;
	crew->n++;
	if (kind->policy != SCHED_OTHER &&
	    task_policy(task, kind->policy, kind->prio))
		return NULL;
	return task;
}

/*
 * Returns how many tasks are ready to run on @cpu, which is offline: such a task would
 * wait until the CPU is back.
 */
static int waiting_on(int cpu)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir))) {
		char state;
		int where;

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		/* The kernel may be moving the task, so look at the task three times. */
		for (int i = 0; i < 3; i++) {
			if (task_where(atoi(entry->d_name), &state, &where) ||
			    state != 'R' || where != cpu)
				break;
			if (i == 2)
				n++;
			wait_ms(2);
		}
	}
	if (dir)
		closedir(dir);
	return n;
}

TEST_F_TIMEOUT(migration, nobody_stays, 600)
{
	unsigned long there[TASKS_MAX];
	bool came_back = false;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		ASSERT_NE(NULL, start(&self->crew, &kinds[i]));
	ASSERT_EQ(0, enable(true));
	for (int round = 0; round < rounds(); round++) {
		/* In every other round the tasks are pinned to the CPU. */
		for (int i = 0; i < self->crew.n && round % 2; i++)
			ASSERT_EQ(0, pin(self->crew.tasks[i].pid, VICTIM));
		wait_ms(10);
		ASSERT_EQ(0, set_online(VICTIM, false));
		for (int i = 0; i < self->crew.n; i++) {
			/*
			 * A task must run through its loop twice, because the first time
			 * may have begun on the CPU before the CPU went.
			 */
			EXPECT_TRUE(task_lives(&self->crew.tasks[i], 2, PATIENCE_MS))
				TH_LOG("round %d: %s", round, kinds[i].name);
			there[i] = self->crew.slots[i].there;
		}
		EXPECT_EQ(0, waiting_on(VICTIM));
		EXPECT_EQ(-EINVAL, pin(0, VICTIM));
		for (int i = 0; i < self->crew.n; i++) {
			EXPECT_EQ(there[i], self->crew.slots[i].there)
				TH_LOG("round %d: %s", round, kinds[i].name);
		}
		if (round % 3 == 2)
			ASSERT_EQ(0, settle_all());
		ASSERT_EQ(0, set_online(VICTIM, true));
		/*
		 * When the request returns, tasks must be able to run on the CPU at
		 * once.
		 */
		for (int i = 0; i < self->crew.n; i++) {
			ASSERT_EQ(0, pin(self->crew.tasks[i].pid, VICTIM));
			EXPECT_TRUE(task_lives(&self->crew.tasks[i], 2, PATIENCE_MS))
				TH_LOG("round %d: %s", round, kinds[i].name);
			came_back |= there[i] < self->crew.slots[i].there;
			ASSERT_EQ(0, unpin(self->crew.tasks[i].pid));
		}
	}
	EXPECT_TRUE(came_back);
}

/* Notes where a task may run: as its status file says, and as sched_getaffinity() says. */
static void note(char *text, const struct task *task, const char *when)
{
	char allowed[TEXT_MAX / 4] = "?", seen[64] = "";
	size_t used = strlen(text);
	cpu_set_t set;

	task_status(task->pid, "Cpus_allowed_list", allowed, sizeof(allowed));
	CPU_ZERO(&set);
	sched_getaffinity(task->pid, sizeof(set), &set);
	for (int cpu = 0; cpu < 32; cpu++)
		strcat(seen, CPU_ISSET(cpu, &set) ? "1" : "0");
	snprintf(text + used, TEXT_MAX - used, "%s: %s/%s ", when, allowed, seen);
}

/*
 * The test has tasks that run all the time, or sleep until the test wakes them: if a task
 * wakes up in the middle of a request, chance decides, natively too, whether the kernel finds
 * the task running or asleep.
 */
struct pinned {
	const char *name;
	struct kind kind;
	int cpus[3];		/* ends with -1 */
	bool group;		/* whether the task is in a cpuset of these CPUs */
};

static const struct pinned pinneds[] = {
	{ "running", { "spin", spin }, { VICTIM, -1 } },
	{ "asleep", { "listen", listen_up }, { VICTIM, -1 } },
	{ "asleep, fifo", { "listen", listen_up, SCHED_FIFO, 10 }, { VICTIM, -1 } },
	{ "running, batch", { "spin", spin, SCHED_BATCH }, { VICTIM, -1 } },
	{ "running, to two", { "spin", spin }, { VICTIM, 2, -1 } },
	{ "asleep, to two", { "listen", listen_up }, { VICTIM, 2, -1 } },
	{ "running, cpuset", { "spin", spin }, { VICTIM, -1 }, true },
	{ "asleep, cpuset", { "listen", listen_up }, { VICTIM, -1 }, true },
	{ "running, larger cpuset", { "spin", spin }, { VICTIM, 2, -1 }, true },
	{ "asleep, larger cpuset", { "listen", listen_up }, { VICTIM, 2, -1 }, true },
};

/* Wakes a task that is asleep, or watches a task that runs. Returns whether the task goes on. */
static bool rouse(const struct task *task, bool asleep)
{
	unsigned long end = slot_beats(task->slot) + 1;

	if (!asleep)
		return task_lives(task, 2, PATIENCE_MS);
	if (write(told[1], "", 1) != 1)
		return false;
	return soon(slot_beats(task->slot) >= end, PATIENCE_MS);
}

/*
 * Notes what becomes of the affinity of a pinned task. Returns false if the task does not
 * go on.
 */
static bool broken_affinity(struct crew *crew,
			    const struct pinned *how, char *text)
{
	struct task *task = start(crew, &how->kind);
	bool asleep = how->kind.run == listen_up, lives = true;
	char pid[16], list[16] = "";
	cpu_set_t set;

	if (!task)
		return false;
	while (!slot_beats(task->slot))
		wait_ms(1);
	CPU_ZERO(&set);
	for (int i = 0; how->cpus[i] >= 0; i++) {
		CPU_SET(how->cpus[i], &set);
		sprintf(list + strlen(list), "%s%d", i ? "," : "", how->cpus[i]);
	}
	text[0] = '\0';
	if (how->group) {
		snprintf(pid, sizeof(pid), "%d", task->pid);
		if (put(GROUP "/cpuset.cpus", list) ||
		    put(GROUP "/cgroup.procs", pid))
			return false;
		CPU_CLR(2, &set);
	}
	if (pin_set(task->pid, &set))
		return false;
	lives &= rouse(task, asleep);
	note(text, task, "before");
	if (set_online(VICTIM, false))
		return false;
	note(text, task, "offline");
	lives &= rouse(task, asleep);
	note(text, task, "woken");
	if (set_online(VICTIM, true))
		return false;
	note(text, task, "online");
	lives &= rouse(task, asleep);
	note(text, task, "after");
	unpin(task->pid);
	note(text, task, "unpinned");
	kill_all(crew);
	return lives;
}

TEST_F_TIMEOUT(migration, pinned_tasks_are_let_go_as_natively, 600)
{
	char native[TEXT_MAX], bolt[TEXT_MAX];
	bool broken = false;

	if (put(GROUP_DIR "cgroup.subtree_control", "+cpuset"))
		SKIP(return, "no cpuset controller at /sys/fs/cgroup");
	ASSERT_EQ(0, mkdir(GROUP, 0755));
	for (size_t i = 0; i < ARRAY_SIZE(pinneds); i++) {
		const struct pinned *how = &pinneds[i];

		ASSERT_EQ(0, enable(false));
		ASSERT_TRUE(broken_affinity(&self->crew, how, native))
			TH_LOG("%s", how->name);
		ASSERT_EQ(0, enable(true));
		EXPECT_TRUE(broken_affinity(&self->crew, how, bolt))
			TH_LOG("%s", how->name);
		EXPECT_STREQ(native, bolt)
			TH_LOG("%s", how->name);
		if (how->cpus[1] < 0)
			broken |= !strstr(native, "woken: 1/");
	}
	/* Unless some pinned task has lost its affinity, the comparison has shown nothing. */
	EXPECT_TRUE(broken);
}

/* Tasks that are pinned to two CPUs that are offline at the same time. */
struct pair {
	const char *name;
	struct kind kind;
	bool wakes;		/* whether the task is woken while the CPUs are offline */
	bool group;		/* whether the task is in a cpuset without CPUs of its own */
	bool keeps;		/* whether the task has its affinity again when the CPUs are back */
};

static const struct pair pairs[] = {
	{ "running", { "spin", spin }, true },
	{ "woken", { "listen", listen_up }, true },
	{ "asleep", { "listen", listen_up }, .keeps = true },
	{ "running, cpuset", { "spin", spin }, true, true },
	{ "woken, cpuset", { "listen", listen_up }, true, true, true },
	{ "asleep, cpuset", { "listen", listen_up }, false, true, true },
};

static int put_pair(bool online, bool batch)
{
	int err;

	if (batch)
		return put(online ? BOLT_DIR "online" : BOLT_DIR "offline", "1-2");
	err = set_online(VICTIM, online);
	return err ?: set_online(2, online);
}

/*
 * Notes what becomes of the task's affinity, and whether the task has its affinity again when
 * the CPUs are back. Returns false if the task does not go on.
 */
static bool away_together(struct crew *crew, const struct pair *how, bool batch,
			  char *text, bool *kept)
{
	struct task *task = start(crew, &how->kind);
	bool asleep = how->kind.run == listen_up, lives = true;
	char pid[16], list[16];

	if (!task)
		return false;
	while (!slot_beats(task->slot))
		wait_ms(1);
	text[0] = '\0';
	snprintf(pid, sizeof(pid), "%d", task->pid);
	if ((how->group && put(GROUP "/cgroup.procs", pid)) ||
	    pin_pair(task->pid, VICTIM, 2))
		return false;
	lives &= rouse(task, asleep);
	/* Gives a task that does not spin the time to go to sleep. */
	wait_ms(20);
	note(text, task, "before");
	if (put_pair(false, batch))
		return false;
	note(text, task, "offline");
	if (how->wakes)
		lives &= rouse(task, asleep);
	note(text, task, "woken");
	if (put_pair(true, batch))
		return false;
	note(text, task, "online");
	lives &= rouse(task, asleep);
	note(text, task, "after");
	*kept = !task_status(task->pid, "Cpus_allowed_list", list, sizeof(list)) &&
		!strcmp(list, "1-2");
	kill_all(crew);
	return lives;
}

TEST_F_TIMEOUT(migration, both_cpus_go, 600)
{
	char native[TEXT_MAX], bolt[TEXT_MAX];
	bool kept;

	if (put(GROUP_DIR "cgroup.subtree_control", "+cpuset"))
		SKIP(return, "no cpuset controller at /sys/fs/cgroup");
	ASSERT_EQ(0, mkdir(GROUP, 0755));
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		const struct pair *how = &pairs[i];

		ASSERT_EQ(0, enable(false));
		ASSERT_TRUE(away_together(&self->crew, how, false, native, &kept))
			TH_LOG("%s", how->name);
		EXPECT_EQ(how->keeps, kept)
			TH_LOG("%s", how->name);
		ASSERT_EQ(0, enable(true));
		for (int batch = 0; batch < 2; batch++) {
			EXPECT_TRUE(away_together(&self->crew, how, batch, bolt,
						  &kept))
				TH_LOG("%s", how->name);
			EXPECT_STREQ(native, bolt)
				TH_LOG("%s, batch %d", how->name, batch);
		}
	}
}

/*
 * Returns a text that says where tasks with the names of some kernel threads may run, or
 * NULL on an error. The caller frees the text.
 */
static char *kthreads(void)
{
	static const char * const names[] = {
		"cpuhp/", "migration/", "ksoftirqd/", "rcuc/", "idle_inject/",
		"rcu_", "kswapd", "kcompactd", "khugepaged", "watchdog",
	};
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	while (out && dir && (entry = readdir(dir))) {
		char name[64], allowed[64];
		pid_t pid = atoi(entry->d_name);

		if (pid <= 0 || task_status(pid, "Name", name, sizeof(name)) ||
		    task_status(pid, "Cpus_allowed_list", allowed, sizeof(allowed)))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			if (!strncmp(name, names[i], strlen(names[i])))
				fprintf(out, "%s=%s ", name, allowed);
		}
	}
	if (dir)
		closedir(dir);
	if (out)
		fclose(out);
	return text;
}

#define EXPECT_KTHREADS(wanted)						\
do {									\
	char *now = kthreads();						\
									\
	ASSERT_NE(NULL, now);						\
	EXPECT_STREQ(wanted, now);					\
	free(now);							\
} while (0)

TEST_F(migration, kernel_threads)
{
	char *before = kthreads(), *offline, *online;

	ASSERT_NE(NULL, before);
	ASSERT_NE(NULL, strstr(before, "ksoftirqd/1=1 "));
	ASSERT_EQ(0, set_online(VICTIM, false));
	offline = kthreads();
	ASSERT_NE(NULL, offline);
	ASSERT_EQ(0, set_online(VICTIM, true));
	online = kthreads();
	ASSERT_NE(NULL, online);
	ASSERT_EQ(0, enable(true));
	for (int round = 0; round < 3; round++) {
		ASSERT_EQ(0, set_online(VICTIM, false));
		EXPECT_KTHREADS(offline);
		if (round == 1) {
			ASSERT_EQ(0, settle_all());
			EXPECT_KTHREADS(offline);
		}
		ASSERT_EQ(0, set_online(VICTIM, true));
		EXPECT_KTHREADS(online);
	}
}

/* How many queued signals a pinned task gets while its CPU comes and goes. */
#define SIGNALS 400

static void count_signals(struct slot *slot)
{
	sigset_t set;
	siginfo_t info;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	slot_beat(slot);
	while (sigwaitinfo(&set, &info) == SIGRTMIN) {
		/* Signals must arrive in order, and no signal twice. */
		if (info.si_value.sival_int != slot->value)
			slot->value = -1;
		if (slot->value >= 0)
			slot->value++;
		slot_beat(slot);
	}
}

TEST_F_TIMEOUT(migration, signals_arrive, 600)
{
	static const struct kind kind = { "signals", count_signals };
	struct task *task = start(&self->crew, &kind);

	ASSERT_NE(NULL, task);
	ASSERT_TRUE(task_lives(task, 0, PATIENCE_MS));
	while (!slot_beats(task->slot))
		wait_ms(1);
	ASSERT_EQ(0, enable(true));
	for (int i = 0; i < SIGNALS; i++) {
		union sigval value = { .sival_int = i };

		while (sigqueue(task->pid, SIGRTMIN, value) && errno == EAGAIN)
			wait_ms(1);
		if (i % 40 == 10)
			ASSERT_EQ(0, pin(task->pid, VICTIM));
		if (i % 40 == 20)
			ASSERT_EQ(0, set_online(VICTIM, false));
		if (i % 40 == 30)
			ASSERT_EQ(0, set_online(VICTIM, true));
	}
	for (int i = 0; i < PATIENCE_MS && task->slot->value != SIGNALS; i++)
		wait_ms(1);
	EXPECT_EQ(SIGNALS, task->slot->value);
}

TEST_HARNESS_MAIN
