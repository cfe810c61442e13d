/* SPDX-License-Identifier: GPL-2.0-only */
/* Work that keeps a CPU busy, without asking the kernel for anything. */
#ifndef BOLT_WORK_H
#define BOLT_WORK_H

/* Works for a time in proportion to @rounds. */
static inline void work_rounds(int rounds)
{
	static volatile unsigned long sum;

	for (int i = 0; i < rounds; i++)
		sum += i;
}

#endif
