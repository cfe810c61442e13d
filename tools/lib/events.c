// SPDX-License-Identifier: LGPL-2.1-or-later
/* CPUs that come and go, as udev announces them. */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "private.h"

int event_parse(const char *action, const char *name, struct cpubolt_event *event)
{
	int cpu;

	if (strncmp(name, "cpu", 3) || sysfs_parse_number(name + 3, &cpu) || cpu < 0)
		return 0;
	event->cpu = (unsigned int)cpu;
	event->online = !strcmp(action, "online");
	/* "add" makes no event: a CPU is offline before and right after it is plugged in. */
	return event->online || !strcmp(action, "offline") || !strcmp(action, "remove");
}

#ifdef HAVE_SYSTEMD

#include <systemd/sd-device.h>
#include <systemd/sd-event.h>

#define RECEIVE_BUFFER (8U << 20)	/* thousands of CPUs may go at once */
#define UDEV_CONTROL "/run/udev/control"

struct cpubolt_monitor {
	sd_event *loop;
	sd_device_monitor *device;
	struct cpubolt_event event;
	bool arrived;
};

static int receive(sd_device_monitor *device, sd_device *from, void *data)
{
	struct cpubolt_monitor *monitor = data;
	const char *action, *name;

	if (sd_device_get_property_value(from, "ACTION", &action) < 0 ||
	    sd_device_get_sysname(from, &name) < 0)
		return 0;
	monitor->arrived = event_parse(action, name, &monitor->event);
	return 0;
}

static int start(struct cpubolt_monitor *monitor)
{
	int err = sd_event_new(&monitor->loop);

	if (err >= 0)
		err = sd_device_monitor_new(&monitor->device);
	if (err >= 0)
		err = sd_device_monitor_filter_add_match_subsystem_devtype(monitor->device, "cpu",
									   NULL);
	if (err >= 0)
		err = sd_device_monitor_attach_event(monitor->device, monitor->loop);
	if (err < 0)
		return err;
	/*
	 * Without privilege the kernel gives a smaller buffer. Events may then be lost, which
	 * lost_events() finds.
	 */
	sd_device_monitor_set_receive_buffer_size(monitor->device, RECEIVE_BUFFER);
	err = sd_device_monitor_start(monitor->device, receive, monitor);
	return err < 0 ? err : 0;
}

int cpubolt_monitor_open(struct cpubolt *handle, struct cpubolt_monitor **monitor)
{
	struct cpubolt_monitor *made;
	int err;

	*monitor = NULL;
	/* Without udev, as in most containers, no event would ever arrive. */
	if (handle->recorded || access(UDEV_CONTROL, F_OK))
		return -EOPNOTSUPP;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	err = start(made);
	if (err) {
		cpubolt_monitor_close(made);
		return err;
	}
	*monitor = made;
	return 0;
}

/* Reads from the socket whether the kernel has lost events, as libsystemd drops ENOBUFS. */
static bool lost_events(struct cpubolt_monitor *monitor)
{
	int fd = sd_event_source_get_io_fd(sd_device_monitor_get_event_source(monitor->device));
	struct pollfd ready = { .fd = fd };
	socklen_t size = sizeof(int);
	int err = 0;

	if (fd < 0 || poll(&ready, 1, 0) <= 0 || !(ready.revents & POLLERR))
		return false;
	return !getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) && err == ENOBUFS;
}

static unsigned long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000ULL + (unsigned long long)now.tv_nsec / 1000;
}

int cpubolt_monitor_next(struct cpubolt_monitor *monitor, unsigned long long timeout_us,
			 struct cpubolt_event *event)
{
	unsigned long long begin = now_us(), spent = 0;
	int err;

	for (;;) {
		if (lost_events(monitor))
			return -ENOBUFS;
		monitor->arrived = false;
		err = sd_event_run(monitor->loop, timeout_us == UINT64_MAX ? UINT64_MAX :
						  timeout_us - spent);
		if (err < 0)
			return err;
		if (monitor->arrived) {
			*event = monitor->event;
			return 1;
		}
		spent = now_us() - begin;
		/*
		 * If a message was read (err is not 0), it is about no CPU that came or went. But
		 * messages that wait behind may be about such a CPU: read on even if the time is
		 * up.
		 */
		if (timeout_us != UINT64_MAX && spent >= timeout_us) {
			if (!err)
				return 0;
			spent = timeout_us;
		}
	}
}

int cpubolt_monitor_fd(const struct cpubolt_monitor *monitor)
{
	return sd_event_get_fd(monitor->loop);
}

void cpubolt_monitor_close(struct cpubolt_monitor *monitor)
{
	if (!monitor)
		return;
	sd_device_monitor_unref(monitor->device);
	sd_event_unref(monitor->loop);
	free(monitor);
}

#else /* !HAVE_SYSTEMD */

int cpubolt_monitor_open(struct cpubolt *handle, struct cpubolt_monitor **monitor)
{
	*monitor = NULL;
	return -EOPNOTSUPP;
}

int cpubolt_monitor_next(struct cpubolt_monitor *monitor, unsigned long long timeout_us,
			 struct cpubolt_event *event)
{
	return -EOPNOTSUPP;
}

int cpubolt_monitor_fd(const struct cpubolt_monitor *monitor)
{
	return -EOPNOTSUPP;
}

void cpubolt_monitor_close(struct cpubolt_monitor *monitor)
{
}

#endif /* HAVE_SYSTEMD */
