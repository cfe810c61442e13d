// SPDX-License-Identifier: GPL-2.0-only
/* cpubolt doctor: what keeps requests slow, and what else changes CPUs */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_look.h"
#include "sheet.h"

#define WIDTH		80
#define TEXT_COLUMN	20

static const struct help help = {
	.usage = "[options]",
	.about = "Look for what keeps requests slow, and for other programs that change CPUs, and\n"
		 "say what to do. Exit status: 0 all is fine, 1 something needs doing.",
	.options = " -J, --json               print JSON\n"
		   HELP_OPTION_HELP,
	.examples = " cpubolt doctor\n"
		    " cpubolt doctor --json | jq '.findings[] | select(.status == \"todo\")'\n",
};

enum { COLUMN_STATUS, COLUMN_CHECK, COLUMN_FOUND, COLUMN_DO, COLUMN_COUNT };

static const struct sheet_column columns[COLUMN_COUNT] = {
	[COLUMN_STATUS] = { "STATUS", "ok, note or todo", 0, SCOLS_JSON_STRING, true },
	[COLUMN_CHECK] = { "CHECK", "what was looked at", 0, SCOLS_JSON_STRING, true },
	[COLUMN_FOUND] = { "FOUND", "what was found", 0, SCOLS_JSON_STRING, true },
	[COLUMN_DO] = { "DO", "what to do", 0, SCOLS_JSON_STRING, true },
};

static int print_json(const struct findings *findings)
{
	struct sheet sheet;
	int code = sheet_open(&sheet, "findings", columns, COLUMN_COUNT, NULL, true);

	if (code != EXIT_DONE)
		return code;
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->list[i];

		sheet_line(&sheet);
		sheet_put(&sheet, COLUMN_STATUS, "%s", finding_status(finding));
		sheet_put(&sheet, COLUMN_CHECK, "%s", finding->check);
		sheet_put(&sheet, COLUMN_FOUND, "%s", finding->found);
		if (finding->advice)
			sheet_put(&sheet, COLUMN_DO, "%s", finding->advice);
	}
	sheet_print(&sheet);
	return EXIT_DONE;
}

/* Prints @mark, which begins at TEXT_COLUMN, and behind @mark the words of @text, wrapped. */
static void print_wrapped(const char *mark, const char *text)
{
	unsigned int indent = TEXT_COLUMN + strlen(mark), column = indent;

	fputs(mark, stdout);
	while (*text) {
		size_t length = strcspn(text, " ");

		if (column > indent && column + 1 + length > WIDTH) {
			printf("\n%*s", indent, "");
			column = indent;
		}
		column += printf("%s%.*s", column > indent ? " " : "", (int)length, text);
		text += length + strspn(text + length, " ");
	}
	putchar('\n');
}

static void print_text(const struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->list[i];

		printf("%-5s %-13s ", finding_status(finding), finding->check);
		print_wrapped("", finding->found);
		if (!finding->advice)
			continue;
		printf("%*s", TEXT_COLUMN, "");
		print_wrapped("-> ", finding->advice);
	}
}

static int examine(struct invocation *call, bool json)
{
	struct findings findings = { .list = NULL };
	bool todo = false;
	int code;

	doctor_look(call, &findings);
	for (size_t i = 0; i < findings.count; i++)
		todo |= findings.list[i].status == FINDING_TODO;
	code = todo ? EXIT_FAILED : EXIT_DONE;
	if (!json)
		print_text(&findings);
	else if (print_json(&findings) != EXIT_DONE)
		code = EXIT_FAILED;
	findings_free(&findings);
	return code;
}

int run_doctor(struct invocation *call)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'J' },
		{ NULL, 0, NULL, 0 }
	};
	bool json = false;
	int option, code;

	while ((option = getopt_long(call->argc, call->argv, "hJ", options, NULL)) != -1) {
		if (option == 'h')
			return print_help(call, &help);
		if (option != 'J')
			return fail_usage(call);
		json = true;
	}
	if (refuse_arguments(call) != EXIT_DONE)
		return EXIT_USAGE;
	code = invocation_open(call);
	return code == EXIT_DONE ? examine(call, json) : code;
}
