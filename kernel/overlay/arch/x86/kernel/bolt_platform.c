// SPDX-License-Identifier: GPL-2.0-only
/* x86: what the platform does with CPUs that go and come */
#include <linux/cc_platform.h>
#include <linux/smp.h>
#include <linux/tboot.h>

#include <asm/apic.h>
#include <asm/bolt.h>
#include <asm/cpu.h>

/**
 * bolt_native_platform - whether CPUs of this machine die and come in x86's usual way
 *
 * CPUs die or come in another way if the platform stops or wakes CPUs by functions of
 * its own, or frees what a CPU needs as soon as the CPU has reported its death; if the
 * APIC is disabled; if tboot has launched the kernel; and in guests whose memory or
 * registers are encrypted. Such CPUs can neither be parked warm nor do anything after
 * they have reported their death.
 *
 * Context: any.
 * Return: true if so.
 */
bool bolt_native_platform(void)
{
	return smp_ops.play_dead == native_play_dead &&
	       smp_ops.cpu_disable == native_cpu_disable &&
	       smp_ops.kick_ap_alive == native_kick_ap &&
	       !smp_ops.cleanup_dead_cpu && !smp_ops.poll_sync_state &&
	       !apic->wakeup_secondary_cpu && !apic->wakeup_secondary_cpu_64 &&
	       !apic_is_disabled && !tboot_enabled() &&
	       !cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT) &&
	       !cc_platform_has(CC_ATTR_GUEST_STATE_ENCRYPT);
}
