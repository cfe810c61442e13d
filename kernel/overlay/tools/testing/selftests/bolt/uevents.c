// SPDX-License-Identifier: GPL-2.0-only
/* Uevents of a request, their order and their variables, except SEQNUM, are the native ones. */
#define _GNU_SOURCE
#include "events.h"
#include "../kselftest_harness.h"

FIXTURE(uevents) {
	int fd;
	struct events native, bolt;
};

FIXTURE_SETUP(uevents)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	self->fd = events_open();
	ASSERT_GE(self->fd, 0);
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
	int err;

	events_drop(fd);
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
		/* A CPU that was settled sends the same events when it returns, none twice. */
		if (round == 2)
			ASSERT_EQ(0, settle_all());
		ASSERT_EQ(0, take(self->fd, true, &self->bolt));
		compare(_metadata, &self->native, &self->bolt);
		events_free(&self->bolt);
	}
}

/*
 * Settling removes sysfs entries and devices of the CPU, but sends no uevents: the kernel
 * sent the uevents of this removal when the CPU went.
 */
TEST_F(uevents, settling_is_silent)
{
	ASSERT_EQ(0, enable(true));
	ASSERT_EQ(0, set_online(VICTIM, false));
	events_drop(self->fd);
	ASSERT_EQ(0, settle_all());
	events_take(self->fd, &self->bolt);
	EXPECT_EQ(0, self->bolt.n)
		TH_LOG("%s", self->bolt.text[0]);
}

/* How many events the kernel has counted. */
static long long counted(void)
{
	char text[32] = "";

	get("/sys/kernel/uevent_seqnum", text, sizeof(text));
	return atoll(text);
}

/* An event is counted whether a task listens or not. */
TEST_F(uevents, unheard_events_are_counted)
{
	long long heard[2], unheard[2], before;

	ASSERT_EQ(0, enable(true));
	for (int online = 0; online < 2; online++) {
		before = counted();
		ASSERT_EQ(0, take(self->fd, online, &self->bolt));
		heard[online] = counted() - before;
		EXPECT_EQ(self->bolt.n, heard[online]);
		events_free(&self->bolt);
	}
	close(self->fd);
	for (int online = 0; online < 2; online++) {
		before = counted();
		ASSERT_EQ(0, set_online(VICTIM, online));
		unheard[online] = counted() - before;
	}
	/* A task that listens again receives the events that come then. */
	self->fd = events_open();
	ASSERT_GE(self->fd, 0);
	for (int online = 0; online < 2; online++)
		EXPECT_EQ(heard[online], unheard[online]);
	ASSERT_EQ(0, take(self->fd, false, &self->bolt));
	EXPECT_EQ(heard[0], self->bolt.n);
}

TEST_HARNESS_MAIN
