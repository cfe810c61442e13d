// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests. A request names any number of CPUs that are to come online, and any number
 * that are to go offline; either all these CPUs come and go, or none, except that at boot
 * all CPUs come that can. A request runs through this file as follows.
 *
 *	bolt_change(), bolt_request_one()	a write to bolt/offline and the like begins in
 *					bolt_change(), cpu_device_down() and _up() in
 *					bolt_request_one(); pm.c and boot/ call bolt_request()
 *	bolt_request()			finds which of the CPUs have to come or go
 *	bolt_admit()			refuses the request if a CPU must not come or go
 *	bolt_run()			in the control task, with the hotplug lock
 *					held: calls up.c, then down.c; if that fails
 *					after boot, bolt_undo() takes all CPUs back
 *	bolt_check_pending()		in the caller again: has settle.c settle CPUs later
 *	bolt_notify()			in bolt_change() and SMT control: tells the driver
 *					core the new states, and sends one uevent for
 *					each CPU, first for CPUs that have come
 *
 * Enabling and disabling Bolt is at the end.
 */
#define pr_fmt(fmt) "bolt: " fmt

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/kobject.h>
#include <linux/kthread.h>
#include <linux/memory_hotplug.h>
#include <linux/rcupdate.h>
#include <linux/sched/isolation.h>
#include <linux/sched/smt.h>
#include <linux/spinlock.h>
#include <linux/topology.h>
#include <linux/workqueue.h>
#include <trace/events/bolt.h>

#include "../rcu/rcu.h"
#include "affinity.h"
#include "compat.h"
#include "control.h"
#include "domains.h"
#include "down.h"
#include "error.h"
#include "irq.h"
#include "policy.h"
#include "request.h"
#include "settle.h"
#include "state.h"
#include "turn.h"
#include "up.h"
#include "warm.h"

/*
 * Set when the machine reboots: the kernel that follows must find no CPU parked, so no
 * teardown is deferred any more.
 */
static bool bolt_going_down;

/* Checks whether the request may begin: 0, or the error of the refusal. */
static int bolt_admit(struct bolt_batch *batch)
{
	unsigned int cpu, survivor;
	int err = 0;

	/*
	 * While hotplug is disabled, suspend may make requests, and SMT control may
	 * bring threads up, as in a resume from hibernation.
	 */
	if (!(batch->flags & (BOLT_FROZEN | BOLT_FORCED))) {
		if (!cpumask_empty(batch->up))
			err = bolt_hotplug_forbidden(true);
		if (!err && !cpumask_empty(batch->down))
			err = bolt_hotplug_forbidden(false);
	}
	if (err)
		return err;
	for_each_cpu(cpu, batch->up) {
		batch->culprit = cpu;
		if (!cpu_present(cpu))
			return -EINVAL;
		if (!bolt_cpu_bootable(cpu))
			return -EPERM;
	}
	for_each_cpu(cpu, batch->down) {
		batch->culprit = cpu;
		if (!cpu_present(cpu))
			return -EINVAL;
		if (!(batch->flags & BOLT_NO_DEFER) && bolt_irq_kept(cpu))
			return -EBUSY;
	}
	/* No CPU is at fault from here on, until a callback fails or a CPU must stay. */
	batch->culprit = batch->first;
	/*
	 * Scheduler domains need an active housekeeping CPU, except during suspend. A CPU
	 * of an isolated partition is enough: cpusets then end the partition, as natively.
	 */
	if ((batch->flags & BOLT_FROZEN) || cpumask_empty(batch->down))
		return 0;
	guard(rcu)();
	for_each_cpu_and(survivor, cpu_active_mask,
			 housekeeping_cpumask(COMPAT_HK_TYPE_DOMAIN_BOOT)) {
		if (!cpumask_test_cpu(survivor, batch->down))
			return 0;
	}
	for_each_cpu_and(survivor, batch->up,
			 housekeeping_cpumask(COMPAT_HK_TYPE_DOMAIN_BOOT))
		return 0;
	return -EBUSY;
}

static void bolt_set_goals(const struct cpumask *mask, enum cpuhp_state goal)
{
	unsigned int cpu;

	for_each_cpu(cpu, mask) {
		struct bolt_cpu *bc = per_cpu_ptr(&bolt_cpus, cpu);

		bc->start = bolt_state_to_restore(cpu);
		bc->goal = goal;
	}
}

/* Makes the state in which the request found each CPU of @mask the goal of that CPU. */
static void bolt_reverse_goals(const struct cpumask *mask)
{
	unsigned int cpu;

	for_each_cpu(cpu, mask) {
		struct bolt_cpu *bc = per_cpu_ptr(&bolt_cpus, cpu);

		bc->goal = bc->start;
		bc->failed = CPUHP_INVALID;
	}
}

/*
 * Notes the CPUs that the undo has not put back into the states in which the request
 * found these CPUs. A CPU that was to come back and is not even online becomes offline
 * altogether, as natively when a CPU does not come. The names of states are copied
 * here, while the hotplug lock keeps the modules that own the names from being
 * unloaded.
 */
static void bolt_find_lost(struct bolt_batch *batch)
{
	unsigned int cpu;

	for_each_cpu_or(cpu, batch->up, batch->down) {
		struct bolt_cpu *bc = per_cpu_ptr(&bolt_cpus, cpu);
		enum cpuhp_state state = bolt_cpu_state(cpu);
		bool gone = cpumask_test_cpu(cpu, batch->down);

		if (gone ? state >= bc->start : state <= bc->start)
			continue;
		cpumask_set_cpu(cpu, &bolt_lost);
		if (bc->failed == CPUHP_INVALID)
			bc->failed = state;
		bolt_error_lost(batch->lost, cpu,
				bolt_state_name(bc->failed) ?: "unnamed");
		if (gone && !cpu_online(cpu))
			bolt_run_dead_callbacks(cpu, CPUHP_OFFLINE);
	}
}

static void bolt_undo(struct bolt_batch *batch)
{
	batch->undo = true;
	bolt_reverse_goals(batch->down);
	bolt_reverse_goals(batch->up);
	bolt_online_batch(batch->down);
	bolt_offline_batch(batch->up, false);
	bolt_find_lost(batch);
}

/*
 * Checks that all CPUs that are to go still may: a CPU that has just come online may
 * have made another CPU one that must stay.
 */
static int bolt_recheck_devices(struct bolt_batch *batch)
{
	unsigned int cpu;

	for_each_cpu(cpu, batch->down) {
		struct device *dev = get_cpu_device(cpu);

		if (dev && dev_offline_disabled(dev)) {
			batch->culprit = cpu;
			return -EPERM;
		}
	}
	return 0;
}

/* Unparks the hotplug thread of @cpu if the request has left @cpu online. */
static void bolt_unpark_thread(unsigned int cpu)
{
	struct task_struct *thread = bolt_cpuhp_cpu(cpu)->thread;

	if (cpu_online(cpu) && kthread_parking(thread))
		kthread_unpark(thread);
}

/* Carries the request out. Runs in the control task, on a CPU that stays online. */
static int bolt_run(void *arg)
{
	struct bolt_batch *batch = arg;
	unsigned int cpu;
	int err = 0;

	cpus_write_lock();
	/* Expedites grace periods, also inside callbacks, unless normal ones are forced. */
	rcu_expedite_gp();
	/*
	 * The two pointers are set only with the lock held for writing: tasks that hold the
	 * lock for reading run callbacks, too, and must not find a request.
	 */
	WRITE_ONCE(bolt_batch, batch);
	WRITE_ONCE(bolt_control_task, current);
	cpuhp_tasks_frozen = batch->flags & BOLT_FROZEN;
	if (!batch->alone) {
		batch->by_cpu = bolt_must_go_by_cpu();
		bolt_find_serial(batch);
	}
	bolt_set_goals(batch->up, CPUHP_ONLINE);
	bolt_set_goals(batch->down, CPUHP_OFFLINE);
	bolt_phase_end(BOLT_PHASE_LOCK);

	if (!cpumask_empty(batch->up))
		err = bolt_online_batch(batch->up) ?: bolt_recheck_devices(batch);
	if (!err && !cpumask_empty(batch->down))
		err = bolt_offline_batch(batch->down, batch->flags & BOLT_FROZEN);
	/* Of several callbacks that have failed, the error is that of the first. */
	err = batch->err ?: err;
	if (err && !(batch->flags & BOLT_BOOT))
		bolt_undo(batch);
	for_each_cpu_or(cpu, batch->up, batch->down) {
		bolt_bringup_done(cpu);
		bolt_unpark_thread(cpu);
	}
	WRITE_ONCE(bolt_control_task, NULL);
	WRITE_ONCE(bolt_batch, NULL);
	rcu_unexpedite_gp();
	cpus_write_unlock();
	arch_smt_update();
	/* CPUs have come, or an undo has brought some back: tasks may get lost affinity back. */
	if (err || !cpumask_empty(batch->up))
		bolt_give_affinity_back();
	return err;
}

/**
 * bolt_notify - tell the driver core and user space which CPUs have changed
 * @mask:	the CPUs; a CPU whose state the driver core knows already is passed
 *		over
 * @online:	whether the CPUs are online now
 *
 * Context: may sleep; device hotplug lock held.
 */
void bolt_notify(const struct cpumask *mask, bool online)
{
	unsigned int cpu;

	for_each_cpu(cpu, mask) {
		struct device *dev = get_cpu_device(cpu);

		if (!dev || dev_offline(dev) == !online)
			continue;
		dev_assign_offline(dev, !online);
		kobject_uevent(&dev->kobj, online ? KOBJ_ONLINE : KOBJ_OFFLINE);
	}
}

/**
 * bolt_notify_lost - tell the driver core in which state an undo has left a CPU
 * @cpu:	the CPU
 *
 * Context: as bolt_notify(); cpu_add_remove_lock held.
 */
void bolt_notify_lost(unsigned int cpu)
{
	bool online = bolt_cpu_state(cpu) == CPUHP_ONLINE;

	per_cpu_ptr(&bolt_cpus, cpu)->half_way = !online && cpu_online(cpu);
	bolt_notify(cpumask_of(cpu), online);
}

/*
 * Reports the CPUs that an undo has failed to put back. Those that stay half-way are
 * settled now. If @devices is set, dev->offline is cleared for those that are all the way
 * up, and set for the rest. Callers that pass BOLT_NO_DEFER to bolt_request() write
 * dev->offline themselves, or have no need to.
 */
static void bolt_report_lost(const struct bolt_batch *batch, bool devices)
{
	unsigned int cpu;

	if (cpumask_empty(&bolt_lost))
		return;
	for_each_cpu(cpu, &bolt_lost) {
		if (cpu_online(cpu))
			bolt_settle_cpu(cpu);
		if (devices)
			bolt_notify_lost(cpu);
	}
	pr_err("batch %llu: these CPUs could not be put back: %s\n", batch->id, batch->lost);
	WARN_ONCE(1, "bolt: CPUs could not be put back, see bolt/last_error\n");
}

/*
 * Checks law 2 at the end of a request: a state whose teardown is pending must be
 * above the state that the CPU has reached. If the law holds, and the CPU is parked or
 * must not stay warm, the worker of settle.c settles the CPU later.
 */
static void bolt_check_pending(unsigned int cpu)
{
	struct bolt_set *pending = bolt_pending(cpu);
	int state = find_first_bit(pending->states, BOLT_NR_STATES);

	if (state == BOLT_NR_STATES)
		bolt_note_not_parked(cpu);
	else if (!bolt_cpu_below(cpu, state))
		bolt_broken(cpu, state,
			    "the teardown is pending, but the CPU is not below the state");
	else
		bolt_settle_later(cpu);
	if (state == BOLT_NR_STATES && bolt_warm_must_end(cpu))
		bolt_settle_later(cpu);
}

/**
 * bolt_request - carry out one request
 * @up:		CPUs that are to come; CPUs in state CPUHP_ONLINE are passed over
 * @down:	CPUs that are to go, after those of @up have come; CPUs in state
 *		CPUHP_OFFLINE are passed over
 * @flags:	BOLT_NO_DEFER: no teardown is deferred; BOLT_FROZEN: tasks are frozen;
 *		BOLT_FORCED: hotplug may be disabled; BOLT_BOOT: the machine boots;
 *		BOLT_TREE: CPUs that have come bring up other CPUs; BOLT_PARK_COLD:
 *		no CPU waits in the kernel while it is parked
 *
 * Either all CPUs change or none. While the machine boots, all CPUs come that can.
 *
 * Context: may sleep; cpu_add_remove_lock held. Bolt is enabled, or the machine boots.
 * Return: 0 or a negative error number, with the reason in bolt/last_error.
 */
int bolt_request(const struct cpumask *up, const struct cpumask *down,
		 unsigned int flags)
{
	static struct cpumask coming, going;
	/* Static: after the return, a CPU that did not die in time may read the batch. */
	static struct bolt_batch batch;
	unsigned int cpu, returning = 0, nr_up, nr_down;
	ktime_t start = ktime_get();
	int err;

	batch = (struct bolt_batch){
		.id = ++bolt_batches,
		.up = &coming,
		.down = &going,
		.flags = flags | (bolt_going_down ? BOLT_NO_DEFER : 0),
		/* A CPU that fails during boot is left where it is, and other CPUs come. */
		.undo = flags & BOLT_BOOT,
		.last = start,
	};
	raw_spin_lock_init(&batch.lock);
	cpumask_clear(&bolt_lost);
	cpumask_clear(&coming);
	cpumask_clear(&going);
	for_each_cpu(cpu, up) {
		if (bolt_cpu_state(cpu) < CPUHP_ONLINE)
			__cpumask_set_cpu(cpu, &coming);
	}
	for_each_cpu(cpu, down) {
		if (bolt_cpu_state(cpu) <= CPUHP_OFFLINE)
			continue;
		__cpumask_set_cpu(cpu, &going);
		/*
		 * parked_at is written before any teardown of @cpu is pending, as the
		 * worker that settles CPUs reads parked_at without a lock.
		 */
		WRITE_ONCE(per_cpu_ptr(&bolt_cpus, cpu)->parked_at, start);
	}
	nr_up = cpumask_weight(&coming);
	nr_down = cpumask_weight(&going);
	if (!nr_up && !nr_down)
		return 0;
	batch.first = min(cpumask_first(&coming), cpumask_first(&going));
	batch.culprit = batch.first;
	batch.alone = nr_up + nr_down == 1;
	for_each_cpu_and(cpu, &coming, &bolt_parked_mask)
		returning++;

	err = bolt_admit(&batch);
	if (!err)
		err = bolt_control_do(bolt_run, &batch, &going);

	bolt_stats[BOLT_STAT_BATCHES]++;
	bolt_stats[BOLT_STAT_ONLINE] += nr_up;
	bolt_stats[BOLT_STAT_OFFLINE] += nr_down;
	if (err) {
		bolt_stats[BOLT_STAT_FAILED]++;
		bolt_error_add(batch.id, batch.culprit, batch.failed, err,
			       batch.lost);
		bolt_report_lost(&batch, !(flags & BOLT_NO_DEFER));
	} else {
		bolt_stats[BOLT_STAT_CANCELLED] += returning;
	}
	for_each_cpu_or(cpu, &coming, &going)
		bolt_check_pending(cpu);

	trace_bolt_batch(batch.id, batch.first, nr_up, nr_down, err,
			 ktime_to_ns(ktime_sub(ktime_get(), start)));
	return err;
}

static int bolt_request_one(unsigned int cpu, bool online)
{
	const struct cpumask *mask = cpumask_of(cpu);
	int err;

	cpu_maps_update_begin();
	if (!bolt_on) {
		cpu_maps_update_done();
		return bolt_request_natively(cpu, online);
	}
	if (online)
		err = bolt_request(mask, cpu_none_mask, 0);
	else
		err = bolt_request(cpu_none_mask, mask, 0);
	cpu_maps_update_done();
	return err;
}

/**
 * bolt_cpu_down - take a CPU offline
 * @cpu:	the CPU
 *
 * Context: may sleep; device hotplug lock held. If Bolt has been disabled since the
 * caller found Bolt enabled, the CPU is taken offline in the native way.
 * Return: 0, or an error as from cpu_down().
 */
int bolt_cpu_down(unsigned int cpu)
{
	return bolt_request_one(cpu, false);
}

/**
 * bolt_cpu_up - bring a CPU online
 * @cpu:	the CPU
 *
 * Context: as bolt_cpu_down().
 * Return: 0, or an error as from cpu_up().
 */
int bolt_cpu_up(unsigned int cpu)
{
	int err;

	if (!cpu_possible(cpu))
		return -EINVAL;
	err = try_online_node(cpu_to_node(cpu));
	if (err)
		return err;
	return bolt_request_one(cpu, true);
}

/*
 * Notes in bolt/last_error that a request is refused before it begins, because of
 * @cpu.
 */
static int bolt_refuse(unsigned int cpu, int err)
{
	cpu_maps_update_begin();
	bolt_error_add(++bolt_batches, cpu, "", err, "");
	cpu_maps_update_done();
	return err;
}

/*
 * Checks that each CPU of @mask has a device, and that the device may go online or
 * offline.
 */
static int bolt_check_devices(const struct cpumask *mask, bool online)
{
	unsigned int cpu;

	if (!cpumask_subset(mask, cpu_possible_mask))
		return -EINVAL;
	for_each_cpu(cpu, mask) {
		struct device *dev = get_cpu_device(cpu);

		if (!cpu_present(cpu) || !dev)
			return bolt_refuse(cpu, -ENODEV);
		if (cpu_online(cpu) != online && dev_offline_disabled(dev))
			return bolt_refuse(cpu, -EPERM);
	}
	return 0;
}

static int bolt_online_nodes(const struct cpumask *mask)
{
	unsigned int cpu;
	int err;

	for_each_cpu_andnot(cpu, mask, cpu_online_mask) {
		err = try_online_node(cpu_to_node(cpu));
		if (err)
			return err;
	}
	return 0;
}

static int bolt_change(const struct cpumask *up, const struct cpumask *down)
{
	int err = bolt_check_devices(up, true) ?:
		  bolt_check_devices(down, false) ?: bolt_online_nodes(up);

	if (err)
		return err;
	cpu_maps_update_begin();
	err = bolt_enabled() ? bolt_request(up, down, 0) : -EOPNOTSUPP;
	cpu_maps_update_done();
	if (err)
		return err;
	bolt_notify(up, true);
	bolt_notify(down, false);
	return 0;
}

/**
 * bolt_cpus_down - take CPUs offline, all or none
 * @mask:	CPUs that are to be offline; a CPU that is offline is no error
 *
 * Context: may sleep; device hotplug lock held.
 * Return: 0; -EINVAL if a CPU of @mask is not possible; -ENODEV if a CPU is not
 * present; -EPERM if a CPU cannot go offline; -EBUSY if no housekeeping CPU would
 * stay, a CPU is in irq_keep, or CPU hotplug is disabled; -EOPNOTSUPP if Bolt is
 * disabled, or no CPU of this platform can go; or the error of the callback that failed.
 */
int bolt_cpus_down(const struct cpumask *mask)
{
	return bolt_change(cpu_none_mask, mask);
}
EXPORT_SYMBOL_GPL(bolt_cpus_down);

/**
 * bolt_cpus_up - bring CPUs online, all or none
 * @mask:	CPUs that are to be online; a CPU that is online is no error
 *
 * Context: as bolt_cpus_down().
 * Return: as bolt_cpus_down(); -EPERM if SMT control forbids a CPU; or -ENOMEM.
 */
int bolt_cpus_up(const struct cpumask *mask)
{
	return bolt_change(mask, cpu_none_mask);
}
EXPORT_SYMBOL_GPL(bolt_cpus_up);

/*
 * Removes from @cpus the CPUs that are not plugged in: on arm64 such a CPU may be in
 * cpu_present_mask, although the CPU has no device.
 */
static void bolt_drop_unplugged(struct cpumask *cpus)
{
	unsigned int cpu;

	for_each_cpu_andnot(cpu, cpus, cpu_online_mask) {
		if (!get_cpu_device(cpu))
			cpumask_clear_cpu(cpu, cpus);
	}
}

/**
 * bolt_cpus_set - have just these CPUs online, or change nothing
 * @mask:	CPUs that are to be online; all other CPUs are to be offline
 *
 * CPUs of @mask come before other CPUs go.
 *
 * Context: as bolt_cpus_down().
 * Return: as bolt_cpus_down() and bolt_cpus_up(); or -ENOMEM.
 */
int bolt_cpus_set(const struct cpumask *mask)
{
	cpumask_var_t others;
	int err;

	if (!alloc_cpumask_var(&others, GFP_KERNEL))
		return -ENOMEM;
	cpumask_andnot(others, cpu_present_mask, mask);
	bolt_drop_unplugged(others);
	err = bolt_change(mask, others);
	free_cpumask_var(others);
	return err;
}
EXPORT_SYMBOL_GPL(bolt_cpus_set);

/**
 * bolt_finish_offline - take down a CPU whose device is offline
 * @dev:	a device that is offline
 *
 * A caller that takes a device offline, perhaps to remove the CPU, must not find a
 * CPU that an undo has left half-way, as that CPU still runs.
 *
 * Context: device_offline().
 * Return: 1 if the device is no CPU, or its CPU is not half-way, or no longer; or the
 * negative error number of taking the CPU down.
 */
int bolt_finish_offline(struct device *dev)
{
	struct bolt_cpu *bc;
	int err;

	if (dev->bus != &cpu_subsys)
		return 1;
	bc = per_cpu_ptr(&bolt_cpus, dev->id);
	if (!bc->half_way || !cpu_online(dev->id) ||
	    bolt_cpu_state(dev->id) == CPUHP_ONLINE)
		return 1;
	err = cpu_device_down(dev);
	if (err)
		return err;
	bc->half_way = false;
	return 1;
}

/* Runs in the control thread, as the first call takes the hotplug lock for writing. */
static int bolt_slow_readers(void *unused)
{
	bolt_hold_readers_slow(true);
	return 0;
}

/**
 * bolt_enable - switch Bolt on or off
 * @on:		true to enable Bolt, false to disable it
 *
 * When Bolt has been disabled, no CPU is parked, and readers of the hotplug lock
 * are back on their fast path as soon as a grace period is over.
 *
 * Context: may sleep: for a grace period if @on, else until all CPUs are settled.
 * Return: 0; -EIO if Bolt has found itself broken; -ENOMEM or -EINTR if the control
 * thread could not be made, for lack of memory or because the caller was killed.
 */
int bolt_enable(bool on)
{
	int err = 0;

	cpu_maps_update_begin();
	if (on == bolt_on)
		goto out;
	if (on) {
		err = bolt_is_broken ? -EIO : bolt_control_start();
		if (err)
			goto out;
		bolt_control_do(bolt_slow_readers, NULL, cpu_none_mask);
		bolt_domains_enable(true);
		WRITE_ONCE(bolt_on, true);
		bolt_affinity_enable(true);
		bolt_irq_enable(true);
	} else {
		WRITE_ONCE(bolt_on, false);
		bolt_affinity_enable(false);
		bolt_irq_enable(false);
		bolt_settle_mask(cpu_possible_mask);
		bolt_domains_enable(false);
		bolt_hold_readers_slow(false);
		bolt_control_stop();
	}
	pr_info("%s\n", on ? "enabled" : "disabled");
out:
	cpu_maps_update_done();
	return err;
}

/**
 * bolt_all_whole - let no request defer a teardown from now on
 *
 * Context: may sleep. Settles all CPUs.
 */
void bolt_all_whole(void)
{
	cpu_maps_update_begin();
	bolt_going_down = true;
	bolt_settle_all();
	cpu_maps_update_done();
}

static void bolt_disable_work(struct work_struct *work)
{
	bolt_enable(false);
}

/* Runs before the first request, which may be one that brings up CPUs during boot. */
static int __init bolt_request_init(void)
{
	INIT_WORK(&bolt_disabler, bolt_disable_work);
	return 0;
}
early_initcall(bolt_request_init);

#include "tests/request-kunit.h"
