// SPDX-License-Identifier: GPL-2.0-only
/*
 * x86: interrupts in flight to a CPU that goes. fixup_irqs() moves the interrupts of
 * the CPU, but a device may have sent an interrupt before, and that interrupt still
 * reaches the APIC of the CPU. Natively the CPU waits for a millisecond while the
 * machine is stopped, looks which vectors are pending in its APIC, and sends those
 * interrupts to the CPUs that they were moved to. In a request, except in suspend, reboot
 * and kexec, a CPU does not look if no interrupt of its vectors may be in flight. If one
 * may, and bolt_look_later() returns true, the CPU waits and looks only after the CPU
 * has reported its death, when the machine is no longer stopped:
 *
 *	fixup_irqs()		bolt_look_later(): the look is put off
 *	lapic_offline()		frees old vectors of moved interrupts, but leaves their
 *				entries in vector_irq[] to the look
 *	native_cpu_disable()	bolt_look_hold(): leaves the APIC enabled, and has the
 *				APIC hold back the interrupts that it accepts
 *	native_play_dead()	bolt_look(): waits, disables the APIC and looks
 *
 * Between the stop and native_play_dead() the CPU switches to its idle task, with
 * interrupts on. Natively the APIC is disabled by then, so the CPU handles no interrupt
 * there; in a request the CPU must not handle one there either. So bolt_look_hold()
 * raises the task priority of the APIC to that of the highest vectors: the APIC accepts
 * interrupts, but holds all of them. bolt_look() leaves the APIC as native_cpu_disable()
 * does, with the usual priority, so that INIT, or a return without a reset, finds the
 * APIC as natively.
 *
 * Until the look is over, the vectors of the CPU name the interrupts that were on
 * them, although the interrupts have moved, perhaps more than once. vector_lock
 * protects these names: the CPU that looks sends each pending interrupt on to the CPU on
 * which the interrupt is by then, and bolt_look_forget() removes the name of an interrupt
 * before the interrupt is freed. So the CPU needs neither the lock of an interrupt nor
 * RCU, which no longer watches the CPU. A look ends in one of two ways, and no timeout
 * ends a look: the CPU itself ends its look, or bolt_look_unplugged() forgets the look
 * when the CPU is removed. The CPU may be late, because a hypervisor may leave the CPU
 * waiting for a long time, and an interrupt may be freed at any moment until the look
 * has ended.
 *
 * free_irq() of a level-triggered interrupt of an IO-APIC waits until the IO-APIC has got
 * the EOI. For an interrupt in flight the EOI comes when the CPU that goes has looked and
 * the CPU to which the interrupt has moved has handled the interrupt. The look waits for
 * no other task or CPU, except for vector_lock. If the CPU to which the interrupt has
 * moved goes before it has got the interrupt, the interrupt moves once more, although
 * the interrupt is shut down: see bolt_irq_stopping().
 *
 * Functions that the look calls can be traced and probed, as natively on the way
 * from rcutree_report_cpu_dead() to HLT, although the removal of a tracer or a
 * probe does not wait for a CPU that is offline.
 *
 * An INIT before the look is over would drop the interrupts that the APIC holds, and
 * reset a CPU that may hold vector_lock. So all code that brings a CPU back, or needs
 * it natively dead, waits for the end of its look, and does not reset the CPU if the
 * look does not end: bolt_arch_finish_death(). The only exception is a kernel that has
 * crashed: it starts the crash kernel without waiting.
 */
#define pr_fmt(fmt) "bolt: " fmt

#include <linux/bolt.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/irqdomain.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <linux/sync_core.h>

#include <asm/apic.h>
#include <asm/bolt.h>
#include <asm/hw_irq.h>
#include <asm/irqdomain.h>

/*
 * How long a task waits for the look of a CPU. The task waits as long as it natively
 * waits for a CPU to report its death, because a hypervisor may leave a virtual CPU
 * waiting for a while.
 */
#define BOLT_LOOK_TIMEOUT (10 * HZ)

/*
 * Task priorities: setup_local_APIC() sets the usual one, which holds back vectors
 * that are exceptions. The other one holds back all vectors.
 */
#define BOLT_TPR_USUAL	0x10
#define BOLT_TPR_HOLD	0xf0

/*
 * CPUs whose look is not over. A CPU enters the mask in the stop in which it goes, and
 * leaves the mask when it has looked, or when it is unplugged.
 */
static struct cpumask bolt_looking;

/**
 * bolt_look_later - put off the look of this CPU for interrupts in flight
 *
 * The look is not put off outside of requests, nor in boot, suspend, reboot and kexec.
 * The look cannot be put off if the platform lets CPUs die, or wakes them, in a way of
 * its own, because only the native way calls bolt_look(), and waits for the end of the
 * look.
 *
 * Context: the CPU, in the stop in which it goes; its interrupts have moved, and
 * may be in flight.
 * Return: true if the CPU looks later.
 */
bool bolt_look_later(void)
{
	if (!bolt_may_defer() || !bolt_native_platform())
		return false;
	cpumask_set_cpu(smp_processor_id(), &bolt_looking);
	return true;
}

/**
 * bolt_look_hold - have the APIC of this CPU hold interrupts back until the look
 *
 * This function is not called earlier in the stop, because this CPU may have to wait for
 * locks there, with interrupts off: on Hyper-V an interrupt that the APIC does not hold
 * back wakes a CPU that waits for a lock. Dying callbacks run after this function and
 * take locks as well, but natively the APIC is disabled by then, and wakes no CPU either.
 *
 * Context: as bolt_look_later(). native_cpu_disable() calls this function, and disables
 * the APIC if the answer is false.
 * Return: true if the APIC holds interrupts back; false if the look was not put off.
 */
bool bolt_look_hold(void)
{
	if (!bolt_looks(smp_processor_id()))
		return false;
	apic_write(APIC_TASKPRI, BOLT_TPR_HOLD);
	/* When the priority has been read back, the APIC has taken it. */
	apic_read(APIC_TASKPRI);
	return true;
}

/**
 * bolt_looks - whether a CPU has still to look for interrupts in flight
 * @cpu:	the CPU
 *
 * Context: any. The answer becomes true when the look is put off, and false when the look
 * is over or the CPU is unplugged. So the answer may be out of date at once.
 * Return: true if so: its APIC must stay enabled, its vectors must stay as they are,
 * and INIT must not be sent to the CPU.
 */
bool bolt_looks(unsigned int cpu)
{
	return cpumask_test_cpu(cpu, &bolt_looking);
}

/**
 * bolt_look_forget - forget an interrupt that gives up its vector
 * @desc:	the interrupt, which is shut down; if it is in flight, it is dropped
 *
 * Context: vector_lock held.
 */
void bolt_look_forget(const struct irq_desc *desc)
{
	unsigned int cpu, vector;

	for_each_cpu(cpu, &bolt_looking) {
		for (vector = FIRST_EXTERNAL_VECTOR; vector < NR_VECTORS; vector++) {
			if (per_cpu(vector_irq, cpu)[vector] == desc)
				per_cpu(vector_irq, cpu)[vector] = VECTOR_SHUTDOWN;
		}
	}
}

/*
 * Sends an interrupt that has reached this CPU to the CPU that the interrupt is on
 * now. That CPU may be in a stop in which it goes as well: as interrupts move under
 * vector_lock, which is held, it then finds the interrupt by a look of its own. An
 * interrupt that could not be moved, or is one of the legacy PIC, is dropped, as
 * natively.
 */
static void bolt_send_on(struct irq_desc *desc)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);
	unsigned int cpu;

	while (data->parent_data)
		data = data->parent_data;
	if (data->domain != x86_vector_domain)
		return;
	cpu = cpumask_first(irq_data_get_effective_affinity_mask(data));
	if (cpu >= nr_cpu_ids || cpu == smp_processor_id())
		return;
	__apic_send_IPI(cpu, irqd_cfg(data)->vector);
}

/* Looks at all vectors, as fixup_irqs() does after its delay. */
static void bolt_look_at_vectors(void)
{
	unsigned int vector;

	for (vector = FIRST_EXTERNAL_VECTOR; vector < NR_VECTORS; vector++) {
		struct irq_desc *desc = __this_cpu_read(vector_irq[vector]);
		struct irq_desc *left = VECTOR_UNUSED;

		if (IS_ERR_OR_NULL(desc))
			continue;
		/*
		 * The APIC still holds a pending interrupt when a CPU that was parked
		 * warm returns: VECTOR_RETRIGGERED tells the CPU to ignore that
		 * interrupt.
		 */
		if (is_vector_pending(vector)) {
			bolt_send_on(desc);
			left = VECTOR_RETRIGGERED;
		}
		__this_cpu_write(vector_irq[vector], left);
	}
}

/**
 * bolt_look - look for interrupts in flight, if this CPU has still to do that
 *
 * If so, also disables the APIC of the CPU.
 *
 * Context: native_play_dead(), after cpuhp_ap_report_dead(); interrupts off, RCU
 * does not watch the CPU.
 */
void bolt_look(void)
{
	unsigned int cpu = smp_processor_id();

	if (!bolt_looks(cpu))
		return;
	mdelay(1);
	/* No IPI tells a CPU that is offline that kernel text was patched. */
	sync_core();
	/*
	 * While this CPU waits for vector_lock, the APIC must hold no interrupt back:
	 * see bolt_look_hold(). Interrupts are off, so the CPU handles none.
	 */
	apic_write(APIC_TASKPRI, BOLT_TPR_USUAL);
	/*
	 * This call accesses the APIC often, so the call is made before other CPUs have
	 * to wait for vector_lock.
	 */
	clear_local_APIC();
	/* Lockdep reads lists that RCU protects, and RCU does not watch this CPU. */
	lockdep_off();
	lock_vector_lock();
	/*
	 * As apic_soft_disable(). Interrupts that the APIC has accepted stay in the
	 * APIC, and IPIs can still be sent.
	 */
	apic_write(APIC_SPIV, apic_read(APIC_SPIV) & ~APIC_SPIV_APIC_ENABLED);
	bolt_look_at_vectors();
	unlock_vector_lock();
	lockdep_on();
	/* An INIT would drop an IPI that has not left the APIC yet. */
	safe_apic_wait_icr_idle();
	/* Pairs with bolt_arch_finish_death(): the look ends before the bit is cleared. */
	smp_mb__before_atomic();
	cpumask_clear_cpu(cpu, &bolt_looking);
}

/**
 * bolt_look_unplugged - forget the look of a CPU that has been unplugged
 * @cpu:	the CPU, which does not run any more
 *
 * The next CPU that is plugged in may get the same number. Without this call, if the
 * removed CPU had not looked yet, each bring-up of the new CPU would wait in
 * bolt_arch_finish_death() for the look of the removed CPU, and fail with -EIO after ten
 * seconds.
 *
 * Context: topology_hotunplug_apic(), device hotplug lock held.
 */
void bolt_look_unplugged(unsigned int cpu)
{
	cpumask_clear_cpu(cpu, &bolt_looking);
}

/* Waits until @cpu has looked, if it has still to look; at most for BOLT_LOOK_TIMEOUT. */
int bolt_arch_finish_death(unsigned int cpu)
{
	unsigned long deadline = jiffies + BOLT_LOOK_TIMEOUT;

	while (bolt_looks(cpu)) {
		if (time_after(jiffies, deadline)) {
			pr_err("CPU%u has not looked for interrupts in flight\n", cpu);
			return -EIO;
		}
		usleep_range(20, 50);
	}
	/* Pairs with bolt_look(). */
	smp_acquire__after_ctrl_dep();
	return 0;
}
