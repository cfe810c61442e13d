/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions that Bolt's selftests share: for sysfs files, requests, and the CPU
 * that tests use.
 */
#ifndef SELFTESTS_BOLT_H
#define SELFTESTS_BOLT_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#define CPU_DIR "/sys/devices/system/cpu/"
#define BOLT_DIR CPU_DIR "bolt/"
#define DEBUG_DIR "/sys/kernel/debug/bolt/"

/* The CPU that comes and goes: the second one, as good as any. */
#define VICTIM 1

static inline int put_bytes(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;
	int err;

	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	err = n < 0 ? -errno : (size_t)n == len ? 0 : -EIO;
	close(fd);
	return err;
}

static inline int put(const char *path, const char *text)
{
	return put_bytes(path, text, strlen(text));
}

/* Reads the first bytes of a file, without the last newline; -errno if that fails. */
static inline int get(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return n;
	if (n && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	return 0;
}

static inline bool is(const char *path, const char *wanted)
{
	char text[4096];

	return !get(path, text, sizeof(text)) && !strcmp(text, wanted);
}

static inline int enable(bool on)
{
	return put(BOLT_DIR "enabled", on ? "1" : "0");
}

static inline int settle_all(void)
{
	return put(BOLT_DIR "settle", "all");
}

static inline int set_online(int cpu, bool online)
{
	char path[128];

	snprintf(path, sizeof(path), CPU_DIR "cpu%d/online", cpu);
	return put(path, online ? "1" : "0");
}

static inline void wait_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* What the clock says, in ns. */
static inline long long clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Whether Bolt has files in debugfs. Mounts debugfs if need be. */
static inline bool debug_files(void)
{
	return !access(DEBUG_DIR, F_OK) ||
	       !mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
}

/* A number from DEBUG_DIR "stats", or -1. */
static inline long long stat_of(const char *name)
{
	FILE *file = fopen(DEBUG_DIR "stats", "r");
	long long value = -1;
	char line[128];
	size_t len = strlen(name);

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, name, len) && line[len] == ' ')
			value = atoll(line + len);
	}
	fclose(file);
	return value;
}

/* Why these tests cannot run here, or NULL. */
static inline const char *cannot_run(void)
{
	if (geteuid())
		return "needs root";
	if (access(BOLT_DIR "enabled", F_OK))
		return "the kernel has no Bolt";
	if (access(CPU_DIR "cpu1/online", F_OK))
		return "needs a second CPU that can go offline";
	return NULL;
}

/* Brings CPUs and Bolt's settings to what tests expect when they start. */
static inline int start_over(void)
{
	int err = enable(false);

	if (!err)
		err = set_online(VICTIM, true);
	if (!err)
		err = put(BOLT_DIR "settle_delay_ms", "1000");
	if (!err)
		err = put(BOLT_DIR "keep", "pressure");
	if (!err)
		err = put(BOLT_DIR "keep_affinity", "0");
	return err;
}

#endif /* SELFTESTS_BOLT_H */
