// SPDX-License-Identifier: GPL-2.0-only
/* Waking a CPU (x86). */
#include <linux/bolt.h>
#include <linux/delay.h>

#include <asm/bolt.h>

/**
 * bolt_startup_delay - give a CPU time to accept a startup IPI
 * @usecs:	how much
 *
 * It has accepted it when it has reported itself alive.
 *
 * Context: the control task, inside a hotplug operation; preemption off.
 */
void bolt_startup_delay(unsigned int usecs)
{
	if (!bolt_fast()) {
		udelay(usecs);
		return;
	}
	for (; usecs && !bolt_ap_alive(); usecs--)
		udelay(1);
}
