/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests, and how the driver core is told about the CPUs that have changed. */
#ifndef _KERNEL_BOLT_REQUEST_H
#define _KERNEL_BOLT_REQUEST_H

#include <linux/types.h>

struct cpumask;

int bolt_request(const struct cpumask *up, const struct cpumask *down,
		 unsigned int flags);
int bolt_enable(bool on);
void bolt_all_whole(void);
void bolt_notify(const struct cpumask *mask, bool online);
void bolt_notify_lost(unsigned int cpu);

#endif /* _KERNEL_BOLT_REQUEST_H */
