// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a request returns, cpusets, affinities and the choice of a CPU for a task are as
 * natively, though the scheduler's domains may be rebuilt later.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "groups.h"
#include "lib/children.h"
#include "lib/deadline.h"
#include "lib/place.h"
#include "lib/states.h"
#include "tree.h"
#include "../kselftest_harness.h"

#define STATS "/sys/kernel/debug/bolt/stats"

/* Groups with four CPUs, with two CPUs, and with only the CPU that goes. */
static const char * const groups[] = { "wide", "some", "only" };
static const char * const cpus[] = { "0-3", "1-2", "1" };

#define GROUPS ARRAY_SIZE(groups)

/* The groups below @root, with a sleeping task each, and a task that is in no group. */
struct world {
	pid_t child[GROUPS + 1];
	const char *root;
};

FIXTURE(domains) {
	struct world world;
};

static void path_of(char *path, size_t size, const char *root, int group,
		    const char *file)
{
	snprintf(path, size, "%s/bolt-%s/%s", root, groups[group], file);
}

static int put_in(const char *root, int group, const char *file,
		  const char *text)
{
	char path[256];

	path_of(path, sizeof(path), root, group, file);
	return put(path, text);
}

/* Starts a task that sleeps, pinned to VICTIM or not. */
static pid_t sleeper(bool pinned)
{
	pid_t child = fork_mortal();

	if (child)
		return child;
	if (pinned)
		pin(0, VICTIM);
	for (;;)
		pause();
}

static void end(pid_t *child)
{
	if (*child > 0) {
		kill(*child, SIGKILL);
		waitpid(*child, NULL, 0);
	}
	*child = 0;
}

static void drop_groups(const char *root)
{
	char path[256];

	for (int i = 0; root && i < (int)GROUPS; i++) {
		path_of(path, sizeof(path), root, i, "");
		rmdir(path);
	}
}

FIXTURE_SETUP(domains)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	if (access(CPU_DIR "cpu3/online", F_OK))
		SKIP(return, "needs four CPUs");
	ASSERT_EQ(0, start_over());
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "60000"));
	/* The first cycle does work that happens only once, so tests look at later cycles. */
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_EQ(0, set_online(VICTIM, true));
}

FIXTURE_TEARDOWN(domains)
{
	if (cannot_run() || access(CPU_DIR "cpu3/online", F_OK))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(self->world.child); i++)
		end(&self->world.child[i]);
	drop_groups(self->world.root);
	if (self->world.root && !strcmp(self->world.root, V1))
		umount(V1);
	EXPECT_EQ(0, start_over());
}

/* Whether a rebuild of domains is pending: 1 or 0, or -1 if bolt/stats does not tell. */
static int put_off(void)
{
	char text[4096], *at;

	if (get(STATS, text, sizeof(text)))
		return -1;
	at = strstr(text, "sched_domains ");
	return at ? !strncmp(at, "sched_domains pending", 21) : -1;
}

/* Writes @what for the state sched:active into bolt/states. */
static int put_active(const char *what)
{
	char line[64];

	snprintf(line, sizeof(line), "%d %s", hp_state_nr("sched:active"), what);
	return put("/sys/kernel/debug/bolt/states", line);
}

/*
 * Takes VICTIM offline with Bolt. Returns whether a rebuild of domains is pending then,
 * as it should be unless the kernel rebuilds domains at once.
 */
static bool park(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, enable(true));
	ASSERT_EQ(0, set_online(VICTIM, false));
	return put_off() == 1;
}

/*
 * Makes groups with a sleeping task each, and a pinned task in no group. Returns NULL, or
 * why the groups cannot be made.
 */
static const char *make_groups(struct __test_metadata *_metadata,
			       struct world *world, const char *root)
{
	bool v1 = !strcmp(root, V1);
	const char *why = v1 ? group_no_v1("cpuset") : group_no_cpusets();
	char path[256], pid[32];

	if (why)
		return why;
	world->root = root;
	for (int i = 0; i < (int)GROUPS; i++) {
		path_of(path, sizeof(path), root, i, "");
		ASSERT_EQ(0, mkdir(path, 0755));
	}
	for (int i = 0; i < (int)GROUPS; i++) {
		if (v1)
			EXPECT_EQ(0, put_in(root, i, "cpuset.mems", "0"));
		EXPECT_EQ(0, put_in(root, i, "cpuset.cpus", cpus[i]));
		world->child[i] = sleeper(false);
		snprintf(pid, sizeof(pid), "%d", world->child[i]);
		EXPECT_EQ(0, put_in(root, i, "cgroup.procs", pid));
	}
	world->child[GROUPS] = sleeper(true);
	wait_ms(20);
	return NULL;
}

static void drop_all(struct world *world)
{
	for (size_t i = 0; i < ARRAY_SIZE(world->child); i++)
		end(&world->child[i]);
	wait_ms(20);
	drop_groups(world->root);
	if (!strcmp(world->root, V1))
		umount(V1);
	world->root = NULL;
}

/*
 * Makes a task of a group a deadline task, which the kernel allows only if the root
 * domain of the group has only CPUs of the group. Returns 0 or the error.
 */
static int probe(const char *root, int group)
{
	pid_t child = fork();
	char pid[32];
	int err;

	/*
	 * The task must have run since it moved to the group: until then the kernel
	 * may look at the root domain of the CPU on which the task ran before.
	 */
	while (!child)
		wait_ms(1);
	snprintf(pid, sizeof(pid), "%d", child);
	err = put_in(root, group, "cgroup.procs", pid);
	wait_ms(10);
	if (!err)
		err = set_deadline(child, 1000000);
	end(&child);
	return err;
}

static void add_probe(struct tree *tree, const char *root, int group)
{
	char line[64];

	snprintf(line, sizeof(line), "deadline task in %s: %d", groups[group],
		 probe(root, group));
	tree_add(tree, line, false);
}

static void add_affinity(struct tree *tree, const char *who, const char *pid)
{
	char path[64], text[4096], line[512], *list;

	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	if (get(path, text, sizeof(text)))
		return;
	list = strstr(text, "Cpus_allowed_list:");
	if (!list)
		return;
	snprintf(line, sizeof(line), "%s %.200s", who, list);
	line[strcspn(line, "\n")] = '\0';
	tree_add(tree, line, false);
}

/*
 * Adds the affinities of all kernel threads, except workers of workqueues, which come and
 * go, and the control task, which does not exist natively.
 */
static void add_kthreads(struct tree *tree)
{
	struct dirent **names;
	int n = scandir("/proc", &names, NULL, alphasort);
	char path[300], text[512], who[300];

	for (int i = 0; i < n; i++) {
		const char *pid = names[i]->d_name;

		snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
		if (isdigit((unsigned char)*pid) && !get(path, text, sizeof(text)) && !*text) {
			snprintf(path, sizeof(path), "/proc/%s/comm", pid);
			if (!get(path, text, sizeof(text)) &&
			    strncmp(text, "kworker", 7) && strcmp(text, "bolt")) {
				snprintf(who, sizeof(who), "%s", text);
				add_affinity(tree, who, pid);
			}
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

/* Reads what files show of cpusets, tasks and kernel threads. */
static void observe(struct tree *tree, struct world *world)
{
	static const char * const files[] = {
		"cpuset.cpus", "cpuset.cpus.effective", "cpuset.effective_cpus",
		"cpuset.cpus.partition", "cpuset.cpus.exclusive.effective",
	};
	char path[256], who[32], pid[32];

	for (size_t f = 0; f < ARRAY_SIZE(files); f++) {
		snprintf(path, sizeof(path), "%s/%s", world->root, files[f]);
		if (!access(path, R_OK))
			tree_add(tree, path, true);
		for (int i = 0; i < (int)GROUPS; i++) {
			path_of(path, sizeof(path), world->root, i, files[f]);
			if (!access(path, R_OK))
				tree_add(tree, path, true);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(world->child); i++) {
		snprintf(who, sizeof(who), "sleeper %zu", i);
		snprintf(pid, sizeof(pid), "%d", world->child[i]);
		add_affinity(tree, who, pid);
	}
	add_kthreads(tree);
}

struct seen {
	struct tree down, up;
};

/*
 * How long to wait for workers: in version 1 a worker moves tasks out of a cpuset that
 * has become empty, natively too.
 */
#define WORKERS_MS 100

/*
 * Takes VICTIM offline and back, and has observe() read what files show after each of
 * the two requests. @could is false if the groups cannot be made.
 */
static void cycle(struct __test_metadata *_metadata,
		  struct world *world, const char *root,
		  struct seen *seen, bool *could)
{
	const char *why = make_groups(_metadata, world, root);

	*could = !why;
	if (why)
		return;
	EXPECT_EQ(0, set_online(VICTIM, false));
	wait_ms(WORKERS_MS);
	observe(&seen->down, world);
	EXPECT_EQ(0, set_online(VICTIM, true));
	wait_ms(WORKERS_MS);
	observe(&seen->up, world);
	drop_all(world);
}

static void same(struct __test_metadata *_metadata, const struct tree *native,
		 const struct tree *bolt)
{
	const char *differs = tree_differ(native, bolt);

	EXPECT_EQ(NULL, differs)
		TH_LOG("differs: %s", differs);
	EXPECT_GT(native->n, 20);
}

static struct seen native, bolt;

static void masks(struct __test_metadata *_metadata, struct world *world,
		  const char *root)
{
	bool could;

	cycle(_metadata, world, root, &native, &could);
	if (!could)
		SKIP(return, "no cpuset controller");
	ASSERT_EQ(0, enable(true));
	cycle(_metadata, world, root, &bolt, &could);
	ASSERT_TRUE(could);
	same(_metadata, &native.down, &bolt.down);
	same(_metadata, &native.up, &bolt.up);
	EXPECT_NE(NULL, tree_differ(&native.down, &native.up));
}

TEST_F_TIMEOUT(domains, masks_v2, 120)
{
	masks(_metadata, &self->world, V2);
}

TEST_F_TIMEOUT(domains, masks_v1, 120)
{
	masks(_metadata, &self->world, V1);
}

/* A write that is made while VICTIM is offline. */
struct write {
	int group;
	const char *file, *text;
};

static void writes(struct __test_metadata *_metadata,
		   struct world *world, const struct write *write,
		   int n, struct seen *seen)
{
	bool on_bolt = seen == &bolt;
	const char *why;

	why = make_groups(_metadata, world, V2);
	ASSERT_EQ(NULL, why);
	EXPECT_EQ(0, set_online(VICTIM, false));
	if (on_bolt)
		EXPECT_NE(0, put_off());
	for (int i = 0; i < n; i++)
		EXPECT_EQ(0, put_in(V2, write[i].group, write[i].file,
				    write[i].text));
	if (on_bolt)
		EXPECT_NE(1, put_off());
	observe(&seen->down, world);
	add_probe(&seen->down, V2, 1);
	EXPECT_EQ(0, set_online(VICTIM, true));
	if (on_bolt)
		EXPECT_NE(1, put_off());
	observe(&seen->up, world);
	add_probe(&seen->up, V2, 1);
	put_in(V2, 1, "cpuset.cpus.partition", "member");
	drop_all(world);
}

/*
 * Compares the effect of the same writes natively and with Bolt. @becomes: the text that
 * cpuset.cpus.partition of the group "some" must have after the writes; NULL: any text.
 */
static void same_writes(struct __test_metadata *_metadata,
			struct world *world, const struct write *write,
			int n, const char *becomes)
{
	char line[256];
	bool found = !becomes;

	if (group_no_cpusets())
		SKIP(return, "no cpuset controller");
	writes(_metadata, world, write, n, &native);
	ASSERT_EQ(0, enable(true));
	writes(_metadata, world, write, n, &bolt);
	same(_metadata, &native.down, &bolt.down);
	same(_metadata, &native.up, &bolt.up);
	snprintf(line, sizeof(line), V2 "/bolt-%s/cpuset.cpus.partition=%s",
		 groups[1], becomes ?: "");
	for (int i = 0; i < bolt.down.n; i++)
		found |= !strcmp(bolt.down.lines[i], line);
	EXPECT_TRUE(found);
}

TEST_F_TIMEOUT(domains, write_cpus, 120)
{
	static const struct write write[] = { { 1, "cpuset.cpus", "2-3" } };

	same_writes(_metadata, &self->world, write, ARRAY_SIZE(write), NULL);
}

TEST_F_TIMEOUT(domains, write_root, 120)
{
	static const struct write write[] = {
		{ 0, "cpuset.cpus", "0" }, { 2, "cpuset.cpus", "0" },
		{ 1, "cpuset.cpus.partition", "root" },
	};

	same_writes(_metadata, &self->world, write, ARRAY_SIZE(write), "root");
}

TEST_F_TIMEOUT(domains, write_isolated, 120)
{
	static const struct write write[] = {
		{ 0, "cpuset.cpus", "0" }, { 2, "cpuset.cpus", "0" },
		{ 1, "cpuset.cpus", "1,3" },
		{ 1, "cpuset.cpus.partition", "isolated" },
	};

	same_writes(_metadata, &self->world, write, ARRAY_SIZE(write), "isolated");
}

/* With a partition the rebuild of domains is never deferred. */
TEST_F_TIMEOUT(domains, partition_is_sync, 120)
{
	char path[256];

	if (make_groups(_metadata, &self->world, V2))
		SKIP(return, "no cpuset controller");
	EXPECT_EQ(0, put_in(V2, 0, "cpuset.cpus", "0"));
	EXPECT_EQ(0, put_in(V2, 2, "cpuset.cpus", "0"));
	EXPECT_EQ(0, put_in(V2, 1, "cpuset.cpus.partition", "root"));
	path_of(path, sizeof(path), V2, 1, "cpuset.cpus.partition");
	EXPECT_TRUE(is(path, "root"));
	ASSERT_EQ(0, enable(true));
	EXPECT_EQ(0, set_online(VICTIM, false));
	EXPECT_NE(1, put_off());
	EXPECT_TRUE(is(path, "root"));
	EXPECT_EQ(0, probe(V2, 1));
	EXPECT_EQ(0, set_online(VICTIM, true));
	EXPECT_EQ(0, put_in(V2, 1, "cpuset.cpus.partition", "member"));
}

/* When bolt/states makes sched:active critical, the rebuild of domains is not deferred. */
TEST_F_TIMEOUT(domains, critical_is_sync, 120)
{
	if (!park(_metadata))
		SKIP(return, "this kernel rebuilds domains at once");
	EXPECT_EQ(0, set_online(VICTIM, true));
	EXPECT_EQ(0, put_active("critical"));
	EXPECT_FALSE(park(_metadata));
	EXPECT_EQ(0, set_online(VICTIM, true));
	EXPECT_EQ(0, put_active("default"));
	EXPECT_TRUE(park(_metadata));
}

/*
 * Starts deadline tasks until the kernel refuses one, tries to take VICTIM offline, and
 * returns 0 or the error of that request.
 */
static int full_offline(struct __test_metadata *_metadata)
{
	int max = 3 * sysconf(_SC_NPROCESSORS_ONLN), n = 0, err = 0, ret;
	pid_t *full = calloc(max, sizeof(*full));

	ASSERT_NE(NULL, full) {
		return -ENOMEM;
	}
	while (n < max && !err) {
		full[n] = sleeper(false);
		err = set_deadline(full[n++], 45000000);
	}
	EXPECT_EQ(-EBUSY, err);
	EXPECT_GT(n, 2);
	ret = set_online(VICTIM, false);
	if (!ret)
		set_online(VICTIM, true);
	while (n--)
		end(&full[n]);
	free(full);
	return ret;
}

TEST_F_TIMEOUT(domains, deadline_vetoes, 120)
{
	EXPECT_EQ(-EBUSY, full_offline(_metadata));
	ASSERT_EQ(0, enable(true));
	EXPECT_EQ(-EBUSY, full_offline(_metadata));
	EXPECT_NE(1, put_off());
	EXPECT_EQ(0, set_online(VICTIM, false));
}

TEST_F_TIMEOUT(domains, deadline_is_sync, 120)
{
	ASSERT_EQ(0, enable(true));
	self->world.child[0] = sleeper(false);
	ASSERT_EQ(0, set_deadline(self->world.child[0], 1000000));
	EXPECT_EQ(0, set_online(VICTIM, false));
	EXPECT_NE(1, put_off());
	end(&self->world.child[0]);
	EXPECT_EQ(0, set_online(VICTIM, true));
	EXPECT_EQ(0, set_online(VICTIM, false));
	EXPECT_NE(0, put_off());
}

/*
 * A task that may run on all CPUs but VICTIM is admitted as a deadline task while VICTIM
 * is offline.
 */
static int admit(struct __test_metadata *_metadata)
{
	cpu_set_t set;
	pid_t child;
	int err;

	EXPECT_EQ(0, sched_getaffinity(0, sizeof(set), &set));
	/* A task that sleeps on VICTIM would stay there, in no domain, when VICTIM goes. */
	EXPECT_EQ(0, pin(0, 0));
	child = sleeper(false);
	EXPECT_EQ(0, pin_set(0, &set));
	EXPECT_EQ(0, set_online(VICTIM, false));
	CPU_CLR(VICTIM, &set);
	EXPECT_EQ(0, pin_set(child, &set));
	err = set_deadline(child, 1000000);
	end(&child);
	EXPECT_EQ(0, set_online(VICTIM, true));
	return err;
}

TEST_F_TIMEOUT(domains, deadline_admission, 120)
{
	EXPECT_EQ(0, admit(_metadata));
	ASSERT_EQ(0, enable(true));
	EXPECT_EQ(0, admit(_metadata));
}

#define WORKERS 6
#define ROUNDS 40
#define FORKS 50
#define PLACINGS 5
#define TASK "bolt-placed"

/*
 * How often each CPU was chosen when a task woke up or started, before the load balancer
 * moved the task; and how often the CPU that was chosen could not be used, so that
 * select_fallback_rq() chose another CPU.
 */
struct placed {
	int woken[CPU_SETSIZE];
	int forked[CPU_SETSIZE];
	int fallback;
};

#define FALLBACK "select_fallback_rq"

/* Makes an instance of the tracer, so that settings of other instances do not change. */
static bool trace(void)
{
	static const char * const events[] = { "sched_wakeup", "sched_wakeup_new" };
	char path[128];

	if (access(TRACE_DIR "instances", F_OK))
		mount("tracefs", TRACE_DIR, "tracefs", 0, NULL);
	mkdir(TRACE_INSTANCE, 0755);
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		snprintf(path, sizeof(path), TRACE_INSTANCE "events/sched/%s/filter",
			 events[i]);
		if (put(path, "comm == \"" TASK "\""))
			return false;
		snprintf(path, sizeof(path), TRACE_INSTANCE "events/sched/%s/enable",
			 events[i]);
		if (put(path, "1"))
			return false;
	}
	return !put(TRACE_INSTANCE "set_ftrace_filter", FALLBACK) &&
	       !put(TRACE_INSTANCE "current_tracer", "function");
}

static int clear_trace(void)
{
	int fd = open(TRACE_INSTANCE "trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	return fd < 0 ? -errno : close(fd);
}

static void count_trace(struct __test_metadata *_metadata,
			struct placed *placed)
{
	FILE *file = fopen(TRACE_INSTANCE "trace", "r");
	char line[512], *cpu;

	ASSERT_NE(NULL, file);
	while (fgets(line, sizeof(line), file)) {
		int *counts = strstr(line, "sched_wakeup_new:") ?
			      placed->forked : placed->woken;

		if (strstr(line, FALLBACK " <-"))
			placed->fallback++;
		cpu = strstr(line, "target_cpu=");
		if (*line != '#' && cpu)
			counts[atoi(cpu + 11) % CPU_SETSIZE]++;
	}
	fclose(file);
}

/*
 * On a machine with four CPUs, more tasks run this function than there are CPUs, but not
 * enough to keep all CPUs busy. So some tasks find their last CPU busy when they wake up,
 * and another CPU idle.
 */
static void worker(int nr)
{
	struct timespec pause = { 0, 1700000 + nr * 130000 };

	for (int i = 0; i < ROUNDS; i++) {
		nanosleep(&pause, NULL);
		burn_ns(CLOCK_MONOTONIC, 1200000);
	}
}

/* Counts where tasks wake up and start while VICTIM is offline. */
static void place(struct __test_metadata *_metadata, struct placed *placed,
		  bool on_bolt)
{
	pid_t children[WORKERS];
	cpu_set_t all;
	int go[2];
	char c;

	EXPECT_EQ(0, sched_getaffinity(0, sizeof(all), &all));
	ASSERT_EQ(0, pipe(go));
	for (int i = 0; i < WORKERS; i++) {
		children[i] = fork();
		if (children[i])
			continue;
		/* All workers sleep on the CPU that goes, and are woken together. */
		prctl(PR_SET_NAME, TASK);
		pin(0, VICTIM);
		close(go[1]);
		if (read(go[0], &c, 1))
			_exit(1);
		burn_ns(CLOCK_MONOTONIC, 2000000);
		worker(i);
		_exit(0);
	}
	wait_ms(20);
	for (int i = 0; i < WORKERS; i++)
		EXPECT_EQ(0, pin_set(children[i], &all));
	EXPECT_EQ(0, set_online(VICTIM, false));
	if (on_bolt)
		EXPECT_NE(0, put_off());
	EXPECT_EQ(0, clear_trace());
	prctl(PR_SET_NAME, TASK);
	close(go[1]);
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();

		if (!child) {
			burn_ns(CLOCK_MONOTONIC, 500000);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	for (int i = 0; i < WORKERS; i++)
		waitpid(children[i], NULL, 0);
	prctl(PR_SET_NAME, "domains");
	close(go[0]);
	count_trace(_metadata, placed);
	EXPECT_EQ(0, set_online(VICTIM, true));
}

static int sum(const int *counts)
{
	int all = 0;

	for (int i = 0; i < CPU_SETSIZE; i++)
		all += counts[i];
	return all;
}

/* Returns the share of the CPU that was chosen most often, in per cent. */
static int most(const int *counts)
{
	int max = 0;

	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (counts[i] > max)
			max = counts[i];
	}
	return max * 100 / sum(counts);
}

static void print_placed(const char *who, const struct placed *placed)
{
	const int *woken = placed->woken, *forked = placed->forked;

	ksft_print_msg("%s: woken on %d %d %d %d, started on %d %d %d %d, fallbacks %d\n",
		       who, woken[0], woken[1], woken[2], woken[3],
		       forked[0], forked[1], forked[2], forked[3],
		       placed->fallback);
}

TEST_F_TIMEOUT(domains, placement, 240)
{
	static struct placed native, bolt;

	if (!trace()) {
		rmdir(TRACE_INSTANCE);
		SKIP(return, "no events of the scheduler, or no function tracer");
	}
	/*
	 * The result of one round depends on where its tasks began. So there are several
	 * native rounds and as many rounds with Bolt, in turn.
	 */
	for (int i = 0; i < PLACINGS; i++) {
		ASSERT_EQ(0, enable(false));
		place(_metadata, &native, false);
		print_placed("native", &native);
		ASSERT_EQ(0, enable(true));
		place(_metadata, &bolt, true);
		print_placed("bolt", &bolt);
	}
	EXPECT_EQ(0, rmdir(TRACE_INSTANCE));
	/* Otherwise nothing was traced, and the comparisons below would prove nothing. */
	ASSERT_LT(0, sum(native.woken));
	ASSERT_LT(0, sum(bolt.woken));
	EXPECT_LT(0, sum(native.forked));
	EXPECT_LT(0, sum(bolt.forked));
	EXPECT_LT(0, native.fallback);
	EXPECT_EQ(0, bolt.woken[VICTIM]);
	EXPECT_EQ(0, bolt.forked[VICTIM]);
	/*
	 * No CPU gets a larger share of the wake-ups than the busiest CPU gets
	 * natively, but for 8 percentage points, by which two native results may
	 * differ as well.
	 */
	EXPECT_LE(most(bolt.woken), most(native.woken) + 8);
	/* Natively there is one fallback for each task whose CPU has gone. */
	EXPECT_LE(bolt.fallback, native.fallback / 2);
}

/*
 * When the CPU is settled or returns, or Bolt is disabled, no rebuild is pending
 * any more.
 */
TEST_F_TIMEOUT(domains, pending_ends, 120)
{
	char text[256];

	if (!park(_metadata))
		SKIP(return, "this kernel rebuilds domains at once");
	EXPECT_EQ(0, get(BOLT_DIR "parked", text, sizeof(text)));
	EXPECT_STREQ("1", text);
	EXPECT_EQ(0, settle_all());
	EXPECT_EQ(0, put_off());
	EXPECT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(park(_metadata));
	EXPECT_EQ(0, set_online(VICTIM, true));
	EXPECT_EQ(0, put_off());
	EXPECT_TRUE(park(_metadata));
	EXPECT_EQ(0, put(BOLT_DIR "settle_delay_ms", "10"));
	wait_ms(500);
	EXPECT_EQ(0, put_off());
	EXPECT_EQ(0, set_online(VICTIM, true));
	EXPECT_EQ(0, put(BOLT_DIR "settle_delay_ms", "60000"));
	EXPECT_TRUE(park(_metadata));
	EXPECT_EQ(0, enable(false));
	EXPECT_EQ(0, put_off());
}

TEST_HARNESS_MAIN
