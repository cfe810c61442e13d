// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Reads and writes /run/cpubolt/topology. Before a request takes CPUs offline, the topology of
 * these CPUs, and of all others that the handle knows, is written there, unless the file already
 * has all CPUs that go: later programs cannot read the topology from sysfs while the CPUs are
 * offline. The first line names the boot, and the file of another boot is ignored, as a CPU number
 * may mean another CPU after the next boot; then each CPU whose topology is known has a line.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "private.h"

#define RUN_FOLDER "run"
#define OWN_FOLDER "cpubolt"
#define FILE_NAME "topology"
#define BOOT_FILE "proc/sys/kernel/random/boot_id"
#define BOOT_SIZE 64
#define LOCK_TRIES 5
#define LOCK_WAIT_US 200

static const struct {
	const char *key;
	size_t offset;
} fields[] = {
	{ "core_id", offsetof(struct place, core_id) },
	{ "cluster", offsetof(struct place, topology.cluster) },
	{ "die", offsetof(struct place, topology.die) },
	{ "package", offsetof(struct place, topology.package) },
	{ "node", offsetof(struct place, topology.node) },
	{ "capacity", offsetof(struct place, topology.capacity) },
	{ "max_khz", offsetof(struct place, topology.max_khz) },
};

#define FIELDS (ARRAY_SIZE(fields))

static int *at(struct place *place, size_t offset)
{
	return (int *)((char *)place + offset);
}

/* -- Reading ---------------------------------------------------------------- */

/* Takes "KEY=NUMBER" and the blank behind it off @line. */
static int take(char **line, const char *key, int *number)
{
	size_t length = strlen(key);
	char *word = strsep(line, " ");

	if (!word || strncmp(word, key, length) || word[length] != '=')
		return -EINVAL;
	return sysfs_parse_number(word + length + 1, number);
}

static int parse_line(struct cpubolt *handle, char *line)
{
	struct place read = { .core_id = -1, .topology.core = -1, .topology.thread = -1 };
	struct place *place;
	size_t i;
	int cpu;

	if (take(&line, "cpu", &cpu) || cpu < 0 || (unsigned int)cpu >= handle->numbers)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		if (take(&line, fields[i].key, at(&read, fields[i].offset)) ||
		    *at(&read, fields[i].offset) < -1)
			return -EINVAL;
	}
	if (line)
		return -EINVAL;
	place = &handle->topology->places[cpu];
	place->saved = true;
	if (place->known || cpubolt_state(handle, (unsigned int)cpu) == CPUBOLT_STATE_ABSENT)
		return 0;
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		*at(place, fields[i].offset) = *at(&read, fields[i].offset);
	place->known = true;
	return 0;
}

int remember_parse(struct cpubolt *handle, const char *text, const char *boot)
{
	char *copy = strdup(text), *here = copy, *line;
	int err = 0;

	if (!copy)
		return -ENOMEM;
	line = strsep(&here, "\n");
	if (strncmp(line, "boot_id=", 8) || strcmp(line + 8, boot))
		err = -ESTALE;
	while (!err && here && *here)
		err = parse_line(handle, strsep(&here, "\n"));
	free(copy);
	return err;
}

void remember_load(struct cpubolt *handle)
{
	char boot[BOOT_SIZE], *text;

	if (handle->topology->loaded)
		return;
	handle->topology->loaded = true;
	if (sysfs_read(handle->root, RUN_FOLDER "/" OWN_FOLDER "/" FILE_NAME, &text))
		return;
	if (!sysfs_line(handle->root, BOOT_FILE, boot, sizeof(boot)))
		remember_parse(handle, text, boot);
	free(text);
}

/* -- Writing ---------------------------------------------------------------- */

static char *format(struct cpubolt *handle, const char *boot)
{
	struct place *place;
	unsigned int cpu;
	size_t length, i;
	char *text;
	FILE *out = open_memstream(&text, &length);
	bool good;

	if (!out)
		return NULL;
	fprintf(out, "boot_id=%s\n", boot);
	for (cpu = 0; cpu < handle->numbers; cpu++) {
		place = &handle->topology->places[cpu];
		if (!place->known)
			continue;
		fprintf(out, "cpu=%u", cpu);
		for (i = 0; i < ARRAY_SIZE(fields); i++)
			fprintf(out, " %s=%d", fields[i].key, *at(place, fields[i].offset));
		fputc('\n', out);
	}
	good = !ferror(out);
	if (!fclose(out) && good)
		return text;
	free(text);
	return NULL;
}

/*
 * The file is written under another name first, so that a program that reads sees all of the old
 * file or all of the new.
 */
static int replace(int folder, const char *text)
{
	char name[32];
	int err;

	snprintf(name, sizeof(name), FILE_NAME ".%d", (int)getpid());
	unlinkat(folder, name, 0);
	err = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (err < 0)
		return -errno;
	fchmod(err, 0644);	/* whatever the umask: every user may read the file */
	close(err);
	err = sysfs_write(folder, name, text, strlen(text));
	if (!err && renameat(folder, name, folder, FILE_NAME))
		err = -errno;
	if (err)
		unlinkat(folder, name, 0);
	return err;
}

static void mark_saved(struct cpubolt *handle)
{
	unsigned int cpu;

	for (cpu = 0; cpu < handle->numbers; cpu++)
		handle->topology->places[cpu].saved |= handle->topology->places[cpu].known;
}

/* Reads the file again before it is replaced, as another program may have added CPUs. */
static int save_in(struct cpubolt *handle, int folder)
{
	char boot[BOOT_SIZE], *text;
	int err = sysfs_line(handle->root, BOOT_FILE, boot, sizeof(boot));

	if (err)
		return err;
	if (!sysfs_read(folder, FILE_NAME, &text)) {
		remember_parse(handle, text, boot);
		free(text);
	}
	text = format(handle, boot);
	if (!text)
		return -ENOMEM;
	err = replace(folder, text);
	free(text);
	if (!err)
		mark_saved(handle);
	return err;
}

int remember_save(struct cpubolt *handle)
{
	int run = sysfs_open(handle->root, RUN_FOLDER), folder, tries, err;
	bool made;

	if (run < 0)
		return run;
	made = !mkdirat(run, OWN_FOLDER, 0755);
	folder = openat(run, OWN_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	err = folder < 0 ? -errno : 0;
	if (made && !err)
		fchmod(folder, 0755);
	close(run);
	if (err)
		return err;
	/*
	 * Of two programs that write at once, the later one would leave out the CPUs of the other:
	 * hence the lock. But any user can lock the folder, and must not hold up a request: after
	 * a short wait the file is written without the lock.
	 */
	for (tries = 0; flock(folder, LOCK_EX | LOCK_NB) && tries < LOCK_TRIES; tries++)
		usleep(LOCK_WAIT_US);
	err = save_in(handle, folder);
	close(folder);
	return err;
}
