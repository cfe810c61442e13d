/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps for each CPU the highest state that is certainly up on the CPU; see started.c.
 * kernel/cpu.c, whose cpuhp_invoke_callback() runs callbacks, includes this file.
 */
#ifndef _KERNEL_BOLT_STARTED_H
#define _KERNEL_BOLT_STARTED_H

#include <linux/cpuhotplug.h>

#ifdef CONFIG_BOLT
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <asm/barrier.h>

#include "glue.h"

/* The highest state that is certainly up on the CPU, also while a callback is running. */
DECLARE_PER_CPU(enum cpuhp_state, bolt_reached);

/**
 * struct bolt_step - one state of one CPU, while its callback runs
 * @cpu:	the CPU
 * @st:		the CPU's place in the state machine
 * @state:	the state
 * @bringup:	true for the startup, false for the teardown
 * @was_up:	whether the state was up before a teardown
 * @ret:	where the result of the callback is
 */
struct bolt_step {
	unsigned int cpu;
	struct cpuhp_cpu_state *st;
	enum cpuhp_state state;
	bool bringup;
	bool was_up;
	const int *ret;
};

static __always_inline struct bolt_step bolt_step_begin(struct bolt_step step)
{
	enum cpuhp_state *reached = per_cpu_ptr(&bolt_reached, step.cpu);

	if (!step.bringup) {
		step.was_up = *reached >= step.state;
		/*
		 * All that the teardowns of higher states have written is ordered
		 * before this store, as in bolt_step_end().
		 */
		smp_store_release(reached, step.st->state);
		/*
		 * The store is ordered before all that the teardown writes. Pairs with
		 * the read barrier of a caller of cpuhp_started().
		 */
		smp_wmb();
	} else if (*reached >= step.st->state && !step.st->last &&
		   (step.state == step.st->state || step.state == CPUHP_BP_KICK_AP)) {
		/*
		 * On the way down, the CPU has passed states without a callback,
		 * which was not noted. A state that has been registered since among
		 * these must not count as up before its startup has run. @last is set if
		 * the teardown of one instance has failed: the state then counts as up.
		 */
		smp_store_release(reached, step.st->state - 1);
	}
	return step;
}

static __always_inline void bolt_step_end(const struct bolt_step *step)
{
	if (step->bringup) {
		/*
		 * While the control task runs the startup of CPUHP_BP_KICK_AP or
		 * CPUHP_BRINGUP_CPU, the CPU runs callbacks of its own, and only the
		 * CPU itself notes how far it has come.
		 */
		if (*step->ret || step->state == CPUHP_BP_KICK_AP ||
		    step->state == CPUHP_BRINGUP_CPU)
			return;
		/*
		 * The store is ordered after all that the startup writes. Pairs with
		 * cpuhp_started().
		 */
		smp_store_release(&per_cpu(bolt_reached, step->cpu), step->st->state);
	} else if (unlikely(*step->ret) && step->was_up &&
		   step->st->state < step->state && cpu_online(step->cpu)) {
		/*
		 * The teardown has refused, so the CPU stays, and the state is up as
		 * before. If the state has instances, the startups of some instances run
		 * again before the request ends.
		 */
		smp_store_release(per_cpu_ptr(&bolt_reached, step->cpu), step->state);
	}
}

/*
 * Notes that @cpu has passed a state whose callback has not run: on the way down the
 * teardown was deferred; on the way up the teardown was pending, so that no startup is
 * due.
 */
static inline void bolt_step_passed(unsigned int cpu, bool bringup)
{
	/* A release, for the reasons given in bolt_step_begin() and bolt_step_end(). */
	smp_store_release(per_cpu_ptr(&bolt_reached, cpu), bolt_cpu_state(cpu));
	if (!bringup) {
		/* The store comes before all that teardowns of lower states write. */
		smp_wmb();
	}
}

/* Sets the result to 0: if a state has no instance now, no callback sets the result. */
static __always_inline const int *bolt_step_ret(int *ret)
{
	*ret = 0;
	return ret;
}

/*
 * Wraps the rest of the block, in which the callback of a state runs or is skipped.
 * @_result points to the callback's result.
 */
#define bolt_step(_cpu, _st, _state, _bringup, _result)		\
	struct bolt_step __bolt_step __cleanup(bolt_step_end) =		\
		bolt_step_begin((struct bolt_step){			\
			.cpu = (_cpu),					\
			.st = (_st),					\
			.state = (_state),				\
			.bringup = (_bringup),				\
			.ret = bolt_step_ret(_result),			\
		})

/*
 * The boot CPU was never brought up, so no startup has noted that all states are up
 * on it.
 */
#define bolt_step_boot() this_cpu_write(bolt_reached, CPUHP_ONLINE)

void bolt_steps_at_rest(void);
#else
#define bolt_step(...) do { } while (0)
#define bolt_step_boot() do { } while (0)
#endif

#endif /* _KERNEL_BOLT_STARTED_H */
