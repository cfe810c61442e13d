/* SPDX-License-Identifier: GPL-2.0-only */
/* How much memory parked CPUs keep. */
#ifndef _KERNEL_BOLT_KEPT_H
#define _KERNEL_BOLT_KEPT_H

#include <linux/cpuhotplug.h>

unsigned long bolt_kept_by(unsigned int cpu, enum cpuhp_state state);
unsigned long bolt_kept(enum cpuhp_state state);
void bolt_forget_kept(enum cpuhp_state state);

#endif /* _KERNEL_BOLT_KEPT_H */
