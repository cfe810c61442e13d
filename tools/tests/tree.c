// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tree.h"

static char *last_folder;

static void run(const char *program, const char *name, const char *folder)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		execlp("python3", "python3", "-B", program, name, folder, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/*
 * Returns the folder in which trees are made: the one that TMPDIR names, if TMPDIR is set; else
 * /dev/shm, if this folder is writable and has 1 GiB of room: a tree may have tens of thousands of
 * files, which are made fastest in memory; otherwise /tmp.
 */
static const char *where(void)
{
	const char *given = getenv("TMPDIR"), *memory = "/dev/shm";
	struct statvfs room;

	if (given)
		return given;
	if (!access(memory, W_OK) && !statvfs(memory, &room) &&
	    (uint64_t)room.f_bavail * room.f_frsize >= 1U << 30)
		return memory;
	return "/tmp";
}

char *tree_make(const char *name)
{
	char *folder;

	assert_true(asprintf(&folder, "%s/cpubolt-test-XXXXXX", where()) > 0);
	assert_non_null(mkdtemp(folder));
	run(TREES, name, folder);
	return folder;
}

struct cpubolt *tree_open(const char *name)
{
	struct cpubolt *handle;

	assert_null(last_folder);
	last_folder = tree_make(name);
	assert_int_equal(cpubolt_open(last_folder, &handle), 0);
	return handle;
}

struct cpubolt *tree_open_wide(void)
{
	static const char *const masks[] = { "possible", "present", "online" };
	struct cpubolt *handle;
	char name[64];
	size_t i;

	assert_null(last_folder);
	last_folder = tree_make("small+bolt");
	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		snprintf(name, sizeof(name), "sys/devices/system/cpu/%s", masks[i]);
		tree_write(last_folder, name, "0-1779\n");
	}
	assert_int_equal(cpubolt_open(last_folder, &handle), 0);
	return handle;
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *place)
{
	return remove(path);
}

void tree_remove(char *folder)
{
	assert_int_equal(nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(folder);
}

void tree_close(struct cpubolt *handle)
{
	cpubolt_close(handle);
	tree_remove(last_folder);
	last_folder = NULL;
}

const char *tree_folder(void)
{
	return last_folder;
}

static int open_file(const char *folder, const char *file, int flags)
{
	char *path;
	int fd;

	assert_true(asprintf(&path, "%s/%s", folder, file) > 0);
	fd = open(path, flags | O_CLOEXEC, 0644);
	free(path);
	return fd;
}

char *tree_text(const char *folder, const char *file)
{
	int fd = open_file(folder, file, O_RDONLY);
	char *text = calloc(1, 1 << 16);
	ssize_t got;

	assert_non_null(text);
	got = fd < 0 ? -1 : read(fd, text, (1 << 16) - 1);
	if (fd >= 0)
		close(fd);
	if (got >= 0)
		return text;
	free(text);
	return NULL;
}

void tree_write(const char *folder, const char *file, const char *text)
{
	int fd = open_file(folder, file, O_WRONLY | O_CREAT | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

void tree_put(const char *folder, const char *file, const char *text)
{
	char *path, *slash;
	FILE *out;

	assert_true(asprintf(&path, "%s/%s", folder, file) > 0);
	for (slash = strchr(path + strlen(folder) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		assert_true(!mkdir(path, 0755) || errno == EEXIST);
		*slash = '/';
	}
	assert_true(!unlink(path) || errno == ENOENT);
	out = fopen(path, "w");
	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
	free(path);
}

void tree_delete(const char *folder, const char *file)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", folder, file) > 0);
	assert_int_equal(remove(path), 0);
	free(path);
}

void assert_text(const char *folder, const char *file, const char *text)
{
	char *found = tree_text(folder, file);

	assert_non_null(found);
	assert_string_equal(found, text);
	free(found);
}

void assert_cpus(struct cpubolt *handle, enum cpubolt_which which, const char *list)
{
	cpu_set_t *cpus = cpubolt_set_new(handle);
	char *text;

	assert_int_equal(cpubolt_cpus(handle, which, cpus), 0);
	text = cpubolt_format_list(handle, cpus);
	assert_string_equal(text, list);
	free(text);
	CPU_FREE(cpus);
}
