/* SPDX-License-Identifier: GPL-2.0-only */
/* A tracing instance of cpubolt's own, in which one request is recorded. */
#ifndef TRACE_SESSION_H
#define TRACE_SESSION_H

#include <stdbool.h>

struct trace_session;

/**
 * trace_session_open() - make the instance, and switch events on
 * @session: where the session is stored; close it with trace_session_close()
 * @bolt: whether the events of Bolt, if the kernel has any, are recorded beside those of cpuhp
 * @changing: how many CPUs the request may change, for the size of the buffers
 * @cpus: all CPU numbers of the machine are smaller
 *
 * Until trace_session_close() SIGINT, SIGTERM, SIGHUP and SIGQUIT wait, so that
 * none of these signals leaves the instance behind.
 *
 * Return: 0; -EACCES without privilege; -ENOENT without tracefs; -EOPNOTSUPP if
 * the kernel has no events of cpuhp; other negative errno.
 */
int trace_session_open(struct trace_session **session, bool bolt, unsigned int changing,
		       unsigned int cpus);

/** trace_session_begin() - begin to record, and mark the beginning of the request @what */
void trace_session_begin(struct trace_session *session, const char *what);

/** trace_session_end() - mark the end of the request @what, and record nothing any more */
void trace_session_end(struct trace_session *session, const char *what);

/** trace_session_lost() - how many events did not fit into the buffers */
unsigned long long trace_session_lost(struct trace_session *session);

/** trace_session_text() - the recording as the kernel prints it; to be freed; NULL on errors */
char *trace_session_text(struct trace_session *session);

/**
 * trace_session_save() - write the recording to the open file @fd, for trace-cmd
 *
 * Afterwards trace_session_text() has no events. Return: 0 or a negative errno.
 */
int trace_session_save(struct trace_session *session, int fd);

/** trace_session_close() - remove the instance; NULL is allowed. Return: 0 or a negative errno */
int trace_session_close(struct trace_session *session);

#endif /* TRACE_SESSION_H */
