// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts that are in flight to a CPU that goes are handled once each, on a CPU that
 * is online, whatever happens next to the CPU that goes; and free_irq() returns. A module
 * of the lab sends interrupts to CPUs in the stop (stop_machine()) in which the CPUs go,
 * and with Bolt also shortly after the stop.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "bolt.h"
#include "lib/place.h"
#include "wire.h"
#include "../kselftest_harness.h"

#define VECTORS "/sys/module/vectors/parameters/"
#define COUNT 64
#define LAST 3

/*
 * With Bolt a CPU that has gone looks for interrupts in flight. A test waits for this
 * time, so that the look is over: the look takes less time, even on kernels with many
 * checks.
 */
#define LOOKED_MS 50

static int vectors(const char *what, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), VECTORS "%s", what);
	return put(path, value);
}

static long vectors_number(const char *what)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), VECTORS "%s", what);
	return get(path, text, sizeof(text)) ? -1 : atol(text);
}

static int all_online(void)
{
	int err = 0;

	for (int cpu = VICTIM; cpu <= LAST; cpu++)
		err = set_online(cpu, true) ?: err;
	return err;
}

FIXTURE(flight) {
	struct busy busy;
	bool begun;
};

FIXTURE_VARIANT(flight) {
	bool bolt, level;
	const char *park;
};

FIXTURE_VARIANT_ADD(flight, native) { .bolt = false };
FIXTURE_VARIANT_ADD(flight, edge) { .bolt = true, .park = "warm" };
FIXTURE_VARIANT_ADD(flight, level) { .bolt = true, .park = "warm", .level = true };
FIXTURE_VARIANT_ADD(flight, cold) { .bolt = true, .park = "cold" };

FIXTURE_SETUP(flight)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	if (access(VECTORS, F_OK))
		SKIP(return, "needs a module that only the lab has");
	if (access(CPU_DIR "cpu3/online", F_OK))
		SKIP(return, "needs 4 CPUs");
	ASSERT_EQ(0, pin(0, 0));
	ASSERT_EQ(0, start_over());
	ASSERT_EQ(0, all_online());
	ASSERT_EQ(0, vectors("flying", "0"));
	ASSERT_EQ(0, vectors("level", variant->level ? "1" : "0"));
	/* Natively a CPU does not look for interrupts after the stop in which the CPU goes. */
	ASSERT_EQ(0, vectors("late", variant->bolt ? "1" : "0"));
	ASSERT_EQ(0, vectors("renew", "1"));
	if (variant->bolt) {
		ASSERT_EQ(0, enable(true));
		ASSERT_EQ(0, put(BOLT_DIR "park", variant->park));
	}
	ASSERT_EQ(0, busy_start(&self->busy));
	self->begun = true;
	ASSERT_EQ(0, vectors("gather", "1"));
	ASSERT_EQ(COUNT, vectors_number("gathered"));
	ASSERT_EQ(0, vectors_number("wrong"));
	ASSERT_EQ(0, vectors("flying", "0x2"));
}

FIXTURE_TEARDOWN(flight)
{
	if (!self->begun)
		return;
	busy_stop(&self->busy);
	EXPECT_EQ(0, vectors("flying", "0"));
	if (variant->bolt)
		EXPECT_EQ(0, put(BOLT_DIR "park", "warm"));
	EXPECT_EQ(0, start_over());
	EXPECT_EQ(0, all_online());
	EXPECT_EQ(0, vectors_number("wrong"));
}

TEST_F_TIMEOUT(flight, handled_once, 300)
{
	ASSERT_EQ(0, set_online(VICTIM, false));
	wait_ms(LOOKED_MS);
	EXPECT_EQ(COUNT, vectors_number("flown"));
	EXPECT_EQ(0, vectors_number("wrong"));
	/*
	 * An interrupt that a CPU still has in its APIC when the CPU returns is not
	 * handled again.
	 */
	ASSERT_EQ(0, set_online(VICTIM, true));
	wait_ms(LOOKED_MS);
	EXPECT_EQ(0, vectors_number("wrong"));
	EXPECT_EQ(0, vectors("raise", "1"));
	wait_ms(LOOKED_MS);
	EXPECT_EQ(0, vectors_number("wrong"));
}

TEST_F_TIMEOUT(flight, back_at_once, 300)
{
	for (int i = 0; i < 10; i++) {
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_EQ(0, set_online(VICTIM, true));
		wait_ms(LOOKED_MS);
		EXPECT_EQ(0, vectors_number("wrong"));
		EXPECT_EQ((i + 1) * COUNT, vectors_number("flown"));
		ASSERT_EQ(0, vectors("gather", "1"));
		ASSERT_EQ(COUNT, vectors_number("gathered"));
	}
}

/*
 * The interrupts move to CPUs that go as well. With Bolt the CPU that went first may not
 * have looked for interrupts yet when the next CPU goes.
 */
TEST_F_TIMEOUT(flight, moved_again, 300)
{
	for (int cpu = VICTIM; cpu <= LAST; cpu++)
		ASSERT_EQ(0, set_online(cpu, false));
	wait_ms(LOOKED_MS);
	EXPECT_EQ(COUNT, vectors_number("flown"));
	EXPECT_EQ(0, vectors_number("wrong"));
}

TEST_F_TIMEOUT(flight, several_cpus, 300)
{
	if (!variant->bolt)
		SKIP(return, "natively CPUs go one by one");
	ASSERT_EQ(0, put(BOLT_DIR "offline", "1-3"));
	wait_ms(LOOKED_MS);
	EXPECT_EQ(COUNT, vectors_number("flown"));
	EXPECT_EQ(0, vectors_number("wrong"));
	ASSERT_EQ(0, put(BOLT_DIR "online", "1-3"));
	EXPECT_EQ(0, vectors_number("wrong"));
}

/* The CPU is settled right after it has gone, as suspend and kexec settle parked CPUs. */
TEST_F_TIMEOUT(flight, natively_dead_at_once, 300)
{
	ASSERT_EQ(0, set_online(VICTIM, false));
	if (variant->bolt)
		EXPECT_EQ(0, settle_all());
	EXPECT_EQ(0, enable(false));
	wait_ms(LOOKED_MS);
	EXPECT_EQ(COUNT, vectors_number("flown"));
	EXPECT_EQ(0, vectors_number("wrong"));
}

/*
 * An interrupt that is freed while it is in flight does not reach the handler of the
 * interrupt that gets its vector next.
 */
TEST_F_TIMEOUT(flight, freed_at_once, 300)
{
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_EQ(0, vectors("renew", "1"));
		wait_ms(LOOKED_MS);
		EXPECT_EQ(0, vectors_number("wrong"));
		ASSERT_EQ(0, set_online(VICTIM, true));
		ASSERT_EQ(0, vectors("gather", "1"));
		ASSERT_EQ(COUNT, vectors_number("gathered"));
		EXPECT_EQ(0, vectors_number("wrong"));
	}
}

/*
 * The network card interrupts by a line of the IO-APIC, not by messages. The line is
 * level-triggered, so that no interrupt arrives after a lost one.
 */
FIXTURE(line) {
	struct busy busy;
	bool begun;
	int echo;
	char device[64];
};

static int line_connect(void)
{
	struct timeval patience = { .tv_sec = 10 };
	int fd = nic_up() ? -1 : echo_open();

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

FIXTURE_SETUP(line)
{
	const char *why = cannot_run() ?: no_nic();

	if (why)
		SKIP(return, "%s", why);
	snprintf(self->device, sizeof(self->device), "%s", virtio_name(nic_device()));
	ASSERT_STRNE("", self->device);
	if (irq_named(self->device) < 0)
		SKIP(return, "needs pci=nomsi");
	ASSERT_EQ(0, pin(0, 0));
	ASSERT_EQ(0, start_over());
	ASSERT_EQ(0, enable(true));
	ASSERT_EQ(0, busy_start(&self->busy));
	self->begun = true;
	self->echo = line_connect();
	ASSERT_LE(0, self->echo);
}

FIXTURE_TEARDOWN(line)
{
	if (!self->begun)
		return;
	if (self->echo >= 0)
		close(self->echo);
	busy_stop(&self->busy);
	EXPECT_EQ(0, start_over());
}

/* Sends without a wait for the answer, so that interrupts are on their way. */
static bool send_some(int fd, char c)
{
	return send(fd, &c, 1, MSG_NOSIGNAL) == 1;
}

static bool answered(int fd, char c)
{
	char back = 0;

	return recv(fd, &back, 1, 0) == 1 && back == c;
}

/* Binds the driver to the device again, and makes a new connection. */
static int line_bind(const char *device, int *fd, char c)
{
	int err = put(DRIVER "bind", device);

	if (err)
		return err;
	close(*fd);
	*fd = line_connect();
	return *fd < 0 ? *fd : echo(*fd, c, 100);
}

TEST_F_TIMEOUT(line, goes_on, 600)
{
	for (int i = 0; i < 100; i++) {
		ASSERT_EQ(0, put(irq_file(irq_named(self->device), "smp_affinity_list"),
				 "1"));
		ASSERT_EQ(0, echo(self->echo, i, 100));
		ASSERT_TRUE(send_some(self->echo, i));
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_TRUE(answered(self->echo, i)) TH_LOG("request %d", i);
		ASSERT_EQ(0, echo(self->echo, i, 100)) TH_LOG("request %d", i);
		ASSERT_EQ(0, set_online(VICTIM, true));
	}
}

TEST_F_TIMEOUT(line, freed_at_once, 600)
{
	for (int i = 0; i < 20; i++) {
		ASSERT_EQ(0, put(irq_file(irq_named(self->device), "smp_affinity_list"),
				 "1"));
		ASSERT_EQ(0, echo(self->echo, i, 100));
		ASSERT_TRUE(send_some(self->echo, i));
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_EQ(0, put(DRIVER "unbind", self->device));
		ASSERT_EQ(0, set_online(VICTIM, true));
		ASSERT_EQ(0, line_bind(self->device, &self->echo, i));
	}
}

/*
 * The CPU to which the interrupt has moved goes as well, while the driver resets the
 * device and frees the interrupt. Before the driver of virtio calls free_irq(), which
 * waits for the interrupt, the driver waits for the interrupt too.
 */
TEST_F_TIMEOUT(line, freed_while_the_next_goes, 600)
{
	if (access(CPU_DIR "cpu2/online", F_OK))
		SKIP(return, "needs 3 CPUs");
	for (int i = 0; i < 20; i++) {
		const char *file = irq_file(irq_named(self->device), "smp_affinity_list");
		int status;
		pid_t pid;

		ASSERT_EQ(0, put(file, "1"));
		ASSERT_EQ(0, echo(self->echo, i, 100));
		ASSERT_EQ(0, put(file, "1-2"));
		ASSERT_TRUE(send_some(self->echo, i));
		ASSERT_EQ(0, set_online(VICTIM, false));
		pid = fork();
		if (!pid)
			_exit(put(DRIVER "unbind", self->device) ? 1 : 0);
		ASSERT_EQ(0, set_online(VICTIM + 1, false));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
		ASSERT_EQ(0, all_online());
		ASSERT_EQ(0, line_bind(self->device, &self->echo, i));
	}
}

TEST_HARNESS_MAIN
