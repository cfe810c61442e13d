// SPDX-License-Identifier: GPL-2.0-only
/* Records one request, by libtracefs. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracefs.h>

#include "command.h"
#include "trace_dat.h"
#include "trace_events.h"
#include "trace_session.h"

/*
 * A CPU that comes or goes makes some 100 events of 40 bytes. The kernel records
 * about half of these, or more, on the CPU that carries the request out. That can be
 * any CPU, so the buffer of each CPU has room for all events, and LEAST_KB at least,
 * as far as MOST_KB allows.
 */
#define KB_FOR_A_CPU	8
#define LEAST_KB	512
#define MOST_KB		(1u << 20)	/* all buffers together */

struct trace_session {
	struct tracefs_instance *instance;
	sigset_t old_signals;
	unsigned int cpus;
	bool bolt;
};

static const char *const systems_with_bolt[] = { "bolt", "cpuhp", NULL };
static const char *const systems_without[] = { "cpuhp", NULL };

static const char *const *systems_of(const struct trace_session *session)
{
	return session->bolt ? systems_with_bolt : systems_without;
}

/* The error of a call of libtracefs, which does not always set errno. */
static int last_error(void)
{
	return -(errno ?: EIO);
}

static unsigned int buffer_kb(unsigned int changing, unsigned int cpus)
{
	unsigned int kb = changing * KB_FOR_A_CPU, most = MOST_KB / cpus;

	if (kb < LEAST_KB)
		kb = LEAST_KB;
	return kb < most ? kb : most;
}

static int set_up(struct trace_session *session, unsigned int changing)
{
	const char *const *systems = systems_of(session);
	unsigned int kb = buffer_kb(changing, session->cpus);

	tracefs_trace_off(session->instance);
	/* This clock is the same on all CPUs, and counts nanoseconds. */
	if (tracefs_instance_file_write(session->instance, "trace_clock", "mono") < 0)
		return last_error();
	if (tracefs_instance_set_buffer_size(session->instance, kb, -1) < 0)
		return last_error();
	for (size_t i = 0; systems[i]; i++)
		if (tracefs_event_enable(session->instance, systems[i], NULL) < 0)
			return last_error();
	if (tracefs_print_init(session->instance) < 0)
		return last_error();
	return 0;
}

int trace_session_open(struct trace_session **session, bool bolt, unsigned int changing,
		       unsigned int cpus)
{
	struct trace_session *made;
	const char *dir;
	char name[32];
	int error;

	*session = NULL;
	tracefs_set_loglevel(TEP_LOG_NONE);
	errno = 0;
	dir = tracefs_tracing_dir();
	if (!dir)
		return errno == EACCES || errno == EPERM ? -EACCES : -ENOENT;
	if (access(dir, R_OK | X_OK))
		return -errno;
	if (!tracefs_dir_exists(NULL, "events/cpuhp"))
		return -EOPNOTSUPP;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->cpus = cpus;
	made->bolt = bolt && tracefs_dir_exists(NULL, "events/bolt");
	snprintf(name, sizeof(name), "cpubolt-%d", getpid());
	hold_signals(&made->old_signals);
	errno = 0;
	made->instance = tracefs_instance_create(name);
	error = made->instance ? set_up(made, changing) : last_error();
	if (error) {
		trace_session_close(made);
		return error == -EPERM ? -EACCES : error;
	}
	*session = made;
	return 0;
}

/* "I|PID|" makes the mark an instant event of Perfetto, which takes other text for an error. */
static void print_mark(struct trace_session *session, const char *mark, const char *what)
{
	tracefs_printf(session->instance, "I|%d|%s%s", getpid(), mark, what);
}

void trace_session_begin(struct trace_session *session, const char *what)
{
	tracefs_trace_on(session->instance);
	print_mark(session, TRACE_MARK_BEGIN, what);
}

void trace_session_end(struct trace_session *session, const char *what)
{
	print_mark(session, TRACE_MARK_END, what);
	tracefs_trace_off(session->instance);
}

/* Reads the number that stands behind @key, as in "overrun: 0" or "dropped events: 0". */
static unsigned long long lost_in(const char *stats, const char *key)
{
	const char *place = strstr(stats, key);

	return place ? strtoull(place + strlen(key), NULL, 10) : 0;
}

unsigned long long trace_session_lost(struct trace_session *session)
{
	unsigned long long lost = 0;
	char path[64], *stats;

	for (unsigned int cpu = 0; cpu < session->cpus; cpu++) {
		snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", cpu);
		stats = tracefs_instance_file_read(session->instance, path, NULL);
		if (stats)
			lost += lost_in(stats, "\noverrun: ") +
				lost_in(stats, "\ndropped events: ");
		free(stats);
	}
	return lost;
}

char *trace_session_text(struct trace_session *session)
{
	return tracefs_instance_file_read(session->instance, "trace", NULL);
}

int trace_session_save(struct trace_session *session, int fd)
{
	return trace_dat_write(fd, session->instance, session->cpus, systems_of(session));
}

int trace_session_close(struct trace_session *session)
{
	int error = 0;

	if (!session)
		return 0;
	if (session->instance) {
		tracefs_print_close(session->instance);
		errno = 0;
		if (tracefs_instance_destroy(session->instance) < 0)
			error = last_error();
		tracefs_instance_free(session->instance);
	}
	sigprocmask(SIG_SETMASK, &session->old_signals, NULL);
	free(session);
	return error;
}
