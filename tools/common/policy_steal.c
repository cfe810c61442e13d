// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policy "steal": a guest gives back CPUs that its host does not run
 *
 * If a guest has more virtual CPUs than the host runs at once, the host at times stops a virtual
 * CPU in the middle of a critical section for which other virtual CPUs wait. If the guest has only
 * as many virtual CPUs as the host runs at once, the host need not stop any.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"

/*
 * Both functions begin with the CPUs that are online, which need not be the first CPUs of @order.
 * If a CPU online were exchanged for an earlier CPU of @order, the one might go long before the
 * other may come.
 */

/* Wants no more than @most of the CPUs online, the first ones of @order, and the floor. */
static void want_fewer(const struct inputs *inputs, const unsigned int *order, unsigned int length,
		       unsigned int most, cpu_set_t *wanted)
{
	unsigned int left = (unsigned int)CPU_COUNT_S(inputs->size, wanted), i;

	for (i = length; i-- && left > most;) {
		if (CPU_ISSET_S(order[i], inputs->size, inputs->floor) ||
		    !CPU_ISSET_S(order[i], inputs->size, wanted))
			continue;
		CPU_CLR_S(order[i], inputs->size, wanted);
		left--;
	}
}

/* Wants also the first @more CPUs of @order that are not online. */
static void want_more(const struct inputs *inputs, const unsigned int *order, unsigned int length,
		      unsigned int more, cpu_set_t *wanted)
{
	unsigned int i;

	for (i = 0; i < length && more; i++) {
		if (CPU_ISSET_S(order[i], inputs->size, wanted))
			continue;
		CPU_SET_S(order[i], inputs->size, wanted);
		more--;
	}
}

static int decide(const struct policy_settings *settings, const struct inputs *inputs,
		  struct decision *decision)
{
	unsigned int online = (unsigned int)CPU_COUNT_S(inputs->size, inputs->online);
	unsigned int busy = 0, steal = 0, cpu, length, percent, *order;

	for (cpu = 0; cpu < inputs->count; cpu++) {
		if (!CPU_ISSET_S(cpu, inputs->size, inputs->online))
			continue;
		busy += inputs->loads[cpu].busy;
		steal += inputs->loads[cpu].steal;
	}
	/* The percentage is of the time for which the guest wanted to run, not of all time. */
	percent = busy + steal ? steal * 100 / (busy + steal) : 0;
	order = order_new(inputs, &length);
	if (!order)
		return -ENOMEM;
	memcpy(decision->wanted, inputs->online, inputs->size);
	if (!online) {
		want_more(inputs, order, length, length, decision->wanted);
		snprintf(decision->why, sizeof(decision->why), "no CPU is online");
	} else if (percent >= settings->steal.give && steal >= 500) {
		/* How many of the guest's CPUs the host did not run, rounded. */
		unsigned int back = (steal + 500) / 1000;

		want_fewer(inputs, order, length, back < online ? online - back : 1,
			   decision->wanted);
		snprintf(decision->why, sizeof(decision->why),
			 "the host did not run %.2f CPUs, %u %% of the time that tasks had work",
			 steal / 1000.0, percent);
	} else if (percent <= settings->steal.take && busy >= online * settings->steal.up * 10 &&
		   online < length) {
		want_more(inputs, order, length, 1, decision->wanted);
		snprintf(decision->why, sizeof(decision->why),
			 "the CPUs are busy %u %% of the time, and the host took only %u %%",
			 busy / 10 / online, percent);
	} else {
		snprintf(decision->why, sizeof(decision->why),
			 "the host took %u %% of the time that tasks had work", percent);
	}
	free(order);
	return 0;
}

const struct policy policy_steal = {
	.name = "steal",
	.summary = "a guest gives back CPUs that its host does not run",
	.urgent = false,
	.decide = decide,
};
