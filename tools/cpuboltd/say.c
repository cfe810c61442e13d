// SPDX-License-Identifier: GPL-2.0-only
/* Messages, to the journal or to stderr */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <systemd/sd-journal.h>

#include "say.h"

#define MOST_FIELDS	16

/*
 * Tells whether stderr goes to the journal: systemd names a unit's stderr in JOURNAL_STREAM, but
 * programs that the unit starts may have another stderr.
 */
static bool in_a_unit(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, file;
	struct stat about;

	return stream && sscanf(stream, "%llu:%llu", &device, &file) == 2 &&
	       !fstat(STDERR_FILENO, &about) && about.st_dev == device && about.st_ino == file;
}

static void to_journal(int level, char *const *fields, unsigned int count, const char *text)
{
	struct iovec pieces[MOST_FIELDS + 3];
	char *message = field("MESSAGE=%s", text), *priority = field("PRIORITY=%d", level);
	static char name[] = "SYSLOG_IDENTIFIER=cpuboltd";
	unsigned int i, used = 0;
	char *all[3] = { message, priority, name };

	for (i = 0; i < 3; i++)
		if (all[i])
			pieces[used++] = (struct iovec){ all[i], strlen(all[i]) };
	for (i = 0; i < count && used < MOST_FIELDS + 3; i++)
		if (fields[i])
			pieces[used++] = (struct iovec){ fields[i], strlen(fields[i]) };
	sd_journal_sendv(pieces, (int)used);
	free(message);
	free(priority);
}

static void vsay(int level, char *const *fields, unsigned int count, const char *format,
		 va_list arguments)
{
	char *text;

	if (vasprintf(&text, format, arguments) < 0)
		return;
	if (in_a_unit()) {
		to_journal(level, fields, count, text);
	} else {
		fflush(stdout);
		fprintf(stderr, "cpuboltd: %s\n", text);
	}
	free(text);
}

void say(int level, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsay(level, NULL, 0, format, arguments);
	va_end(arguments);
}

void say_with(int level, char *const *fields, unsigned int count, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsay(level, fields, count, format, arguments);
	va_end(arguments);
}

int fail(enum exit_code code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsay(LOG_ERR, NULL, 0, format, arguments);
	va_end(arguments);
	return code;
}

char *field(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	return text;
}
