/* SPDX-License-Identifier: GPL-2.0-only */
/* The thread that carries requests out. */
#ifndef _KERNEL_BOLT_CONTROL_H
#define _KERNEL_BOLT_CONTROL_H

struct cpumask;

int bolt_control_start(void);
void bolt_control_stop(void);
int bolt_control_do(int (*run)(void *arg), void *arg,
		    const struct cpumask *leaving);

#endif /* _KERNEL_BOLT_CONTROL_H */
