// SPDX-License-Identifier: GPL-2.0-only
/*
 * A write to /sys/module/readers/parameters/measure measures how many nanoseconds a thousand
 * pairs of cpus_read_lock() and cpus_read_unlock() take, and a thousand walks over the online
 * CPUs. In virtual time every instruction takes the same time, by default 2 ns, so that the
 * nanoseconds count instructions. The parameters lock and walk have the results, from which the
 * time of a thousand empty calls, in the parameter nothing, is already subtracted. The module
 * builds for all kernels, with and without Bolt.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>

#define TIMES 1000
#define ROUNDS 20

static u64 lock, walk, nothing;
module_param(lock, ullong, 0400);
module_param(walk, ullong, 0400);
module_param(nothing, ullong, 0400);

static noinline void lock_cpus(void)
{
	cpus_read_lock();
	cpus_read_unlock();
}

static noinline void walk_online(void)
{
	unsigned int cpu, sum = 0;

	for_each_online_cpu(cpu)
		sum += cpu;
	/* Without this use of the sum the compiler could drop the walk. */
	OPTIMIZER_HIDE_VAR(sum);
}

static noinline void do_nothing(void)
{
	barrier();
}

/* Returns the least of several times, because a tick may interrupt a measurement. */
static u64 time_of(void (*work)(void))
{
	u64 least = U64_MAX;
	int round, i;

	for (round = 0; round < ROUNDS; round++) {
		u64 start = ktime_get_ns();

		for (i = 0; i < TIMES; i++)
			work();
		least = min(least, ktime_get_ns() - start);
	}
	return least;
}

static int readers_measure(const char *text, const struct kernel_param *param)
{
	nothing = time_of(do_nothing);
	lock = time_of(lock_cpus) - nothing;
	walk = time_of(walk_online) - nothing;
	return 0;
}

static const struct kernel_param_ops readers_ops = {
	.set = readers_measure,
};
module_param_cb(measure, &readers_ops, NULL, 0200);

static int __init readers_init(void)
{
	return 0;
}
module_init(readers_init);

static void __exit readers_exit(void)
{
}
module_exit(readers_exit);

MODULE_DESCRIPTION("What readers of the hotplug lock and of the online mask pay");
MODULE_LICENSE("GPL");
