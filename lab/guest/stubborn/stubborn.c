// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stubborn: makes CPUs fail where hotplug/fail cannot make CPUs fail, and more than once in
 * one request. The module has two hotplug states, each with two instances, and on x86
 * replaces the two operations of smp_ops that wake a CPU and that let a CPU go offline.
 *
 * The files below /sys/module/stubborn/parameters are masks of CPUs unless said otherwise:
 *	high_up, high_down, low_up, low_down
 *		on each of these CPUs the next startup (up) or teardown (down) of the
 *		state lab/stubborn:high or lab/stubborn:low fails, in the instance
 *		whose callback runs last; the failure takes the CPU out of the mask
 *	refuses	x86: these CPUs refuse in the stop to go offline
 *	deaf	x86: these CPUs are not woken, but the kernel is told that the CPUs were
 *	wrong	r: how many pairs of an instance and a CPU are wrong: an instance must be
 *		set up just once on each active CPU, and on no other CPU
 */
#include <linux/bolt.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/percpu.h>
#ifdef CONFIG_X86
#include <asm/smp.h>
#endif

#define INSTANCES 2

static unsigned long high_up, high_down, low_up, low_down;
module_param(high_up, ulong, 0600);
module_param(high_down, ulong, 0600);
module_param(low_up, ulong, 0600);
module_param(low_down, ulong, 0600);

struct instance {
	struct hlist_node node;
	bool fails;		/* fails for the CPUs in the masks */
	int __percpu *ups;	/* number of startups less number of teardowns */
};

struct state {
	int nr;
	struct instance instances[INSTANCES];
};

static struct state low, high;

static int stubborn_call(unsigned int cpu, struct hlist_node *node,
			 unsigned long *fails, int change)
{
	struct instance *instance = hlist_entry(node, struct instance, node);

	if (instance->fails && test_and_clear_bit(cpu, fails))
		return -EIO;
	*per_cpu_ptr(instance->ups, cpu) += change;
	return 0;
}

static int low_startup(unsigned int cpu, struct hlist_node *node)
{
	return stubborn_call(cpu, node, &low_up, 1);
}

static int low_teardown(unsigned int cpu, struct hlist_node *node)
{
	return stubborn_call(cpu, node, &low_down, -1);
}

static int high_startup(unsigned int cpu, struct hlist_node *node)
{
	return stubborn_call(cpu, node, &high_up, 1);
}

static int high_teardown(unsigned int cpu, struct hlist_node *node)
{
	return stubborn_call(cpu, node, &high_down, -1);
}

static int wrong_get(char *buf, const struct kernel_param *kp)
{
	const struct state *states[] = { &low, &high };
	unsigned int cpu, wrong = 0;

	cpus_read_lock();
	for_each_possible_cpu(cpu) {
		for (int i = 0; i < 2 * INSTANCES; i++) {
			const struct instance *instance =
				&states[i / INSTANCES]->instances[i % INSTANCES];

			wrong += *per_cpu_ptr(instance->ups, cpu) != cpu_active(cpu);
		}
	}
	cpus_read_unlock();
	return sysfs_emit(buf, "%u\n", wrong);
}

static const struct kernel_param_ops wrong_ops = { .get = wrong_get };
module_param_cb(wrong, &wrong_ops, NULL, 0400);

#ifdef CONFIG_X86
static unsigned long refuses, deaf;
module_param(refuses, ulong, 0600);
module_param(deaf, ulong, 0600);

static struct smp_ops native_ops;

static int stubborn_disable(void)
{
	if (test_bit(raw_smp_processor_id(), &refuses))
		return -EBUSY;
	return native_ops.cpu_disable();
}

static int stubborn_kick(unsigned int cpu, struct task_struct *idle)
{
	return test_bit(cpu, &deaf) ? 0 : native_ops.kick_ap_alive(cpu, idle);
}

static void stubborn_take_ops(void)
{
	cpus_read_lock();
	native_ops = smp_ops;
	smp_ops.cpu_disable = stubborn_disable;
	smp_ops.kick_ap_alive = stubborn_kick;
	cpus_read_unlock();
}

static void stubborn_give_ops_back(void)
{
	cpus_read_lock();
	smp_ops = native_ops;
	cpus_read_unlock();
}
#else
static inline void stubborn_take_ops(void) { }
static inline void stubborn_give_ops_back(void) { }
#endif

/*
 * Declares the states fit for batches, so that a request takes several CPUs together,
 * and concurrent, so that the callbacks may run for these CPUs at once.
 */
static const struct bolt_defer stubborn_concurrent = {
	.concurrent = true,
	.reason = "test: the callback only counts its calls for each CPU",
};

static void state_exit(struct state *state)
{
	if (state->nr > 0) {
		for (int i = 0; i < INSTANCES; i++) {
			if (!hlist_unhashed(&state->instances[i].node))
				cpuhp_state_remove_instance(state->nr,
							    &state->instances[i].node);
		}
		cpuhp_remove_multi_state(state->nr);
	}
	for (int i = 0; i < INSTANCES; i++)
		free_percpu(state->instances[i].ups);
}

static int state_init(struct state *state, const char *name,
		      int (*startup)(unsigned int cpu, struct hlist_node *node),
		      int (*teardown)(unsigned int cpu, struct hlist_node *node))
{
	int err;

	for (int i = 0; i < INSTANCES; i++) {
		state->instances[i].ups = alloc_percpu(int);
		if (!state->instances[i].ups)
			return -ENOMEM;
	}
	state->nr = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, name, startup,
					    teardown);
	if (state->nr < 0)
		return state->nr;
	err = bolt_defer_state(state->nr, &stubborn_concurrent);
	/* Each new instance runs before earlier instances, so the instance that runs last fails. */
	state->instances[0].fails = true;
	for (int i = 0; i < INSTANCES && !err; i++)
		err = cpuhp_state_add_instance(state->nr,
					       &state->instances[i].node);
	return err;
}

static void stubborn_exit(void)
{
	stubborn_give_ops_back();
	state_exit(&high);
	state_exit(&low);
}

static int __init stubborn_init(void)
{
	int err;

	stubborn_take_ops();
	err = state_init(&low, "lab/stubborn:low", low_startup, low_teardown);
	err = err ?: state_init(&high, "lab/stubborn:high", high_startup,
				high_teardown);
	if (err)
		stubborn_exit();
	return err;
}

module_init(stubborn_init);
module_exit(stubborn_exit);
MODULE_DESCRIPTION("CPUs that fail more than once in a request");
MODULE_LICENSE("GPL");
