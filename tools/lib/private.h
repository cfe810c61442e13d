/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of libcpubolt use of each other. The library exports none of these functions. */
#ifndef CPUBOLT_PRIVATE_H
#define CPUBOLT_PRIVATE_H

#include <sys/types.h>

#include "cpubolt.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/*
 * No machine has so many CPU numbers: cpubolt_open() refuses a list of possible CPUs that has this
 * number or a higher one.
 */
#define CPU_NUMBERS_MAX (1U << 16)

/* -- sysfs.c: files below a directory --------------------------------------- */

/*
 * A file of this size or more is not read. The limit is above a page, because the list of the CPUs
 * of a package or a node may be longer than a page.
 */
#define SYSFS_READ_MAX (1U << 20)

/**
 * sysfs_text_max() - the longest text that a file of bolt/ takes: Bolt refuses a page or more
 *
 * When a program reads a file of sysfs, the kernel cuts a text that is longer than this. Two kinds
 * of files are not cut: a binary file is read whole, in parts, and reading a list of CPUs in a file
 * of bolt/ fails with -EOVERFLOW.
 */
size_t sysfs_text_max(void);

/** sysfs_open() - open the directory @name below @dir; a descriptor or a negative errno */
int sysfs_open(int dir, const char *name);

/**
 * sysfs_read() - read all of the file @name below the directory @dir
 * @text: contents, with a NUL behind; to be freed with free(), NULL after an error
 *
 * Return: 0 or a negative errno, such as -EFBIG if the file has SYSFS_READ_MAX bytes or more, or
 * -EINVAL if the contents have a NUL.
 */
int sysfs_read(int dir, const char *name, char **text);

/**
 * sysfs_line() - read a file of one line into @line, without the newline; -EMSGSIZE: no room
 *
 * After an error @line is "".
 */
int sysfs_line(int dir, const char *name, char *line, size_t size);

/** sysfs_number() - read a decimal number; -EINVAL: another text, -EMSGSIZE: 32 bytes or more */
int sysfs_number(int dir, const char *name, int *number);

/** sysfs_write() - one write() of @size bytes into the file @name; -EIO if not all were taken */
int sysfs_write(int dir, const char *name, const void *data, size_t size);

/**
 * sysfs_parse_number() - read @text, a decimal number from INT_MIN to INT_MAX, into @number
 *
 * Return: 0, or -EINVAL if @text is anything else.
 */
int sysfs_parse_number(const char *text, int *number);

/* -- set.c: sets of CPUs, whatever the machine ------------------------------ */

/** A set of CPUs, and how many CPU numbers it can have */
struct set {
	cpu_set_t *cpus;
	size_t size;		/* bytes */
	unsigned int numbers;
};

/**
 * set_parse_list() - read a cpulist into @set
 * @possible: the CPUs that @text may name, and what "all" means; NULL: every number of @set
 * @error_at: after an error, the offset in @text of what is wrong; may be NULL
 *
 * Errors: -EINVAL if @text is malformed, -ERANGE if a number is too high or not in @possible. After
 * an error @set is empty.
 */
int set_parse_list(const struct set *set, const cpu_set_t *possible, const char *text,
		   size_t *error_at);

/** set_parse_mask() - read a mask in hexadecimal digits; otherwise like set_parse_list() */
int set_parse_mask(const struct set *set, const cpu_set_t *possible, const char *text,
		   size_t *error_at);

/** set_format_list() - a cpulist, to be freed with free(); NULL if memory is short */
char *set_format_list(const struct set *set);

/** set_format_mask() - as set_format_list(), but a mask in groups of 32 bits */
char *set_format_mask(const struct set *set);

/** set_subtract() - fill @target, which may be @from, with the CPUs of @from not in @without */
void set_subtract(size_t size, cpu_set_t *target, const cpu_set_t *from, const cpu_set_t *without);

/** set_next() - the lowest CPU of @cpus from @cpu on, or @numbers if there is none */
unsigned int set_next(const cpu_set_t *cpus, unsigned int numbers, unsigned int cpu);

/* -- handle.c, cpus.c: which CPUs are online, parked and so on --------------- */

/** What one look at the machine has found */
struct view {
	cpu_set_t *sets[CPUBOLT_WHICH_COUNT];
	cpu_set_t *halfway;
	bool isolated_known;	/* the sets of isolated and of nohz_full CPUs have been read */
	unsigned int features;
	unsigned long long last_batch; /* number of the newest request in last_error, or 0 */
};

struct cpubolt {
	int root;
	int cpus;		/* descriptor of sys/devices/system/cpu */
	bool recorded;		/* whether this is a recorded tree, not the running system */
	unsigned int numbers;	/* how many CPU numbers there are: one more than the highest */
	size_t size;		/* size of a set, in bytes */
	cpu_set_t *possible;
	unsigned long long looked_ns; /* when @now was made, by CLOCK_MONOTONIC */
	struct view *now;
	struct view *next;	/* the view that cpubolt_refresh() fills, to become @now */
	cpu_set_t *looked;	/* CPUs whose file cpuN/online has been looked for */
	cpu_set_t *movable;	/* CPUs that have a file cpuN/online */
	struct topology *topology;
};

/** set_of() - a set of the machine, for the functions of set.c */
struct set set_of(const struct cpubolt *handle, const cpu_set_t *cpus);

/** view_new() - an empty view, or NULL if memory is short */
struct view *view_new(const struct cpubolt *handle);

/** view_free() - free @view; NULL is allowed */
void view_free(struct view *view);

/** cpu_now_ns() - the time of CLOCK_MONOTONIC */
unsigned long long cpu_now_ns(void);

/** cpu_refresh_if_old() - cpubolt_refresh(), unless the last refresh was less than 10 ms ago */
int cpu_refresh_if_old(struct cpubolt *handle);

/**
 * cpu_is_away() - tell whether @cpu is neither online nor half-way
 *
 * Of the topology of such a CPU, sysfs has at most the NUMA node.
 */
bool cpu_is_away(const struct cpubolt *handle, unsigned int cpu);

/** cpu_wanted() - tell whether @op with @cpus wants @cpu online: 1, offline: 0, or neither: -1 */
int cpu_wanted(const struct cpubolt *handle, enum cpubolt_op op, const cpu_set_t *cpus,
	       unsigned int cpu);

/** cpu_missing() - count the CPUs that are not as @op wants, and add these to @missing */
unsigned int cpu_missing(const struct cpubolt *handle, enum cpubolt_op op, const cpu_set_t *cpus,
			 cpu_set_t *missing);

/* -- halfway.c ----------------------------------------------------------------- */

/** halfway_find() - fill in @view->halfway and @view->last_batch; needs @view->sets */
int halfway_find(struct cpubolt *handle, struct view *view);

/** hotplug_state() - number of the hotplug state at which @cpu is, or -1 if that is not known */
int hotplug_state(const struct cpubolt *handle, unsigned int cpu);

/* -- error.c: bolt/last_error ------------------------------------------------ */

/** One line of last_error; the texts are cut if they do not fit */
struct error_line {
	unsigned long long batch;
	int pid;
	int cpu;
	int err;
	char state[64];
	char undo[128];
};

/**
 * error_next() - read the next line of last_error
 * @text: where to read; is moved behind the line
 *
 * Return: 1, or 0 at the end. A line is left out if batch, pid, cpu, state or errno is missing or
 * malformed, or if the line has 1024 bytes or more.
 */
int error_next(const char **text, struct error_line *line);

/** error_undo_next() - the next CPU of an undo list; -1 at its end, -2 if cut or malformed */
int error_undo_next(const char **undo);

/* -- topology.c, cores.c, remember.c -------------------------------------------- */

/** What is known of one CPU */
struct place {
	bool known;		/* this handle or another program has read the CPU's topology */
	bool saved;		/* the place is in /run/cpubolt/topology */
	int core_id;		/* number as in sysfs, unlike the number in topology.core */
	struct cpubolt_topology topology;
	struct cpubolt_cache *caches;
	int cache_count;	/* number of caches, -1 before these are read */
};

struct topology {
	struct place *places;	/* one for each CPU number */
	bool loaded;		/* /run/cpubolt/topology has been read, if there is one */
	bool fresh;		/* all CPUs online or half-way were read, and cores have numbers */
};

/** topology_free() - free all that is known of CPUs */
void topology_free(struct cpubolt *handle);

/** topology_stale() - note that CPUs may have come or gone */
void topology_stale(struct cpubolt *handle);

/** topology_save() - try to have the places of the online and half-way CPUs of @cpus in /run */
void topology_save(struct cpubolt *handle, const cpu_set_t *cpus);

/** cores_number() - number cores in the order of their first CPUs, and the threads of each */
int cores_number(struct cpubolt *handle);

/** remember_load() - fill in the places that an earlier program has left in /run */
void remember_load(struct cpubolt *handle);

/** remember_parse() - fill in the places that @text has, if @text was written in the boot @boot */
int remember_parse(struct cpubolt *handle, const char *text, const char *boot);

/** remember_save() - write all known places to /run; 0 or a negative errno */
int remember_save(struct cpubolt *handle);

/* -- request.c, native.c ---------------------------------------------------------- */

/** request_find_error() - fill in what last_error says of a request that failed with errno @err */
void request_find_error(struct cpubolt *handle, int err, struct cpubolt_result *result);

/**
 * native_request() - write cpuN/online of each CPU in @missing
 *
 * The files of CPUs that come online are written first. Return: 0 or a negative errno. After an
 * error @result has the CPUs that could not be put back, and the CPU that failed, unless memory was
 * short before the first write.
 */
int native_request(struct cpubolt *handle, enum cpubolt_op op, const cpu_set_t *cpus,
		   const cpu_set_t *missing, unsigned int flags, struct cpubolt_result *result);

/* -- events.c ---------------------------------------------------------------------- */

/** event_parse() - fill in @event of device @name; return 1, or 0 if no CPU has come or gone */
int event_parse(const char *action, const char *name, struct cpubolt_event *event);

#endif /* CPUBOLT_PRIVATE_H */
