// SPDX-License-Identifier: GPL-2.0-only
/* irq_keep: which interrupts Bolt moves to which CPUs, and which interrupts Bolt leaves alone. */
#define _GNU_SOURCE
#include "bolt.h"
#include "wire.h"
#include "../kselftest_harness.h"

#define KEEP BOLT_DIR "irq_keep"
/* Two more CPUs that come and go. */
#define OTHER 2
#define ISOLATED 3

FIXTURE(irqs) {
	struct busy busy;
	int echo;
	int irq;		/* the interrupt of the card's receiving queue */
	char affinity[256];	/* the affinity of @irq before the test */
};

FIXTURE_SETUP(irqs)
{
	const char *why = cannot_run() ?: no_nic();

	self->echo = -1;
	if (why)
		SKIP(return, "%s", why);
	if (!cpu_is_online(OTHER) || !cpu_is_online(ISOLATED))
		SKIP(return, "needs 4 CPUs");
	ASSERT_EQ(0, start_over());
	ASSERT_EQ(0, put(KEEP, "\n"));
	ASSERT_EQ(0, enable(true));
	ASSERT_EQ(0, busy_start(&self->busy));
	ASSERT_EQ(0, nic_up());
	self->echo = echo_open();
	ASSERT_LE(0, self->echo);
	self->irq = irq_of(nic_device(), "input.0");
	ASSERT_LT(0, self->irq);
	ASSERT_EQ(0, get(irq_file(self->irq, "smp_affinity_list"),
			 self->affinity, sizeof(self->affinity)));
}

FIXTURE_TEARDOWN(irqs)
{
	if (self->echo < 0)
		return;
	close(self->echo);
	busy_stop(&self->busy);
	EXPECT_EQ(0, put(KEEP, "\n"));
	EXPECT_EQ(0, start_over());
	EXPECT_EQ(0, set_online(OTHER, true));
	EXPECT_EQ(0, set_online(ISOLATED, true));
	self->irq = irq_of(nic_device(), "input.0");
	EXPECT_EQ(0, put(irq_file(self->irq, "smp_affinity_list"),
			 self->affinity));
}

/*
 * Whether @irq soon goes to just @cpus. Some interrupt chips move an interrupt only when it
 * arrives, and begin no other move of the interrupt before that move is done. So this function
 * makes interrupts arrive: those of the network card, or of the console if @echo_fd is -1.
 */
static bool arrives_on(int echo_fd, int irq, const char *cpus)
{
	for (int i = 0; i < 200; i++) {
		if (i >= 5 && is(irq_file(irq, "effective_affinity_list"), cpus))
			return true;
		if (echo_fd < 0 ? write(2, ".", 1) != 1 : echo(echo_fd, i, 100))
			return false;
		wait_ms(1);
	}
	return false;
}

TEST_F_TIMEOUT(irqs, malformed_is_refused, 300)
{
	static const char *const bad[] = {
		"x", "1-", "-1", "2-1", "1,,\xc3\xa9", "99999",
		"0-99999999999999", "1 x",
	};
	size_t page = sysconf(_SC_PAGESIZE);
	char *list = malloc(page + 2);

	ASSERT_NE(NULL, list);
	memset(list, ',', page + 2);
	list[0] = '2';
	ASSERT_EQ(0, put(KEEP, "1"));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, put(KEEP, bad[i]))
			TH_LOG("'%s'", bad[i]);
	}
	EXPECT_EQ(-E2BIG, put_bytes(KEEP, list, page));
	EXPECT_EQ(-E2BIG, put_bytes(KEEP, list, page + 2));
	free(list);
	/* At least one CPU of the list in irq_keep must be online. */
	ASSERT_EQ(0, set_online(OTHER, false));
	EXPECT_EQ(-EINVAL, put(KEEP, "2"));
	EXPECT_TRUE(is(KEEP, "1"));
	EXPECT_TRUE(arrives_on(self->echo, self->irq, "1"));
	EXPECT_EQ(0, put(KEEP, "1-2"));
	EXPECT_TRUE(is(KEEP, "1-2"));
	EXPECT_TRUE(arrives_on(self->echo, self->irq, "1"));
}

TEST_F_TIMEOUT(irqs, its_cpus_stay, 300)
{
	ASSERT_EQ(0, put(KEEP, "1"));
	EXPECT_EQ(-EBUSY, set_online(VICTIM, false));
	EXPECT_TRUE(cpu_is_online(VICTIM));
	EXPECT_EQ(0, set_online(OTHER, false));
	EXPECT_EQ(0, set_online(OTHER, true));
	ASSERT_EQ(0, put(KEEP, "\n"));
	EXPECT_TRUE(is(KEEP, ""));
	EXPECT_EQ(0, set_online(VICTIM, false));
}

/* irq_keep changes the effective affinity of interrupts, and leaves smp_affinity as it is. */
TEST_F_TIMEOUT(irqs, only_the_effective_affinity, 300)
{
	int output = irq_of(nic_device(), "output.0");
	char configured[256], before[256];

	ASSERT_LT(0, output);
	ASSERT_EQ(0, put(irq_file(self->irq, "smp_affinity_list"), "2"));
	EXPECT_TRUE(arrives_on(self->echo, self->irq, "2"));
	ASSERT_EQ(0, get(irq_file(output, "smp_affinity_list"), configured,
			 sizeof(configured)));
	ASSERT_EQ(0, get(irq_file(output, "effective_affinity_list"), before,
			 sizeof(before)));

	/* irq_keep gets a CPU on which the interrupt of the transmitting queue is not yet. */
	ASSERT_EQ(0, put(KEEP, strcmp(before, "1") ? "1" : "0"));
	EXPECT_TRUE(arrives_on(self->echo, self->irq,
			       strcmp(before, "1") ? "1" : "0"));
	EXPECT_TRUE(arrives_on(self->echo, output,
			       strcmp(before, "1") ? "1" : "0"));
	EXPECT_TRUE(is(irq_file(self->irq, "smp_affinity_list"), "2"));
	EXPECT_TRUE(is(irq_file(output, "smp_affinity_list"), configured));

	ASSERT_EQ(0, put(KEEP, "\n"));
	EXPECT_TRUE(arrives_on(self->echo, self->irq, "2"));
	EXPECT_TRUE(arrives_on(self->echo, output, before));
	EXPECT_TRUE(is(irq_file(self->irq, "smp_affinity_list"), "2"));
	EXPECT_TRUE(is(irq_file(output, "smp_affinity_list"), configured));
}

/*
 * Returns the interrupt of the serial console, or -1. Tests that set an affinity before CPUs go
 * use this interrupt: when a CPU goes, the network card's driver places the card's interrupts anew.
 */
static int tty_irq(void)
{
	int irq = irq_named("ttyS0");

	return irq < 0 ? irq_named("uart-pl011") : irq;
}

/*
 * Natively an interrupt loses its affinity when the last CPU of the affinity goes. An
 * interrupt that irq_keep has moved keeps its affinity.
 */
TEST_F_TIMEOUT(irqs, what_is_configured_outlives_its_cpu, 300)
{
	int tty = tty_irq();

	if (tty < 0)
		SKIP(return, "needs a serial console");
	ASSERT_EQ(0, put(irq_file(tty, "smp_affinity_list"), "2"));
	EXPECT_TRUE(arrives_on(-1, tty, "2"));
	ASSERT_EQ(0, put(KEEP, "1"));
	EXPECT_TRUE(arrives_on(-1, tty, "1"));
	ASSERT_EQ(0, set_online(OTHER, false));
	EXPECT_TRUE(is(irq_file(tty, "smp_affinity_list"), "2"));
	EXPECT_TRUE(arrives_on(-1, tty, "1"));
	ASSERT_EQ(0, set_online(OTHER, true));
	ASSERT_EQ(0, put(KEEP, "\n"));
	EXPECT_TRUE(arrives_on(-1, tty, "2"));
	EXPECT_TRUE(is(irq_file(tty, "smp_affinity_list"), "2"));
	ASSERT_EQ(0, put(irq_file(tty, "smp_affinity_list"), "0-3"));
}

TEST_F_TIMEOUT(irqs, the_user_wins, 300)
{
	ASSERT_EQ(0, put(KEEP, "1"));
	EXPECT_TRUE(arrives_on(self->echo, self->irq, "1"));
	/* A write that is refused does not exempt the interrupt from irq_keep. */
	EXPECT_EQ(-EINVAL, put(irq_file(self->irq, "smp_affinity"), "0"));
	EXPECT_TRUE(arrives_on(self->echo, self->irq, "1"));
	ASSERT_EQ(0, put(irq_file(self->irq, "smp_affinity_list"), "2"));
	EXPECT_TRUE(arrives_on(self->echo, self->irq, "2"));
	/*
	 * Another list in irq_keep leaves the interrupt exempt, but an empty list ends
	 * the exemption.
	 */
	ASSERT_EQ(0, put(KEEP, "0"));
	EXPECT_TRUE(arrives_on(self->echo, self->irq, "2"));
	ASSERT_EQ(0, put(KEEP, "\n"));
	ASSERT_EQ(0, put(KEEP, "0"));
	EXPECT_TRUE(arrives_on(self->echo, self->irq, "0"));
	EXPECT_TRUE(is(irq_file(self->irq, "smp_affinity_list"), "2"));
}

TEST_F_TIMEOUT(irqs, off_and_on_again, 300)
{
	int tty = tty_irq();

	if (tty < 0)
		SKIP(return, "needs a serial console");
	ASSERT_EQ(0, put(irq_file(tty, "smp_affinity_list"), "2"));
	ASSERT_EQ(0, put(KEEP, "1"));
	EXPECT_TRUE(arrives_on(-1, tty, "1"));
	ASSERT_EQ(0, enable(false));
	EXPECT_TRUE(is(KEEP, "1"));
	EXPECT_TRUE(arrives_on(-1, tty, "2"));
	/* With Bolt disabled, irq_keep has no effect. */
	EXPECT_EQ(0, set_online(VICTIM, false));
	ASSERT_EQ(0, enable(true));
	EXPECT_TRUE(arrives_on(-1, tty, "2"));
	/* When the CPU in irq_keep is back, the interrupt arrives on that CPU again. */
	EXPECT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(arrives_on(-1, tty, "1"));
	EXPECT_EQ(-EBUSY, set_online(VICTIM, false));
	ASSERT_EQ(0, put(KEEP, "\n"));
	ASSERT_EQ(0, put(irq_file(tty, "smp_affinity_list"), "0-3"));
}

TEST_F_TIMEOUT(irqs, isolated_cpus_are_left_alone, 300)
{
	if (!is(CPU_DIR "isolated", "3"))
		SKIP(return, "needs isolcpus=domain,3");
	ASSERT_EQ(0, put(irq_file(self->irq, "smp_affinity_list"), "3"));
	EXPECT_TRUE(arrives_on(self->echo, self->irq, "3"));
	ASSERT_EQ(0, put(KEEP, "1"));
	EXPECT_TRUE(arrives_on(self->echo, self->irq, "3"));
}

TEST_F_TIMEOUT(irqs, managed_ones_are_left_alone, 300)
{
	const char *why = no_disk();
	char what[32], text[32];
	int irqs[4] = { 0 };

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, put(KEEP, "1"));
	for (int i = 0; i < 4; i++) {
		int irq, cpu;

		snprintf(what, sizeof(what), "req.%d", i);
		irq = irq_of(disk_device(), what);
		ASSERT_LT(0, irq);
		cpu = irq_cpu(irq);
		ASSERT_TRUE(cpu >= 0 && cpu < 4 && !irqs[cpu])
			TH_LOG("%s is for CPU %d, which is wrong or has one", what, cpu);
		irqs[cpu] = irq;
		EXPECT_TRUE(queue_is_for(i, cpu))
			TH_LOG("queue %d is not for CPU %d, as %s is", i, cpu, what);
		snprintf(text, sizeof(text), "%d", cpu);
		EXPECT_TRUE(is(irq_file(irq, "effective_affinity_list"), text));
	}
	/*
	 * Managed interrupts are shut down when their CPU goes, and started when that CPU
	 * returns.
	 */
	ASSERT_EQ(0, set_online(OTHER, false));
	ASSERT_EQ(0, set_online(OTHER, true));
	snprintf(text, sizeof(text), "%d", OTHER);
	EXPECT_TRUE(is(irq_file(irqs[OTHER], "effective_affinity_list"), text));
}

TEST_F_TIMEOUT(irqs, new_ones_go_there, 300)
{
	char name[64];

	snprintf(name, sizeof(name), "%s", virtio_name(nic_device()));
	ASSERT_EQ(0, put(KEEP, "2"));
	ASSERT_EQ(0, put(DRIVER "unbind", name));
	ASSERT_EQ(0, put(DRIVER "bind", name));
	ASSERT_EQ(0, nic_up());
	close(self->echo);
	self->echo = echo_open();
	ASSERT_LE(0, self->echo);
	self->irq = irq_of(nic_device(), "input.0");
	ASSERT_LT(0, self->irq);
	EXPECT_TRUE(arrives_on(self->echo, self->irq, "2"));
	EXPECT_TRUE(arrives_on(self->echo, irq_of(nic_device(), "output.0"),
			       "2"));
}

TEST_F_TIMEOUT(irqs, none_arrives_elsewhere, 300)
{
	unsigned long before[2][MAX_CPUS], after[2][MAX_CPUS];
	int irqs[2] = { self->irq, irq_of(nic_device(), "output.0") };

	ASSERT_EQ(0, put(KEEP, "1"));
	for (int i = 0; i < 2; i++) {
		EXPECT_TRUE(arrives_on(self->echo, irqs[i], "1"));
		ASSERT_EQ(0, irq_counts(irqs[i], before[i]));
	}
	for (int i = 0; i < 40; i++) {
		ASSERT_EQ(0, echo(self->echo, i, 1000));
		ASSERT_EQ(0, set_online(i % 4 < 2 ? OTHER : ISOLATED, i % 2));
	}
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, irq_counts(irqs[i], after[i]));
		for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
			if (cpu == 1)
				continue;
			EXPECT_EQ(before[i][cpu], after[i][cpu])
				TH_LOG("irq %d, CPU %d", irqs[i], cpu);
		}
	}
	EXPECT_LE(before[0][1] + 20, after[0][1]);
}

TEST_HARNESS_MAIN
