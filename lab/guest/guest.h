/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the lab's programs share: reports, key=value arguments, and functions that end a
 * program when the kernel returns an error. Functions that the kernel's selftests use as well are
 * in tools/testing/selftests/bolt/lib.
 */
#ifndef BOLT_GUEST_H
#define BOLT_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/args.h"
#include "lib/clocks.h"
#include "lib/dirs.h"
#include "lib/files.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_CPUS 1024

/* File descriptors that init hands to every program it starts. */
enum { FD_RESULTS = 10, FD_TRACE = 11 };

/* Opens the files for results and traces, as FD_RESULTS and FD_TRACE; returns false on failure. */
bool place_channels(void);

/* Opens the file that takes the kernel's log; returns -1 if the guest has no such file. */
int open_log(void);

/* Sends @len bytes, none of which is zero, to one of these files. Returns 0 or -errno. */
int send_text(int fd, const char *buf, size_t len);

/*
 * Functions that write and read files that exist. All return -errno on failure; on success
 * read_text() returns the length of the text, and all others return 0.
 */
int write_text(const char *path, const char *text);
int append_text(const char *path, const char *text);
ssize_t read_text(const char *path, char *buf, size_t size);
int write_all(int fd, const char *buf, size_t len);
int copy_to_fd(const char *path, int fd);

/* Does what write_text() does, and ends the program if the write fails. */
void must_write(const char *path, const char *value);

/* Sends one JSON line as a result; json_text() escapes a text for such a line. */
void emit(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void json_text(char *out, size_t size, const char *text);
void emit_samples(const char *name, int batch, const int64_t *ns, int n);

/*
 * gap() waits between pair @i of requests and the next pair, for @ms at least; turn()
 * waits between the two requests of pair @i.
 */
void gap(long ms, int i);
void turn(int i);

/* Allows this task CPU @cpu only. */
void pin_to(int cpu);

/* Returns the value of @key, a number, or @fallback if @args, which end with NULL, lack @key. */
long arg_long(char **args, const char *key, long fallback);
int parse_cpus(const char *list, int *cpus, int max);

/* Tells whether @list, which has commas between names and may be NULL, has @name. */
bool named(const char *list, const char *name);

/* Writes to cpuN/online. Returns 0 or -errno. */
int cpu_write(int cpu, bool online);

/* Prints to stderr (the console) and exits with 1. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
