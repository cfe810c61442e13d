// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of Bolt that needs the statics of kernel/cpu.c, at the end of which
 * it is included. Nothing else touches them.
 */
#include "internal.h"

/* The hotplug lock, once readers may miss that they have to wake a writer. */
struct percpu_rw_semaphore *bolt_patient_sem __read_mostly;

/**
 * bolt_await_reader - wait for readers in percpu_down_write()
 * @sem:	the lock
 * @ticks:	for how long at most, in jiffies; longer the next time
 *
 * A reader of the hotplug lock wakes its writer, but may miss one that has just
 * begun to wait, see readers.h: it looks again, soon at first. After a while
 * whoever looks for hung tasks is to see that it hangs.
 *
 * Context: may sleep; the task's state is set.
 */
void bolt_await_reader(struct percpu_rw_semaphore *sem, long *ticks)
{
	if (READ_ONCE(bolt_patient_sem) != sem) {
		schedule();
		return;
	}
	schedule_timeout(*ticks);
	*ticks = min(2 * *ticks, MAX_SCHEDULE_TIMEOUT / 2);
}

/*
 * With one writer always entered, readers of the hotplug lock pay a barrier
 * and a request does not have to wait for a grace period.
 */
void bolt_glue_hold_readers_slow(bool hold)
{
	if (!hold) {
		rcu_sync_exit(&cpu_hotplug_lock.rss);
		return;
	}
	rcu_sync_enter(&cpu_hotplug_lock.rss);
	if (bolt_patient_sem)
		return;
	/* No other writer is waiting for readers now, and all that will are patient. */
	cpus_write_lock();
	WRITE_ONCE(bolt_patient_sem, &cpu_hotplug_lock);
	cpus_write_unlock();
}

/* The native way, for whoever comes while Bolt is being disabled. */
int bolt_glue_native(unsigned int cpu, bool online)
{
	return online ? cpu_up(cpu, CPUHP_ONLINE) :
			cpu_down(cpu, CPUHP_OFFLINE);
}

/* The native way, for those that have not come while the machine boots. */
void __init bolt_glue_retry(const struct cpumask *mask)
{
	if (!cpumask_empty(mask))
		cpuhp_bringup_mask(mask, nr_cpu_ids, CPUHP_ONLINE);
}

/* What forbids all of hotplug, or of going offline. */
int bolt_glue_forbidden(bool online)
{
	if (!online && cpu_hotplug_offline_disabled)
		return -EOPNOTSUPP;
	return cpu_hotplug_disabled ? -EBUSY : 0;
}

bool bolt_glue_bootable(unsigned int cpu)
{
	return cpu_bootable(cpu);
}

enum cpuhp_state bolt_glue_state(unsigned int cpu)
{
	return per_cpu_ptr(&cpuhp_state, cpu)->state;
}

/* Whether somebody wants @state to fail, through cpuN/hotplug/fail. */
static int bolt_inject(unsigned int cpu, enum cpuhp_state state)
{
	struct cpuhp_cpu_state *st = per_cpu_ptr(&cpuhp_state, cpu);

	if (st->fail != state)
		return 0;
	st->fail = CPUHP_INVALID;
	bolt_failed(cpu, state);
	return -EAGAIN;
}

/*
 * Callbacks of the control task, to where @target has been reached; back to
 * where the CPU was if one fails.
 */
int bolt_glue_run(unsigned int cpu, enum cpuhp_state target)
{
	struct cpuhp_cpu_state *st = per_cpu_ptr(&cpuhp_state, cpu);

	if (st->state == target)
		return 0;
	cpuhp_set_state(cpu, st, target);
	if (st->bringup)
		return cpuhp_up_callbacks(cpu, st, target);
	return cpuhp_down_callbacks(cpu, st, target);
}

/*
 * Teardowns of a CPU that is dead, or was never woken: nothing brings it back,
 * so that those that fail are passed over.
 */
int bolt_glue_bury(unsigned int cpu, enum cpuhp_state target)
{
	struct cpuhp_cpu_state *st = per_cpu_ptr(&cpuhp_state, cpu);

	if (st->state == target)
		return 0;
	cpuhp_set_state(cpu, st, target);
	return __cpuhp_invoke_callback_range(false, cpu, st, target, true);
}

/* Whether the caller is the hotplug thread of its CPU. */
bool bolt_glue_in_thread(void)
{
	/* Of another CPU if the caller can be moved; that thread cannot. */
	return raw_cpu_read(cpuhp_state.thread) == current;
}

/* A CPU that stays online has its hotplug thread. */
void bolt_glue_unpark(unsigned int cpu)
{
	struct task_struct *thread = per_cpu_ptr(&cpuhp_state, cpu)->thread;

	if (cpu_online(cpu) && kthread_parking(thread))
		kthread_unpark(thread);
}

/*
 * Callbacks on the CPU's hotplug thread: sets it going. False: it is there
 * already. A CPU that has just come, or is not to go after all, has it parked.
 */
bool bolt_glue_kick(unsigned int cpu, enum cpuhp_state target)
{
	struct cpuhp_cpu_state *st = per_cpu_ptr(&cpuhp_state, cpu);
	bool parked = kthread_parking(st->thread);

	if (st->state == target)
		return false;
	cpuhp_lock_acquire(false);
	cpuhp_lock_release(false);
	cpuhp_lock_acquire(true);
	cpuhp_lock_release(true);

	cpuhp_set_state(cpu, st, target);
	cpuhp_start_ap(st);
	/* Otherwise it runs by now, and may have parked itself. */
	if (parked)
		kthread_unpark(st->thread);
	return true;
}

/*
 * The way back has failed, too, at a state that counts as passed by then: it is
 * not, and those of its instances that have passed it turn round once more.
 */
static void bolt_stay_before(struct cpuhp_cpu_state *st)
{
	st->bringup = !st->bringup;
	st->target = st->state + (st->bringup ? 1 : -1);
	if (st->last)
		__cpuhp_kick_ap(st);
	st->state = st->target;
}

/* Waits for the thread, which goes back to @from if a callback fails. */
int bolt_glue_wait(unsigned int cpu, enum cpuhp_state from)
{
	struct cpuhp_cpu_state *st = per_cpu_ptr(&cpuhp_state, cpu);
	int err;

	wait_for_ap_thread(st, st->bringup);
	err = st->result;
	if (err) {
		cpuhp_reset_state(cpu, st, from);
		st->result = 0;
		__cpuhp_kick_ap(st);
		if (st->result)
			bolt_stay_before(st);
	}
	if (kthread_parking(st->thread))
		kthread_park_finish(st->thread);
	return err;
}

/* A CPU that is offline gets a stack for its return. */
int bolt_glue_idle(unsigned int cpu)
{
	struct task_struct *idle;

	if (bolt_glue_state(cpu) != CPUHP_OFFLINE)
		return 0;
	idle = idle_thread_get(cpu);
	if (IS_ERR(idle))
		return PTR_ERR(idle);
	scs_task_reset(idle);
	kasan_unpoison_task_stack(idle);
	return 0;
}

/*
 * Where the startup is split in two, a CPU that is woken waits to be released,
 * but not in a batch. Where it is not, it has nothing to wait for.
 */
#ifdef CONFIG_HOTPLUG_SPLIT_STARTUP
#define BOLT_KICK_STATE CPUHP_BP_KICK_AP

static int bolt_kick(unsigned int cpu)
{
	return cpuhp_invoke_callback(cpu, CPUHP_BP_KICK_AP, true, NULL, NULL);
}

/* Too late for @cpu now. False: it is on its way, and will arrive. */
static bool bolt_give_up(unsigned int cpu)
{
	atomic_t *st = per_cpu_ptr(&cpuhp_state.ap_sync_state, cpu);

	return atomic_cmpxchg(st, SYNC_STATE_RELEASED, SYNC_STATE_KICKED) ==
	       SYNC_STATE_RELEASED;
}

#define bolt_kicked(cpu) arch_cpuhp_cleanup_kick_cpu(cpu)
#else
#define BOLT_KICK_STATE CPUHP_BRINGUP_CPU

static int bolt_kick(unsigned int cpu)
{
	return bolt_arch_kick(cpu, idle_thread_get(cpu));
}

/* As natively: one that comes later finds no task. */
static bool bolt_give_up(unsigned int cpu)
{
	if (cpu_online(cpu))
		return false;
	bolt_arch_gave_up(cpu);
	return true;
}

#define bolt_kicked(...) do { } while (0)
#endif

/*
 * Wakes a CPU, which goes all the way to its idle loop without waiting for
 * anybody: what it finds of its state must be right by now.
 */
int bolt_glue_start(unsigned int cpu)
{
	struct cpuhp_cpu_state *st = per_cpu_ptr(&cpuhp_state, cpu);
	int err = bolt_inject(cpu, CPUHP_BRINGUP_CPU);

	if (err)
		return err;
	reinit_completion(&st->done_up);
	cpuhp_set_state(cpu, st, CPUHP_ONLINE);
	st->state = CPUHP_BRINGUP_CPU;
	err = bolt_kick(cpu);
	if (err) {
		bolt_failed(cpu, BOLT_KICK_STATE);
		st->state = CPUHP_BP_KICK_AP - 1;
	}
	return err;
}

/* Waits until a CPU has arrived, or has not until @deadline, in jiffies. */
int bolt_glue_arrive(unsigned int cpu, unsigned long deadline)
{
	struct cpuhp_cpu_state *st = per_cpu_ptr(&cpuhp_state, cpu);
	long left = max(1L, (long)(deadline - jiffies));
	int err = 0;

	if (!wait_for_completion_timeout(&st->done_up, left)) {
		if (bolt_give_up(cpu))
			err = -EIO;
		else
			wait_for_ap_thread(st, true);
	}
	bolt_kicked(cpu);
	bolt_set_transit(cpu, false);
	if (err) {
		pr_err("CPU%u failed to report alive state\n", cpu);
		st->state = CPUHP_BP_KICK_AP - 1;
	} else if (WARN_ON_ONCE(!cpu_online(cpu)) || !cpu_bootable(cpu)) {
		err = -ECANCELED;
	}
	if (err)
		bolt_failed(cpu, CPUHP_BRINGUP_CPU);
	return err;
}

/**
 * struct bolt_stop - a stop of the machine in which CPUs go
 * @cpus:	the CPUs
 * @nr:		how many
 * @err:	why none of them goes
 * @turn:	whose turn it is to give up its interrupts
 * @met:	how many have arrived where they wait for each other, in all
 */
struct bolt_stop {
	const struct cpumask *cpus;
	unsigned int nr;
	int err;
	unsigned int turn;
	atomic_t met;
};

static struct bolt_stop *bolt_stopping;

/**
 * bolt_pass_turn - interrupts have been moved off this CPU: the next CPU may
 *
 * What is left to do for them may take a millisecond, and all may do it at once.
 *
 * Context: a CPU that goes, in stop_machine(); without effect the second time,
 * and outside of requests.
 */
void bolt_pass_turn(void)
{
	struct bolt_stop *stop = bolt_stopping;
	unsigned int cpu = smp_processor_id();

	if (stop && stop->turn == cpu)
		/* Pairs with the acquire in bolt_take_down(). */
		smp_store_release(&stop->turn, cpumask_next(cpu, stop->cpus));
}

/*
 * A CPU waits for another one with interrupts off. That one may take its time, in
 * a callback of somebody's: what watches for CPUs that hang is to look at it.
 */
void bolt_glue_relax(void)
{
	cpu_relax();
	touch_nmi_watchdog();
	if (bolt_stopping)
		rcu_momentary_eqs();
}

static void bolt_stop_meet(struct bolt_stop *stop, unsigned int time)
{
	/* A release, and an acquire: what was done before is seen by all after it. */
	atomic_inc_return_release(&stop->met);
	while (atomic_read_acquire(&stop->met) < time * stop->nr)
		bolt_glue_relax();
}

/*
 * In phases, for whoever chooses another CPU must not choose one that goes as
 * well: all leave the mask, then they give up their interrupts, one after the
 * other, as masks of siblings are changed, then the dying callbacks run.
 */
static int bolt_take_down(void *data)
{
	struct cpuhp_cpu_state *st = this_cpu_ptr(&cpuhp_state);
	unsigned int this_cpu = smp_processor_id(), cpu;
	struct bolt_stop *stop = data;
	int err;

	bolt_set_transit(this_cpu, true);
	if (this_cpu == cpumask_first(stop->cpus)) {
		stop->err = bolt_arch_may_go(stop->cpus);
		if (!stop->err) {
			for_each_cpu(cpu, stop->cpus)
				set_cpu_online(cpu, false);
		}
	}
	bolt_stop_meet(stop, 1);
	if (stop->err)
		return stop->err;

	/* Pairs with bolt_pass_turn(), by the CPU before this one. */
	while (smp_load_acquire(&stop->turn) != this_cpu)
		bolt_glue_relax();
	err = __cpu_disable();
	if (err)
		set_cpu_online(this_cpu, true);
	bolt_pass_turn();
	bolt_stop_meet(stop, 2);
	if (err)
		return err;

	cpuhp_invoke_callback_range_nofail(false, this_cpu, st, CPUHP_AP_OFFLINE);
	stop_machine_park(this_cpu);
	return 0;
}

/* Has CPUs that have got to CPUHP_TEARDOWN_CPU die. */
int bolt_glue_take_down(const struct cpumask *cpus)
{
	struct bolt_stop stop = {
		.cpus = cpus,
		.nr = cpumask_weight(cpus),
		.turn = cpumask_first(cpus),
	};
	unsigned int cpu;
	int err;

	for_each_cpu(cpu, cpus) {
		err = bolt_inject(cpu, CPUHP_TEARDOWN_CPU);
		if (err)
			return err;
	}
	for_each_cpu(cpu, cpus) {
		struct cpuhp_cpu_state *st = per_cpu_ptr(&cpuhp_state, cpu);

		/* A CPU that got here by a write to its target has it running. */
		if (!kthread_parking(st->thread))
			kthread_park(st->thread);
		cpuhp_set_state(cpu, st, CPUHP_OFFLINE);
		st->state = CPUHP_TEARDOWN_CPU - 1;
	}

	/* Interrupts are not to come or go while they are moved. */
	irq_lock_sparse();
	bolt_set_round(cpus);
	bolt_stopping = &stop;
	err = stop_machine_cpuslocked(bolt_take_down, &stop, cpus);
	bolt_stopping = NULL;
	bolt_set_round(NULL);
	bolt_mark(BOLT_PHASE_STOP);
	for_each_cpu(cpu, cpus) {
		struct cpuhp_cpu_state *st = per_cpu_ptr(&cpuhp_state, cpu);

		if (cpu_online(cpu)) {
			st->state = CPUHP_TEARDOWN_CPU;
			bolt_failed(cpu, CPUHP_TEARDOWN_CPU);
			continue;
		}
		wait_for_ap_thread(st, false);
		WARN_ON_ONCE(st->state != CPUHP_AP_IDLE_DEAD);
	}
	irq_unlock_sparse();
	for_each_cpu_and(cpu, cpus, cpu_online_mask)
		bolt_set_transit(cpu, false);

	for_each_cpu_andnot(cpu, cpus, cpu_online_mask) {
		hotplug_cpu__broadcast_tick_pull(cpu);
		__cpu_die(cpu);
		cpuhp_bp_sync_dead(cpu);
		bolt_set_transit(cpu, false);
	}
	bolt_mark(BOLT_PHASE_DIE);
	for_each_cpu_andnot(cpu, cpus, cpu_online_mask) {
		tick_cleanup_dead_cpu(cpu);
		rcutree_migrate_callbacks(cpu);
	}
	return err;
}

#ifdef CONFIG_HOTPLUG_SMT
/* What cpuhp_smt_disable() would take down. */
void bolt_glue_smt_leave(struct cpumask *cpus, enum cpuhp_smt_control control)
{
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		if (!topology_is_primary_thread(cpu) &&
		    (control != CPU_SMT_ENABLED || !cpu_smt_thread_allowed(cpu)))
			cpumask_set_cpu(cpu, cpus);
	}
}

/* What cpuhp_smt_enable() would bring up. */
void bolt_glue_smt_come(struct cpumask *cpus)
{
	unsigned int cpu;

	for_each_present_cpu(cpu) {
		/* Or one that an undo has left half-way. */
		if (bolt_glue_state(cpu) < CPUHP_ONLINE &&
		    node_online(cpu_to_node(cpu)) &&
		    cpu_smt_thread_allowed(cpu) && topology_is_core_online(cpu))
			cpumask_set_cpu(cpu, cpus);
	}
}
#endif

/* What keeps states, instances and CPUs as they are. */
void bolt_glue_lock_states(void)
{
	cpus_read_lock();
	mutex_lock(&cpuhp_state_mutex);
}

void bolt_glue_unlock_states(void)
{
	mutex_unlock(&cpuhp_state_mutex);
	cpus_read_unlock();
}

/*
 * Settles the highest pending state of @cpu, or a part of it; with @async only
 * one that does not wait for the delay. False: there was none.
 */
bool bolt_glue_settle_next(unsigned int cpu, bool async)
{
	int state;

	/* Locked even if there seems to be none: its teardown may be running. */
	bolt_glue_lock_states();
	state = bolt_next_to_settle(cpu, async);
	if (state >= 0)
		bolt_settle_state(cpu, state);
	bolt_glue_unlock_states();
	return state >= 0;
}

/* Whether @state's startup has not run, as far as the state machine knows. */
bool bolt_glue_below(unsigned int cpu, enum cpuhp_state state)
{
	return per_cpu_ptr(&cpuhp_state, cpu)->state < state;
}

/* Whether @cpu has reached the kernel on its way up. */
bool bolt_glue_alive(unsigned int cpu)
{
	switch (atomic_read(per_cpu_ptr(&cpuhp_state.ap_sync_state, cpu))) {
	case SYNC_STATE_ALIVE:
	case SYNC_STATE_SHOULD_ONLINE:
	case SYNC_STATE_ONLINE:
		return true;
	}
	return false;
}

/* Whether @state has a startup, or a teardown. */
bool bolt_glue_has(enum cpuhp_state state, bool startup)
{
	return !cpuhp_step_empty(startup, cpuhp_get_step(state));
}

/* Whether @state has callbacks but no instance to call them for. */
bool bolt_glue_idle_state(enum cpuhp_state state)
{
	struct cpuhp_step *step = cpuhp_get_step(state);

	return step->multi_instance && hlist_empty(&step->list);
}

/* The address of @state's startup or teardown; 0 if there is none. */
unsigned long bolt_glue_callback(enum cpuhp_state state, bool startup)
{
	struct cpuhp_step *step = cpuhp_get_step(state);

	/* With instances it is another function, in the same place. */
	return (unsigned long)(startup ? step->startup.single :
					 step->teardown.single);
}

const char *bolt_glue_name(enum cpuhp_state state)
{
	return cpuhp_get_step(state)->name;
}

/*
 * What the intercept can stand for. A teardown without startup must be one of
 * a dead CPU: nothing undoes it. A startup without teardown needs others.
 */
bool bolt_glue_can_defer(enum cpuhp_state state, enum bolt_unit unit)
{
	if (!bolt_glue_has(state, true))
		return bolt_glue_has(state, false) && state < CPUHP_BRINGUP_CPU;
	return bolt_glue_has(state, false) || unit != BOLT_ALONE;
}

/* The startup of a state without instances, of which no teardown has run. */
int bolt_glue_startup(unsigned int cpu, enum cpuhp_state state)
{
	return cpuhp_get_step(state)->startup.single(cpu);
}

void bolt_glue_teardown(unsigned int cpu, enum cpuhp_state state)
{
	struct cpuhp_step *step = cpuhp_get_step(state);
	struct hlist_node *node;
	int err = 0;

	if (!step->multi_instance)
		err = step->teardown.single(cpu);
	else
		hlist_for_each(node, &step->list)
			err = step->teardown.multi(cpu, node) ?: err;
	WARN_ONCE(err, "CPU %u: deferred teardown of %s failed: %d\n", cpu,
		  step->name, err);
}

/*
 * One callback on the hotplug thread of a CPU that is online, as when its state
 * is registered: sets the thread going.
 */
void bolt_glue_send(unsigned int cpu, enum cpuhp_state state, bool bringup,
		    struct hlist_node *node)
{
	struct cpuhp_cpu_state *st = per_cpu_ptr(&cpuhp_state, cpu);
	bool parked = kthread_parking(st->thread);

	st->rollback = false;
	st->last = NULL;
	st->node = node;
	st->bringup = bringup;
	st->cb_state = state;
	st->single = true;
	cpuhp_start_ap(st);
	if (parked)
		kthread_unpark(st->thread);
}

/* The same by the control task. False: the CPU is not online, or has no thread. */
bool bolt_glue_call(unsigned int cpu, enum cpuhp_state state, bool bringup,
		    struct hlist_node *node)
{
	if (!cpu_online(cpu) || !per_cpu_ptr(&cpuhp_state, cpu)->thread)
		return false;
	cpuhp_lock_acquire(false);
	cpuhp_lock_release(false);
	cpuhp_lock_acquire(true);
	cpuhp_lock_release(true);

	bolt_glue_send(cpu, state, bringup, node);
	return true;
}

/* Waits for it; what it has returned. */
int bolt_glue_called(unsigned int cpu)
{
	struct cpuhp_cpu_state *st = per_cpu_ptr(&cpuhp_state, cpu);

	wait_for_ap_thread(st, st->bringup);
	st->node = NULL;
	st->last = NULL;
	/* Not to be taken for a callback when the CPU goes on its way. */
	st->single = false;
	return st->result;
}

/* One callback, here, under the hotplug lock. */
int bolt_glue_invoke(unsigned int cpu, enum cpuhp_state state, bool bringup,
		     struct hlist_node *node)
{
	return cpuhp_invoke_callback(cpu, state, bringup, node, NULL);
}

/* The same for whoever waits for it, and holds the lock. */
int bolt_glue_invoke_for(unsigned int cpu, enum cpuhp_state state, bool bringup,
			 struct hlist_node *node)
{
	int err;

	lockdep_acquire_cpus_lock();
	err = bolt_glue_invoke(cpu, state, bringup, node);
	lockdep_release_cpus_lock();
	return err;
}

/* What keeps states and instances as they are; hotplug lock held. */
void bolt_glue_lock_calls(void)
{
	mutex_lock(&cpuhp_state_mutex);
}

void bolt_glue_unlock_calls(void)
{
	mutex_unlock(&cpuhp_state_mutex);
}

bool bolt_glue_multi(enum cpuhp_state state)
{
	return cpuhp_get_step(state)->multi_instance;
}

void bolt_glue_add(enum cpuhp_state state, struct hlist_node *node)
{
	hlist_add_head(node, &cpuhp_get_step(state)->list);
}

#ifdef CONFIG_HOTPLUG_PARALLEL
/* Whether CPUs can find out by themselves who they are, once the boot CPU says so. */
bool __init bolt_glue_overlap(void)
{
	if (__cpuhp_parallel_bringup)
		__cpuhp_parallel_bringup = arch_cpuhp_init_parallel_bringup();
	return __cpuhp_parallel_bringup;
}
#else
bool __init bolt_glue_overlap(void)
{
	return true;
}
#endif
