/* SPDX-License-Identifier: GPL-2.0-only */
/* Suspends the machine up to some step, and wakes the machine up at once. */
#ifndef SELFTESTS_BOLT_SLEEP_H
#define SELFTESTS_BOLT_SLEEP_H

#include <unistd.h>

#include "bolt.h"

#define PM_DIR "/sys/power/"

static inline bool can_sleep(void)
{
	return !access(PM_DIR "pm_test", W_OK);
}

/* Lets no time pass between going to sleep and waking up. */
static inline int no_sleep_delay(void)
{
	return put("/sys/module/suspend/parameters/pm_test_delay", "0");
}

/* Suspends up to @level, or hibernates if there is no deep suspend: CPUs go in the same way. */
static inline int suspend_to(const char *level)
{
	bool deep = !put(PM_DIR "mem_sleep", "deep");

	return put(PM_DIR "pm_test", level) ?: put(PM_DIR "state", deep ? "mem" : "disk");
}

/* Suspends up to the step at which all CPUs but one have gone. */
static inline int sleep_and_wake(void)
{
	return no_sleep_delay() ?: suspend_to("processors");
}

#endif /* SELFTESTS_BOLT_SLEEP_H */
