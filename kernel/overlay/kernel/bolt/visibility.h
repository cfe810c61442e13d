/* SPDX-License-Identifier: GPL-2.0-only */
/* What user space sees of the deferred states of a parked CPU. */
#ifndef _KERNEL_BOLT_VISIBILITY_H
#define _KERNEL_BOLT_VISIBILITY_H

#include <linux/cpuhotplug.h>

struct bolt_defer;

int bolt_hide(unsigned int cpu, enum cpuhp_state state,
	      const struct bolt_defer *defer);
void bolt_show(unsigned int cpu, enum cpuhp_state state);
void bolt_forget_entries(unsigned int cpu, enum cpuhp_state state);
unsigned long bolt_entries_bytes(unsigned int cpu, enum cpuhp_state state);

#endif /* _KERNEL_BOLT_VISIBILITY_H */
