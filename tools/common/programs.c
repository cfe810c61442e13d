// SPDX-License-Identifier: GPL-2.0-only
/* Finds programs that run on the machine */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file_read.h"
#include "programs.h"

#define COMM_LENGTH	15	/* TASK_COMM_LEN - 1 */

/*
 * Any user may give a program the name of a daemon, so only programs of root count. Root is the
 * user who owns /proc.
 */
static bool is_of(int folder, const char *pid)
{
	struct stat all, one;

	return !fstat(folder, &all) && !fstatat(folder, pid, &one, 0) && all.st_uid == one.st_uid;
}

/* Returns 1 if the process @pid has that name, 0 if not or if the process has ended, or -ENOMEM. */
static int has_name(const char *root, const char *pid, const char *name)
{
	char path[64], *text;
	size_t length;
	bool same;

	snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	text = file_read(root, path, NULL);
	if (!text)
		return errno == ENOMEM ? -ENOMEM : 0;
	length = strcspn(text, "\n");
	same = length <= COMM_LENGTH && !strncmp(text, name, length) &&
	       (length == COMM_LENGTH || !name[length]);
	free(text);
	return same;
}

int program_find(const char *root, const char *name)
{
	struct dirent *entry;
	char *path;
	int pid = 0, found = 0;
	DIR *dir;

	if (asprintf(&path, "%s/proc", root) < 0)
		return -ENOMEM;
	dir = opendir(path);
	free(path);
	if (!dir)
		return -errno;
	while (!pid && found >= 0 && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		found = has_name(root, entry->d_name, name);
		if (found > 0 && is_of(dirfd(dir), entry->d_name))
			pid = atoi(entry->d_name);
	}
	closedir(dir);
	return found < 0 ? found : pid;
}

char *program_variable(const char *root, int pid, const char *name)
{
	char *path, *line = NULL, *value = NULL;
	size_t room = 0, length = strlen(name);
	FILE *in;

	if (asprintf(&path, "%s/proc/%d/environ", root, pid) < 0)
		return NULL;
	in = fopen(path, "re");
	free(path);
	while (in && !value && getdelim(&line, &room, '\0', in) > 0)
		if (!strncmp(line, name, length) && line[length] == '=')
			value = strdup(line + length + 1);
	free(line);
	if (in)
		fclose(in);
	return value;
}
