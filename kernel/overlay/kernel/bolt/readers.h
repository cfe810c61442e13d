/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kernel/cpu.c, which defines cpus_read_unlock(), includes this file.
 *
 * While Bolt is enabled readers of the hotplug lock are on their slow path, where each
 * reader natively passes three full barriers. The first, after the reader has raised
 * its count and before the reader looks for a writer, is needed. The second, after the
 * section and before the reader lowers its count, need be no more than a release. The
 * third, after the reader has lowered its count and before the reader looks for a
 * sleeping writer, makes sure that the writer is woken; that barrier is not needed if
 * writers also wake up by themselves, see bolt_await_reader().
 */
#ifndef _KERNEL_BOLT_READERS_H
#define _KERNEL_BOLT_READERS_H

#ifdef CONFIG_BOLT
#include <linux/bolt.h>
#include <linux/percpu-rwsem.h>

/* When a writer sees the lower count, all of the reader's section must be done. */
static inline void bolt_count_down(struct percpu_rw_semaphore *sem)
{
#ifdef CONFIG_X86
	/* x86 makes no store visible before earlier loads and stores are done. */
	barrier();
	this_cpu_dec(*sem->read_count);
#else
	/* On arm64 this_cpu_dec() is atomic as well, but has no release ordering. */
	atomic_fetch_dec_release((atomic_t *)this_cpu_ptr(sem->read_count));
#endif
}

/* The end of a section of a reader that is not on its fast path. */
static void bolt_read_unlock_slow(struct percpu_rw_semaphore *sem)
{
	bool patient = READ_ONCE(bolt_patient_sem) == sem;

	bolt_count_down(sem);
	/* The third barrier is in rcuwait_wake_up(); rcuwait_active() has none. */
	if (!patient || rcuwait_active(&sem->writer))
		rcuwait_wake_up(&sem->writer);
}

/**
 * bolt_read_unlock - percpu_up_read() for the hotplug lock
 * @sem:	the hotplug lock
 *
 * Context: as percpu_up_read().
 */
static inline void bolt_read_unlock(struct percpu_rw_semaphore *sem)
{
	rwsem_release(&sem->dep_map, _RET_IP_);
	preempt_disable();
	if (likely(rcu_sync_is_idle(&sem->rss)))
		this_cpu_dec(*sem->read_count);
	else
		bolt_read_unlock_slow(sem);
	preempt_enable();
}
#else
#define bolt_read_unlock(sem) percpu_up_read(sem)
#endif

#endif
