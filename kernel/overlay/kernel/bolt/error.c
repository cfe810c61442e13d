// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last requests that failed. request.c adds requests that have failed or were
 * refused; sysfs.c prints the last BOLT_ERRORS of these for bolt/last_error.
 */
#include <linux/build_bug.h>
#include <linux/cpu.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "error.h"
#include "state.h"

#define BOLT_ERRORS 16

/*
 * The longest line that a request can have: one number of 20 characters, and three of
 * 11.
 */
#define BOLT_ERROR_LINE							\
	(strlen("batch= pid= cpu= state= errno= undo=\n") + 20 + 3 * 11 +	\
	 BOLT_STATE_NAME - 1 + BOLT_LOST_TEXT - 1)

/**
 * struct bolt_error - a request that failed
 * @batch:	number of the request
 * @pid:	the process that asked
 * @cpu:	the CPU that failed or was refused; if none, the request's first CPU
 * @err:	negative error number
 * @state:	name of the state whose callback failed; "admission" if no callback failed
 * @lost:	CPUs that could not be put back, from bolt_error_lost(), or empty
 */
struct bolt_error {
	u64 batch;
	pid_t pid;
	unsigned int cpu;
	int err;
	char state[BOLT_STATE_NAME];
	char lost[BOLT_LOST_TEXT];
};

static struct bolt_error bolt_errors[BOLT_ERRORS];
static unsigned int bolt_nr_errors;
static DEFINE_SPINLOCK(bolt_errors_lock);

/**
 * bolt_error_add - remember a request that failed
 * @batch:	number of the request
 * @cpu:	the CPU that failed or was refused; if none, the request's first CPU
 * @state:	name of the state whose callback failed; empty if no callback has
 *		failed
 * @err:	negative error number
 * @lost:	CPUs that could not be put back, from bolt_error_lost(), or empty
 *
 * Context: the task that asked; cpu_add_remove_lock held.
 */
void bolt_error_add(u64 batch, unsigned int cpu, const char *state, int err,
		    const char *lost)
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
	strscpy(error->lost, lost, sizeof(error->lost));
	spin_unlock(&bolt_errors_lock);
}

/**
 * bolt_error_lost - add a CPU to the list of CPUs that were not put back
 * @text:	BOLT_LOST_TEXT bytes, empty before the first CPU
 * @cpu:	the CPU
 * @state:	name of the state whose callback failed when the request was undone; if
 *		none failed, of the state that the CPU has reached
 *
 * If an entry does not fit whole, "..." stands for that entry and all later ones.
 *
 * Context: any.
 */
void bolt_error_lost(char *text, unsigned int cpu, const char *state)
{
	static const char more[] = ",...";
	size_t len = strlen(text);
	int room = BOLT_LOST_TEXT - len - strlen(more);

	if (len >= strlen(more) && !strcmp(text + len - strlen(more), more))
		return;
	if (snprintf(text + len, room, "%s%u:%.*s", len ? "," : "", cpu,
		     BOLT_STATE_NAME - 1, state) >= room)
		strscpy(text + len, more, BOLT_LOST_TEXT - len);
}

/**
 * bolt_errors_emit - print the requests that failed, the oldest first
 * @buf:	a page
 *
 * Context: any that may take a spinlock.
 * Return: how many bytes were printed.
 */
int bolt_errors_emit(char *buf)
{
	unsigned int i;
	int len = 0;

	BUILD_BUG_ON(BOLT_ERRORS * BOLT_ERROR_LINE > PAGE_SIZE);
	spin_lock(&bolt_errors_lock);
	i = bolt_nr_errors > BOLT_ERRORS ? bolt_nr_errors - BOLT_ERRORS : 0;
	for (; i < bolt_nr_errors; i++) {
		const struct bolt_error *e = &bolt_errors[i % BOLT_ERRORS];

		len += sysfs_emit_at(buf, len,
				     "batch=%llu pid=%d cpu=%u state=%s errno=%d%s%s\n",
				     e->batch, e->pid, e->cpu, e->state,
				     -e->err, e->lost[0] ? " undo=" : "",
				     e->lost);
	}
	spin_unlock(&bolt_errors_lock);
	return len;
}

#include "tests/error-kunit.h"
