// SPDX-License-Identifier: GPL-2.0-only
/* Measures what policies need, see sample.h */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "sample.h"

int counters_init(const struct machine *machine, struct counters *counters)
{
	*counters = (struct counters){
		.busy = calloc(machine->count + 1, sizeof(*counters->busy)),
		.steal = calloc(machine->count + 1, sizeof(*counters->steal)),
		.ticks = (unsigned long)sysconf(_SC_CLK_TCK),
	};
	return counters->busy && counters->steal ? 0 : -ENOMEM;
}

void counters_free(struct counters *counters)
{
	free(counters->busy);
	free(counters->steal);
	*counters = (struct counters){ 0 };
}

/*
 * Reads up to @most of the numbers that follow the name in a line of /proc/stat, in the order of
 * proc_stat(5), and returns how many it has read. sscanf(3) is slower, as each call of sscanf(3)
 * looks for the end of the whole text.
 */
static unsigned int line_numbers(const char *line, unsigned long long *numbers, unsigned int most)
{
	unsigned int count = 0;
	char *end;

	while (count < most && *line == ' ') {
		line += strspn(line, " ");
		if (!isdigit((unsigned char)*line))
			break;
		numbers[count++] = strtoull(line, &end, 10);
		line = end;
	}
	return count;
}

int sample_parse_stat(const char *text, unsigned int count, unsigned long long *busy,
		      unsigned long long *steal, unsigned int *runnable)
{
	enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STOLEN, NUMBERS };
	static const char running[] = "procs_running ";
	const char *line, *next;
	bool found = false;

	*runnable = 0;
	for (line = text; line && *line; line = next) {
		unsigned long long numbers[NUMBERS] = { 0 };
		unsigned long cpu;
		char *end;

		next = strchr(line, '\n');
		next = next ? next + 1 : NULL;
		if (!strncmp(line, running, strlen(running))) {
			*runnable = (unsigned int)strtoul(line + strlen(running), NULL, 10);
			continue;
		}
		if (strncmp(line, "cpu", 3) || !isdigit((unsigned char)line[3]))
			continue;
		cpu = strtoul(line + 3, &end, 10);
		if (line_numbers(end, numbers, NUMBERS) < STOLEN || cpu >= count)
			continue;
		busy[cpu] = numbers[USER] + numbers[NICE] + numbers[SYSTEM] + numbers[IRQ] +
			    numbers[SOFTIRQ];
		steal[cpu] = numbers[STOLEN];
		found = true;
	}
	return found ? 0 : -EINVAL;
}

int sample_parse_pressure(const char *text, unsigned long long *stalled_us)
{
	const char *total = strncmp(text, "some ", 5) ? NULL : strstr(text, " total=");

	return total && sscanf(total, " total=%llu", stalled_us) == 1 ? 0 : -EINVAL;
}

/*
 * Returns by how many thousandths of @whole a counter has grown, 1000 at most; 0 if the counter
 * went back or @whole is 0.
 */
static unsigned int thousandths(unsigned long long now, unsigned long long before,
				unsigned long long whole)
{
	unsigned long long part = now > before ? now - before : 0;

	if (!whole)
		return 0;
	return part >= whole ? 1000 : (unsigned int)(part * 1000 / whole);
}

static void take_pressure(const struct machine *machine, struct counters *counters,
			  unsigned long long elapsed_us, struct inputs *inputs)
{
	char *text = file_read(machine->root, "/proc/pressure/cpu", NULL);
	unsigned long long now;

	inputs->pressure = 0;
	if (text && !sample_parse_pressure(text, &now)) {
		inputs->pressure = thousandths(now, counters->stalled_us, elapsed_us);
		counters->stalled_us = now;
	}
	free(text);
}

int sample_take(const struct machine *machine, struct counters *counters, uint64_t now_us,
		struct inputs *inputs, struct load *loads)
{
	unsigned long long elapsed_us = counters->at_us ? now_us - counters->at_us : 0;
	unsigned long long whole = elapsed_us * counters->ticks / 1000000;
	unsigned long long *busy = calloc(2 * (size_t)machine->count + 1, sizeof(*busy));
	unsigned long long *steal = busy ? busy + machine->count : NULL;
	char *text = file_read(machine->root, "/proc/stat", NULL);
	unsigned int cpu;
	int err = text ? 0 : -errno;

	if (!err && !busy)
		err = -ENOMEM;
	if (!err) {
		/* CPUs that are offline have no line, so their counters stay as they were. */
		memcpy(busy, counters->busy, machine->count * sizeof(*busy));
		memcpy(steal, counters->steal, machine->count * sizeof(*steal));
		err = sample_parse_stat(text, machine->count, busy, steal, &inputs->runnable);
	}
	free(text);
	if (err) {
		free(busy);
		return err;
	}
	/*
	 * The daemon's own task, which reads /proc/stat, is not to count as runnable, nor is the
	 * task of a busy CPU that is left alone, such as an isolated CPU.
	 */
	inputs->runnable -= inputs->runnable > 0;
	for (cpu = 0; cpu < machine->count; cpu++) {
		bool online = CPU_ISSET_S(cpu, machine->size, inputs->online);
		unsigned int share = thousandths(busy[cpu], counters->busy[cpu], whole);

		if (!CPU_ISSET_S(cpu, machine->size, inputs->usable) && share >= 500)
			inputs->runnable -= inputs->runnable > 0;
		loads[cpu].busy = online ? share : 0;
		loads[cpu].steal = online ? thousandths(steal[cpu], counters->steal[cpu], whole) :
					    0;
	}
	memcpy(counters->busy, busy, machine->count * sizeof(*busy));
	memcpy(counters->steal, steal, machine->count * sizeof(*steal));
	free(busy);
	take_pressure(machine, counters, elapsed_us, inputs);
	counters->at_us = now_us;
	return 0;
}
