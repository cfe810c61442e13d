/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bolt: fast CPU hotplug.
 *
 * If at least one teardown may be deferred, a CPU that goes offline under Bolt is
 * parked: no task can run on the CPU or see it online, but the teardowns of some hotplug
 * states have been deferred. These states are the pending set of the CPU. To settle the
 * CPU is to run the teardowns of its pending set.
 *
 * This header has functions that hooks in the rest of the kernel call, and functions
 * of hooks that Bolt calls. kernel/bolt/state.c answers questions about the request
 * under way. Documentation/core-api/bolt.rst explains the words and the laws.
 */
#ifndef _LINUX_BOLT_H
#define _LINUX_BOLT_H

#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/cpu_undrained.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/jump_label.h>
#include <linux/percpu.h>
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
 * @BOLT_ASYNC: in a worker, right after the request
 * @BOLT_LAZY: in a worker, when the settle delay is over or memory is short.
 *	The CPU keeps what the teardown would drain; code that walks the online
 *	CPUs to drain or to add up such data walks the parked CPUs as well
 * @BOLT_ELIDE: in a worker, when memory is short; with bolt/keep set to "delay" as
 *	@BOLT_LAZY. The CPU keeps an object that no task looks for while the CPU is
 *	parked, and that the CPU needs when it returns: memory, for example, or an
 *	entry in sysfs that is hidden from user space
 *
 * A teardown of the last three classes does not run at all if the CPU comes back first.
 * Code that needs the CPU natively offline runs these teardowns itself, at once.
 */
enum bolt_class {
	BOLT_CRITICAL,
	BOLT_ASYNC,
	BOLT_LAZY,
	BOLT_ELIDE,
};

/**
 * enum bolt_unit - hotplug states that share an object
 * @BOLT_NO_UNIT: no unit: the state shares nothing
 * @BOLT_UNIT_VMSTAT: the thresholds of memory zones
 * @BOLT_UNIT_VIRTIO_NET: CPUs that serve the queues of virtio_net
 * @BOLT_UNIT_ACPI_PROCESSOR: throttling and idle states of ACPI processors
 * @BOLT_UNIT_PERF_X86: constraints and registers that threads of a core share
 * @BOLT_UNIT_AMD_UNCORE: uncore contexts that CPUs of a package share
 * @BOLT_UNIT_MCE: the machine check banks
 * @BOLT_UNIT_HPET: the CPU's HPET channel
 * @BOLT_UNIT_SMPCFD: buffers with which a CPU calls functions on other CPUs
 * @BOLT_UNIT_HRTIMERS: the clock bases of hrtimers
 * @BOLT_UNIT_TIMERS: the timer wheel
 * @BOLT_UNIT_RCU: RCU's callback list of the CPU, and masks of CPUs
 * @BOLT_UNITS: number of units
 *
 * If the administrator moves one state of a unit back to critical, in bolt/states, all
 * states of the unit become critical.
 */
enum bolt_unit {
	BOLT_NO_UNIT,
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
 * enum bolt_phase - parts of a request, in the order in which they end
 * @BOLT_PHASE_LOCK: from the request to the hotplug write lock
 * @BOLT_PHASE_PREPARE: startup callbacks before the AP is woken; with bolt.boot=tree
 *	also all that @BOLT_PHASE_HARDWARE has otherwise
 * @BOLT_PHASE_HARDWARE: from waking the AP to its idle loop
 * @BOLT_PHASE_AP: callbacks on the AP, and those of CPUHP_AP_ACTIVE
 * @BOLT_PHASE_STOP: stop_machine() with everything in it
 * @BOLT_PHASE_DIE: from the end of the stop to the AP's death, and moving its timers
 * @BOLT_PHASE_DEAD: later teardown callbacks on the control CPU
 * @BOLT_PHASES: number of phases
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
 * @BOLT_BOOT_BALANCE: bolt.balance=: until init runs, the scheduler moves tasks
 *	between CPUs of one node only; a CPU that is alone on its node also gives tasks
 *	to CPUs of other nodes, and takes tasks from these
 * @BOLT_BOOT_PARALLEL: bolt.parallel=: the startup of a state of
 *	<linux/cpuhotplug_parallel.h> runs on all CPUs at once when the state is
 *	registered, or an instance is added, during boot and later
 * @BOLT_BOOT_TRIAL: bolt.trial=: with bolt.boot=parallel or tree, CPUs come together
 *	only as long as groups of CPUs come fast enough
 * @BOLT_BOOT_VMSTAT: bolt.vmstat=: sizes of page lists, and in 6.12 thresholds of
 *	memory zones, are set once, when all CPUs have come
 * @BOLT_BOOT_WORKQUEUE: bolt.workqueue=: unbound workqueues are set up for all
 *	CPUs at once
 * @BOLT_BOOT_SWITCHES: number of switches
 */
enum bolt_boot_switch {
	BOLT_BOOT_BALANCE,
	BOLT_BOOT_PARALLEL,
	BOLT_BOOT_TRIAL,
	BOLT_BOOT_VMSTAT,
	BOLT_BOOT_WORKQUEUE,
	BOLT_BOOT_SWITCHES
};

/**
 * struct bolt_defer - how the teardown of a hotplug state is deferred
 * @class:	BOLT_ASYNC, BOLT_LAZY or BOLT_ELIDE; or BOLT_CRITICAL, for a
 *		dynamic state that is not deferred but fit for batches. A state
 *		that has a row in rows.h or names.h leaves this and the next three
 *		members out: the row has them
 * @unit:	states with which this state shares an object
 * @concurrent:	true if callbacks of the state may run for several CPUs at once;
 *		false if the callbacks run for one CPU at a time
 * @reason:	why class, unit and concurrent are right, shown in bolt/states
 * @node:	name of an entry to hide in the sysfs directory of the CPU's device, or
 *		NULL
 * @device:	function that returns the device to hide, with a reference, or NULL
 *		if there is none. Links to the device in its class, on its bus and
 *		in dev/char are hidden, too, and uevents tell user space that the
 *		device goes and comes
 * @major:	in place of @device: major number of the character device whose
 *		minor number is the CPU's, and which is hidden likewise
 * @restart:	in place of @cancel: true if the startup runs when the CPU
 *		returns, though no teardown has run
 * @may_defer:	function that returns false to have the teardown run inside the
 *		request this time; or NULL
 * @at_once:	the part of the teardown that cannot be deferred, run when node and
 *		device have been hidden; or NULL
 * @cancel:	function that undoes @at_once, run before node and device are
 *		shown; may fail where the startup may; or NULL; always NULL if
 *		the state has no startup
 * @settle:	the part of the teardown that @at_once has left; NULL for the whole
 *		teardown, of all instances if the state has instances
 *
 * @may_defer, @at_once and @cancel run where teardown and startup of the state run,
 * with the hotplug lock held for writing. @settle runs in any task on any CPU, with
 * the hotplug lock held for reading, while the CPU is below the state. A request that
 * wants the lock waits for @settle, so @settle may do a part of the work and return
 * -EAGAIN: Bolt calls the function again, unless the CPU has come back. @settle returns
 * -EBUSY, and is called again later, if another task holds a lock for long. When the work
 * is done @settle returns 0. If @cancel fails, or the startup for @restart, the task that
 * ran it calls @settle until the work is done, or runs the teardown if @settle is NULL,
 * with the hotplug lock held for writing, and the startup counts as failed.
 */
struct bolt_defer {
	enum bolt_class class;
	enum bolt_unit unit;
	bool concurrent;
	const char *reason;
	const char *node;
	struct device *(*device)(unsigned int cpu);
	unsigned int major;
	bool restart;
	bool (*may_defer)(unsigned int cpu);
	void (*at_once)(unsigned int cpu);
	int (*cancel)(unsigned int cpu);
	int (*settle)(unsigned int cpu);
};

#ifdef CONFIG_BOLT

bool bolt_enabled(void);
bool bolt_may_defer(void);
bool bolt_in_request(void);
bool bolt_is_control_task(void);
bool bolt_woken_cpu_alive(void);
void bolt_irqs_moved_off(void);
bool bolt_irqs_left_in(const struct cpumask *mask);
bool bolt_is_last_to_activate(void);
bool bolt_is_last(unsigned int cpu);
bool bolt_is_last_in(unsigned int cpu, const struct cpumask *mask);
bool bolt_is_first_in(unsigned int cpu, const struct cpumask *mask);
bool bolt_several_cpus(void);
void bolt_ap_lock(void);
bool bolt_ap_lock_for_late(void);
void bolt_ap_unlock(void);
#if defined(CONFIG_LOCKDEP) || defined(CONFIG_BOLT_KUNIT_TEST)
void bolt_assert_ap_lock(void);
#else
#define bolt_assert_ap_lock() do { } while (0)
#endif

/*
 * Functions of the architecture, in arch/.../kernel/; kernel/bolt/arch.c has a default
 * for each of them but bolt_arch_kick() and bolt_arch_gave_up(), and for
 * bolt_arch_leave_topology(), which only arm64 has.
 */

/*
 * How many CPUs of a request may be on their way to their idle loops at once, unless the
 * bolt_arch_slots() of the architecture says otherwise. The limit on hotplug threads that
 * run startups at once is never lower than this.
 */
#define BOLT_SLOTS 4U

int bolt_arch_may_go(const struct cpumask *cpus);
unsigned int bolt_arch_wave(unsigned int cpu);
unsigned int bolt_arch_slots(void);
void bolt_arch_coming(unsigned int nr);
void bolt_arch_arrived(const struct cpumask *cpus);
int bolt_arch_kick(unsigned int cpu, struct task_struct *idle);
void bolt_arch_gave_up(unsigned int cpu);
void bolt_arch_leave_topology(unsigned int cpu);

bool bolt_boot_option(enum bolt_boot_switch what);
bool bolt_topology_unchecked(void);

int bolt_defer_state(int state, const struct bolt_defer *defer);

int bolt_cpus_down(const struct cpumask *mask);
int bolt_cpus_up(const struct cpumask *mask);
int bolt_cpus_set(const struct cpumask *mask);

/* Most of these functions are called by kernel/cpu.c. */
int bolt_cpu_down(unsigned int cpu);
int bolt_cpu_up(unsigned int cpu);
int bolt_finish_offline(struct device *dev);
bool bolt_boot_idle(unsigned int max);
bool bolt_boot_cpus(unsigned int max);
bool bolt_makes_kthreads(void);
void bolt_phase_end(enum bolt_phase phase);
void bolt_callback_failed(unsigned int cpu, enum cpuhp_state state, int err);
void bolt_bringup_done(unsigned int cpu);
void bolt_callbacks_changed(enum cpuhp_state state);
void bolt_instances_changed(enum cpuhp_state state);
void bolt_settle_everywhere(enum cpuhp_state state);
void bolt_forget_state(enum cpuhp_state state);
void bolt_serial_leave(void);
void bolt_settle_cpu(unsigned int cpu);
void bolt_settle_all(void);

/* Called, with cpu_add_remove_lock held, where CPUs natively go or come one by one. */
int bolt_smt_disable(int ctrlval);
int bolt_smt_enable(void);
int bolt_freeze(unsigned int primary, struct cpumask *frozen);
void bolt_thaw(const struct cpumask *frozen);
void bolt_shutdown(unsigned int primary);

/*
 * Defined in kernel/kthread.c and kernel/smpboot.c: tell whether a thread has the order
 * to park; give threads that order, and later wait until these threads are parked; or
 * park and unpark a thread that sleeps, without waking the thread.
 */
bool kthread_parking(struct task_struct *k);
void kthread_park_start(struct task_struct *k);
void kthread_park_finish(struct task_struct *k);
bool kthread_park_asleep(struct task_struct *k, const bool *idle);
bool kthread_unpark_asleep(struct task_struct *k);
void smpboot_collect_threads(unsigned int cpu);

/* Defined in kernel/smpboot.c: makes the idle task of one CPU while the machine boots. */
void idle_thread_init(unsigned int cpu);

/* Used by kernel/sched and kernel/cgroup. */
DECLARE_STATIC_KEY_FALSE(bolt_domains_key);
extern bool bolt_domains_stale;

/**
 * bolt_domains_pending - whether a rebuild of scheduler domains is pending
 *
 * Until the rebuild, domains may contain CPUs that have gone offline. While Bolt is
 * disabled, the test costs no more than a jump label.
 *
 * Context: any. Without the hotplug lock the answer may be outdated at once.
 * Return: true if a rebuild is pending.
 */
static __always_inline bool bolt_domains_pending(void)
{
	return static_branch_unlikely(&bolt_domains_key) &&
	       READ_ONCE(bolt_domains_stale);
}

/**
 * bolt_stale_in_domains - whether a CPU that domains may contain has gone offline
 * @cpu:	a CPU of a scheduler domain
 *
 * Context: as bolt_domains_pending().
 * Return: true if the scheduler must not choose @cpu.
 */
static __always_inline bool bolt_stale_in_domains(unsigned int cpu)
{
	return bolt_domains_pending() && !cpu_active(cpu);
}

bool bolt_may_defer_domains(void);

/**
 * bolt_has_left_sched - whether sched_cpu_leave() has been called for a CPU
 * @cpu:	the CPU for which the teardown of CPUHP_AP_ACTIVE runs
 *
 * Context: the teardown of CPUHP_AP_ACTIVE.
 * Return: true if @cpu has left the scheduler together with the other CPUs of
 * its batch.
 */
static __always_inline bool bolt_has_left_sched(unsigned int cpu)
{
	return bolt_in_request() && !cpu_active(cpu);
}

/*
 * A flag of struct affinity_context: @user_mask is the affinity that the task has
 * lost. __set_cpus_allowed_ptr() refuses that affinity if the user has asked for another
 * one since, if the task has lost another one, or while the task has its migration
 * disabled.
 */
#define SCA_LOST	0x10

struct cpumask *bolt_lose_affinity(struct task_struct *p, struct cpumask *mask);
void bolt_free_affinity(struct task_struct *p);

/* Initialises a new task, @p: the task has lost no affinity. */
#define bolt_no_affinity(p) ((p)->lost_cpus_ptr = NULL)
#define bolt_has_lost(p) ((p)->lost_cpus_ptr)

bool bolt_asker_sleeps_on(unsigned int cpu);
bool bolt_look_out_idle(unsigned int cpu);

/* Defined in kernel/sched/deadline.c. */
int dl_may_leave(int cpu, const struct cpumask *leaving);

/* Defined in kernel/sched/core.c. */
void sched_cpu_leave(unsigned int cpu);
void sched_cpu_push_tasks(unsigned int cpu);
void sched_cpu_stay(unsigned int cpu);
void sched_cpus_have_changed(void);

/*
 * Defined in kernel/workqueue.c and kernel/irq/cpuhotplug.c. Called once for all
 * CPUs that go, or come, together.
 */
void workqueue_cpus_leave(const struct cpumask *cpus);
void workqueue_cpus_come(const struct cpumask *cpus);
void irq_affinity_online_cpus(const struct cpumask *cpus);

/* Defined in mm/vmstat.c and drivers/base/cacheinfo.c. */
void vmstat_cpus_come(void);
void cacheinfo_cpus_changed(void);

/* Used by kernel/locking/percpu-rwsem.c and kernel/bolt/readers.h. */
extern struct percpu_rw_semaphore *bolt_patient_sem;
void bolt_await_reader(struct percpu_rw_semaphore *sem, long *ticks);

/* Defined in kernel/cgroup/cpuset.c. */
#ifdef CONFIG_CPUSETS
void cpuset_flush_domains(void);
bool cpuset_deadline_tasks(void);
const struct cpumask *cpuset_effective_cpus(struct task_struct *p);
#else
static inline void cpuset_flush_domains(void) { }
#define cpuset_deadline_tasks() true
#define cpuset_effective_cpus(p) ((p)->cpus_ptr)
#endif

/* Defined in kernel/sched/topology.c. */
bool sched_domains_keep(const struct cpumask *cpus,
			struct sched_domain_attr *attr, bool may_shrink);

/* Called by drivers/base/core.c. */
const struct device_driver *bolt_uevent_driver(const struct device *dev);
bool bolt_uevent_replay(const struct device *dev, struct kobj_uevent_env *env);
void bolt_uevent_record(const struct device *dev,
			const struct device_driver *driver,
			const struct kobj_uevent_env *env, int nr, int len);

/* Defined in fs/kernfs/dir.c. */
void bolt_kernfs_show(struct kernfs_node *kn, bool show);
unsigned long bolt_kernfs_bytes(struct kernfs_node *kn);

/**
 * enum bolt_warm - whether a CPU waits in the kernel, and what order the CPU has
 * @BOLT_COLD: the CPU does not wait: the CPU is online, coming, dying or natively
 *		dead; or the CPU waits, its order was taken back, and it dies when it
 *		next reads the word
 * @BOLT_WARM: the CPU is parked warm, and waits; its hardware was not reset, unless the
 *		CPU was woken natively since, and bolt_warm_forget() has yet to be called
 * @BOLT_WAKE: the CPU waits, and has the order to return
 * @BOLT_LEAVE: the CPU waits, and has the order to become natively dead
 *
 * Each CPU has a word with one of these values. kernel/bolt/warm.c has the transitions.
 */
enum bolt_warm {
	BOLT_COLD,
	BOLT_WARM,
	BOLT_WAKE,
	BOLT_LEAVE,
};

DECLARE_PER_CPU_ALIGNED(atomic_t, bolt_warm_words);

/**
 * bolt_warm_order - read the order of this CPU, which is parked warm
 *
 * If the order is BOLT_WAKE, the CPU sees all that the control task has prepared
 * for its return.
 *
 * Context: the CPU, offline, interrupts off; may be called where code must not be
 * instrumented.
 * Return: the word of the CPU; BOLT_WARM if the CPU has no order yet.
 */
static __always_inline enum bolt_warm bolt_warm_order(void)
{
	/* Pairs with the cmpxchg of the control task. */
	return raw_atomic_read_acquire(raw_cpu_ptr(&bolt_warm_words));
}

/* Defined in kernel/bolt/warm.c, and called by the architecture. */
bool bolt_warm_park(void);
bool bolt_warm_take(void);
bool bolt_is_warm(unsigned int cpu);
void bolt_warm_crash(void);

/*
 * Functions of the architecture; kernel/bolt/arch.c has defaults for an architecture
 * without warm CPUs.
 */
bool bolt_arch_warm_possible(void);
bool bolt_arch_can_park_warm(unsigned int cpu);
bool bolt_arch_warm_prepare(unsigned int cpu, struct task_struct *idle);
void bolt_arch_warm_kick(unsigned int cpu);
void bolt_arch_warm_gone(unsigned int cpu, bool answered);
void bolt_arch_warm_lost(unsigned int cpu);
bool bolt_arch_warm_resets(void);
bool bolt_arch_warm_stays(void);

int bolt_arch_finish_death(unsigned int cpu);

#else /* !CONFIG_BOLT */

/*
 * These are macros, because an inline function, even an empty one, can change the code
 * that GCC makes of its caller.
 */
#define bolt_boot_option(...) false
#define bolt_topology_unchecked() false
#define bolt_boot_idle(...) false
#define bolt_boot_cpus(...) false
#define bolt_makes_kthreads(...) false
#define bolt_await_reader(...) schedule()
#define bolt_enabled() false
#define bolt_may_defer() false
#define bolt_in_request() false
#define bolt_is_control_task() false
#define bolt_woken_cpu_alive() false
#define bolt_irqs_moved_off() do { } while (0)
#define bolt_irqs_left_in(...) false
#define bolt_several_cpus() false
#define bolt_is_last_to_activate() true
#define bolt_is_last(...) true
#define bolt_is_last_in(...) true
#define bolt_ap_lock() do { } while (0)
#define bolt_ap_unlock() do { } while (0)
#define bolt_assert_ap_lock() do { } while (0)
#define bolt_cpu_down(...) (-EOPNOTSUPP)
#define bolt_cpu_up(...) (-EOPNOTSUPP)
#define bolt_finish_offline(...) 1
#define bolt_callback_failed(...) do { } while (0)
#define bolt_bringup_done(...) do { } while (0)
#define bolt_callbacks_changed(...) do { } while (0)
#define bolt_instances_changed(...) do { } while (0)
#define bolt_settle_everywhere(...) do { } while (0)
#define bolt_serial_leave() do { } while (0)
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
#define bolt_stale_in_domains(...) false
#define bolt_may_defer_domains() false
#define bolt_has_left_sched(...) false
#define SCA_LOST 0
#define bolt_no_affinity(...) do { } while (0)
#define bolt_has_lost(...) false
#define bolt_free_affinity(...) do { } while (0)
#define workqueue_cpus_come(...) do { } while (0)
#define bolt_warm_park() false
#define bolt_is_warm(...) false
#define bolt_warm_crash() do { } while (0)
#define bolt_arch_finish_death(...) 0

static inline struct cpumask *bolt_lose_affinity(struct task_struct *p,
						 struct cpumask *mask)
{
	return mask;
}

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
