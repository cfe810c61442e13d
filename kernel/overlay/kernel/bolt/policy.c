// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which of the fixed hotplug states are put off, and why not the others: one
 * row each for all that x86_64 and arm64 can have. Dynamic states say so where
 * they register, or have a row by their registered name, which tells whether
 * they are fit for requests for several CPUs and no more. A state with neither
 * is critical, and makes such requests go CPU by CPU.
 */
#include <linux/kernel.h>

#include "internal.h"

/*
 * Callbacks of a serial state run for one CPU of a request at a time. Concurrent
 * ones touch nothing but their own CPU, or take locks that make it right. In a
 * request for several CPUs that is not all: see bolt_staying_mask. A state whose
 * callbacks give another answer there than natively is unfit.
 */
#define SERIAL BOLT_SERIAL
#define CONCURRENT BOLT_CONCURRENT

#define CRITICAL(why) \
	{ .class = BOLT_CRITICAL, .fit = SERIAL, .reason = why }
#define OVERLAPS(why) \
	{ .class = BOLT_CRITICAL, .fit = CONCURRENT, .reason = why }
#define UNFIT(why) \
	{ .class = BOLT_CRITICAL, .fit = BOLT_UNFIT, .reason = why }

/* Serial if CONFIG_@option is set. */
#define CONCURRENT_UNLESS(option) \
	(IS_ENABLED(CONFIG_##option) ? SERIAL : CONCURRENT)

static const struct bolt_row bolt_rows[BOLT_NR_STATES] = {
	/*
	 * PREPARE and DEAD: on the control CPU, for one CPU after the other. No
	 * CPU that comes is online yet, none that goes is any more. Those that
	 * are concurrent may be run by several CPUs at once, each for another one,
	 * when CPUs come.
	 */
	[CPUHP_CREATE_THREADS] =
		OVERLAPS("startup only: classes of threads may have come meanwhile; one lock"),
	[CPUHP_PERF_PREPARE] =
		OVERLAPS("events of threads that run before perf:online; locks of its own"),
	[CPUHP_PERF_X86_PREPARE] = {
		BOLT_CRITICAL, BOLT_UNIT_PERF_X86, SERIAL,
		"starting would find its own shared_regs and free them" },
	[CPUHP_PERF_X86_AMD_UNCORE_PREP] = {
		BOLT_CRITICAL, BOLT_UNIT_AMD_UNCORE, SERIAL,
		"the next start would leak the reference to the context" },
	[CPUHP_X86_HPET_DEAD] = {
		BOLT_CRITICAL, BOLT_UNIT_HPET, SERIAL,
		"online takes a channel without looking for the old one" },
	[CPUHP_X86_MCE_DEAD] = {
		BOLT_ASYNC, BOLT_UNIT_MCE, SERIAL,
		"calls all CPUs and waits; meanwhile shared banks report no corrected errors" },
	[CPUHP_VIRT_NET_DEAD] = {
		BOLT_CRITICAL, BOLT_UNIT_VIRTIO_NET, SERIAL,
		"XPS and affinity of all queues; the driver has not been taught to wait" },
	[CPUHP_SLUB_DEAD] = {
		BOLT_LAZY, BOLT_ALONE, SERIAL,
		"slabs are kept; shrink and destroy reach them" },
	[CPUHP_DEBUG_OBJ_DEAD] = {
		BOLT_ELIDE, BOLT_ALONE, SERIAL, "a pool of objects" },
	[CPUHP_MM_WRITEBACK_DEAD] = {
		BOLT_LAZY, BOLT_ALONE, SERIAL,
		"the ratelimit counts a CPU too many; the startup sets it anew, always" },
	[CPUHP_MM_VMSTAT_DEAD] = {
		BOLT_LAZY, BOLT_UNIT_VMSTAT, SERIAL,
		"thresholds count a CPU too many; native for the last of a node" },
	[CPUHP_SOFTIRQ_DEAD] = CRITICAL("tasklets and works would not run"),
	[CPUHP_NET_MVNETA_DEAD] =
		CRITICAL("the port's interrupt would stay on the CPU"),
	[CPUHP_ARM64_FPSIMD_DEAD] =
		CRITICAL("a task would take reset registers for its own"),
	[CPUHP_IRQ_POLL_DEAD] = CRITICAL("completions would not be polled"),
	[CPUHP_BLOCK_SOFTIRQ_DEAD] = CRITICAL("requests would not complete"),
	[CPUHP_BIO_DEAD] = {
		BOLT_ELIDE, BOLT_ALONE, SERIAL,
		"free bios; who frees the set walks the possible CPUs" },
	[CPUHP_ACPI_CPUDRV_DEAD] = {
		BOLT_CRITICAL, BOLT_UNIT_ACPI_PROCESSOR, SERIAL,
		"a flag, so that nobody throttles the CPU" },
	[CPUHP_BLK_MQ_DEAD] =
		CRITICAL("requests in the CPU's queue would wait"),
	[CPUHP_FS_BUFF_DEAD] =
		CRITICAL("at most 16 references, less than readers would cost"),
	[CPUHP_PRINTK_DEAD] = CRITICAL("nothing pending: a trylock"),
	[CPUHP_MM_MEMCQ_DEAD] =
		CRITICAL("two stocks; who drains cannot keep the CPU away"),
	[CPUHP_PERCPU_CNT_DEAD] = {
		BOLT_LAZY, BOLT_ALONE, SERIAL,
		"grows with the counters; sums look at parked CPUs; the batch is set at once" },
	[CPUHP_RADIX_DEAD] = {
		BOLT_ELIDE, BOLT_ALONE, SERIAL, "preloaded nodes" },
	[CPUHP_PAGE_ALLOC] = {
		BOLT_LAZY, BOLT_ALONE, SERIAL,
		"page lists are kept, drains reach them; counters and folios are not" },
	[CPUHP_NET_DEV_DEAD] =
		CRITICAL("packets and NAPI instances would be lost"),
	[CPUHP_PCI_XGENE_DEAD] = CRITICAL("message interrupts move"),
	[CPUHP_IOMMU_IOVA_DEAD] = {
		BOLT_LAZY, BOLT_ALONE, SERIAL,
		"magazines are kept; the allocator's retry reaches them" },
	[CPUHP_AP_DTPM_CPU_DEAD] = CRITICAL("a power budget"),
	[CPUHP_RANDOM_PREPARE] =
		OVERLAPS("startup only: old batches of the CPU must not be used"),
	[CPUHP_WORKQUEUE_PREP] =
		OVERLAPS("startup only: pools of the CPU without a worker"),
	[CPUHP_HRTIMERS_PREPARE] = {
		BOLT_CRITICAL, BOLT_UNIT_HRTIMERS, CONCURRENT,
		"startup only: the CPU's clock bases start anew" },
	[CPUHP_X2APIC_PREPARE] = {
		BOLT_ELIDE, BOLT_ALONE, SERIAL,
		"a mask, and a bit that senders and with the online mask" },
	[CPUHP_SMPCFD_PREPARE] = {
		BOLT_ELIDE, BOLT_UNIT_SMPCFD, CONCURRENT,
		"buffers that only the CPU itself sends from" },
	[CPUHP_RELAY_PREPARE] =
		OVERLAPS("startup only: channels may have come meanwhile; one lock"),
	[CPUHP_MD_RAID5_PREPARE] =
		CRITICAL("the hotplug lock, held for reading, keeps it off resize_chunks()"),
	[CPUHP_RCUTREE_PREP] = {
		BOLT_CRITICAL, BOLT_UNIT_RCU, SERIAL,
		"callback list, number of CPUs, tick dependency" },
	[CPUHP_XEN_PREPARE] = CRITICAL("hypercalls"),
	[CPUHP_XEN_EVTCHN_PREPARE] = CRITICAL("event channels"),
	[CPUHP_TOPOLOGY_PREPARE] = {
		BOLT_ELIDE, BOLT_ALONE, CONCURRENT,
		"one sysfs group of the CPU's; its masks are computed when read" },
	[CPUHP_TRACE_RB_PREPARE] =
		CRITICAL("startup only: buffers may have come meanwhile"),
	[CPUHP_MM_ZS_PREPARE] = {
		BOLT_ELIDE, BOLT_ALONE, SERIAL, "one buffer" },
	[CPUHP_MM_ZSWP_POOL_PREPARE] = {
		BOLT_ELIDE, BOLT_ALONE, SERIAL,
		"a transform and its buffers, only used on the CPU itself" },
	[CPUHP_ZCOMP_PREPARE] = {
		BOLT_ELIDE, BOLT_ALONE, SERIAL,
		"a stream, only used on the CPU itself" },
	[CPUHP_TIMERS_PREPARE] = {
		BOLT_CRITICAL, BOLT_UNIT_TIMERS, CONCURRENT,
		"timers of a dead CPU never fire; its own bases" },
	[CPUHP_TMIGR_PREPARE] =
		OVERLAPS("startup only: connects the CPU once, under tmigr_mutex"),
	[CPUHP_BP_KICK_AP] = CRITICAL("wakes the CPU"),
	[CPUHP_BRINGUP_CPU] =
		CRITICAL("waits for the CPU; drops its idle task's mm"),

	/* STARTING and DYING: on the CPU, interrupts off, after a reset. */
	[CPUHP_AP_CACHECTRL_STARTING] =
		OVERLAPS("MTRR, PAT: a rendezvous under stop_cpus_mutex"),
	[CPUHP_AP_SCHED_STARTING] = {
		BOLT_CRITICAL, BOLT_ALONE, CONCURRENT_UNLESS(SCHED_CORE),
		"load, tick, empty runqueue: its own; but siblings elect a leader of the core" },
	[CPUHP_AP_RCUTREE_DYING] = OVERLAPS("a tracepoint"),
	[CPUHP_AP_CPU_PM_STARTING] = CRITICAL("references to power domains, firmware"),
	[CPUHP_AP_IRQ_GIC_STARTING] =
		OVERLAPS("interrupt controller; GICv2's map, GICv4's tables by turns"),
	[CPUHP_AP_IRQ_HIP04_STARTING] = CRITICAL("interrupt controller"),
	[CPUHP_AP_IRQ_APPLE_AIC_STARTING] = CRITICAL("interrupt controller"),
	[CPUHP_AP_IRQ_ARMADA_XP_STARTING] = CRITICAL("interrupt controller"),
	[CPUHP_AP_IRQ_BCM2836_STARTING] = CRITICAL("interrupt controller"),
	[CPUHP_AP_PERF_X86_AMD_UNCORE_STARTING] = {
		BOLT_CRITICAL, BOLT_UNIT_AMD_UNCORE, SERIAL, "finds its context" },
	[CPUHP_AP_PERF_X86_STARTING] = {
		BOLT_CRITICAL, BOLT_UNIT_PERF_X86, SERIAL,
		"debug store; registers shared by threads, a count without a lock" },
	[CPUHP_AP_PERF_X86_AMD_IBS_STARTING] =
		OVERLAPS("local vector"),
	[CPUHP_AP_ARM64_DEBUG_MONITORS_STARTING] =
		OVERLAPS("debug registers"),
	[CPUHP_AP_PERF_ARM_HW_BREAKPOINT_STARTING] =
		OVERLAPS("debug registers"),
	[CPUHP_AP_PERF_ARM_ACPI_STARTING] = CRITICAL("finds its PMU"),
	[CPUHP_AP_PERF_ARM_STARTING] =
		OVERLAPS("its own counters, their interrupt"),
	[CPUHP_AP_EXYNOS4_MCT_TIMER_STARTING] = CRITICAL("clock event device"),
	[CPUHP_AP_ARM_ARCH_TIMER_STARTING] =
		OVERLAPS("clock event device: under clockevents_lock"),
	[CPUHP_AP_ARM_ARCH_TIMER_EVTSTRM_STARTING] =
		OVERLAPS("event stream"),
	[CPUHP_AP_TEGRA_TIMER_STARTING] = CRITICAL("clock event device"),
	[CPUHP_AP_HYPERV_TIMER_STARTING] = CRITICAL("clock event device"),
	[CPUHP_AP_DUMMY_TIMER_STARTING] =
		OVERLAPS("clock event device: under clockevents_lock"),
	[CPUHP_AP_ARM_XEN_STARTING] = CRITICAL("vcpu information"),
	[CPUHP_AP_ARM_XEN_RUNSTATE_STARTING] = CRITICAL("vcpu information"),
	[CPUHP_AP_ARM_CORESIGHT_STARTING] = CRITICAL("trace unit loses power"),
	[CPUHP_AP_ARM_CORESIGHT_CTI_STARTING] =
		CRITICAL("trace unit loses power"),
	[CPUHP_AP_ARM64_ISNDEP_STARTING] =
		OVERLAPS("system registers"),
	[CPUHP_AP_SMPCFD_DYING] = {
		BOLT_CRITICAL, BOLT_UNIT_SMPCFD, CONCURRENT,
		"callers of queued functions would wait for ever; its own queue" },
	[CPUHP_AP_HRTIMERS_DYING] = {
		BOLT_CRITICAL, BOLT_UNIT_HRTIMERS, CONCURRENT,
		"timers of a dead CPU never fire; it locks its own base, then that of a survivor" },
	[CPUHP_AP_TICK_DYING] =
		OVERLAPS("hands over timekeeping, which only the timekeeper does"),
	[CPUHP_AP_X86_TBOOT_DYING] =
		UNFIT("the last online CPU waits until all others are in tboot"),

	/* ONLINE: on the CPU, in its hotplug thread. */
	[CPUHP_TEARDOWN_CPU] = CRITICAL("takes the CPU down"),
	[CPUHP_AP_HYPERV_ONLINE] =
		CRITICAL("pages known to the hypervisor; reenlightenment moves"),
	[CPUHP_AP_KVM_ONLINE] =
		CRITICAL("in VMX operation INIT would not wake it again; sets all vCPUs' clocks"),
	[CPUHP_AP_SCHED_WAIT_EMPTY] =
		OVERLAPS("its runqueue must be empty; collects the threads being parked"),
	[CPUHP_AP_SMPBOOT_THREADS] =
		OVERLAPS("all are told to park, sched:waitempty waits for them; one lock"),
	[CPUHP_AP_IRQ_AFFINITY_ONLINE] =
		OVERLAPS("startup only: managed interrupts come back; under their locks"),
	[CPUHP_AP_BLK_MQ_ONLINE] =
		OVERLAPS("a veto; waits for requests of a queue without CPUs; sets a bit"),
	[CPUHP_AP_X86_INTEL_EPB_ONLINE] = {
		BOLT_ELIDE, BOLT_ALONE, CONCURRENT,
		"one sysfs group; the register is saved and restored by park and unpark" },
	[CPUHP_AP_PERF_ONLINE] =
		OVERLAPS("events of the CPU; under pmus_lock"),
	[CPUHP_AP_PERF_X86_ONLINE] = {
		BOLT_CRITICAL, BOLT_UNIT_PERF_X86, CONCURRENT,
		"startup only: frees what starting found twice, on its own list" },
	[CPUHP_AP_PERF_X86_UNCORE_ONLINE] =
		CRITICAL("moves the reader, until the last CPU of a die has gone"),
	[CPUHP_AP_PERF_X86_AMD_UNCORE_ONLINE] = {
		BOLT_CRITICAL, BOLT_UNIT_AMD_UNCORE, SERIAL,
		"moves the reader" },
	[CPUHP_AP_PERF_X86_AMD_POWER_ONLINE] = CRITICAL("moves the reader"),
	[CPUHP_AP_PERF_X86_RAPL_ONLINE] = CRITICAL("moves the reader"),
	[CPUHP_AP_PERF_ARM_CCI_ONLINE] = CRITICAL("moves the reader"),
	[CPUHP_AP_PERF_ARM_CCN_ONLINE] = CRITICAL("moves the reader"),
	[CPUHP_AP_PERF_ARM_HISI_CPA_ONLINE] = CRITICAL("moves the reader"),
	[CPUHP_AP_PERF_ARM_HISI_DDRC_ONLINE] = CRITICAL("moves the reader"),
	[CPUHP_AP_PERF_ARM_HISI_HHA_ONLINE] = CRITICAL("moves the reader"),
	[CPUHP_AP_PERF_ARM_HISI_L3_ONLINE] = CRITICAL("moves the reader"),
	[CPUHP_AP_PERF_ARM_HISI_PA_ONLINE] = CRITICAL("moves the reader"),
	[CPUHP_AP_PERF_ARM_HISI_SLLC_ONLINE] = CRITICAL("moves the reader"),
	[CPUHP_AP_PERF_ARM_HISI_PCIE_PMU_ONLINE] = CRITICAL("moves the reader"),
	[CPUHP_AP_PERF_ARM_HNS3_PMU_ONLINE] = CRITICAL("moves the reader"),
	[CPUHP_AP_PERF_ARM_QCOM_L2_ONLINE] = CRITICAL("moves the reader"),
	[CPUHP_AP_PERF_ARM_QCOM_L3_ONLINE] = CRITICAL("moves the reader"),
	[CPUHP_AP_PERF_ARM_APM_XGENE_ONLINE] = CRITICAL("moves the reader"),
	[CPUHP_AP_PERF_ARM_CAVIUM_TX2_UNCORE_ONLINE] =
		CRITICAL("moves the reader"),
	[CPUHP_AP_PERF_ARM_MARVELL_CN10K_DDR_ONLINE] =
		CRITICAL("moves the reader"),
	[CPUHP_AP_TMIGR_ONLINE] =
		OVERLAPS("its group would wait for a dead migrator; CPUs idle at once, too"),
	[CPUHP_AP_WATCHDOG_ONLINE] = {
		BOLT_CRITICAL, BOLT_ALONE,
		CONCURRENT_UNLESS(HARDLOCKUP_DETECTOR_BUDDY),
		"its timer would run on another CPU; but a buddy is told who is next" },
	[CPUHP_AP_WORKQUEUE_ONLINE] =
		OVERLAPS("unbinds the workers; under wq_pool_mutex and wq_pool_attach_mutex"),
	[CPUHP_AP_RANDOM_ONLINE] = OVERLAPS("startup only: a flag"),
	[CPUHP_AP_RCUTREE_ONLINE] =
		OVERLAPS("affinity of RCU's threads; forced quiescent states; the node's locks"),
	[CPUHP_AP_BASE_CACHEINFO_ONLINE] = {
		BOLT_ELIDE, BOLT_ALONE, CONCURRENT,
		"sysfs devices; siblings' shared_cpu_map is kept right, under a mutex" },
	[CPUHP_AP_X86_HPET_ONLINE] = {
		BOLT_CRITICAL, BOLT_UNIT_HPET, SERIAL,
		"startup only: takes a channel, without a lock" },
	[CPUHP_AP_X86_KVM_CLK_ONLINE] = OVERLAPS("frequency of the CPU"),
	[CPUHP_AP_ACTIVE] =
		CRITICAL("a veto; the grace period is expedited, the domains are rebuilt later"),
};

/**
 * bolt_row_fixed - classification of a fixed hotplug state
 * @state:	the state
 *
 * Return: its row, or NULL: a dynamic state, or one of other architectures.
 */
const struct bolt_row *bolt_row_fixed(enum cpuhp_state state)
{
	return bolt_rows[state].reason ? &bolt_rows[state] : NULL;
}

#define NAMED(_name, _module, _fit, why)				\
	{ .name = _name, .module = _module,				\
	  .row = { .class = BOLT_CRITICAL, .fit = _fit, .reason = why } }
#define NAMED_SERIAL(name, module, why) NAMED(name, module, SERIAL, why)
#define NAMED_CONCURRENT(name, module, why) NAMED(name, module, CONCURRENT, why)
#define NAMED_UNFIT(name, module, why) NAMED(name, module, BOLT_UNFIT, why)

/* Dynamic states of the kernel's own code, by their name and module. */
const struct bolt_named bolt_names[] = {
#include "names.h"
};

const unsigned int bolt_nr_names = ARRAY_SIZE(bolt_names);
