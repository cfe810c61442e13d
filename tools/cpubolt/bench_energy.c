// SPDX-License-Identifier: GPL-2.0-only
/* Power while the CPUs of a bench are away: see bench_energy.h */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench_energy.h"
#include "sheet.h"

enum {
	COLUMN_BATCH, COLUMN_VARIANT, COLUMN_N, COLUMN_ONLINE, COLUMN_AWAY, COLUMN_LESS,
	COLUMN_SPREAD, COLUMN_COUNT
};

static const struct sheet_column columns[COLUMN_COUNT] = {
	[COLUMN_BATCH] = { "CPUS", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_VARIANT] = { "VARIANT", "", 0, SCOLS_JSON_STRING, true },
	[COLUMN_N] = { "N", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_ONLINE] = { "W-ONLINE", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_AWAY] = { "W-AWAY", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_LESS] = { "LESS", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_SPREAD] = { "SPREAD", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
};

int bench_energy_open(const struct invocation *call, struct energy_meters *meters)
{
	int error = energy_meters_open(call->root, meters);

	if (error == -ENOENT)
		return fail(EXIT_FAILED, "this machine does not measure its power: there is no "
			    "RAPL (/sys/class/powercap), and no battery that is being discharged "
			    "(/sys/class/power_supply); \"cpubolt energy\" computes power");
	if (error == -EACCES)
		return fail(EXIT_NOT_PERMITTED, "only root may read RAPL's counters");
	return error ? fail(EXIT_FAILED, "cannot look for meters: %s", strerror(-error)) : EXIT_DONE;
}

int bench_energy_read(const struct energy_meters *meters, struct energy_reading *reading)
{
	int error = energy_meters_read(meters, reading);

	return error ? fail(EXIT_FAILED, "cannot read a meter: %s", strerror(-error)) : EXIT_DONE;
}

int bench_energy_end(const struct energy_meters *meters, const struct energy_reading *before,
		     struct bench_watts *watts)
{
	struct energy_reading after;
	int code = bench_energy_read(meters, &after);
	double power;

	if (code != EXIT_DONE)
		return code;
	power = energy_watts(meters, before, &after);
	watts->least = watts->count ? fmin(watts->least, power) : power;
	watts->most = watts->count ? fmax(watts->most, power) : power;
	watts->sum += power;
	watts->count++;
	return EXIT_DONE;
}

static void put_power(struct sheet *sheet, unsigned int batch, enum bench_variant variant,
		      const struct bench_power *power)
{
	double there = power->there.sum / power->there.count;
	double away = power->away.sum / power->away.count;

	sheet_line(sheet);
	sheet_put(sheet, COLUMN_BATCH, "%u", batch);
	sheet_put(sheet, COLUMN_VARIANT, "%s", bench_variant_name(variant));
	sheet_put(sheet, COLUMN_N, "%lu", power->away.count);
	sheet_put(sheet, COLUMN_ONLINE, "%.3f", there);
	sheet_put(sheet, COLUMN_AWAY, "%.3f", away);
	sheet_put(sheet, COLUMN_LESS, "%.3f", there - away);
	sheet_put(sheet, COLUMN_SPREAD, "%.3f",
		  fmax(power->there.most - power->there.least,
		       power->away.most - power->away.least));
}

int bench_energy_print(const struct energy_meters *meters, const unsigned int *batches,
		       size_t count, struct bench_power (*powers)[BENCH_VARIANTS])
{
	struct sheet sheet;
	int code = sheet_open(&sheet, "power", columns, COLUMN_COUNT, NULL, false);

	if (code != EXIT_DONE)
		return code;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < BENCH_VARIANTS; j++)
			if (powers[i][j].away.count && powers[i][j].there.count)
				put_power(&sheet, batches[i], j, &powers[i][j]);
	putchar('\n');
	sheet_print(&sheet);
	printf("\nWatts while the CPUs are online and away, by %s:",
	       meters->kind == METER_RAPL ? "RAPL" : "the gauge of a battery");
	for (size_t i = 0; i < meters->count; i++)
		printf(" %s", meters->names[i]);
	puts(".\nLESS is the difference. SPREAD is how far apart the watts of single waits are:\n"
	     "a LESS that is smaller than SPREAD may be chance.");
	return EXIT_DONE;
}
