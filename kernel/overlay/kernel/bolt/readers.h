/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * While Bolt is enabled readers of the hotplug lock are on their slow path, where
 * each passes three full barriers. The first, between its count and its look
 * for a writer, is needed. The second, between the end of its section and its
 * count, need be no more than a release. The third, between that and its look for
 * a writer that sleeps, is there so that the writer is woken in any case; it is
 * not needed if writers also wake up by themselves, see bolt_await_reader().
 */
#ifndef _KERNEL_BOLT_READERS_H
#define _KERNEL_BOLT_READERS_H

#ifdef CONFIG_BOLT
#include <linux/bolt.h>
#include <linux/percpu-rwsem.h>

/* Who sees the count below must see all of the section that ends. */
#ifdef CONFIG_X86
#define bolt_release() barrier()
#else
#define bolt_release() smp_mb()
#endif

/**
 * bolt_read_unlock - leave a read section of the hotplug lock
 * @sem:	the hotplug lock
 *
 * Context: any in which the lock may be held for reading.
 * Return: true if it has been left; otherwise percpu_up_read() is to do it.
 */
static inline bool bolt_read_unlock(struct percpu_rw_semaphore *sem)
{
	if (READ_ONCE(bolt_patient_sem) != sem)
		return false;
	preempt_disable();
	if (rcu_sync_is_idle(&sem->rss)) {
		preempt_enable();
		return false;
	}
	rwsem_release(&sem->dep_map, _RET_IP_);
	bolt_release();
	this_cpu_dec(*sem->read_count);
	if (rcuwait_active(&sem->writer))
		rcuwait_wake_up(&sem->writer);
	preempt_enable();
	return true;
}
#else
#define bolt_read_unlock(...) false
#endif

#endif
