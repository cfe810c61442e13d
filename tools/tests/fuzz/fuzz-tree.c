// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opens a recorded tree in which one file is changed: the first byte of the input chooses the file,
 * and the rest of the input is the new text of the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "tree.h"

#define CPUS "sys/devices/system/cpu/"

static const char *const files[] = {
	CPUS "possible",
	CPUS "present",
	CPUS "online",
	CPUS "isolated",
	CPUS "nohz_full",
	CPUS "smt/active",
	CPUS "bolt/enabled",
	CPUS "bolt/parked",
	CPUS "bolt/last_error",
	CPUS "cpu1/hotplug/state",
	CPUS "cpu1/topology/core_id",
	CPUS "cpu1/topology/core_cpus_list",
	CPUS "cpu1/topology/package_cpus_list",
	CPUS "cpu1/topology/physical_package_id",
	CPUS "cpu1/cache/index0/level",
	CPUS "cpu1/cache/index0/type",
	CPUS "cpu1/cache/index0/size",
	CPUS "cpu1/cache/index0/id",
	CPUS "cpu1/cpufreq/cpuinfo_max_freq",
	"sys/devices/system/node/online",
	"sys/devices/system/node/node0/cpulist",
	"run/cpubolt/topology",
	CPUS "hotplug/states",
};

const char *const fuzz_seeds[] = {
	"a0-31\n", "b0-31\n", "c0-28\n", "d2-3\n", "e      (null)\n", "f1\n", "g1\n", "h30-31\n",
	"ibatch=7 pid=4711 cpu=2 state=a errno=12 undo=1:smpboot/threads:online\n", "j149\n",
	"k1\n", "l0,16\n", "m0-7,16-23\n", "n0\n", "o1\n", "pData\n", "q32K\n", "r0\n",
	"s4000000\n", "t0-1\n", "u0-7,16-23\n",
	"vboot_id=b0170000-0000-4000-8000-000000000001\n"
	"cpu=31 core_id=7 cluster=270 die=0 package=1 node=1 capacity=-1 max_khz=1\n",
	"w  0: offline\n149: sched:waitempty\n",
	NULL,
};

static char *folder;

static void clean(void)
{
	tree_remove(folder);
}

static void make_run(void)
{
	static const char *const names[] = { "run", "run/cpubolt" };
	char path[512];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		fuzz_require(!mkdir(path, 0755), "a folder");
	}
	tree_write(folder, "run/cpubolt/topology", "");
}

static void look(struct cpubolt *handle)
{
	struct cpubolt_topology topology;
	struct cpubolt_cache cache;
	struct cpubolt_result result;
	cpu_set_t *cpus = cpubolt_set_new(handle);
	unsigned int cpu, index;
	char *text;
	int which;

	fuzz_require(cpus != NULL, "memory");
	for (which = 0; which < CPUBOLT_WHICH_COUNT; which++)
		cpubolt_cpus(handle, which, cpus);
	for (cpu = 0; cpu < 40; cpu++) {
		cpubolt_topology(handle, cpu, &topology);
		for (index = 0; !cpubolt_cache(handle, cpu, index, &cache); index++)
			fuzz_require(index < 100, "caches end");
	}
	if (!cpubolt_parse_list(handle, "1", cpus, NULL)) {
		cpubolt_request(handle, CPUBOLT_TAKE_OFFLINE, cpus, 0, &result);
		text = cpubolt_explain(CPUBOLT_TAKE_OFFLINE, &result);
		fuzz_require(text && *text && !strchr(text, '\n'), "a sentence");
		free(text);
	}
	CPU_FREE(cpus);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *file = files[size ? (data[0] - 'a') % 32U % ARRAY_SIZE(files) : 0];
	struct cpubolt *handle;
	char *before, *text;

	if (!folder) {
		folder = tree_make("smt+bolt+parked");
		make_run();
		atexit(clean);
	}
	before = tree_text(folder, file);
	text = fuzz_text(data + !!size, size - !!size);
	if (before)
		tree_write(folder, file, text);
	if (!cpubolt_open(folder, &handle)) {
		look(handle);
		cpubolt_close(handle);
	}
	if (before)
		tree_write(folder, file, before);
	free(before);
	free(text);
	return 0;
}
