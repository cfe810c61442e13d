/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A row for every fixed hotplug state that x86_64 or arm64 can have, in the order of
 * their numbers. policy.c includes this file; policy.h says what the columns mean. A
 * reason says what would go wrong if the teardown were deferred, or what the callbacks
 * do. Where a reason has no subject, the state is the subject. A state that may be
 * deferred also needs an entry in bolt_defers[] of policy.c, or code that calls
 * bolt_defer_state(). A state that only one kernel version has, or whose callbacks differ
 * between versions, is in compat-rows.h. The comment above each section says where the
 * callbacks of its states run when a CPU goes or comes. A deferred teardown that is not
 * cancelled runs later, in any task and on any CPU.
 */

/*
 * PREPARE and DEAD states: the callbacks run on the control CPU, for one AP after
 * the other. APs that come are not online yet, and APs that go are no longer
 * online. With bolt.boot=tree several CPUs may run concurrent callbacks at once
 * while the machine boots, each for a different AP.
 */
[CPUHP_CREATE_THREADS] =
	OVERLAPS("startup only: makes threads that the CPU lacks, under smpboot_threads_lock"),
[CPUHP_PERF_X86_PREPARE] = {
	BOLT_CRITICAL, BOLT_UNIT_PERF_X86, SERIAL,
	"the next startup would free shared_regs of the CPU, which perf still uses" },
[CPUHP_PERF_X86_AMD_UNCORE_PREP] = {
	BOLT_CRITICAL, BOLT_UNIT_AMD_UNCORE, SERIAL,
	"the next startup would leak the CPU's reference to its uncore context" },
[CPUHP_X86_HPET_DEAD] = {
	BOLT_CRITICAL, BOLT_UNIT_HPET, SERIAL,
	"the next startup would take a second HPET channel and lose the first" },
[CPUHP_X86_MCE_DEAD] = {
	BOLT_ASYNC, BOLT_UNIT_MCE, SERIAL,
	"calls all CPUs and waits; no CPU polls the banks of the dead CPU until that call" },
[CPUHP_VIRT_NET_DEAD] = {
	BOLT_CRITICAL, BOLT_UNIT_VIRTIO_NET, SERIAL,
	"sets XPS and affinity of all queues; virtio_net has no code to do that later" },
[CPUHP_SLUB_DEAD] = {
	BOLT_LAZY, BOLT_NO_UNIT, SERIAL,
	"the CPU keeps slabs or sheaves; shrinking or destroying a cache flushes parked CPUs" },
[CPUHP_DEBUG_OBJ_DEAD] = {
	BOLT_ELIDE, BOLT_NO_UNIT, SERIAL,
	"keeps a pool of free objects that only the CPU itself uses" },
[CPUHP_MM_WRITEBACK_DEAD] = {
	BOLT_LAZY, BOLT_NO_UNIT, SERIAL,
	"ratelimit_pages counts one CPU too many; every startup sets a new value" },
[CPUHP_MM_VMSTAT_DEAD] = {
	BOLT_LAZY, BOLT_UNIT_VMSTAT, SERIAL,
	"zone thresholds count one CPU too many; not deferred for the last CPU of a node" },
[CPUHP_SOFTIRQ_DEAD] =
	CRITICAL("tasklets and BH works queued on the dead CPU would never run"),
[CPUHP_NET_MVNETA_DEAD] =
	CRITICAL("the port's interrupts would stay masked on the CPUs that stay"),
[CPUHP_ARM64_FPSIMD_DEAD] =
	CRITICAL("a task would take reset FP registers of the CPU for its own state"),
[CPUHP_IRQ_POLL_DEAD] =
	CRITICAL("completions queued on the dead CPU would never be polled"),
[CPUHP_BLOCK_SOFTIRQ_DEAD] =
	CRITICAL("requests on the dead CPU's list would never complete"),
[CPUHP_BIO_DEAD] = {
	BOLT_ELIDE, BOLT_NO_UNIT, SERIAL,
	"keeps a cache of free bios; bioset_exit() visits all possible CPUs" },
[CPUHP_ACPI_CPUDRV_DEAD] = {
	BOLT_CRITICAL, BOLT_UNIT_ACPI_PROCESSOR, SERIAL,
	"clears a flag, so that ACPI does not try to throttle a dead CPU" },
[CPUHP_BLK_MQ_DEAD] =
	CRITICAL("requests in the dead CPU's software queue would wait for ever"),
[CPUHP_FS_BUFF_DEAD] =
	CRITICAL("drops 16 buffers at most: cheaper than making readers visit the CPU"),
[CPUHP_PRINTK_DEAD] =
	CRITICAL("tries once to take the console lock: deferring would cost more"),
[CPUHP_MM_MEMCQ_DEAD] =
	CRITICAL("drains two stocks; drain_all_stock() could not keep a CPU from returning"),
[CPUHP_PERCPU_CNT_DEAD] = {
	BOLT_LAZY, BOLT_NO_UNIT, SERIAL,
	"folding many counters takes long; sums include parked CPUs until that is done" },
[CPUHP_RADIX_DEAD] = {
	BOLT_ELIDE, BOLT_NO_UNIT, SERIAL,
	"keeps preloaded tree nodes that only the CPU itself takes" },
[CPUHP_PAGE_ALLOC] = {
	BOLT_LAZY, BOLT_NO_UNIT, SERIAL,
	"the CPU keeps its page lists, which drains visit; counters are folded at once" },
[CPUHP_NET_DEV_DEAD] =
	CRITICAL("packets and NAPI instances queued on the dead CPU would be lost"),
[CPUHP_IOMMU_IOVA_DEAD] = {
	BOLT_LAZY, BOLT_NO_UNIT, SERIAL,
	"the CPU keeps its magazines; a failing allocation empties those of parked CPUs" },
[CPUHP_AP_DTPM_CPU_DEAD] =
	CRITICAL("the power budget of the CPU's domain would count a dead CPU"),
[CPUHP_RANDOM_PREPARE] =
	OVERLAPS("startup only: drops old random bytes of the CPU, which must not be used"),
[CPUHP_WORKQUEUE_PREP] =
	OVERLAPS("startup only: makes a worker for each pool of the CPU that has none"),
[CPUHP_HRTIMERS_PREPARE] = {
	BOLT_CRITICAL, BOLT_UNIT_HRTIMERS, CONCURRENT,
	"startup only: resets the clock bases of the CPU that comes" },
[CPUHP_X2APIC_PREPARE] = {
	BOLT_ELIDE, BOLT_NO_UNIT, SERIAL,
	"keeps the CPU in its cluster's mask; senders of IPIs pick online CPUs only" },
[CPUHP_SMPCFD_PREPARE] = {
	BOLT_ELIDE, BOLT_UNIT_SMPCFD, CONCURRENT,
	"keeps buffers that only calls from this CPU to other CPUs use" },
[CPUHP_RELAY_PREPARE] =
	OVERLAPS("startup only: makes the CPU's buffers for new channels, under a mutex"),
[CPUHP_MD_RAID5_PREPARE] =
	CRITICAL("resize_chunks() relies on the hotplug lock to keep this teardown off"),
[CPUHP_RCUTREE_PREP] = {
	BOLT_CRITICAL, BOLT_UNIT_RCU, SERIAL,
	"counts the online CPUs of RCU, and readies the CPU's callback list" },
[CPUHP_XEN_PREPARE] =
	CRITICAL("Xen sets up and frees the CPU's timer and IPIs in hypercalls"),
[CPUHP_XEN_EVTCHN_PREPARE] =
	CRITICAL("events in the dead CPU's queue would be lost"),
[CPUHP_TOPOLOGY_PREPARE] = {
	BOLT_ELIDE, BOLT_NO_UNIT, CONCURRENT,
	"keeps one sysfs group of the CPU, whose files compute their masks when read" },
[CPUHP_TRACE_RB_PREPARE] =
	CRITICAL("startup only: adds the CPU to new ring buffers"),
[CPUHP_ZCOMP_PREPARE] = {
	BOLT_ELIDE, BOLT_NO_UNIT, SERIAL,
	"keeps a compression stream that only tasks on the CPU use" },
[CPUHP_TIMERS_PREPARE] = {
	BOLT_CRITICAL, BOLT_UNIT_TIMERS, CONCURRENT,
	"timers of a dead CPU would never fire; each CPU has its own timer bases" },
[CPUHP_TMIGR_PREPARE] =
	OVERLAPS("startup only: adds the CPU to its timer group, under tmigr_mutex"),
[CPUHP_BP_KICK_AP] = CRITICAL("wakes the CPU that comes"),
[CPUHP_BRINGUP_CPU] =
	CRITICAL("waits for the CPU that comes; drops the mm of a dead CPU's idle task"),

/*
 * STARTING and DYING states: the callbacks run on the AP itself with interrupts off.
 * The startups run after a reset, or when a warm AP ends its wait in the kernel.
 */
[CPUHP_AP_CACHECTRL_STARTING] =
	OVERLAPS("sets MTRR and PAT in a rendezvous of CPUs, under stop_cpus_mutex"),
[CPUHP_AP_SCHED_STARTING] = {
	BOLT_CRITICAL, BOLT_NO_UNIT, CONCURRENT_UNLESS(SCHED_CORE),
	"sets up the CPU's own runqueue; with SCHED_CORE siblings elect a core leader" },
[CPUHP_AP_RCUTREE_DYING] =
	OVERLAPS("records a tracepoint, nothing else"),
[CPUHP_AP_CPU_PM_STARTING] =
	CRITICAL("takes and drops the CPU's reference to its power domain"),
[CPUHP_AP_IRQ_GIC_STARTING] =
	OVERLAPS("sets up the CPU's GIC interface; bolt_ap_lock() covers shared tables"),
[CPUHP_AP_IRQ_HIP04_STARTING] =
	CRITICAL("sets up the CPU's interface of the interrupt controller"),
[CPUHP_AP_IRQ_APPLE_AIC_STARTING] =
	CRITICAL("sets up the CPU's interface of the interrupt controller"),
[CPUHP_AP_IRQ_ARMADA_XP_STARTING] =
	CRITICAL("sets up the CPU's interface of the interrupt controller"),
[CPUHP_AP_IRQ_BCM2836_STARTING] =
	CRITICAL("sets up the CPU's interface of the interrupt controller"),
[CPUHP_AP_PERF_X86_AMD_UNCORE_STARTING] = {
	BOLT_CRITICAL, BOLT_UNIT_AMD_UNCORE, SERIAL,
	"lets the CPU join the uncore context of its package" },
[CPUHP_AP_PERF_X86_STARTING] = {
	BOLT_CRITICAL, BOLT_UNIT_PERF_X86, SERIAL,
	"threads of a core share registers, with a reference count without a lock" },
[CPUHP_AP_PERF_X86_AMD_IBS_STARTING] =
	OVERLAPS("sets the CPU's own local vector for IBS"),
[CPUHP_AP_ARM64_DEBUG_MONITORS_STARTING] =
	OVERLAPS("clears the CPU's own debug registers"),
[CPUHP_AP_PERF_ARM_HW_BREAKPOINT_STARTING] =
	OVERLAPS("resets the CPU's own breakpoint registers"),
[CPUHP_AP_PERF_ARM_ACPI_STARTING] =
	CRITICAL("finds the PMU that CPUs of the same type share"),
[CPUHP_AP_PERF_ARM_STARTING] =
	OVERLAPS("resets the CPU's own counters and enables their per-CPU interrupt"),
[CPUHP_AP_EXYNOS4_MCT_TIMER_STARTING] =
	CRITICAL("starts and stops the CPU's clock event device"),
[CPUHP_AP_ARM_ARCH_TIMER_STARTING] =
	OVERLAPS("starts and stops the CPU's clock event device, under clockevents_lock"),
[CPUHP_AP_ARM_ARCH_TIMER_EVTSTRM_STARTING] =
	OVERLAPS("sets the timer's event stream in a register of the CPU"),
[CPUHP_AP_TEGRA_TIMER_STARTING] =
	CRITICAL("starts and stops the CPU's clock event device"),
[CPUHP_AP_HYPERV_TIMER_STARTING] =
	CRITICAL("starts and stops the CPU's clock event device"),
[CPUHP_AP_DUMMY_TIMER_STARTING] =
	OVERLAPS("registers the CPU's clock event device, under clockevents_lock"),
[CPUHP_AP_ARM_XEN_STARTING] =
	CRITICAL("tells Xen where the CPU's vcpu_info is"),
[CPUHP_AP_ARM_XEN_RUNSTATE_STARTING] =
	CRITICAL("tells Xen where the CPU's runstate area is"),
[CPUHP_AP_ARM64_ISNDEP_STARTING] =
	OVERLAPS("sets instruction emulation in the CPU's own system registers"),
[CPUHP_AP_SMPCFD_DYING] = {
	BOLT_CRITICAL, BOLT_UNIT_SMPCFD, CONCURRENT,
	"callers of functions still queued for the CPU would wait for ever" },
[CPUHP_AP_HRTIMERS_DYING] = {
	BOLT_CRITICAL, BOLT_UNIT_HRTIMERS, CONCURRENT,
	"hrtimers left on a dead CPU would never fire; a CPU that stays takes these over" },
[CPUHP_AP_TICK_DYING] =
	OVERLAPS("one CPU at most is the timekeeper; clockevents_lock guards shared data"),
[CPUHP_AP_X86_TBOOT_DYING] =
	UNFIT("the last CPU online waits for all other CPUs to enter tboot"),

/* ONLINE states: callbacks run on the AP, except the first's and, in requests, the last's. */
[CPUHP_TEARDOWN_CPU] =
	CRITICAL("stops the machine and takes the CPU down"),
[CPUHP_AP_HYPERV_ONLINE] =
	CRITICAL("the hypervisor writes to pages of the CPU and interrupts the CPU"),
[CPUHP_AP_KVM_ONLINE] =
	CRITICAL("a CPU that stays in VMX operation ignores INIT and could not be woken"),
[CPUHP_AP_SCHED_WAIT_EMPTY] =
	OVERLAPS("waits until the CPU's threads are parked and its runqueue is empty"),
[CPUHP_AP_SMPBOOT_THREADS] =
	OVERLAPS("tells the CPU's threads to park; sched:waitempty waits for the threads"),
[CPUHP_AP_IRQ_AFFINITY_ONLINE] =
	OVERLAPS("startup only: managed interrupts return, under their locks"),
[CPUHP_AP_BLK_MQ_ONLINE] =
	STARTS_OVERLAP("waits for requests of a queue that loses its last CPU; may refuse"),
[CPUHP_AP_X86_INTEL_EPB_ONLINE] = {
	BOLT_ELIDE, BOLT_NO_UNIT, CONCURRENT,
	"keeps one sysfs group; parking saves a register, which the return restores" },
[CPUHP_AP_PERF_ONLINE] =
	OVERLAPS("takes perf events off the CPU, under pmus_lock"),
[CPUHP_AP_PERF_X86_ONLINE] = {
	BOLT_CRITICAL, BOLT_UNIT_PERF_X86, CONCURRENT,
	"startup only: frees what the starting callback has put on the CPU's own list" },
[CPUHP_AP_PERF_X86_UNCORE_ONLINE] =
	CRITICAL("a CPU of the die that stays must take over reading the die's counters"),
[CPUHP_AP_PERF_X86_AMD_UNCORE_ONLINE] = {
	BOLT_CRITICAL, BOLT_UNIT_AMD_UNCORE, SERIAL,
	"a CPU that stays must take over reading the uncore counters" },
[CPUHP_AP_PERF_X86_AMD_POWER_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_PERF_ARM_CCI_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_PERF_ARM_CCN_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_PERF_ARM_HISI_CPA_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_PERF_ARM_HISI_DDRC_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_PERF_ARM_HISI_HHA_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_PERF_ARM_HISI_L3_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_PERF_ARM_HISI_PA_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_PERF_ARM_HISI_SLLC_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_PERF_ARM_HISI_PCIE_PMU_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_PERF_ARM_HNS3_PMU_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_PERF_ARM_QCOM_L2_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_PERF_ARM_QCOM_L3_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_PERF_ARM_APM_XGENE_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_PERF_ARM_CAVIUM_TX2_UNCORE_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_PERF_ARM_MARVELL_CN10K_DDR_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_TMIGR_ONLINE] =
	OVERLAPS("timers of the CPU's timer group would wait for a dead CPU"),
[CPUHP_AP_WATCHDOG_ONLINE] = {
	BOLT_CRITICAL, BOLT_NO_UNIT,
	CONCURRENT_UNLESS(HARDLOCKUP_DETECTOR_BUDDY),
	"the watchdog timer would move to another CPU; the buddy detector watches the next CPU" },
[CPUHP_AP_WORKQUEUE_ONLINE] = {
	BOLT_ELIDE, BOLT_NO_UNIT, CONCURRENT,
	"unbinds workers at once; workqueues keep the pools of CPUs that have gone together" },
[CPUHP_AP_RANDOM_ONLINE] =
	OVERLAPS("startup only: clears a counter of the CPU"),
[CPUHP_AP_RCUTREE_ONLINE] =
	OVERLAPS("changes a mask of RCU's node, and in 6.12 thread affinities, under node locks"),
[CPUHP_AP_BASE_CACHEINFO_ONLINE] = {
	BOLT_ELIDE, BOLT_NO_UNIT, CONCURRENT,
	"keeps the CPU's cache devices; a mutex guards the siblings' shared_cpu_map" },
[CPUHP_AP_X86_HPET_ONLINE] = {
	BOLT_CRITICAL, BOLT_UNIT_HPET, SERIAL,
	"startup only: takes an HPET channel, without a lock" },
[CPUHP_AP_X86_KVM_CLK_ONLINE] =
	OVERLAPS("notes, and forgets, the TSC frequency of the CPU"),
[CPUHP_AP_ACTIVE] =
	CRITICAL("may refuse; keeps tasks off the CPU; only the rebuild of domains is deferred"),
