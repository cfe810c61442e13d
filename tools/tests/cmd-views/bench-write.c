// SPDX-License-Identifier: GPL-2.0-only
/* Prints a result file of made-up times, with an odd name of the CPU, to test the lab's reader. */
#include <stdio.h>

#include "bench_data.h"

int main(void)
{
	struct bench_machine machine = {
		.arch = "x86_64",
		.kernel = "6.12.117",
		.accel = "hardware",
		.model = "A \"CPU\" \\ with \x01 odd \xff name",
		.microcode = "0x1",
		.idle_driver = "",
		.clocksource = "tsc",
		.cpus = 8,
		.nodes = 2,
	};
	struct bench_case cases[] = {
		{ .online = false, .batch = 1 },
		{ .online = true, .batch = 1 },
		{ .online = false, .batch = 3 },
		{ .online = true, .batch = 3 },
	};

	for (unsigned int i = 1; i <= 100; i++) {
		bench_add(&cases[0].samples[BENCH_NATIVE], i * 1000000ull);
		bench_add(&cases[0].samples[BENCH_BOLT], i * 10000ull);
		bench_add(&cases[3].samples[BENCH_EXPEDITED], i * 20000ull);
	}
	bench_add(&cases[1].samples[BENCH_BOLT], 123);
	if (bench_write(stdout, &machine, cases, sizeof(cases) / sizeof(*cases)))
		return 1;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (size_t j = 0; j < BENCH_VARIANTS; j++)
			bench_free(&cases[i].samples[j]);
	return 0;
}
