/* SPDX-License-Identifier: GPL-2.0-only */
/* Suspends the machine up to the step at which all CPUs but one have gone. */
#ifndef SELFTESTS_BOLT_SLEEP_H
#define SELFTESTS_BOLT_SLEEP_H

#include <unistd.h>

#include "bolt.h"

#define POWER "/sys/power/"

static inline bool can_sleep(void)
{
	return !access(POWER "pm_test", W_OK);
}

/* Suspends, and wakes up at once. Returns 0 or an error. */
static inline int sleep_and_wake(void)
{
	return put("/sys/module/suspend/parameters/pm_test_delay", "0") ?:
	       put(POWER "pm_test", "processors") ?: put(POWER "state", "mem");
}

#endif /* SELFTESTS_BOLT_SLEEP_H */
