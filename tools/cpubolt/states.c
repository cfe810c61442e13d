// SPDX-License-Identifier: GPL-2.0-only
/* cpubolt states: what Bolt does with each hotplug state */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "sheet.h"
#include "states_parse.h"

#define STATES_FILE	"/sys/kernel/debug/bolt/states"
#define STATS_FILE	"/sys/kernel/debug/bolt/stats"
#define TIMING_FILE	"/sys/kernel/debug/bolt/timing"
#define NATIVE_FILE	"/sys/devices/system/cpu/hotplug/states"

enum {
	COLUMN_STATE, COLUMN_NAME, COLUMN_CLASS, COLUMN_FIT, COLUMN_CONCURRENT, COLUMN_UNIT,
	COLUMN_RUNS, COLUMN_SKIPS, COLUMN_SETTLES, COLUMN_TIME, COLUMN_SLOWED, COLUMN_SLOW,
	COLUMN_MOVED, COLUMN_REASON, COLUMN_COUNT
};

static const struct sheet_column columns[COLUMN_COUNT] = {
	[COLUMN_STATE] = { "STATE", "number of the state", SCOLS_FL_RIGHT,
			   SCOLS_JSON_NUMBER, true },
	[COLUMN_NAME] = { "NAME", "name of the state", 0, SCOLS_JSON_STRING, true },
	[COLUMN_CLASS] = { "CLASS", "when its teardown runs: critical, async, lazy, elide", 0,
			   SCOLS_JSON_STRING, true },
	[COLUMN_FIT] = { "FIT", "for requests for several CPUs: unfit, serial, concurrent", 0,
			 SCOLS_JSON_STRING, false },
	[COLUMN_CONCURRENT] = { "CONC", "whether callbacks run for several CPUs at once", 0,
				SCOLS_JSON_BOOLEAN, true },
	[COLUMN_UNIT] = { "UNIT", "states that are deferred together", 0, SCOLS_JSON_STRING,
			  false },
	[COLUMN_RUNS] = { "RUNS", "callbacks that ran", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_SKIPS] = { "SKIPS", "deferred teardowns, startups not needed", SCOLS_FL_RIGHT,
			   SCOLS_JSON_NUMBER, true },
	[COLUMN_SETTLES] = { "SETTLES", "deferred teardowns that ran later", SCOLS_FL_RIGHT,
			     SCOLS_JSON_NUMBER, true },
	[COLUMN_TIME] = { "TIME", "microseconds in callbacks, see --timing", SCOLS_FL_RIGHT,
			  SCOLS_JSON_NUMBER, true },
	[COLUMN_SLOWED] = { "SLOWED", "requests that went CPU by CPU because of the state",
			    SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_SLOW] = { "SLOW", "whether requests go CPU by CPU now because of the state", 0,
			  SCOLS_JSON_BOOLEAN, false },
	[COLUMN_MOVED] = { "MOVED", "whether --set has changed the row", 0, SCOLS_JSON_BOOLEAN,
			   false },
	[COLUMN_REASON] = { "REASON", "why CLASS and FIT are so by default", SCOLS_FL_TRUNC,
			    SCOLS_JSON_STRING, false },
};

static const struct help help = {
	.usage = "[options]\n--set STATE=critical|serial|unfit|default ...\n--timing on|off",
	.about = "Show what Bolt does with each hotplug state, how often its callbacks ran, and\n"
		 "which state makes requests for several CPUs slow. --set changes what Bolt does.",
	.options = " -J, --json               print JSON\n"
		   " -o, --output LIST        these columns\n"
		   " -s, --set STATE=WORD     STATE is a name or a number; WORD is one of\n"
		   "                            critical  run its teardown inside requests\n"
		   "                            serial    fit for requests for several CPUs\n"
		   "                            unfit     not fit: such requests go CPU by CPU\n"
		   "                            default   as Bolt's policy says\n"
		   "     --timing on|off      measure callbacks, or stop measuring\n"
		   HELP_OPTION_HELP,
	.examples = " cpubolt states\n"
		    " cpubolt states -o NAME,CLASS,REASON\n"
		    " cpubolt states --set slub:dead=critical\n"
		    " cpubolt states --set slub:dead=default --set 193=default\n",
};

struct wish {
	char *state;
	const char *word;
	const struct state_row *row;
};

struct view {
	struct invocation *call;
	const char *chosen;	/* columns that the user has chosen, or NULL */
	const char *timing;	/* "0" or "1", for the file timing; NULL without --timing */
	bool json;
	struct wish *wishes;
	size_t wish_count;
	struct state_row *rows;
	size_t count;
	bool native;		/* whether there is no Bolt: rows have number and name only */
	char *slow_state;	/* state that slows requests down, NULL if there is none */
	char *grace_periods;
};

/* -- Options -------------------------------------------------------------- */

static int read_wish(struct view *view, const char *text)
{
	static const char *const words[] = { "critical", "serial", "unfit", "default" };
	const char *equals = strrchr(text, '=');
	struct wish *more;

	if (!equals || equals == text)
		return fail(EXIT_USAGE, "\"%s\" is not STATE=WORD", text);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(words[i], equals + 1))
			continue;
		more = reallocarray(view->wishes, view->wish_count + 1, sizeof(*more));
		if (!more)
			return fail(EXIT_FAILED, "no memory");
		view->wishes = more;
		more[view->wish_count++] = (struct wish){
			.state = strndup(text, equals - text),
			.word = words[i],
		};
		return EXIT_DONE;
	}
	return fail(EXIT_USAGE, "\"%s\" is none of critical, serial, unfit and default",
		    equals + 1);
}

static int read_timing(struct view *view, const char *text)
{
	if (strcmp(text, "on") && strcmp(text, "off"))
		return fail(EXIT_USAGE, "--timing is \"on\" or \"off\", not \"%s\"", text);
	view->timing = strcmp(text, "on") ? "0" : "1";
	return EXIT_DONE;
}

static int read_options(struct view *view, bool *done)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'J' },
		{ "output", required_argument, NULL, 'o' },
		{ "set", required_argument, NULL, 's' },
		{ "timing", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 }
	};
	struct invocation *call = view->call;
	int option;

	while ((option = getopt_long(call->argc, call->argv, "hJo:s:", options, NULL)) != -1) {
		if (option == 'h') {
			*done = true;
			print_help(call, &help);
			sheet_help(columns, COLUMN_COUNT);
			return EXIT_DONE;
		}
		if (option == 'J')
			view->json = true;
		else if (option == 'o')
			view->chosen = optarg;
		else if (option == 's' ? read_wish(view, optarg) :
			 option != 't' || read_timing(view, optarg))
			return fail_usage(call);
	}
	return refuse_arguments(call);
}

/* -- Reading -------------------------------------------------------------- */

/* The kernel has no Bolt, so only the numbers and names of states can be shown. */
static int read_native(struct view *view)
{
	char *text = invocation_read(view->call, NATIVE_FILE);
	int error;

	if (!text)
		return fail(exit_code_of(-errno), "cannot read %s%s: %s", view->call->root,
			    NATIVE_FILE, strerror(errno));
	error = states_parse_native(text, &view->rows, &view->count);
	free(text);
	if (error)
		return fail(EXIT_FAILED, "cannot understand %s%s", view->call->root, NATIVE_FILE);
	view->native = true;
	return EXIT_DONE;
}

static int explain_missing(struct view *view, int error)
{
	bool bolt = cpubolt_features(view->call->machine) & CPUBOLT_HAS_BOLT;

	if (bolt && (error == EACCES || error == EPERM))
		return fail(EXIT_NOT_PERMITTED, "only root may read %s, and nobody if the kernel "
			    "is locked down for Secure Boot", STATES_FILE);
	if (bolt)
		return fail(EXIT_FAILED, "there is no %s: mount debugfs with \"mount -t debugfs "
			    "debugfs /sys/kernel/debug\"", STATES_FILE);
	if (view->wish_count || view->timing)
		return fail(EXIT_FAILED, "this kernel has no Bolt");
	complain("this kernel has no Bolt, so all callbacks run in each request");
	return read_native(view);
}

static int read_rows(struct view *view)
{
	char *text = invocation_read(view->call, STATES_FILE);
	size_t line;
	int error;

	if (!text)
		return explain_missing(view, errno);
	error = states_parse(text, &view->rows, &view->count, &line);
	free(text);
	if (error)
		return fail(EXIT_FAILED, "cannot understand line %zu of %s%s", line,
			    view->call->root, STATES_FILE);
	text = invocation_read(view->call, STATS_FILE);
	if (text) {
		view->slow_state = stats_value(text, "slow_state");
		view->grace_periods = stats_value(text, "grace_periods");
	}
	free(text);
	if (view->slow_state && !strcmp(view->slow_state, "-")) {
		free(view->slow_state);
		view->slow_state = NULL;
	}
	return EXIT_DONE;
}

/* -- Showing -------------------------------------------------------------- */

static bool is_slow(const struct view *view, const struct state_row *row)
{
	return view->slow_state && !strcmp(view->slow_state, row->name);
}

static const char *yes_no(const struct view *view, bool yes)
{
	if (view->json)
		return yes ? "1" : "0";
	return yes ? "yes" : "no";
}

static void put_row(struct view *view, struct sheet *sheet, const struct state_row *row)
{
	sheet_line(sheet);
	sheet_put(sheet, COLUMN_STATE, "%d", row->number);
	sheet_put(sheet, COLUMN_NAME, "%s", row->name);
	if (view->native)
		return;
	/* A "!" follows what the administrator has set, as in the kernel's file; JSON has none. */
	sheet_put(sheet, COLUMN_CLASS, "%s%s", row->class,
		  row->class_moved && !view->json ? "!" : "");
	sheet_put(sheet, COLUMN_FIT, "%s%s", row->fit,
		  row->fit_declared && !view->json ? "!" : "");
	sheet_put(sheet, COLUMN_CONCURRENT, "%s",
		  yes_no(view, !strcmp(row->fit, "concurrent")));
	sheet_put(sheet, COLUMN_UNIT, "%s", row->unit);
	sheet_put(sheet, COLUMN_RUNS, "%lld", row->runs);
	sheet_put(sheet, COLUMN_SKIPS, "%lld", row->skips);
	sheet_put(sheet, COLUMN_SETTLES, "%lld", row->settles);
	sheet_put(sheet, COLUMN_TIME, "%.1f", row->ns / 1e3);
	sheet_put(sheet, COLUMN_SLOWED, "%lld", row->slowed);
	sheet_put(sheet, COLUMN_SLOW, "%s", yes_no(view, is_slow(view, row)));
	sheet_put(sheet, COLUMN_MOVED, "%s", yes_no(view, row->class_moved || row->fit_declared));
	sheet_put(sheet, COLUMN_REASON, "%s", row->reason);
}

/*
 * Prints in sentences what matters most in the table. Of several unfit states the kernel names one
 * as slow; another one that has slowed requests is said to be "still unfit", because the kernel may
 * name that state next. While the kernel names no slow state, an unfit state slows no request,
 * because the state has no instance.
 */
static void print_summary(const struct view *view)
{
	for (size_t i = 0; i < view->count; i++) {
		const struct state_row *row = &view->rows[i];
		bool unfit = view->slow_state && !strcmp(row->fit, "unfit");

		if (row->slowed && !is_slow(view, row))
			printf("State %s made %lld requests go CPU by CPU, and %s.\n", row->name,
			       row->slowed, unfit ? "is still unfit" : "no longer does");
	}
	if (!view->slow_state) {
		puts("No state makes requests for several CPUs go CPU by CPU.");
	} else {
		long long slowed = 0;

		for (size_t i = 0; i < view->count; i++)
			if (is_slow(view, &view->rows[i]))
				slowed = view->rows[i].slowed;
		printf("State %s makes requests for several CPUs go CPU by CPU: %lld so far.\n"
		       "If you know that its driver copes with several CPUs at once: cpubolt states "
		       "--set %s=serial\n", view->slow_state, slowed, view->slow_state);
	}
	if (view->grace_periods && !strcmp(view->grace_periods, "normal"))
		puts("RCU's grace periods are forced to be normal: each offline request waits for "
		     "one,\n8 to 20 ms at 250 Hz.");
}

static int show(struct view *view)
{
	const char *chosen = view->chosen;
	struct sheet sheet;
	int code;

	if (!chosen && view->native)
		chosen = "STATE,NAME";
	code = sheet_open(&sheet, "states", columns, COLUMN_COUNT, chosen, view->json);
	if (code != EXIT_DONE)
		return code;
	for (size_t i = 0; i < view->count; i++)
		put_row(view, &sheet, &view->rows[i]);
	sheet_print(&sheet);
	if (view->json || view->native || view->chosen)
		return EXIT_DONE;
	putchar('\n');
	print_summary(view);
	return EXIT_DONE;
}

/* -- Changing ------------------------------------------------------------- */

/* Makes one write() to a file below the directory of --root. Returns 0 or a negative errno. */
static int write_file(const struct view *view, const char *path, const char *text)
{
	size_t length = strlen(text);
	char *full;
	ssize_t done;
	int fd, error = 0;

	if (asprintf(&full, "%s%s", view->call->root, path) < 0)
		return -ENOMEM;
	fd = open(full, O_WRONLY | O_CLOEXEC);
	free(full);
	if (fd < 0)
		return -errno;
	done = write(fd, text, length);
	if (done != (ssize_t)length)
		error = done < 0 ? -errno : -EIO;
	close(fd);
	return error;
}

static int tell(const struct view *view, int state, const char *word)
{
	char text[64];

	snprintf(text, sizeof(text), "%d %s", state, word);
	return write_file(view, STATES_FILE, text);
}

/* Puts a state back to the class and fitness that were read. */
static int put_back(const struct view *view, const struct state_row *row)
{
	int error = tell(view, row->number, "default");

	if (!error && row->class_moved)
		error = tell(view, row->number, "critical");
	if (!error && row->fit_declared)
		error = tell(view, row->number, strcmp(row->fit, "unfit") ? "serial" : "unfit");
	return error;
}

static int find_states(struct view *view)
{
	for (size_t i = 0; i < view->wish_count; i++) {
		struct wish *wish = &view->wishes[i];
		int error = wish->state ? states_find(view->rows, view->count, wish->state,
						      &wish->row) : -ENOMEM;

		if (error == -ENOTUNIQ)
			return fail(EXIT_USAGE, "several states are called \"%s\": give a number",
				    wish->state);
		if (error == -ENOENT)
			return fail(EXIT_USAGE, "this kernel has no hotplug state \"%s\"",
				    wish->state);
		if (error)
			return fail(EXIT_FAILED, "no memory");
	}
	return EXIT_DONE;
}

static int explain_refusal(const struct wish *wish, int error, bool undone)
{
	const char *after = undone ? "nothing has changed" :
			    "the states named before this one stay changed";

	if (error == -EACCES || error == -EPERM)
		return fail(undone ? EXIT_NOT_PERMITTED : EXIT_PARTIAL,
			    "only root may change what Bolt does with a state: %s", after);
	return fail(undone ? EXIT_FAILED : EXIT_PARTIAL, "the kernel refuses %s=%s (%s): %s",
		    wish->state, wish->word, strerror(-error), after);
}

/* Puts the first @count states of the wishes back. Returns whether all are as before. */
static bool undo(const struct view *view, size_t count)
{
	bool undone = true;

	while (count--)
		if (put_back(view, view->wishes[count].row))
			undone = false;
	return undone;
}

static int change(struct view *view)
{
	int code = find_states(view);

	if (code != EXIT_DONE)
		return code;
	for (size_t i = 0; i < view->wish_count; i++) {
		int error = tell(view, view->wishes[i].row->number, view->wishes[i].word);

		if (error)
			return explain_refusal(&view->wishes[i], error, undo(view, i));
	}
	return EXIT_DONE;
}

static int set_timing(struct view *view)
{
	int error = write_file(view, TIMING_FILE, view->timing);
	bool undone = !error || undo(view, view->wish_count);
	const char *after = undone ? "nothing has changed" :
				     "not all of the states named are as before";

	if (!error)
		return EXIT_DONE;
	if (error == -EACCES || error == -EPERM)
		return fail(undone ? EXIT_NOT_PERMITTED : EXIT_PARTIAL,
			    "only root may switch the timing of callbacks: %s", after);
	return fail(undone ? EXIT_FAILED : EXIT_PARTIAL, "cannot write %s (%s): %s", TIMING_FILE,
		    strerror(-error), after);
}

/* Holds signals back: one that came between two writes would leave the changes half made. */
static int make_changes(struct view *view)
{
	int code = EXIT_DONE;
	sigset_t before;

	hold_signals(&before);
	if (view->wish_count)
		code = change(view);
	if (code == EXIT_DONE && view->timing)
		code = set_timing(view);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return code;
}

static int carry_out(struct view *view)
{
	int code = read_rows(view);

	if (code == EXIT_DONE)
		code = make_changes(view);
	if (code == EXIT_DONE && !view->wish_count && !view->timing)
		code = show(view);
	return code;
}

static void clear(struct view *view)
{
	for (size_t i = 0; i < view->wish_count; i++)
		free(view->wishes[i].state);
	free(view->wishes);
	states_free(view->rows, view->count);
	free(view->slow_state);
	free(view->grace_periods);
}

int run_states(struct invocation *call)
{
	struct view view = { .call = call };
	bool done = false;
	int code = read_options(&view, &done);

	if (!done && code == EXIT_DONE)
		code = invocation_open(call);
	if (!done && code == EXIT_DONE)
		code = carry_out(&view);
	clear(&view);
	return code;
}
