// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests what the subcommands states, irq, bench, trace and doctor parse and compute, with recorded
 * files
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench_data.h"
#include "irq_keep.h"
#include "irq_parse.h"
#include "settings.h"
#include "states_parse.h"
#include "trace_events.h"
#include "trace_slices.h"
#include "udev_rules.h"
#include "waterfall.h"

/* A recorded file, to be freed. */
static char *recorded(const char *name)
{
	char path[512], *text = calloc(1, 1 << 20);
	FILE *in;

	snprintf(path, sizeof(path), DATA "/%s", name);
	in = fopen(path, "r");
	assert_non_null(in);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 20) - 1, in) > 0);
	fclose(in);
	return text;
}

/* -- states --------------------------------------------------------------- */

static void states_are_read(void **state)
{
	char *text = recorded("states.txt"), *value;
	const struct state_row *found;
	struct state_row *rows;
	size_t count, line;

	assert_int_equal(states_parse(text, &rows, &count, &line), 0);
	free(text);
	assert_int_equal(count, 60);
	assert_int_equal(states_find(rows, count, "slub:dead", &found), 0);
	assert_int_equal(found->number, 11);
	assert_string_equal(found->class, "lazy");
	assert_string_equal(found->fit, "serial");
	assert_string_equal(found->unit, "-");
	assert_int_equal(found->skips, 6);
	assert_int_equal(found->settles, 2);
	assert_int_equal(found->ns, 156681);
	assert_string_equal(found->reason, "the CPU keeps its slabs; shrinking or destroying a "
			    "cache flushes parked CPUs");
	assert_int_equal(states_find(rows, count, "11", &found), 0);
	assert_string_equal(found->name, "slub:dead");
	assert_int_equal(states_find(rows, count, "slub", &found), -ENOENT);
	assert_int_equal(states_find(rows, count, "12", &found), -ENOENT);
	states_free(rows, count);

	text = recorded("stats.txt");
	value = stats_value(text, "slow_state");
	assert_string_equal(value, "-");
	free(value);
	assert_null(stats_value(text, "slow"));
	assert_null(stats_value("slow_state", "slow_state"));
	free(text);
}

/* Columns are found by their names; "!" marks, names with blanks and nested brackets are read. */
static void other_kernels_have_other_columns(void **state)
{
	static const char text[] =
		"# state new class fit unit runs skips settles slowed ns name (reason)\n"
		"7 x critical! unfit! - 1 2 3 4 5 a driver (says (so))\n"
		"8 x lazy serial a 1 2 3 4 5 bare\n"
		"9 x lazy serial a 1 2 3 4 5 bare\n";
	const struct state_row *found;
	struct state_row *rows;
	size_t count;

	assert_int_equal(states_parse(text, &rows, &count, NULL), 0);
	assert_int_equal(count, 3);
	assert_true(rows[0].class_moved && rows[0].fit_declared);
	assert_string_equal(rows[0].class, "critical");
	assert_string_equal(rows[0].fit, "unfit");
	assert_string_equal(rows[0].name, "a driver");
	assert_string_equal(rows[0].reason, "says (so)");
	assert_int_equal(rows[0].slowed, 4);
	assert_string_equal(rows[1].reason, "");
	assert_int_equal(states_find(rows, count, "bare", &found), -ENOTUNIQ);
	states_free(rows, count);
}

static void malformed_states_are_refused(void **state)
{
	static const char head[] = "# state class fit unit runs skips settles slowed ns name (r)\n";
	static const struct {
		const char *text;
		size_t line;
	} texts[] = {
		{ "", 0 },
		{ "11 lazy serial - 0 6 2 0 1 slub:dead (x)\n", 1 },
		{ "# state class name\n", 1 },
		{ "#1 lazy serial - 0 6 2 0 1", 2 },
		{ "#x lazy serial - 0 6 2 0 1 n (r)\n", 2 },
		{ "#1 lazy serial - 0 6 2 0 1.5 n (r)\n", 2 },
		{ "#99999999999 lazy serial - 0 6 2 0 1 n (r)\n", 2 },
		{ "#1 lazy serial - 0 6 2 0 1 n (r)\n-1 lazy serial - 0 6 2 0 1 n (r)\n", 3 },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		bool headed = *texts[i].text == '#' && texts[i].text[1] != ' ';
		struct state_row *rows;
		size_t count, line;
		char text[512];

		snprintf(text, sizeof(text), "%s%s", headed ? head : "", texts[i].text + headed);
		assert_int_equal(states_parse(text, &rows, &count, &line), -EINVAL);
		assert_int_equal(line, texts[i].line);
		assert_null(rows);
	}
}

static void native_states_are_read(void **state)
{
	char *text = recorded("hotplug-states.txt");
	const struct state_row *found;
	struct state_row *rows;
	size_t count;

	assert_int_equal(states_parse_native(text, &rows, &count), 0);
	assert_int_equal(states_find(rows, count, "cpu:kick_ap", &found), 0);
	assert_int_equal(found->number, 85);
	states_free(rows, count);
	free(text);
	assert_int_equal(states_parse_native("x: y\n", &rows, &count), -EINVAL);
	assert_int_equal(states_parse_native("1\n", &rows, &count), -EINVAL);
	assert_int_equal(states_parse_native("1: \n", &rows, &count), -EINVAL);
}

/* -- irq ------------------------------------------------------------------ */

static const struct irq_row *find_irq(const struct irq_table *table, const char *irq)
{
	for (size_t i = 0; i < table->count; i++)
		if (!strcmp(table->rows[i].irq, irq))
			return &table->rows[i];
	fail_msg("no interrupt %s", irq);
	return NULL;
}

static void interrupts_of_x86(void **state)
{
	char *text = recorded("interrupts-x86_64.txt");
	const struct irq_row *row;
	struct irq_table table;

	assert_int_equal(irq_parse(text, &table), 0);
	free(text);
	assert_int_equal(table.cpu_count, 4);
	row = find_irq(&table, "25");
	assert_int_equal(row->number, 25);
	assert_string_equal(row->chip, "PCI-MSIX-0000:00:01.0");
	assert_string_equal(row->hwirq, "1-edge");
	assert_string_equal(row->name, "virtio0-virtqueues");
	assert_int_equal(row->counts[1], 198);
	assert_int_equal(row->counts[3], 3);
	assert_int_equal(irq_kind_of(row, true), IRQ_MOVABLE);
	assert_int_equal(irq_kind_of(row, false), IRQ_MANAGED);
	row = find_irq(&table, "0");
	assert_string_equal(row->name, "timer");
	assert_int_equal(irq_kind_of(row, false), IRQ_FIXED);
	row = find_irq(&table, "LOC");
	assert_int_equal(row->number, -1);
	assert_string_equal(row->name, "Local timer interrupts");
	assert_int_equal(irq_kind_of(row, true), IRQ_PER_CPU);
	for (size_t i = 0; i < table.count; i++)
		assert_string_not_equal(table.rows[i].irq, "ERR");
	irq_free(&table);
}

static void interrupts_of_arm64(void **state)
{
	char *text = recorded("interrupts-arm64.txt");
	const struct irq_row *row;
	struct irq_table table;

	assert_int_equal(irq_parse(text, &table), 0);
	free(text);
	row = find_irq(&table, "11");
	assert_string_equal(row->chip, "GICv3");
	assert_string_equal(row->hwirq, "27");
	assert_string_equal(row->name, "arch_timer");
	assert_int_equal(irq_kind_of(row, true), IRQ_PER_CPU);
	row = find_irq(&table, "16");
	assert_string_equal(row->name, "virtio0-virtqueues");
	assert_int_equal(irq_kind_of(row, true), IRQ_MOVABLE);
	assert_int_equal(irq_kind_of(row, false), IRQ_MANAGED);
	row = find_irq(&table, "IPI0");
	assert_string_equal(row->name, "Rescheduling interrupts");
	irq_free(&table);
}

static void odd_interrupts(void **state)
{
	static const char text[] =
		"           CPU1       CPU64\n"
		" 5:          1 4294967295  IO-APIC   5-edge      two, devices\n"
		" 6:          0          0  IO-APIC   6-edge\n"
		" 7:          0          0  PCI-MSI 7-edge      virtio0-event\n"
		" 8:          0          0  GICv3  40 Level     battery-level\n"
		" 9:          0          0  xen-dyn    -event     \n"
		"10:          0          0  xen-dyn  3 Edge    -event     \n"
		"11:          0          0  xen-dyn    -event     eth0-ipi\n"
		"ERR:          7\n"
		"\n";
	static const char *const wrong[] = {
		"", "\n", "CPUx\n", "CPU0 x\n", "CPU0\nno colon\n", "CPU0\n: 1\n",
		"CPU0 CPU1\n 5: 1\n", "CPU0\n 5: 4294967296 chip\n", "CPU0\n 5: 1x chip\n",
	};
	struct irq_table table;

	assert_int_equal(irq_parse(text, &table), 0);
	assert_int_equal(table.count, 7);
	assert_int_equal(table.cpus[1], 64);
	assert_string_equal(table.rows[0].name, "two, devices");
	assert_int_equal(table.rows[0].counts[1], UINT32_MAX);
	assert_string_equal(table.rows[1].name, "");
	/* The name of a device may end in a word that also says how interrupts are triggered. */
	assert_string_equal(table.rows[2].name, "virtio0-event");
	assert_string_equal(table.rows[3].name, "battery-level");
	assert_string_equal(table.rows[4].name, "");
	assert_string_equal(table.rows[5].name, "");
	assert_string_equal(table.rows[6].name, "eth0-ipi");
	irq_free(&table);
	/*
	 * With one CPU, a count of the whole machine looks like a count of the CPU. Such lines are
	 * left out because no description follows the count.
	 */
	assert_int_equal(irq_parse("CPU0\nLOC: 5   Local timer interrupts\nERR: 7\nMIS:  0  \n",
				   &table), 0);
	assert_int_equal(table.count, 1);
	assert_string_equal(table.rows[0].irq, "LOC");
	irq_free(&table);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		/*
		 * A number of more than 32 bits is no count, and a line without a count for the
		 * first CPU is left out.
		 */
		int expected = i == 7 ? 0 : -EINVAL;

		assert_int_equal(irq_parse(wrong[i], &table), expected);
		irq_free(&table);
	}
}

static void rates_of_counts_that_wrap_and_cpus_that_come(void **state)
{
	struct irq_table before, after;
	double *rates;

	assert_int_equal(irq_parse("CPU0 CPU2\n 5: 4294967290 100 chip 5-edge  a\n"
				   " 6: 50 0 chip 6-edge  b\n", &before), 0);
	assert_int_equal(irq_parse("CPU0 CPU1 CPU2\n 5: 4 30 120 chip 5-edge  a\n"
				   " 6: 60 0 0 chip 6-edge  other\n", &after), 0);
	rates = irq_rates(&before, &after, 2);
	assert_float_equal(rates[0], 5, 1e-9);		/* 10 in 2 s: the count wraps */
	/* CPU 1 was offline at the first reading: its 30 may be from before CPU 1 went offline. */
	assert_float_equal(rates[1], 0, 1e-9);
	assert_float_equal(rates[2], 10, 1e-9);
	/* Interrupt 6 belongs to another device now, so all 60 are of the last 2 s. */
	assert_float_equal(rates[3], 30, 1e-9);
	free(rates);
	irq_free(&before);
	irq_free(&after);
}

static void a_small_machine_keeps_interrupts_on_one_cpu(void **state)
{
	struct keep_cpu cpus[] = {
		{ .cpu = 0, .node = 0, .thread = 1 },
		{ .cpu = 1, .node = 0 },
		{ .cpu = 2, .node = 0 },
	};
	struct keep_irq irqs[] = { { -1, 10 }, { 0, 500 }, { 7, 5000 } };

	assert_int_equal(keep_propose(cpus, 3, irqs, 3), 1);
	assert_true(!cpus[0].chosen && cpus[1].chosen && !cpus[2].chosen);
	assert_float_equal(cpus[1].rate, 5510, 1e-6);
	assert_float_equal(cpus[1].interrupts, 3, 1e-9);
	cpus[1].chosen = false;
	cpus[2].fixed = true;
	assert_int_equal(keep_propose(cpus, 3, irqs, 3), 1);
	assert_true(cpus[2].chosen);
	assert_int_equal(keep_propose(cpus, 0, irqs, 3), 0);
}

static void busy_nodes_keep_their_own_interrupts(void **state)
{
	struct keep_cpu cpus[16];
	struct keep_irq irqs[400];
	size_t chosen = 0;

	for (int i = 0; i < 16; i++)
		cpus[i] = (struct keep_cpu){ .cpu = i, .node = i / 4 };
	/* Node 0: no device. Node 1: a fast one. Node 2: 397 slow ones. Node 3: a very slow one. */
	for (int i = 0; i < 400; i++)
		irqs[i] = (struct keep_irq){ .node = 2, .rate = 10 };
	irqs[0] = (struct keep_irq){ .node = 1, .rate = 45000 };
	irqs[1] = (struct keep_irq){ .node = 3, .rate = 1 };
	irqs[2] = (struct keep_irq){ .node = -1, .rate = 1 };
	assert_int_equal(keep_propose(cpus, 16, irqs, 400), 1 + 3 + 3);
	for (int i = 0; i < 16; i++)
		chosen |= (size_t)cpus[i].chosen << i;
	assert_int_equal(chosen, 0x0771);
	assert_float_equal(cpus[4].rate, 15000, 1e-6);
	assert_float_equal(cpus[0].interrupts, 2, 1e-9);
}

/* -- bench ---------------------------------------------------------------- */

static void percentiles_are_nearest_ranks(void **state)
{
	struct bench_samples samples = { .count = 0 };
	struct bench_summary summary = bench_summarise(&samples);

	assert_int_equal(summary.count, 0);
	for (unsigned int i = 200; i; i--)
		assert_int_equal(bench_add(&samples, i * 1000000ull), 0);
	summary = bench_summarise(&samples);
	assert_int_equal(summary.count, 200);
	assert_float_equal(summary.min, 1, 1e-9);
	assert_float_equal(summary.median, 100.5, 1e-9);
	assert_float_equal(summary.p90, 180, 1e-9);
	assert_float_equal(summary.p99, 198, 1e-9);
	assert_float_equal(summary.max, 200, 1e-9);
	bench_free(&samples);
	assert_int_equal(bench_add(&samples, 7), 0);
	summary = bench_summarise(&samples);
	assert_true(summary.min == summary.median && summary.p99 == summary.max);
	bench_free(&samples);
}

static void expect_file(const char *path, const char *text)
{
	char found[64] = "";
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	assert_true(fread(found, 1, sizeof(found) - 1, in) > 0);
	fclose(in);
	assert_string_equal(found, text);
}

static void write_file(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static unsigned int complaints;

static void complain(const char *path, const char *before, int error)
{
	complaints++;
}

/* The value before the first change comes back, however often the value has changed since. */
static void settings_come_back(void **state)
{
	char one[] = "setting-XXXXXX", other[] = "setting-XXXXXX";
	struct settings settings = { .count = 0 };

	close(mkstemp(one));
	close(mkstemp(other));
	write_file(one, "0\n");
	write_file(other, "\n");
	assert_int_equal(settings_change(&settings, one, "0"), 0);
	assert_int_equal(settings.count, 0);
	assert_int_equal(settings_change(&settings, one, "1"), 0);
	expect_file(one, "1\n");
	assert_int_equal(settings_change(&settings, one, "2"), 0);
	assert_int_equal(settings_change(&settings, other, "5"), 0);
	assert_int_equal(settings.count, 2);
	assert_int_equal(settings_change(&settings, "there/is/none", "1"), -ENOENT);
	assert_int_equal(settings_put_back(&settings, complain), 0);
	expect_file(one, "0\n");
	expect_file(other, "\n");
	assert_int_equal(settings.count, 0);

	assert_int_equal(settings_change(&settings, one, "3"), 0);
	unlink(one);
	assert_int_equal(settings_put_back(&settings, complain), 1);
	assert_int_equal(complaints, 1);
	unlink(other);
}

/* -- trace ---------------------------------------------------------------- */

static const struct waterfall_row *find_row(const struct waterfall *waterfall, const char *name)
{
	for (size_t i = 0; i < waterfall->count; i++)
		if (!strcmp(waterfall->rows[i].name, name))
			return &waterfall->rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void build(const char *name, struct waterfall *waterfall)
{
	char *text = recorded(name);
	struct trace_events events;

	assert_int_equal(trace_parse(text, &events), 0);
	assert_true(events.count > 50);
	assert_int_equal(waterfall_build(&events, waterfall), 0);
	trace_free(&events);
	free(text);
}

/* Checks that no line is longer than the terminal is wide, or than 60 columns if that is more. */
static void expect_width(const struct waterfall *waterfall, unsigned int width, bool all)
{
	struct waterfall_look look = { .width = width, .all = all };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	waterfall_print(waterfall, &look, out);
	fclose(out);
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= (width < 60 ? 60 : width));
	free(text);
}

static void a_request_of_bolt(void **state)
{
	const struct waterfall_row *row;
	struct waterfall waterfall;
	unsigned long long end = 0;

	build("offline-bolt.txt", &waterfall);
	assert_string_equal(waterfall.title, "offline 2-3");
	assert_int_equal(waterfall.batch, 1);
	assert_int_equal(waterfall.deferred, 30);
	assert_int_equal(waterfall.cancelled, 0);
	assert_true(waterfall.in_batch && waterfall.in_batch < waterfall.total);
	row = find_row(&waterfall, "ap");
	assert_true(row->group);
	row = find_row(&waterfall, "sched_cpu_deactivate");
	assert_int_equal(row->state, 235);
	assert_int_equal(row->count, 2);
	/* Phases follow each other, and are inside the request. */
	for (size_t i = 0; i < waterfall.count; i++) {
		row = &waterfall.rows[i];
		for (size_t j = 0; j < row->count; j++)
			assert_true(row->spans[j].start <= row->spans[j].end &&
				    row->spans[j].end <= waterfall.total);
		if (!row->group)
			continue;
		assert_true(row->spans[0].start + 2000 >= end);
		end = row->spans[0].end;
	}
	expect_width(&waterfall, 80, false);
	expect_width(&waterfall, 80, true);
	expect_width(&waterfall, 20, true);
	expect_width(&waterfall, 1000, true);
	waterfall_free(&waterfall);
}

static void a_native_request(void **state)
{
	const struct waterfall_row *row;
	struct waterfall waterfall;

	build("offline-native.txt", &waterfall);
	assert_int_equal(waterfall.batch, 0);
	row = find_row(&waterfall, "CPU 3");
	assert_true(row->group);
	row = find_row(&waterfall, "takedown_cpu");
	assert_int_equal(row->state, 145);
	assert_in_range(row->busy, 1000000, 1200000);
	expect_width(&waterfall, 80, true);
	waterfall_free(&waterfall);
	build("online-native-arm64.txt", &waterfall);
	expect_width(&waterfall, 80, true);
	waterfall_free(&waterfall);
}

/* Prints the slices of @events to memory; free the result. */
static char *print_slices(const struct trace_events *events)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	trace_slices_print(events, 59, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* Counts the places in @text where @part begins. */
static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

static void slices_of_a_request(void **state)
{
	char *text = recorded("offline-bolt.txt"), *slices;
	struct trace_events events, again;
	size_t callbacks = 0, phases = 0;

	(void)state;
	assert_int_equal(trace_parse(text, &events), 0);
	for (size_t i = 0; i < events.count; i++) {
		callbacks += events.list[i].kind == TRACE_EXIT;
		phases += events.list[i].kind == TRACE_PHASE;
	}
	slices = print_slices(&events);
	assert_non_null(strstr(slices, "1.154177: tracing_mark_write: "
			       "G|59|request|offline 2-3|0\n"));
	assert_non_null(strstr(slices, "1.154912: tracing_mark_write: "
			       "G|59|CPU 2|sched_cpu_deactivate|"));
	/* The phase ended at 1.154907 and took 14.27 us. */
	assert_non_null(strstr(slices, "1.154892: tracing_mark_write: G|59|batch 1|lock|1\n"));
	assert_non_null(strstr(slices, "1.154907: tracing_mark_write: H|59|batch 1|1\n"));
	assert_int_equal(count_of(slices, ": G|59|CPU "), callbacks);
	assert_int_equal(count_of(slices, ": G|59|batch 1|"), phases);
	assert_int_equal(count_of(slices, ": G|59|"), count_of(slices, ": H|59|"));
	/* trace_parse() finds no event in the lines of slices. */
	assert_int_equal(trace_parse(slices, &again), 0);
	assert_int_equal(again.count, 0);
	trace_free(&again);
	trace_free(&events);
	free(slices);
	free(text);
}

static void traces_that_are_none(void **state)
{
	static const char line[] = "  a task [x]-1  [000] .N...     1.000002: ";
	static const char *const wrong[] = {
		"bolt_phase: batch=1 cpu=2 ns=5",
		"bolt_batch: batch=x cpu=1 up=0 down=1 err=0 ns=1",
		"cpuhp_enter: cpu: 0002 target: 1 step: 2", "cpuhp_exit: cpu: 2 state: 1 step: 2",
		"bolt_defer: cpu=-1 state=2", "bolt_cancel:",
	};
	struct trace_events events;
	struct waterfall waterfall;
	char text[256];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		snprintf(text, sizeof(text), "# tracer: nop\n%s%s\n", line, wrong[i]);
		assert_int_equal(trace_parse(text, &events), -EINVAL);
		assert_int_equal(events.count, 0);
	}
	snprintf(text, sizeof(text), "%ssched_switch: cpu=1\nno event at all\n%s\n", line, line);
	assert_int_equal(trace_parse(text, &events), 0);
	assert_int_equal(events.count, 0);
	assert_int_equal(waterfall_build(&events, &waterfall), -ENODATA);
	trace_free(&events);
	snprintf(text, sizeof(text), "%scpuhp_exit: cpu: 0001 state: 1 step: 2 ret: -16\n", line);
	assert_int_equal(trace_parse(text, &events), 0);
	assert_int_equal(events.count, 1);
	assert_int_equal(events.list[0].error, -16);
	assert_int_equal(events.list[0].ns, 1000002000);
	assert_int_equal(waterfall_build(&events, &waterfall), -ENODATA);
	trace_free(&events);
}

static void times_have_units(void **state)
{
	char text[32];

	assert_string_equal(waterfall_time(0, text, sizeof(text)), "0.0 us");
	assert_string_equal(waterfall_time(132822, text, sizeof(text)), "132.8 us");
	assert_string_equal(waterfall_time(999960, text, sizeof(text)), "1.0 ms");
	assert_string_equal(waterfall_time(18034000, text, sizeof(text)), "18.0 ms");
	assert_string_equal(waterfall_time(61000000000ull, text, sizeof(text)), "61.0 s");
}

/* -- doctor --------------------------------------------------------------- */

struct seen {
	struct udev_rule rules[4];
	size_t count;
};

static void see(const struct udev_rule *rule, void *data)
{
	struct seen *seen = data;

	assert_true(seen->count < 4);
	seen->rules[seen->count++] = *rule;
}

static void rules_of_udev(void **state)
{
	char *text = recorded("udev-hotadd.txt");
	struct seen seen = { .count = 0 };

	udev_parse(text, see, &seen);
	free(text);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.rules[0].line, 7);
	assert_true(seen.rules[0].online && seen.rules[0].add_only);

	seen.count = 0;
	udev_parse("SUBSYSTEM!=\"cpu\", GOTO=\"end\"\n"
		   "# ATTR{online}=\"1\"\n"
		   "ACTION==\"add|change\", ATTR{online}=\"1\"\n"
		   "ATTR{online} = \"0\"\n"
		   "ATTR{online}==\"0\"\n", see, &seen);
	assert_int_equal(seen.count, 2);
	assert_true(seen.rules[0].line == 3 && seen.rules[0].online && !seen.rules[0].add_only);
	assert_true(seen.rules[1].line == 4 && !seen.rules[1].online);

	seen.count = 0;
	udev_parse("SUBSYSTEM==\"memory\", ATTR{online}=\"1\"\n"
		   "ATTR{online}=\"1\"\nSUBSYSTEM==\"cpu\", ATTR{online}=\"1\nATTR{online", see,
		   &seen);
	assert_int_equal(seen.count, 0);
}

/*
 * SUBSYSTEM!="cpu" with a GOTO says that the lines up to the label are for CPUs, and says nothing
 * of the lines behind the label.
 */
static void rules_behind_a_label(void **state)
{
	struct seen seen = { .count = 0 };

	udev_parse("SUBSYSTEM!=\"cpu\", GOTO=\"end\"\n"
		   "LABEL=\"other\"\n"
		   "SUBSYSTEM==\"memory\", ATTR{online}=\"1\"\n"
		   "ATTR{online}=\"1\"\n"
		   "SUBSYSTEM==\"cpu|memory\", ATTR{online}=\"1\"\n"
		   "LABEL=\"end\"\n"
		   "ATTR{online}=\"1\"\n"
		   "SUBSYSTEM==\"memory\", ATTR{online}=\"1\"\n"
		   "SUBSYSTEM==\"c*\", ATTR{online}=\"0\"\n", see, &seen);
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.rules[0].line, 4);
	assert_int_equal(seen.rules[1].line, 5);
	assert_true(seen.rules[2].line == 9 && !seen.rules[2].online);

	/* The label of a second jump does not end the lines of the first jump. */
	seen.count = 0;
	udev_parse("SUBSYSTEM!=\"cpu\", GOTO=\"a\"\n"
		   "SUBSYSTEM!=\"cpu\", GOTO=\"b\"\n"
		   "LABEL=\"b\"\n"
		   "ATTR{online}=\"1\"\n"
		   "LABEL=\"a\", ATTR{online}=\"1\"\n", see, &seen);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.rules[0].line, 4);
}

/* ACTION!="add" with a GOTO says that the lines up to the label are for "add" events only. */
static void rules_behind_an_action(void **state)
{
	struct seen seen = { .count = 0 };

	udev_parse("ACTION!=\"add\", GOTO=\"end\"\n"
		   "SUBSYSTEM==\"cpu\", TEST==\"online\", ATTR{online}==\"0\", ATTR{online}=\"1\"\n"
		   "LABEL=\"end\"\n"
		   "SUBSYSTEM==\"cpu\", ATTR{online}=\"1\"\n", see, &seen);
	assert_int_equal(seen.count, 2);
	assert_true(seen.rules[0].line == 2 && seen.rules[0].add_only);
	assert_true(seen.rules[1].line == 4 && !seen.rules[1].add_only);

	/* Behind each of these jumps, the lines get other events of CPUs than "add" as well. */
	seen.count = 0;
	udev_parse("SUBSYSTEM==\"memory\", ACTION!=\"add\", GOTO=\"end\"\n"
		   "ACTION!=\"add|change\", GOTO=\"end\"\n"
		   "ACTION!=\"add\", KERNEL==\"cpu0\", GOTO=\"end\"\n"
		   "SUBSYSTEM==\"cpu\", ATTR{online}=\"1\"\n"
		   "LABEL=\"end\"\n", see, &seen);
	assert_int_equal(seen.count, 1);
	assert_false(seen.rules[0].add_only);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_are_read),
		cmocka_unit_test(other_kernels_have_other_columns),
		cmocka_unit_test(malformed_states_are_refused),
		cmocka_unit_test(native_states_are_read),
		cmocka_unit_test(interrupts_of_x86),
		cmocka_unit_test(interrupts_of_arm64),
		cmocka_unit_test(odd_interrupts),
		cmocka_unit_test(rates_of_counts_that_wrap_and_cpus_that_come),
		cmocka_unit_test(a_small_machine_keeps_interrupts_on_one_cpu),
		cmocka_unit_test(busy_nodes_keep_their_own_interrupts),
		cmocka_unit_test(percentiles_are_nearest_ranks),
		cmocka_unit_test(settings_come_back),
		cmocka_unit_test(a_request_of_bolt),
		cmocka_unit_test(a_native_request),
		cmocka_unit_test(slices_of_a_request),
		cmocka_unit_test(traces_that_are_none),
		cmocka_unit_test(times_have_units),
		cmocka_unit_test(rules_of_udev),
		cmocka_unit_test(rules_behind_a_label),
		cmocka_unit_test(rules_behind_an_action),
	};

	return cmocka_run_group_tests_name("views", tests, NULL, NULL);
}
