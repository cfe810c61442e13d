/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the file of a subcommand gets from main.c, and what such a file may use.
 *
 * A subcommand NAME has a file NAME.c with a function run_NAME(), a line in
 * SUBCOMMANDS below, and a line in meson.build. run_NAME() reads its options with
 * getopt_long(), calls invocation_open() if NAME needs the CPUs of the machine, and
 * returns an exit code.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <signal.h>

#include <cpubolt.h>

/** Exit codes, as documented in cpubolt(1) */
enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,		/* failed; nothing has changed, or all was put back */
	EXIT_USAGE = 2,
	EXIT_PARTIAL = 64,		/* failed, and not all was put back */
	EXIT_NOT_PERMITTED = 77,
};

/** One call of cpubolt */
struct invocation {
	const char *name;		/* name of the subcommand */
	const char *root;		/* stands for "/"; "" is the running system */
	struct cpubolt *machine;	/* NULL until invocation_open(); closed by main() */
	int argc;			/* arguments for getopt_long(): argv[0] is "cpubolt" */
	char **argv;
};

/** A row of the table of subcommands */
struct subcommand {
	const char *name;
	int (*run)(struct invocation *call);
	const char *summary;		/* what the subcommand does, in at most 60 columns */
};

/* cpubolt may be built without the libraries that trace needs. */
#ifdef HAVE_TRACECMD
#define SUBCOMMAND_TRACE(SUBCOMMAND)							\
	SUBCOMMAND(trace, "show what runs when in one request")
#else
#define SUBCOMMAND_TRACE(SUBCOMMAND)
#endif

/* The order is that of "cpubolt --help". */
#define SUBCOMMANDS(SUBCOMMAND)								\
	SUBCOMMAND(status, "show the CPUs, and what has become of each")		\
	SUBCOMMAND(online, "bring CPUs online")						\
	SUBCOMMAND(offline, "take CPUs offline")					\
	SUBCOMMAND(set, "make the chosen CPUs the only ones online")			\
	SUBCOMMAND(settle, "tear down now what Bolt has deferred")			\
	SUBCOMMAND(states, "show what Bolt does with each hotplug state")		\
	SUBCOMMAND(irq, "show interrupts, and keep these on some CPUs")			\
	SUBCOMMAND(bench, "measure requests with and without Bolt on this machine")	\
	SUBCOMMAND(energy, "compute the energy of a recorded load, by a model")		\
	SUBCOMMAND_TRACE(SUBCOMMAND)							\
	SUBCOMMAND(policy, "show and change what the daemon cpuboltd does")			\
	SUBCOMMAND(doctor, "find what keeps requests slow, and what else changes CPUs")

#define DECLARE_SUBCOMMAND(NAME, SUMMARY) int run_##NAME(struct invocation *call);
SUBCOMMANDS(DECLARE_SUBCOMMAND)

/**
 * invocation_open() - open the machine, unless the machine is open already
 *
 * To be called after the options have been read, so that --help and wrong
 * options are answered without a look at the machine.
 *
 * Return: EXIT_DONE, or another exit code after a message.
 */
int invocation_open(struct invocation *call);

/**
 * invocation_read() - contents of a file below the root
 * @path: begins with "/"
 *
 * Works for files of sysfs and procfs, of any length.
 *
 * Return: the text, to be freed with free(), or NULL with errno set.
 */
char *invocation_read(const struct invocation *call, const char *path);

/**
 * open_or_make() - open the file @path with @flags, such as O_RDWR
 * @made: set to whether there was no such file before
 *
 * Return: a descriptor, or -1 with errno set.
 */
int open_or_make(const char *path, int flags, bool *made);

/* -- Messages ------------------------------------------------------------- */

/** complain() - print "cpubolt: ", the message and a newline on stderr */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** fail() - complain(), and return @code */
int fail(enum exit_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * parse_number() - read a decimal number from @least to @most, without a sign
 * @end: set to what follows the number
 *
 * Return: whether @text begins with such a number.
 */
bool parse_number(const char *text, unsigned long least, unsigned long most, unsigned long *value,
		  char **end);

/**
 * parse_range() - read the first number or range of a list such as "36,40-43"
 * @most: the greatest number that is allowed
 * @end: set to what follows the number or range: "", or "," and the rest of the list
 *
 * Return: whether @text begins with such a number or range.
 */
bool parse_range(const char *text, unsigned long most, unsigned long *first, unsigned long *last,
		 char **end);

/** utf8_size() - bytes of the character of UTF-8 that @text begins with; 0 if there is none */
size_t utf8_size(const char *text);

/** fail_usage() - say how to get help, after another message; return EXIT_USAGE */
int fail_usage(const struct invocation *call);

/**
 * refuse_arguments() - complain if something follows the options, which getopt_long() has read
 *
 * Return: EXIT_DONE if nothing follows, otherwise EXIT_USAGE.
 */
int refuse_arguments(const struct invocation *call);

/**
 * fail_list() - say what is wrong with a cpulist
 * @text: the list
 * @error: what cpubolt_parse_list() has returned; 0: the list has no CPU, but has to have one
 * @at: offset in @text of what was not understood
 *
 * Return: EXIT_USAGE; EXIT_FAILED if @error is an error other than -EINVAL and -ERANGE.
 */
int fail_list(const struct invocation *call, const char *text, int error, size_t at);

/**
 * hold_signals() - block SIGINT, SIGTERM, SIGHUP and SIGQUIT; the caller puts @before back
 * @before: set to the signals that were blocked before, for sigprocmask(SIG_SETMASK)
 */
void hold_signals(sigset_t *before);

/** exit_code_of() - EXIT_NOT_PERMITTED if @error is -EACCES, EXIT_FAILED for other errors */
enum exit_code exit_code_of(int error);

/** Text that "cpubolt NAME --help" prints */
struct help {
	const char *usage;	/* one line for each form, without "cpubolt NAME" */
	const char *about;	/* a few sentences */
	const char *options;	/* lines; each begins with a blank */
	const char *examples;	/* lines; each begins with a blank */
};

/** print_help() - print @help on stdout; return EXIT_DONE */
int print_help(const struct invocation *call, const struct help *help);

/** Lines for struct help.options */
#define HELP_OPTION_HELP	" -h, --help               display this help\n"

#endif /* COMMAND_H */
