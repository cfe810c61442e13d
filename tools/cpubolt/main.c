// SPDX-License-Identifier: GPL-2.0-only
/* cpubolt: shows CPUs, brings CPUs online, and takes CPUs offline */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

#define SUBCOMMAND_ROW(NAME, SUMMARY) { #NAME, run_##NAME, SUMMARY },

static const struct subcommand subcommands[] = {
	SUBCOMMANDS(SUBCOMMAND_ROW)
	{ NULL, NULL, NULL }
};

static int print_main_help(void)
{
	const struct subcommand *row;

	puts("Usage:\n"
	     " cpubolt [--root DIR] SUBCOMMAND [options] ...\n"
	     "\n"
	     "Show the CPUs of this machine, bring CPUs online, take CPUs offline.\n"
	     "\n"
	     "Subcommands:");
	for (row = subcommands; row->name; row++)
		printf(" %-10s %s\n", row->name, row->summary);
	puts("\n"
	     "Options:\n"
	     "     --root DIR   read the CPUs of the recorded tree DIR instead of this machine\n"
	     " -h, --help       display this help\n"
	     " -V, --version    display version\n"
	     "\n"
	     "Examples:\n"
	     " cpubolt status              which CPUs are online, parked or offline\n"
	     " cpubolt offline 2-3         take CPUs 2 and 3 offline\n"
	     " cpubolt set 0-7             CPUs 0 to 7 only\n"
	     " cpubolt offline --help      options and examples of one subcommand\n"
	     "\n"
	     "For more details see cpubolt(1).");
	return EXIT_DONE;
}

static int print_version(void)
{
	puts("cpubolt " CPUBOLT_VERSION);
	return EXIT_DONE;
}

static int run(struct invocation *call)
{
	const struct subcommand *row;

	for (row = subcommands; row->name; row++) {
		if (strcmp(row->name, call->name))
			continue;
		optind = 0;	/* glibc: getopt_long() begins anew, for the subcommand */
		return row->run(call);
	}
	complain("there is no subcommand \"%s\"", call->name);
	fputs("Try 'cpubolt --help' for more information.\n", stderr);
	return EXIT_USAGE;
}

/** close_stdout() - return @code, but EXIT_FAILED for EXIT_DONE if not all output was written */
static int close_stdout(int code)
{
	bool failed = ferror(stdout), pending = __fpending(stdout);

	/* A standard output that is closed matters only if there is output. */
	if (fclose(stdout) && (pending || errno != EBADF))
		failed = true;
	if (!failed || code != EXIT_DONE)
		return code;
	return fail(EXIT_FAILED, "cannot write to the standard output");
}

/*
 * Opens /dev/null in place of each standard stream that is closed, or else the next file that is
 * opened would get the output. For an output /dev/null is opened read-only, so that a write fails.
 */
static void fill_streams(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "root", required_argument, NULL, 'r' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	static char name[] = "cpubolt";
	struct invocation call = { .root = "" };
	int option, code;

	fill_streams();
	/* When nobody reads the output any more, cpubolt still puts back what it has changed. */
	signal(SIGPIPE, SIG_IGN);
	if (argc)
		argv[0] = name;		/* messages of getopt_long() begin with the name */
	while ((option = getopt_long(argc, argv, "+hV", options, NULL)) != -1) {
		switch (option) {
		case 'h':
			return close_stdout(print_main_help());
		case 'V':
			return close_stdout(print_version());
		case 'r':
			call.root = optarg;
			break;
		default:
			fputs("Try 'cpubolt --help' for more information.\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (optind >= argc) {
		complain("which subcommand?");
		fputs("Try 'cpubolt --help' for more information.\n", stderr);
		return EXIT_USAGE;
	}
	call.name = argv[optind];
	argv[optind] = name;
	call.argc = argc - optind;
	call.argv = argv + optind;
	/* call.name stays what the user wrote; argv[0] of the subcommand is "cpubolt". */
	code = run(&call);
	cpubolt_close(call.machine);
	code = close_stdout(code);
	/*
	 * _exit() leaves out the destructors of libraries, which take longer than a request; all
	 * output has been written.
	 */
	_exit(code);
}
