/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tests that take CPUs offline and back: chooses a CPU, brings back all CPUs that
 * were online before the test, even if the test fails, and restores Bolt's settings.
 */
#ifndef _BOLT_TESTS_FIXTURE_H
#define _BOLT_TESTS_FIXTURE_H

#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/device.h>

#include "../compat.h"
#include "../request.h"
#include "../settle.h"
#include "../state.h"
#include "../steps.h"

/**
 * struct bolt_fixture - the CPU of a test, and what to restore
 * @victim:		the CPU that the test takes offline
 * @online:		the CPUs that were online before the test
 * @was_enabled:	whether Bolt was enabled before the test
 * @delay_ms:		the settle delay before the test
 */
struct bolt_fixture {
	unsigned int victim;
	struct cpumask online;
	bool was_enabled;
	unsigned int delay_ms;
};

static inline bool bolt_test_parked(unsigned int cpu)
{
	return !bolt_set_empty(bolt_pending(cpu));
}

/* Makes one request, as a write to bolt/online or bolt/offline does. */
static inline int bolt_test_go(const struct cpumask *cpus, bool online)
{
	int err;

	lock_device_hotplug();
	err = online ? bolt_cpus_up(cpus) : bolt_cpus_down(cpus);
	unlock_device_hotplug();
	return err;
}

/*
 * Adds to @cpus all CPUs that are online and can go offline, except CPU 0, which
 * stays.
 */
static inline void bolt_test_choose(struct cpumask *cpus)
{
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		struct device *dev = get_cpu_device(cpu);

		if (cpu && dev && !dev_offline_disabled(dev))
			__cpumask_set_cpu(cpu, cpus);
	}
}

/*
 * Chooses the highest CPU that is online, and enables Bolt with a long settle delay, so
 * that lazy teardowns stay pending during the test. Skips the test if that CPU cannot go
 * offline. After success, and only then, bolt_fixture_end() must be called.
 */
static inline int bolt_fixture_begin(struct kunit *test,
				     struct bolt_fixture *f)
{
	struct device *dev;
	int err;

	f->victim = cpumask_last(cpu_online_mask);
	dev = get_cpu_device(f->victim);
	if (num_online_cpus() < 2 || !dev || dev_offline_disabled(dev))
		kunit_skip(test, "the highest CPU cannot go offline");
	cpumask_copy(&f->online, cpu_online_mask);
	f->was_enabled = bolt_enabled();
	f->delay_ms = bolt_settle_delay_ms;
	bolt_settle_delay(60 * MSEC_PER_SEC);
	err = bolt_enable(true);
	if (err)
		bolt_settle_delay(f->delay_ms);
	return err;
}

static inline void bolt_fixture_end(struct bolt_fixture *f)
{
	unsigned int cpu;

	for_each_cpu(cpu, &f->online)
		add_cpu(cpu);
	bolt_enable(f->was_enabled);
	bolt_settle_delay(f->delay_ms);
}

#endif /* _BOLT_TESTS_FIXTURE_H */
