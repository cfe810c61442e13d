/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests that have failed, for bolt/last_error. */
#ifndef _KERNEL_BOLT_ERROR_H
#define _KERNEL_BOLT_ERROR_H

#include <linux/types.h>

void bolt_error_add(u64 batch, unsigned int cpu, const char *state, int err,
		    const char *lost);
void bolt_error_lost(char *text, unsigned int cpu, const char *state);
int bolt_errors_emit(char *buf);

#endif /* _KERNEL_BOLT_ERROR_H */
