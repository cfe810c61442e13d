// SPDX-License-Identifier: GPL-2.0-only
/* How long the last request for each CPU took. Any user may read FILE_NAME, whatever the umask. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "last.h"
#include "sets.h"

#define FOLDER	"/run/cpubolt"
#define FILE_NAME "/run/cpubolt/requests"
#define LARGEST	(64 << 10)	/* bytes */

static int open_record(const struct invocation *call)
{
	static const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s" FILE_NAME, call->root);
	fd = open(path, flags, 0644);
	if (fd < 0) {
		snprintf(path, sizeof(path), "%s" FOLDER, call->root);
		if (mkdir(path, 0755))
			return -1;
		chmod(path, 0755);
		snprintf(path, sizeof(path), "%s" FILE_NAME, call->root);
		fd = open(path, flags, 0644);
	}
	if (fd >= 0)
		fchmod(fd, 0644);
	return fd;
}

void last_record(const struct invocation *call, bool online, const cpu_set_t *cpus,
		 const struct cpubolt_result *result)
{
	char *list, *line;
	struct timespec now;
	struct stat about;
	int fd, length;

	fd = open_record(call);
	if (fd < 0)
		return;
	clock_gettime(CLOCK_BOOTTIME, &now);
	list = set_text(call->machine, cpus);
	length = asprintf(&line, "%lld %s %s %llu %s\n", (long long)now.tv_sec,
			  online ? "online" : "offline",
			  result->way == CPUBOLT_WAY_BATCH ? "batch" : "native", result->ns, list);
	free(list);
	if (length >= 0) {
		if (!fstat(fd, &about) && about.st_size > LARGEST && ftruncate(fd, 0))
			length = 0;
		/*
		 * The line is one write() with O_APPEND, so that lines of several programs do not
		 * mix.
		 */
		if (write(fd, line, length) != length)
			length = 0;
		free(line);
	}
	close(fd);
}

static void read_line(const struct invocation *call, const char *line, cpu_set_t *cpus,
		      struct last *last)
{
	char what[8], way[8];
	unsigned long long ns;
	unsigned int cpu;
	int list = 0;

	if (sscanf(line, "%*d %7s %7s %llu %n", what, way, &ns, &list) != 3 || !list ||
	    cpubolt_parse_list(call->machine, line + list, cpus, NULL))
		return;		/* an empty line, or not one of last_record() */
	for_each_cpu(call->machine, cpu, cpus) {
		last[cpu] = (struct last){
			.ns = ns,
			.online = !strcmp(what, "online"),
			.batch = !strcmp(way, "batch"),
		};
	}
}

struct last *last_read(const struct invocation *call)
{
	struct last *last = calloc(set_limit(call->machine), sizeof(*last));
	char *text = last ? invocation_read(call, FILE_NAME) : NULL;
	char *line, *rest = text;
	cpu_set_t *cpus;

	if (!text)
		return last;
	cpus = set_empty(call->machine);
	while ((line = strsep(&rest, "\n")))
		read_line(call, line, cpus, last);
	CPU_FREE(cpus);
	free(text);
	return last;
}
