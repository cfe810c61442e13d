// SPDX-License-Identifier: GPL-2.0-only
/*
 * On which CPUs a hotplug state is up: its startup has completed, and its
 * teardown has not begun.
 *
 * A CPU passes the states in their order, so one number for each CPU is enough: the
 * highest state that is certainly up. (The state number of the CPU is another number,
 * which advances before the callback runs.) cpuhp_invoke_callback() and bolt_pass()
 * update the number by these rules, in the CPU's turn (turn.c) if the callback needs one:
 *
 * - Before a teardown runs, the number falls below the state; also if the teardown
 *   is deferred instead. If the teardown of a CPU that is online fails, the number
 *   rises to the state again. The number of a dead CPU stays below the state until
 *   the startup has run again.
 * - After a startup has run without error, the number rises to the state; also if
 *   the startup is skipped because the state's teardown was pending.
 * - A state without a callback in the direction of the CPU is passed together with the
 *   next state that has one. A state without a teardown therefore counts as up until a
 *   teardown below it begins; do not ask about such a state.
 * - The callback of a state that is registered or removed while the CPU is further up
 *   does not change how far the CPU has come. A state that is being registered counts as
 *   up on each CPU that is further up, even before its startup runs there: natively, too,
 *   such a CPU is in cpu_online_mask by then. No request runs meanwhile. On a CPU that
 *   hotplug has left half-way, below a state that is registered afterwards, this state
 *   counts as up only when a startup has run since, of this state or of a higher one.
 * - A state with instances is up when the startups of all instances have completed.
 *   Instances that are added later are not looked at. If the teardown of one instance
 *   fails, the state counts as up, although the startups of other instances have yet to
 *   run again: the CPU stays, and goes on to use all instances.
 *
 * An undo follows the same rules. The number is written by the task that runs callbacks
 * of the CPU, such as the control task or the hotplug thread of the CPU, by the CPU itself
 * where it starts or dies, and by bolt_steps_at_rest(). A task or CPU that may write the
 * state number of the CPU at a moment may write this number as well.
 */
#include <linux/cpuhotplug_started.h>
#include <linux/cpumask.h>
#include <linux/export.h>

#include "glue.h"
#include "started.h"
#include "state.h"

DEFINE_PER_CPU(enum cpuhp_state, bolt_reached);

/**
 * cpuhp_started - whether a hotplug state is up on a CPU
 * @cpu:	the CPU
 * @state:	the state, which has a startup and a teardown
 *
 * The state is up if its startup has completed on @cpu and its teardown has not
 * begun. In a request, the state is therefore up neither on the CPU whose startup
 * or teardown of @state runs, nor on a CPU whose teardown of @state was deferred; it is
 * up again when the startup has been skipped on the return of the CPU. While @state is
 * being registered or removed, it counts as up on all CPUs that have got past it.
 *
 * Do not ask about states below the STARTING section: without CONFIG_BOLT this function
 * is cpu_online(), which is false for a CPU that has only run its PREPARE startups. In a
 * callback of @state, ask only about other CPUs: @state is not up on the callback's CPU.
 *
 * If the answer is yes, the caller sees all that the startup did. If the caller
 * has seen something that the teardown did, and a read barrier follows, the
 * answer is no. Two startups that run at once may both find that the other one
 * has not completed: callbacks of a state that is concurrent need a lock to
 * find each other.
 *
 * Context: any. The answer lasts as long as the hotplug lock is held; inside a
 * request it lasts only within a serial callback of @state: no other callback of @state
 * runs meanwhile (see turn.c); bolt_run_threads() keeps teardowns apart from startups.
 * Return: true if so.
 */
bool cpuhp_started(unsigned int cpu, enum cpuhp_state state)
{
	/* Pairs with bolt_step_end(). */
	return smp_load_acquire(per_cpu_ptr(&bolt_reached, cpu)) >= state;
}
EXPORT_SYMBOL_GPL(cpuhp_started);

/**
 * bolt_steps_at_rest - lower bolt_reached of each CPU to the CPU's state number
 *
 * A CPU that hotplug has left half-way on the way down has passed states without a
 * callback, which bolt_reached does not show. A state that is registered among these
 * must not count as up on that CPU.
 *
 * Context: cpuhp_state_mutex held, and the hotplug lock at least for reading.
 */
void bolt_steps_at_rest(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		enum cpuhp_state *reached = per_cpu_ptr(&bolt_reached, cpu);

		if (*reached > bolt_cpu_state(cpu)) {
			/* Pairs with cpuhp_started(), for the states that stay up. */
			smp_store_release(reached, bolt_cpu_state(cpu));
		}
	}
}

/**
 * cpuhp_started_next - go to the next CPU of for_each_started_cpu()
 * @walk:	the walk
 *
 * Context: as cpuhp_started().
 * Return: true if there is a next CPU.
 */
bool cpuhp_started_next(struct cpuhp_started_walk *walk)
{
	unsigned int cpu = cpumask_next(*walk->cpu, cpu_possible_mask);

	while (cpu < nr_cpu_ids && !cpuhp_started(cpu, walk->state))
		cpu = cpumask_next(cpu, cpu_possible_mask);
	*walk->cpu = cpu;
	return cpu < nr_cpu_ids;
}
EXPORT_SYMBOL_GPL(cpuhp_started_next);

/**
 * cpumask_keep_started - remove from a mask the CPUs on which a state is not up
 * @mask:	the mask
 * @cpu:	a CPU that stays in @mask in any case: the CPU whose startup runs
 * @state:	the state
 *
 * Context: as cpuhp_started().
 */
void cpumask_keep_started(struct cpumask *mask, unsigned int cpu,
			  enum cpuhp_state state)
{
	unsigned int other;

	for_each_cpu(other, mask) {
		if (other != cpu && !cpuhp_started(other, state))
			cpumask_clear_cpu(other, mask);
	}
}
EXPORT_SYMBOL_GPL(cpumask_keep_started);

/**
 * cpuhp_refused - whether a callback of another CPU has failed in this request
 *
 * All CPUs of the request then go back, so a teardown that waits for long may fail as
 * well. The teardown cannot always see the cause by itself: a wake-up in suspend is
 * reported only once, to the teardown that asks first. Natively no other teardown
 * waits at that time; in a request the teardown of another CPU may wait as well.
 *
 * Context: a callback that the hotplug thread of its CPU runs; false elsewhere.
 * Return: true if so; false while a request is undone, while the machine boots, and while
 * this CPU goes back after one of its callbacks has failed: a teardown that natively has
 * to wait must not fail then.
 */
bool cpuhp_refused(void)
{
	const struct bolt_batch *batch = bolt_batch;
	const struct cpuhp_cpu_state *st = bolt_cpuhp_cpu(raw_smp_processor_id());

	return batch && !batch->undo && READ_ONCE(batch->err) &&
	       st->thread == current && !st->rollback;
}
EXPORT_SYMBOL_GPL(cpuhp_refused);

#include "tests/started-kunit.h"
