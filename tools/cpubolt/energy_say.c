// SPDX-License-Identifier: GPL-2.0-only
/* What "cpubolt energy" prints: see energy_say.h */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "energy_say.h"
#include "sheet.h"

#define CURVE_POINTS	61	/* from a tenth of a millisecond to 100 seconds */

static const char *const kind_names[ENERGY_KINDS] = {
	[ENERGY_NATIVE] = "native", [ENERGY_BOLT] = "bolt",
};

/* -- How long CPUs have to be away ---------------------------------------- */

/** A break-even time in seconds, negative for never, and how uncertain it is */
struct break_even {
	double value, low, high;
};

/* A negative time means never, which is later than any time. */
static double no_later(double a, double b)
{
	return a < 0 ? b : b < 0 ? a : fmin(a, b);
}

static double no_earlier(double a, double b)
{
	return a < 0 || b < 0 ? -1 : fmax(a, b);
}

static struct break_even break_even(struct energy_model *model, const struct energy_leave *leave)
{
	struct break_even found = { .value = energy_break_even(model, leave) };
	struct quantity *quantity;
	unsigned int number;
	char label[64];

	found.low = found.high = found.value;
	for (number = 0; (quantity = energy_quantity(model, number, label, sizeof(label)));
	     number++) {
		double usual = quantity->value, ends[2];

		if (quantity->low == quantity->high)
			continue;
		quantity->value = quantity->low;
		ends[0] = energy_break_even(model, leave);
		quantity->value = quantity->high;
		ends[1] = energy_break_even(model, leave);
		quantity->value = usual;
		found.low = no_later(found.low, no_later(ends[0], ends[1]));
		found.high = no_earlier(found.high, no_earlier(ends[0], ends[1]));
	}
	return found;
}

/*
 * Chooses by @number how many CPUs go: one, all but one of a package, or, if there are several
 * packages, all CPUs of a package. Returns false after the last choice.
 */
static bool leave_number(const struct energy_model *model, unsigned int number,
			 struct energy_leave *leave)
{
	unsigned int package = (unsigned int)model->package.value;
	unsigned int going[3], count = 0;

	if (package > 1)
		going[count++] = 1;
	if (package > 2)
		going[count++] = package - 1;
	if (model->cpus.value > model->package.value)
		going[count++] = package;
	if (number >= count)
		return false;
	leave->online = package;
	leave->going = going[number];
	return true;
}

/* -- Tables --------------------------------------------------------------- */

enum {
	COLUMN_WAY, COLUMN_ENERGY, COLUMN_POWER, COLUMN_SAVED, COLUMN_RANGE, COLUMN_ONLINE,
	COLUMN_WAITED, COLUMN_P99, COLUMN_CHANGES, COLUMN_COUNT
};

static const struct sheet_column columns[COLUMN_COUNT] = {
	[COLUMN_WAY] = { "WAY", "", 0, SCOLS_JSON_STRING, true },
	[COLUMN_ENERGY] = { "J", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_POWER] = { "W", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_SAVED] = { "SAVED", "", SCOLS_FL_RIGHT, SCOLS_JSON_STRING, true },
	[COLUMN_RANGE] = { "RANGE", "", SCOLS_FL_RIGHT, SCOLS_JSON_STRING, true },
	[COLUMN_ONLINE] = { "ONLINE", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_WAITED] = { "WAITED", "", SCOLS_FL_RIGHT, SCOLS_JSON_STRING, true },
	[COLUMN_P99] = { "P99-MS", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_CHANGES] = { "CHANGES/MIN", "", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
};

/* Returns @share in per cent, without the sign of a number that is rounded to 0. */
static double percent(double share)
{
	return fabs(share) < 0.0005 ? 0 : 100 * share;
}

static void put_way(const struct energy_words *words, enum energy_way way, struct sheet *sheet)
{
	const struct energy_run *run = &words->runs[way];
	const struct outcome *outcome = &run->outcome;
	double joules = energy_spent(words->model, run);
	struct energy_saving saving = energy_saving(words->model, &words->runs[WAY_NONE], run);

	sheet_line(sheet);
	sheet_put(sheet, COLUMN_WAY, "%s", energy_way_names[way]);
	sheet_put(sheet, COLUMN_ENERGY, "%.1f", joules);
	sheet_put(sheet, COLUMN_POWER, "%.3f", joules / outcome->seconds);
	if (way != WAY_NONE) {
		sheet_put(sheet, COLUMN_SAVED, "%.1f%%", percent(saving.value));
		sheet_put(sheet, COLUMN_RANGE, "%.1f..%.1f%%", percent(saving.low),
			  percent(saving.high));
	}
	sheet_put(sheet, COLUMN_ONLINE, "%.2f", outcome->cpu_seconds / outcome->seconds);
	sheet_put(sheet, COLUMN_WAITED, "%.2f%%", 100 * outcome->waited);
	sheet_put(sheet, COLUMN_P99, "%.2f", 1000 * outcome->wait_p99);
	sheet_put(sheet, COLUMN_CHANGES, "%.1f", 60 * outcome->changes / outcome->seconds);
}

static int say_ways(const struct energy_words *words)
{
	struct energy_saving saving;
	struct sheet sheet;
	int code = sheet_open(&sheet, "ways", columns, COLUMN_COUNT, NULL, false), way;

	if (code != EXIT_DONE)
		return code;
	printf("Trace %s, %.0f s of it:\n", words->trace, words->runs[WAY_NONE].outcome.seconds);
	for (way = 0; way < WAYS; way++)
		put_way(words, way, &sheet);
	sheet_print(&sheet);
	printf("\nnative-two keeps two CPUs online and decides every %u ms; native and bolt keep one,\n"
	       "and decide every %u ms. With native and bolt, a CPU that is not wanted stays for\n"
	       "another %u ms, a CPU that has come for at least %u ms; a minute has at most %u\n"
	       "changes.\n",
	       energy_usual_pace.interval_ms, words->pace->interval_ms, words->pace->hold_ms,
	       words->pace->dwell_ms, words->pace->per_minute);
	puts("SAVED is the share of the energy of \"none\" that a way saves. RANGE is where SAVED is\n"
	     "with each number of the model at the ends of its range, one number at a time.\n"
	     "WAITED is the share of the work that waited for an interval or longer. P99-MS is how\n"
	     "long 99 % of all work waited at most, in whole intervals; if work waited, the time of\n"
	     "the last request that brought CPUs is added.");
	for (way = WAY_CONSERVATIVE; way < WAYS; way++) {
		saving = energy_saving(words->model, &words->runs[WAY_NONE], &words->runs[way]);
		if (*saving.most)
			printf("The saving of %s depends most on \"%s\".\n", energy_way_names[way],
			       saving.most);
	}
	putchar('\n');
	return EXIT_DONE;
}

static void say_time(double seconds)
{
	if (seconds < 0)
		printf("%10s", "never");
	else
		printf("%10.2f", 1000 * seconds);
}

static void say_break_even(struct energy_model *model)
{
	struct energy_leave leave;
	unsigned int number;

	puts("How long CPUs of a package without work have to be away until their absence costs\n"
	     "no energy, in milliseconds, with the range:");
	printf("%6s %-7s %10s %10s %10s\n", "CPUS", "", "", "FROM", "TO");
	for (number = 0; leave_number(model, number, &leave); number++) {
		for (leave.kind = 0; leave.kind < ENERGY_KINDS; leave.kind++) {
			struct break_even even = break_even(model, &leave);

			printf("%6u %-7s ", leave.going, kind_names[leave.kind]);
			say_time(even.value);
			putchar(' ');
			say_time(even.low);
			putchar(' ');
			say_time(even.high);
			putchar('\n');
		}
	}
}

static void say_inputs(struct energy_model *model)
{
	struct quantity *quantity;
	unsigned int number;
	char label[64];
	size_t i;

	printf("\nComputed, not measured, from the model \"%s\":\n", model->name);
	for (i = 0; i < model->source_count; i++)
		printf("- %s\n", model->sources[i]);
	puts("Powers are in milliwatts; those of CPUs are what a CPU takes more than in the\n"
	     "deepest idle state.");
	for (number = 0; (quantity = energy_quantity(model, number, label, sizeof(label)));
	     number++) {
		printf("%-32s %10g", label, quantity->value);
		if (quantity->low != quantity->high)
			printf("  (%g..%g)", quantity->low, quantity->high);
		putchar('\n');
	}
}

int energy_say_tables(const struct energy_words *words)
{
	int code = words->trace ? say_ways(words) : EXIT_DONE;

	if (code != EXIT_DONE)
		return code;
	say_break_even(words->model);
	say_inputs(words->model);
	return EXIT_DONE;
}

/* -- JSON ----------------------------------------------------------------- */

/* JSON is UTF-8: bytes of another encoding become "?". */
static void json_text(const char *text)
{
	size_t size;

	putchar('"');
	for (; *text; text += size ?: 1) {
		size = utf8_size(text);
		if (!size)
			putchar('?');
		else if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if (size == 1 && *text < ' ')
			printf("\\u%04x", *text);
		else
			fwrite(text, 1, size, stdout);
	}
	putchar('"');
}

static void json_time(const char *key, double seconds)
{
	if (seconds < 0)
		printf("\"%s\":null", key);
	else
		printf("\"%s\":%.9g", key, seconds);
}

static void json_inputs(struct energy_model *model)
{
	struct quantity *quantity;
	unsigned int number;
	char label[64];
	size_t i;

	printf("\"model\":");
	json_text(model->name);
	printf(",\n\"sources\":[");
	for (i = 0; i < model->source_count; i++) {
		printf(i ? ",\n" : "\n");
		json_text(model->sources[i]);
	}
	printf("],\n\"inputs\":{");
	for (number = 0; (quantity = energy_quantity(model, number, label, sizeof(label)));
	     number++) {
		printf(number ? ",\n" : "\n");
		json_text(label);
		printf(":{\"value\":%.9g,\"low\":%.9g,\"high\":%.9g}", quantity->value,
		       quantity->low, quantity->high);
	}
	putchar('}');
}

static void json_ways(const struct energy_words *words)
{
	int way;

	printf(",\n\"trace\":");
	json_text(words->trace);
	printf(",\n\"seconds\":%.9g,\n\"ways\":[", words->runs[WAY_NONE].outcome.seconds);
	for (way = 0; way < WAYS; way++) {
		const struct energy_run *run = &words->runs[way];
		const struct energy_pace *pace = way < WAY_NATIVE ? &energy_usual_pace : words->pace;
		struct energy_saving saving =
			energy_saving(words->model, &words->runs[WAY_NONE], run);

		printf("%s\n{\"way\":\"%s\",\"joules\":%.9g,\"saved\":%.9g,\"saved_low\":%.9g,"
		       "\"saved_high\":%.9g,\"depends_on\":", way ? "," : "",
		       energy_way_names[way], energy_spent(words->model, run), saving.value,
		       saving.low, saving.high);
		json_text(saving.most);
		printf(",\"online\":%.9g,\"waited\":%.9g,\"wait_p99\":%.9g,\"wait_longest\":%.9g,"
		       "\"changes\":%u,\"requesting\":%.9g,\"interval_ms\":%u,\"hold_ms\":%u,"
		       "\"dwell_ms\":%u,\"changes_per_minute\":%u}",
		       run->outcome.cpu_seconds / run->outcome.seconds, run->outcome.waited,
		       run->outcome.wait_p99, run->outcome.wait_longest, run->outcome.changes,
		       run->outcome.requesting, pace->interval_ms, pace->hold_ms, pace->dwell_ms,
		       pace->per_minute);
	}
	putchar(']');
}

static void json_break_even(struct energy_model *model, const struct energy_leave *leave)
{
	struct break_even even = break_even(model, leave);

	printf("{\"cpus\":%u,\"requests\":\"%s\",", leave->going, kind_names[leave->kind]);
	json_time("seconds", even.value);
	putchar(',');
	json_time("low", even.low);
	putchar(',');
	json_time("high", even.high);
	putchar('}');
}

/* What one absence of CPUs saves, by its length: [seconds, native, Bolt] */
static void json_curve(const struct energy_model *model, const struct energy_leave *leave)
{
	struct energy_leave each = *leave;
	unsigned int i;

	printf("{\"cpus\":%u,\"saved_mj\":[", leave->going);
	for (i = 0; i < CURVE_POINTS; i++) {
		double seconds = 1e-4 * pow(10, i / 10.0);

		printf("%s[%.9g", i ? "," : "", seconds);
		for (each.kind = 0; each.kind < ENERGY_KINDS; each.kind++)
			printf(",%.9g", energy_saved(model, &each, seconds));
		putchar(']');
	}
	printf("]}");
}

int energy_say_json(const struct energy_words *words)
{
	struct energy_leave leave;
	unsigned int number;

	putchar('{');
	json_inputs(words->model);
	if (words->trace)
		json_ways(words);
	printf(",\n\"break_even\":[");
	for (number = 0; leave_number(words->model, number, &leave); number++) {
		for (leave.kind = 0; leave.kind < ENERGY_KINDS; leave.kind++) {
			printf(number || leave.kind ? ",\n" : "\n");
			json_break_even(words->model, &leave);
		}
	}
	printf("],\n\"curves\":[");
	for (number = 0; leave_number(words->model, number, &leave); number++) {
		printf(number ? ",\n" : "\n");
		json_curve(words->model, &leave);
	}
	puts("]}");
	return EXIT_DONE;
}
