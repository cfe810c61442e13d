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
 * user who owns /proc. The owner of /proc/PID is the effective user, who is root also while any
 * user runs a setuid program under a name of that user's choice: so all IDs have to be root's.
 */
static bool is_of(const char *root, int folder, const char *pid)
{
	unsigned int ids[4], i;
	struct stat all, one;
	char path[64], *text, *line;

	if (fstat(folder, &all) || fstatat(folder, pid, &one, 0) || all.st_uid != one.st_uid)
		return false;
	snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
	text = file_read(root, path, NULL);
	line = text ? strstr(text, "\nUid:") : NULL;
	/* A recorded tree may lack the file. */
	if (!line || sscanf(line, "\nUid: %u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) != 4) {
		free(text);
		return true;
	}
	free(text);
	for (i = 0; i < 4 && ids[i] == all.st_uid; i++)
		;
	return i == 4;
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
		if (found > 0 && is_of(root, dirfd(dir), entry->d_name))
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
