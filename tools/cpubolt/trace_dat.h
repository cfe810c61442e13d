/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of trace-cmd, which KernelShark opens as well. */
#ifndef TRACE_DAT_H
#define TRACE_DAT_H

#include <stddef.h>
#include <tracefs.h>

#include "trace_events.h"

/**
 * trace_dat_write() - write what @instance has recorded to the open file @fd
 * @cpus: all CPU numbers of the machine are smaller
 * @systems: names of the event systems whose formats are written, ended by NULL
 *
 * The file has version 6 of the format, see trace-cmd.dat.v6(5). The function does not
 * use libtracecmd, because that library lets programs read such files, but not write them.
 * Afterwards the buffers of @instance are empty.
 *
 * Return: 0 or a negative errno.
 */
int trace_dat_write(int fd, struct tracefs_instance *instance, unsigned int cpus,
		    const char *const *systems);

/**
 * trace_dat_read() - read the events of the file @path, by libtracecmd
 * @events: is overwritten; free it with trace_free()
 *
 * Return: 0, -EINVAL if the file cannot be opened, is no file of trace-cmd, or has a malformed
 * event, -ENOMEM.
 */
int trace_dat_read(const char *path, struct trace_events *events);

/**
 * trace_dat_read_foreign() - as trace_dat_read(), for a file that may be damaged
 *
 * A child process reads the file, because libtracecmd may crash on such a file; the result is
 * -EINVAL then. Further errors are those of pipe2(2) and fork(2).
 */
int trace_dat_read_foreign(const char *path, struct trace_events *events);

#endif /* TRACE_DAT_H */
