/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs that are parked warm, and the transitions of the word that each CPU has. A
 * word changes by cmpxchg only, so that of two parties that want to change it at the
 * same time one finds out.
 */
#ifndef _KERNEL_BOLT_WARM_H
#define _KERNEL_BOLT_WARM_H

#include <linux/atomic.h>
#include <linux/bolt.h>
#include <linux/types.h>

struct cpumask;
struct task_struct;

/* The CPU that dies: from now on it waits. */
static __always_inline bool bolt_word_park(atomic_t *word)
{
	return raw_atomic_cmpxchg(word, BOLT_COLD, BOLT_WARM) == BOLT_COLD;
}

/*
 * The CPU that waits takes its order. True: it was to return. Of this and
 * bolt_word_withdraw() one comes first, and only that one is obeyed.
 */
static __always_inline bool bolt_word_take(atomic_t *word)
{
	int order = raw_atomic_read(word);

	while (order == BOLT_WAKE || order == BOLT_LEAVE) {
		if (raw_atomic_try_cmpxchg(word, &order, BOLT_COLD))
			return order == BOLT_WAKE;
	}
	return false;
}

/* False: the CPU does not wait, it is woken natively. */
static inline bool bolt_word_wake(atomic_t *word)
{
	return atomic_cmpxchg(word, BOLT_WARM, BOLT_WAKE) == BOLT_WARM;
}

/* False: the CPU has taken the order before. */
static inline bool bolt_word_withdraw(atomic_t *word)
{
	return atomic_cmpxchg(word, BOLT_WAKE, BOLT_COLD) == BOLT_WAKE;
}

/* False: the CPU does not wait. */
static inline bool bolt_word_leave(atomic_t *word)
{
	return atomic_cmpxchg(word, BOLT_WARM, BOLT_LEAVE) == BOLT_WARM;
}

/* The CPU has not answered: it is cold when it looks the next time. */
static inline bool bolt_word_give_up(atomic_t *word)
{
	return atomic_cmpxchg(word, BOLT_LEAVE, BOLT_COLD) == BOLT_LEAVE;
}

bool bolt_warm_must_end(unsigned int cpu);
bool bolt_warm_wanted(void);
int bolt_warm_want(bool warm);
bool bolt_warm_wake(unsigned int cpu, struct task_struct *idle);
bool bolt_warm_taken(unsigned int cpu);
bool bolt_warm_withdraw(unsigned int cpu);
void bolt_warm_forget(unsigned int cpu);
void bolt_warm_leave(const struct cpumask *cpus);

#endif /* _KERNEL_BOLT_WARM_H */
