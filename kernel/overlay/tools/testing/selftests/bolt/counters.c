// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters do not go backwards while CPUs come and go, nor lose what a CPU has
 * counted; perf events of a CPU or a task read as natively. The test names counters that go
 * backwards in native rounds, and leaves them out.
 */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#include "env.h"
#include "lib/perf.h"
#include "tasks.h"
#include "tree.h"
#include "../kselftest_harness.h"

#define ROUNDS 6
#define NAME_MAX_ 96

struct counter {
	char name[NAME_MAX_];
	unsigned long long value;
};

struct counters {
	int n, max;		/* the number of counters, and for how many @at has room */
	struct counter *at;
};

static void keep(struct counters *counters, const struct counter *counter)
{
	if (counters->n == counters->max) {
		counters->max += counters->max + 1024;
		counters->at = realloc(counters->at, counters->max * sizeof(*counter));
		if (!counters->at)
			abort();
	}
	counters->at[counters->n++] = *counter;
}

static void add(struct counters *counters, const char *file, const char *row,
		const char *column, unsigned long long value)
{
	struct counter counter = { .value = value };

	snprintf(counter.name, sizeof(counter.name), "%s %.40s %.15s", file, row, column);
	keep(counters, &counter);
}

/* Reads a table with CPUs as columns. The first line names the CPUs of the columns. */
static void read_table(struct counters *counters, const char *path)
{
	static char line[65536], columns[CPU_SETSIZE][16];
	FILE *file = fopen(path, "r");
	int n = 0;

	if (!file)
		return;
	if (fgets(line, sizeof(line), file))
		for (char *at = strtok(line, "\n "); at; at = strtok(NULL, "\n "))
			snprintf(columns[n++], sizeof(columns[0]), "%s", at);
	while (fgets(line, sizeof(line), file)) {
		char *row = strtok(line, ":"), *at;

		row += strspn(row, " ");
		for (int i = 0; i < n && (at = strtok(NULL, "\n ")); i++) {
			char *end;
			unsigned long long value = strtoull(at, &end, 10);

			if (*end)
				break;
			add(counters, path, row, columns[i], value);
		}
	}
	fclose(file);
}

/* Reads the lines, of a name and numbers, whose name begins with one of @names. */
static void read_lines(struct counters *counters, const char *path,
		       const char * const *names)
{
	static char line[65536];
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof(line), file)) {
		char *row = strtok(line, " "), *at, column[16];
		bool wanted = false;

		for (int i = 0; names[i]; i++)
			wanted |= !strncmp(row, names[i], strlen(names[i]));
		for (int i = 0; wanted && (at = strtok(NULL, "\n ")); i++) {
			snprintf(column, sizeof(column), "%d", i);
			add(counters, path, row, column, strtoull(at, NULL, 10));
		}
	}
	if (file)
		fclose(file);
}

static void read_all(struct counters *counters)
{
	/* The list lacks nr_*, which are amounts and not counts of events. */
	static const char * const events[] = {
		"pg", "numa_", "thp_", "compact_", "unevictable_pgs",
		"drop_", "slabs_scanned", "oom_kill", "allocstall", "kswapd_",
		"pageoutrun", "workingset_refault", "workingset_activate",
		"swpin", "swpout", NULL,
	};
	static const char * const stat[] = {
		"cpu", "intr", "ctxt", "processes", "softirq", NULL,
	};
	static const char * const node[] = { "numa_", "local", "other", NULL };

	counters->n = 0;
	read_table(counters, "/proc/interrupts");
	read_table(counters, "/proc/softirqs");
	read_lines(counters, "/proc/vmstat", events);
	read_lines(counters, "/proc/stat", stat);
	read_lines(counters, "/sys/devices/system/node/node0/numastat", node);
}

static int find(const struct counters *counters, const char *name, int from)
{
	/*
	 * Rows seldom come or go, so look first near the place where the counter
	 * was.
	 */
	for (int i = 0; i < counters->n; i++) {
		int k = (from + i) % counters->n;

		if (!strcmp(counters->at[k].name, name))
			return k;
	}
	return -1;
}

/*
 * Does work that counters of many kinds count. The test binds this task to VICTIM while
 * VICTIM is online.
 */
static void work(struct slot *slot)
{
	int fd = open("/tmp", O_RDWR | O_TMPFILE, 0600);

	for (;;) {
		size_t size = 1 << 20;
		char *map = mmap(NULL, size, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (size_t i = 0; i < size; i += 4096)
			map[i] = 1;
		munmap(map, size);
		if (pwrite(fd, &fd, sizeof(fd), 0) < 0 || ftruncate(fd, 0))
			_exit(1);
		slot_beat(slot);
		wait_ms(1);
	}
}

/* The data of a test. */
struct crew {
	struct slot *slots;
	struct task tasks[2];
};

FIXTURE(counters) {
	struct crew crew;
};

FIXTURE_SETUP(counters)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_over());
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "4000000000"));
	self->crew.slots = slots_map(ARRAY_SIZE(self->crew.tasks));
	ASSERT_NE(NULL, self->crew.slots);
}

FIXTURE_TEARDOWN(counters)
{
	if (cannot_run())
		return;
	for (size_t i = 0; i < ARRAY_SIZE(self->crew.tasks); i++)
		task_kill(&self->crew.tasks[i]);
	EXPECT_EQ(0, start_over());
}

static struct counters *before, *after, *backwards;

/* Counters that go backwards natively, though not in every round. */
static const struct {
	const char *name, *reason;
} known[] = {
	{ "/proc/stat cpu 3",
	  "idle time is counted in ticks for CPUs that are offline, else in ns" },
	{ "/proc/stat cpu 4", "as above" },
};

static bool is_known(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(name, known[i].name))
			return true;
	return backwards->n && find(backwards, name, 0) >= 0;
}

/*
 * Reads all counters. Returns how many have gone backwards since the last reading,
 * without those that is_known() names. If @native is true, adds these counters to the list
 * "backwards" instead, and returns 0.
 */
static int step(struct __test_metadata *_metadata, bool native, const char *when)
{
	struct counters *other;
	int n = 0;

	read_all(after);
	for (int i = 0; i < before->n; i++) {
		const char *name = before->at[i].name;
		int k = find(after, name, i);

		if (k < 0) {
			/*
			 * The counter's row or column is gone. The last value is kept,
			 * and must be reached when the row or column is back.
			 */
			keep(after, &before->at[i]);
			continue;
		}
		if (after->at[k].value >= before->at[i].value || is_known(name))
			continue;
		if (native) {
			keep(backwards, &before->at[i]);
		} else {
			n++;
			TH_LOG("%s: %s: %llu, then %llu", when, name,
			       before->at[i].value, after->at[k].value);
		}
	}
	other = before;
	before = after;
	after = other;
	return n;
}

static int cycle(struct __test_metadata *_metadata, struct crew *crew,
		 bool native, bool settle)
{
	int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(crew->tasks); i++)
		ASSERT_EQ(0, pin(crew->tasks[i].pid, VICTIM));
	for (size_t i = 0; i < ARRAY_SIZE(crew->tasks); i++)
		EXPECT_TRUE(task_lives(&crew->tasks[i], 3, 5000));
	n += step(_metadata, native, "before");
	ASSERT_EQ(0, set_online(VICTIM, false));
	n += step(_metadata, native, "offline");
	for (size_t i = 0; i < ARRAY_SIZE(crew->tasks); i++)
		EXPECT_TRUE(task_lives(&crew->tasks[i], 3, 5000));
	n += step(_metadata, native, "a while later");
	if (settle) {
		ASSERT_EQ(0, settle_all());
		n += step(_metadata, native, "settled");
	}
	ASSERT_EQ(0, set_online(VICTIM, true));
	n += step(_metadata, native, "online");
	return n;
}

TEST_F_TIMEOUT(counters, never_go_backwards, 600)
{
	int rounds = env_number("BOLT_ROUNDS", ROUNDS);

	before = calloc(1, sizeof(*before));
	after = calloc(1, sizeof(*after));
	backwards = calloc(1, sizeof(*backwards));
	ASSERT_TRUE(before && after && backwards);
	for (size_t i = 0; i < ARRAY_SIZE(self->crew.tasks); i++)
		ASSERT_GT(task_start(&self->crew.tasks[i], &self->crew.slots[i], work), 0);
	read_all(before);
	ASSERT_GT(before->n, 50);
	for (int round = 0; round < rounds; round++)
		cycle(_metadata, &self->crew, true, false);
	for (int i = 0; i < backwards->n; i++)
		TH_LOG("goes backwards natively: %s", backwards->at[i].name);
	/* If page faults went backwards natively, the comparison would leave out too much. */
	ASSERT_EQ(-1, backwards->n ? find(backwards, "/proc/vmstat pgfault 0", 0) : -1);
	ASSERT_EQ(0, enable(true));
	for (int round = 0; round < rounds; round++)
		EXPECT_EQ(0, cycle(_metadata, &self->crew, false, round % 2));
}

/* Each CPU counts pages of shared memory, and statfs() sums the counts of all CPUs. */
TEST_F_TIMEOUT(counters, sums_are_exact, 600)
{
	char *map;
	struct statfs was, is;
	size_t size = 8 << 20;
	int fd;

	/* No other program may write here, and the number of blocks must be limited. */
	mkdir(TMPFS, 0700);
	ASSERT_EQ(0, mount("tmpfs", TMPFS, "tmpfs", 0, "size=64M"));
	ASSERT_EQ(0, enable(true));
	for (int round = 0; round < 4; round++) {
		ASSERT_EQ(0, statfs(TMPFS, &was));
		ASSERT_EQ(0, pin(0, VICTIM));
		fd = open(TMPFS, O_RDWR | O_TMPFILE, 0600);
		ASSERT_GE(fd, 0);
		ASSERT_EQ(0, ftruncate(fd, size));
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		ASSERT_NE(MAP_FAILED, map);
		for (size_t i = 0; i < size; i += 4096)
			map[i] = 1;
		ASSERT_EQ(0, pin(0, 0));
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_EQ(0, statfs(TMPFS, &is));
		EXPECT_EQ(size / was.f_bsize, was.f_bfree - is.f_bfree);
		munmap(map, size);
		close(fd);
		if (round % 2)
			ASSERT_EQ(0, settle_all());
		ASSERT_EQ(0, statfs(TMPFS, &is));
		EXPECT_EQ(was.f_bfree, is.f_bfree);
		ASSERT_EQ(0, set_online(VICTIM, true));
		ASSERT_EQ(0, statfs(TMPFS, &is));
		EXPECT_EQ(was.f_bfree, is.f_bfree);
		ASSERT_EQ(0, unpin(0));
	}
	EXPECT_EQ(0, umount(TMPFS));
	rmdir(TMPFS);
}

/*
 * For each event the test compares whether counting goes on and how read() ends, but not
 * the count.
 */
struct event {
	const char *name;
	unsigned int type;
	unsigned long long config;
	bool task;		/* true: an event of the child; false: of the CPU */
};

static const struct event kinds[] = {
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "task-clock of a task", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true },
	{ "faults of a task", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, true },
	{ "cycles of a task", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true },
};

static void note(char *text, size_t size, const char *when, int fd,
		 unsigned long long *last)
{
	unsigned long long value = 0;
	size_t used = strlen(text);
	ssize_t n = read(fd, &value, sizeof(value));
	const char *how = n < 0 ? strerror(errno) : n == 0 ? "nothing" :
			  value > *last ? "more" : value < *last ? "less" : "same";

	snprintf(text + used, size - used, "%s: %s; ", when, how);
	if (n == sizeof(value))
		*last = value;
}

static bool life(struct crew *crew, const struct event *kind,
		 char *text, size_t size, bool *there)
{
	struct perf_event_attr attr = {
		.type = kind->type, .config = kind->config,
	};
	struct task *task = &crew->tasks[0];
	unsigned long long last = 0;
	bool fine;
	int fd;

	text[0] = '\0';
	pin(task->pid, VICTIM);
	fd = event_open(&attr, kind->task ? task->pid : -1, kind->task ? -1 : VICTIM);
	*there = fd >= 0;
	if (fd < 0)
		return true;
	fine = task_lives(task, 5, 5000);
	note(text, size, "online", fd, &last);
	fine &= !set_online(VICTIM, false);
	/* The event may have counted until the CPU went: see forgive(). */
	note(text, size, kind->task ? "going" : "", fd, &last);
	fine &= task_lives(task, 5, 5000);
	note(text, size, "offline", fd, &last);
	fine &= !set_online(VICTIM, true);
	fine &= !pin(task->pid, VICTIM);
	note(text, size, "", fd, &last);
	fine &= task_lives(task, 5, 5000);
	note(text, size, "back", fd, &last);
	close(fd);
	return fine;
}

/*
 * Right after the CPU has gone or come, an event may or may not have counted more. So the
 * test compares only how read() ended in a reading right after that, and whether the
 * count has become less.
 */
static void forgive(char *text)
{
	static const char * const moods[] = { "; : more", "; : same",
					      "going: more", "going: same" };

	for (size_t i = 0; i < ARRAY_SIZE(moods); i++) {
		char *at = strstr(text, moods[i]);

		for (; at; at = strstr(at + 1, moods[i]))
			memcpy(at + strlen(moods[i]) - 4, "okay", 4);
	}
}

TEST_F_TIMEOUT(counters, perf_events, 600)
{
	char native[256], bolt[256];
	bool there, again;
	int n = 0;

	ASSERT_GT(task_start(&self->crew.tasks[0], &self->crew.slots[0], work), 0);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		ASSERT_EQ(0, enable(false));
		ASSERT_TRUE(life(&self->crew, &kinds[i], native, sizeof(native), &there));
		forgive(native);
		ASSERT_EQ(0, enable(true));
		for (int round = 0; round < 2; round++) {
			ASSERT_TRUE(life(&self->crew, &kinds[i], bolt, sizeof(bolt), &again));
			forgive(bolt);
			EXPECT_EQ(there, again);
			EXPECT_STREQ(native, bolt)
				TH_LOG("%s", kinds[i].name);
		}
		n += there;
	}
	EXPECT_GT(n, 3);
}

TEST_HARNESS_MAIN
