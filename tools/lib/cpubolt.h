/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libcpubolt tells which CPUs of a Linux machine are online, and carries out
 * requests that bring CPUs online or take CPUs offline.
 *
 * A request is one write to /sys/devices/system/cpu/bolt/ where the kernel has
 * Bolt and Bolt is enabled. Elsewhere, or with the flag CPUBOLT_NATIVE, the
 * library writes cpuN/online of one CPU after the other, unless the flag
 * CPUBOLT_BATCH_ONLY forbids that.
 *
 * Sets of CPUs are glibc's cpu_set_t of dynamic size, see CPU_ALLOC(3): a set
 * made by cpubolt_set_new() has room for every CPU number of the machine, is worked on
 * with CPU_SET_S(), CPU_AND_S() and their like, with cpubolt_set_size() as the
 * size, and is freed with CPU_FREE().
 *
 * Functions that can fail return 0 or a negative errno, unless said otherwise.
 * A handle belongs to one thread at a time. The library prints nothing.
 */
#ifndef CPUBOLT_H
#define CPUBOLT_H

#ifndef _GNU_SOURCE
#error "cpubolt.h needs _GNU_SOURCE, for cpu_set_t of dynamic size"
#endif

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cpubolt;
struct cpubolt_monitor;

/* -- The machine ---------------------------------------------------------- */

/**
 * cpubolt_open() - read the CPUs of a machine
 * @root: directory that stands for "/", where a recorded tree is read; NULL or
 *	  "" is the running system
 * @handle: where the handle is stored; free it with cpubolt_close()
 *
 * Errors: -ENOENT if @root has no sys/devices/system/cpu, or if the list of possible, present or
 * online CPUs is missing there; -EINVAL if one of these lists, the list of enabled CPUs or
 * bolt/enabled cannot be understood; -EFBIG or -EMSGSIZE if a file is too long; -ENOMEM; errors of
 * open(2) and read(2).
 */
int cpubolt_open(const char *root, struct cpubolt **handle);

/** cpubolt_close() - free @handle; NULL is allowed */
void cpubolt_close(struct cpubolt *handle);

/**
 * cpubolt_refresh() - read anew which CPUs are online, parked and so on
 *
 * cpubolt_open() refreshes the handle itself. cpubolt_request() refreshes the handle before it
 * writes, unless the last refresh was less than 10 ms ago, and again after it has written. The
 * handle reads topology and caches of a CPU when a program first asks for these, the topology also
 * before a request takes the CPU offline, and remembers both until the CPU is unplugged.
 *
 * Errors: as cpubolt_open(); after an error all sets are as before.
 */
int cpubolt_refresh(struct cpubolt *handle);

/** What a kernel offers, for cpubolt_features() */
#define CPUBOLT_HAS_HOTPLUG	(1 << 0) /* some CPU that is plugged in has a file cpuN/online */
#define CPUBOLT_HAS_BOLT	(1 << 1) /* the directory bolt/ exists */
#define CPUBOLT_ENABLED		(1 << 2) /* bolt/enabled is 1 */
#define CPUBOLT_UNREADABLE	(1 << 3) /* bolt/ exists, but this user may not read its files */
/*
 * The list of parked CPUs is longer than a page or makes no sense: a parked CPU that the library
 * could not read from the list counts as offline and not parked
 */
#define CPUBOLT_PARKED_UNKNOWN	(1 << 4)

/** cpubolt_features() - what the kernel offers, as CPUBOLT_* bits */
unsigned int cpubolt_features(struct cpubolt *handle);

/* -- Sets of CPUs --------------------------------------------------------- */

/** cpubolt_set_new() - an empty set for all CPU numbers of the machine; NULL if memory is short */
cpu_set_t *cpubolt_set_new(const struct cpubolt *handle);

/** cpubolt_set_size() - size of the machine's sets in bytes, the argument setsize of CPU_*_S() */
size_t cpubolt_set_size(const struct cpubolt *handle);

/**
 * cpubolt_parse_list() - read a cpulist
 * @text: "0-3,8", "0-31:1/2", "all", "N" for the last CPU number: what the
 *	  kernel's own files take
 * @set: made by cpubolt_set_new(); is overwritten, and on errors is empty
 * @error_at: after an error, the offset in @text of what is wrong; may be NULL
 *
 * Errors: -EINVAL malformed, -ERANGE a CPU number that the machine cannot have.
 */
int cpubolt_parse_list(const struct cpubolt *handle, const char *text, cpu_set_t *set,
		       size_t *error_at);

/** cpubolt_parse_mask() - as cpubolt_parse_list(), but @text is a mask: "ff,ffffffff" or "0xff" */
int cpubolt_parse_mask(const struct cpubolt *handle, const char *text, cpu_set_t *set,
		       size_t *error_at);

/** cpubolt_format_list() - @set as a cpulist, to be freed with free(); NULL if memory is short */
char *cpubolt_format_list(const struct cpubolt *handle, const cpu_set_t *set);

/** cpubolt_format_mask() - as cpubolt_format_list(), but a mask in groups of 32 bits */
char *cpubolt_format_mask(const struct cpubolt *handle, const cpu_set_t *set);

/** Sets of the machine, for cpubolt_cpus() */
enum cpubolt_which {
	CPUBOLT_POSSIBLE,	/* CPUs that may ever be plugged in */
	CPUBOLT_PRESENT,	/* CPUs that are plugged in */
	CPUBOLT_ONLINE,		/* CPUs that are completely online */
	CPUBOLT_PARKED,		/* CPUs that are offline, with teardowns that Bolt has deferred */
	CPUBOLT_OFFLINE,	/* CPUs present but not online, parked and half-way CPUs included */
	CPUBOLT_ISOLATED,	/* CPUs of isolcpus=, not those of isolated cpuset partitions */
	CPUBOLT_NOHZ_FULL,	/* CPUs of nohz_full= */
	CPUBOLT_FIXED,		/* CPUs online without a file cpuN/online: these cannot go */
	CPUBOLT_WHICH_COUNT
};

/**
 * cpubolt_cpus() - copy one of the machine's sets into @set
 *
 * The kernel cuts some lists that are longer than a page. If the list of present or of online CPUs
 * was cut, the files of each CPU behind its end tell whether the CPU is present or online. A CPU
 * behind the end of the list of parked CPUs does not count as parked, see CPUBOLT_PARKED_UNKNOWN; a
 * CPU behind the end of the list of isolated or of nohz_full CPUs counts as listed there.
 *
 * Errors: -EINVAL if @which is no set of the machine. The first call for CPUBOLT_ISOLATED or
 * CPUBOLT_NOHZ_FULL after cpubolt_open(), and after each refresh, reads both lists: -EINVAL also if
 * a list cannot be understood, -ENOMEM, and errors of open(2) and read(2); but a list that is
 * missing, or that this user may not read, counts as empty. After an error @set is empty.
 */
int cpubolt_cpus(const struct cpubolt *handle, enum cpubolt_which which, cpu_set_t *set);

/** State of one CPU */
enum cpubolt_state {
	CPUBOLT_STATE_ABSENT,	/* the CPU is possible, but not plugged in */
	CPUBOLT_STATE_OFFLINE,
	CPUBOLT_STATE_PARKED,
	CPUBOLT_STATE_HALFWAY,	/* hotplug has stopped between offline and online */
	CPUBOLT_STATE_ONLINE
};

/** cpubolt_state() - enum cpubolt_state of @cpu, or -ERANGE if the machine has no such number */
int cpubolt_state(const struct cpubolt *handle, unsigned int cpu);

/** cpubolt_state_name() - constant string "online", "half-way", ...; "unknown" for other numbers */
const char *cpubolt_state_name(enum cpubolt_state state);

/* -- Topology and caches -------------------------------------------------- */

/**
 * Where a CPU is
 *
 * A number that is not known is -1. Of a CPU that was never seen online or half-way, at most the
 * node is known.
 */
struct cpubolt_topology {
	int core;		/* number of the core, unique in the machine */
	int cluster;
	int die;
	int package;		/* physical_package_id */
	int node;		/* NUMA node */
	int thread;		/* 0 for the first thread of its core, 1 for the next, ... */
	int capacity;		/* cpu_capacity, 1024 at most, or -1 */
	int max_khz;		/* cpufreq's highest frequency */
};

/**
 * cpubolt_topology() - where @cpu is
 *
 * Of the topology of a CPU that is offline, sysfs has only the node. For such a CPU
 * the library answers with the topology that this handle has read while the CPU was online, or
 * that some cpubolt_request() since boot has written to /run/cpubolt/topology.
 *
 * Errors: -ERANGE no such CPU number, -ENODATA nothing is known of @cpu, -ENOMEM.
 */
int cpubolt_topology(struct cpubolt *handle, unsigned int cpu,
		     struct cpubolt_topology *topology);

/** One cache of a CPU */
struct cpubolt_cache {
	int level;
	char type;		/* 'd' data, 'i' instructions, 'u' unified */
	unsigned long long size; /* bytes, 0 if unknown */
	int id;			/* unique among caches of this level and type */
};

/**
 * cpubolt_cache() - cache @index of @cpu, counted from 0, nearest first
 *
 * The library remembers the caches of a CPU in @handle only, not in /run.
 *
 * Errors: as cpubolt_topology() and cpubolt_refresh(), -ENODATA also if @cpu is offline and this
 * handle has not read its caches before; -ENOENT if @cpu has no more than @index caches.
 */
int cpubolt_cache(struct cpubolt *handle, unsigned int cpu, unsigned int index,
		  struct cpubolt_cache *cache);

/* -- Requests ------------------------------------------------------------- */

enum cpubolt_op {
	CPUBOLT_BRING_ONLINE,
	CPUBOLT_TAKE_OFFLINE,
	CPUBOLT_SET_ONLINE	/* these CPUs are the only ones online afterwards */
};

/**
 * Way in which a request was carried out, or failed
 *
 * The way is CPUBOLT_WAY_NONE also if the CPUs could not be looked at, or memory was short, before
 * a way was chosen, or if CPUBOLT_BATCH_ONLY forbade the only way. On the other ways, too, the
 * library may have refused the request, or memory may have been short, before the first write.
 */
enum cpubolt_way {
	CPUBOLT_WAY_NONE,	/* every CPU was as wanted, or the request itself was wrong */
	CPUBOLT_WAY_BATCH,	/* one write to bolt/ */
	CPUBOLT_WAY_NATIVE	/* writes to cpuN/online, one CPU after the other */
};

/**
 * What became of a request
 *
 * After an error with CPUBOLT_WAY_NONE, nothing has changed. @missing is then 0, as no CPUs were
 * counted, unless CPUBOLT_BATCH_ONLY forbade the only way (-EOPNOTSUPP). If the CPUs could not be
 * looked at after the writes, @error is set, and @changed and @missing are both 0: the counts are
 * not known then.
 */
struct cpubolt_result {
	enum cpubolt_way way;
	int error;		/* 0, or the positive errno of the request */
	int cpu;		/* CPU that failed, or -1 */
	char state[64];		/* hotplug state that failed, "admission", or "" if not known */
	char undo[128];		/* CPUs that could not be put back: "CPU:STATE,...", or "" */
	unsigned int changed;	/* CPUs that are now as wanted and were not before */
	unsigned int missing;	/* CPUs that are not as wanted now */
	unsigned long long ns;	/* duration of the writes, by CLOCK_MONOTONIC */
};

#define CPUBOLT_NATIVE		(1 << 0) /* write cpuN/online although Bolt is enabled */
#define CPUBOLT_BATCH_ONLY	(1 << 1) /* fail with -EOPNOTSUPP rather than write cpuN/online */
#define CPUBOLT_KEEP_CHANGES	(1 << 2) /* on the native way, put back no CPU after an error */

/**
 * cpubolt_request() - bring CPUs online, or take CPUs offline
 * @cpus: the CPUs that @op brings online, takes offline, or makes the only ones online
 * @flags: CPUBOLT_NATIVE, CPUBOLT_BATCH_ONLY, CPUBOLT_KEEP_CHANGES, or 0
 * @result: is overwritten; may be NULL
 *
 * With Bolt the kernel does all of the request, or puts back the CPUs that it has changed. When a
 * CPU fails on the native way, the library puts back the CPUs that it has changed, unless
 * CPUBOLT_KEEP_CHANGES is set. With Bolt as on the native way, @result->undo names CPUs that could
 * not be put back.
 *
 * Errors: as listed for the file "offline" in
 * Documentation/ABI/testing/sysfs-devices-system-cpu-bolt, -EACCES without
 * privilege, and errors of reading and writing sysfs, such as -EROFS.
 */
int cpubolt_request(struct cpubolt *handle, enum cpubolt_op op, const cpu_set_t *cpus,
		    unsigned int flags, struct cpubolt_result *result);

/**
 * cpubolt_explain() - @result as one English sentence without a newline
 *
 * After an error the sentence says why, and mostly names the CPU and the hotplug state
 * that failed, if these are known. To be freed with free(); NULL if memory is short.
 */
char *cpubolt_explain(enum cpubolt_op op, const struct cpubolt_result *result);

/**
 * cpubolt_settle() - run the deferred teardowns of @cpus, of all CPUs if @cpus is NULL
 *
 * Returns when these teardowns have run. Errors: -EINVAL if @cpus is empty, -ENOENT without Bolt;
 * otherwise as cpubolt_put(). A list that is too long for one write is written in parts, so that
 * after an error some of the CPUs may have been settled.
 */
int cpubolt_settle(struct cpubolt *handle, const cpu_set_t *cpus);

/**
 * cpubolt_get() - contents of a file of bolt/, such as "settle_delay_ms", without the last newline
 * @value: to be freed with free(); NULL after an error
 *
 * Errors: -EINVAL if @name is not a plain file name, -ENAMETOOLONG, -ENOMEM, and errors of open(2)
 * and read(2), such as -ENOENT or -EACCES.
 */
int cpubolt_get(struct cpubolt *handle, const char *name, char **value);

/**
 * cpubolt_put() - write @value to a file of bolt/ with one write(); a newline if @value is empty
 *
 * Errors: as cpubolt_get(), and what the kernel gives for the file.
 */
int cpubolt_put(struct cpubolt *handle, const char *name, const char *value);

/* -- Events --------------------------------------------------------------- */

/** A change of one CPU that udev has announced */
struct cpubolt_event {
	unsigned int cpu;
	bool online;		/* came online; if false, the CPU went offline or was unplugged */
};

/**
 * cpubolt_monitor_open() - listen for CPUs that come and go
 *
 * Errors: those of sd_device_monitor_new(3) and sd_event_new(3), -ENOMEM; -EOPNOTSUPP if @handle
 * reads a recorded tree, if udev does not run, or if the library was built without libsystemd.
 */
int cpubolt_monitor_open(struct cpubolt *handle, struct cpubolt_monitor **monitor);

/**
 * cpubolt_monitor_next() - wait for the next event
 * @timeout_us: microseconds to wait at most; UINT64_MAX: wait for ever, 0: do not wait
 *
 * Return: 1 with an event, 0 after the time is up, or a negative errno. -ENOBUFS means that events
 * were lost; cpubolt_refresh() then finds the state of all CPUs.
 */
int cpubolt_monitor_next(struct cpubolt_monitor *monitor, unsigned long long timeout_us,
			 struct cpubolt_event *event);

/** cpubolt_monitor_fd() - a descriptor for poll(2), or a negative errno */
int cpubolt_monitor_fd(const struct cpubolt_monitor *monitor);

/** cpubolt_monitor_close() - free @monitor; NULL is allowed */
void cpubolt_monitor_close(struct cpubolt_monitor *monitor);

#ifdef __cplusplus
}
#endif

#endif /* CPUBOLT_H */
