/* SPDX-License-Identifier: GPL-2.0-only */
/* The rebuild of scheduler domains, which may be deferred. */
#ifndef _KERNEL_BOLT_DOMAINS_H
#define _KERNEL_BOLT_DOMAINS_H

#include <linux/types.h>

void bolt_domains_enable(bool on);
void bolt_note_stale_in_domains(unsigned int cpu);

#endif /* _KERNEL_BOLT_DOMAINS_H */
