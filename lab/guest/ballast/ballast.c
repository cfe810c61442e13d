// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ballast creates per-CPU counters and slab caches, as many as a large machine has, so
 * that hotplug requests have to deal with them. The parameters "counters" and "caches"
 * say how many. The module builds for all kernels, with and without Bolt.
 *
 * Below /sys/module/ballast/parameters:
 *	charge	w: a CPU, which then adds 1 to every counter, and takes objects from
 *		every cache and gives these objects back
 *	wrong	r: how many counters do not hold the number of charges: those that "charge"
 *		asked for, and one by each CPU that was online when the module was loaded
 */
#include <linux/cpu.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu_counter.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

/*
 * More objects than a slab holds, or than a sheaf holds in Linux 7.3, so that the CPU keeps
 * several slabs or sheaves of the cache.
 */
#define OBJECTS 40
#define OBJECT_SIZE 256

static unsigned int counters;
module_param(counters, uint, 0400);

static unsigned int caches;
module_param(caches, uint, 0400);

static DEFINE_MUTEX(ballast_lock);
static struct percpu_counter *ballast_counters;
static struct kmem_cache **ballast_caches;
static s64 ballast_charges;

static int ballast_turn_over(struct kmem_cache *cache)
{
	void *object[OBJECTS];
	int n;

	for (n = 0; n < OBJECTS; n++) {
		object[n] = kmem_cache_alloc(cache, GFP_KERNEL);
		if (!object[n])
			break;
	}
	for (int i = 0; i < n; i++)
		kmem_cache_free(cache, object[i]);
	return n == OBJECTS ? 0 : -ENOMEM;
}

static long ballast_charge(void *unused)
{
	for (unsigned int i = 0; i < counters; i++) {
		percpu_counter_add(&ballast_counters[i], 1);
		if (i % 1024 == 0)
			cond_resched();
	}
	for (unsigned int i = 0; i < caches; i++) {
		int err = ballast_turn_over(ballast_caches[i]);

		if (err)
			return err;
	}
	return 0;
}

static int charge_set(const char *text, const struct kernel_param *kp)
{
	unsigned int cpu;
	long err;

	err = kstrtouint(text, 0, &cpu);
	if (err)
		return err;
	mutex_lock(&ballast_lock);
	cpus_read_lock();
	err = -EINVAL;
	if (cpu < nr_cpu_ids && cpu_online(cpu) && ballast_counters) {
		ballast_charges++;
		err = work_on_cpu(cpu, ballast_charge, NULL);
	}
	cpus_read_unlock();
	mutex_unlock(&ballast_lock);
	return err;
}

static const struct kernel_param_ops charge_ops = { .set = charge_set };
module_param_cb(charge, &charge_ops, NULL, 0200);

static int wrong_get(char *text, const struct kernel_param *kp)
{
	unsigned int wrong = 0;

	mutex_lock(&ballast_lock);
	for (unsigned int i = 0; i < counters; i++) {
		if (percpu_counter_sum(&ballast_counters[i]) != ballast_charges)
			wrong++;
		if (i % 1024 == 0)
			cond_resched();
	}
	mutex_unlock(&ballast_lock);
	return sysfs_emit(text, "%u\n", wrong);
}

static const struct kernel_param_ops wrong_ops = { .get = wrong_get };
module_param_cb(wrong, &wrong_ops, NULL, 0400);

static void ballast_exit(void)
{
	for (unsigned int i = 0; i < caches && ballast_caches; i++)
		kmem_cache_destroy(ballast_caches[i]);
	for (unsigned int i = 0; i < counters && ballast_counters; i++)
		percpu_counter_destroy(&ballast_counters[i]);
	vfree(ballast_caches);
	vfree(ballast_counters);
}

static int ballast_fill(void)
{
	char name[32];

	ballast_counters = vcalloc(counters ?: 1, sizeof(*ballast_counters));
	ballast_caches = vcalloc(caches ?: 1, sizeof(*ballast_caches));
	if (!ballast_counters || !ballast_caches)
		return -ENOMEM;
	for (unsigned int i = 0; i < counters; i++) {
		int err = percpu_counter_init(&ballast_counters[i], 0, GFP_KERNEL);

		if (err)
			return err;
	}
	for (unsigned int i = 0; i < caches; i++) {
		snprintf(name, sizeof(name), "ballast-%u", i);
		ballast_caches[i] = kmem_cache_create(name, OBJECT_SIZE, 0,
						      SLAB_NO_MERGE, NULL);
		if (!ballast_caches[i])
			return -ENOMEM;
	}
	return 0;
}

static int __init ballast_init(void)
{
	unsigned int cpu;
	int err = ballast_fill();

	cpus_read_lock();
	for_each_online_cpu(cpu) {
		if (err)
			break;
		ballast_charges++;
		err = work_on_cpu(cpu, ballast_charge, NULL);
	}
	cpus_read_unlock();
	if (err)
		ballast_exit();
	return err;
}
module_init(ballast_init);
module_exit(ballast_exit);

MODULE_DESCRIPTION("Per-CPU counters and slab caches as ballast for CPU hotplug");
MODULE_LICENSE("GPL");
