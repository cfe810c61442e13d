/* SPDX-License-Identifier: GPL-2.0-only */
/* The look at tasks before CPUs go offline */
#ifndef LOOK_H
#define LOOK_H

#include "command.h"

/**
 * look() - find tasks that must not lose their last CPU
 * @going: the CPUs that are to go offline
 * @after: the CPUs that are to be online afterwards
 * @report: is called with a sentence for each such task
 *
 * These are real-time tasks, virtual CPUs, and all tasks that may run on a CPU of
 * nohz_full=, if the task may run on CPUs of @going, and on no CPU of @after.
 * Kernel threads do not count: a kernel thread leaves with its CPU, or may move.
 *
 * Return: number of such tasks, or a negative errno if /proc cannot be read.
 */
int look(struct invocation *call, const cpu_set_t *going, const cpu_set_t *after,
	 void (*report)(const char *sentence));

/** look_is_partial() - true if look() sees only tasks of the container in which cpubolt runs */
bool look_is_partial(const struct invocation *call);

#endif /* LOOK_H */
