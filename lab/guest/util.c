// SPDX-License-Identifier: GPL-2.0-only
/* What the guest's programs share. */
#define _GNU_SOURCE
#include "guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static int write_flags(const char *path, const char *text, int flags)
{
	size_t len = strlen(text);
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	ssize_t n;
	int err = 0;

	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	if (n < 0)
		err = -errno;
	else if ((size_t)n != len)
		err = -EIO;
	close(fd);
	return err;
}

int write_text(const char *path, const char *text)
{
	return write_flags(path, text, O_TRUNC);
}

int append_text(const char *path, const char *text)
{
	return write_flags(path, text, O_APPEND);
}

ssize_t read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while (used < size - 1) {
		n = read(fd, buf + used, size - 1 - used);
		if (n < 0) {
			n = -errno;
			close(fd);
			return n;
		}
		if (n == 0)
			break;
		used += n;
	}
	close(fd);
	buf[used] = '\0';
	return used;
}

static int write_all(int fd, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = write(fd, buf, len);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		buf += n;
		len -= n;
	}
	return 0;
}

int copy_to_fd(const char *path, int fd)
{
	static char buf[1 << 16];
	int in = open(path, O_RDONLY | O_CLOEXEC);
	int err = 0;

	if (in < 0)
		return -errno;
	for (;;) {
		ssize_t n = read(in, buf, sizeof(buf));

		if (n < 0)
			err = -errno;
		if (n <= 0)
			break;
		err = write_all(fd, buf, n);
		if (err)
			break;
	}
	close(in);
	return err;
}

void emit(const char *fmt, ...)
{
	static char line[1 << 16];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line) - 1)
		die("result line too long");
	line[n++] = '\n';
	if (write_all(FD_RESULTS, line, n))
		die("results port: %s", strerror(errno));
}

void json_text(char *out, size_t size, const char *text)
{
	size_t used = 0;

	for (; *text && used + 7 < size; text++) {
		unsigned char c = *text;

		if (c == '"' || c == '\\') {
			out[used++] = '\\';
			out[used++] = c;
		} else if (c < 0x20 || c >= 0x7f) {
			used += snprintf(out + used, size - used, "\\u%04x", c);
		} else {
			out[used++] = c;
		}
	}
	out[used] = '\0';
}

void emit_samples(const char *name, int batch, const int64_t *ns, int n)
{
	static char text[1 << 15];
	size_t used = 0;

	for (int i = 0; i < n; i++) {
		used += snprintf(text + used, sizeof(text) - used, "%s%lld",
				 i ? "," : "", (long long)ns[i]);
		if (used >= sizeof(text))
			die("too many samples");
	}
	emit("{\"case\":\"%s\",\"batch\":%d,\"samples\":[%s]}", name, batch, text);
}

int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void wait_us(long us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

void sleep_ms(long ms)
{
	wait_us(ms * 1000);
}

/*
 * Requests in step with the tick would all see the same phase of it. Both
 * waits grow through whole ticks of 4 ms in 23 unequal steps: between pairs
 * through four of them, inside a pair through one, which is too short for a
 * grace period to end in it.
 */
void gap(long ms, int i)
{
	wait_us(ms * 1000 + i * 7 % 23 * 695);
}

void turn(int i)
{
	wait_us(100 + i * 5 % 23 * 173);
}

static void run_on(int first, int last)
{
	cpu_set_t *set = CPU_ALLOC(MAX_CPUS);
	size_t size = CPU_ALLOC_SIZE(MAX_CPUS);

	CPU_ZERO_S(size, set);
	for (int cpu = first; cpu <= last; cpu++)
		CPU_SET_S(cpu, size, set);
	if (sched_setaffinity(0, size, set))
		die("cannot pin to CPU %d: %s", first, strerror(errno));
	CPU_FREE(set);
}

void pin_to(int cpu)
{
	run_on(cpu, cpu);
}

void unpin(void)
{
	run_on(0, MAX_CPUS - 1);
}

const char *arg_text(char **args, const char *key, const char *fallback)
{
	size_t len = strlen(key);

	for (; *args; args++)
		if (!strncmp(*args, key, len) && (*args)[len] == '=')
			return *args + len + 1;
	return fallback;
}

long arg_long(char **args, const char *key, long fallback)
{
	const char *text = arg_text(args, key, NULL);
	char *end;
	long value;

	if (!text)
		return fallback;
	errno = 0;
	value = strtol(text, &end, 0);
	if (errno || *end || end == text)
		die("%s=%s is not a number", key, text);
	return value;
}

int parse_cpus(const char *list, int *cpus, int max)
{
	int n = 0;

	while (*list) {
		char *end;
		long first = strtol(list, &end, 10), last = first;

		if (end == list)
			die("bad cpulist at '%s'", list);
		list = end;
		if (*list == '-') {
			last = strtol(list + 1, &end, 10);
			if (end == list + 1)
				die("bad cpulist at '%s'", list);
			list = end;
		}
		if (*list == ',')
			list++;
		else if (*list)
			die("bad cpulist at '%s'", list);
		for (; first <= last; first++) {
			if (n == max || first < 0 || first >= MAX_CPUS)
				die("too many CPUs");
			cpus[n++] = first;
		}
	}
	return n;
}

int cpu_write(int cpu, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return write_text(path, online ? "1" : "0");
}

static bool set_address(int fd, unsigned long what, struct ifreq *request, const char *text)
{
	struct sockaddr_in *at = (void *)&request->ifr_addr;

	memset(at, 0, sizeof(*at));
	at->sin_family = AF_INET;
	return inet_pton(AF_INET, text, &at->sin_addr) == 1 && !ioctl(fd, what, request);
}

bool interface_up(const char *name, const char *host, const char *mask)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool good;

	strncpy(request.ifr_name, name, sizeof(request.ifr_name) - 1);
	good = set_address(fd, SIOCSIFADDR, &request, host) &&
	       set_address(fd, SIOCSIFNETMASK, &request, mask);
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	good = good && !ioctl(fd, SIOCSIFFLAGS, &request);
	close(fd);
	return good;
}

void die(const char *fmt, ...)
{
	va_list ap;

	fputs("guest: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}
