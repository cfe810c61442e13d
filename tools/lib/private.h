/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of libcpubolt use of each other. Nothing of this is exported. */
#ifndef CPUBOLT_PRIVATE_H
#define CPUBOLT_PRIVATE_H

#include <sys/types.h>

#include "cpubolt.h"

/* No machine has as many CPU numbers: what says otherwise is not sysfs. */
#define CPU_NUMBERS_MAX (1U << 20)
/* Most that one write() to a file of sysfs may have: the kernel takes one page, less one byte. */
size_t sysfs_write_max(void);

/* -- sysfs.c: files below a directory -------------------------------------- */

/* The largest file of sysfs that is read: lists of many CPUs may be longer than a page. */
#define SYSFS_READ_MAX (1U << 18)

/**
 * sysfs_read() - read the whole file @name below the directory @dir
 * @text: contents, with a NUL behind; to be freed with free()
 *
 * Return: the length, or a negative errno; -EFBIG if the file is longer than @max bytes.
 */
ssize_t sysfs_read(int dir, const char *name, size_t max, char **text);

/** sysfs_line() - read the first line of @name, without its end; -EMSGSIZE if longer than @size */
int sysfs_line(int dir, const char *name, char *line, size_t size);

/** sysfs_number() - read a decimal number, negative ones included; -EINVAL if it is none */
int sysfs_number(int dir, const char *name, long long *number);

/** sysfs_write() - write @size bytes to @name with one write(); -EIO if the kernel took fewer */
int sysfs_write(int dir, const char *name, const void *data, size_t size);

/** sysfs_open() - open the directory @name below @dir; a descriptor or a negative errno */
int sysfs_open(int dir, const char *name);

/* -- set.c: sets of CPUs, whatever the machine ------------------------------ */

/** A set of CPUs, and how many CPU numbers it can have */
struct set {
	cpu_set_t *cpus;
	size_t size;		/* bytes */
	unsigned int numbers;
};

/**
 * set_parse_list() - read a cpulist into @set
 * @possible: the CPU numbers that there are, and what "all" means; NULL for every one of @set
 *
 * Errors: -EINVAL, -ERANGE; @set is then empty, and @error_at has where.
 */
int set_parse_list(const struct set *set, const cpu_set_t *possible, const char *text,
		   size_t *error_at);

/** set_parse_mask() - read a mask in hexadecimal digits; else as set_parse_list() */
int set_parse_mask(const struct set *set, const char *text, size_t *error_at);

/** set_format_list() - a cpulist, to be freed with free(); NULL without memory */
char *set_format_list(const struct set *set);

/** set_format_mask() - a mask in groups of 32 bits; else as set_format_list() */
char *set_format_mask(const struct set *set);

/** set_next() - the lowest CPU of @cpus from @cpu on, or @numbers if there is none */
unsigned int set_next(const cpu_set_t *cpus, unsigned int numbers, unsigned int cpu);

#endif /* CPUBOLT_PRIVATE_H */
