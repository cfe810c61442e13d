// SPDX-License-Identifier: GPL-2.0-only
/*
 * What user space reads of memory and swap is right while a CPU that holds pages, counts
 * or swap slots comes and goes: counters never go back, sums stay exact, swapoff ends.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/swap.h>
#include <sys/wait.h>

#include "bolt.h"
#include "env.h"
#include "lib/place.h"
#include "lib/soon.h"
#include "lib/states.h"
#include "../kselftest_harness.h"

#define ROUNDS 20
#define TMPFS_PAGES 1024

/*
 * How many pages a test writes on the CPU: so few that the CPU has not yet added its own
 * count to the global count.
 */
#define FEW 10

FIXTURE(memory) {
	long page;
};

FIXTURE_SETUP(memory)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	self->page = sysconf(_SC_PAGESIZE);
	ASSERT_EQ(0, start_over());
	/* The settle delay is longer than any test: the test itself settles CPUs. */
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "1000000"));
	ASSERT_EQ(0, enable(true));
}

FIXTURE_TEARDOWN(memory)
{
	if (cannot_run())
		return;
	EXPECT_EQ(0, unpin(0));
	EXPECT_EQ(0, start_over());
}

/* In /proc/vmstat, this line and those after it count events; the last line is always 0. */
#define FIRST_EVENT "pgpgin"
#define EVENTS_MAX 512

struct events {
	char name[EVENTS_MAX][48];
	unsigned long long value[EVENTS_MAX];
	int n;
};

static int events_read(struct events *events)
{
	FILE *file = fopen("/proc/vmstat", "re");

	events->n = 0;
	if (!file)
		return -errno;
	while (events->n < EVENTS_MAX &&
	       fscanf(file, "%47s %llu", events->name[events->n],
		      &events->value[events->n]) == 2) {
		if (events->n || !strcmp(events->name[0], FIRST_EVENT))
			events->n++;
	}
	fclose(file);
	return events->n ? 0 : -ENOENT;
}

/* Makes a task on the CPU fault and free pages. */
static int touch(int cpu, long page)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		char *area;

		if (pin(0, cpu))
			_exit(1);
		area = mmap(NULL, 64 * page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		_exit(area == MAP_FAILED);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -errno;
	return status;
}

TEST_F(memory, events_never_go_back)
{
	static struct events before, after;

	ASSERT_EQ(0, events_read(&before));
	for (int round = 0; round < 2 * ROUNDS; round++) {
		ASSERT_EQ(0, round & 1 ? 0 : touch(VICTIM, self->page));
		ASSERT_EQ(0, set_online(VICTIM, round & 1));
		ASSERT_EQ(0, events_read(&after));
		ASSERT_EQ(before.n, after.n);
		for (int i = 0; i < after.n; i++) {
			EXPECT_GE(after.value[i], before.value[i])
				TH_LOG("%s, round %d", after.name[i], round);
		}
		before = after;
	}
}

/*
 * Returns how many blocks of the tmpfs are in use: a percpu counter of which the CPU
 * holds a part.
 */
static unsigned long blocks_used(void)
{
	struct statfs fs;

	if (statfs(TMPFS, &fs))
		abort();
	return fs.f_blocks - fs.f_bfree;
}

struct watch {
	unsigned long wanted;
	atomic_ulong reads, wrong;
	atomic_bool stop;
};

static void *watch_blocks(void *arg)
{
	struct watch *watch = arg;

	while (!atomic_load(&watch->stop)) {
		if (blocks_used() != watch->wanted)
			atomic_fetch_add(&watch->wrong, 1);
		atomic_fetch_add(&watch->reads, 1);
	}
	return NULL;
}

TEST_F(memory, sums_stay_exact)
{
	struct watch watch = {};
	char *page, options[64];
	pthread_t thread;
	int fd;

	mkdir(TMPFS, 0700);
	snprintf(options, sizeof(options), "nr_blocks=%d", TMPFS_PAGES);
	ASSERT_EQ(0, mount("tmpfs", TMPFS, "tmpfs", 0, options));
	page = calloc(1, self->page);
	ASSERT_NE(NULL, page);
	fd = open(TMPFS "/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, pin(0, VICTIM));
	for (int i = 0; i < FEW; i++)
		ASSERT_EQ(self->page, write(fd, page, self->page));
	close(fd);
	ASSERT_EQ(0, unpin(0));

	watch.wanted = blocks_used();
	EXPECT_EQ(FEW, watch.wanted);
	ASSERT_EQ(0, pthread_create(&thread, NULL, watch_blocks, &watch));
	for (int round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_EQ(0, round < ROUNDS - 1 ? 0 : settle_all());
		ASSERT_EQ(0, set_online(VICTIM, true));
	}
	atomic_store(&watch.stop, true);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_GT(watch.reads, ROUNDS);
	EXPECT_EQ(0, watch.wrong)
		TH_LOG("there were %lu reads in all", watch.reads);
	free(page);
	EXPECT_EQ(0, umount(TMPFS));
	rmdir(TMPFS);
}

/* Makes the whole disk BOLT_DISK a swap area. Returns 0 or -errno. */
static int make_swap(long page)
{
	union {
		char page[65536];
		struct {
			char boot[1024];
			unsigned int version, last_page, bad_pages;
		} info;
	} header = { .info.version = 1 };
	int fd = disk_open(0);
	off_t size;
	ssize_t n;

	if (fd < 0)
		return fd;
	size = lseek(fd, 0, SEEK_END);
	header.info.last_page = size / page - 1;
	memcpy(header.page + page - 10, "SWAPSPACE2", 10);
	n = pwrite(fd, &header, page, 0);
	if (n == page && fsync(fd))
		n = -1;
	close(fd);
	return n == page ? 0 : -EIO;
}

/*
 * Whether no page is being written any more. A page that is being written keeps its slot
 * of the swap area when the task that had the page ends.
 */
static bool all_written(void)
{
	/* stat_refresh adds up what the CPUs have counted. */
	return !put("/proc/sys/vm/stat_refresh", "1") &&
	       !number_in("/proc/vmstat", "nr_writeback");
}

/*
 * Swaps out pages on the CPU, which in Linux 6.12 takes slots of the swap area 64 at a time,
 * and so keeps some slots.
 */
static int swap_out_on(int cpu, long page)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		size_t len = 250 * page;
		char *area;

		if (pin(0, cpu))
			_exit(1);
		area = mmap(NULL, len, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (area == MAP_FAILED)
			_exit(2);
		memset(area, 1, len);
		if (madvise(area, len, MADV_PAGEOUT))
			_exit(3);
		_exit(soon(all_written(), 5000) ? 0 : 4);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -errno;
	return status;
}

/* Returns how many KiB of the swap area are in use or held by a CPU; below 0 on an error. */
static long swap_used(void)
{
	FILE *file = fopen("/proc/swaps", "re");
	long used = -1;

	if (!file)
		return -errno;
	if (fscanf(file, "%*[^\n] %*s %*s %*s %ld", &used) != 1)
		used = -1;
	fclose(file);
	return used;
}

/*
 * swapoff gives back the slots that a parked CPU holds; otherwise swapoff would
 * never end. Linux 7.3 has no slots that a CPU holds, and no hotplug state for such
 * slots.
 */
TEST_F_TIMEOUT(memory, swapoff_ends, 20)
{
	const char *why = no_disk();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, make_swap(self->page));
	ASSERT_EQ(0, swapon(disk_path(), 0));
	ASSERT_EQ(0, swap_out_on(VICTIM, self->page));
	ASSERT_EQ(0, set_online(VICTIM, false));
	EXPECT_EQ(hp_state_nr("swap_slots_cache") >= 0, swap_used() > 0);
	EXPECT_EQ(0, swapoff(disk_path()));
	ASSERT_EQ(0, set_online(VICTIM, true));
}

/* Folds the counts of all CPUs: then the kernel warns of counters that are negative. */
TEST_F(memory, counters_balance)
{
	for (int round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(0, touch(VICTIM, self->page));
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_EQ(0, put("/proc/sys/vm/stat_refresh", "1"));
		ASSERT_EQ(0, set_online(VICTIM, true));
	}
	ASSERT_EQ(0, put("/proc/sys/vm/stat_refresh", "1"));
}

TEST_HARNESS_MAIN
