/* SPDX-License-Identifier: GPL-2.0-only */
/* How a request takes its CPUs offline. */
#ifndef _KERNEL_BOLT_DOWN_H
#define _KERNEL_BOLT_DOWN_H

#include <linux/types.h>

struct cpumask;

int bolt_offline_batch(const struct cpumask *mask, bool poll);

#endif /* _KERNEL_BOLT_DOWN_H */
