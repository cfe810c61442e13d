// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hardware of a CPU that was offline looks the same and works the same, whether
 * the CPU was parked, settled, or natively offline.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "bolt.h"
#include "lib/perf.h"
#include "lib/place.h"
#include "tree.h"
#include "../kselftest_harness.h"

#define MACHINECHECK "/sys/devices/system/machinecheck/machinecheck1/"
#define BANKS 32
#define BANK2_STATUS 0x409

/* Registers that software or a reset sets, but no register that counts by itself. */
static const uint32_t msrs[] = {
	0x1b,				/* APIC base */
	0x3b,				/* TSC_ADJUST */
	0x48, 0x49,			/* SPEC_CTRL, PRED_CMD */
	0x8b,				/* microcode revision */
	0xfe, 0x2ff,			/* MTRR */
	0x200, 0x201, 0x202, 0x203, 0x204, 0x205, 0x206, 0x207,
	0x208, 0x209, 0x20a, 0x20b, 0x20c, 0x20d, 0x20e, 0x20f,
	0x250, 0x258, 0x259, 0x268, 0x269, 0x26a, 0x26b, 0x26c,
	0x26d, 0x26e, 0x26f,
	0x277,				/* PAT */
	0x174, 0x175, 0x176,		/* SYSENTER */
	0x179, 0x17a, 0x17b,		/* machine check */
	0x19a, 0x19b, 0x1a0, 0x1b2,	/* thermal, MISC_ENABLE */
	0x1b0,				/* ENERGY_PERF_BIAS */
	0x38d, 0x38f, 0x600,		/* counters, debug store */
	0xc0000080, 0xc0000081, 0xc0000082, 0xc0000083, 0xc0000084,
	0xc0000103,			/* EFER, SYSCALL, TSC_AUX */
	0xc0010015, 0xc0010117,		/* AMD: HWCR, VM_HSAVE_PA */
};

static void cpu_path(char *path, size_t size, const char *what)
{
	snprintf(path, size, "/dev/cpu/%d/%s", VICTIM, what);
}

static int msr_open(int flags)
{
	char path[64];

	cpu_path(path, sizeof(path), "msr");
	return open(path, flags | O_CLOEXEC);
}

static void add_msr(struct tree *tree, int fd, uint32_t msr)
{
	char line[128];
	uint64_t value;

	if (pread(fd, &value, sizeof(value), msr) == sizeof(value))
		snprintf(line, sizeof(line), "msr %#x = %#llx", msr,
			 (unsigned long long)value);
	else
		snprintf(line, sizeof(line), "msr %#x: errno %d", msr, errno);
	tree_add(tree, line, false);
}

static void add_msrs(struct tree *tree)
{
	int fd = msr_open(O_RDONLY);

	if (fd < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(msrs); i++)
		add_msr(tree, fd, msrs[i]);
	for (uint32_t bank = 0; bank < BANKS; bank++) {
		add_msr(tree, fd, 0x280 + bank);	/* CTL2: CMCI */
		add_msr(tree, fd, 0x400 + 4 * bank);	/* CTL */
	}
	close(fd);
}

/* Adds the CPU's part of /proc/cpuinfo, without lines that are measurements. */
static void add_cpuinfo(struct tree *tree)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[4096];
	bool ours = false;
	int cpu;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "processor : %d", &cpu) == 1)
			ours = cpu == VICTIM;
		if (ours && !strstr(line, "MHz"))
			tree_add(tree, line, false);
	}
	if (file)
		fclose(file);
}

static void look(struct tree *tree)
{
	static const char * const dirs[] = {
		MACHINECHECK, CPU_DIR "cpu1/regs", CPU_DIR "cpu1/microcode",
		CPU_DIR "cpu1/cache", CPU_DIR "cpu1/cpuidle",
	};

	add_msrs(tree);
	add_cpuinfo(tree);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (!access(dirs[i], F_OK))
			tree_walk(tree, dirs[i], true);
	tree_add(tree, CPU_DIR "cpu1/power/energy_perf_bias", true);
}

/* The ways in which a CPU can have been offline. */
enum way { NATIVE, PARKED, SETTLED, DISABLED, WAYS };

static const char * const way_names[] = { "native", "parked", "settled", "disabled" };

static int leave(enum way way)
{
	int err = enable(way != NATIVE);

	if (!err)
		err = set_online(VICTIM, false);
	if (!err && way == SETTLED)
		err = settle_all();
	if (!err && way == DISABLED)
		err = enable(false);
	return err;
}

static int come_back(void)
{
	return set_online(VICTIM, true);
}

FIXTURE(hardware) {
	struct tree way[WAYS];
};

FIXTURE_SETUP(hardware)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_over());
}

FIXTURE_TEARDOWN(hardware)
{
	for (int way = 0; way < WAYS; way++)
		tree_free(&self->way[way]);
	if (cannot_run())
		return;
	unpin(0);
	EXPECT_EQ(0, start_over());
}

static void expect_alike(struct __test_metadata *_metadata, struct tree *ways)
{
	const char *line;

	for (int way = NATIVE + 1; way < WAYS; way++) {
		line = tree_differ(&ways[NATIVE], &ways[way]);
		EXPECT_EQ(NULL, line)
			TH_LOG("%s: another result than natively: %s", way_names[way], line ?: "");
	}
}

/* Compares registers, /proc/cpuinfo and sysfs. */
TEST_F(hardware, looks_as_natively)
{
	/* When the CPU returns, the kernel must set again what an administrator had set. */
	if (!access(MACHINECHECK "bank1", F_OK))
		ASSERT_EQ(0, put(MACHINECHECK "bank1", "0"));
	for (int way = 0; way < WAYS; way++) {
		ASSERT_EQ(0, leave(way));
		ASSERT_EQ(0, come_back());
		look(&self->way[way]);
	}
	/* With 10 lines or fewer the comparison would show nothing. */
	ASSERT_GT(self->way[NATIVE].n, 10);
	expect_alike(_metadata, self->way);
}

/* The CPU's own timer finds corrected machine checks. */
TEST_F(hardware, machine_checks_are_polled)
{
	const uint64_t planted = 0x9000000000000001, none = 0;
	uint64_t status;
	int fd = msr_open(O_RDWR), i;

	if (fd < 0 || access(MACHINECHECK "check_interval", F_OK))
		SKIP(return, "no machine check");
	/* Real CPUs refuse to have an error written; those of most hypervisors do not. */
	if (pwrite(fd, &planted, sizeof(planted), BANK2_STATUS) != sizeof(planted))
		SKIP(return, "the CPU does not let a program plant an error");
	pwrite(fd, &none, sizeof(none), BANK2_STATUS);
	ASSERT_EQ(0, put(MACHINECHECK "check_interval", "1"));
	for (int way = 0; way < WAYS; way++) {
		close(fd);
		ASSERT_EQ(0, leave(way));
		ASSERT_EQ(0, come_back());
		fd = msr_open(O_RDWR);
		ASSERT_GE(fd, 0);
		ASSERT_EQ(sizeof(planted),
			  pwrite(fd, &planted, sizeof(planted), BANK2_STATUS));
		for (i = 0; i < 50; i++) {
			wait_ms(100);
			ASSERT_EQ(sizeof(status),
				  pread(fd, &status, sizeof(status), BANK2_STATUS));
			if (!status)
				break;
		}
		EXPECT_EQ(0, status)
			TH_LOG("%s: the kernel has not polled the bank", way_names[way]);
		pwrite(fd, &none, sizeof(none), BANK2_STATUS);
	}
	close(fd);
}

static int event_of(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = { .type = type, .config = config };

	return event_open(&attr, -1, VICTIM);
}

static void add_event(struct tree *tree, const char *when, const char *what,
		      long value)
{
	char line[128];

	snprintf(line, sizeof(line), "%s: %s %ld", when, what,
		 value < 0 ? -(long)errno : value);
	tree_add(tree, line, false);
}

/* Adds whether the event of @fd can be read, and has counted since the last read. */
static void add_count(struct tree *tree, const char *when, int fd,
		      uint64_t *count)
{
	uint64_t now = 0;
	long n = read(fd, &now, sizeof(now));

	add_event(tree, when, "read", n);
	if (n > 0)
		add_event(tree, when, "has counted", now > *count);
	*count = now;
}

static void follow_event(struct tree *tree, enum way way, uint32_t type,
			 uint64_t config, int *err)
{
	uint64_t count = 0, fresh = 0;
	int fd = event_of(type, config), other;

	add_event(tree, "online", "open", fd < 0 ? -1 : 0);
	if (fd < 0)
		return;
	pin(0, VICTIM);
	burn_ns(CLOCK_MONOTONIC, 10000000);
	unpin(0);
	add_count(tree, "online", fd, &count);
	*err |= leave(way);
	add_count(tree, "leaving", fd, &count);
	add_count(tree, "offline", fd, &count);
	other = event_of(type, config);
	add_event(tree, "offline", "open", other < 0 ? -1 : 0);
	if (other >= 0)
		close(other);
	*err |= come_back();
	other = event_of(type, config);
	add_event(tree, "back", "open", other < 0 ? -1 : 0);
	pin(0, VICTIM);
	burn_ns(CLOCK_MONOTONIC, 10000000);
	unpin(0);
	add_count(tree, "back, old", fd, &count);
	if (other >= 0) {
		add_count(tree, "back, new", other, &fresh);
		close(other);
	}
	close(fd);
}

/* Perf events of the CPU: a clock, and cycles if there is a counter. */
TEST_F(hardware, events_count_as_natively)
{
	static const struct {
		uint32_t type;
		uint64_t config;
	} events[] = {
		{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	};
	int err = 0;

	for (int way = 0; way < WAYS; way++)
		for (size_t i = 0; i < ARRAY_SIZE(events); i++)
			follow_event(&self->way[way], way, events[i].type,
				     events[i].config, &err);
	ASSERT_EQ(0, err);
	/* With fewer than 11 lines the clock's event was not followed to the end. */
	ASSERT_GE(self->way[NATIVE].n, 11);
	expect_alike(_metadata, self->way);
}

/* Returns how often VICTIM's timer has interrupted VICTIM, or -1, also if VICTIM is offline. */
static long ticks(void)
{
	FILE *file = fopen("/proc/interrupts", "r");
	int column = -1, n = 0, cpu;
	char line[8192];
	long count = -1;
	char *word;

	if (!file)
		return -1;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	for (word = strtok(line, "\n "); word; word = strtok(NULL, "\n "), n++)
		if (sscanf(word, "CPU%d", &cpu) == 1 && cpu == VICTIM)
			column = n;
	while (column >= 0 && fgets(line, sizeof(line), file)) {
		if (!strstr(line, "LOC:") && !strstr(line, "arch_timer"))
			continue;
		word = strtok(line, " ");
		for (n = 0; word && n <= column; n++)
			word = strtok(NULL, " ");
		count = word ? atol(word) : -1;
		break;
	}
	fclose(file);
	return count;
}

/*
 * A task can move to the CPU, is interrupted by the timer while it runs, and is woken
 * after a sleep.
 */
TEST_F(hardware, timers_tick)
{
	long before;

	if (ticks() < 0)
		SKIP(return, "/proc/interrupts does not show timers");
	for (int way = 0; way < WAYS; way++) {
		ASSERT_EQ(0, leave(way));
		EXPECT_EQ(-1, ticks());
		ASSERT_EQ(0, come_back());
		ASSERT_EQ(0, pin(0, VICTIM));
		before = ticks();
		burn_ns(CLOCK_MONOTONIC, 100000000);
		EXPECT_GE(ticks(), before + 5)
			TH_LOG("%s", way_names[way]);
		wait_ms(10);
		EXPECT_EQ(VICTIM, sched_getcpu());
		ASSERT_EQ(0, unpin(0));
	}
}

TEST_HARNESS_MAIN
