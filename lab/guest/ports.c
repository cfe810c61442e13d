// SPDX-License-Identifier: GPL-2.0-only
/* The virtio-serial ports through which a guest reports to the lab. */
#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PORTS "/sys/class/virtio-ports"
#define DRIVER "/sys/bus/virtio/drivers/virtio_console/"

/* Tries of 10 ms for which the kernel may need to tell a port that the lab listens. */
#define TRIES 100

/* Writes the path of the file @file in the sysfs directory of port @name. */
static bool find_port(const char *name, const char *file, char *path, size_t size)
{
	struct dirent *entry;
	DIR *dir = opendir(PORTS);
	bool found = false;
	char text[128];

	while (dir && !found && (entry = readdir(dir))) {
		snprintf(path, size, PORTS "/%s/name", entry->d_name);
		if (read_text(path, text, sizeof(text)) < 0)
			continue;
		text[strcspn(text, "\n")] = '\0';
		found = !strcmp(text, name);
		if (found && file)
			snprintf(path, size, PORTS "/%s/%s", entry->d_name, file);
		else if (found)
			snprintf(path, size, "/dev/%s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

int open_port(const char *name, int flags)
{
	char path[512];

	return find_port(name, NULL, path, sizeof(path)) ? open(path, O_RDWR | flags) : -1;
}

static bool place_port(const char *name, int flags, int fd)
{
	int port = open_port(name, flags);
	bool placed = port >= 0 && dup2(port, fd) >= 0;

	if (port >= 0)
		close(port);
	return placed;
}

bool place_ports(void)
{
	/* A write to the results port does not wait, so that write_result() may look why. */
	return place_port("bolt.results", O_NONBLOCK, FD_RESULTS) &&
	       place_port("bolt.trace", 0, FD_TRACE);
}

/* Returns what poll() says of the results port; waits for room in the port if @wait. */
static short port_state(bool wait)
{
	struct pollfd port = { .fd = FD_RESULTS, .events = POLLOUT };

	return poll(&port, 1, wait ? -1 : 0) < 0 ? 0 : port.revents;
}

/* Opens the ports again until the driver knows that the lab listens, for @tries at most. */
static bool reconnect(int tries)
{
	for (int i = 0; i < tries; i++) {
		if (place_ports() && !(port_state(false) & POLLHUP))
			return true;
		wait_ms(10);
	}
	return false;
}

/* Takes the ports' device from its driver and gives the device back to the driver. */
static bool rebind(void)
{
	char path[512], target[512];
	ssize_t n;

	if (!find_port("bolt.results", "device", path, sizeof(path)))
		return false;
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	return !write_text(DRIVER "unbind", basename(target)) &&
	       !write_text(DRIVER "bind", basename(target));
}

/*
 * After suspend the driver of 7.3 asks QEMU for the state of each port before the queue
 * for QEMU's answers has a buffer. QEMU drops the answers, and the driver then lets all
 * writers wait for a listener for ever: every port is lost, on a kernel without Bolt as
 * well. A driver that is bound anew asks again.
 */
static bool revive_ports(void)
{
	return reconnect(TRIES / 10) || (rebind() && reconnect(TRIES));
}

int write_result(const char *buf, size_t len)
{
	while (len) {
		ssize_t n = write(FD_RESULTS, buf, len);

		if (n >= 0) {
			buf += n;
			len -= n;
			continue;
		}
		if (errno == ENODEV || (errno == EAGAIN && port_state(true) & POLLHUP)) {
			if (!revive_ports())
				return -ENODEV;
		} else if (errno != EINTR && errno != EAGAIN) {
			return -errno;
		}
	}
	return 0;
}
