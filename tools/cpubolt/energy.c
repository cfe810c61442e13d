// SPDX-License-Identifier: GPL-2.0-only
/* cpubolt energy: what a model of power says about a recorded load, with and without hotplug */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "energy_replay.h"
#include "energy_say.h"
#include "file_read.h"
#include "sheet.h"

#define USUAL_MODEL	"exynos5410"

static const struct help help = {
	.usage = "[options]",
	.about = "Compute the energy that a machine takes for a recorded load: without hotplug,\n"
		 "and with a policy that takes CPUs offline, natively and with Bolt; and how long\n"
		 "CPUs have to be away until their absence saves energy. The command looks at no\n"
		 "CPU.",
	.options = " -m, --model NAME         model of a machine (default: " USUAL_MODEL "), or its file\n"
		   " -r, --requests NAME      how long requests take (default: as the model says), or\n"
		   "                          the file of these times\n"
		   "     --replay TRACE       a recorded load, as for \"cpuboltd --replay\"\n"
		   "     --native OFF,ON      milliseconds of a native request, for each CPU\n"
		   "     --bolt OFF,ON        milliseconds of a request with Bolt, for each CPU\n"
		   "     --interval MS        how often the policy decides (default: 100)\n"
		   "     --hold MS            how long an unwanted CPU stays (default: 300)\n"
		   "     --dwell MS           how long a CPU that came stays (default: 500)\n"
		   "     --changes N          how many changes a minute at most (default: 600)\n"
		   " -J, --json               print all that was computed as JSON\n"
		   HELP_OPTION_HELP,
	.examples = " cpubolt energy                             how long CPUs have to be away\n"
		    " cpubolt energy --replay day.csv            a recorded day on an Exynos 5410\n"
		    " cpubolt energy -m xeon-4114 --replay day.csv --interval 1000 --dwell 5000\n",
};

struct energy {
	const char *model_name, *requests_name, *trace_name;
	double times[ENERGY_KINDS][2];	/* values of --native and --bolt, negative if not given */
	bool json;
	struct energy_pace pace;
	struct energy_model model;
};

/* -- Options -------------------------------------------------------------- */

static int read_times(const char *option, const char *text, double *times)
{
	char *end;

	times[0] = strtod(text, &end);
	if (end != text && *end == ',') {
		text = end + 1;
		times[1] = strtod(text, &end);
		if (end != text && !*end && times[0] >= 0 && times[0] <= 1e6 && times[1] >= 0 &&
		    times[1] <= 1e6)
			return EXIT_DONE;
	}
	return fail(EXIT_USAGE, "--%s takes two numbers of milliseconds, such as 12.5,0.3", option);
}

static int read_whole(const char *option, const char *text, unsigned int least, unsigned int most,
		      unsigned int *value)
{
	unsigned long number;
	char *end;

	if (parse_number(text, least, most, &number, &end) && !*end) {
		*value = (unsigned int)number;
		return EXIT_DONE;
	}
	return fail(EXIT_USAGE, "--%s takes a number from %u to %u", option, least, most);
}

enum { REPLAY = 256, NATIVE_TIMES, BOLT_TIMES, INTERVAL, HOLD, DWELL, CHANGES };

static int read_option(struct energy *energy, int option)
{
	struct energy_pace *pace = &energy->pace;

	switch (option) {
	case 'm':
		energy->model_name = optarg;
		return EXIT_DONE;
	case 'r':
		energy->requests_name = optarg;
		return EXIT_DONE;
	case 'J':
		energy->json = true;
		return EXIT_DONE;
	case REPLAY:
		energy->trace_name = optarg;
		return EXIT_DONE;
	case NATIVE_TIMES:
		return read_times("native", optarg, energy->times[ENERGY_NATIVE]);
	case BOLT_TIMES:
		return read_times("bolt", optarg, energy->times[ENERGY_BOLT]);
	/*
	 * The bounds of these numbers are those of cpuboltd.conf(5), except that the three times
	 * may be as short as a millisecond.
	 */
	case INTERVAL:
		return read_whole("interval", optarg, 1, 60000, &pace->interval_ms);
	case HOLD:
		return read_whole("hold", optarg, 1, 3600000, &pace->hold_ms);
	case DWELL:
		return read_whole("dwell", optarg, 1, 3600000, &pace->dwell_ms);
	case CHANGES:
		return read_whole("changes", optarg, 2, 600, &pace->per_minute);
	}
	return EXIT_USAGE;
}

static int read_options(struct invocation *call, struct energy *energy, bool *done)
{
	static const struct option options[] = {
		{ "bolt", required_argument, NULL, BOLT_TIMES },
		{ "changes", required_argument, NULL, CHANGES },
		{ "dwell", required_argument, NULL, DWELL },
		{ "help", no_argument, NULL, 'h' },
		{ "hold", required_argument, NULL, HOLD },
		{ "interval", required_argument, NULL, INTERVAL },
		{ "json", no_argument, NULL, 'J' },
		{ "model", required_argument, NULL, 'm' },
		{ "native", required_argument, NULL, NATIVE_TIMES },
		{ "replay", required_argument, NULL, REPLAY },
		{ "requests", required_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 }
	};
	int option;

	while ((option = getopt_long(call->argc, call->argv, "hJm:r:", options, NULL)) != -1) {
		if (option == 'h') {
			*done = true;
			return print_help(call, &help);
		}
		if (read_option(energy, option) != EXIT_DONE)
			return fail_usage(call);
	}
	return refuse_arguments(call);
}

/* -- Files ---------------------------------------------------------------- */

/* A name stands for a file that is installed; a text with a "/" or "." is a path. */
static char *path_of(const char *name)
{
	char *path;

	if (strpbrk(name, "/."))
		return strdup(name);
	return asprintf(&path, "%s/%s.conf", ENERGY_DATA, name) < 0 ? NULL : path;
}

static int add_file(struct energy_model *model, const char *name)
{
	char *path = path_of(name), *text, *error = NULL;
	size_t length = 0;
	int err, code = EXIT_DONE;

	if (!path)
		return fail(EXIT_FAILED, "no memory");
	text = file_read("", path, &length);
	if (!text) {
		code = fail(EXIT_FAILED, "cannot read %s: %s", path, strerror(errno));
	} else {
		err = energy_model_parse(path, text, length, model, &error);
		if (err)
			code = fail(EXIT_FAILED, "%s", error ?: strerror(-err));
	}
	free(error);
	free(text);
	free(path);
	return code;
}

static struct quantity exactly(double value)
{
	return (struct quantity){ .value = value, .low = value, .high = value, .line = 1 };
}

/*
 * A time that was given as an option counts for each CPU, for the first and for each further one,
 * and has no range.
 */
static void take_times(struct energy *energy)
{
	int kind;

	for (kind = 0; kind < ENERGY_KINDS; kind++) {
		struct energy_requests *requests = &energy->model.requests[kind];

		if (energy->times[kind][0] < 0)
			continue;
		requests->off_ms = requests->off_more_ms = exactly(energy->times[kind][0]);
		requests->on_ms = requests->on_more_ms = exactly(energy->times[kind][1]);
	}
}

static int read_model(struct energy *energy)
{
	struct energy_model *model = &energy->model;
	char *error = NULL;
	int code = add_file(model, energy->model_name), err;

	if (code == EXIT_DONE && !energy->requests_name)
		energy->requests_name = model->default_requests;
	if (code == EXIT_DONE && energy->requests_name)
		code = add_file(model, energy->requests_name);
	if (code != EXIT_DONE)
		return code;
	err = energy_model_check(model, &error);
	if (err)
		code = fail(EXIT_FAILED, "%s", error ?: strerror(-err));
	free(error);
	take_times(energy);
	return code;
}

static int read_trace(const struct energy *energy, struct load_trace *trace)
{
	size_t length = 0;
	char *text = file_read("", energy->trace_name, &length), *error;
	int err;

	if (!text)
		return fail(EXIT_FAILED, "cannot read %s: %s", energy->trace_name,
			    strerror(errno));
	err = load_trace_parse(text, length, (unsigned int)energy->model.cpus.value, trace,
			       &error);
	free(text);
	if (!err)
		return EXIT_DONE;
	fail(EXIT_FAILED, "%s: %s", energy->trace_name, error ?: "no memory");
	free(error);
	return EXIT_FAILED;
}

/* ------------------------------------------------------------------------- */

static int compare_ways(struct energy *energy, struct energy_run *runs)
{
	struct load_trace trace;
	int code = read_trace(energy, &trace), way;

	if (code != EXIT_DONE)
		return code;
	for (way = 0; way < WAYS && code == EXIT_DONE; way++)
		if (energy_run(&energy->model, way, &energy->pace, &trace, &runs[way]))
			code = fail(EXIT_FAILED, "no memory");
	load_trace_free(&trace);
	return code;
}

static int say(struct energy *energy, const struct energy_run *runs)
{
	struct energy_words words = {
		.model = &energy->model,
		.trace = energy->trace_name,
		.pace = &energy->pace,
		.runs = runs,
	};

	return energy->json ? energy_say_json(&words) : energy_say_tables(&words);
}

int run_energy(struct invocation *call)
{
	struct energy energy = {
		.model_name = USUAL_MODEL,
		.times = { { -1, -1 }, { -1, -1 } },
		.pace = energy_fast_pace,
	};
	struct energy_run runs[WAYS] = { 0 };
	bool done = false;
	int code = read_options(call, &energy, &done), way;

	if (done || code != EXIT_DONE)
		return code;
	code = read_model(&energy);
	if (code == EXIT_DONE && energy.trace_name)
		code = compare_ways(&energy, runs);
	if (code == EXIT_DONE)
		code = say(&energy, runs);
	for (way = 0; way < WAYS; way++)
		energy_run_free(&runs[way]);
	energy_model_free(&energy.model);
	return code;
}
