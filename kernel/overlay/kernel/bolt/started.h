/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps for each CPU how far it has come for certain; see started.c. Part of
 * kernel/cpu.c, where all callbacks pass.
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

/* The last state that is up on the CPU for certain, while callbacks run. */
DECLARE_PER_CPU(enum cpuhp_state, bolt_reached);

/**
 * struct bolt_step - one state of one CPU, while its callback runs
 * @cpu:	the CPU
 * @st:		its storage
 * @state:	the state
 * @bringup:	startup, or teardown
 * @ret:	what the callback returns
 * @partial:	where the first instance is that has failed, or NULL
 */
struct bolt_step {
	unsigned int cpu;
	struct cpuhp_cpu_state *st;
	enum cpuhp_state state;
	bool bringup;
	const int *ret;
	struct hlist_node **partial;
};

static __always_inline struct bolt_step bolt_step_begin(struct bolt_step step)
{
	enum cpuhp_state *reached = per_cpu_ptr(&bolt_reached, step.cpu);

	if (!step.bringup) {
		/* For states below, as in bolt_step_end(). */
		smp_store_release(reached, step.st->state);
		/*
		 * Before anything that the teardown does: pairs with the read
		 * barrier of a caller of cpuhp_started().
		 */
		smp_wmb();
	} else if (*reached >= step.st->state &&
		   (step.state == step.st->state || step.state == CPUHP_BP_KICK_AP)) {
		/*
		 * On the way down, the CPU has passed states without a callback. The
		 * startup of a state that is registered now changes nothing.
		 */
		smp_store_release(reached, step.st->state - 1);
	}
	return step;
}

static __always_inline void bolt_step_end(const struct bolt_step *step)
{
	if (step->bringup) {
		/*
		 * Callbacks of the CPU itself run inside these two, which the control
		 * task runs: how far the CPU has come is written by the CPU alone.
		 */
		if (*step->ret || step->state == CPUHP_BP_KICK_AP ||
		    step->state == CPUHP_BRINGUP_CPU)
			return;
		/* After all that the startup does: pairs with cpuhp_started(). */
		smp_store_release(&per_cpu(bolt_reached, step->cpu), step->st->state);
	} else if (unlikely(*step->ret) && step->st->state < step->state &&
		   cpu_online(step->cpu) &&
		   !(step->partial && *step->partial)) {
		/* The teardown is refused: the state is up as before. */
		smp_store_release(per_cpu_ptr(&bolt_reached, step->cpu), step->state);
	}
}

/*
 * A state of @cpu has been passed without a callback: its teardown is deferred, or
 * was pending, so that its startup is not due.
 */
static inline void bolt_step_passed(unsigned int cpu, bool bringup)
{
	/* As in bolt_step_begin() and bolt_step_end(). */
	smp_store_release(per_cpu_ptr(&bolt_reached, cpu), bolt_cpu_state(cpu));
	if (!bringup) {
		/* Before anything that is done for states below. */
		smp_wmb();
	}
}

/* Without instances no callback sets it. */
static __always_inline const int *bolt_step_ret(int *ret)
{
	*ret = 0;
	return ret;
}

/*
 * From here to the end of the block, the callback of a state runs or is skipped,
 * which @_result tells.
 */
#define bolt_step(_cpu, _st, _state, _bringup, _partial, _result)	\
	struct bolt_step __bolt_step __cleanup(bolt_step_end) =		\
		bolt_step_begin((struct bolt_step){			\
			.cpu = (_cpu),					\
			.st = (_st),					\
			.state = (_state),				\
			.bringup = (_bringup),				\
			.partial = (_partial),				\
			.ret = bolt_step_ret(_result),			\
		})

/* The boot CPU was never brought up. */
#define bolt_step_boot() this_cpu_write(bolt_reached, CPUHP_ONLINE)

void bolt_steps_at_rest(void);
#else
#define bolt_step(...) do { } while (0)
#define bolt_step_boot() do { } while (0)
#endif

#endif /* _KERNEL_BOLT_STARTED_H */
