// SPDX-License-Identifier: GPL-2.0-only
/*
 * x86: CPUs that are parked warm, see kernel/bolt/warm.c. Natively a CPU that is
 * offline waits in the kernel as well, by MWAIT or HLT with interrupts off, and only
 * its return is a reset. Here it waits in the same way, but looks at its word when
 * something has woken it: a store to the word if it waits by MWAIT, an NMI if by HLT.
 * exc_nmi() returns at once on a CPU that is offline, so that what matters is the
 * word alone.
 *
 * native_play_dead() calls bolt_warm_wait(), which does not return if the CPU does.
 * The CPU goes on in bolt_warm_start(), in place of start_secondary(). Its registers,
 * tables and caches are as they were. What may be outdated is
 *
 *	its TLB, and instructions that it has fetched: first of all;
 *	what native_cpu_disable() has torn down: the APIC, masks of siblings and nodes,
 *	the vectors;
 *	the clock of a hypervisor, which a callback has switched off;
 *	speculation controls, of which SMT control changes some;
 *	memory types, if somebody has set them: as natively then;
 *	microcode: then the CPU is reset.
 */
#include <linux/bolt.h>
#include <linux/cc_platform.h>
#include <linux/cpu.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/mm_types.h>
#include <linux/mmu_context.h>
#include <linux/nmi.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/smp.h>
#include <linux/sync_core.h>
#include <linux/tboot.h>
#include <linux/topology.h>

#include <asm/apic.h>
#include <asm/bolt.h>
#include <asm/cpu.h>
#include <asm/fpu/api.h>
#include <asm/fpu/sched.h>
#include <asm/hw_irq.h>
#include <asm/mce.h>
#include <asm/mwait.h>
#include <asm/numa.h>
#include <asm/spec-ctrl.h>
#include <asm/special_insns.h>
#include <asm/thermal.h>
#include <asm/tlbflush.h>
#include <asm/x86_init.h>

#include "../../../kernel/bolt/compat.h"
#include "cpu/cpu.h"

/**
 * struct bolt_warm_cpu - a CPU that waits
 * @core_id:	its core, which remove_siblinginfo() forgets
 * @microcode:	the revision of the boot CPU's microcode when this CPU was parked
 * @types:	bolt_warm_types then
 * @halts:	whether the CPU waits by HLT
 * @kicks:	how many NMIs have been sent to it at most that it has not received
 * @kicked:	when the last was sent, in jiffies
 */
struct bolt_warm_cpu {
	u32 core_id;
	u32 microcode;
	unsigned int types;
	bool halts;
	atomic_t kicks;
	unsigned long kicked;
};

static DEFINE_PER_CPU(struct bolt_warm_cpu, bolt_warm_cpus);

/* How many times memory types have been set; the hotplug lock is held for reading. */
static unsigned int bolt_warm_types;

/* CPUs that come, and whose memory types are as they must be. */
static struct cpumask bolt_types_kept;

/**
 * bolt_types_changed - memory types are set on all CPUs that are online
 *
 * Context: hotplug lock held for reading.
 */
void bolt_types_changed(void)
{
	WRITE_ONCE(bolt_warm_types, bolt_warm_types + 1);
}

/**
 * bolt_keeps_types - whether a CPU that comes has the memory types that it needs
 * @cpu:	the CPU
 *
 * Context: inside a hotplug operation.
 * Return: true if the CPU was parked warm, and none was set in the meantime.
 */
bool bolt_keeps_types(unsigned int cpu)
{
	return cpumask_test_cpu(cpu, &bolt_types_kept);
}

/**
 * bolt_outdated_types - which CPUs of a request need their memory types set
 * @cpus:	the CPUs that have come
 *
 * Context: the control task, hotplug lock held for writing.
 * Return: the CPUs, until this is called again.
 */
const struct cpumask *bolt_outdated_types(const struct cpumask *cpus)
{
	static struct cpumask outdated;

	cpumask_andnot(&outdated, cpus, &bolt_types_kept);
	return &outdated;
}

/**
 * bolt_forget_kept_types - the request is through with the memory types of its CPUs
 *
 * Context: the control task, hotplug lock held for writing.
 */
void bolt_forget_kept_types(void)
{
	cpumask_clear(&bolt_types_kept);
}

/**
 * bolt_warm_note - note what CPUs forget when they go
 * @cpus:	the CPUs
 *
 * Context: the stop in which the CPUs go, before native_cpu_disable().
 */
void bolt_warm_note(const struct cpumask *cpus)
{
	unsigned int cpu;

	for_each_cpu(cpu, cpus)
		per_cpu_ptr(&bolt_warm_cpus, cpu)->core_id = cpu_data(cpu).topo.core_id;
}

/* Whether a CPU dies natively by HLT unless cpuidle has something better. */
static bool bolt_dies_by_hlt(void)
{
	return boot_cpu_data.x86_vendor == X86_VENDOR_AMD ||
	       boot_cpu_data.x86_vendor == X86_VENDOR_HYGON ||
	       !boot_cpu_has(X86_FEATURE_MWAIT);
}

/* The leaf of CPUID that tells of MWAIT. */
#define BOLT_CPUID_MWAIT 5

/*
 * Whether a CPU waits by HLT: where it does so natively, and where MWAIT is left to a
 * hypervisor, or may miss the store.
 */
static bool bolt_warm_halts(void)
{
	return bolt_dies_by_hlt() ||
	       boot_cpu_has(X86_FEATURE_HYPERVISOR) ||
	       boot_cpu_has_bug(X86_BUG_MONITOR) ||
	       !boot_cpu_has(X86_FEATURE_CLFLUSH) ||
	       boot_cpu_data.cpuid_level < BOLT_CPUID_MWAIT;
}

/**
 * bolt_arch_warm_possible - whether CPUs of this machine can be parked warm
 *
 * Not where CPUs are started or stopped in another way than by INIT, nor in guests
 * whose registers are encrypted.
 *
 * Context: any.
 * Return: true if so.
 */
bool bolt_arch_warm_possible(void)
{
	return smp_ops.play_dead == native_play_dead &&
	       smp_ops.cpu_disable == native_cpu_disable &&
	       smp_ops.kick_ap_alive == native_kick_ap &&
	       !smp_ops.cleanup_dead_cpu && !smp_ops.poll_sync_state &&
	       !apic->wakeup_secondary_cpu && !apic->wakeup_secondary_cpu_64 &&
	       !apic_is_disabled && !tboot_enabled() &&
	       !cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT) &&
	       !cc_platform_has(CC_ATTR_GUEST_STATE_ENCRYPT) &&
	       (apic->nmi_to_offline_cpu || !bolt_warm_halts());
}

/**
 * bolt_arch_can_park_warm - whether a CPU can be parked warm
 * @cpu:	the CPU
 *
 * Context: the CPU, when it dies.
 * Return: true if so.
 */
bool bolt_arch_can_park_warm(unsigned int cpu)
{
	struct bolt_warm_cpu *w = per_cpu_ptr(&bolt_warm_cpus, cpu);

	if (!cpu || !bolt_arch_warm_possible())
		return false;
	w->microcode = boot_cpu_data.microcode;
	w->types = READ_ONCE(bolt_warm_types);
	w->halts = bolt_warm_halts();
	atomic_set(&w->kicks, 0);
	return true;
}

/**
 * bolt_arch_warm_prepare - prepare the return of a CPU
 * @cpu:	the CPU
 * @idle:	its idle task
 *
 * Context: the control task, inside a request.
 * Return: true; false if other microcode was loaded in the meantime.
 */
bool bolt_arch_warm_prepare(unsigned int cpu, struct task_struct *idle)
{
	if (per_cpu_ptr(&bolt_warm_cpus, cpu)->microcode != boot_cpu_data.microcode ||
	    !bolt_arch_warm_possible())
		return false;
	/* As native_kick_ap(): what the registers hold belongs to no task any more. */
	per_cpu(fpu_fpregs_owner_ctx, cpu) = NULL;
	idle->thread.sp = (unsigned long)task_pt_regs(idle);
	return true;
}

/**
 * bolt_arch_warm_kick - have a CPU look at its word
 * @cpu:	the CPU
 *
 * An NMI that arrives between the test and HLT is lost, so this is called again.
 *
 * Context: a task; no CPU is on its way but those of the task's request.
 */
void bolt_arch_warm_kick(unsigned int cpu)
{
	struct bolt_warm_cpu *w = per_cpu_ptr(&bolt_warm_cpus, cpu);

	if (!w->halts)
		return;
	WRITE_ONCE(w->kicked, jiffies);
	atomic_inc(&w->kicks);
	apic_send_nmi_to_offline_cpu(cpu);
}

/* An NMI that this CPU has not taken must not find another kernel in memory. */
void bolt_arch_warm_gone(unsigned int cpu, bool answered)
{
	if (!answered)
		bolt_send_init(cpu);
}

/* INIT resets a CPU whatever the CPU does. */
bool bolt_arch_warm_resets(void)
{
	return true;
}

/*
 * A virtual machine has no idle states that save more than HLT. Elsewhere a CPU saves
 * more natively, by the deepest MWAIT, or the state that cpuidle_play_dead() finds.
 */
bool bolt_arch_warm_stays(void)
{
	return boot_cpu_has(X86_FEATURE_HYPERVISOR) && bolt_dies_by_hlt();
}

/*
 * An NMI may be late, if a hypervisor has kept the control task or the CPU from
 * running: the CPU has taken its order without the NMI, and is online. No more NMIs of
 * an unknown reason are taken for such than were sent, and none long after the last was
 * sent: an NMI that the CPU receives while offline is not counted.
 */
static int bolt_warm_nmi(unsigned int cmd, struct pt_regs *regs)
{
	struct bolt_warm_cpu *w = this_cpu_ptr(&bolt_warm_cpus);

	if (time_after(jiffies, READ_ONCE(w->kicked) + HZ))
		return NMI_DONE;
	return atomic_dec_if_positive(&w->kicks) < 0 ? NMI_DONE : NMI_HANDLED;
}

static int __init bolt_warm_init(void)
{
	return register_nmi_handler(NMI_UNKNOWN, bolt_warm_nmi, 0, "bolt");
}
early_initcall(bolt_warm_init);

/* Waits for an order, and takes it. False: the CPU dies natively. */
static noinstr bool bolt_warm_ordered(void)
{
	struct bolt_warm_cpu *w = raw_cpu_ptr(&bolt_warm_cpus);
	atomic_t *word = raw_cpu_ptr(&bolt_warm_words);

	/* As every way to die: wbinvd_on_all_cpus() passes over CPUs that are offline. */
	compat_wbinvd();
	while (bolt_warm_order() == BOLT_WARM) {
		if (w->halts) {
			native_halt();
			continue;
		}
		/* As mwait_play_dead(): an erratum wants the line flushed, in order. */
		mb();
		clflush(word);
		/* The line is flushed before it is monitored. */
		mb();
		__monitor(word, 0, 0);
		if (bolt_warm_order() != BOLT_WARM)
			break;
		x86_idle_clear_cpu_buffers();
		/* C1: a CPU that idles so keeps its TSC, or no CPU does. */
		__mwait(0, 0);
	}
	return bolt_warm_take();
}

/**
 * bolt_warm_wait - wait until the CPU is to return
 *
 * Context: native_play_dead() on a CPU for which bolt_warm_park() has returned true.
 * Returns, but only if the CPU is to die natively.
 */
void bolt_warm_wait(void)
{
	if (!bolt_warm_ordered())
		return;
	/* Text may have been patched. */
	sync_core();
	bolt_warm_restart(current->thread.sp);
}

/* Whether the APIC holds interrupts that it has accepted. */
static bool bolt_apic_holds(void)
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		if (apic_read(APIC_IRR + i * 0x10))
			return true;
	}
	return false;
}

/*
 * Interrupts that the APIC had accepted when it was disabled, INIT would have
 * dropped: the tick, or IPIs whose work others have done. They are delivered here,
 * where their handlers find nothing to do; setup_local_APIC() would wait for them.
 */
static void bolt_apic_drain(void)
{
	unsigned int loops = 1000;

	apic_write(APIC_SPIV, apic_read(APIC_SPIV) | APIC_SPIV_APIC_ENABLED);
	if (!bolt_apic_holds())
		return;
	local_irq_enable();
	while (bolt_apic_holds() && --loops)
		cpu_relax();
	local_irq_disable();
}

/* Where a CPU that was parked warm goes on, in place of start_secondary(). */
asmlinkage void __noreturn notrace bolt_warm_start(void)
{
	unsigned int cpu = raw_smp_processor_id();
	struct bolt_warm_cpu *w = this_cpu_ptr(&bolt_warm_cpus);

	/* Mappings of the kernel may have changed: before any memory that comes and goes. */
	__flush_tlb_all();
	cpuhp_ap_sync_alive();

	/* What is left here of cpu_init(). */
	mmgrab(&init_mm);
	current->active_mm = &init_mm;
	initialize_tlbstate_and_flush();
	enter_lazy_tlb(&init_mm, current);

	rcutree_report_cpu_starting(cpu);
	x86_cpuinit.early_percpu_clock_init();

	bolt_apic_drain();
	apic_ap_setup();

	/* As natively, one CPU at a time: see Documentation/core-api/bolt.rst. */
	bolt_ap_lock();
	x86_spec_ctrl_setup_ap();
	/* Vectors of the APIC, which identify_cpu() sets up natively. */
	mcheck_cpu_init(&cpu_data(cpu));
	if (cpu_data(cpu).x86_vendor == X86_VENDOR_INTEL)
		intel_init_thermal(&cpu_data(cpu));
	cpu_data(cpu).topo.core_id = w->core_id;
	set_cpu_sibling_map(cpu);
	bolt_ap_unlock();
	numa_add_cpu(cpu);
	ap_init_aperfmperf();

	if (w->types == READ_ONCE(bolt_warm_types))
		cpumask_set_cpu(cpu, &bolt_types_kept);
	/* As ap_starting(): all of this before the callbacks. */
	wmb();
	notify_cpu_starting(cpu);

	/* The TSC has not stopped, nor is it another CPU's: no test, no calibration. */
	bolt_ap_lock();
	speculative_store_bypass_ht_init();

	lock_vector_lock();
	set_cpu_online(cpu, true);
	lapic_online();
	unlock_vector_lock();
	bolt_ap_unlock();
	x86_platform.nmi_init();

	local_irq_enable();
	x86_cpuinit.setup_percpu_clockev();
	/* As start_secondary(). */
	wmb();
	cpu_startup_entry(CPUHP_AP_ONLINE_IDLE);
}
