/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * arm64: the return of a CPU that has waited in the kernel while it was offline.
 */
#ifndef __ASM_BOLT_H
#define __ASM_BOLT_H

#include <linux/compiler.h>
#include <linux/linkage.h>

struct task_struct;

/* bolt_warm_restart() is in head.S, and calls bolt_warm_start_kernel() in smp.c. */
void __noreturn bolt_warm_restart(struct task_struct *idle);
asmlinkage void bolt_warm_start_kernel(void);

#endif /* __ASM_BOLT_H */
