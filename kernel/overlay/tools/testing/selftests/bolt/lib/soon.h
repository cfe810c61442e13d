/* SPDX-License-Identifier: GPL-2.0-only */
/* Waiting for a state that another task or the kernel brings about. */
#ifndef SELFTESTS_BOLT_LIB_SOON_H
#define SELFTESTS_BOLT_LIB_SOON_H

#include <stdbool.h>

#include "clocks.h"

/* Whether @condition becomes true: looks at once, and again after each of @ms waits of 1 ms. */
#define soon(condition, ms) ({						\
	bool __holds;							\
									\
	for (long __left = (ms); !(__holds = (condition)) && __left > 0; __left--) \
		wait_ms(1);						\
	__holds;							\
})

#endif /* SELFTESTS_BOLT_LIB_SOON_H */
