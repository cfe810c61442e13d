/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The actors of storm.c, which are processes that act at the same time: what each kind does,
 * with which errors attempts of this kind may be refused, and with which errors attempts of
 * other actors may be refused because an actor of this kind takes part.
 */
#ifndef SELFTESTS_BOLT_STORM_H
#define SELFTESTS_BOLT_STORM_H

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cpus.h"
#include "draw.h"
#include "groups.h"
#include "lib/children.h"
#include "model.h"
#include "rules.h"
#include "sets.h"
#include "sleep.h"

#define SMT_DIR CPU_DIR "smt/"

/* A set of errors with which a request may be refused. */
enum {
	MAY_BUSY = 1 << 0,
	MAY_PERM = 1 << 1,
	MAY_OFF = 1 << 2,
	MAY_NOMEM = 1 << 3,
	MAY_INVAL = 1 << 4,
	MAY_NODEV = 1 << 5,
	MAY_2BIG = 1 << 6,
	MAY_AGAIN = 1 << 7,
	MAY_NOENT = 1 << 8,
	MAY_NOSPC = 1 << 9,
};

static inline unsigned int may_of(int err)
{
	static const struct {
		int err;
		unsigned int may;
	} known[] = {
		{ EBUSY, MAY_BUSY }, { EPERM, MAY_PERM }, { EOPNOTSUPP, MAY_OFF },
		{ ENOMEM, MAY_NOMEM }, { EINVAL, MAY_INVAL }, { ENODEV, MAY_NODEV },
		{ E2BIG, MAY_2BIG }, { EAGAIN, MAY_AGAIN }, { ENOENT, MAY_NOENT },
		{ ENOSPC, MAY_NOSPC },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].err == -err)
			return known[i].may;
	return 0;
}

/* What an actor has done, in memory that all actors share. */
struct tally {
	pid_t pid;
	bool outside;		/* whether the actor is outside of a request */
	unsigned long attempted, done, refused, wrong;
	char complaint[160];	/* the first thing that was wrong */
};

/* Data that all actors share. */
struct storm {
	struct world world;
	cpus_t players;		/* the CPUs that come and go: never CPU 0 */
	int top;		/* the number of the last hotplug state */
	unsigned int may;	/* errors in @permits of all actors that take part */
	bool native_targets;	/* whether some actor writes to hotplug/target */
	const char *module;
	bool closed;		/* set when no actor may begin a request */
};

/* One actor at work. */
struct actor {
	const struct storm *storm;
	struct tally *tally;
	unsigned long long seed;
};

/*
 * A kind of actor. @run does one thing; @permits are errors that other actors have to
 * expect because of @run; @ready tells whether this kernel and machine have what the
 * actor needs. The actor waits for up to @pause_ms between two calls of @run. @asks: @run
 * makes requests for CPUs, which count towards the limit requests=N. @moves: @run is for
 * CPUs that come and go, of which a machine with one CPU has none.
 */
struct kind {
	const char *name;
	void (*run)(struct actor *actor);
	bool (*ready)(const struct storm *storm);
	unsigned int permits;
	int pause_ms;
	bool asks, moves;
};

static inline unsigned int roll(struct actor *actor, unsigned int n)
{
	return draw64(&actor->seed, n);
}

static inline void complain(struct actor *actor, const char *what, int err)
{
	struct tally *tally = actor->tally;

	if (!tally->wrong++)
		snprintf(tally->complaint, sizeof(tally->complaint), "%.100s: %s", what,
			 err ? strerror(err < 0 ? -err : err) : "is not refused");
}

/* Counts the outcome of a request that may be refused with @may. */
static inline void book(struct actor *actor, const char *what, int err, unsigned int may)
{
	actor->tally->attempted++;
	if (!err)
		actor->tally->done++;
	else if (may & may_of(err))
		actor->tally->refused++;
	else
		complain(actor, what, err);
}

/* Returns some of the CPUs that come and go: at least one, unless there are none. */
static inline cpus_t some_players(struct actor *actor)
{
	cpus_t players = actor->storm->players, set = 0;
	unsigned int share = 1 + roll(actor, 8);

	for (int cpu = 0; cpu < SETS_MAX; cpu++)
		if (players & CPU(cpu) && roll(actor, 8) < share)
			set |= CPU(cpu);
	return set ?: players & -players;
}

static inline int one_player(struct actor *actor)
{
	cpus_t players = actor->storm->players;

	for (int n = roll(actor, cpus_count(players)); n; n--)
		players &= players - 1;
	return cpus_first(players);
}

static inline void batch(struct actor *actor)
{
	enum ask ask = roll(actor, ASKS);
	cpus_t set = some_players(actor);
	char text[SETS_TEXT], what[SETS_TEXT + 64];
	int err;

	if (ask == SET_THEM)
		set |= actor->storm->world.present & ~actor->storm->players;
	cpus_text(set, roll(actor, 8), text);
	snprintf(what, sizeof(what), "%s to %s", text, ask_list[ask]);
	err = roll(actor, 2) ? put(ask_list[ask], text) : ask_by_mask(ask, set);
	book(actor, what, err, actor->storm->may);
}

/* Writes a random text, which may look like a request. */
static inline void malformed(struct actor *actor)
{
	const struct world *world = &actor->storm->world;
	enum ask ask = roll(actor, ASKS);
	unsigned int seed = roll(actor, 1U << 31);
	char text[256], what[128];
	struct verdict verdict;
	int wanted, err;
	cpus_t set;
	size_t len = draw_nonsense(&seed, text, sizeof(text) - 1);

	if (!len)
		return;
	wanted = model_list(world, text, len, &set);
	/*
	 * A text that is a valid request is written only if it brings CPUs online: another
	 * request could take a CPU offline that must stay, such as CPU 0.
	 */
	if (!wanted && ask != ONLINE_THEM)
		return;
	snprintf(what, sizeof(what), "'%.*s' to %s", len < 40 ? (int)len : 40, text,
		 ask_list[ask]);
	err = put_bytes(ask_list[ask], text, len);
	if (wanted) {
		book(actor, what, err, may_of(wanted) | (actor->storm->may & MAY_OFF));
		if (!err)
			complain(actor, what, 0);
		return;
	}
	verdict = judge(world, ask, set, world->present);
	book(actor, what, err, actor->storm->may | (verdict.inval ? MAY_INVAL : 0) |
	     (verdict.nodev ? MAY_NODEV : 0));
}

/* Asks for all CPUs to go, which is always refused, as no CPU would be left. */
static inline void everything(struct actor *actor)
{
	static const char what[] = "all CPUs to bolt/offline";
	int err = ask_by_list(OFFLINE_THEM, actor->storm->world.present);

	book(actor, what, err, MAY_BUSY | MAY_PERM | (actor->storm->may & MAY_OFF));
	if (!err)
		complain(actor, what, 0);
}

/* Writes to cpuN/online, as most programs do. */
static inline void single(struct actor *actor)
{
	int cpu = one_player(actor);
	bool online = roll(actor, 2);
	char what[64];

	snprintf(what, sizeof(what), "cpu%d/online %d", cpu, online);
	book(actor, what, set_online(cpu, online), actor->storm->may);
}

static inline void native_target(struct actor *actor)
{
	int cpu = one_player(actor);
	char path[128], text[16];

	snprintf(path, sizeof(path), CPU_DIR "cpu%d/hotplug/target", cpu);
	snprintf(text, sizeof(text), "%d", roll(actor, 2) ? actor->storm->top : 0);
	book(actor, path, put(path, text), actor->storm->may);
}

static inline void switcher(struct actor *actor)
{
	bool stay = !roll(actor, 4);

	book(actor, "enabled", enable(false), 0);
	if (stay)
		wait_ms(roll(actor, 50));
	book(actor, "enabled", enable(true), 0);
}

static inline void settler(struct actor *actor)
{
	static const char * const delays[] = { "0", "1", "10", "100", "1000" };
	char text[SETS_TEXT];

	switch (roll(actor, 4)) {
	case 0:
		book(actor, "settle", settle_all(), 0);
		break;
	case 1:
		cpus_text(some_players(actor), 0, text);
		book(actor, "settle", put(BOLT_DIR "settle", text), 0);
		break;
	case 2:
		book(actor, "keep", put(BOLT_DIR "keep", roll(actor, 2) ? "delay" :
					"pressure"), 0);
		break;
	default:
		book(actor, "settle_delay_ms", put(BOLT_DIR "settle_delay_ms",
						   delays[roll(actor, 5)]), 0);
	}
}

static inline void keeper(struct actor *actor)
{
	char text[SETS_TEXT];

	/* A list for irq_keep may be refused, as perhaps no CPU of the list is online. */
	cpus_text(some_players(actor), 0, text);
	book(actor, "irq_keep", put(BOLT_DIR "irq_keep", text), MAY_INVAL);
	wait_ms(roll(actor, 20));
	book(actor, "irq_keep", put(BOLT_DIR "irq_keep", "\n"), 0);
}

static inline void reader(struct actor *actor)
{
	static const char * const files[] = {
		BOLT_DIR "parked", BOLT_DIR "last_error", BOLT_DIR "enabled",
		BOLT_DIR "irq_keep", CPU_DIR "online", CPU_DIR "offline",
		"/proc/interrupts", "/proc/stat", "/proc/cpuinfo", "/proc/vmstat",
		"/sys/kernel/debug/bolt/states", "/sys/kernel/debug/bolt/stats",
	};
	static char text[1 << 16];
	const char *path = files[roll(actor, ARRAY_SIZE(files))];
	int err = get(path, text, sizeof(text));

	book(actor, path, err, MAY_NOENT);
}

static inline bool has_smt(const struct storm *storm)
{
	return is(SMT_DIR "control", "on");
}

static inline void threads(struct actor *actor)
{
	const char *to = roll(actor, 3) ? "on" : "off";

	book(actor, "smt/control", put(SMT_DIR "control", to), actor->storm->may);
}

/* Tries to suspend, before sysfs is listed, because the first suspend may add terminals there. */
static inline bool has_suspend(const struct storm *storm)
{
	return !no_sleep_delay() && !suspend_to("freezer");
}

/* Suspends up to a step at which all CPUs but one have gone, and wakes up. */
static inline void suspend(struct actor *actor)
{
	book(actor, "suspend", suspend_to(roll(actor, 2) ? "core" : "processors"),
	     MAY_BUSY | MAY_NOMEM | MAY_AGAIN);
}

static inline bool has_module(const struct storm *storm)
{
	return storm->module && !access(storm->module, R_OK);
}

/*
 * Loads and removes a module, which makes and destroys slab caches, counters and
 * more.
 */
static inline void come_and_go(struct actor *actor)
{
	const char *name = strrchr(actor->storm->module, '/');
	int fd = open(actor->storm->module, O_RDONLY | O_CLOEXEC), err = 0;
	char text[64];

	if (syscall(SYS_finit_module, fd, "counters=300 caches=10", 0))
		err = -errno;
	close(fd);
	book(actor, "insert the module", err, 0);
	if (err)
		return;
	wait_ms(roll(actor, 20));
	snprintf(text, sizeof(text), "%s", name ? name + 1 : actor->storm->module);
	text[strcspn(text, ".")] = '\0';
	if (syscall(SYS_delete_module, text, O_NONBLOCK))
		err = -errno;
	book(actor, "remove the module", err, 0);
}

/*
 * Touches most of the memory that is available, and now and then more than is available.
 */
static inline void hog(struct actor *actor)
{
	unsigned long kb = 0;
	char line[256];
	FILE *file = fopen("/proc/meminfo", "r");
	pid_t pid;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %lu kB", &kb) == 1)
			break;
	if (file)
		fclose(file);
	kb = kb / 8 * (5 + roll(actor, 5));
	pid = fork_mortal();
	if (!pid) {
		char *map;

		put("/proc/self/oom_score_adj", "1000");
		map = mmap(NULL, kb << 10, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		for (size_t i = 0; map != MAP_FAILED && i < kb << 10; i += 4096)
			map[i] = 1;
		_exit(0);
	}
	book(actor, "fork", pid < 0 ? -errno : 0, MAY_NOMEM);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/*
 * Occupies all online CPUs for a while, so that kernel threads and workers are late,
 * workers that settle CPUs included.
 */
static inline void starve(struct actor *actor)
{
	struct sched_param param = { .sched_priority = 50 };
	long ms = 1 + roll(actor, 40);
	cpus_t online;
	int n = 0;

	if (!cpus_read(CPU_DIR "online", &online))
		return;
	for (int cpu = 0; cpu < SETS_MAX; cpu++) {
		pid_t pid;

		if (!(online & CPU(cpu)))
			continue;
		pid = fork_mortal();
		n += pid > 0;
		if (pid)
			continue;
		/* The CPU may have gone offline. */
		if (pin(0, cpu) || sched_setscheduler(0, SCHED_FIFO, &param))
			_exit(0);
		burn_ns(CLOCK_MONOTONIC, ms * 1000000);
		_exit(0);
	}
	while (n--)
		wait(NULL);
	book(actor, "starve", 0, 0);
}

static inline bool has_cpusets(const struct storm *storm)
{
	return !group_no_cpusets();
}

/*
 * Starts a task in @group, unless the group has no CPU. Returns the task, or -1.
 *
 * The task is born in the group. Linux 6.12 deadlocks, also without Bolt, if a task moves to
 * a group while another task changes a partition: the move has cgroup_threadgroup_rwsem,
 * which every thread that starts or ends needs, and waits for cpuset_mutex; the task that
 * changes the partition has cpuset_mutex and waits for a worker to start or to end.
 */
static inline pid_t inhabit(struct actor *actor, const char *group)
{
	pid_t pid = group_fork(V2, group);
	int err = pid < 0 ? -errno : 0;

	while (!pid)
		burn_ns(CLOCK_MONOTONIC, 1000000);
	book(actor, "start a task in a group", err, MAY_NOSPC);
	return pid;
}

/* Removes @group, from which the last task may not quite have gone. */
static inline int evacuate(const char *group)
{
	int err = -EBUSY;

	for (int i = 0; i < 1000 && err == -EBUSY; i++) {
		err = group_remove(V2, group);
		if (err)
			wait_ms(1);
	}
	return err;
}

/*
 * Makes a cpuset partition of one CPU or two, which no task of other groups may use
 * until the partition ends. If all its CPUs are offline, no task can start in the partition.
 */
static inline void enclose(struct actor *actor)
{
	cpus_t set = CPU(one_player(actor)) | CPU(one_player(actor));
	const char *kind = roll(actor, 2) ? "isolated" : "root";
	char group[32], text[SETS_TEXT];
	pid_t pid;
	int err;

	snprintf(group, sizeof(group), "partition-%d", getpid());
	cpus_text(set, 0, text);
	err = group_make(V2, group) ?: group_put(V2, group, "cpuset.cpus", text) ?:
	      group_put(V2, group, "cpuset.cpus.partition", kind);
	book(actor, "make a partition", err, 0);
	pid = inhabit(actor, group);
	wait_ms(roll(actor, 40));
	if (pid > 0 && roll(actor, 2)) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	book(actor, "end a partition", group_put(V2, group, "cpuset.cpus.partition", "member"), 0);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	book(actor, "remove a group", evacuate(group), 0);
}

static const struct kind kinds[] = {
	{ "batch", batch, NULL, 0, 4, true, true },
	{ "malformed", malformed, NULL, 0, 8 },
	{ "all", everything, NULL, 0, 20, true },
	{ "single", single, NULL, 0, 8, true, true },
	/*
	 * A CPU that this actor has taken offline still has 1 in cpuN/online. A write of
	 * 0 to that file is refused with EBUSY if only one CPU is online.
	 */
	{ "target", native_target, NULL, MAY_BUSY, 30, true, true },
	{ "switch", switcher, NULL, MAY_OFF, 60 },
	{ "settle", settler, NULL, 0, 20 },
	{ "keep", keeper, NULL, MAY_BUSY, 60 },
	{ "read", reader, NULL, 0, 10 },
	{ "smt", threads, has_smt, MAY_PERM, 100, true, true },
	/*
	 * A suspend freezes all other actors. Shortly before and after that, the kernel
	 * refuses requests of the actors with EBUSY.
	 */
	{ "suspend", suspend, has_suspend, MAY_BUSY, 300, true, true },
	{ "module", come_and_go, has_module, 0, 50 },
	{ "hog", hog, NULL, MAY_NOMEM, 200 },
	{ "starve", starve, NULL, 0, 40 },
	{ "partition", enclose, has_cpusets, 0, 20, false, true },
};

#endif /* SELFTESTS_BOLT_STORM_H */
