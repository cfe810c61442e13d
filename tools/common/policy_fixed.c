// SPDX-License-Identifier: GPL-2.0-only
/* The policy "fixed": always the same CPUs */
#include <stdio.h>
#include <string.h>

#include "policy.h"

static int decide(const struct policy_settings *settings, const struct inputs *inputs,
		  struct decision *decision)
{
	CPU_AND_S(inputs->size, decision->wanted, settings->fixed, inputs->usable);
	CPU_OR_S(inputs->size, decision->wanted, decision->wanted, inputs->floor);
	snprintf(decision->why, sizeof(decision->why), "the configuration lists the CPUs");
	return 0;
}

const struct policy policy_fixed = {
	.name = "fixed",
	.summary = "always the same CPUs",
	.urgent = true,
	.decide = decide,
};
