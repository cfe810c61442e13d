// SPDX-License-Identifier: GPL-2.0-only
/* Messages, help texts and files, for all subcommands */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/file_read.h"
#include "command.h"

static void vcomplain(const char *format, va_list arguments)
{
	/* Flushes stdout first, so that the order is right when both streams go to one file. */
	fflush(stdout);
	fputs("cpubolt: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
}

void complain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vcomplain(format, arguments);
	va_end(arguments);
}

int fail(enum exit_code code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vcomplain(format, arguments);
	va_end(arguments);
	return code;
}

int fail_usage(const struct invocation *call)
{
	fprintf(stderr, "Try 'cpubolt %s --help' for more information.\n", call->name);
	return EXIT_USAGE;
}

int refuse_arguments(const struct invocation *call)
{
	if (call->argc <= optind)
		return EXIT_DONE;
	complain("\"%s\" is too much: %s takes options only", call->argv[optind], call->name);
	return fail_usage(call);
}

int fail_list(const struct invocation *call, const char *text, int error, size_t at)
{
	if (!error)
		complain("the list \"%s\" has no CPU", text);
	else if (error == -ERANGE)
		complain("\"%s\" names a CPU number that this machine cannot have", text);
	else if (error == -EINVAL && !text[at])
		complain("\"%s\" is no list of CPUs: the end is missing", text);
	else if (error == -EINVAL)
		complain("\"%s\" is no list of CPUs, because of \"%s\"", text, text + at);
	else
		return fail(EXIT_FAILED, "cannot read the list \"%s\": %s", text, strerror(-error));
	return fail_usage(call);
}

enum exit_code exit_code_of(int error)
{
	return error == -EACCES ? EXIT_NOT_PERMITTED : EXIT_FAILED;
}

void hold_signals(sigset_t *before)
{
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGHUP);
	sigaddset(&held, SIGQUIT);
	sigprocmask(SIG_BLOCK, &held, before);
}

int invocation_open(struct invocation *call)
{
	int error;

	if (call->machine)
		return EXIT_DONE;
	error = cpubolt_open(call->root, &call->machine);
	if (!error)
		return EXIT_DONE;
	call->machine = NULL;
	if (error == -ENOENT)
		return fail(EXIT_FAILED, "there is no %s/sys/devices/system/cpu: is sysfs mounted?",
			    call->root);
	return fail(exit_code_of(error), "cannot read %s/sys/devices/system/cpu: %s", call->root,
		    strerror(-error));
}

bool parse_number(const char *text, unsigned long least, unsigned long most, unsigned long *value,
		  char **end)
{
	errno = 0;
	*value = strtoul(text, end, 10);
	return isdigit((unsigned char)*text) && !errno && *value >= least && *value <= most;
}

bool parse_range(const char *text, unsigned long most, unsigned long *first, unsigned long *last,
		 char **end)
{
	if (!parse_number(text, 0, most, first, end))
		return false;
	*last = *first;
	if (**end == '-' && !parse_number(*end + 1, *first, most, last, end))
		return false;
	return !**end || **end == ',';
}

size_t utf8_size(const char *text)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t size = 0, i;

	if (bytes[0] >= 0x01 && bytes[0] <= 0x7f)
		size = 1;
	else if (bytes[0] >= 0xc2 && bytes[0] <= 0xdf)
		size = 2;
	else if (bytes[0] >= 0xe0 && bytes[0] <= 0xef)
		size = 3;
	else if (bytes[0] >= 0xf0 && bytes[0] <= 0xf4)
		size = 4;
	for (i = 1; i < size; i++)
		if (bytes[i] < 0x80 || bytes[i] > 0xbf)
			return 0;
	/* Numbers that need fewer bytes, that are surrogates, or that no character has. */
	if ((bytes[0] == 0xe0 && bytes[1] < 0xa0) || (bytes[0] == 0xed && bytes[1] > 0x9f) ||
	    (bytes[0] == 0xf0 && bytes[1] < 0x90) || (bytes[0] == 0xf4 && bytes[1] > 0x8f))
		return 0;
	return size;
}

char *invocation_read(const struct invocation *call, const char *path)
{
	return file_read(call->root, path, NULL);
}

int open_or_make(const char *path, int flags, bool *made)
{
	int fd = open(path, flags | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	*made = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = open(path, flags | O_CREAT | O_CLOEXEC, 0666);
	return fd;
}

int print_help(const struct invocation *call, const struct help *help)
{
	const char *line = help->usage;

	puts("Usage:");
	while (*line) {
		int length = strcspn(line, "\n");

		printf(" cpubolt %s %.*s\n", call->name, length, line);
		line += length + (line[length] == '\n');
	}
	printf("\n%s\n\nOptions:\n%s\nExamples:\n%s\n", help->about, help->options, help->examples);
	printf("For more details see cpubolt-%s(1).\n", call->name);
	return EXIT_DONE;
}
