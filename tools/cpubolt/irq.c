// SPDX-License-Identifier: GPL-2.0-only
/* cpubolt irq: which CPUs get interrupts, and the keep list: CPUs on which Bolt keeps interrupts */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "irq_confined.h"
#include "irq_keep.h"
#include "irq_read.h"
#include "programs.h"
#include "sets.h"
#include "sheet.h"

#define LONGEST_INTERVAL	86400
/* How many CPUs of an interrupt the table names at most, the busiest first. */
#define NAMED_CPUS		3

static const struct help help = {
	.usage = "[options]\n--propose [options]\n--apply CPULIST\n--clear",
	.about = "Show which interrupts occur how often on which CPU, and whether these can be\n"
		 "moved. A CPU without interrupts goes offline sooner: with Bolt, interrupts can be\n"
		 "kept on the CPUs of a list.",
	.options = " -a, --all                also interrupts that did not occur\n"
		   " -b, --by-cpu             a row for each CPU\n"
		   " -i, --interval SECONDS   count for so long; 0: average since boot (default: 1)\n"
		   " -J, --json               print JSON\n"
		   " -o, --output LIST        these columns\n"
		   " -p, --propose            propose a keep list; nothing is changed\n"
		   "     --apply CPULIST      keep interrupts on these CPUs\n"
		   "     --clear              empty the keep list\n"
		   HELP_OPTION_HELP,
	.examples = " cpubolt irq --interval 5       the busiest interrupts of five seconds\n"
		    " cpubolt irq --by-cpu           which CPUs have interrupts\n"
		    " cpubolt irq --propose          a list, and why\n"
		    " cpubolt irq --apply 0-1        all other CPUs have no interrupts to move\n",
};

enum {
	IRQ_IRQ, IRQ_RATE, IRQ_KIND, IRQ_CPUS, IRQ_AFFINITY, IRQ_EFFECTIVE, IRQ_NODE, IRQ_CHIP,
	IRQ_DEVICE, IRQ_COLUMN_COUNT
};

static const struct sheet_column irq_columns[IRQ_COLUMN_COUNT] = {
	[IRQ_IRQ] = { "IRQ", "number or name of the interrupt", SCOLS_FL_RIGHT,
		      SCOLS_JSON_STRING, true },
	[IRQ_RATE] = { "RATE", "interrupts a second", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[IRQ_KIND] = { "KIND", "movable, managed, per-CPU or fixed", 0, SCOLS_JSON_STRING, true },
	[IRQ_CPUS] = { "BY-CPU", "CPU:RATE, the busiest CPU first", 0, SCOLS_JSON_STRING,
		       true },
	[IRQ_AFFINITY] = { "AFFINITY", "CPUs that are configured for the interrupt", 0,
			   SCOLS_JSON_STRING, true },
	[IRQ_EFFECTIVE] = { "EFFECTIVE", "CPUs on which the interrupt is", 0, SCOLS_JSON_STRING,
			    true },
	[IRQ_NODE] = { "NODE", "NUMA node of the device", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER,
		       false },
	[IRQ_CHIP] = { "CHIP", "interrupt controller", 0, SCOLS_JSON_STRING, false },
	[IRQ_DEVICE] = { "DEVICE", "what uses the interrupt", SCOLS_FL_TRUNC, SCOLS_JSON_STRING,
			 true },
};

enum {
	CPU_CPU, CPU_RATE, CPU_MOVABLE, CPU_MANAGED, CPU_PER_CPU, CPU_FIXED, CPU_KEPT,
	CPU_COLUMN_COUNT
};

static const struct sheet_column cpu_columns[CPU_COLUMN_COUNT] = {
	[CPU_CPU] = { "CPU", "number of the CPU", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[CPU_RATE] = { "RATE", "interrupts a second", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[CPU_MOVABLE] = { "MOVABLE", "rate of interrupts that can be moved", SCOLS_FL_RIGHT,
			  SCOLS_JSON_NUMBER, true },
	[CPU_MANAGED] = { "MANAGED", "rate of interrupts that the kernel spreads over CPUs",
			  SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[CPU_PER_CPU] = { "PER-CPU", "rate of interrupts that each CPU has of its own", SCOLS_FL_RIGHT,
			  SCOLS_JSON_NUMBER, true },
	[CPU_FIXED] = { "FIXED", "rate of other interrupts that cannot be moved",
			SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	/*
	 * The type is that of a number, although the values are "true" and "false": libsmartcols
	 * prints an unknown number as "null", but an unknown boolean as "false".
	 */
	[CPU_KEPT] = { "KEEP", "whether the CPU is in the keep list", 0, SCOLS_JSON_NUMBER,
		       true },
};

enum { KEEP_CPU, KEEP_NODE, KEEP_IRQS, KEEP_PER_SECOND, KEEP_FIXED, KEEP_COLUMN_COUNT };

static const struct sheet_column keep_columns[KEEP_COLUMN_COUNT] = {
	[KEEP_CPU] = { "CPU", "proposed CPU", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[KEEP_NODE] = { "NODE", "NUMA node of the CPU", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[KEEP_IRQS] = { "INTERRUPTS", "about how many interrupts the CPU gets", SCOLS_FL_RIGHT,
			SCOLS_JSON_NUMBER, true },
	[KEEP_PER_SECOND] = { "RATE", "about how often a second the CPU's interrupts occur",
			      SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[KEEP_FIXED] = { "FIXED", "whether the CPU cannot go offline anyhow", 0,
			 SCOLS_JSON_BOOLEAN, true },
};

struct view {
	struct invocation *call;
	struct cpubolt *machine;
	const char *apply, *chosen;
	bool all, by_cpu, json, propose, clear;
	double seconds;
	cpu_set_t *keep;	/* the keep list; empty if there is none, or if it is unknown */
	bool keep_too_long;	/* the keep list is longer than a page: no program can read it */
	bool keep_unknown;	/* keep_too_long, or this user may not read the keep list */
};

/* -- Options -------------------------------------------------------------- */

static int read_interval(struct view *view, const char *text)
{
	char *end;

	errno = 0;
	view->seconds = strtod(text, &end);
	if (errno || end == text || *end || !(view->seconds >= 0) ||
	    view->seconds > LONGEST_INTERVAL)
		return fail(EXIT_USAGE, "\"%s\" is no number of seconds from 0 to %d", text,
			    LONGEST_INTERVAL);
	return EXIT_DONE;
}

static int read_option(struct view *view, int option)
{
	switch (option) {
	case 'a':
		view->all = true;
		return EXIT_DONE;
	case 'A':
		view->apply = optarg;
		return EXIT_DONE;
	case 'b':
		view->by_cpu = true;
		return EXIT_DONE;
	case 'c':
		view->clear = true;
		return EXIT_DONE;
	case 'i':
		return read_interval(view, optarg);
	case 'J':
		view->json = true;
		return EXIT_DONE;
	case 'o':
		view->chosen = optarg;
		return EXIT_DONE;
	case 'p':
		view->propose = true;
		return EXIT_DONE;
	}
	return EXIT_USAGE;
}

static int print_all_help(const struct invocation *call)
{
	print_help(call, &help);
	sheet_help(irq_columns, IRQ_COLUMN_COUNT);
	puts("\nwith --by-cpu:");
	sheet_help(cpu_columns, CPU_COLUMN_COUNT);
	puts("\nwith --propose:");
	sheet_help(keep_columns, KEEP_COLUMN_COUNT);
	return EXIT_DONE;
}

static int read_options(struct view *view, bool *done)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "apply", required_argument, NULL, 'A' },
		{ "by-cpu", no_argument, NULL, 'b' },
		{ "clear", no_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "interval", required_argument, NULL, 'i' },
		{ "json", no_argument, NULL, 'J' },
		{ "output", required_argument, NULL, 'o' },
		{ "propose", no_argument, NULL, 'p' },
		{ NULL, 0, NULL, 0 }
	};
	struct invocation *call = view->call;
	int option;

	while ((option = getopt_long(call->argc, call->argv, "abhi:Jo:p", options, NULL)) != -1) {
		if (option == 'h') {
			*done = true;
			return print_all_help(call);
		}
		if (read_option(view, option) != EXIT_DONE)
			return fail_usage(call);
	}
	if (refuse_arguments(call) != EXIT_DONE)
		return EXIT_USAGE;
	if (!!view->apply + view->clear + view->propose + view->by_cpu > 1) {
		complain("--apply, --by-cpu, --clear and --propose exclude each other");
		return fail_usage(call);
	}
	return EXIT_DONE;
}

/* -- Showing -------------------------------------------------------------- */

static void put_rate(struct sheet *sheet, size_t column, double rate, bool json)
{
	/* In a table, a small rate has two significant digits, so that it is not rounded to 0. */
	if (json || rate >= 9.95 || rate == 0)
		sheet_put(sheet, column, json ? "%.3f" : "%.0f", rate);
	else
		sheet_put(sheet, column, "%.2g", rate);
}

/** The rates by which compare_rates() sorts: of the rows of a report, or of the CPUs of a row */
static const double *sorted_rates;

static int compare_rates(const void *a, const void *b)
{
	size_t one = *(const size_t *)a, other = *(const size_t *)b;

	if (sorted_rates[one] != sorted_rates[other])
		return sorted_rates[one] < sorted_rates[other] ? 1 : -1;
	return (one > other) - (one < other);
}

/* The indices of @rates, that of the greatest rate first; to be freed. NULL if memory is short. */
static size_t *sort_rates(const double *rates, size_t count)
{
	size_t *order = calloc(count + 1, sizeof(*order));

	for (size_t i = 0; order && i < count; i++)
		order[i] = i;
	sorted_rates = rates;
	if (order)
		qsort(order, count, sizeof(*order), compare_rates);
	return order;
}

static void put_cpus(struct sheet *sheet, const struct irq_report *report, size_t row, bool all)
{
	size_t cpus = report->table.cpu_count, size;
	const double *rates = report->rates + row * cpus;
	size_t *order = sort_rates(rates, cpus);
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; out && order && i < cpus && rates[order[i]] > 0; i++) {
		if (!all && i == NAMED_CPUS) {
			fputs(" ...", out);
			break;
		}
		fprintf(out, rates[order[i]] < 9.95 ? "%s%u:%.2g" : "%s%u:%.0f", i ? " " : "",
			report->table.cpus[order[i]], rates[order[i]]);
	}
	if (out)
		fclose(out);
	sheet_put(sheet, IRQ_CPUS, "%s", text ?: "");
	free(text);
	free(order);
}

static void put_irq(struct view *view, struct sheet *sheet, const struct irq_report *report,
		    size_t i)
{
	const struct irq_row *row = &report->table.rows[i];
	const struct irq_place *place = &report->places[i];

	sheet_line(sheet);
	sheet_put(sheet, IRQ_IRQ, "%s", row->irq);
	put_rate(sheet, IRQ_RATE, report->sums[i], view->json);
	sheet_put(sheet, IRQ_KIND, "%s", irq_kind_name(place->kind));
	put_cpus(sheet, report, i, view->json);
	sheet_put(sheet, IRQ_AFFINITY, "%s", place->affinity);
	sheet_put(sheet, IRQ_EFFECTIVE, "%s", place->effective);
	if (place->node >= 0 || view->json)
		sheet_put(sheet, IRQ_NODE, "%d", place->node);
	sheet_put(sheet, IRQ_CHIP, "%s", row->chip);
	sheet_put(sheet, IRQ_DEVICE, "%s", row->name);
}

static int show_irqs(struct view *view, const struct irq_report *report)
{
	size_t count = report->table.count, *order = sort_rates(report->sums, count);
	struct sheet sheet;
	int code;

	if (!order)
		return fail(EXIT_FAILED, "no memory");
	code = sheet_open(&sheet, "interrupts", irq_columns, IRQ_COLUMN_COUNT, view->chosen,
			  view->json);
	for (size_t i = 0; i < count && code == EXIT_DONE; i++)
		if (view->all || report->sums[order[i]] > 0)
			put_irq(view, &sheet, report, order[i]);
	if (code == EXIT_DONE)
		sheet_print(&sheet);
	free(order);
	return code;
}

static void put_cpu(struct view *view, struct sheet *sheet, const struct irq_report *report,
		    size_t cpu)
{
	double rates[IRQ_KIND_COUNT] = { 0 }, sum = 0;
	unsigned int number = report->table.cpus[cpu];
	bool kept = set_has(view->machine, number, view->keep);

	for (size_t i = 0; i < report->table.count; i++) {
		double rate = report->rates[i * report->table.cpu_count + cpu];

		rates[report->places[i].kind] += rate;
		sum += rate;
	}
	sheet_line(sheet);
	sheet_put(sheet, CPU_CPU, "%u", number);
	put_rate(sheet, CPU_RATE, sum, view->json);
	put_rate(sheet, CPU_MOVABLE, rates[IRQ_MOVABLE], view->json);
	put_rate(sheet, CPU_MANAGED, rates[IRQ_MANAGED], view->json);
	put_rate(sheet, CPU_PER_CPU, rates[IRQ_PER_CPU], view->json);
	put_rate(sheet, CPU_FIXED, rates[IRQ_FIXED], view->json);
	if (view->keep_unknown)
		return;
	if (view->json)
		sheet_put(sheet, CPU_KEPT, "%s", kept ? "true" : "false");
	else
		sheet_put(sheet, CPU_KEPT, "%s", kept ? "yes" : "no");
}

static int show_cpus(struct view *view, const struct irq_report *report)
{
	struct sheet sheet;
	int code = sheet_open(&sheet, "cpus", cpu_columns, CPU_COLUMN_COUNT, view->chosen,
			      view->json);

	if (code != EXIT_DONE)
		return code;
	for (size_t i = 0; i < report->table.cpu_count; i++)
		put_cpu(view, &sheet, report, i);
	sheet_print(&sheet);
	return EXIT_DONE;
}

/* -- irqbalance ----------------------------------------------------------- */

static void print_irqbalance(struct view *view, bool kept)
{
	int pid = program_find(view->call->root, "irqbalance");
	cpu_set_t *others;
	char *text;

	if (pid <= 0)
		return;
	if (cpubolt_features(view->machine) & CPUBOLT_UNREADABLE) {
		printf("irqbalance (PID %d) moves interrupts between CPUs about every 10 seconds; only\n"
		       "root can see whether the keep list limits that.\n", pid);
		return;
	}
	if (!kept) {
		printf("irqbalance (PID %d) moves interrupts between CPUs about every 10 seconds: "
		       "a CPU that\ngoes offline may have interrupts at any time.\n", pid);
		return;
	}
	if (irqbalance_is_confined(view->call, pid, view->keep)) {
		printf("irqbalance (PID %d) uses CPUs of the keep list only.\n", pid);
		return;
	}
	if (view->keep_too_long) {
		printf("irqbalance (PID %d) writes smp_affinity of interrupts, which are then not kept.\n",
		       pid);
		return;
	}
	others = set_new(view->machine, CPUBOLT_PRESENT);
	set_minus(view->machine, others, view->keep);
	text = set_text(view->machine, others);
	printf("irqbalance (PID %d) writes smp_affinity of interrupts, which are then not kept.\n"
	       "Stop irqbalance, or have IRQBALANCE_BANNED_CPULIST=%s in "
	       "/etc/default/irqbalance.\n", pid, text);
	free(text);
	CPU_FREE(others);
}

/* -- The keep list -------------------------------------------------------- */

static void read_keep(struct view *view)
{
	char *text = NULL;
	int err = cpubolt_get(view->machine, "irq_keep", &text);

	view->keep = set_empty(view->machine);
	view->keep_too_long = err == -EOVERFLOW;
	view->keep_unknown = view->keep_too_long || err == -EACCES || err == -EPERM;
	if (!err)
		cpubolt_parse_list(view->machine, text, view->keep, NULL);
	free(text);
}

static void print_keep(struct view *view)
{
	unsigned int features = cpubolt_features(view->machine);
	bool kept = set_count(view->machine, view->keep) || view->keep_too_long;
	char *text = set_text(view->machine, view->keep);

	putchar('\n');
	if (!(features & CPUBOLT_HAS_BOLT))
		puts("This kernel has no Bolt, and so no keep list.");
	else if (features & CPUBOLT_UNREADABLE)
		puts("Only root may read the keep list.");
	else if (!kept)
		puts("The keep list is empty: see \"cpubolt irq --propose\".");
	else if (view->keep_too_long)
		puts("The keep list is longer than a page, and cannot be shown.");
	else
		printf("Movable interrupts are kept on CPU%s %s%s.\n",
		       set_count(view->machine, view->keep) == 1 ? "" : "s", text,
		       features & CPUBOLT_ENABLED ? "" : ", once Bolt is enabled");
	print_irqbalance(view, kept);
	free(text);
}

static int put_list(struct view *view, const char *list)
{
	int error = cpubolt_put(view->machine, "irq_keep", list);

	switch (error) {
	case 0:
		if (!(cpubolt_features(view->machine) & CPUBOLT_ENABLED))
			complain("Bolt is not enabled: the list applies when Bolt is enabled");
		return EXIT_DONE;
	case -EACCES:
	case -EPERM:
		return fail(EXIT_NOT_PERMITTED, "only root may change the keep list");
	case -ENOENT:
		return fail(EXIT_FAILED, "this kernel has no Bolt, and so no keep list");
	case -EINVAL:
		return fail(EXIT_FAILED, "no CPU of the list is online");
	case -EROFS:
		return fail(EXIT_FAILED, "sysfs is mounted read-only here, as in most containers");
	}
	return fail(EXIT_FAILED, "cannot change the keep list: %s", strerror(-error));
}

static int apply(struct view *view)
{
	cpu_set_t *cpus = set_empty(view->machine);
	size_t at = 0;
	char *text;
	int error = cpubolt_parse_list(view->machine, view->apply, cpus, &at), code;

	if (error) {
		code = fail_list(view->call, view->apply, error, at);
	} else if (!set_count(view->machine, cpus)) {
		code = fail(EXIT_USAGE, "the list has no CPU: --clear makes the keep list empty");
	} else {
		text = set_text(view->machine, cpus);
		code = put_list(view, text);
		free(text);
	}
	CPU_FREE(cpus);
	return code;
}

/* CPUs that may have interrupts, see struct keep_cpu; to be freed. NULL if memory is short. */
static struct keep_cpu *usable_cpus(struct view *view, size_t *count)
{
	struct cpubolt *machine = view->machine;
	cpu_set_t *cpus = set_new(machine, CPUBOLT_ONLINE);
	cpu_set_t *fixed = set_new(machine, CPUBOLT_FIXED);
	cpu_set_t *isolated = set_new(machine, CPUBOLT_ISOLATED);
	cpu_set_t *nohz_full = set_new(machine, CPUBOLT_NOHZ_FULL);
	struct keep_cpu *list;
	unsigned int cpu;

	set_minus(machine, cpus, isolated);
	set_minus(machine, cpus, nohz_full);
	list = calloc(set_count(machine, cpus) + 1, sizeof(*list));
	*count = 0;
	for_each_cpu(machine, cpu, cpus) {
		struct cpubolt_topology topology = { .node = -1 };

		if (!list)
			break;
		cpubolt_topology(machine, cpu, &topology);
		list[(*count)++] = (struct keep_cpu){
			.cpu = cpu,
			.node = topology.node,
			.thread = topology.thread,
			.fixed = set_has(machine, cpu, fixed),
		};
	}
	CPU_FREE(cpus);
	CPU_FREE(fixed);
	CPU_FREE(isolated);
	CPU_FREE(nohz_full);
	return list;
}

static struct keep_irq *movable_irqs(const struct irq_report *report, size_t *count)
{
	struct keep_irq *list = calloc(report->table.count + 1, sizeof(*list));

	*count = 0;
	for (size_t i = 0; list && i < report->table.count; i++)
		if (report->places[i].kind == IRQ_MOVABLE)
			list[(*count)++] = (struct keep_irq){
				.node = report->places[i].node,
				.rate = report->sums[i],
			};
	return list;
}

static int print_choice(struct view *view, const struct keep_cpu *cpus, size_t count)
{
	struct sheet sheet;
	int code = sheet_open(&sheet, "keep", keep_columns, KEEP_COLUMN_COUNT, view->chosen,
			      view->json);

	for (size_t i = 0; i < count && code == EXIT_DONE; i++) {
		if (!cpus[i].chosen)
			continue;
		sheet_line(&sheet);
		sheet_put(&sheet, KEEP_CPU, "%u", cpus[i].cpu);
		sheet_put(&sheet, KEEP_NODE, "%d", cpus[i].node);
		sheet_put(&sheet, KEEP_IRQS, "%.0f", cpus[i].interrupts);
		put_rate(&sheet, KEEP_PER_SECOND, cpus[i].rate, view->json);
		if (view->json)
			sheet_put(&sheet, KEEP_FIXED, "%s", cpus[i].fixed ? "1" : "0");
		else
			sheet_put(&sheet, KEEP_FIXED, "%s", cpus[i].fixed ? "yes" : "no");
	}
	if (code == EXIT_DONE)
		sheet_print(&sheet);
	return code;
}

/* Prints how many interrupts cannot be moved; a keep list does not apply to these. */
static void print_unmovable(const struct irq_report *report)
{
	size_t counts[IRQ_KIND_COUNT] = { 0 };

	for (size_t i = 0; i < report->table.count; i++)
		counts[report->places[i].kind]++;
	printf("Not movable: %zu managed, %zu per-CPU, %zu fixed. A managed interrupt stays with "
	       "its CPUs,\nand is switched off when the last of these goes.\n",
	       counts[IRQ_MANAGED], counts[IRQ_PER_CPU], counts[IRQ_FIXED]);
}

static int print_proposal(struct view *view, const struct irq_report *report,
			  const struct keep_cpu *cpus, size_t count)
{
	cpu_set_t *chosen = set_empty(view->machine);
	char *text;
	int code;

	for (size_t i = 0; i < count; i++)
		if (cpus[i].chosen)
			CPU_SET_S(cpus[i].cpu, cpubolt_set_size(view->machine), chosen);
	text = set_text(view->machine, chosen);
	code = print_choice(view, cpus, count);
	if (code == EXIT_DONE && !view->json && !view->chosen) {
		putchar('\n');
		print_unmovable(report);
		printf("Keep movable interrupts there: cpubolt irq --apply %s\n", text);
		CPU_FREE(view->keep);
		view->keep = set_copy(view->machine, chosen);
		view->keep_too_long = view->keep_unknown = false;
		print_irqbalance(view, true);
	}
	free(text);
	CPU_FREE(chosen);
	return code;
}

static int propose(struct view *view, const struct irq_report *report)
{
	size_t cpu_count, irq_count;
	struct keep_cpu *cpus = usable_cpus(view, &cpu_count);
	struct keep_irq *irqs = movable_irqs(report, &irq_count);
	int code;

	if (!cpus || !irqs)
		code = fail(EXIT_FAILED, "no memory");
	else if (!keep_propose(cpus, cpu_count, irqs, irq_count))
		code = fail(EXIT_FAILED, "all CPUs online are isolated or nohz_full: none may "
			    "have interrupts");
	else
		code = print_proposal(view, report, cpus, cpu_count);
	free(cpus);
	free(irqs);
	return code;
}

/* Finds a wrong --output before the interval, which may be long. */
static int check_chosen(const struct view *view)
{
	struct sheet sheet;
	int code;

	if (view->propose)
		code = sheet_open(&sheet, "", keep_columns, KEEP_COLUMN_COUNT, view->chosen, false);
	else if (view->by_cpu)
		code = sheet_open(&sheet, "", cpu_columns, CPU_COLUMN_COUNT, view->chosen, false);
	else
		code = sheet_open(&sheet, "", irq_columns, IRQ_COLUMN_COUNT, view->chosen, false);
	if (code == EXIT_DONE)
		sheet_close(&sheet);
	return code;
}

static int show(struct view *view)
{
	struct irq_report report;
	int code = check_chosen(view);

	if (code == EXIT_DONE)
		code = irq_read(view->call, view->seconds, &report);
	if (code != EXIT_DONE)
		return code;
	if (view->propose)
		code = propose(view, &report);
	else if (view->by_cpu)
		code = show_cpus(view, &report);
	else
		code = show_irqs(view, &report);
	if (code == EXIT_DONE && !view->propose && !view->json && !view->chosen)
		print_keep(view);
	irq_report_free(&report);
	return code;
}

int run_irq(struct invocation *call)
{
	struct view view = { .call = call, .seconds = 1 };
	bool done = false;
	int code = read_options(&view, &done);

	if (done || code != EXIT_DONE)
		return code;
	code = invocation_open(call);
	if (code != EXIT_DONE)
		return code;
	view.machine = call->machine;
	if (view.apply)
		return apply(&view);
	if (view.clear)
		return put_list(&view, "\n");
	read_keep(&view);
	code = show(&view);
	CPU_FREE(view.keep);
	return code;
}
