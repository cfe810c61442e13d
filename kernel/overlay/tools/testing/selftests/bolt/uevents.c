// SPDX-License-Identifier: GPL-2.0-only
/* Uevents of a request, their order and their variables are the native ones. */
#include <linux/netlink.h>
#include <sys/socket.h>

#include "bolt.h"
#include "../kselftest_harness.h"

#define EVENTS_MAX 64

struct events {
	char *text[EVENTS_MAX];	/* variables, each on a line, without SEQNUM */
	int n;
};

static void events_free(struct events *events)
{
	while (events->n)
		free(events->text[--events->n]);
}

/* Reads what has arrived. */
static void events_take(int fd, struct events *events)
{
	char buf[8192], text[8192];
	ssize_t len;

	while ((len = recv(fd, buf, sizeof(buf) - 1, MSG_DONTWAIT)) > 0) {
		size_t used = 0;

		buf[len] = '\0';
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

FIXTURE(uevents) {
	int fd;
	struct events native, bolt;
};

FIXTURE_SETUP(uevents)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	const char *why = cannot_run();
	int size = 1 << 20;

	if (why)
		SKIP(return, "%s", why);
	self->fd = socket(AF_NETLINK, SOCK_DGRAM, NETLINK_KOBJECT_UEVENT);
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, setsockopt(self->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size,
				sizeof(size)));
	ASSERT_EQ(0, bind(self->fd, (struct sockaddr *)&addr, sizeof(addr)));
	ASSERT_EQ(0, start_over());
}

FIXTURE_TEARDOWN(uevents)
{
	if (cannot_run())
		return;
	events_free(&self->native);
	events_free(&self->bolt);
	close(self->fd);
	EXPECT_EQ(0, start_over());
}

static int take(int fd, bool online, struct events *events)
{
	struct events before = {};
	int err;

	events_take(fd, &before);
	events_free(&before);
	err = set_online(VICTIM, online);
	events_take(fd, events);
	return err;
}

static void compare(struct __test_metadata *_metadata,
		    const struct events *native, const struct events *bolt)
{
	ASSERT_GT(native->n, 0);
	EXPECT_EQ(native->n, bolt->n);
	for (int i = 0; i < native->n && i < bolt->n; i++)
		EXPECT_STREQ(native->text[i], bolt->text[i]);
}

TEST_F(uevents, offline)
{
	ASSERT_EQ(0, take(self->fd, false, &self->native));
	ASSERT_EQ(0, set_online(VICTIM, true));
	ASSERT_EQ(0, enable(true));
	for (int round = 0; round < 2; round++) {
		ASSERT_EQ(0, take(self->fd, false, &self->bolt));
		ASSERT_EQ(0, set_online(VICTIM, true));
		compare(_metadata, &self->native, &self->bolt);
		events_free(&self->bolt);
	}
}

TEST_F(uevents, online)
{
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_EQ(0, take(self->fd, true, &self->native));
	ASSERT_EQ(0, enable(true));
	for (int round = 0; round < 3; round++) {
		ASSERT_EQ(0, set_online(VICTIM, false));
		/* Settled in the last round: nothing is said twice. */
		if (round == 2)
			ASSERT_EQ(0, settle_all());
		ASSERT_EQ(0, take(self->fd, true, &self->bolt));
		compare(_metadata, &self->native, &self->bolt);
		events_free(&self->bolt);
	}
}

/* The removal was announced when the CPU went. */
TEST_F(uevents, settling_is_silent)
{
	ASSERT_EQ(0, enable(true));
	ASSERT_EQ(0, set_online(VICTIM, false));
	events_take(self->fd, &self->bolt);
	events_free(&self->bolt);
	ASSERT_EQ(0, settle_all());
	events_take(self->fd, &self->bolt);
	EXPECT_EQ(0, self->bolt.n)
		TH_LOG("%s", self->bolt.text[0]);
}

TEST_HARNESS_MAIN
