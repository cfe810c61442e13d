/* SPDX-License-Identifier: GPL-2.0-only */
/* What a reader of measured times has to know of the machine. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include "bench_data.h"
#include "command.h"

/**
 * bench_machine_read() - fill @machine from uname(2), and sysfs and procfs below call->root
 *
 * invocation_open() has to come first. On x86, if call->root is "", the CPU itself is asked for its
 * hypervisor. A text that cannot be found out is ""; accel is "hardware" if no hypervisor shows.
 */
void bench_machine_read(const struct invocation *call, struct bench_machine *machine);

#endif /* BENCH_MACHINE_H */
