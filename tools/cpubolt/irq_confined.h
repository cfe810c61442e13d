/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether irqbalance leaves alone the CPUs that are not in the keep list */
#ifndef IRQ_CONFINED_H
#define IRQ_CONFINED_H

#include "command.h"

/**
 * irqbalance_is_confined() - whether irqbalance puts interrupts on CPUs of @keep only
 * @pid: process of irqbalance
 *
 * The environment of the process names the CPUs that irqbalance avoids; if it names none, the
 * answer is false. Only root may read the environment: for other users the answer is false, too.
 */
bool irqbalance_is_confined(const struct invocation *call, int pid, const cpu_set_t *keep);

#endif /* IRQ_CONFINED_H */
