// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: what takes a CPU down or up under Bolt.
 */
#define pr_fmt(fmt) "bolt: " fmt

#include <linux/cpu.h>
#include <linux/kernel.h>
#include <linux/memory_hotplug.h>
#include <linux/workqueue.h>

#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/bolt.h>

/**
 * struct bolt_batch - a request on its way
 * @id:		number of the request
 * @cpu:	the CPU
 * @last:	when the last phase ended
 */
struct bolt_batch {
	u64 id;
	unsigned int cpu;
	ktime_t last;
};

/* All three are written with cpu_add_remove_lock held. */
static bool bolt_on;
static struct bolt_batch *bolt_batch;
static u64 bolt_batches;

/* Law 2 was broken: not to be enabled again. */
static bool bolt_is_broken;

/**
 * bolt_enabled - whether requests take the fast path
 *
 * Context: any. Without cpu_add_remove_lock the answer may be old.
 * Return: true if so.
 */
bool bolt_enabled(void)
{
	return READ_ONCE(bolt_on);
}

/**
 * bolt_fast - whether the hotplug operation under way is a request of Bolt's
 *
 * Context: code that runs inside a hotplug operation, on any CPU.
 * Return: true if so.
 */
bool bolt_fast(void)
{
	return READ_ONCE(bolt_batch);
}

/**
 * bolt_mark - a phase of the request ends here
 * @phase:	the phase
 *
 * Context: the control task, inside a hotplug operation.
 */
void bolt_mark(enum bolt_phase phase)
{
	struct bolt_batch *batch = bolt_batch;
	ktime_t now;

	if (!batch || !trace_bolt_phase_enabled())
		return;
	now = ktime_get();
	trace_bolt_phase(batch->id, batch->cpu, phase,
			 ktime_to_ns(ktime_sub(now, batch->last)));
	batch->last = now;
}

/**
 * bolt_ap_alive - whether the CPU that is being brought up has shown up
 *
 * It is out of the state in which it takes a startup IPI then.
 *
 * Context: the control task, inside a hotplug operation.
 * Return: true if so; false also outside of Bolt's requests.
 */
bool bolt_ap_alive(void)
{
	struct bolt_batch *batch = bolt_batch;

	return batch && bolt_glue_alive(batch->cpu);
}

static void bolt_disable_work(struct work_struct *work)
{
	bolt_enable(false);
}

static DECLARE_WORK(bolt_disabler, bolt_disable_work);

/**
 * bolt_broken - law 2 does not hold: give up
 * @cpu:	the CPU
 * @state:	the state that has run, or would have run, twice
 * @what:	what was found
 *
 * Warns once; a worker settles all CPUs and disables Bolt for good.
 *
 * Context: any.
 */
void bolt_broken(unsigned int cpu, enum cpuhp_state state, const char *what)
{
	WRITE_ONCE(bolt_is_broken, true);
	WARN_ONCE(1, "CPU %u, state %d: %s\n", cpu, state, what);
	queue_work(system_unbound_wq, &bolt_disabler);
}

static void bolt_park(unsigned int cpu, enum cpuhp_state state,
		      const struct bolt_elide *elide)
{
	if (elide->park)
		elide->park(cpu);
	bolt_set_park(&per_cpu_ptr(&bolt_cpus, cpu)->pending, state);
	trace_bolt_park(cpu, state);
}

static int bolt_unpark(unsigned int cpu, enum cpuhp_state state,
		       const struct bolt_elide *elide)
{
	int err = elide->unpark ? elide->unpark(cpu) : 0;

	bolt_set_unpark(&per_cpu_ptr(&bolt_cpus, cpu)->pending, state);
	if (err) {
		/* As a startup that fails: nothing of the state is left. */
		bolt_tear_down(cpu, state, elide);
		return err;
	}
	bolt_show(cpu, state);
	trace_bolt_unpark(cpu, state);
	return 0;
}

/**
 * bolt_intercept - park or unpark in place of a callback
 * @cpu:	the CPU
 * @state:	the state whose callback is due
 * @bringup:	startup, or teardown
 * @ret:	where to put what the callback would have returned
 *
 * A startup is skipped exactly when its teardown is pending, whoever brings
 * the CPU up. Without memory to park a state, it is torn down natively.
 *
 * Context: where the callback would run, hotplug lock held for writing.
 * Return: true if the callback must not run.
 */
bool bolt_intercept(unsigned int cpu, enum cpuhp_state state, bool bringup,
		    int *ret)
{
	const struct bolt_elide *elide = bolt_elided(state);
	bool pending;

	if (!elide)
		return false;
	pending = bolt_set_has(&per_cpu_ptr(&bolt_cpus, cpu)->pending, state);
	*ret = 0;
	if (bringup) {
		if (pending)
			*ret = bolt_unpark(cpu, state, elide);
		return pending;
	}
	if (pending) {
		bolt_broken(cpu, state, "torn down twice");
		return true;
	}
	if (!bolt_fast() || bolt_hide(cpu, state, elide)) {
		bolt_forget_entries(cpu, state);
		return false;
	}
	bolt_park(cpu, state, elide);
	return true;
}

/* Law 2 at the end of a request: what is pending lies above where the CPU is. */
static void bolt_check(unsigned int cpu)
{
	struct bolt_set *pending = &per_cpu_ptr(&bolt_cpus, cpu)->pending;
	int state = find_first_bit(pending->states, BOLT_NR_STATES);

	if (state < BOLT_NR_STATES && !bolt_glue_below(cpu, state))
		bolt_broken(cpu, state, "pending, but the CPU is past it");
}

static int bolt_request(unsigned int cpu, bool online)
{
	struct bolt_batch batch = { .cpu = cpu };
	ktime_t start = ktime_get();
	int err;

	cpu_maps_update_begin();
	batch.id = ++bolt_batches;
	batch.last = start;
	/* Before anything is pending: the worker looks without a lock. */
	if (!online)
		WRITE_ONCE(per_cpu_ptr(&bolt_cpus, cpu)->parked_at, start);
	if (bolt_on)
		WRITE_ONCE(bolt_batch, &batch);
	if (online)
		err = bolt_glue_up(cpu);
	else
		err = bolt_glue_down(cpu);
	WRITE_ONCE(bolt_batch, NULL);

	bolt_check(cpu);
	if (!bolt_set_empty(&per_cpu_ptr(&bolt_cpus, cpu)->pending))
		bolt_settle_later();
	cpu_maps_update_done();

	trace_bolt_batch(batch.id, cpu, online, err,
			 ktime_to_ns(ktime_sub(ktime_get(), start)));
	return err;
}

/**
 * bolt_cpu_down - take a CPU offline
 * @cpu:	the CPU
 *
 * Context: may sleep; device hotplug lock held. If Bolt has been disabled in
 * the meantime, the native way.
 * Return: 0 or what cpu_down() would return.
 */
int bolt_cpu_down(unsigned int cpu)
{
	return bolt_request(cpu, false);
}

/**
 * bolt_cpu_up - bring a CPU online
 * @cpu:	the CPU
 *
 * Context: as bolt_cpu_down().
 * Return: 0 or what cpu_up() would return.
 */
int bolt_cpu_up(unsigned int cpu)
{
	int err;

	if (!cpu_possible(cpu))
		return -EINVAL;
	err = try_online_node(cpu_to_node(cpu));
	if (err)
		return err;
	return bolt_request(cpu, true);
}

/**
 * bolt_enable - switch Bolt on or off
 * @on:		which
 *
 * When it returns from switching off, no CPU is parked and readers of the
 * hotplug lock are back on their fast path as soon as a grace period is over.
 *
 * Context: may sleep, for a grace period or for all that is to be settled.
 * Return: 0, or -EIO if Bolt has found itself broken.
 */
int bolt_enable(bool on)
{
	int err = 0;

	cpu_maps_update_begin();
	if (on == bolt_on)
		goto out;
	if (on) {
		err = bolt_is_broken ? -EIO : 0;
		if (err)
			goto out;
		bolt_glue_hold_readers_slow(true);
		WRITE_ONCE(bolt_on, true);
	} else {
		WRITE_ONCE(bolt_on, false);
		bolt_settle_all();
		bolt_glue_hold_readers_slow(false);
	}
	pr_info("%s\n", on ? "enabled" : "disabled");
out:
	cpu_maps_update_done();
	return err;
}
