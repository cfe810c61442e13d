// SPDX-License-Identifier: GPL-2.0-only
/*
 * x86: CPUs that are parked warm, see kernel/bolt/warm.c. Natively a CPU that is
 * offline waits in the kernel as well, usually by MWAIT or HLT with interrupts off, and
 * is reset only when it returns. A CPU that is parked warm waits in the same way, but
 * looks at its word in bolt_warm_words when it is woken: by a store to the word if it
 * waits by MWAIT, by an NMI if it waits by HLT. exc_nmi() returns at once on a CPU that
 * is offline, unless microcode is being loaded, so the NMI has no other effect.
 *
 * native_play_dead() calls bolt_warm_wait(). If the CPU returns, bolt_warm_wait() does
 * not return to its caller: the CPU goes on in bolt_warm_start(), which takes the
 * place of start_secondary(). The control registers, MSRs and descriptor tables of the
 * CPU are as they were when the CPU began to wait. Instructions that the CPU has fetched
 * may be outdated, and are dropped at the end of bolt_warm_wait(). What else is missing
 * or may be outdated is set up again, in bolt_warm_start() unless this list says
 * otherwise:
 *
 *	its TLB: first of all;
 *	what native_cpu_disable() has torn down: the APIC, masks of siblings and nodes,
 *	the vectors, and where there is one, the flag by which the kernel may use the FPU;
 *	the clock of a hypervisor, which a callback has switched off;
 *	speculation controls, of which SMT control changes some;
 *	memory types, if some were set in the meantime: as natively by a callback, or by
 *	bolt_arch_arrived();
 *	microcode: if other microcode was loaded in the meantime, the CPU is ordered to
 *	die, and then returns natively, by a reset.
 */
#include <linux/bolt.h>
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
 * @core_id:	number of the CPU's core, which remove_siblinginfo() clears
 * @microcode:	the revision of the boot CPU's microcode when this CPU was parked
 * @types:	bolt_warm_types when this CPU was parked
 * @halts:	whether the CPU waits by HLT
 * @kicks:	how many NMIs that were sent to the CPU may still arrive, at most
 * @kicked:	when the last NMI was sent, in jiffies
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

/*
 * How many times memory types have been set. Written with mtrr_mutex held, and with the
 * hotplug lock held for reading.
 */
static unsigned int bolt_warm_types;

/* CPUs of the request that have returned from their wait with the right memory types. */
static struct cpumask bolt_types_kept;

/**
 * bolt_types_changed - note that memory types are set on all CPUs that are online
 *
 * Context: mtrr_mutex held, and hotplug lock held for reading.
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
 * Return: true if the CPU was parked warm and returns from its wait, and no memory type
 * was set in the meantime.
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
 * Return: the CPUs of @cpus that need that, in a mask that the next call overwrites.
 */
const struct cpumask *bolt_outdated_types(const struct cpumask *cpus)
{
	static struct cpumask outdated;

	cpumask_andnot(&outdated, cpus, &bolt_types_kept);
	return &outdated;
}

/**
 * bolt_forget_kept_types - forget which CPUs have the right memory types
 *
 * Context: the control task, hotplug lock held for writing.
 */
void bolt_forget_kept_types(void)
{
	cpumask_clear(&bolt_types_kept);
}

/**
 * bolt_warm_note - save the core number of each CPU, which is cleared when the CPU goes
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

/*
 * Whether a CPU dies natively by HLT, if cpuidle knows no deeper state. CPUs of AMD and
 * Hygon do, and CPUs without MWAIT. Any other CPU counts as one that does not: in 6.12 it
 * dies by MWAIT, and in 7.3 cpuidle usually knows a deeper state, also in a virtual
 * machine.
 */
static bool bolt_dies_by_hlt(void)
{
	return boot_cpu_data.x86_vendor == X86_VENDOR_AMD ||
	       boot_cpu_data.x86_vendor == X86_VENDOR_HYGON ||
	       !boot_cpu_has(X86_FEATURE_MWAIT);
}

/* The leaf of CPUID that tells of MWAIT. */
#define BOLT_CPUID_MWAIT 5

/*
 * Whether a CPU waits by HLT. A CPU waits by HLT if bolt_dies_by_hlt() says that CPUs die
 * by HLT; if the machine is a virtual one, because the hypervisor may have to emulate
 * MWAIT; or if MWAIT may miss a store to the CPU's word, or CPUID does not describe
 * MWAIT.
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
 * Context: any.
 * Return: true if so.
 */
bool bolt_arch_warm_possible(void)
{
	return bolt_native_platform() &&
	       (apic->nmi_to_offline_cpu || !bolt_warm_halts());
}

/**
 * bolt_arch_can_park_warm - whether a CPU can be parked warm
 * @cpu:	the CPU
 *
 * Context: the CPU itself, when it dies.
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
 * Return: true; false if other microcode was loaded in the meantime, or if CPUs of this
 * machine cannot be parked warm any more.
 */
bool bolt_arch_warm_prepare(unsigned int cpu, struct task_struct *idle)
{
	if (per_cpu_ptr(&bolt_warm_cpus, cpu)->microcode != boot_cpu_data.microcode ||
	    !bolt_arch_warm_possible())
		return false;
	/*
	 * As native_kick_ap() does: the contents of the FPU registers belong to no
	 * task any more.
	 */
	per_cpu(fpu_fpregs_owner_ctx, cpu) = NULL;
	idle->thread.sp = (unsigned long)task_pt_regs(idle);
	return true;
}

/**
 * bolt_arch_warm_kick - have a CPU that is parked warm look at its order
 * @cpu:	the CPU
 *
 * An NMI that arrives after the CPU has read its order and before it executes HLT
 * does not wake the CPU, so the caller calls this function again.
 *
 * Context: as the default in kernel/bolt/arch.c.
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

/*
 * Resets a CPU that has not answered, unless it still has to look: an NMI which the CPU
 * has not taken yet must not reach the CPU when another kernel is in memory.
 */
void bolt_arch_warm_gone(unsigned int cpu, bool answered)
{
	/* A CPU that looks may hold vector_lock, so it must not be reset. */
	if (bolt_looks(cpu))
		return;
	if (!answered)
		bolt_send_init(cpu);
}

/* INIT resets a CPU whatever that CPU does. */
bool bolt_arch_warm_resets(void)
{
	return true;
}

/*
 * In a virtual machine whose CPUs die natively by HLT, no idle state saves more than HLT.
 * On any other machine a CPU may save more when it is natively dead, by the deepest MWAIT
 * or the state that cpuidle_play_dead() finds.
 */
bool bolt_arch_warm_stays(void)
{
	return boot_cpu_has(X86_FEATURE_HYPERVISOR) && bolt_dies_by_hlt();
}

/*
 * Handles an NMI that was sent to wake this CPU and arrives late: a hypervisor has
 * kept the control task or the CPU from running, the CPU has taken its order
 * without the NMI, and is online by now. An NMI of unknown reason is taken for such a
 * late NMI only within a second after bolt_arch_warm_kick() last sent this CPU one, and
 * only once for each that it sent; those received while offline are not subtracted.
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

/*
 * Waits until this CPU has an order, and takes the order. Returns false if the CPU is
 * to die natively, also if an order has been taken back.
 */
static noinstr bool bolt_warm_ordered(void)
{
	struct bolt_warm_cpu *w = raw_cpu_ptr(&bolt_warm_cpus);
	atomic_t *word = raw_cpu_ptr(&bolt_warm_words);

	/*
	 * Writes back the caches, as every native way to die does, because
	 * wbinvd_on_all_cpus() passes over CPUs that are offline.
	 */
	compat_wbinvd();
	while (bolt_warm_order() == BOLT_WARM) {
		if (w->halts) {
			native_halt();
			continue;
		}
		/*
		 * As in mwait_play_dead(): because of an erratum the cache line is
		 * flushed before MONITOR.
		 */
		mb();
		clflush(word);
		/* Orders the flush of the line before MONITOR. */
		mb();
		__monitor(word, 0, 0);
		if (bolt_warm_order() != BOLT_WARM)
			break;
		x86_idle_clear_cpu_buffers();
		/*
		 * Waits in C1. The TSC goes on counting in C1, except where C1 stops the
		 * TSC of every CPU that idles: there the TSC is not used as a clock.
		 */
		__mwait(0, 0);
	}
	return bolt_warm_take();
}

/**
 * bolt_warm_wait - wait until the CPU is to return
 *
 * Context: native_play_dead() on a CPU for which bolt_warm_park() has returned
 * true. Returns only if the CPU is to die natively.
 */
void bolt_warm_wait(void)
{
	if (!bolt_warm_ordered())
		return;
	/* Kernel text may have been patched while the CPU waited. */
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
 * Delivers the interrupts that the APIC had accepted before it was disabled, and which
 * INIT drops in a native return: the tick, IPIs for which other CPUs have done the
 * work, and interrupts of devices that bolt_look() has sent on. The handlers find
 * nothing to do. If the APIC still held these interrupts, setup_local_APIC() would wait
 * for them.
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

	/*
	 * Kernel mappings may have changed while the CPU waited, so the TLB is
	 * flushed before the CPU touches memory that is mapped and unmapped.
	 */
	__flush_tlb_all();
	cpuhp_ap_sync_alive();

	/* The parts of cpu_init() that a CPU needs although it was not reset. */
	mmgrab(&init_mm);
	current->active_mm = &init_mm;
	initialize_tlbstate_and_flush();
	enter_lazy_tlb(&init_mm, current);
	compat_allow_fpu();

	rcutree_report_cpu_starting(cpu);
	x86_cpuinit.early_percpu_clock_init();

	bolt_apic_drain();
	apic_ap_setup();

	/*
	 * From here to bolt_ap_unlock() one CPU at a time, as natively: see the table for
	 * start_secondary() in Documentation/core-api/bolt.rst.
	 */
	bolt_ap_lock();
	x86_spec_ctrl_setup_ap();
	/* These two functions set up APIC vectors, as identify_cpu() does natively. */
	mcheck_cpu_restore_vectors(&cpu_data(cpu));
	if (cpu_data(cpu).x86_vendor == X86_VENDOR_INTEL)
		intel_init_thermal(&cpu_data(cpu));
	cpu_data(cpu).topo.core_id = w->core_id;
	set_cpu_sibling_map(cpu);
	bolt_ap_unlock();
	numa_add_cpu(cpu);
	ap_init_aperfmperf();

	if (w->types == READ_ONCE(bolt_warm_types))
		cpumask_set_cpu(cpu, &bolt_types_kept);
	/* As in ap_starting(): orders all writes above before those of the callbacks. */
	wmb();
	notify_cpu_starting(cpu);

	/* The CPU was not reset: its TSC needs no test, its delay loop no calibration. */
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
	/* start_secondary() has this barrier, too. */
	wmb();
	cpu_startup_entry(CPUHP_AP_ONLINE_IDLE);
}
