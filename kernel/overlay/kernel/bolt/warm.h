/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs that are parked warm, and the transitions of the word that each CPU has. A
 * word changes only by cmpxchg, so that of two tasks or CPUs that find the same value
 * in a word and try to change the word, one succeeds and the other sees that it failed.
 */
#ifndef _KERNEL_BOLT_WARM_H
#define _KERNEL_BOLT_WARM_H

#include <linux/atomic.h>
#include <linux/bolt.h>
#include <linux/types.h>

struct cpumask;
struct task_struct;

/* Called on the CPU that dies. Returns true if the CPU is to wait now. */
static __always_inline bool bolt_word_park(atomic_t *word)
{
	return raw_atomic_cmpxchg(word, BOLT_COLD, BOLT_WARM) == BOLT_COLD;
}

/*
 * Called on the CPU that waits, to take its order. Returns true if the order was to
 * return. If the control task calls bolt_word_withdraw() at the same time, one of the
 * two calls comes first, and only that one has an effect.
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

/*
 * Orders a CPU to return. Returns false if the CPU does not wait or has an order already,
 * and must be woken natively.
 */
static inline bool bolt_word_wake(atomic_t *word)
{
	return atomic_cmpxchg(word, BOLT_WARM, BOLT_WAKE) == BOLT_WARM;
}

/*
 * Takes back the order to return. Returns false if the CPU has taken the order already,
 * or had none.
 */
static inline bool bolt_word_withdraw(atomic_t *word)
{
	return atomic_cmpxchg(word, BOLT_WAKE, BOLT_COLD) == BOLT_WAKE;
}

/* Orders a CPU to die natively; false: the CPU does not wait, or has an order. */
static inline bool bolt_word_leave(atomic_t *word)
{
	return atomic_cmpxchg(word, BOLT_WARM, BOLT_LEAVE) == BOLT_WARM;
}

/*
 * Gives up waiting for a CPU that was ordered to die natively. Returns true if the CPU
 * has not answered, and dies when it next reads the word.
 */
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
