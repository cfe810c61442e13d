/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bolt: fast CPU hotplug.
 *
 * A CPU that goes offline under Bolt is parked: offline for everybody, but
 * the teardown of some hotplug states has been put off. They are its pending
 * set. To settle a CPU is to run them. See Documentation/core-api/bolt.rst.
 */
#ifndef _LINUX_BOLT_H
#define _LINUX_BOLT_H

#include <linux/cleanup.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/jump_label.h>
#include <linux/types.h>

struct device;
struct device_driver;
struct kernfs_node;
struct kobj_uevent_env;
struct percpu_rw_semaphore;
struct sched_domain_attr;
struct task_struct;

/**
 * enum bolt_class - when the teardown of a hotplug state runs
 * @BOLT_CRITICAL: inside the request, as natively
 * @BOLT_ASYNC: in a worker, right after the request, unless the CPU is back
 * @BOLT_LAZY: in a worker, when the settle delay is over or memory is short.
 *	What it would drain is kept for the return; whoever walks the online
 *	CPUs to drain or to sum looks at the parked ones as well
 * @BOLT_ELIDE: as @BOLT_LAZY, but what is kept is an object that nobody looks
 *	for while the CPU is parked: memory, or what is hidden from user space
 */
enum bolt_class {
	BOLT_CRITICAL,
	BOLT_ASYNC,
	BOLT_LAZY,
	BOLT_ELIDE,
};

/**
 * enum bolt_unit - states that share an object are put off together
 * @BOLT_ALONE: shares nothing
 * @BOLT_UNIT_VMSTAT: the thresholds of the zones
 * @BOLT_UNIT_VIRTIO_NET: the queues' CPUs
 * @BOLT_UNIT_ACPI_PROCESSOR: throttling, idle states
 * @BOLT_UNIT_PERF_X86: constraints and registers shared by threads
 * @BOLT_UNIT_AMD_UNCORE: contexts shared by the CPUs of a package
 * @BOLT_UNIT_MCE: the machine check banks
 * @BOLT_UNIT_HPET: the CPU's HPET channel
 * @BOLT_UNIT_SMPCFD: buffers for calls of other CPUs
 * @BOLT_UNIT_HRTIMERS: the clock bases
 * @BOLT_UNIT_TIMERS: the timer wheel
 * @BOLT_UNIT_RCU: callback list and masks
 * @BOLT_UNITS: how many there are
 *
 * If one of them is moved back to critical, all are. A state of a unit that has
 * a startup only is skipped when the teardown of another one is pending.
 */
enum bolt_unit {
	BOLT_ALONE,
	BOLT_UNIT_VMSTAT,
	BOLT_UNIT_VIRTIO_NET,
	BOLT_UNIT_ACPI_PROCESSOR,
	BOLT_UNIT_PERF_X86,
	BOLT_UNIT_AMD_UNCORE,
	BOLT_UNIT_MCE,
	BOLT_UNIT_HPET,
	BOLT_UNIT_SMPCFD,
	BOLT_UNIT_HRTIMERS,
	BOLT_UNIT_TIMERS,
	BOLT_UNIT_RCU,
	BOLT_UNITS
};

/**
 * enum bolt_phase - parts of a request, in the order they end in
 * @BOLT_PHASE_LOCK: from the request to the hotplug write lock
 * @BOLT_PHASE_PREPARE: startup callbacks on the control CPU
 * @BOLT_PHASE_HARDWARE: from waking the AP to its idle loop
 * @BOLT_PHASE_AP: callbacks on the AP
 * @BOLT_PHASE_STOP: stop_machine() with everything in it
 * @BOLT_PHASE_DIE: from there to the AP's death
 * @BOLT_PHASE_DEAD: teardown callbacks on the control CPU
 * @BOLT_PHASES: how many there are
 */
enum bolt_phase {
	BOLT_PHASE_LOCK,
	BOLT_PHASE_PREPARE,
	BOLT_PHASE_HARDWARE,
	BOLT_PHASE_AP,
	BOLT_PHASE_STOP,
	BOLT_PHASE_DIE,
	BOLT_PHASE_DEAD,
	BOLT_PHASES
};

/**
 * enum bolt_boot_switch - what is done otherwise than natively during boot
 * @BOLT_BOOT_BALANCE: bolt.balance=: until init runs, CPUs look for work, and
 *	for CPUs to give it to, within their node only
 * @BOLT_BOOT_DEVICETREE: bolt.devicetree=: the nodes of CPUs, once found, are
 *	kept until the machine has booted
 * @BOLT_BOOT_PARALLEL: bolt.parallel=: states that are parallel start on all
 *	CPUs at once when they are registered, while the machine boots or later
 * @BOLT_BOOT_RESCHED: bolt.resched=: long works of the boot give way to others
 * @BOLT_BOOT_TRIAL: bolt.trial=: CPUs come together only if they do not come
 *	slower than alone
 * @BOLT_BOOT_UEVENT: bolt.uevent=: uevents that nobody can hear yet are not
 *	put together
 * @BOLT_BOOT_VMSTAT: bolt.vmstat=: thresholds are set once, after all CPUs have
 *	come
 * @BOLT_BOOT_WORKQUEUE: bolt.workqueue=: unbound workqueues take notice of all
 *	CPUs at once
 * @BOLT_BOOT_SWITCHES: how many there are
 */
enum bolt_boot_switch {
	BOLT_BOOT_BALANCE,
	BOLT_BOOT_DEVICETREE,
	BOLT_BOOT_PARALLEL,
	BOLT_BOOT_RESCHED,
	BOLT_BOOT_TRIAL,
	BOLT_BOOT_UEVENT,
	BOLT_BOOT_VMSTAT,
	BOLT_BOOT_WORKQUEUE,
	BOLT_BOOT_SWITCHES
};

/**
 * enum bolt_topology - how the levels of scheduler domains are checked
 * @BOLT_TOPOLOGY_FULL: every CPU against every other, as natively
 * @BOLT_TOPOLOGY_LINEAR: every CPU once, with the same result
 * @BOLT_TOPOLOGY_SKIP: not at all
 */
enum bolt_topology {
	BOLT_TOPOLOGY_FULL,
	BOLT_TOPOLOGY_LINEAR,
	BOLT_TOPOLOGY_SKIP,
};

/**
 * struct bolt_defer - how the teardown of a hotplug state is put off
 * @class:	BOLT_ASYNC, BOLT_LAZY or BOLT_ELIDE; fixed states have theirs in
 *		policy.c, and leave it out here; BOLT_CRITICAL for a dynamic
 *		state that only says whether it is @concurrent
 * @unit:	what it moves with; fixed states: as @class
 * @concurrent:	whether its callbacks for several CPUs may run at once; if not,
 *		they run for one CPU of a request at a time; fixed states: as
 *		@class
 * @reason:	why all that is right; fixed states: as @class
 * @node:	entry of the CPU device's directory to hide, or NULL
 * @device:	returns the device to hide, with a reference, or NULL if there
 *		is none; its links in class and bus are hidden with it, and the
 *		uevents of removal and addition are sent
 * @keep:	whether the state may be parked this time: false, and it is torn
 *		down natively; may be NULL
 * @park:	what of the teardown cannot wait; runs after hiding; may be NULL
 * @unpark:	undoes @park before the node or device is shown; fails as a
 *		startup may; may be NULL; NULL for a state without startup
 * @settle:	what of the teardown @park has left; NULL for all of it, with
 *		all instances if the state has some
 *
 * @keep, @park and @unpark run where teardown and startup of the state run,
 * with the hotplug lock held for writing. @settle runs in any task on any CPU,
 * with the lock held for reading and the CPU offline. As a request waits for
 * it, it may do a part only and return -EAGAIN: it is called again, unless the
 * CPU has come back; otherwise it returns 0. After a failed @unpark it runs in
 * its place.
 */
struct bolt_defer {
	enum bolt_class class;
	enum bolt_unit unit;
	bool concurrent;
	const char *reason;
	const char *node;
	struct device *(*device)(unsigned int cpu);
	bool (*keep)(unsigned int cpu);
	void (*park)(unsigned int cpu);
	int (*unpark)(unsigned int cpu);
	int (*settle)(unsigned int cpu);
};

/**
 * struct bolt_run - a callback that is running
 * @state:	its state, or CPUHP_INVALID: not inside a request
 * @start:	when it began, nanoseconds; 0 if nobody wants to know
 */
struct bolt_run {
	enum cpuhp_state state;
	u64 start;
};

#ifdef CONFIG_BOLT

extern struct cpumask bolt_parked_mask;

/**
 * for_each_parked_cpu - walk the CPUs that may have something left from before
 * @cpu:	unsigned int
 *
 * A CPU is in the mask from before the first of its teardowns is put off until
 * the last has been settled, or until it is back in cpu_online_mask. Without
 * the hotplug lock it may come and go: a CPU that is about to come is seen
 * here or in cpu_online_mask, or in both.
 */
#define for_each_parked_cpu(cpu) for_each_cpu(cpu, &bolt_parked_mask)

/**
 * for_each_online_or_parked_cpu - walk the CPUs that may have per-CPU data
 * @cpu:	unsigned int
 *
 * For whoever drains or sums up what a CPU keeps while it is parked, each CPU
 * once. Without the hotplug lock a CPU that comes or goes may be missed, as
 * it may be in for_each_online_cpu().
 */
#define for_each_online_or_parked_cpu(cpu) \
	for_each_cpu_or(cpu, &bolt_parked_mask, cpu_online_mask)

/**
 * bolt_staying_mask - the CPUs that a teardown callback may choose from
 *
 * Between CPUHP_AP_ACTIVE and CPUHP_TEARDOWN_CPU the other CPUs of a request
 * are still in cpu_online_mask, and in the masks of siblings, dies and nodes.
 * None of them is active any more, though, and every CPU that stays is. If one
 * CPU leaves alone it is the difference between the two masks.
 */
#define bolt_staying_mask cpu_active_mask

/* A CPU of @mask that stays, other than @cpu; or nr_cpu_ids. */
#define bolt_any_staying_but(mask, cpu) \
	cpumask_any_and_but(mask, bolt_staying_mask, cpu)

bool bolt_enabled(void);
bool bolt_fast(void);
bool bolt_batching(void);
bool bolt_control(void);
bool bolt_ap_alive(void);
void bolt_pass_turn(void);
bool bolt_more_to_activate(void);
bool bolt_more_to_come(unsigned int cpu);
bool bolt_more_to_come_in(unsigned int cpu, const struct cpumask *mask);
bool bolt_first_in(unsigned int cpu, const struct cpumask *mask);
bool bolt_crowded(void);
void bolt_ap_lock(void);
void bolt_ap_unlock(void);
#if defined(CONFIG_LOCKDEP) || defined(CONFIG_BOLT_KUNIT_TEST)
void bolt_assert_ap_lock(void);
#else
#define bolt_assert_ap_lock() do { } while (0)
#endif

bool bolt_boot(enum bolt_boot_switch what);
enum bolt_topology bolt_topology_check(void);
bool bolt_level_sane(const struct cpumask *(*mask)(int cpu),
		     const struct cpumask *map, struct cpumask *seen,
		     struct cpumask *first);

int bolt_defer_state(int state, const struct bolt_defer *defer);

int bolt_cpus_down(const struct cpumask *mask);
int bolt_cpus_up(const struct cpumask *mask);
int bolt_cpus_set(const struct cpumask *mask);

/* For kernel/cpu.c. */
int bolt_cpu_down(unsigned int cpu);
int bolt_cpu_up(unsigned int cpu);
int bolt_finish_offline(struct device *dev);
bool bolt_boot_idle(unsigned int max);
bool bolt_boot_cpus(unsigned int max);
bool bolt_makes_kthreads(void);
int bolt_arch_may_go(const struct cpumask *cpus);
/* How many CPUs are on their way at once, unless the architecture says so. */
#define BOLT_SLOTS 4U
unsigned int bolt_arch_slots(void);
int bolt_arch_kick(unsigned int cpu, struct task_struct *idle);
void bolt_arch_gave_up(unsigned int cpu);
void bolt_mark(enum bolt_phase phase);
bool bolt_intercept(unsigned int cpu, enum cpuhp_state state, bool bringup,
		    int *ret);
void bolt_failed(unsigned int cpu, enum cpuhp_state state);
void bolt_came_up(unsigned int cpu);
void bolt_registered(enum cpuhp_state state);
void bolt_settle_everywhere(enum cpuhp_state state);
void bolt_forget_state(enum cpuhp_state state);
struct bolt_run bolt_run_begin(enum cpuhp_state state);
void bolt_run_end(const struct bolt_run *run);

DEFINE_CLASS(bolt_run, struct bolt_run, bolt_run_end(&_T),
	     bolt_run_begin(state), enum cpuhp_state state)

/* Counts and times a callback, from here to the end of the block. */
#define bolt_account(state) CLASS(bolt_run, __bolt_run)(state)

bool bolt_turn_begin(enum cpuhp_state state);
void bolt_turn_end(bool locked);
void bolt_turn_over(void);

DEFINE_CLASS(bolt_turn, bool, bolt_turn_end(_T), bolt_turn_begin(state),
	     enum cpuhp_state state)

/* Waits for other CPUs of the batch, to the end of the block at least. */
#define bolt_serialize(state) CLASS(bolt_turn, __bolt_turn)(state)
void bolt_settle_cpu(unsigned int cpu);
void bolt_settle_all(void);

/* Those who would take CPUs one by one; cpu_add_remove_lock held. */
int bolt_smt_disable(int ctrlval);
int bolt_smt_enable(void);
int bolt_freeze(unsigned int primary, struct cpumask *frozen);
void bolt_thaw(const struct cpumask *frozen);
void bolt_shutdown(unsigned int primary);

/* In kernel/kthread.c and kernel/smpboot.c: parking in two halves. */
bool kthread_parking(struct task_struct *k);
void kthread_park_start(struct task_struct *k);
void kthread_park_finish(struct task_struct *k);
void smpboot_collect_threads(unsigned int cpu);

/* In kernel/smpboot.c: the idle task of one CPU, while the machine boots. */
void idle_thread_init(unsigned int cpu);

/* For kernel/sched and kernel/cgroup. */
DECLARE_STATIC_KEY_FALSE(bolt_domains_key);
extern bool bolt_domains_stale;

/**
 * bolt_domains_pending - whether domains may have CPUs that have gone
 *
 * Context: any. An answer that is to last: hotplug lock held.
 * Return: true if so; costs nothing while Bolt is disabled.
 */
static __always_inline bool bolt_domains_pending(void)
{
	return static_branch_unlikely(&bolt_domains_key) &&
	       READ_ONCE(bolt_domains_stale);
}

/**
 * bolt_cpu_left - whether a CPU has gone, though domains may still have it
 * @cpu:	the CPU
 *
 * Context: as bolt_domains_pending().
 * Return: true if so: it must not be chosen.
 */
static __always_inline bool bolt_cpu_left(unsigned int cpu)
{
	return bolt_domains_pending() && !cpu_active(cpu);
}

bool bolt_domains_wait(void);

/**
 * bolt_left_in_batch - whether sched_cpu_leave() has been called for a CPU
 * @cpu:	the CPU, whose teardown of CPUHP_AP_ACTIVE runs
 *
 * Context: that callback.
 * Return: true if so.
 */
static __always_inline bool bolt_left_in_batch(unsigned int cpu)
{
	return bolt_batching() && !cpu_active(cpu);
}

/* In kernel/sched/core.c. */
void sched_cpu_leave(unsigned int cpu);
void sched_cpu_push_tasks(unsigned int cpu);
void sched_cpu_stay(unsigned int cpu);
void sched_cpus_have_changed(void);

/* In kernel/workqueue.c and kernel/irq/cpuhotplug.c: once for a batch. */
void workqueue_cpus_leave(const struct cpumask *cpus);
void workqueue_cpus_come(const struct cpumask *cpus);
void irq_affinity_online_cpus(const struct cpumask *cpus);

/* In mm/vmstat.c. */
void vmstat_cpus_come(void);

/* For kernel/locking/percpu-rwsem.c. */
extern struct percpu_rw_semaphore *bolt_patient_sem;
void bolt_await_reader(struct percpu_rw_semaphore *sem, long *ticks);

/* In kernel/cgroup/cpuset.c. */
#ifdef CONFIG_CPUSETS
void cpuset_flush_domains(void);
bool cpuset_deadline_tasks(void);
const struct cpumask *cpuset_effective_cpus(struct task_struct *p);
#else
static inline void cpuset_flush_domains(void) { }
#define cpuset_deadline_tasks() true
#define cpuset_effective_cpus(p) ((p)->cpus_ptr)
#endif

/* In kernel/sched/topology.c. */
bool sched_domains_keep(const struct cpumask *cpus,
			struct sched_domain_attr *attr, bool may_shrink);

/* For drivers/base/core.c. */
const struct device_driver *bolt_uevent_driver(const struct device *dev);
bool bolt_uevent_replay(const struct device *dev, struct kobj_uevent_env *env);
void bolt_uevent_record(const struct device *dev,
			const struct device_driver *driver,
			const struct kobj_uevent_env *env, int nr, int len);

/* In fs/kernfs/dir.c. */
void bolt_kernfs_show(struct kernfs_node *kn, bool show);

#else /* !CONFIG_BOLT */

/* Macros: an inline function, though empty, can change what GCC makes of its caller. */
#define for_each_parked_cpu(cpu) for ((cpu) = 0; 0;)
#define for_each_online_or_parked_cpu(cpu) for_each_online_cpu(cpu)
#define bolt_staying_mask cpu_online_mask
#define bolt_any_staying_but(mask, cpu) cpumask_any_but(mask, cpu)
#define bolt_boot(...) false
#define bolt_boot_idle(...) false
#define bolt_boot_cpus(...) false
#define bolt_makes_kthreads(...) false
#define bolt_await_reader(...) schedule()
#define bolt_enabled() false
#define bolt_fast() false
#define bolt_batching() false
#define bolt_control() false
#define bolt_ap_alive() false
#define bolt_pass_turn() do { } while (0)
#define bolt_crowded() false
#define bolt_more_to_activate() false
#define bolt_more_to_come(...) false
#define bolt_more_to_come_in(...) false
#define bolt_ap_lock() do { } while (0)
#define bolt_ap_unlock() do { } while (0)
#define bolt_assert_ap_lock() do { } while (0)
#define bolt_cpu_down(...) (-EOPNOTSUPP)
#define bolt_cpu_up(...) (-EOPNOTSUPP)
#define bolt_finish_offline(...) 1
#define bolt_intercept(...) false
#define bolt_failed(...) do { } while (0)
#define bolt_came_up(...) do { } while (0)
#define bolt_registered(...) do { } while (0)
#define bolt_settle_everywhere(...) do { } while (0)
#define bolt_account(...) do { } while (0)
#define bolt_serialize(...) do { } while (0)
#define bolt_turn_over() do { } while (0)
#define bolt_forget_state(...) do { } while (0)
#define bolt_smt_disable(...) 0
#define bolt_smt_enable() 0
#define bolt_freeze(...) 0
#define bolt_thaw(...) do { } while (0)
#define bolt_shutdown(...) do { } while (0)
#define smpboot_collect_threads(...) do { } while (0)
#define bolt_settle_cpu(...) do { } while (0)
#define bolt_settle_all() do { } while (0)
#define bolt_domains_pending() false
#define bolt_cpu_left(...) false
#define bolt_domains_wait() false
#define bolt_left_in_batch(...) false
#define workqueue_cpus_come(...) do { } while (0)

static inline int bolt_defer_state(int state, const struct bolt_defer *defer)
{
	return 0;
}

static inline const struct device_driver *
bolt_uevent_driver(const struct device *dev)
{
	return NULL;
}

static inline bool bolt_uevent_replay(const struct device *dev,
				      struct kobj_uevent_env *env)
{
	return false;
}

static inline void bolt_uevent_record(const struct device *dev,
				      const struct device_driver *driver,
				      const struct kobj_uevent_env *env,
				      int nr, int len)
{
}

#endif /* CONFIG_BOLT */
#endif /* _LINUX_BOLT_H */
