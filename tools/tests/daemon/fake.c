// SPDX-License-Identifier: GPL-2.0-only
/* A kernel and a daemon for tests of whole intervals, see fake.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files.h"
#include "state.h"
#include "fake.h"

struct config config;
struct daemon one;
uint64_t clock_us, suspended_us;
int broken;
bool disabled, short_of_memory;
unsigned int requests;
const char *race;
struct device devices[DEVICES] = {
	{ .irq = 24, .name = "disk" }, { .irq = 25, .name = "net rx" },
	{ .irq = 26, .name = "net tx" }, { .irq = 27, .name = "nvme0q1" },
};
unsigned int affinities, listed, lists, late, torn;
bool overflows, flickers, starved;

/* -- The kernel ---------------------------------------------------------------------- */

ssize_t __real_read(int fd, void *data, size_t size);
ssize_t __wrap_read(int fd, void *data, size_t size);
ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);
int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
	uint64_t time_us = clock_us + (id == CLOCK_BOOTTIME ? suspended_us : 0);

	now->tv_sec = (time_t)(time_us / SECOND_US);
	now->tv_nsec = (long)(time_us % SECOND_US) * 1000;
	return 0;
}

static ssize_t refuse(int cpu, const char *state, int err)
{
	char text[128];

	snprintf(text, sizeof(text), "batch=%u pid=%d cpu=%d state=%s errno=%d\n", requests,
		 getpid(), cpu, state, err);
	put(CPUS "bolt/last_error", text);
	errno = err;
	return -1;
}

/* If no CPU is at fault, Bolt names the first CPU of the request. */
static ssize_t refuse_all(const cpu_set_t *cpus)
{
	int cpu = 0;

	while (!CPU_ISSET_S((unsigned int)cpu, machine.size, cpus))
		cpu++;
	return refuse(cpu, "admission", EBUSY);
}

static struct device *device_of(const char *path)
{
	char end[64];
	size_t i;

	for (i = 0; i < DEVICES; i++) {
		snprintf(end, sizeof(end), "/proc/irq/%d/smp_affinity_list", devices[i].irq);
		if (strstr(path, end))
			return &devices[i];
	}
	return NULL;
}

/* As with a GIC, the interrupt is on the first online CPU of its affinity. */
void put_affinity(const struct device *device, const char *list)
{
	cpu_set_t *cpus = cpus_of(list), *online = online_now();
	char path[64], text[16];
	unsigned int cpu;

	CPU_AND_S(machine.size, online, online, cpus);
	for (cpu = 0; cpu < machine.count && !CPU_ISSET_S(cpu, machine.size, online); cpu++)
		;
	assert_true(cpu < machine.count);
	snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity_list", device->irq);
	put(path, list);
	snprintf(path, sizeof(path), "/proc/irq/%d/effective_affinity_list", device->irq);
	snprintf(text, sizeof(text), "%u\n", cpu);
	put(path, text);
	CPU_FREE(cpus);
	CPU_FREE(online);
}

static bool keeps(void)
{
	char *list = file_read(folder, CPUS "bolt/irq_keep", NULL);
	bool found = list && *list && *list != '\n';

	free(list);
	return found;
}

static ssize_t write_affinity(const struct device *device, const char *data, size_t size)
{
	char *list = strndup(data, size);

	affinities++;
	listed += keeps();
	if (device->refuses) {
		free(list);
		put_affinity(device, "3");
		errno = EIO;
		return -1;
	}
	put_affinity(device, list);
	free(list);
	return (ssize_t)size;
}

static unsigned int place_of(const struct device *device)
{
	char path[64], *text;
	unsigned int cpu;

	snprintf(path, sizeof(path), "/proc/irq/%d/effective_affinity_list", device->irq);
	text = file_read(folder, path, NULL);
	assert_non_null(text);
	cpu = (unsigned int)atoi(text);
	free(text);
	return cpu;
}

static void count_late(const cpu_set_t *going)
{
	size_t i;

	for (i = 0; config.interrupts.enabled && i < MANAGED; i++)
		late += !!CPU_ISSET_S(place_of(&devices[i]), machine.size, going);
}

static ssize_t carry_out(const char *list, size_t length, bool come)
{
	char *text = strndup(list, length), *left;
	cpu_set_t *cpus = cpus_of(text), *online = online_now();
	unsigned int cpu;
	ssize_t result = (ssize_t)length;

	requests++;
	if (!come)
		count_late(cpus);
	if (disabled) {
		result = refuse_all(cpus);
	} else if (short_of_memory) {
		errno = ENOMEM;
		result = -1;
	} else if (come && broken != NO_CPU &&
		   CPU_ISSET_S((unsigned int)broken, machine.size, cpus)) {
		result = refuse(broken, "x86/apic:prepare", EIO);
	}
	for (cpu = 0; result >= 0 && cpu < machine.count; cpu++) {
		if (!CPU_ISSET_S(cpu, machine.size, cpus))
			continue;
		if (come)
			CPU_SET_S(cpu, machine.size, online);
		else
			CPU_CLR_S(cpu, machine.size, online);
	}
	if (result >= 0) {
		left = machine_list(&machine, online);
		make_online(left);
		free(left);
	}
	CPU_FREE(cpus);
	CPU_FREE(online);
	free(text);
	return result;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), less = strlen(end);

	return length >= less && !strcmp(text + length - less, end);
}

/* Whether @path is cpuN/online; copies N to @cpu. */
static bool is_cpu_file(const char *path, char cpu[16])
{
	const char *name = strstr(path, CPUS "cpu");
	int length = 0;

	return name && sscanf(name + strlen(CPUS "cpu"), "%15[0-9]/online%n", cpu, &length) == 1 &&
	       length && !name[strlen(CPUS "cpu") + (size_t)length];
}

static void find_path(int fd, char *path, size_t size)
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, size - 1);
	path[length > 0 ? length : 0] = '\0';
}

ssize_t __wrap_read(int fd, void *data, size_t size)
{
	static unsigned int looks;
	char path[4096];
	ssize_t got = __real_read(fd, data, size);

	if (!overflows && !flickers && !starved)
		return got;
	find_path(fd, path, sizeof(path));
	if (starved && (ends_with(path, CPUS "bolt/irq_keep") || ends_with(path, "/comm"))) {
		errno = ENOMEM;
		return -1;
	}
	if (overflows && (ends_with(path, CPUS "bolt/irq_keep") ||
			  ends_with(path, CPUS "bolt/parked"))) {
		errno = EOVERFLOW;
		return -1;
	}
	/* The last CPU of the list "0-3" is 3 and 2 in turns. */
	if (flickers && got > 1 && ends_with(path, CPUS "online"))
		((char *)data)[got - 2] ^= ++looks & 1;
	return got;
}

ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	const char *left = race;
	char path[4096], cpu[16];

	find_path(fd, path, sizeof(path));
	if (ends_with(path, CPUS "bolt/online"))
		return carry_out(data, size, true);
	if (ends_with(path, CPUS "bolt/offline"))
		return carry_out(data, size, false);
	lists += ends_with(path, CPUS "bolt/irq_keep");
	if (is_cpu_file(path, cpu) && carry_out(cpu, strlen(cpu), *(const char *)data == '1') < 0)
		return -1;
	if (ends_with(path, "/smp_affinity_list") && device_of(path))
		return write_affinity(device_of(path), data, size);
	if (left && ends_with(path, "/cpubolt/cpuboltd.new")) {
		race = NULL;
		make_online(left);
	}
	return __real_write(fd, data, size);
}

/* -- The daemon ---------------------------------------------------------------------- */

void put_busy(unsigned int cpus, unsigned long ticks)
{
	char text[4096];
	size_t length;
	unsigned int cpu;

	length = (size_t)snprintf(text, sizeof(text), "cpu 0 0 0 0 0 0 0 0\n");
	for (cpu = 0; cpu < machine.count; cpu++)
		length += (size_t)snprintf(text + length, sizeof(text) - length,
					   "cpu%u %lu 0 0 0 0 0 0 0\n", cpu, cpu < cpus ? ticks : 0);
	snprintf(text + length, sizeof(text) - length, "procs_running 1\n");
	put("/proc/stat", text);
}

void put_counts(void)
{
	cpu_set_t *online = online_now();
	char text[4096] = "";
	unsigned int cpu;
	size_t i;

	for (cpu = 0; cpu < 4; cpu++)
		if (CPU_ISSET_S(cpu, machine.size, online))
			sprintf(text + strlen(text), " CPU%u", cpu);
	for (i = 0; i < DEVICES; i++) {
		if (devices[i].closed)
			continue;
		devices[i].counts[place_of(&devices[i])] += devices[i].rate;
		sprintf(text + strlen(text), "\n%d:", devices[i].irq);
		for (cpu = 0; cpu < 4; cpu++)
			if (CPU_ISSET_S(cpu, machine.size, online) && !(torn && i && cpu))
				sprintf(text + strlen(text), " %u", devices[i].counts[cpu]);
		sprintf(text + strlen(text), " PCI-MSI 1-edge  %s",
			devices[i].nameless ? "" : devices[i].name);
	}
	strcat(text, "\nLOC: 1 1 1 1 Local timer interrupts\n");
	put("/proc/interrupts", text);
	torn -= !!torn;
	CPU_FREE(online);
}

/* The movable interrupts may be on any CPU, and are on CPU 0; the managed one is bound to CPU 3. */
static void put_interrupts(void)
{
	char *path;
	size_t i;

	for (i = 0; i < DEVICES; i++) {
		devices[i].rate = 0;
		devices[i].refuses = devices[i].closed = devices[i].nameless = false;
		memset(devices[i].counts, 0, sizeof(devices[i].counts));
		put_affinity(&devices[i], i == MANAGED ? "3" : "0-3");
	}
	assert_true(asprintf(&path, "%s/proc/irq/27/smp_affinity_list", folder) > 0);
	assert_int_equal(chmod(path, 0444), 0);
	free(path);
	put_counts();
	affinities = listed = 0;
	late = 0;
	torn = 0;
}

void begin(const char *name, const char *policy)
{
	place_begin(name);
	clock_us = 1000 * SECOND_US;
	suspended_us = 3600 * SECOND_US;	/* a suspend before the daemon began */
	broken = NO_CPU;
	disabled = short_of_memory = false;
	overflows = flickers = starved = false;
	requests = 0;
	race = NULL;
	put("/run/x", "");
	put("/proc/x", "");
	put_busy(0, 0);
	assert_int_equal(config_init(&machine, &config), 0);
	config.policy = policy_find(policy);
	config.rules.hold_us = 3 * SECOND_US;
	config.rules.dwell_us = 5 * SECOND_US;
	one = (struct daemon){ .machine = &machine, .config = &config, .control = -1 };
	assert_int_equal(daemon_begin(&one), 0);
}

void begin_interrupts(const char *policy, const char *fixed)
{
	begin("small+bolt", policy);
	daemon_end(&one);
	put_interrupts();
	config.interrupts.enabled = true;
	CPU_FREE(config.settings.fixed);
	config.settings.fixed = cpus_of(fixed);
	one = (struct daemon){ .machine = &machine, .config = &config, .control = -1 };
	assert_int_equal(daemon_begin(&one), 0);
}

void end(void)
{
	daemon_end(&one);
	config_free(&config);
	place_end();
}

void wait_for(unsigned int seconds)
{
	unsigned int i;

	for (i = 0; i < seconds; i++) {
		clock_us += SECOND_US;
		if (config.interrupts.enabled)
			put_counts();
		assert_int_equal(daemon_round(&one), 0);
	}
}

void assert_file(const char *list)
{
	cpu_set_t *taken = machine_set(&machine);

	state_load(&machine, taken);
	assert_list(taken, list);
	CPU_FREE(taken);
}
