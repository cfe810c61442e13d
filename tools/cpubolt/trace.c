// SPDX-License-Identifier: GPL-2.0-only
/* cpubolt trace: one request as a waterfall, and as files for other programs */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "look.h"
#include "select.h"
#include "sets.h"
#include "states_parse.h"
#include "trace_dat.h"
#include "trace_session.h"
#include "trace_slices.h"
#include "waterfall.h"

#define DEFAULT_WIDTH	80
#define MOST_WIDTH	500

static const struct help help = {
	.usage = "[options] offline|online|set CPULIST\n[options] --input FILE",
	.about = "Carry out one request, as cpubolt online, offline or set does, and show what ran\n"
		 "when: the phases of the request with Bolt, and the callbacks of hotplug states.\n"
		 "A request that succeeds is not undone. Recording makes the request slower: to\n"
		 "measure, use \"cpubolt bench\".",
	.options = " -a, --all                show each hotplug state, however short\n"
		   " -f, --force              warn of tasks that lose their last CPU, and go on\n"
		   " -i, --input FILE         show a trace that -o or -t has recorded\n"
		   " -o, --output FILE        also write a file for trace-cmd and KernelShark\n"
		   " -t, --text FILE          also write ftrace's text, with slices for Perfetto\n"
		   " -w, --width N            use N columns\n"
		   "     --no-check           do not look for tasks that lose their last CPU\n"
		   HELP_OPTION_HELP,
	.examples = " cpubolt trace offline 3               take CPU 3 offline, show what ran\n"
		    " cpubolt trace -o off.dat offline 2-3  ... and keep the trace\n"
		    " cpubolt trace --all --input off.dat   show that trace again\n"
		    " cpubolt trace -t off.txt online 2-3   a file for https://ui.perfetto.dev\n",
};

struct tracing {
	struct invocation *call;
	const char *input, *output, *text;	/* names of files, NULL if not given */
	bool all, force, no_check;
	unsigned int width;
	enum cpubolt_op op;
	const char *list;
	char what[48];				/* the request in words */
	struct state_row *states;		/* names of states */
	size_t state_count;
};

/* -- Options -------------------------------------------------------------- */

static int read_width(const char *text, unsigned int *width)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || end == text || *text == '-' || value < 60 || value > MOST_WIDTH)
		return fail(EXIT_USAGE, "\"%s\" is no number of columns from 60 to %d", text,
			    MOST_WIDTH);
	*width = value;
	return EXIT_DONE;
}

static int read_request(struct tracing *tracing, const char *word, const char *list)
{
	static const struct {
		const char *word;
		enum cpubolt_op op;
	} words[] = {
		{ "offline", CPUBOLT_TAKE_OFFLINE },
		{ "online", CPUBOLT_BRING_ONLINE },
		{ "set", CPUBOLT_SET_ONLINE },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(words[i].word, word))
			continue;
		tracing->op = words[i].op;
		tracing->list = list;
		snprintf(tracing->what, sizeof(tracing->what), "%s %s", word, list);
		return EXIT_DONE;
	}
	return fail(EXIT_USAGE, "\"%s\" is none of the requests offline, online and set", word);
}

static int read_arguments(struct tracing *tracing)
{
	struct invocation *call = tracing->call;
	int left = call->argc - optind;

	if (tracing->input) {
		if (!left && !tracing->output && !tracing->text)
			return EXIT_DONE;
		return fail(EXIT_USAGE, "--input shows a recorded trace, and records none");
	}
	if (left != 2)
		return fail(EXIT_USAGE,
			    "name one request and one list of CPUs, as in \"offline 3\"");
	return read_request(tracing, call->argv[optind], call->argv[optind + 1]);
}

static int read_options(struct tracing *tracing, bool *done)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "force", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ "input", required_argument, NULL, 'i' },
		{ "no-check", no_argument, NULL, 'C' },
		{ "output", required_argument, NULL, 'o' },
		{ "text", required_argument, NULL, 't' },
		{ "width", required_argument, NULL, 'w' },
		{ NULL, 0, NULL, 0 }
	};
	struct invocation *call = tracing->call;
	int option;

	while ((option = getopt_long(call->argc, call->argv, "afhi:o:t:w:", options,
				     NULL)) != -1) {
		if (option == 'h') {
			*done = true;
			return print_help(call, &help);
		}
		if (option == 'a')
			tracing->all = true;
		else if (option == 'f')
			tracing->force = true;
		else if (option == 'C')
			tracing->no_check = true;
		else if (option == 'i')
			tracing->input = optarg;
		else if (option == 'o')
			tracing->output = optarg;
		else if (option == 't')
			tracing->text = optarg;
		else if (option != 'w' || read_width(optarg, &tracing->width) != EXIT_DONE)
			return fail_usage(call);
	}
	if (read_arguments(tracing) != EXIT_DONE)
		return fail_usage(call);
	return EXIT_DONE;
}

/* -- The picture ---------------------------------------------------------- */

/*
 * Numbers of states differ between kernels, so the names have to be of the kernel that was traced.
 * With --input that kernel may be another one than the running kernel: then names are read only
 * from the tree of --root.
 */
static void read_state_names(struct tracing *tracing)
{
	char *text;

	if (tracing->input && !*tracing->call->root)
		return;
	text = invocation_read(tracing->call, "/sys/devices/system/cpu/hotplug/states");
	if (text)
		states_parse_native(text, &tracing->states, &tracing->state_count);
	free(text);
}

/*
 * Returns NULL for a state that the list lacks, and for "offline" and "online", the first and the
 * last state of the list. An event of "online" is about a function that runs the callbacks of many
 * other states; with NULL, the name of this function is shown.
 */
static const char *name_of(int state, void *data)
{
	const struct tracing *tracing = data;

	for (size_t i = 0; i < tracing->state_count; i++)
		if (tracing->states[i].number == state)
			return i && i + 1 < tracing->state_count ? tracing->states[i].name : NULL;
	return NULL;
}

static unsigned int terminal_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return DEFAULT_WIDTH;
	return size.ws_col < MOST_WIDTH ? size.ws_col : MOST_WIDTH;
}

static int show(struct tracing *tracing, const struct trace_events *events)
{
	struct waterfall_look look = {
		.width = tracing->width ?: terminal_width(),
		.all = tracing->all,
		.state_name = name_of,
		.data = tracing,
	};
	struct waterfall waterfall;
	int error = waterfall_build(events, &waterfall);

	if (error == -ENODATA)
		return fail(EXIT_FAILED, "the trace has no request: no CPU came or went");
	if (error)
		return fail(EXIT_FAILED, "cannot draw the trace: %s", strerror(-error));
	read_state_names(tracing);
	waterfall_print(&waterfall, &look, stdout);
	states_free(tracing->states, tracing->state_count);
	waterfall_free(&waterfall);
	return EXIT_DONE;
}

/* A trace as text begins with "#" or a blank; a file of trace-cmd begins with 0x17. */
static int read_input(const char *path, struct trace_events *events)
{
	struct invocation here = { .root = "" };
	char *text = invocation_read(&here, path);
	int error;

	if (!text)
		return -errno;
	if (*text == 0x17)
		error = trace_dat_read_foreign(path, events);
	else
		error = trace_parse(text, events);
	free(text);
	return error;
}

static int show_input(struct tracing *tracing)
{
	struct trace_events events;
	int error = read_input(tracing->input, &events), code;

	if (error == -EINVAL)
		return fail(EXIT_FAILED, "%s is no trace that cpubolt can read", tracing->input);
	if (error)
		return fail(exit_code_of(error), "cannot read %s: %s", tracing->input,
			    strerror(-error));
	code = show(tracing, &events);
	trace_free(&events);
	return code;
}

/* -- One request ---------------------------------------------------------- */

/** The files that are written, opened before the request */
struct files {
	int dat, text;			/* descriptors; text is -1 without --text */
	bool made_dat, made_text;	/* whether the file did not exist before */
};

/* Refuses pipes and devices: save() empties the file for trace-cmd, writes it, and reads it. */
static bool is_regular(int fd, const char *path)
{
	struct stat status;

	if (!fstat(fd, &status) && S_ISREG(status.st_mode))
		return true;
	complain("cannot write %s: not a regular file", path);
	return false;
}

/* An existing file keeps its contents until, after the request, the trace replaces these. */
static int open_file(const char *path, bool *made)
{
	int fd = open_or_make(path, O_RDWR, made);

	if (fd < 0)
		complain("cannot write %s: %s", path, strerror(errno));
	return fd;
}

static int close_files(const struct files *files)
{
	int error = files->dat >= 0 && close(files->dat) ? -errno : 0;

	if (files->text >= 0 && close(files->text))
		error = -errno;
	return error;
}

/* Closes the files without a trace: existing files keep their contents, new files are removed. */
static void drop_files(const struct tracing *tracing, const struct files *files)
{
	if (files->made_dat)
		unlink(tracing->output);
	if (files->made_text)
		unlink(tracing->text);
	close_files(files);
}

static int open_files(const struct tracing *tracing, struct files *files)
{
	bool good = true;

	*files = (struct files){ .dat = -1, .text = -1 };
	if (tracing->output)
		files->dat = open_file(tracing->output, &files->made_dat);
	else
		files->dat = memfd_create("cpubolt-trace", MFD_CLOEXEC);
	if (files->dat >= 0 && tracing->output)
		good = is_regular(files->dat, tracing->output);
	if (files->dat >= 0 && good && tracing->text) {
		files->text = open_file(tracing->text, &files->made_text);
		good = files->text >= 0;
	}
	if (files->dat >= 0 && good)
		return EXIT_DONE;
	drop_files(tracing, files);
	return EXIT_FAILED;
}

static int write_text(int fd, const char *text)
{
	size_t left = strlen(text);

	if (ftruncate(fd, 0) && errno != EINVAL)	/* EINVAL: a pipe or a terminal */
		return -errno;
	while (left) {
		ssize_t done = write(fd, text, left);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			text += done;
			left -= done;
		}
	}
	return 0;
}

static unsigned int cpu_limit(const struct cpubolt *machine)
{
	cpu_set_t *possible = set_new(machine, CPUBOLT_POSSIBLE);
	unsigned int cpu, limit = 1;

	for_each_cpu(machine, cpu, possible)
		limit = cpu + 1;
	CPU_FREE(possible);
	return limit;
}

/*
 * Returns the kernel's text of the trace, then its events as slices, to be freed with free(); NULL
 * on errors.
 */
static char *text_with_slices(struct trace_session *session)
{
	char *text = trace_session_text(session), *whole = NULL;
	struct trace_events events;
	size_t size;
	FILE *out;

	if (!text || trace_parse(text, &events)) {
		free(text);
		return NULL;
	}
	out = open_memstream(&whole, &size);
	if (out) {
		fputs(text, out);
		trace_slices_print(&events, getpid(), out);
		if (fclose(out)) {
			free(whole);
			whole = NULL;
		}
	}
	trace_free(&events);
	free(text);
	return whole;
}

/*
 * Tells whether a callback ran in the request to change @cpus, which has failed. A request that is
 * refused at once leaves no event, or the event of its batch alone; other events then belong to
 * requests of other programs, for which this request has waited.
 */
static bool has_work(const struct trace_events *events, const struct cpubolt *machine,
		     const cpu_set_t *cpus)
{
	const struct trace_event *batch = NULL;

	for (size_t i = 0; i < events->count; i++)
		if (events->list[i].kind == TRACE_BATCH)
			batch = &events->list[i];
	if (batch && !batch->error)
		return false;
	for (size_t i = 0; i < events->count; i++) {
		const struct trace_event *event = &events->list[i];

		if (event->kind != TRACE_ENTER)
			continue;
		if (batch ? event->ns >= trace_start_of(batch) && event->ns <= batch->ns :
			    CPU_ISSET_S(event->cpu, cpubolt_set_size(machine), cpus))
			return true;
	}
	return false;
}

/* A trace that cannot be read counts as one with work, and save() then tells of the error. */
static bool worth_saving(struct tracing *tracing, struct trace_session *session,
			 const cpu_set_t *cpus)
{
	char *text = trace_session_text(session);
	struct trace_events events = { .list = NULL };
	bool worth = !text || trace_parse(text, &events) ||
		     has_work(&events, tracing->call->machine, cpus);

	trace_free(&events);
	free(text);
	return worth;
}

/* The text is written first, because writing the file for trace-cmd empties the buffers. */
static int save(struct trace_session *session, const struct files *files,
		struct trace_events *events)
{
	unsigned long long lost = trace_session_lost(session);
	char path[64], *text;
	int error;

	if (lost)
		complain("%llu events did not fit into the buffers: the trace is incomplete", lost);
	if (files->text >= 0) {
		text = text_with_slices(session);
		error = text ? write_text(files->text, text) : -EIO;
		free(text);
		if (error)
			return error;
	}
	if (ftruncate(files->dat, 0))
		return -errno;
	error = trace_session_save(session, files->dat);
	if (error)
		return error;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", files->dat);
	return trace_dat_read(path, events);
}

static int report(const struct tracing *tracing, const struct cpubolt_result *result, int error)
{
	bool partial = result->changed || *result->undo;
	char *sentence;

	if (!error)
		return result->missing ? fail(EXIT_PARTIAL, "another program has changed %u of "
					      "these CPUs back", result->missing) : EXIT_DONE;
	if (!partial && error == -EACCES)
		return fail(EXIT_NOT_PERMITTED, "only root may change which CPUs are online");
	sentence = cpubolt_explain(tracing->op, result);
	complain("%s", sentence ?: strerror(-error));
	free(sentence);
	return partial ? EXIT_PARTIAL : exit_code_of(error);
}

static int open_session(struct tracing *tracing, unsigned int changing,
			struct trace_session **session)
{
	struct cpubolt *machine = tracing->call->machine;
	bool bolt = cpubolt_features(machine) & CPUBOLT_ENABLED;
	int error = trace_session_open(session, bolt, changing, cpu_limit(machine));

	switch (error) {
	case 0:
		return EXIT_DONE;
	case -EACCES:
		return fail(EXIT_NOT_PERMITTED, "only root may trace the kernel");
	case -ENOENT:
		return fail(EXIT_FAILED, "no tracefs: mount it with \"mount -t tracefs tracefs "
			    "/sys/kernel/tracing\"");
	case -EOPNOTSUPP:
		return fail(EXIT_FAILED, "this kernel has no events of CPU hotplug");
	}
	return fail(EXIT_FAILED, "cannot trace the kernel: %s", strerror(-error));
}

/* @code: what report() has returned; @error: of the request; @failed: of saving the trace */
static int finish(struct tracing *tracing, int code, int error, const struct trace_events *events,
		  int failed)
{
	int shown;

	if (failed)
		return fail(code ?: EXIT_FAILED, "%s: %s",
			    error ? "the trace of the request is lost" :
			    "the request is done, but its trace is lost", strerror(-failed));
	shown = show(tracing, events);
	return code ?: shown;
}

static void close_session(struct trace_session *session)
{
	if (trace_session_close(session))
		complain("cannot remove the tracing instance of this run, below "
			 "/sys/kernel/tracing/instances");
}

/*
 * Closes @session before the waterfall is printed: signals are blocked until then, and a pager may
 * make the printing take long.
 */
static int record(struct tracing *tracing, struct trace_session *session, const cpu_set_t *cpus,
		  const cpu_set_t *changing)
{
	struct trace_events events = { .list = NULL };
	struct cpubolt_result result;
	struct files files;
	int code = open_files(tracing, &files), error, failed = 0;
	bool work;

	if (code != EXIT_DONE) {
		close_session(session);
		return code;
	}
	trace_session_begin(session, tracing->what);
	error = cpubolt_request(tracing->call->machine, tracing->op, cpus, 0, &result);
	trace_session_end(session, tracing->what);
	work = error ? worth_saving(tracing, session, changing) : result.way != CPUBOLT_WAY_NONE;
	if (work) {
		failed = save(session, &files, &events);
		failed = close_files(&files) ?: failed;
	} else {
		drop_files(tracing, &files);
	}
	code = report(tracing, &result, error);
	close_session(session);
	if (work)
		code = finish(tracing, code, error, &events, failed);
	else if (!error)
		complain("nothing to trace: the CPUs are as wanted");
	trace_free(&events);
	return code;
}

/* Returns CPUs that the request may change: with "set", CPUs online or in @cpus, but not both. */
static cpu_set_t *find_changing(struct tracing *tracing, const cpu_set_t *cpus)
{
	struct cpubolt *machine = tracing->call->machine;
	cpu_set_t *changing = set_copy(machine, cpus), *online;

	if (tracing->op == CPUBOLT_SET_ONLINE) {
		online = set_new(machine, CPUBOLT_ONLINE);
		CPU_XOR_S(cpubolt_set_size(machine), changing, changing, online);
		CPU_FREE(online);
	}
	return changing;
}

static int request(struct tracing *tracing, const cpu_set_t *cpus)
{
	cpu_set_t *changing = find_changing(tracing, cpus);
	struct trace_session *session;
	int code = open_session(tracing, set_count(tracing->call->machine, changing), &session);

	if (code == EXIT_DONE)
		code = record(tracing, session, cpus, changing);
	CPU_FREE(changing);
	return code;
}

static void say(const char *sentence)
{
	complain("%s", sentence);
}

static int check_tasks(struct tracing *tracing, const cpu_set_t *cpus)
{
	struct cpubolt *machine = tracing->call->machine;
	cpu_set_t *online = set_new(machine, CPUBOLT_ONLINE);
	cpu_set_t *going = set_copy(machine, online);
	cpu_set_t *after = set_copy(machine, online);
	int found = 0;

	if (tracing->op == CPUBOLT_TAKE_OFFLINE)
		set_and(machine, going, cpus);
	else
		set_minus(machine, going, cpus);
	set_minus(machine, after, going);
	/* A task that is allowed on a CPU that comes does not lose its last CPU. */
	if (tracing->op != CPUBOLT_TAKE_OFFLINE)
		set_or(machine, after, cpus);
	if (!tracing->no_check && tracing->op != CPUBOLT_BRING_ONLINE)
		found = look(tracing->call, going, after, say);
	CPU_FREE(online);
	CPU_FREE(going);
	CPU_FREE(after);
	if (found < 0)
		return fail(EXIT_FAILED, "cannot look at the tasks: %s (see --no-check)",
			    strerror(-found));
	if (found && !tracing->force)
		return fail(EXIT_FAILED, "nothing has changed; --force makes the request all "
			    "the same");
	return EXIT_DONE;
}

static int trace_request(struct tracing *tracing)
{
	struct invocation *call = tracing->call;
	struct selection selection = { .list = tracing->list };
	cpu_set_t *cpus;
	int code;

	if (*call->root)
		return fail(EXIT_USAGE, "a recorded tree cannot be traced; --input shows a trace");
	code = invocation_open(call);
	if (code != EXIT_DONE)
		return code;
	cpus = set_empty(call->machine);
	code = select_cpus(call, tracing->op, &selection, cpus);
	if (code == EXIT_DONE)
		code = check_tasks(tracing, cpus);
	if (code == EXIT_DONE)
		code = request(tracing, cpus);
	CPU_FREE(cpus);
	return code;
}

int run_trace(struct invocation *call)
{
	struct tracing tracing = { .call = call };
	bool done = false;
	int code = read_options(&tracing, &done);

	if (done || code != EXIT_DONE)
		return code;
	return tracing.input ? show_input(&tracing) : trace_request(&tracing);
}
