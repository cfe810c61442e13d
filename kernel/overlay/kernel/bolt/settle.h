/* SPDX-License-Identifier: GPL-2.0-only */
/* Settling: when and where pending teardowns run. */
#ifndef _KERNEL_BOLT_SETTLE_H
#define _KERNEL_BOLT_SETTLE_H

#include <linux/cpuhotplug.h>

struct bolt_defer;
struct cpumask;

extern unsigned int bolt_settle_delay_ms;
extern bool bolt_keep_for_delay;

int bolt_tear_down(unsigned int cpu, enum cpuhp_state state,
		   const struct bolt_defer *defer);
void bolt_settle_mask(const struct cpumask *mask);
void bolt_settle_later(unsigned int cpu);
void bolt_settle_delay(unsigned int ms);
void bolt_set_keep(bool for_delay);
int bolt_override(enum cpuhp_state state, bool critical);

#endif /* _KERNEL_BOLT_SETTLE_H */
