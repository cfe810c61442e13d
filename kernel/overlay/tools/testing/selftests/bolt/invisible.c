// SPDX-License-Identifier: GPL-2.0-only
/*
 * User space cannot tell a parked CPU from one that is natively offline, except by the
 * lines in known[]. The test records what files and system calls tell of CPUs after a
 * native request, after a request of Bolt and after settling, and compares the records.
 * Tables in this file and in tree.h list what the comparison leaves out, with the reason.
 */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "env.h"
#include "facts.h"
#include "lib/cpulist.h"
#include "lib/perf.h"
#include "tasks.h"
#include "tree.h"
#include "../kselftest_harness.h"

#define GROUP GROUP_DIR "bolt-invisible"
#define DEFAULT_AFFINITY "/proc/irq/default_smp_affinity"
#define ROUNDS 10

static void tree_line(struct tree *tree, const char *what, const char *value)
{
	char line[4200];

	snprintf(line, sizeof(line), "%s: %s", what, value);
	tree_add(tree, line, false);
}

static void tree_number(struct tree *tree, const char *what, long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", value);
	tree_line(tree, what, text);
}

/*
 * Files that the test records, most of them in part. Of each line that begins with @begins
 * the test takes the first @words words, or the whole line if @words is 0. The words after
 * the first @words are counts, or change by themselves.
 */
static const struct picked {
	const char *path, *begins;
	int words;
} picked[] = {
	{ "/proc/cpuinfo", "", 0 },
	/* The columns are CPUs, the rows are interrupts with their counts. */
	{ "/proc/interrupts", "           ", 0 },
	{ "/proc/interrupts", "", 1 },
	{ "/proc/softirqs", "                    ", 0 },
	{ "/proc/stat", "cpu", 1 },
	/* Only the names of CPUs; look_at_domains() records the scheduler domains. */
	{ "/proc/schedstat", "cpu", 1 },
	{ "/proc/timer_list", "cpu:", 0 },
	{ "/proc/timer_list", "Per CPU device", 0 },
	{ "/proc/timer_list", "Clock Event Device", 0 },
	{ "/proc/timer_list", "tick_broadcast", 0 },
	{ "/proc/zoneinfo", "Node", 0 },
	{ "/proc/zoneinfo", "    cpu:", 0 },
	/* "high" itself is left out, because its value depends on what is allocated. */
	{ "/proc/zoneinfo", "              high_", 0 },
	{ "/proc/zoneinfo", "  vm stats threshold", 0 },
	{ "/proc/self/status", "Cpus_allowed", 0 },
	{ "/proc/self/status", "Mems_allowed", 0 },
	{ "/proc/sys/kernel/sched_domain", "", 0 },
	{ "/sys/kernel/debug/sched/debug", "cpu#", 1 },
	{ "/sys/kernel/debug/clk/clk_summary", "", 1 },
	{ GROUP_DIR "cpuset.cpus.effective", "", 0 },
	{ GROUP_DIR "cpuset.cpus.isolated", "", 0 },
	{ GROUP_DIR "cpuset.mems.effective", "", 0 },
	{ GROUP "/cpuset.cpus", "", 0 },
	{ GROUP "/cpuset.cpus.effective", "", 0 },
	{ GROUP "/cpuset.cpus.partition", "", 0 },
	{ "/sys/devices/system/clockevents/clockevent1/current_device", "", 0 },
};

/* Lines of the files in picked[] that the test leaves out, because they change by themselves. */
static const struct {
	const char *begins, *reason;
} restless[] = {
	{ "cpu MHz", "measured anew at each read" },
};

/*
 * Lines that differ while a CPU is parked, and the reasons why these lines may differ.
 * When the CPU has been settled, these lines must be as natively.
 */
static const struct {
	const char *begins, *reason;
	bool kept;	/* the line must be as when the CPU was online */
} known[] = {
	{ "/dev/cpu/1/msr", "the node stays, and opening it answers ENXIO" },
	{ "/dev/cpu/1/cpuid", "the node stays, and opening it answers ENXIO" },
	{ "/dev/cpu/1: ", "the directory of the CPU's device nodes stays" },
	{ "listing of /dev/cpu: 1", "the directory of the CPU's device nodes stays" },
	{ "listing of /dev/cpu/1: ", "the CPU's device nodes stay" },
	{ "listing of /sys/kernel/debug/sched/domains/cpu1: ",
	  "the old domains, with the CPU: settling rebuilds the domains" },
	{ "/sys/kernel/debug/sched/domains/cpu1/", "the old domains" },
	{ "/proc/schedstat: domain",
	  "the old domains, with the CPU: settling rebuilds the domains", true },
	{ "/proc/zoneinfo:   vm stats threshold",
	  "the old threshold, for one CPU more: settling computes all thresholds anew",
	  true },
	/* Linux 6.12 does not print these limits. */
	{ "/proc/zoneinfo:               high_",
	  "the old limit of page lists, for one CPU more: settling computes all limits anew",
	  true },
};

/* Cuts @line after @words words, or leaves it whole if @words is 0. */
static void cut(char *line, int words)
{
	line[strcspn(line, "\n")] = '\0';
	for (char *at = line; words; words--) {
		at += strspn(at, " \t");
		at += strcspn(at, " \t");
		if (words == 1)
			*at = '\0';
	}
}

static void look_at_files(struct tree *tree)
{
	static char line[65536];

	for (size_t i = 0; i < ARRAY_SIZE(picked); i++) {
		const char *begins = picked[i].begins;
		FILE *file = fopen(picked[i].path, "r");

		while (file && fgets(line, sizeof(line), file)) {
			bool skip = strncmp(line, begins, strlen(begins));

			for (size_t k = 0; k < ARRAY_SIZE(restless); k++)
				skip |= !strncmp(line, restless[k].begins,
						 strlen(restless[k].begins));
			if (skip)
				continue;
			cut(line, picked[i].words);
			tree_line(tree, picked[i].path, line);
		}
		if (file)
			fclose(file);
	}
}

/* Whether @list, as in 0-2,5, holds @cpu. */
static bool lists(const char *list, long cpu)
{
	long first, last;

	while (cpulist_next(&list, &first, &last) > 0)
		if (cpu >= first && cpu <= last)
			return true;
	return false;
}

/*
 * Which CPU takes an interrupt depends on chance, so the test compares only whether the
 * CPU that has gone may take the interrupt.
 */
static void look_at_irqs(struct tree *tree)
{
	static const char * const files[] = {
		"smp_affinity_list", "effective_affinity_list",
	};
	char path[128], text[256];

	for (int irq = 0; irq < 512; irq++) {
		for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
			snprintf(path, sizeof(path), "/proc/irq/%d/%s", irq,
				 files[i]);
			if (!get(path, text, sizeof(text)))
				tree_number(tree, path, lists(text, VICTIM));
		}
	}
}

/* Adds the answers of system calls that name the CPU or count CPUs. */
static void ask(struct tree *tree)
{
	static const char * const nodes[] = {
		"/dev/cpu/1", "/dev/cpu/1/msr", "/dev/cpu/1/cpuid",
	};
	unsigned int here = -1;
	char affinity[4096];
	cpu_set_t set;
	int fd;

	fd = event_open_software(PERF_COUNT_SW_CPU_CLOCK, VICTIM);
	tree_number(tree, "perf_event_open", fd < 0 ? fd : 0);
	close(fd);
	tree_number(tree, "sched_setaffinity", pin(0, VICTIM));
	unpin(0);
	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	tree_number(tree, "sched_getaffinity", CPU_COUNT(&set));
	tree_number(tree, "in it", CPU_ISSET(VICTIM, &set));
	syscall(SYS_getcpu, &here, NULL, NULL);
	tree_number(tree, "getcpu", here == VICTIM);
	tree_number(tree, "online", sysconf(_SC_NPROCESSORS_ONLN));
	tree_number(tree, "configured", sysconf(_SC_NPROCESSORS_CONF));
	tree_number(tree, "get_nprocs", get_nprocs());
	if (!get(DEFAULT_AFFINITY, affinity, sizeof(affinity))) {
		tree_number(tree, "smp_affinity", put(DEFAULT_AFFINITY, "2"));
		put(DEFAULT_AFFINITY, affinity);
	}
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		fd = open(nodes[i], O_RDONLY);
		tree_number(tree, nodes[i], fd < 0 ? -errno : 0);
		close(fd);
	}
}

/* Adds the CPUs that softnet_stat lists. A CPU's number is in the last column but two. */
static void look_at_softnet(struct tree *tree)
{
	FILE *file = fopen("/proc/net/softnet_stat", "r");
	char line[512], cpu[16];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %15s",
			   cpu) == 1)
			tree_line(tree, "/proc/net/softnet_stat", cpu);
	if (file)
		fclose(file);
}

/* Adds the scheduler domains of each CPU with the CPUs of the domains. */
static void look_at_domains(struct tree *tree)
{
	FILE *file = fopen("/proc/schedstat", "r");
	char line[4096];

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "domain", 6))
			continue;
		line[schedstat_span(line)] = '\0';
		tree_line(tree, "/proc/schedstat", line);
	}
	if (file)
		fclose(file);
}

static void look(struct tree *tree)
{
	static const char * const listed[] = {
		"/dev/cpu", "/dev/cpu/1", "/sys/devices/virtual/msr",
		"/sys/bus/cpu", "/sys/kernel/debug/sched/domains",
		"/sys/kernel/debug/sched/domains/cpu1", "/proc/irq",
		"/sys/bus/event_source/devices", "/sys/bus/clockevents/devices",
		"/sys/devices/virtual/workqueue", "/sys/class/hwmon",
		"/sys/class/thermal",
	};

	tree_of_cpus(tree, true);
	look_at_files(tree);
	look_at_irqs(tree);
	look_at_softnet(tree);
	look_at_domains(tree);
	ask(tree);
	for (size_t i = 0; i < ARRAY_SIZE(listed); i++) {
		struct dirent **names;
		int n = scandir(listed[i], &names, NULL, alphasort);
		char what[128];

		snprintf(what, sizeof(what), "listing of %s", listed[i]);
		for (int k = 0; k < n; k++) {
			tree_line(tree, what, names[k]->d_name);
			free(names[k]);
		}
		if (n >= 0)
			free(names);
	}
}

FIXTURE(invisible) {
	struct tree native, parked, settled, back[2];
};

FIXTURE_SETUP(invisible)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_over());
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "4000000000"));
	put("/sys/kernel/debug/sched/verbose", "Y");
	if (!put(GROUP_DIR "cgroup.subtree_control", "+cpuset")) {
		mkdir(GROUP, 0755);
		put(GROUP "/cpuset.cpus", "1-2");
	}
}

FIXTURE_TEARDOWN(invisible)
{
	if (cannot_run())
		return;
	tree_free(&self->native);
	tree_free(&self->parked);
	tree_free(&self->settled);
	tree_free(&self->back[0]);
	tree_free(&self->back[1]);
	rmdir(GROUP);
	EXPECT_EQ(0, start_over());
}

static int count(const struct tree *tree, const char *line)
{
	int n = 0;

	for (int i = 0; i < tree->n; i++)
		n += !strcmp(tree->lines[i], line);
	return n;
}

/*
 * Whether @line may differ while the CPU is parked. If the line is from the record of the
 * parked CPU, @online is the record of that CPU online; if the line is from the native
 * record, @online is NULL.
 */
static bool is_known(const char *line, const struct tree *online)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strncmp(line, known[i].begins, strlen(known[i].begins)))
			return !known[i].kept || !online || count(online, line);
	return false;
}

/*
 * Prints up to 40 lines that the two records do not have equally often, and returns how many
 * such lines there are in all. If @bolt is the record of a parked CPU, @online is the record
 * of that CPU online, and lines in known[] are left out; otherwise @online is NULL.
 */
static int differences(struct __test_metadata *_metadata, const char *what,
		       const struct tree *native, const struct tree *bolt,
		       const struct tree *online)
{
	const struct tree *trees[2] = { native, bolt };
	int n = 0;

	if (!tree_differ(native, bolt))
		return 0;
	for (int side = 0; side < 2; side++) {
		for (int i = 0; i < trees[side]->n; i++) {
			const char *line = trees[side]->lines[i];

			if (count(trees[!side], line) == count(trees[side], line) ||
			    (online && is_known(line, side ? online : NULL)))
				continue;
			if (n++ < 40)
				TH_LOG("%s: another number of times %s: %s", what,
				       side ? "natively" : "with Bolt", line);
		}
	}
	/* Another order of the same lines counts as a difference, unless the CPU is parked. */
	if (!n && !online)
		n++;
	return n;
}

TEST_F_TIMEOUT(invisible, parked_and_settled, 600)
{
	/*
	 * The first request makes kernel objects that stay for ever, so this request is
	 * made before the comparison.
	 */
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_EQ(0, set_online(VICTIM, true));
	look(&self->back[0]);
	ASSERT_EQ(0, set_online(VICTIM, false));
	look(&self->native);
	ASSERT_EQ(0, set_online(VICTIM, true));
	tree_free(&self->back[0]);
	look(&self->back[0]);
	/*
	 * If the records of the CPU online and offline were alike, the files would have
	 * nothing to do with CPUs.
	 */
	ASSERT_NE(NULL, tree_differ(&self->native, &self->back[0]));

	ASSERT_EQ(0, enable(true));
	for (int round = 0; round < 2; round++) {
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_TRUE(is(BOLT_DIR "parked", "1"));
		look(&self->parked);
		EXPECT_TRUE(is(BOLT_DIR "parked", "1"));
		EXPECT_EQ(0, differences(_metadata, "parked", &self->native,
					 &self->parked, &self->back[0]));
		if (round) {
			ASSERT_EQ(0, settle_all());
			look(&self->settled);
			EXPECT_EQ(0, differences(_metadata, "settled",
						 &self->native, &self->settled,
						 NULL));
		}
		ASSERT_EQ(0, set_online(VICTIM, true));
		look(&self->back[1]);
		EXPECT_EQ(0, differences(_metadata, "back", &self->back[0],
					 &self->back[1], NULL));
		tree_free(&self->parked);
		tree_free(&self->back[1]);
	}
}

/* Descriptors of files that vanish with the CPU: at most FDS_MAX of these files. */
#define FDS_MAX 256

struct held {
	char *path[FDS_MAX];
	int fd[FDS_MAX], err[2][FDS_MAX], n;
};

static void hold(struct held *held, const struct tree *online,
		 const struct tree *offline)
{
	for (int i = 0; i < online->n && held->n < FDS_MAX; i++) {
		struct stat st;

		if (count(offline, online->lines[i]) ||
		    lstat(online->lines[i], &st) || !S_ISREG(st.st_mode))
			continue;
		held->path[held->n] = online->lines[i];
		held->fd[held->n] = open(online->lines[i], O_RDONLY);
		if (held->fd[held->n] >= 0)
			held->n++;
	}
}

static void read_held(struct held *held, int which)
{
	char text[256];

	for (int i = 0; i < held->n; i++)
		held->err[which][i] = pread(held->fd[i], text, sizeof(text), 0) < 0 ?
				      -errno : 0;
}

static void let_go(struct held *held)
{
	while (held->n)
		close(held->fd[--held->n]);
}

TEST_F_TIMEOUT(invisible, open_files, 600)
{
	static struct held native, bolt;

	tree_of_cpus(&self->back[0], false);
	ASSERT_EQ(0, set_online(VICTIM, false));
	tree_of_cpus(&self->native, false);
	ASSERT_EQ(0, set_online(VICTIM, true));

	hold(&native, &self->back[0], &self->native);
	ASSERT_GT(native.n, 10);
	ASSERT_EQ(0, set_online(VICTIM, false));
	read_held(&native, 0);
	ASSERT_EQ(0, set_online(VICTIM, true));
	read_held(&native, 1);
	let_go(&native);

	ASSERT_EQ(0, enable(true));
	for (int round = 0; round < 2; round++) {
		hold(&bolt, &self->back[0], &self->native);
		ASSERT_EQ(0, set_online(VICTIM, false));
		read_held(&bolt, 0);
		if (round) {
			ASSERT_EQ(0, settle_all());
			read_held(&bolt, 0);
		}
		ASSERT_EQ(0, set_online(VICTIM, true));
		read_held(&bolt, 1);
		let_go(&bolt);
		for (int i = 0; i < FDS_MAX && native.path[i]; i++) {
			ASSERT_NE(NULL, bolt.path[i]);
			EXPECT_STREQ(native.path[i], bolt.path[i]);
			EXPECT_EQ(native.err[0][i], bolt.err[0][i])
				TH_LOG("offline: %s", native.path[i]);
			/*
			 * Natively a descriptor fails also when the CPU is back, because
			 * the file is a new file with the same name. A file that Bolt had
			 * only hidden works again.
			 */
			EXPECT_TRUE(bolt.err[1][i] == native.err[1][i] ||
				    (!round && !bolt.err[1][i]))
				TH_LOG("online: %s: %d, natively %d",
				       native.path[i], bolt.err[1][i],
				       native.err[1][i]);
		}
	}
}

/*
 * The files that race() opens and reads all the time. In slot->value, race() leaves the first
 * errno that is wrong, or 0.
 */
static const struct tree *raced;

static void race(struct slot *slot)
{
	char text[256];

	for (int i = 0;; i = (i + 1) % raced->n) {
		int fd = open(raced->lines[i], O_RDONLY | O_NONBLOCK);
		int err = fd < 0 ? errno : 0;

		if (!err && pread(fd, text, sizeof(text), 0) < 0)
			err = errno;
		close(fd);
		/*
		 * Some errors are right: the file is a directory, has gone, or is
		 * just going.
		 */
		if (err && err != EISDIR && err != ENOENT && err != ENODEV &&
		    err != ENXIO && !slot->value) {
			slot->value = err;
			fprintf(stderr, "# %s: %s\n", raced->lines[i],
				strerror(err));
		}
		if (i == raced->n - 1)
			slot_beat(slot);
	}
}

TEST_F_TIMEOUT(invisible, races_with_opens, 600)
{
	int rounds = env_number("BOLT_ROUNDS", ROUNDS);
	const char *line;
	struct slot *slots = slots_map(2);
	static struct tree files;
	struct task tasks[2];

	ASSERT_NE(NULL, slots);
	tree_of_cpus(&self->back[0], true);
	tree_of_cpus(&self->native, false);
	for (int i = 0; i < self->native.n; i++) {
		const char *path = self->native.lines[i];

		if ((strstr(path, "cpu1/") || strstr(path, "check1/") ||
		     strstr(path, "msr1/") || strstr(path, "cpuid1/")) &&
		    !strstr(path, "hotplug/"))
			tree_add(&files, path, false);
	}
	ASSERT_GT(files.n, 10);
	raced = &files;
	ASSERT_EQ(0, enable(true));
	for (int i = 0; i < 2; i++)
		ASSERT_GT(task_start(&tasks[i], &slots[i], race), 0);
	for (int round = 0; round < rounds; round++) {
		ASSERT_EQ(0, set_online(VICTIM, false));
		if (round % 4 == 1)
			ASSERT_EQ(0, settle_all());
		if (round % 4 == 3)
			ASSERT_EQ(0, enable(false));
		wait_ms(round % 5);
		ASSERT_EQ(0, set_online(VICTIM, true));
		ASSERT_EQ(0, enable(true));
		wait_ms(round % 3);
	}
	for (int i = 0; i < 2; i++) {
		EXPECT_TRUE(task_lives(&tasks[i], 1, 10000));
		EXPECT_EQ(0, slots[i].value);
		task_kill(&tasks[i]);
	}
	tree_free(&files);
	tree_of_cpus(&self->back[1], true);
	line = tree_differ(&self->back[0], &self->back[1]);
	EXPECT_EQ(NULL, line)
		TH_LOG("%s", line);
}

TEST_HARNESS_MAIN
