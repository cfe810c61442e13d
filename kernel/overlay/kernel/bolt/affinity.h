/* SPDX-License-Identifier: GPL-2.0-only */
/* Affinity of tasks, given back when CPUs return: affinity.c */
#ifndef _KERNEL_BOLT_AFFINITY_H
#define _KERNEL_BOLT_AFFINITY_H

#include <linux/types.h>

void bolt_give_affinity_back(void);
void bolt_affinity_enable(bool on);
bool bolt_affinity_kept(void);
void bolt_keep_affinity(bool keep);

#endif /* _KERNEL_BOLT_AFFINITY_H */
