/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tests of what the highest CPU still has to do when its interrupts are off
 * for good: another one does it, natively and with Bolt. Nobody comes back for it.
 */
#ifndef _BOLT_TESTS_HANDOVER_H
#define _BOLT_TESTS_HANDOVER_H

#include <linux/completion.h>
#include <linux/irq_work.h>

#include "fixture.h"

#define HANDOVER_PATIENCE (2 * HZ)

/**
 * struct bolt_handover - what a test has to put back
 * @fixture:	as for all that take a CPU
 * @state:	the hotplug state whose teardown is the first sign that it goes
 */
struct bolt_handover {
	struct bolt_fixture fixture;
	int state;
};

static unsigned int victim;

/* What the victim does when it dies. */
static void (*leave)(void);

/* What has been left is done. */
static DECLARE_COMPLETION(arrived);

/*
 * Lazy ones are done by the next tick, and then once more; or by a CPU that dies,
 * in the stop.
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
	add_cpu(victim);
	if (h->state > 0)
		cpuhp_remove_state_nocalls(h->state);
	bolt_fixture_end(&h->fixture);
}

/* For suites that need nothing else. */
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

/* @prepare is called first, and may be NULL; @func leaves what is to be done. */
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
