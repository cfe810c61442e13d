// SPDX-License-Identifier: GPL-2.0-only
/* Finds out on which machine cpubolt runs. */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "bench_machine.h"
#include "sets.h"

#define CPU_DIR	"/sys/devices/system/cpu"

static void keep(char *to, size_t size, const char *text, size_t length)
{
	snprintf(to, size, "%.*s", (int)length, text);
}

/* Copies the first line of a file to @to; does nothing if the file cannot be read. */
static void read_line(const struct invocation *call, const char *path, char *to, size_t size)
{
	char *text = invocation_read(call, path);

	if (text)
		keep(to, size, text, strcspn(text, "\n"));
	free(text);
}

/* Copies the value of the first line "KEY<blanks>: VALUE" of /proc/cpuinfo to @to. */
static void read_key(const char *cpuinfo, const char *key, char *to, size_t size)
{
	size_t length = strlen(key);

	for (const char *line = cpuinfo; *line; line += strcspn(line, "\n"), line += !!*line) {
		const char *value;

		if (strncmp(line, key, length))
			continue;
		value = line + length + strspn(line + length, " \t");
		if (*value != ':')
			continue;
		value += 1 + strspn(value + 1, " \t");
		keep(to, size, value, strcspn(value, "\n"));
		return;
	}
}

/* /proc/cpuinfo of arm64 has numbers in place of the model's name. */
static void read_arm_model(const char *cpuinfo, struct bench_machine *machine)
{
	char implementer[16] = "", part[16] = "", revision[16] = "";

	read_key(cpuinfo, "CPU implementer", implementer, sizeof(implementer));
	read_key(cpuinfo, "CPU part", part, sizeof(part));
	read_key(cpuinfo, "CPU revision", revision, sizeof(revision));
	if (*implementer)
		snprintf(machine->model, sizeof(machine->model),
			 "implementer %s part %s revision %s", implementer, part, revision);
}

/* -- Hypervisor ----------------------------------------------------------- */

static const struct {
	const char *sign, *name;
} signs[] = {
	/* names of hypervisors in CPUID */
	{ "KVMKVMKVM", "kvm" },
	{ "TCGTCGTCGTCG", "tcg" },
	{ "Microsoft Hv", "hyper-v" },
	{ "VMwareVMware", "vmware" },
	{ "XenVMMXenVMM", "xen" },
	{ "bhyve bhyve ", "bhyve" },
	{ "ACRNACRNACRN", "acrn" },
	/* beginnings of the vendor's or the product's name in firmware tables */
	{ "QEMU", "qemu" },
	{ "KVM", "kvm" },
	{ "VMware", "vmware" },
	{ "Virtual Machine", "hyper-v" },
	{ "Google Compute Engine", "kvm" },
	{ "Amazon EC2", "kvm" },
	{ "Xen", "xen" },
};

static bool recognise(const char *text, struct bench_machine *machine)
{
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		if (strncmp(text, signs[i].sign, strlen(signs[i].sign)))
			continue;
		snprintf(machine->accel, sizeof(machine->accel), "%s", signs[i].name);
		return true;
	}
	return false;
}

#if defined(__x86_64__) || defined(__i386__)
static bool ask_cpu(struct bench_machine *machine)
{
	unsigned int eax, ebx, ecx, edx, sign[4] = { 0 };

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1u << 31)))
		return false;
	__cpuid(0x40000000, eax, sign[0], sign[1], sign[2]);
	if (!recognise((const char *)sign, machine))
		snprintf(machine->accel, sizeof(machine->accel), "virtual");
	return true;
}
#else
static bool ask_cpu(struct bench_machine *machine)
{
	return false;
}
#endif

/*
 * A cloud's machine without a hypervisor has a product name such as "c5.metal", and the vendor's
 * name that the cloud's guests have, too.
 */
static bool ask_firmware(const struct invocation *call, struct bench_machine *machine)
{
	char vendor[64] = "", product[64] = "", board[64] = "";

	read_line(call, "/sys/class/dmi/id/sys_vendor", vendor, sizeof(vendor));
	read_line(call, "/sys/class/dmi/id/product_name", product, sizeof(product));
	read_line(call, "/sys/firmware/devicetree/base/compatible", board, sizeof(board));
	if (strstr(product, "metal"))
		return false;
	return recognise(product, machine) || recognise(vendor, machine) ||
	       (!strcmp(board, "linux,dummy-virt") && recognise("QEMU", machine));
}

static bool has_hypervisor_flag(const char *cpuinfo)
{
	char flags[8192] = "";

	read_key(cpuinfo, "flags", flags, sizeof(flags));
	return strstr(flags, " hypervisor");
}

static void find_hypervisor(const struct invocation *call, const char *cpuinfo,
			    struct bench_machine *machine)
{
	char type[16] = "";

	if (!*call->root && ask_cpu(machine))
		return;
	read_line(call, "/sys/hypervisor/type", type, sizeof(type));
	if (*type)
		snprintf(machine->accel, sizeof(machine->accel), "%s", type);
	else if (!ask_firmware(call, machine))
		snprintf(machine->accel, sizeof(machine->accel), "%s",
			 has_hypervisor_flag(cpuinfo) ? "virtual" : "hardware");
}

/* -- Size ----------------------------------------------------------------- */

static unsigned int count_nodes(const struct invocation *call, const cpu_set_t *online)
{
	unsigned long long seen[16] = { 0 };	/* bits of nodes below 1024 */
	unsigned int cpu, count = 0;

	for_each_cpu(call->machine, cpu, online) {
		struct cpubolt_topology topology;

		if (cpubolt_topology(call->machine, cpu, &topology) || topology.node < 0 ||
		    topology.node >= 1024)
			continue;
		count += !(seen[topology.node / 64] >> topology.node % 64 & 1);
		seen[topology.node / 64] |= 1ull << topology.node % 64;
	}
	return count ?: 1;
}

/* uname(2) gives the lab's names of architectures, except that arm64 is called aarch64. */
static void read_kernel(const struct invocation *call, struct bench_machine *machine)
{
	struct utsname name;

	if (uname(&name))
		return;
	snprintf(machine->arch, sizeof(machine->arch), "%s",
		 strcmp(name.machine, "aarch64") ? name.machine : "arm64");
	snprintf(machine->kernel, sizeof(machine->kernel), "%s", name.release);
	if (*call->root)
		read_line(call, "/proc/sys/kernel/osrelease", machine->kernel,
			  sizeof(machine->kernel));
}

void bench_machine_read(const struct invocation *call, struct bench_machine *machine)
{
	char *cpuinfo = invocation_read(call, "/proc/cpuinfo");
	cpu_set_t *online = set_new(call->machine, CPUBOLT_ONLINE);

	memset(machine, 0, sizeof(*machine));
	read_kernel(call, machine);
	read_key(cpuinfo ?: "", "model name", machine->model, sizeof(machine->model));
	if (!*machine->model)
		read_arm_model(cpuinfo ?: "", machine);
	read_key(cpuinfo ?: "", "microcode", machine->microcode, sizeof(machine->microcode));
	find_hypervisor(call, cpuinfo ?: "", machine);
	read_line(call, CPU_DIR "/cpuidle/current_driver", machine->idle_driver,
		  sizeof(machine->idle_driver));
	read_line(call, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		  machine->clocksource, sizeof(machine->clocksource));
	machine->cpus = set_count(call->machine, online);
	machine->nodes = count_nodes(call, online);
	CPU_FREE(online);
	free(cpuinfo);
}
