// SPDX-License-Identifier: GPL-2.0-only
/* Tests what the library says of each recorded machine: states, topology, caches. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tree.h"

#define CPUS "sys/devices/system/cpu/"

/* -- States ------------------------------------------------------------------- */

struct machine {
	const char *name;
	unsigned int features;
	const char *sets[CPUBOLT_WHICH_COUNT];
};

#define HOTPLUG CPUBOLT_HAS_HOTPLUG
#define BOLT (CPUBOLT_HAS_HOTPLUG | CPUBOLT_HAS_BOLT | CPUBOLT_ENABLED)

/* possible, present, online, parked, offline, isolated, nohz_full, fixed */
static const struct machine machines[] = {
	{ "small", HOTPLUG, { "0-3", "0-3", "0-3", "", "", "", "", "0" } },
	{ "smt+bolt", BOLT, { "0-31", "0-31", "0-31", "", "", "", "", "0" } },
	{ "smt+disabled", HOTPLUG | CPUBOLT_HAS_BOLT,
	  { "0-31", "0-31", "0-31", "", "", "", "", "0" } },
	{ "smt+bolt+parked", BOLT, { "0-31", "0-31", "0-28", "30-31", "29-31", "", "", "0" } },
	{ "smt+smtoff", HOTPLUG, { "0-31", "0-31", "0-15", "", "16-31", "", "", "0" } },
	{ "hybrid+isolated", HOTPLUG, { "0-19", "0-19", "0-19", "", "", "2-3", "2-3", "0" } },
	{ "hybrid+smtoff", HOTPLUG,
	  { "0-19", "0-19", "0,2,4,6,8,10,12-19", "", "1,3,5,7,9,11", "", "", "0" } },
	{ "nodes+offline", HOTPLUG, { "0-63", "0-63", "0-47", "", "48-63", "", "", "0" } },
	{ "clusters+slots", HOTPLUG, { "0-11", "0-7", "0-7", "", "", "", "", "" } },
	{ "small+halfway", HOTPLUG, { "0-3", "0-3", "0,2-3", "", "1", "", "", "0" } },
	{ "small+halfway+bolt", BOLT, { "0-3", "0-3", "0,2-3", "", "1", "", "", "0" } },
};

static void test_sets(void **state)
{
	struct cpubolt *handle;
	size_t i;
	int which;

	for (i = 0; i < ARRAY_SIZE(machines); i++) {
		handle = tree_open(machines[i].name);
		print_message("# %s\n", machines[i].name);
		assert_int_equal(cpubolt_features(handle), machines[i].features);
		for (which = 0; which < CPUBOLT_WHICH_COUNT; which++)
			assert_cpus(handle, which, machines[i].sets[which]);
		tree_close(handle);
	}
}

static void test_sets_of_1780_cpus(void **state)
{
	struct cpubolt *handle = tree_open_wide();

	assert_cpus(handle, CPUBOLT_ONLINE, "0-1779");
	tree_write(tree_folder(), CPUS "online", "0-1776\n");
	tree_write(tree_folder(), CPUS "bolt/parked", "1778-1779\n");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_cpus(handle, CPUBOLT_OFFLINE, "1777-1779");
	assert_cpus(handle, CPUBOLT_PARKED, "1778-1779");
	assert_int_equal(cpubolt_state(handle, 1777), CPUBOLT_STATE_OFFLINE);
	assert_int_equal(cpubolt_state(handle, 1780), -ERANGE);
	tree_close(handle);
}

/* Writes @cpus to the file @name as the kernel shows a long list: cut a byte before a page ends. */
static void write_cut(struct cpubolt *handle, const char *name, const cpu_set_t *cpus)
{
	char *text = cpubolt_format_list(handle, cpus);

	assert_true(strlen(text) > sysfs_text_max());
	text[sysfs_text_max()] = '\0';
	tree_write(tree_folder(), name, text);
	free(text);
}

/*
 * Bolt does not cut the list of parked CPUs: reading the list fails if it is longer than a page. If
 * the list is cut nevertheless, perhaps within a number, the library takes the CPUs that the list
 * has in full, and no others, for parked.
 */
static void test_a_cut_list_of_parked_cpus(void **state)
{
	struct cpubolt *handle = tree_open_wide();
	cpu_set_t *cpus = cpubolt_set_new(handle), *parked = cpubolt_set_new(handle);
	size_t size = cpubolt_set_size(handle);
	unsigned int first, cpu;
	char list[32];

	tree_write(tree_folder(), CPUS "online", "0\n");
	for (first = 1; first < 40; first++) {
		snprintf(list, sizeof(list), "%u-N:2/3", first);
		assert_int_equal(cpubolt_parse_list(handle, list, cpus, NULL), 0);
		write_cut(handle, CPUS "bolt/parked", cpus);
		assert_int_equal(cpubolt_refresh(handle), 0);
		assert_int_equal(cpubolt_cpus(handle, CPUBOLT_PARKED, parked), 0);
		assert_int_equal(cpubolt_features(handle), BOLT | CPUBOLT_PARKED_UNKNOWN);
		for (cpu = 0; cpu < 1400; cpu++)
			assert_int_equal(!CPU_ISSET_S(cpu, size, parked),
					 !CPU_ISSET_S(cpu, size, cpus));
		CPU_AND_S(size, cpus, cpus, parked);
		assert_true(CPU_EQUAL_S(size, cpus, parked));
	}
	/* If the list of parked CPUs makes no sense, the library still knows the CPUs offline. */
	tree_write(tree_folder(), CPUS "bolt/parked", "1-2,x\n");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_cpus(handle, CPUBOLT_PARKED, "");
	assert_cpus(handle, CPUBOLT_OFFLINE, "1-1779");
	assert_int_equal(cpubolt_features(handle), BOLT | CPUBOLT_PARKED_UNKNOWN);
	tree_write(tree_folder(), CPUS "bolt/parked", "1-2\n");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_int_equal(cpubolt_features(handle), BOLT);
	CPU_FREE(cpus);
	CPU_FREE(parked);
	tree_close(handle);
}

/* Behind the end of cut lists, the files of each CPU tell whether the CPU is present and online. */
static void test_cut_lists(void **state)
{
	struct cpubolt *handle = tree_open_wide();
	cpu_set_t *cpus = cpubolt_set_new(handle), *found = cpubolt_set_new(handle);
	size_t size = cpubolt_set_size(handle);
	char name[64], *blanks;
	unsigned int cpu;

	assert_int_equal(cpubolt_parse_list(handle, "1-N:2/3", cpus, NULL), 0);
	for (cpu = 1400; cpu < 1780; cpu++) {
		snprintf(name, sizeof(name), CPUS "cpu%u/online", cpu);
		if (CPU_ISSET_S(cpu, size, cpus))
			tree_put(tree_folder(), name, cpu == 1778 ? "0\n" : "1\n");
	}
	tree_delete(tree_folder(), CPUS "cpu1777/online");	/* a CPU that cannot go */
	write_cut(handle, CPUS "present", cpus);
	write_cut(handle, CPUS "online", cpus);
	write_cut(handle, CPUS "isolated", cpus);
	/* For a mask that is not allocated, the kernel shows blanks, and what fits of "(null)". */
	assert_true(asprintf(&blanks, "%*s", (int)sysfs_text_max(), "(nu") > 0);
	tree_write(tree_folder(), CPUS "nohz_full", blanks);
	free(blanks);
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_int_equal(cpubolt_cpus(handle, CPUBOLT_PRESENT, found), 0);
	assert_true(CPU_EQUAL_S(size, cpus, found));
	assert_cpus(handle, CPUBOLT_OFFLINE, "1778");
	assert_int_equal(cpubolt_state(handle, 1777), CPUBOLT_STATE_ONLINE);
	assert_int_equal(cpubolt_cpus(handle, CPUBOLT_ISOLATED, found), 0);
	assert_false(CPU_ISSET_S(1401, size, found));
	assert_true(CPU_ISSET_S(1402, size, found));
	assert_true(CPU_ISSET_S(1779, size, found));
	assert_cpus(handle, CPUBOLT_NOHZ_FULL, "");
	CPU_FREE(cpus);
	CPU_FREE(found);
	tree_close(handle);
}

static void test_states(void **state)
{
	struct cpubolt *handle = tree_open("smt+bolt+parked+halfway+slots");

	assert_int_equal(cpubolt_state(handle, 0), CPUBOLT_STATE_ONLINE);
	assert_int_equal(cpubolt_state(handle, 1), CPUBOLT_STATE_HALFWAY);
	assert_int_equal(cpubolt_state(handle, 29), CPUBOLT_STATE_OFFLINE);
	assert_int_equal(cpubolt_state(handle, 30), CPUBOLT_STATE_PARKED);
	assert_int_equal(cpubolt_state(handle, 32), CPUBOLT_STATE_ABSENT);
	assert_int_equal(cpubolt_state(handle, 36), -ERANGE);
	assert_int_equal(cpubolt_state(handle, 1U << 31), -ERANGE);
	assert_string_equal(cpubolt_state_name(CPUBOLT_STATE_HALFWAY), "half-way");
	assert_string_equal(cpubolt_state_name(99), "unknown");
	tree_close(handle);
}

/*
 * last_error names a CPU that a request could not put back. As the hotplug state of that CPU may
 * have changed since, the library reads the state.
 */
static void test_halfway_with_bolt(void **state)
{
	struct cpubolt *handle = tree_open("small+halfway+bolt");
	const char *folder = tree_folder();

	assert_int_equal(cpubolt_state(handle, 1), CPUBOLT_STATE_HALFWAY);
	tree_write(folder, CPUS "cpu1/hotplug/state", "236\n");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_int_equal(cpubolt_state(handle, 1), CPUBOLT_STATE_ONLINE);
	/*
	 * While the list of CPUs online has CPU 2, and no undo list names CPU 2, the library looks
	 * at CPU 2 only if an undo list was cut.
	 */
	tree_write(folder, CPUS "cpu2/hotplug/state", "149\n");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_int_equal(cpubolt_state(handle, 2), CPUBOLT_STATE_ONLINE);
	tree_write(folder, CPUS "bolt/last_error",
		   "batch=9 pid=1 cpu=1 state=a errno=5 undo=1:a,...\n");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_int_equal(cpubolt_state(handle, 2), CPUBOLT_STATE_HALFWAY);
	/* A CPU that is neither in the list of CPUs online nor parked is looked at in any case. */
	tree_write(folder, CPUS "bolt/last_error", "");
	tree_write(folder, CPUS "online", "0-1,3\n");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_int_equal(cpubolt_state(handle, 2), CPUBOLT_STATE_HALFWAY);
	/*
	 * CPU 0, which the undo list of last_error names, may be half-way, so the library learns
	 * the number of the last hotplug state from CPU 1, which no undo list names.
	 */
	tree_write(folder, CPUS "bolt/last_error",
		   "batch=9 pid=1 cpu=1 state=a errno=5 undo=0:a\n");
	tree_write(folder, CPUS "online", "0-3\n");
	tree_write(folder, CPUS "cpu0/hotplug/state", "149\n");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_int_equal(cpubolt_state(handle, 0), CPUBOLT_STATE_HALFWAY);
	tree_close(handle);
}

/*
 * Waits until the library opens the file @name, which is a FIFO; then makes @then the hotplug state
 * of CPU 2, and deletes the files in the array @gone, which ends with NULL; at last gives @text to
 * the library. @then and @gone may be NULL.
 */
static void serve(const char *name, const char *text, const char *then, const char *const *gone)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s/%s", tree_folder(), name) < 0)
		_exit(1);
	fd = open(path, O_WRONLY);
	free(path);
	if (then)
		tree_write(tree_folder(), CPUS "cpu2/hotplug/state", then);
	for (; gone && *gone; gone++)
		tree_delete(tree_folder(), *gone);
	if (fd < 0 || write(fd, text, strlen(text)) < 0 || close(fd))
		_exit(1);
}

static void make_fifo(const char *name)
{
	char *path;

	tree_delete(tree_folder(), name);
	assert_true(asprintf(&path, "%s/%s", tree_folder(), name) > 0);
	assert_int_equal(mkfifo(path, 0644), 0);
	free(path);
}

/*
 * A CPU is on its way in a request to bolt/. Reading bolt/parked waits for the end of the request,
 * here for a child process, which stands for the kernel.
 */
static void test_a_request_that_is_under_way(void **state)
{
	struct cpubolt *handle = tree_open("small+bolt");
	pid_t child;
	int status;

	tree_write(tree_folder(), CPUS "online", "0-1,3\n");
	tree_write(tree_folder(), CPUS "cpu2/hotplug/state", "149\n");
	make_fifo(CPUS "bolt/parked");
	make_fifo(CPUS "cpu2/online");
	child = fork();
	if (!child) {
		alarm(20);
		serve(CPUS "bolt/parked", "\n", NULL, NULL);
		serve(CPUS "cpu2/online", "1\n", NULL, NULL);
		serve(CPUS "bolt/parked", "2\n", "0\n", NULL);
		_exit(0);
	}
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_int_equal(cpubolt_state(handle, 2), CPUBOLT_STATE_OFFLINE);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	tree_close(handle);
}

static void test_changes_are_seen(void **state)
{
	struct cpubolt *handle = tree_open("small+bolt");
	const char *folder = tree_folder();

	tree_write(folder, CPUS "online", "0-1\n");
	tree_write(folder, CPUS "bolt/parked", "3\n");
	tree_write(folder, CPUS "cpu2/hotplug/state", "0\n");
	tree_write(folder, CPUS "cpu3/hotplug/state", "0\n");
	assert_cpus(handle, CPUBOLT_ONLINE, "0-3");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_cpus(handle, CPUBOLT_ONLINE, "0-1");
	assert_cpus(handle, CPUBOLT_PARKED, "3");
	assert_cpus(handle, CPUBOLT_OFFLINE, "2-3");
	/* A refresh that fails leaves all sets as they were. */
	tree_write(folder, CPUS "online", "0-99\n");
	assert_int_equal(cpubolt_refresh(handle), -EINVAL);
	assert_cpus(handle, CPUBOLT_ONLINE, "0-1");
	tree_close(handle);
}

static void plug(struct cpubolt *handle, const char *list)
{
	tree_write(tree_folder(), CPUS "present", list);
	tree_write(tree_folder(), CPUS "online", list);
	assert_int_equal(cpubolt_refresh(handle), 0);
}

/*
 * On arm64 a CPU that is not plugged in is in the kernel's list "present", but not in the list
 * "enabled". The library does not count such a CPU as present.
 */
static void test_a_cpu_that_is_not_enabled(void **state)
{
	struct cpubolt *handle = tree_open("small");

	tree_write(tree_folder(), CPUS "enabled", "0-2\n");
	tree_write(tree_folder(), CPUS "online", "0-1\n");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_cpus(handle, CPUBOLT_PRESENT, "0-2");
	assert_cpus(handle, CPUBOLT_OFFLINE, "2");
	tree_write(tree_folder(), CPUS "enabled", "0-3\n");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_cpus(handle, CPUBOLT_PRESENT, "0-3");
	assert_cpus(handle, CPUBOLT_OFFLINE, "2-3");
	tree_close(handle);
}

/*
 * After a CPU was unplugged, a different CPU may be plugged in and get its number, so the library
 * looks again whether there is a file cpuN/online.
 */
static void test_a_cpu_is_replaced(void **state)
{
	struct cpubolt *handle = tree_open("small");

	assert_cpus(handle, CPUBOLT_FIXED, "0");
	plug(handle, "0-2\n");
	plug(handle, "0-3\n");
	assert_cpus(handle, CPUBOLT_FIXED, "0");
	plug(handle, "0-2\n");
	tree_delete(tree_folder(), CPUS "cpu3/online");
	plug(handle, "0-3\n");
	assert_cpus(handle, CPUBOLT_FIXED, "0,3");
	tree_close(handle);
}

static void test_bad_trees(void **state)
{
	static const char *const bad[] = { "", "x\n", "0-\n", "0-99999999\n", "3-1\n", "-\n" };
	struct cpubolt *handle = tree_open("small");
	struct cpubolt *other;
	size_t i;

	assert_int_equal(cpubolt_open("/nonexistent", &other), -ENOENT);
	assert_null(other);
	assert_int_equal(cpubolt_open("/proc/self", &other), -ENOENT);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		tree_write(tree_folder(), CPUS "possible", bad[i]);
		assert_int_equal(cpubolt_open(tree_folder(), &other), -EINVAL);
	}
	tree_delete(tree_folder(), CPUS "possible");
	assert_int_equal(cpubolt_open(tree_folder(), &other), -ENOENT);
	tree_close(handle);
	cpubolt_close(NULL);
}

/* Root may read everything, so a child process becomes another user. */
static void test_unreadable(void **state)
{
	struct cpubolt *handle = tree_open("small+unreadable+halfway");
	struct cpubolt *other;
	struct cpubolt_result result;
	cpu_set_t *cpus;
	char *value;
	pid_t child = fork();
	int status;

	if (!child) {
		if (!geteuid() && (chmod(tree_folder(), 0755) || setuid(65534)))
			_exit(1);
		if (cpubolt_open(tree_folder(), &other))
			_exit(2);
		if (cpubolt_features(other) !=
		    (CPUBOLT_HAS_HOTPLUG | CPUBOLT_HAS_BOLT | CPUBOLT_UNREADABLE))
			_exit(3);
		if (cpubolt_get(other, "parked", &value) != -EACCES || value)
			_exit(4);
		/* Where last_error cannot be read, every CPU is looked at. */
		if (cpubolt_state(other, 1) != CPUBOLT_STATE_HALFWAY)
			_exit(5);
		cpus = cpubolt_set_new(other);
		CPU_SET_S(2, cpubolt_set_size(other), cpus);
		if (cpubolt_request(other, CPUBOLT_TAKE_OFFLINE, cpus, 0, &result) != -EACCES)
			_exit(6);
		_exit(result.error == EACCES && !result.changed ? 0 : 7);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	tree_close(handle);
}

/* -- Topology ----------------------------------------------------------------- */

struct where {
	const char *name;
	unsigned int cpu;
	struct cpubolt_topology topology;
};

/* core, cluster, die, package, node, thread, capacity, max_khz */
static const struct where places[] = {
	{ "hybrid", 3, { 1, 8, 0, 0, 0, 1, -1, 5000000 } },
	{ "hybrid", 19, { 13, 56, 0, 0, 0, 0, -1, 3800000 } },
	{ "smt", 9, { 9, 258, 0, 1, 1, 0, -1, 4000000 } },
	{ "smt", 25, { 9, 258, 0, 1, 1, 1, -1, 4000000 } },
	{ "nodes", 63, { 63, 207, 0, 3, 15, 0, -1, 3400000 } },
	{ "clusters", 1, { 1, 0, -1, 0, 0, 0, 446, 1800000 } },
	{ "clusters", 5, { 5, 1, -1, 0, 0, 0, 1024, 2400000 } },
	{ "small", 2, { 2, 2, 0, 0, 0, 0, -1, -1 } },
	{ "large", 1779, { 889, 2480, 0, 9, 9, 1, -1, 3500000 } },
	/*
	 * This CPU was natively offline before anything was remembered, so only the link to its
	 * node tells its place.
	 */
	{ "smt+offline", 31, { -1, -1, -1, -1, 1, -1, -1, -1 } },
	/* The siblings that are offline do not change the numbers of cores. */
	{ "smt+smtoff", 9, { 9, 258, 0, 1, 1, 0, -1, 4000000 } },
	{ "small+halfway", 1, { 1, 1, 0, 0, 0, 0, -1, -1 } },
};

static void test_topology(void **state)
{
	struct cpubolt_topology topology;
	const struct where *where;
	struct cpubolt *handle;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		where = &places[i];
		print_message("# %s, CPU %u\n", where->name, where->cpu);
		handle = tree_open(where->name);
		assert_int_equal(cpubolt_topology(handle, where->cpu, &topology), 0);
		assert_memory_equal(&topology, &where->topology, sizeof(topology));
		tree_close(handle);
	}
}

static void test_no_topology(void **state)
{
	struct cpubolt *handle = tree_open("small+slots+offline");
	struct cpubolt_topology topology;

	assert_int_equal(cpubolt_topology(handle, 4, &topology), -ENODATA);
	assert_int_equal(cpubolt_topology(handle, 8, &topology), -ERANGE);
	tree_close(handle);
}

/* The topology of a CPU that goes offline is remembered; that of an unplugged CPU is forgotten. */
static void test_topology_is_remembered(void **state)
{
	struct cpubolt *handle = tree_open("smt+bolt+slots");
	struct cpubolt_topology before, after;

	assert_int_equal(cpubolt_topology(handle, 9, &before), 0);
	tree_write(tree_folder(), CPUS "online", "0-8,10-31\n");
	tree_write(tree_folder(), CPUS "cpu9/hotplug/state", "0\n");
	tree_write(tree_folder(), CPUS "cpu9/topology/core_id", "77\n");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_int_equal(cpubolt_topology(handle, 9, &after), 0);
	assert_memory_equal(&before, &after, sizeof(after));
	tree_write(tree_folder(), CPUS "present", "0-8,10-31\n");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_int_equal(cpubolt_topology(handle, 9, &after), -ENODATA);
	tree_write(tree_folder(), CPUS "present", "0-31\n");
	tree_write(tree_folder(), CPUS "online", "0-31\n");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_int_equal(cpubolt_topology(handle, 9, &after), 0);
	/* CPU 9 and its former sibling now differ in core_id, so each has a core of its own. */
	assert_int_equal(after.thread, 0);
	assert_int_equal(cpubolt_topology(handle, 25, &before), 0);
	assert_int_not_equal(before.core, after.core);
	tree_close(handle);
}

/*
 * A CPU goes offline after the library has read the number of its core, while the library reads
 * the number of its cluster from a FIFO. A topology that was read only in part is not remembered.
 */
static void test_topology_of_a_cpu_that_goes(void **state)
{
	static const char *const files[] = {
		CPUS "cpu2/topology/core_id", CPUS "cpu2/topology/physical_package_id",
		CPUS "cpu2/topology/die_id", NULL
	};
	struct cpubolt *handle = tree_open("small");
	struct cpubolt_topology topology;
	size_t i;
	pid_t child;
	int status;

	make_fifo(CPUS "cpu2/topology/cluster_id");
	child = fork();
	if (!child) {
		alarm(20);
		serve(CPUS "cpu2/topology/cluster_id", "2\n", NULL, files);
		_exit(0);
	}
	assert_int_equal(cpubolt_topology(handle, 2, &topology), 0);
	assert_int_equal(topology.core, -1);
	assert_int_equal(topology.node, 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	/* The CPU is back. */
	tree_delete(tree_folder(), CPUS "cpu2/topology/cluster_id");
	tree_put(tree_folder(), CPUS "cpu2/topology/cluster_id", "2\n");
	for (i = 0; files[i]; i++)
		tree_put(tree_folder(), files[i], i ? "0\n" : "2\n");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_int_equal(cpubolt_topology(handle, 2, &topology), 0);
	assert_int_equal(topology.core, 2);
	assert_int_equal(topology.package, 0);
	tree_close(handle);
}

static void test_caches(void **state)
{
	static const struct cpubolt_cache expected[] = {
		{ 1, 'd', 32 << 10, 6 }, { 1, 'i', 32 << 10, 6 },
		{ 2, 'u', 2 << 20, 6 }, { 3, 'u', 24 << 20, 0 },
	};
	struct cpubolt *handle = tree_open("hybrid+offline");
	struct cpubolt_cache cache;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(cpubolt_cache(handle, 12, i, &cache), 0);
		assert_int_equal(cache.level, expected[i].level);
		assert_int_equal(cache.type, expected[i].type);
		assert_int_equal(cache.size, expected[i].size);
		assert_int_equal(cache.id, expected[i].id);
	}
	assert_int_equal(cpubolt_cache(handle, 12, 4, &cache), -ENOENT);
	assert_int_equal(cpubolt_cache(handle, 19, 0, &cache), -ENODATA);
	assert_int_equal(cpubolt_cache(handle, 99, 0, &cache), -ERANGE);
	tree_close(handle);
	/* If sysfs gives a cache no number, the cache gets that of the first CPU that shares it. */
	handle = tree_open("clusters");
	assert_int_equal(cpubolt_cache(handle, 6, 2, &cache), 0);
	assert_int_equal(cache.id, 4);
	tree_close(handle);
}

/* A CPU goes offline after the library has looked, so sysfs has no caches of the CPU any more. */
static void test_caches_of_a_cpu_that_goes(void **state)
{
	static const char level[] = CPUS "cpu12/cache/index0/level";
	static const char *const files[] = { CPUS "cpu13/cache/index0/level", NULL };
	struct cpubolt *handle = tree_open("hybrid");
	struct cpubolt_topology topology;
	struct cpubolt_cache cache;
	pid_t child;
	int status;

	assert_int_equal(cpubolt_topology(handle, 12, &topology), 0);
	tree_delete(tree_folder(), level);
	tree_write(tree_folder(), CPUS "online", "0-11,13-19\n");
	tree_write(tree_folder(), CPUS "cpu12/hotplug/state", "0\n");
	assert_int_equal(cpubolt_cache(handle, 12, 0, &cache), -ENODATA);
	tree_write(tree_folder(), level, "1\n");
	tree_write(tree_folder(), CPUS "online", "0-19\n");
	tree_write(tree_folder(), CPUS "cpu12/hotplug/state", "236\n");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_int_equal(cpubolt_cache(handle, 12, 0, &cache), 0);
	assert_int_equal(cache.level, 1);
	/* CPU 13 goes when the library has read one of its caches, and comes back. */
	make_fifo(CPUS "cpu13/cache/index1/level");
	child = fork();
	if (!child) {
		alarm(20);
		serve(CPUS "cpu13/cache/index1/level", "", NULL, files);
		_exit(0);
	}
	assert_int_equal(cpubolt_cache(handle, 13, 0, &cache), -ENODATA);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	tree_put(tree_folder(), files[0], "1\n");
	tree_delete(tree_folder(), CPUS "cpu13/cache/index1/level");
	tree_put(tree_folder(), CPUS "cpu13/cache/index1/level", "1\n");
	assert_int_equal(cpubolt_cache(handle, 13, 3, &cache), 0);
	/* Of CPU 14, which is just coming, sysfs has no caches at first. */
	tree_delete(tree_folder(), CPUS "cpu14/cache/index0/level");
	assert_int_equal(cpubolt_cache(handle, 14, 0, &cache), -ENOENT);
	tree_put(tree_folder(), CPUS "cpu14/cache/index0/level", "1\n");
	assert_int_equal(cpubolt_refresh(handle), 0);
	assert_int_equal(cpubolt_cache(handle, 14, 0, &cache), 0);
	tree_close(handle);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_sets_of_1780_cpus),
		cmocka_unit_test(test_a_cut_list_of_parked_cpus),
		cmocka_unit_test(test_cut_lists),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_halfway_with_bolt),
		cmocka_unit_test(test_a_request_that_is_under_way),
		cmocka_unit_test(test_changes_are_seen),
		cmocka_unit_test(test_a_cpu_that_is_not_enabled),
		cmocka_unit_test(test_a_cpu_is_replaced),
		cmocka_unit_test(test_bad_trees),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_topology),
		cmocka_unit_test(test_no_topology),
		cmocka_unit_test(test_topology_is_remembered),
		cmocka_unit_test(test_topology_of_a_cpu_that_goes),
		cmocka_unit_test(test_caches),
		cmocka_unit_test(test_caches_of_a_cpu_that_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
