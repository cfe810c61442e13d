// SPDX-License-Identifier: GPL-2.0-only
/* Workers that write data and read them back: on disk 2, in disk 1's file system, and in tmpfs. */
#define _GNU_SOURCE
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK (32 << 10)
#define BLOCKS 64

static void *block(void)
{
	void *data;

	if (posix_memalign(&data, 4096, BLOCK))
		wrong("no memory");
	return data;
}

/*
 * Reads and rewrites blocks of @fd from @first on, in random order; each block must hold
 * what was last written.
 */
static void turn_over(int fd, int first, bool sync)
{
	static uint64_t seeds[BLOCKS];
	void *data = block();

	while (!stopping()) {
		int at = draw(BLOCKS);
		off_t place = (off_t)(first + at) * BLOCK;

		if (seeds[at]) {
			if (pread(fd, data, BLOCK, place) != BLOCK)
				wrong("block %d cannot be read: %s", at, strerror(errno));
			if (!filled(data, BLOCK, seeds[at]))
				wrong("block %d does not hold what was written", at);
		}
		seeds[at] = (uint64_t)first << 32 | (1 + draw(1 << 30));
		fill(data, BLOCK, seeds[at]);
		if (pwrite(fd, data, BLOCK, place) != BLOCK)
			wrong("block %d cannot be written: %s", at, strerror(errno));
		if (sync && draw(8) == 0 && fsync(fd))
			wrong("fsync: %s", strerror(errno));
		once_round();
		wait_ms(draw(4));
	}
	close(fd);
}

static void raw(int which)
{
	int fd = open("/dev/vdb", O_RDWR | O_DIRECT | O_CLOEXEC);

	if (fd < 0)
		wrong("/dev/vdb: %s", strerror(errno));
	turn_over(fd, which * BLOCKS, false);
}

static bool has_raw(void)
{
	return !access("/dev/vdb", F_OK);
}

static void file(const char *folder, int which, int flags, bool sync)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/load.%d", folder, which);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		wrong("%s: %s", path, strerror(errno));
	turn_over(fd, 0, sync);
}

static void ext4(int which)
{
	file("/mnt", which, which ? 0 : O_DIRECT, which);
}

static bool has_ext4(void)
{
	mkdir("/mnt", 0755);
	return !mount("/dev/vda", "/mnt", "ext4", 0, NULL) || errno == EBUSY;
}

static void tmpfs(int which)
{
	file("/tmp", which, 0, false);
}

const struct worker disk_workers[] = {
	{ "raw", 2, raw, has_raw },
	{ "ext4", 2, ext4, has_ext4 },
	{ "tmpfs", 1, tmpfs, NULL },
	{ NULL, 0, NULL, NULL },
};
