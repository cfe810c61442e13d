/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of uevents, in the order in which the kernel has sent them, and their comparison. */
#ifndef SELFTESTS_BOLT_EVENTS_H
#define SELFTESTS_BOLT_EVENTS_H

#include <linux/netlink.h>
#include <sys/socket.h>

#include "bolt.h"

#define EVENTS_MAX 128

struct events {
	char *text[EVENTS_MAX];	/* the event's strings, each on a line, without SEQNUM */
	int n;
};

static inline void events_free(struct events *events)
{
	while (events->n)
		free(events->text[--events->n]);
}

/* Opens a socket that receives uevents, or returns -errno. */
static inline int events_open(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC,
			NETLINK_KOBJECT_UEVENT);
	int size = 1 << 20;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* Reads all events that have arrived. */
static inline void events_take(int fd, struct events *events)
{
	char buf[8192], text[8192];
	ssize_t len;

	while ((len = recv(fd, buf, sizeof(buf) - 1, MSG_DONTWAIT)) > 0) {
		size_t used = 0;

		buf[len] = '\0';
		text[0] = '\0';
		for (char *var = buf; var < buf + len; var += strlen(var) + 1) {
			if (!strncmp(var, "SEQNUM=", 7))
				continue;
			used += snprintf(text + used, sizeof(text) - used,
					 "%s\n", var);
			if (used >= sizeof(text))
				abort();
		}
		if (events->n == EVENTS_MAX)
			abort();
		events->text[events->n++] = strdup(text);
	}
}

/* Drops all events that have arrived. */
static inline void events_drop(int fd)
{
	char buf[8192];

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
}

/* Returns the first event in which @a and @b differ, or NULL. */
static inline const char *events_differ(const struct events *a,
					const struct events *b)
{
	for (int i = 0; i < a->n || i < b->n; i++) {
		if (i >= a->n)
			return b->text[i];
		if (i >= b->n || strcmp(a->text[i], b->text[i]))
			return a->text[i];
	}
	return NULL;
}

#endif /* SELFTESTS_BOLT_EVENTS_H */
