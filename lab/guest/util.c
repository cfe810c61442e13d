// SPDX-License-Identifier: GPL-2.0-only
/* Functions that the guest's programs share. */
#define _GNU_SOURCE
#include "guest.h"
#include "lib/cpulist.h"
#include "lib/online.h"
#include "lib/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int write_text(const char *path, const char *text)
{
	return put_flags(path, text, strlen(text), O_TRUNC);
}

int append_text(const char *path, const char *text)
{
	return put_flags(path, text, strlen(text), O_APPEND);
}

ssize_t read_text(const char *path, char *buf, size_t size)
{
	ssize_t n = get_all(path, buf, size - 1);

	if (n >= 0)
		buf[n] = '\0';
	return n;
}

void must_write(const char *path, const char *value)
{
	int err = write_text(path, value);

	if (err)
		die("%s: %s", path, strerror(-err));
}

int write_all(int fd, const char *buf, size_t len)
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
	n = send_text(FD_RESULTS, line, n);
	if (n)
		die("cannot send results: %s", strerror(-n));
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

/*
 * Requests in step with the tick of 4 ms would all begin in the same phase of the tick.
 * So gap() and turn() add one of 23 unequal times, in turn: gap() up to four ticks to the
 * wait between pairs, and turn() up to one tick to the wait inside a pair, which is thus
 * too short for a grace period that is not expedited.
 */
void gap(long ms, int i)
{
	wait_us(ms * 1000 + i * 7 % 23 * 695);
}

void turn(int i)
{
	wait_us(100 + i * 5 % 23 * 173);
}

void pin_to(int cpu)
{
	int err = pin(0, cpu);

	if (err)
		die("cannot pin to CPU %d: %s", cpu, strerror(-err));
}

bool named(const char *list, const char *name)
{
	size_t size = strlen(name);

	for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
		if (!strncmp(list, name, size) && (!list[size] || list[size] == ','))
			return true;
	return false;
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
	long first, last;
	int more, n = 0;

	while ((more = cpulist_next(&list, &first, &last)) > 0) {
		for (; first <= last; first++) {
			if (n == max || first >= MAX_CPUS)
				die("too many CPUs");
			cpus[n++] = first;
		}
	}
	if (more)
		die("bad cpulist at '%s'", list);
	return n;
}

int cpu_write(int cpu, bool online)
{
	char path[ONLINE_PATH_MAX];

	return write_text(online_path(cpu, path), online ? "1" : "0");
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
