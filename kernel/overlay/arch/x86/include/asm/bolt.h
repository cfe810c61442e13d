/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bolt on x86: TSC tests (bolt_tsc.c), waking CPUs (bolt.c, smpboot.c), CPUs that
 * wait in the kernel (bolt_warm.c), interrupts in flight to CPUs that go
 * (bolt_flight.c), room for the vectors of CPUs that go, and memory types of CPUs
 * that come.
 */
#ifndef _ASM_X86_BOLT_H
#define _ASM_X86_BOLT_H

#include <linux/linkage.h>

struct cpuinfo_x86;
struct cpumask;
struct irq_desc;

#ifdef CONFIG_BOLT

/* Defined in arch/x86/kernel/apic/vector.c and arch/x86/kernel/cpu/cacheinfo.c. */
int lapic_can_unplug_cpus(const struct cpumask *cpus);
void cache_aps_init_cpuslocked(const struct cpumask *cpus);

/* Defined in arch/x86/kernel/cpu/mce/core.c. */
#ifdef CONFIG_X86_MCE
void mcheck_cpu_restore_vectors(struct cpuinfo_x86 *c);
#else
#define mcheck_cpu_restore_vectors(...) do { } while (0)
#endif

void bolt_tsc_passed(unsigned int cpu);
void bolt_tsc_forget(unsigned int cpu);
void bolt_tsc_forget_all(void);
bool bolt_tsc_retest(unsigned int cpu);
void bolt_startup_delay(unsigned int usecs);

/* CPUs that are parked warm: bolt_warm.c, bolt_warm_64.S, bolt_platform.c, smpboot.c. */
void bolt_send_init(unsigned int cpu);
void bolt_warm_wait(void);
asmlinkage void bolt_warm_restart(unsigned long sp);
asmlinkage void __noreturn bolt_warm_start(void);
void bolt_warm_note(const struct cpumask *cpus);
bool bolt_native_platform(void);
void bolt_types_changed(void);
bool bolt_keeps_types(unsigned int cpu);
const struct cpumask *bolt_outdated_types(const struct cpumask *cpus);
void bolt_forget_kept_types(void);

/* For interrupts in flight to CPUs that go, in bolt_flight.c. */
bool bolt_look_later(void);
bool bolt_look_hold(void);
bool bolt_looks(unsigned int cpu);
void bolt_look_forget(const struct irq_desc *desc);
void bolt_look(void);
void bolt_look_unplugged(unsigned int cpu);

/*
 * A CPU of a batch is in the masks of its siblings before its TSC test and calibration of
 * the delay loop, if it needs these, and in cpu_online_mask after both. Natively only
 * one CPU is between the two moments at a time. In a batch several CPUs may be there, so
 * code that looks for a sibling to copy from passes over siblings that are not online.
 */
#define bolt_any_sibling_but(mask, cpu) \
	cpumask_any_and_but(mask, cpu_online_mask, cpu)
#define bolt_has_sibling(mask, cpu) \
	(bolt_any_sibling_but(mask, cpu) < nr_cpu_ids)

#else /* !CONFIG_BOLT */

#define bolt_tsc_passed(...) do { } while (0)
#define bolt_tsc_forget(...) do { } while (0)
#define bolt_tsc_forget_all() do { } while (0)
#define bolt_tsc_retest(...) false
#define bolt_startup_delay(usecs) udelay(usecs)
#define bolt_warm_wait() do { } while (0)
#define bolt_types_changed() do { } while (0)
#define bolt_keeps_types(...) false
#define bolt_look_later() false
#define bolt_look_hold() false
#define bolt_looks(...) false
#define bolt_look_forget(...) do { } while (0)
#define bolt_look() do { } while (0)
#define bolt_look_unplugged(...) do { } while (0)
#define bolt_any_sibling_but(mask, cpu) cpumask_any_but(mask, cpu)
#define bolt_has_sibling(mask, cpu) ((void)(cpu), cpumask_weight(mask) > 1)

#endif /* CONFIG_BOLT */
#endif /* _ASM_X86_BOLT_H */
