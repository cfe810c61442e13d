// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stands for a driver whose callbacks nobody has checked: a module from outside the kernel
 * tree that registers a hotplug state, and asks in its callbacks how many CPUs are online.
 * What the module has found is in /sys/module/stranger/parameters/seen: for each startup
 * "+CPU:N" and for each teardown "-CPU:N", where N CPUs were online, and "!" where one
 * callback began before another callback had ended.
 * The parameter "refuse" names a CPU for which the next teardown fails.
 */
#include <linux/atomic.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>

#define SEEN 512

/* The name of the state, which may be the name of a state that a driver of the kernel has. */
static char *name = "stranger:online";
module_param(name, charp, 0400);
/*
 * Whether the state has a number that is fixed: the number of the RAID5 driver. The guest's
 * kernel must lack that driver, as otherwise the number is in use.
 */
static bool fixed;
module_param(fixed, bool, 0400);

static int refuse = -1;
module_param(refuse, int, 0600);

static char seen[SEEN];
static int length;
static DEFINE_MUTEX(seen_lock);
static atomic_t inside;
static int registered;

static int note(unsigned int cpu, char what)
{
	int err = 0;

	mutex_lock(&seen_lock);
	if (atomic_inc_return(&inside) > 1)
		length += scnprintf(seen + length, SEEN - length, "! ");
	length += scnprintf(seen + length, SEEN - length, "%c%u:%u ", what, cpu,
			    num_online_cpus());
	if (what == '-' && refuse == (int)cpu) {
		refuse = -1;
		err = -EBUSY;
	}
	mutex_unlock(&seen_lock);
	/*
	 * The callback takes long enough for another callback to begin, if callbacks
	 * may run at once.
	 */
	msleep(2);
	atomic_dec(&inside);
	return err;
}

static int come(unsigned int cpu)
{
	return note(cpu, '+');
}

static int leave(unsigned int cpu)
{
	return note(cpu, '-');
}

static int seen_get(char *buffer, const struct kernel_param *param)
{
	int len;

	mutex_lock(&seen_lock);
	/* The text without its last space. */
	len = sysfs_emit(buffer, "%.*s\n", max(length - 1, 0), seen);
	mutex_unlock(&seen_lock);
	return len;
}

/* Any write empties the text. */
static int seen_set(const char *text, const struct kernel_param *param)
{
	mutex_lock(&seen_lock);
	length = 0;
	seen[0] = '\0';
	mutex_unlock(&seen_lock);
	return 0;
}

static const struct kernel_param_ops seen_ops = {
	.get = seen_get,
	.set = seen_set,
};
module_param_cb(seen, &seen_ops, NULL, 0600);

static int __init stranger_init(void)
{
	enum cpuhp_state state = fixed ? CPUHP_MD_RAID5_PREPARE :
					 CPUHP_AP_ONLINE_DYN;
	int err = cpuhp_setup_state_nocalls(state, name, come, leave);

	registered = fixed ? state : err;
	return min(err, 0);
}
module_init(stranger_init);

static void __exit stranger_exit(void)
{
	cpuhp_remove_state_nocalls(registered);
}
module_exit(stranger_exit);

MODULE_DESCRIPTION("A hotplug state that nobody has declared fit for anything");
MODULE_LICENSE("GPL");
