// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the events of CPUs, from a sender that stands for udev. The test has a network of its own,
 * so that no program of the machine gets these events, and a /run of its own, in which the test
 * makes the file that says that udev runs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree.h"

#define UDEV_GROUP 2
#define MAGIC 0xfeedcafe
#define SECOND 1000000ULL

/* What udev puts before the properties of a device. */
struct header {
	char prefix[8];
	uint32_t magic, header_size, properties_off, properties_len;
	uint32_t subsystem_hash, devtype_hash, tags_high, tags_low;
};

/*
 * The hash of a subsystem's name, here of three letters. By this hash, a filter in the kernel
 * chooses the messages that a receiver gets.
 */
static uint32_t hash(const char *name)
{
	uint32_t value = 3;

	value ^= (uint32_t)name[2] << 16 | (uint32_t)name[1] << 8 | (uint32_t)name[0];
	value *= 0x5bd1e995;
	value ^= value >> 13;
	value *= 0x5bd1e995;
	return value ^ value >> 15;
}

static int sender = -1;
static unsigned int sequence;

static void announce(const char *subsystem, const char *action, const char *device)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK, .nl_groups = UDEV_GROUP };
	struct header header = { .prefix = "libudev" };
	char packet[1024];
	int length;

	length = snprintf(packet + sizeof(header), sizeof(packet) - sizeof(header),
			  "ACTION=%s%cDEVPATH=/devices/system/cpu/%s%cSUBSYSTEM=%s%cSEQNUM=%u",
			  action, 0, device, 0, subsystem, 0, ++sequence) + 1;
	header.magic = htonl(MAGIC);
	header.header_size = sizeof(header);
	header.properties_off = sizeof(header);
	header.properties_len = (uint32_t)length;
	header.subsystem_hash = htonl(hash(subsystem));
	memcpy(packet, &header, sizeof(header));
	sendto(sender, packet, sizeof(header) + (size_t)length, 0, (struct sockaddr *)&to,
	       sizeof(to));
}

static void test_events(void **state)
{
	struct cpubolt_monitor *monitor = *state;
	struct cpubolt_event event;
	struct pollfd ready = { .fd = cpubolt_monitor_fd(monitor), .events = POLLIN };

	assert_int_equal(cpubolt_monitor_next(monitor, 0, &event), 0);
	assert_int_equal(poll(&ready, 1, 0), 0);
	announce("cpu", "offline", "cpu1");
	announce("cpu", "online", "cpu1");
	assert_int_equal(poll(&ready, 1, 10000), 1);
	assert_int_equal(cpubolt_monitor_next(monitor, 10 * SECOND, &event), 1);
	assert_int_equal(event.cpu, 1);
	assert_false(event.online);
	assert_int_equal(cpubolt_monitor_next(monitor, UINT64_MAX, &event), 1);
	assert_true(event.online);
	assert_int_equal(cpubolt_monitor_next(monitor, SECOND / 100, &event), 0);
}

static void test_what_is_no_change_of_a_cpu(void **state)
{
	struct cpubolt_monitor *monitor = *state;
	struct cpubolt_event event;

	announce("net", "online", "cpu0");
	announce("cpu", "add", "cpu0");
	announce("cpu", "change", "cpu0");
	assert_int_equal(cpubolt_monitor_next(monitor, SECOND / 100, &event), 0);
	announce("cpu", "add", "cpu1");
	announce("cpu", "remove", "cpu1");
	assert_int_equal(cpubolt_monitor_next(monitor, 10 * SECOND, &event), 1);
	assert_int_equal(event.cpu, 1);
	assert_false(event.online);
}

static void test_lost_events(void **state)
{
	struct cpubolt_monitor *monitor = *state;
	struct cpubolt_event event;
	unsigned int i;

	/* More events than a receive buffer of 8 MB holds. */
	for (i = 0; i < 30000; i++)
		announce("cpu", "offline", "cpu1");
	assert_int_equal(cpubolt_monitor_next(monitor, 0, &event), -ENOBUFS);
	for (i = 0; cpubolt_monitor_next(monitor, 0, &event) == 1; i++)
		;
	assert_in_range(i, 1, 29999);
	assert_int_equal(cpubolt_monitor_next(monitor, 0, &event), 0);
}

/* -- A place where the test is alone ---------------------------------------------- */

static int write_text(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644), err;

	if (fd < 0)
		return -1;
	err = write(fd, text, strlen(text)) < 0;
	close(fd);
	return err;
}

static int become_root(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[32];

	if (!uid)
		return unshare(CLONE_NEWNS | CLONE_NEWNET);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET))
		return -1;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (write_text("/proc/self/setgroups", "deny") || write_text("/proc/self/uid_map", map))
		return -1;
	snprintf(map, sizeof(map), "0 %u 1", gid);
	return write_text("/proc/self/gid_map", map);
}

static int be_alone(void)
{
	return become_root() || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       mount("none", "/run", "tmpfs", 0, NULL) || mkdir("/run/udev", 0755);
}

static struct cpubolt *handle;

static int open_monitor(void **state)
{
	struct cpubolt_monitor *monitor;

	assert_int_equal(cpubolt_open(NULL, &handle), 0);
	/* Without udev no event would ever arrive, so the library refuses to listen. */
	assert_int_equal(cpubolt_monitor_open(handle, &monitor), -EOPNOTSUPP);
	assert_int_equal(write_text("/run/udev/control", ""), 0);
	assert_int_equal(cpubolt_monitor_open(handle, &monitor), 0);
	sender = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	assert_true(sender >= 0);
	*state = monitor;
	return 0;
}

static int close_monitor(void **state)
{
	cpubolt_monitor_close(*state);
	cpubolt_close(handle);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_what_is_no_change_of_a_cpu),
		cmocka_unit_test(test_lost_events),
	};

	if (be_alone()) {
		printf("1..0 # SKIP no namespaces: %s\n", strerror(errno));
		return 0;
	}
	return cmocka_run_group_tests(tests, open_monitor, close_monitor);
}
