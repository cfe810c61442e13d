// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ways by which a guest reports to the lab. Most guests have virtio-serial ports, which
 * Linux 7.3 loses in suspend. So a guest that suspends shares memory with the lab for its
 * results and its log, in PCI devices that need no driver.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "lib/soon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PORTS "/sys/class/virtio-ports"

/* The slots of the PCI devices are those in lab/boltlab/guest/channels.py. */
#define SHARED_RESULTS "/sys/bus/pci/devices/0000:00:18.0/resource2"
#define SHARED_LOG "/sys/bus/pci/devices/0000:00:19.0/resource2"
#define PATIENCE_MS 60000

static int find_port(const char *name)
{
	struct dirent *entry;
	DIR *dir = opendir(PORTS);
	int fd = -1;

	while (dir && fd < 0 && (entry = readdir(dir))) {
		char path[512], text[128];

		snprintf(path, sizeof(path), PORTS "/%s/name", entry->d_name);
		if (read_text(path, text, sizeof(text)) < 0)
			continue;
		text[strcspn(text, "\n")] = '\0';
		snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		if (!strcmp(text, name))
			fd = open(path, O_RDWR);
	}
	if (dir)
		closedir(dir);
	return fd;
}

/*
 * The emulator names a port when the driver has told the emulator that the guest is ready for the
 * port. On a busy host that can be after init has begun, so the port may have to be waited for.
 */
static int open_port(const char *name)
{
	int fd;

	return soon((fd = find_port(name)) >= 0, PATIENCE_MS) ? fd : -1;
}

int open_log(void)
{
	int fd = open(SHARED_LOG, O_RDWR);

	return fd >= 0 ? fd : find_port("bolt.dmesg");
}

static bool place(int from, int to)
{
	bool placed = from >= 0 && dup2(from, to) >= 0;

	if (from >= 0)
		close(from);
	return placed;
}

bool place_channels(void)
{
	int results = open(SHARED_RESULTS, O_RDWR);

	return place(results >= 0 ? results : open_port("bolt.results"), FD_RESULTS) &&
	       place(open_port("bolt.trace"), FD_TRACE);
}

/*
 * Adds @len bytes at the first zero byte of the shared memory @fd of @size bytes: the memory is
 * all zeros at first, and no report contains a zero byte. Single bytes are read and written, as
 * arm64 may map a device such that larger accesses must be aligned.
 */
static int share(int fd, size_t size, const char *buf, size_t len)
{
	volatile char *text = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	size_t end = 0;
	int err = 0;

	if (text == MAP_FAILED)
		return -errno;
	while (end < size && text[end])
		end++;
	if (len > size - end)
		err = -ENOSPC;
	for (size_t i = 0; !err && i < len; i++)
		text[end + i] = buf[i];
	munmap((void *)text, size);
	return err;
}

int send_text(int fd, const char *buf, size_t len)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? share(fd, st.st_size, buf, len) : write_all(fd, buf, len);
}
