/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Turns: what CPUs of a request do one after the other. Functions of turn.c that code
 * outside of kernel/bolt/ calls are in bolt.h and steps.h.
 */
#ifndef _KERNEL_BOLT_TURN_H
#define _KERNEL_BOLT_TURN_H

struct bolt_batch;

void bolt_find_serial(struct bolt_batch *batch);
void bolt_relax(void);

#endif /* _KERNEL_BOLT_TURN_H */
