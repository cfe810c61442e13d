/* SPDX-License-Identifier: GPL-2.0-only */
/* Tells irqbalance which interrupts to leave alone, through the socket of irqbalance(1) */
#ifndef IRQBALANCE_H
#define IRQBALANCE_H

#include <stddef.h>

/** irqbalance_find() - PID of irqbalance; 0 if irqbalance was not found; -ENOMEM */
int irqbalance_find(const char *root);

/**
 * irqbalance_ban() - tell irqbalance to leave interrupts alone
 * @irqs: numbers of the interrupts; irqbalance forgets the numbers that it was told before
 *
 * irqbalance is also told the interrupts that its command line bans, as it would forget these
 * otherwise.
 *
 * Return: 0, or a negative errno: -E2BIG if the list is longer than irqbalance reads, -ENOENT or
 * -ECONNREFUSED if irqbalance has no socket.
 */
int irqbalance_ban(const char *root, int pid, const int *irqs, size_t count);

#endif /* IRQBALANCE_H */
