// SPDX-License-Identifier: GPL-2.0-only
/* On each CPU a perf event, a clock, runs a BPF program that counts its runs on that CPU. */
#define _GNU_SOURCE
#include "lib/perf.h"
#include "load.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PERIOD_NS 10000000
#define LATEST_NS 10000000000	/* the clock of an online CPU runs the program before then */
#define MOST_POSSIBLE 8192	/* most CPUs of a kernel; a map has a value for each CPU */

static uint64_t counts[MOST_POSSIBLE], before[MOST_POSSIBLE];

static int bpf(int command, union bpf_attr *attr)
{
	int fd = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

/* Makes a map of one number for each CPU. */
static int make_map(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_PERCPU_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = sizeof(uint64_t),
		.max_entries = 1,
	};

	return bpf(BPF_MAP_CREATE, &attr);
}

/* Makes a program that adds one to the number of @map for the CPU that runs the program. */
static int make_program(int map)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4 },
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map },
		{ 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem },
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .off = 2 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = 1 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .src_reg = 1, .imm = BPF_ADD },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insns = (uintptr_t)code,
		.insn_cnt = ARRAY_SIZE(code),
		.license = (uintptr_t)"GPL",
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

/* Makes a perf event, a clock of @cpu, that runs @program. Returns its descriptor, or -errno. */
static int make_clock(int cpu, int program)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS,
	};
	int fd = event_open(&attr, -1, cpu);

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program))
		wrong("CPU %d: no BPF program can be attached to the clock: %s", cpu, strerror(errno));
	return fd;
}

static void count(int map)
{
	uint32_t key = 0;
	union bpf_attr attr = {
		.map_fd = map,
		.key = (uintptr_t)&key,
		.value = (uintptr_t)counts,
	};
	int err = bpf(BPF_MAP_LOOKUP_ELEM, &attr);

	if (err)
		wrong("cannot read the counts: %s", strerror(-err));
	for (int cpu = 0; cpu < load_cpus; cpu++)
		if (counts[cpu] < before[cpu])
			wrong("CPU %d counts backwards", cpu);
	memcpy(before, counts, sizeof(before));
}

/* After the last request a new clock of each online CPU must run the program. */
static void check_each_cpu(int map, int program)
{
	for (int cpu = 0; cpu < load_cpus; cpu++) {
		int64_t end = now_ns() + LATEST_NS;
		uint64_t start;
		int clock;

		/* No other clock of this CPU runs the program. */
		count(map);
		start = counts[cpu];
		clock = make_clock(cpu, program);
		if (clock == -ENODEV)
			continue;
		if (clock < 0)
			wrong("no clock of CPU %d: %s", cpu, strerror(-clock));
		for (count(map); counts[cpu] == start; count(map)) {
			if (now_ns() > end)
				wrong("the program does not run on CPU %d any more", cpu);
			wait_ms(10);
		}
		close(clock);
	}
}

/* The count of a CPU that was away must not have fallen. */
static void programs(int which)
{
	static int clocks[MAX_CPUS];
	int map = make_map(), program;

	(void)which;
	if (map < 0)
		wrong("cannot make a map: %s", strerror(-map));
	program = make_program(map);
	if (program < 0)
		wrong("cannot load the program: %s", strerror(-program));
	memset(clocks, -1, sizeof(clocks));
	while (!stopping()) {
		int cpu = draw(load_cpus);

		if (clocks[cpu] < 0) {
			clocks[cpu] = make_clock(cpu, program);
			if (clocks[cpu] < 0 && clocks[cpu] != -ENODEV)
				wrong("no clock of CPU %d: %s", cpu, strerror(-clocks[cpu]));
		} else if (draw(8) == 0) {
			close(clocks[cpu]);
			clocks[cpu] = -1;
		}
		count(map);
		once_round();
		wait_ms(1 + draw(3));
	}
	for (int cpu = 0; cpu < load_cpus; cpu++)
		if (clocks[cpu] >= 0)
			close(clocks[cpu]);
	check_each_cpu(map, program);
}

static bool has_programs(void)
{
	int map = make_map(), program = map < 0 ? map : make_program(map);

	if (map >= 0)
		close(map);
	if (program >= 0)
		close(program);
	return program >= 0;
}

const struct worker bpf_workers[] = {
	{ "bpf", 1, programs, has_programs },
	{ NULL, 0, NULL, NULL },
};
