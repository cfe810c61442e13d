/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tests of work that the highest CPU still has when it disables its interrupts
 * to die: another CPU must do that work, natively and with Bolt, before the CPU
 * returns.
 */
#ifndef _BOLT_TESTS_HANDOVER_H
#define _BOLT_TESTS_HANDOVER_H

#include <linux/completion.h>
#include <linux/irq_work.h>

#include "fixture.h"

#define HANDOVER_PATIENCE (2 * HZ)

/**
 * struct bolt_handover - what a test has to restore
 * @fixture:	the CPU of the test, and the settings to restore
 * @state:	the hotplug state whose teardown has leave() called when the victim
 *		dies
 */
struct bolt_handover {
	struct bolt_fixture fixture;
	int state;
};

static unsigned int victim;

/* The function with which the victim leaves work when it dies. */
static void (*leave)(void);

/* Completed when the work has been done. */
static DECLARE_COMPLETION(arrived);

/*
 * Runs as a lazy irq_work: from the tick of a CPU that is online, where this function
 * queues the irq_work once more; or in stop_machine(), on a CPU that dies, where this
 * function calls leave().
 */
static void do_late(struct irq_work *work)
{
	if (cpu_online(smp_processor_id()))
		irq_work_queue(work);
	else
		leave();
}

static struct irq_work late = IRQ_WORK_INIT_LAZY(do_late);

static int going(unsigned int cpu)
{
	if (cpu == victim && leave)
		irq_work_queue(&late);
	return 0;
}

static inline int bolt_handover_begin(struct kunit *test,
				      struct bolt_handover *h)
{
	int err = bolt_fixture_begin(test, &h->fixture);

	if (err)
		return err;
	test->priv = h;
	victim = h->fixture.victim;
	leave = NULL;
	h->state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN,
					     "bolt/test:handover", NULL, going);
	return min(h->state, 0);
}

static inline void bolt_handover_end(struct bolt_handover *h)
{
	leave = NULL;
	add_cpu(victim);
	if (h->state > 0)
		cpuhp_remove_state_nocalls(h->state);
	bolt_fixture_end(&h->fixture);
}

/* The init function of suites whose tests need only a struct bolt_handover. */
static inline int bolt_handover_init(struct kunit *test)
{
	struct bolt_handover *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);

	return h ? bolt_handover_begin(test, h) : -ENOMEM;
}

static inline void bolt_handover_exit(struct kunit *test)
{
	if (test->priv)
		bolt_handover_end(test->priv);
}

static inline void expect_handover(struct kunit *test,
				   void (*prepare)(struct kunit *test),
				   void (*func)(void))
{
	reinit_completion(&arrived);
	if (prepare)
		prepare(test);
	leave = func;
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	leave = NULL;
	KUNIT_ASSERT_NE(test, 0,
			wait_for_completion_timeout(&arrived, HANDOVER_PATIENCE));
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
}

/*
 * Runs a test twice: while Bolt is disabled, and while Bolt is enabled. @prepare, which
 * may be NULL, is called before the victim goes offline. When the victim dies, with
 * interrupts disabled, the victim calls @func, which queues work that another CPU must
 * then do.
 */
static inline void handed_over(struct kunit *test,
			       void (*prepare)(struct kunit *test),
			       void (*func)(void))
{
	KUNIT_ASSERT_EQ(test, bolt_enable(false), 0);
	expect_handover(test, prepare, func);
	KUNIT_ASSERT_EQ(test, bolt_enable(true), 0);
	expect_handover(test, prepare, func);
}

#endif /* _BOLT_TESTS_HANDOVER_H */
