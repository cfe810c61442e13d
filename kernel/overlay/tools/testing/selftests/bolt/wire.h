/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds interrupts by name, and makes interrupts of the network card BOLT_NIC arrive.
 * Behind the card, TCP port 7 of 10.0.2.100 sends back all that the port receives.
 */
#ifndef SELFTESTS_BOLT_WIRE_H
#define SELFTESTS_BOLT_WIRE_H

#include <arpa/inet.h>
#include <libgen.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "bolt.h"
#include "env.h"
#include "lib/interface.h"
#include "sets.h"

#define MAX_CPUS CPU_SETSIZE
#define DRIVER "/sys/bus/virtio/drivers/virtio_net/"

/* Returns the name that virtio gives @device, such as virtio3; or "". */
static inline const char *virtio_name(const char *device)
{
	static char name[64];
	char path[4096];
	ssize_t n = readlink(device, path, sizeof(path) - 1);

	path[n < 0 ? 0 : n] = '\0';
	snprintf(name, sizeof(name), "%.63s", n < 0 ? "" : basename(path));
	return name;
}

/* Returns the directory of the device behind the network card. */
static inline const char *nic_device(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "/sys/class/net/%.15s/device", nic_name());
	return path;
}

/* The card's name on the bus, to bind the driver again that a failed test has unbound. */
static char nic_bound[64];

static void nic_bind(void)
{
	if (nic_bound[0])
		put(DRIVER "bind", nic_bound);
}

static void __attribute__((constructor)) nic_note(void)
{
	snprintf(nic_bound, sizeof(nic_bound), "%s", virtio_name(nic_device()));
	restore_device = nic_bind;
}

/* Returns the directory of the device behind the disk. */
static inline const char *disk_device(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "/sys/block/%.100s/device", disk_name());
	return path;
}

/* Returns the interrupt of that name, or -1. */
static inline int irq_named(const char *name)
{
	static char line[65536];
	char *last;
	int irq = -1;
	FILE *file = fopen("/proc/interrupts", "r");

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		last = strrchr(line, ' ');
		if (last && !strcmp(last + 1, name))
			irq = atoi(line);
	}
	if (file)
		fclose(file);
	return irq;
}

/* Returns the interrupt of @device for the queue @what, such as "input.0", or -1. */
static inline int irq_of(const char *device, const char *what)
{
	char name[128];

	snprintf(name, sizeof(name), "%s-%s", virtio_name(device), what);
	return irq_named(name);
}

/* Reads how often @irq has arrived on each CPU. */
static inline int irq_counts(int irq, unsigned long counts[MAX_CPUS])
{
	FILE *file = fopen("/proc/interrupts", "r");
	int cpus[MAX_CPUS], nr = 0, found = -ENOENT;
	static char line[65536];
	char *word;

	memset(counts, 0, MAX_CPUS * sizeof(counts[0]));
	if (!file)
		return -errno;
	if (fgets(line, sizeof(line), file))
		for (word = strtok(line, "\n "); word && nr < MAX_CPUS;
		     word = strtok(NULL, "\n "))
			cpus[nr++] = atoi(word + strlen("CPU"));
	while (found && fgets(line, sizeof(line), file)) {
		word = strtok(line, " ");
		if (!word || !strchr(word, ':') || atoi(word) != irq ||
		    word[0] < '0' || word[0] > '9')
			continue;
		for (int i = 0; i < nr && (word = strtok(NULL, " ")); i++)
			counts[cpus[i]] = strtoul(word, NULL, 10);
		found = 0;
	}
	fclose(file);
	return found;
}

static inline const char *irq_file(int irq, const char *file)
{
	static char path[128];

	snprintf(path, sizeof(path), "/proc/irq/%d/%s", irq, file);
	return path;
}

/*
 * Returns the CPU of a managed interrupt; -1 on an error, or if the interrupt is for several
 * CPUs. The kernel alone decides which queue of a disk is for which CPU, so tests ask here.
 */
static inline int irq_cpu(int irq)
{
	cpus_t cpus;

	return cpus_read(irq_file(irq, "smp_affinity_list"), &cpus) && cpus_count(cpus) == 1 ?
	       cpus_first(cpus) : -1;
}

/* Whether the block layer gives the I/O requests of @cpu to @queue of the disk. */
static inline bool queue_is_for(int queue, int cpu)
{
	char path[160];

	snprintf(path, sizeof(path), "/sys/block/%.100s/mq/%d/cpu%d", disk_name(), queue, cpu);
	return !access(path, F_OK);
}

/*
 * A thread that keeps a CPU busy. When all CPUs of a guest wait for the host, the
 * guest's clock may jump, and timeouts end early. While this thread runs, the clock does
 * not jump.
 */
struct busy {
	pthread_t thread;
	atomic_bool stop;
};

static inline void *busy_loop(void *argument)
{
	struct busy *busy = argument;

	while (!busy->stop)
		sched_yield();
	return NULL;
}

static inline int busy_start(struct busy *busy)
{
	busy->stop = false;
	return pthread_create(&busy->thread, NULL, busy_loop, busy);
}

static inline void busy_stop(struct busy *busy)
{
	busy->stop = true;
	pthread_join(busy->thread, NULL);
}

/* Gives the network card its address. Returns 0 or -errno. */
static inline int nic_up(void)
{
	return no_nic() ? -ENODEV : interface_up(nic_name(), "10.0.2.15", "255.255.255.0");
}

static inline int echo_open(void)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(7),
		.sin_addr.s_addr = inet_addr("10.0.2.100"),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* Sends @len bytes made from @seed and gets them back. */
static inline int echo(int fd, unsigned int seed, size_t len)
{
	unsigned char out[4096], in[4096];
	size_t got = 0;
	ssize_t n;

	if (len > sizeof(out))
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		out[i] = (seed + i) * 2654435761u >> 24;
	for (size_t sent = 0; sent < len; sent += n) {
		n = send(fd, out + sent, len - sent, MSG_NOSIGNAL);
		if (n < 0)
			return -errno;
	}
	for (; got < len; got += n) {
		n = recv(fd, in + got, len - got, 0);
		if (n <= 0)
			return n ? -errno : -EPIPE;
	}
	return memcmp(in, out, len) ? -EBADMSG : 0;
}

#endif /* SELFTESTS_BOLT_WIRE_H */
