/* SPDX-License-Identifier: GPL-2.0-only */
/* What the guest's programs share: files, ports, clocks, key=value arguments. */
#ifndef BOLT_GUEST_H
#define BOLT_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_CPUS 1024

/* File descriptors that init hands to every program it starts. */
enum { FD_RESULTS = 10, FD_TRACE = 11 };

/* Text files of sysfs, debugfs and tracefs. All return 0 or -errno. */
int write_text(const char *path, const char *text);
int append_text(const char *path, const char *text);
ssize_t read_text(const char *path, char *buf, size_t size);
int copy_to_fd(const char *path, int fd);

/* One JSON line on the results port; text is escaped by json_text(). */
void emit(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void json_text(char *out, size_t size, const char *text);
void emit_samples(const char *name, int batch, const int64_t *ns, int n);

int64_t now_ns(void);
void sleep_ms(long ms);

/* Waits between pair @i of requests and the next, @ms at least, and between the halves of pair @i. */
void gap(long ms, int i);
void turn(int i);


/* On which CPU this task may run: on that one, on any. */
void pin_to(int cpu);
void unpin(void);

/* key=value arguments: the value of @key, or @fallback. */
const char *arg_text(char **args, const char *key, const char *fallback);
long arg_long(char **args, const char *key, long fallback);
int parse_cpus(const char *list, int *cpus, int max);

/* cpuN/online */
int cpu_write(int cpu, bool online);

/* Gives a network interface its address and has it up; one that is so already stays so. */
bool interface_up(const char *name, const char *host, const char *mask);

/* Prints to stderr (the console) and exits with 1. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
