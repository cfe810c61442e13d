// SPDX-License-Identifier: GPL-2.0-only
/* A recorded tree as the machine of a test, see place.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "place.h"

char *folder;
struct machine machine;

void place_begin(const char *name)
{
	folder = tree_make(name);
	assert_int_equal(machine_open(folder, &machine), 0);
}

void place_end(void)
{
	machine_close(&machine);
	tree_remove(folder);
}

void put(const char *path, const char *text)
{
	tree_put(folder, path, text);
}

/* CPUs come and go in the recorded tree, as if a program had asked the kernel. */
void make_online(const char *list)
{
	cpu_set_t *online = machine_set(&machine);
	char text[64], path[64];
	unsigned int cpu;

	assert_int_equal(cpubolt_parse_list(machine.handle, list, online, NULL), 0);
	snprintf(text, sizeof(text), "%s\n", list);
	put(CPUS "online", text);
	for (cpu = 0; cpu < machine.count; cpu++) {
		snprintf(path, sizeof(path), CPUS "cpu%u/hotplug/state", cpu);
		put(path, CPU_ISSET_S(cpu, machine.size, online) ? "236\n" : "0\n");
	}
	CPU_FREE(online);
}

cpu_set_t *cpus_of(const char *list)
{
	cpu_set_t *set = machine_set(&machine);

	assert_int_equal(cpubolt_parse_list(machine.handle, list, set, NULL), 0);
	return set;
}

void assert_list(const cpu_set_t *set, const char *list)
{
	char *text = machine_list(&machine, set);

	assert_string_equal(text, list);
	free(text);
}

cpu_set_t *online_now(void)
{
	char *text = file_read(folder, CPUS "online", NULL);
	cpu_set_t *set;

	assert_non_null(text);
	text[strcspn(text, "\n")] = '\0';
	set = cpus_of(text);
	free(text);
	return set;
}

void assert_online(const char *list)
{
	cpu_set_t *set = online_now();

	assert_list(set, list);
	CPU_FREE(set);
}

void put_task(int pid, const char *name, const char *allowed, unsigned int policy,
		     unsigned long flags)
{
	char path[96], text[512];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, pid);
	snprintf(text, sizeof(text), "%d (%s) S 0 0 0 0 0 %lu 0 0 0 0 0 0 0 0 20 0 1 0 0 0 0 0 0 0 "
				     "0 0 0 0 0 0 0 0 0 0 0 0 0 %u 0 0\n",
		 pid, name, flags, policy);
	put(path, text);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, pid);
	snprintf(text, sizeof(text), "Name:\t%s\nCpus_allowed_list:\t%s\nend\n", name, allowed);
	put(path, text);
}
