// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: another CPU runs the tasklets, work items of softirqs, timers and RCU callbacks
 * that the highest CPU still has when the highest CPU dies.
 */
#include <linux/interrupt.h>
#include <linux/rcupdate.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

#include "handover.h"

static void in_tasklet(struct tasklet_struct *tasklet)
{
	complete(&arrived);
}

static DECLARE_TASKLET(tasklet, in_tasklet);

static void leave_tasklet(void)
{
	tasklet_schedule(&tasklet);
}

static void a_tasklet(struct kunit *test)
{
	handed_over(test, NULL, leave_tasklet);
}

static void leave_urgent_tasklet(void)
{
	tasklet_hi_schedule(&tasklet);
}

static void an_urgent_tasklet(struct kunit *test)
{
	handed_over(test, NULL, leave_urgent_tasklet);
}

static void in_bh_work(struct work_struct *work)
{
	complete(&arrived);
}

static DECLARE_WORK(bh_work, in_bh_work);

static void leave_bh_work(void)
{
	queue_work(system_bh_wq, &bh_work);
}

static void a_work_item_of_softirqs(struct kunit *test)
{
	handed_over(test, NULL, leave_bh_work);
}

static void in_timer(struct timer_list *timer)
{
	complete(&arrived);
}

static DEFINE_TIMER(timer, in_timer);

static void leave_timer(void)
{
	mod_timer(&timer, jiffies + 2);
}

static void a_timer(struct kunit *test)
{
	handed_over(test, NULL, leave_timer);
}

static struct timer_list pinned_timer;

static void leave_pinned_timer(void)
{
	mod_timer(&pinned_timer, jiffies + 2);
}

static void a_pinned_timer(struct kunit *test)
{
	timer_setup(&pinned_timer, in_timer, TIMER_PINNED);
	handed_over(test, NULL, leave_pinned_timer);
	timer_delete_sync(&pinned_timer);
}

static void in_callback(struct rcu_head *head)
{
	complete(&arrived);
}

static struct rcu_head head;

static void leave_callback(void)
{
	call_rcu(&head, in_callback);
}

/* Waits until the callback of an earlier run has returned, so that @head is free. */
static void before_callback(struct kunit *test)
{
	rcu_barrier();
}

static void an_rcu_callback(struct kunit *test)
{
	handed_over(test, before_callback, leave_callback);
}

static struct kunit_case bolt_handover_cases[] = {
	KUNIT_CASE(a_tasklet),
	KUNIT_CASE(an_urgent_tasklet),
	KUNIT_CASE(a_work_item_of_softirqs),
	KUNIT_CASE(a_timer),
	KUNIT_CASE(a_pinned_timer),
	KUNIT_CASE(an_rcu_callback),
	{}
};

static struct kunit_suite bolt_handover_suite = {
	.name = "bolt_handover",
	.init = bolt_handover_init,
	.exit = bolt_handover_exit,
	.test_cases = bolt_handover_cases,
};

kunit_test_suite(bolt_handover_suite);
