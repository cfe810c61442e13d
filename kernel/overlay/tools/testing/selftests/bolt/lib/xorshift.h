/* SPDX-License-Identifier: GPL-2.0-only */
/* Random numbers that are the same in each run with the same seed: xorshift64*. */
#ifndef SELFTESTS_BOLT_LIB_XORSHIFT_H
#define SELFTESTS_BOLT_LIB_XORSHIFT_H

/* Draws a number from 0 to @n - 1. The seed must not be 0. */
static inline unsigned int draw64(unsigned long long *seed, unsigned int n)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return (*seed * 0x2545f4914f6cdd1dULL >> 33) % n;
}

#endif /* SELFTESTS_BOLT_LIB_XORSHIFT_H */
