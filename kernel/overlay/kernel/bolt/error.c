// SPDX-License-Identifier: GPL-2.0-only
/* What failed: the last requests that did, for bolt/last_error. */
#include <linux/cpu.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>

#include "internal.h"

#define BOLT_ERRORS 16

/**
 * struct bolt_error - a request that failed
 * @batch:	its number
 * @pid:	who asked
 * @cpu:	the CPU that failed
 * @err:	negative error number
 * @state:	name of the state
 */
struct bolt_error {
	u64 batch;
	pid_t pid;
	unsigned int cpu;
	int err;
	char state[BOLT_STATE_NAME];
};

static struct bolt_error bolt_errors[BOLT_ERRORS];
static unsigned int bolt_nr_errors;
static DEFINE_SPINLOCK(bolt_errors_lock);

/**
 * bolt_error_add - remember a request that failed
 * @batch:	its number
 * @cpu:	the CPU that failed
 * @state:	name of the state whose callback did; empty if none had run
 * @err:	negative error number
 *
 * Context: the task that asked; cpu_add_remove_lock held.
 */
void bolt_error_add(u64 batch, unsigned int cpu, const char *state, int err)
{
	struct bolt_error *error;

	spin_lock(&bolt_errors_lock);
	error = &bolt_errors[bolt_nr_errors++ % BOLT_ERRORS];
	error->batch = batch;
	error->pid = task_tgid_nr(current);
	error->cpu = cpu;
	error->err = err;
	strscpy(error->state, state[0] ? state : "admission",
		sizeof(error->state));
	spin_unlock(&bolt_errors_lock);
}

/**
 * bolt_errors_emit - print what failed, the oldest first
 * @buf:	a page
 *
 * Context: any that may take a spinlock.
 * Return: how many bytes.
 */
int bolt_errors_emit(char *buf)
{
	unsigned int i;
	int len = 0;

	spin_lock(&bolt_errors_lock);
	i = bolt_nr_errors > BOLT_ERRORS ? bolt_nr_errors - BOLT_ERRORS : 0;
	for (; i < bolt_nr_errors; i++) {
		const struct bolt_error *e = &bolt_errors[i % BOLT_ERRORS];

		len += sysfs_emit_at(buf, len,
				     "batch=%llu pid=%d cpu=%u state=%s errno=%d\n",
				     e->batch, e->pid, e->cpu, e->state,
				     -e->err);
	}
	spin_unlock(&bolt_errors_lock);
	return len;
}
