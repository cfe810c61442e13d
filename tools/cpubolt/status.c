// SPDX-License-Identifier: GPL-2.0-only
/* cpubolt status: the CPUs of a machine, and what has become of each */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sets.h"
#include "table.h"

/* In characters: the summary leaves longer lists of CPUs to the table. */
#define LONGEST_LIST	30

static const struct help help = {
	.usage = "[options] [CPULIST]",
	.about = "Show the CPUs: where each CPU is, its state, what is pending, and how long the\n"
		 "last cpubolt online, offline or set for the CPU took. CPUs that are equal share\n"
		 "a row.",
	.options = " -a, --all                online and offline CPUs (the default)\n"
		   " -b, --online             online CPUs only\n"
		   " -c, --offline            offline, parked and half-way CPUs only\n"
		   " -e, --extended[=LIST]    one row for each CPU\n"
		   " -J, --json               JSON, one object for each CPU\n"
		   " -o, --output LIST        these columns; \"+LIST\" adds to the default\n"
		   "     --output-all         all columns, one row for each CPU\n"
		   " -p, --parse[=LIST]       for programs: commas between the columns\n"
		   HELP_OPTION_HELP,
	.examples = " cpubolt status                     summary and table\n"
		    " cpubolt status -e 0-7              CPUs 0 to 7, one row for each\n"
		    " cpubolt status -o CPUS,NODE,STATE  these columns\n"
		    " cpubolt status --json | jq -r '.cpus[] | select(.state == \"parked\") | .cpu'\n",
};

static const char grouped_columns[] =
	"CPUS,COUNT,STATE,PACKAGE,NODE,CORES,MAXMHZ,CAPACITY,FLAGS,PENDING,LAST";
static const char extended_columns[] =
	"CPU,STATE,PACKAGE,NODE,DIE,CLUSTER,CORE,THREAD,MAXMHZ,CAPACITY,FIXED,FLAGS,PENDING,LAST";
static const char parsable_columns[] =
	"CPU,STATE,PACKAGE,NODE,CORE,THREAD,FIXED,FLAGS,PENDING,LAST,LASTOP";
static const char json_columns[] =
	"CPU,STATE,PACKAGE,NODE,DIE,CLUSTER,CORE,THREAD,MAXMHZ,CAPACITY,FIXED,FLAGS,PENDING,LAST,"
	"LASTOP,LASTWAY";

static const char *const default_columns[] = {
	[TABLE_GROUPED]		= grouped_columns,
	[TABLE_EXTENDED]	= extended_columns,
	[TABLE_PARSABLE]	= parsable_columns,
	[TABLE_JSON]		= json_columns,
};

struct status {
	struct invocation *call;
	struct cpubolt *machine;
	struct table table;
	const char *columns;		/* the columns that the user wants, or NULL */
	bool all_columns;
	char which;			/* 'a', 'b' or 'c', for the options -a, -b and -c */
	const char *list;
};

enum { OPTION_ALL_COLUMNS = UCHAR_MAX + 1 };

static int set_style(struct status *status, enum table_style style, const char *columns)
{
	if (status->table.style != TABLE_GROUPED && status->table.style != style)
		return fail(EXIT_USAGE, "--extended, --json and --parse exclude each other");
	status->table.style = style;
	if (columns)
		status->columns = columns + (*columns == '=');
	return EXIT_DONE;
}

static int read_option(struct status *status, int option)
{
	switch (option) {
	case 'a':
	case 'b':
	case 'c':
		status->which = option;
		return EXIT_DONE;
	case 'e':
		return set_style(status, TABLE_EXTENDED, optarg);
	case 'J':
		return set_style(status, TABLE_JSON, NULL);
	case 'p':
		return set_style(status, TABLE_PARSABLE, optarg);
	case 'o':
		status->columns = optarg;
		return EXIT_DONE;
	case OPTION_ALL_COLUMNS:
		status->all_columns = true;
		return EXIT_DONE;
	}
	return EXIT_USAGE;
}

static int print_status_help(struct invocation *call)
{
	const struct column *column;
	int code = print_help(call, &help);

	puts("\nColumns:");
	for (column = all_columns(); column->name; column++)
		printf(" %-9s %s\n", column->name, column->summary);
	return code;
}

static int read_options(struct status *status, bool *done)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "extended", optional_argument, NULL, 'e' },
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'J' },
		{ "offline", no_argument, NULL, 'c' },
		{ "online", no_argument, NULL, 'b' },
		{ "output", required_argument, NULL, 'o' },
		{ "output-all", no_argument, NULL, OPTION_ALL_COLUMNS },
		{ "parse", optional_argument, NULL, 'p' },
		{ NULL, 0, NULL, 0 }
	};
	static const char letters[] = "abce::hJo:p::";
	struct invocation *call = status->call;
	int option;

	while ((option = getopt_long(call->argc, call->argv, letters, options, NULL)) != -1) {
		if (option == 'h') {
			*done = true;
			return print_status_help(call);
		}
		if (read_option(status, option) != EXIT_DONE)
			return fail_usage(call);
	}
	if (call->argc > optind + 1) {
		complain("only one list of CPUs is allowed: \"%s\" is a second list",
			 call->argv[optind + 1]);
		return fail_usage(call);
	}
	status->list = call->argv[optind];
	return EXIT_DONE;
}

static int add_columns(struct status *status, const char *names)
{
	struct table *table = &status->table;
	size_t length;

	for (; *names; names += length + (names[length] == ',')) {
		const struct column *column;

		length = strcspn(names, ",");
		column = find_column(names, length);
		if (!column) {
			complain("there is no column \"%.*s\"", (int)length, names);
			return fail_usage(status->call);
		}
		if (table->count == sizeof(table->columns) / sizeof(*table->columns))
			return fail(EXIT_USAGE, "too many columns");
		table->columns[table->count++] = column;
	}
	return EXIT_DONE;
}

static void add_all_columns(struct status *status)
{
	const struct column *column;

	for (column = all_columns(); column->name; column++)
		if (!column_is_of_group(column))
			status->table.columns[status->table.count++] = column;
}

/* Columns about several CPUs cannot be shown if each CPU has a row. */
static int check_columns(struct status *status)
{
	const struct table *table = &status->table;
	unsigned int i;

	if (!table->count)
		return fail(EXIT_USAGE, "no column is named");
	for (i = 0; i < table->count; i++) {
		bool alone = table->style == TABLE_EXTENDED || table->style == TABLE_PARSABLE;

		if (alone && column_is_of_group(table->columns[i]))
			return fail(EXIT_USAGE, "the column %s is for tables without --%s",
				    table->columns[i]->name,
				    table->style == TABLE_EXTENDED ? "extended" : "parse");
	}
	return EXIT_DONE;
}

static int choose_columns(struct status *status)
{
	const char *more = status->columns;
	int code = EXIT_DONE;

	if (status->all_columns) {
		add_all_columns(status);
		return EXIT_DONE;
	}
	if (!more || *more == '+') {
		status->table.drop_empty = !more;
		code = add_columns(status, default_columns[status->table.style]);
		more = more ? more + 1 : "";
	}
	if (code == EXIT_DONE)
		code = add_columns(status, more);
	return code == EXIT_DONE ? check_columns(status) : code;
}

/* Chooses the CPUs to be shown: the present CPUs that the options and the list choose. */
static int choose_cpus(struct status *status, cpu_set_t *cpus)
{
	cpu_set_t *online = set_new(status->machine, CPUBOLT_ONLINE), *listed;
	int code = EXIT_DONE, error;
	size_t at = 0;

	cpubolt_cpus(status->machine, CPUBOLT_PRESENT, cpus);
	if (status->which == 'b')
		set_and(status->machine, cpus, online);
	if (status->which == 'c')
		set_minus(status->machine, cpus, online);
	CPU_FREE(online);
	if (!status->list)
		return EXIT_DONE;
	listed = set_empty(status->machine);
	error = cpubolt_parse_list(status->machine, status->list, listed, &at);
	if (error)
		code = fail_list(status->call, status->list, error, at);
	set_and(status->machine, cpus, listed);
	CPU_FREE(listed);
	return code;
}

/* -- The summary ---------------------------------------------------------- */

static const char *bolt_word(unsigned int features)
{
	if (!(features & CPUBOLT_HAS_BOLT))
		return "absent";
	if (features & CPUBOLT_UNREADABLE)
		return "unreadable";
	return features & CPUBOLT_ENABLED ? "enabled" : "disabled";
}

static bool knows_parked(struct status *status)
{
	return !(cpubolt_features(status->machine) & CPUBOLT_PARKED_UNKNOWN);
}

static void print_bolt(struct status *status)
{
	unsigned int features = cpubolt_features(status->machine);
	char *delay = NULL;

	if (!(features & CPUBOLT_HAS_BOLT))
		puts("Bolt: this kernel has none");
	else if (features & CPUBOLT_UNREADABLE)
		puts("Bolt: only root can see whether Bolt is enabled");
	else if (features & CPUBOLT_ENABLED &&
		 !cpubolt_get(status->machine, "settle_delay_ms", &delay))
		printf("Bolt: enabled, settle delay %s ms\n", delay);
	else
		printf("Bolt: %s\n", bolt_word(features));
	free(delay);
}

static cpu_set_t *cpus_in_state(struct status *status, enum cpubolt_state state)
{
	cpu_set_t *cpus = set_new(status->machine, CPUBOLT_PRESENT);
	unsigned int cpu;

	for_each_cpu(status->machine, cpu, cpus)
		if (cpubolt_state(status->machine, cpu) != (int)state)
			CPU_CLR_S(cpu, cpubolt_set_size(status->machine), cpus);
	return cpus;
}

/* Prints " (6-7)", unless the list is empty, or too long for a summary. */
static void print_short_list(struct status *status, const cpu_set_t *cpus)
{
	char *list = set_text(status->machine, cpus);

	if (*list && strlen(list) <= LONGEST_LIST)
		printf(" (%s)", list);
	free(list);
}

/* Prints ", 2 parked (6-7)", or nothing if no CPU is in @state. */
static void print_state(struct status *status, enum cpubolt_state state)
{
	cpu_set_t *cpus = cpus_in_state(status, state);
	unsigned int count = set_count(status->machine, cpus);

	if (count) {
		printf(", %u %s", count, cpubolt_state_name(state));
		print_short_list(status, cpus);
	}
	CPU_FREE(cpus);
}

static void print_fixed(struct status *status, const cpu_set_t *present)
{
	cpu_set_t *fixed = set_new(status->machine, CPUBOLT_FIXED);
	unsigned int count = set_count(status->machine, fixed);
	char *list = set_text(status->machine, fixed);

	if (count && CPU_EQUAL_S(cpubolt_set_size(status->machine), fixed, present))
		puts("      no CPU can go offline");
	else if (count && strlen(list) <= LONGEST_LIST)
		printf("      CPU%s %s cannot go offline\n", count == 1 ? "" : "s", list);
	free(list);
	CPU_FREE(fixed);
}

static void print_summary(struct status *status)
{
	cpu_set_t *present = set_new(status->machine, CPUBOLT_PRESENT);
	cpu_set_t *online = cpus_in_state(status, CPUBOLT_STATE_ONLINE);

	print_bolt(status);
	printf("CPUs: %u of %u online", set_count(status->machine, online),
	       set_count(status->machine, present));
	print_short_list(status, online);
	print_state(status, CPUBOLT_STATE_PARKED);
	print_state(status, CPUBOLT_STATE_OFFLINE);
	print_state(status, CPUBOLT_STATE_HALFWAY);
	putchar('\n');
	print_fixed(status, present);
	putchar('\n');
	CPU_FREE(present);
	CPU_FREE(online);
}

/* Returns the summary as members of a JSON object; no value has a character to be escaped. */
static char *json_summary(struct status *status)
{
	static const char *const names[] = { "present", "online", "parked", "offline" };
	static const enum cpubolt_which which[] = {
		CPUBOLT_PRESENT, CPUBOLT_ONLINE, CPUBOLT_PARKED, CPUBOLT_OFFLINE
	};
	char *text = NULL, *delay = NULL;
	size_t size, i;
	FILE *stream = open_memstream(&text, &size);
	bool unreadable = cpubolt_features(status->machine) & CPUBOLT_UNREADABLE;

	if (!stream)
		return NULL;
	fprintf(stream, "   \"bolt\": \"%s\",\n", bolt_word(cpubolt_features(status->machine)));
	if (!cpubolt_get(status->machine, "settle_delay_ms", &delay))
		fprintf(stream, "   \"settle_delay_ms\": %lu,\n", strtoul(delay, NULL, 10));
	else
		fprintf(stream, "   \"settle_delay_ms\": null,\n");
	free(delay);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		cpu_set_t *cpus = set_new(status->machine, which[i]);
		char *list = set_text(status->machine, cpus);

		if (which[i] == CPUBOLT_PARKED && (unreadable || !knows_parked(status)))
			fprintf(stream, "   \"%s\": null,\n", names[i]);
		else
			fprintf(stream, "   \"%s\": \"%s\",\n", names[i], list);
		free(list);
		CPU_FREE(cpus);
	}
	fclose(stream);
	return text;
}

static int print(struct status *status)
{
	struct facts facts = {
		.call = status->call,
		.machine = status->machine,
		.fixed = set_new(status->machine, CPUBOLT_FIXED),
		.isolated = set_new(status->machine, CPUBOLT_ISOLATED),
		.nohz_full = set_new(status->machine, CPUBOLT_NOHZ_FULL),
		.last = last_read(status->call),
		.topology_of = UINT_MAX,
	};
	char *head = status->table.style == TABLE_JSON ? json_summary(status) : NULL;
	int error = -ENOMEM;

	if (!knows_parked(status))
		complain("parked CPUs are shown as offline: the kernel's list of parked CPUs is "
			 "longer than a page, or cannot be understood");
	/* A user who asks for columns wants a table only. */
	if (status->table.style == TABLE_GROUPED && !status->columns && !status->all_columns)
		print_summary(status);
	if (facts.last)
		error = table_print(&status->table, &facts, head);
	free(head);
	free(facts.last);
	CPU_FREE(facts.fixed);
	CPU_FREE(facts.isolated);
	CPU_FREE(facts.nohz_full);
	return error ? fail(EXIT_FAILED, "cannot print a table: %s", strerror(-error)) : EXIT_DONE;
}

int run_status(struct invocation *call)
{
	struct status status = { .call = call, .which = 'a' };
	bool done = false;
	cpu_set_t *cpus;
	int code = read_options(&status, &done);

	if (done || code != EXIT_DONE)
		return code;
	code = choose_columns(&status);
	if (code != EXIT_DONE)
		return code;
	code = invocation_open(call);
	if (code != EXIT_DONE)
		return code;
	status.machine = call->machine;
	cpus = set_empty(call->machine);
	status.table.cpus = cpus;
	code = choose_cpus(&status, cpus);
	if (code == EXIT_DONE)
		code = print(&status);
	CPU_FREE(cpus);
	return code;
}
