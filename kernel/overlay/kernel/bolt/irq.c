// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts: which of them may be on a CPU, and on which CPUs they are to be kept.
 * <linux/irq.h> and kernel/irq call bolt_irq_target() and bolt_irq_mark() wherever an
 * interrupt is placed, and kernel/irq calls bolt_irqs_leave() for a CPU that goes, in
 * stop_machine(); in a request, down.c decides at which moment of the stop.
 *
 * Natively a CPU that goes looks at every interrupt in the system to find the
 * interrupts that have to move, while all other CPUs wait. With Bolt each CPU looks only
 * at its list of interrupts that may be on the CPU. As long as Bolt is enabled:
 *
 *	An interrupt that has been started and can be moved is on the lists
 *	of all CPUs in its effective affinity (or in its affinity, if the chip
 *	does not tell the effective one).
 *
 * At first each list stands for all interrupts (@all). A list is emptied only in
 * stop_machine(), when its CPU goes and begins to look at the interrupts on the list; an
 * interrupt whose move fails is put back on the list. An interrupt is put on a list
 * wherever its masks are written, and when it is started: chips write the masks by
 * irq_data_update_effective_affinity() and irq_data_update_affinity(), and
 * irq_do_set_affinity() sets the affinity. Code that changes a started interrupt holds
 * the lock of the interrupt, with interrupts off, so that no change is half done while
 * stop_machine() has stopped all CPUs. If an old vector of an interrupt waits on a CPU of
 * x86 to be cleaned up, that CPU's list has the interrupt, which was on the CPU before.
 *
 * If a move becomes pending to just one online CPU, the interrupt is on the list of that
 * CPU too, and the move is called off when the CPU goes. A move to several CPUs need not
 * be called off if all of these go, as it then has no effect when it is due.
 *
 * bolt/irq_keep lists the CPUs on which movable interrupts are kept; bolt_irq_keep() has
 * the exceptions. The chip of a kept interrupt is told only CPUs of the list while these
 * have a vector left; the configured affinity does not change.
 */
#define pr_fmt(fmt) "bolt: " fmt

#include <linux/bolt_irq.h>
#include <linux/cpu.h>
#include <linux/export.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/sched/isolation.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "../irq/internals.h"
#include "compat.h"
#include "irq.h"
#include "state.h"

/* How many interrupts fit in a list; a CPU that is not in irq_keep usually has fewer. */
#define BOLT_IRQS 30

/**
 * struct bolt_irqs - interrupts that may be on a CPU
 * @lock:	protects the other members
 * @all:	whether the list stands for all interrupts, as @irqs may lack some
 * @nr:		how many interrupts are in @irqs; in bolt_irqs_going, how many are
 *		left, or if @all the number of the interrupt to go on with
 * @irqs:	numbers of the interrupts
 */
struct bolt_irqs {
	raw_spinlock_t lock;
	bool all;
	unsigned int nr;
	unsigned int irqs[BOLT_IRQS];
};

static DEFINE_PER_CPU(struct bolt_irqs, bolt_irqs) = {
	.lock = __RAW_SPIN_LOCK_UNLOCKED(bolt_irqs.lock),
};

/* The interrupts at which a CPU that goes has still to look. */
static DEFINE_PER_CPU(struct bolt_irqs, bolt_irqs_going);

static bool bolt_irq_tracking;

/* Whether there may be an interrupt all of whose CPUs have gone. */
static bool bolt_irq_stuck;

/* The list in irq_keep, and the list that applies, or NULL; set with cpu_add_remove_lock held. */
static struct cpumask bolt_irq_list;
static struct cpumask *bolt_irq_applied;

/* Of interrupts that irq_keep has moved off a single CPU: that CPU; may be outdated. */
static DEFINE_XARRAY(bolt_irq_homes);

static bool bolt_irq_listed(const struct bolt_irqs *list, unsigned int irq)
{
	unsigned int i;

	for (i = 0; i < list->nr; i++) {
		if (list->irqs[i] == irq)
			return true;
	}
	return list->all;
}

static void bolt_irq_add(struct bolt_irqs *list, unsigned int irq)
{
	guard(raw_spinlock_irqsave)(&list->lock);
	if (bolt_irq_listed(list, irq))
		return;
	if (list->nr < BOLT_IRQS)
		list->irqs[list->nr++] = irq;
	else
		list->all = true;
}

/**
 * bolt_irq_target - note that an interrupt may arrive on CPUs from now on
 * @data:	the interrupt
 * @mask:	the CPUs
 *
 * Exported for irq_data_update_effective_affinity(), which any module may use.
 *
 * Context: any.
 */
void bolt_irq_target(struct irq_data *data, const struct cpumask *mask)
{
	unsigned int cpu;

	if (!READ_ONCE(bolt_irq_tracking))
		return;
	for_each_cpu_and(cpu, mask, cpu_possible_mask)
		bolt_irq_add(per_cpu_ptr(&bolt_irqs, cpu), data->irq);
}
EXPORT_SYMBOL(bolt_irq_target);

static bool bolt_irq_has_setter(struct irq_data *data)
{
	struct irq_chip *chip = irq_data_get_irq_chip(data);

	return chip && chip->irq_set_affinity;
}

/* The CPUs on which @data may arrive, as seen by irq_migrate_all_off_this_cpu(). */
static const struct cpumask *bolt_irq_where(struct irq_data *data)
{
	const struct cpumask *mask = irq_data_get_effective_affinity_mask(data);

	return cpumask_empty(mask) ? irq_data_get_affinity_mask(data) : mask;
}

/* Whether the interrupt has to move when a CPU that it may arrive on goes. */
static bool bolt_irq_moves(struct irq_data *data)
{
	return bolt_irq_has_setter(data) && !irqd_is_per_cpu(data) &&
	       irqd_is_started(data);
}

/*
 * Whether free_irq() may be waiting until the interrupt is no longer in flight, which
 * the IO-APIC of x86 can tell of level-triggered interrupts. free_irq() has removed the
 * last action by then; an interrupt that its driver has not enabled yet has an action.
 */
static bool bolt_irq_awaited(struct irq_data *data)
{
	return !irqd_is_started(data) && irqd_is_activated(data) &&
	       irqd_is_level_type(data) && !irqd_affinity_is_managed(data) &&
	       !irq_data_to_desc(data)->action;
}

/**
 * bolt_irq_stopping - whether an interrupt that is not started has to move as well
 * @data:	the interrupt
 *
 * An interrupt in flight may reach a CPU that has gone, which sends it on to the CPU
 * to which the interrupt has moved. free_irq() waits until that CPU has acknowledged
 * the interrupt, so if that CPU goes as well, the interrupt must move once more.
 *
 * Context: the CPU that goes, in stop_machine(); lock of the interrupt held.
 * Return: true if so; always false where bolt_may_defer() is false, as in suspend.
 */
bool bolt_irq_stopping(struct irq_data *data)
{
	return bolt_may_defer() && bolt_irq_awaited(data);
}

/**
 * bolt_irq_mark - note the CPUs on which an interrupt is, as its masks say
 * @desc:	the interrupt
 *
 * Context: lock of @desc held.
 */
void bolt_irq_mark(struct irq_desc *desc)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);

	if (!irq_move_pending(data))
		desc->istate &= ~IRQS_BOLT_HOME;
	if (!READ_ONCE(bolt_irq_tracking) ||
	    !(bolt_irq_moves(data) || bolt_irq_awaited(data)))
		return;
	bolt_irq_target(data, bolt_irq_where(data));
	/* With all CPUs of @desc gone, the next CPU that goes looks at all interrupts. */
	if (!cpumask_intersects(bolt_irq_where(data), cpu_online_mask))
		WRITE_ONCE(bolt_irq_stuck, true);
}

/**
 * bolt_irq_pending - note that a move of an interrupt is pending
 * @desc:	the interrupt
 * @mask:	the CPUs to which the interrupt is to move
 *
 * Notes the move only if just one CPU of @mask is online.
 *
 * Context: lock of @desc held.
 */
void bolt_irq_pending(struct irq_desc *desc, const struct cpumask *mask)
{
	unsigned int cpu = cpumask_first_and(mask, cpu_online_mask);

	if (cpu < nr_cpu_ids &&
	    cpumask_any_and_but(mask, cpu_online_mask, cpu) >= nr_cpu_ids)
		bolt_irq_target(irq_desc_get_irq_data(desc), cpumask_of(cpu));
}

/*
 * Whether all started interrupts that have to move off this CPU are in @list; checked on
 * kernels with CONFIG_PROVE_LOCKING.
 */
static bool bolt_irqs_complete(const struct bolt_irqs *list)
{
	unsigned int irq, cpu = smp_processor_id();
	struct irq_data *data;

	for_each_active_irq(irq) {
		data = irq_desc_get_irq_data(irq_to_desc(irq));
		if (bolt_irq_moves(data) &&
		    cpumask_test_cpu(cpu, bolt_irq_where(data)) &&
		    !bolt_irq_listed(list, irq))
			return false;
	}
	return true;
}

/**
 * bolt_irqs_leave - begin to move interrupts off this CPU
 *
 * The caller goes on with bolt_irqs_next(), and calls bolt_irq_mark() for each
 * interrupt that bolt_irqs_next() finds.
 *
 * Context: the CPU that goes, in stop_machine().
 * Return: false if there is no interrupt that may have to move.
 */
bool bolt_irqs_leave(void)
{
	struct bolt_irqs *list = this_cpu_ptr(&bolt_irqs);
	struct bolt_irqs *going = this_cpu_ptr(&bolt_irqs_going);

	/* The list's lock is not needed: no other CPU places interrupts now, or has that lock. */
	going->all = list->all || bolt_irq_stuck || !bolt_may_defer();
	going->nr = list->nr;
	memcpy(going->irqs, list->irqs, sizeof(going->irqs));
	list->all = false;
	list->nr = 0;
	bolt_irq_stuck = false;
	if (IS_ENABLED(CONFIG_PROVE_LOCKING) && !bolt_irqs_complete(going)) {
		WARN_ONCE(1, "CPU %u: an interrupt on this CPU is not in its list\n",
			  smp_processor_id());
		going->all = true;
	}
	/* With @all set, @nr is the number of the next interrupt to look at. */
	if (going->all)
		going->nr = 0;
	return going->nr || going->all;
}

/**
 * bolt_irqs_next - find the next interrupt that may have to move off this CPU
 * @irq:	where to put the number of the interrupt
 *
 * Context: after bolt_irqs_leave().
 * Return: false if no interrupt is left.
 */
bool bolt_irqs_next(unsigned int *irq)
{
	struct bolt_irqs *going = this_cpu_ptr(&bolt_irqs_going);

	while (!going->all && going->nr) {
		*irq = going->irqs[--going->nr];
		/* The interrupt may have been freed since it was put on the list. */
		if (irq_to_desc(*irq))
			return true;
	}
	if (!going->all)
		return false;
	*irq = irq_get_next_irq(going->nr);
	going->nr = *irq + 1;
	return *irq < compat_nr_irqs();
}

/*
 * Interrupts that are or were managed. bolt_irqs_unknown is set once there was no memory
 * to note such an interrupt: from then on any interrupt may be managed.
 */
static DEFINE_XARRAY(bolt_irqs_managed);
static bool bolt_irqs_unknown;

/**
 * bolt_irq_managed - note that an interrupt is going to be a managed one
 * @irq:	the interrupt
 *
 * Context: may sleep; irq_lock_sparse(), or the interrupt cannot be freed meanwhile.
 */
void bolt_irq_managed(unsigned int irq)
{
	if (xa_err(xa_store(&bolt_irqs_managed, irq, xa_mk_value(0), GFP_KERNEL)))
		WRITE_ONCE(bolt_irqs_unknown, true);
}

/**
 * bolt_irq_managed_from - find the next interrupt that may be a managed one
 * @irq:	where to put the number of the interrupt
 * @at:		the first number to look at
 *
 * Context: irq_lock_sparse().
 * Return: @irq, or NULL if no interrupt from number @at on may be a managed one.
 */
unsigned int *bolt_irq_managed_from(unsigned int *irq, unsigned int at)
{
	unsigned long index = at;

	if (READ_ONCE(bolt_irqs_unknown)) {
		*irq = irq_get_next_irq(at);
		return *irq < compat_nr_irqs() ? irq : NULL;
	}
	while (xa_find(&bolt_irqs_managed, &index, UINT_MAX, XA_PRESENT)) {
		if (irq_to_desc(index)) {
			*irq = index;
			return irq;
		}
		/*
		 * The interrupt was freed; if its number is used again for a managed
		 * interrupt, bolt_irq_managed() notes it anew.
		 */
		xa_erase(&bolt_irqs_managed, index);
	}
	return NULL;
}

/* Whether user space may move the interrupt. */
static bool bolt_irq_movable(struct irq_data *data)
{
	return bolt_irq_has_setter(data) && irqd_can_balance(data) &&
	       !irqd_affinity_is_managed(data);
}

/*
 * Whether @mask has online CPUs, and all of these are isolated: an interrupt with
 * affinity @mask stays where it is although irq_keep is set.
 */
static bool bolt_irq_isolated(const struct cpumask *mask)
{
	bool any = false;
	unsigned int cpu;

	for_each_cpu_and(cpu, mask, cpu_online_mask) {
		if (!cpu_is_isolated(cpu))
			return false;
		any = true;
	}
	return any;
}

/*
 * Sets @home to the CPU on which the interrupt was before irq_keep was set. Returns false
 * if that CPU is not known, not in @mask or not online.
 */
static bool bolt_irq_home(unsigned int irq, const struct cpumask *mask,
			  struct cpumask *home)
{
	void *entry = xa_load(&bolt_irq_homes, irq);

	if (!entry)
		return false;
	cpumask_and(home, cpumask_of(xa_to_value(entry)), mask);
	return cpumask_intersects(home, cpu_online_mask);
}

/**
 * bolt_irq_keep - restrict the CPUs for an interrupt to those of irq_keep
 * @data:	the interrupt
 * @mask:	the affinity that is configured, or is about to be
 * @kept:	where to put the affinity that the chip is to be told
 *
 * If the interrupt moves back, as irq_keep no longer applies, @kept is its former CPU.
 * irq_keep does not apply to an interrupt that user space may not move, or has placed
 * since irq_keep was set, nor to one whose online CPUs are all isolated.
 *
 * Context: lock of the interrupt held.
 * Return: true if @kept has been filled in, false if the chip is to be told @mask.
 */
bool bolt_irq_keep(struct irq_data *data, const struct cpumask *mask,
		   struct cpumask *kept)
{
	struct irq_desc *desc = irq_data_to_desc(data);
	const struct cpumask *list;

	/* Pairs with the release in bolt_irq_apply(). */
	list = smp_load_acquire(&bolt_irq_applied);
	if (!list && desc->istate & IRQS_BOLT_HOME)
		return bolt_irq_home(data->irq, mask, kept);
	if (!list || !bolt_irq_movable(data) ||
	    desc->istate & IRQS_BOLT_USER || bolt_irq_isolated(mask))
		return false;
	cpumask_and(kept, list, mask);
	if (!cpumask_intersects(kept, cpu_online_mask))
		cpumask_copy(kept, list);
	return cpumask_intersects(kept, cpu_online_mask);
}

/**
 * bolt_irq_set_by_user - set the affinity of an interrupt for user space
 * @irq:	the interrupt
 * @mask:	the CPUs
 *
 * If irq_keep is set and this call succeeds, irq_keep does not apply to the interrupt
 * until irq_keep is emptied and set anew.
 *
 * Context: any.
 * Return: as irq_set_affinity().
 */
int bolt_irq_set_by_user(unsigned int irq, const struct cpumask *mask)
{
	struct irq_desc *desc = irq_to_desc(irq);
	unsigned int before;
	int err;

	if (!desc)
		return -EINVAL;
	guard(raw_spinlock_irqsave)(&desc->lock);
	desc->istate &= ~IRQS_BOLT_HOME;
	before = desc->istate & IRQS_BOLT_USER;
	if (!cpumask_empty(&bolt_irq_list))
		desc->istate |= IRQS_BOLT_USER;
	err = irq_set_affinity_locked(irq_desc_get_irq_data(desc), mask, false);
	if (err && !before)
		desc->istate &= ~IRQS_BOLT_USER;
	return err;
}

/*
 * Has the chip move the interrupt now, or when the interrupt next arrives if that is
 * the only way.
 */
static void bolt_irq_move(struct irq_desc *desc, const struct cpumask *mask)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);

	if (irq_can_move_pcntxt(data) && !irq_move_pending(data) &&
	    irq_do_set_affinity(data, mask, false) != -EBUSY)
		return;
	if (IS_ENABLED(CONFIG_GENERIC_PENDING_IRQ)) {
		irqd_set_move_pending(data);
		irq_copy_pending(desc, mask);
	}
}

/* The affinity that is configured for the interrupt, which may be on other CPUs. */
static const struct cpumask *bolt_irq_configured(struct irq_desc *desc)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);

	if (irq_move_pending(data))
		return irq_desc_get_pending_mask(desc);
	return irq_data_get_affinity_mask(data);
}

static bool bolt_irq_within(struct irq_data *data, const struct cpumask *mask)
{
	const struct cpumask *now = irq_data_get_effective_affinity_mask(data);

	return !cpumask_empty(now) && cpumask_subset(now, mask);
}

/* Moves the interrupt to CPUs of irq_keep. Returns what bolt_irq_place() is to return. */
static int bolt_irq_collect(struct irq_desc *desc)
{
	static struct cpumask kept;
	struct irq_data *data = irq_desc_get_irq_data(desc);
	const struct cpumask *now = irq_data_get_effective_affinity_mask(data);
	const struct cpumask *mask = bolt_irq_configured(desc);
	int from = cpumask_weight(now) == 1 ? (int)cpumask_first(now) : -1;

	if (!bolt_irq_keep(data, mask, &kept) || bolt_irq_within(data, &kept))
		return -1;
	bolt_irq_move(desc, mask);
	return from;
}

static void bolt_irq_release(struct irq_desc *desc)
{
	static struct cpumask home;
	struct irq_data *data = irq_desc_get_irq_data(desc);
	const struct cpumask *mask = bolt_irq_configured(desc);

	/*
	 * All CPUs of the affinity have gone: as natively in this case, the interrupt
	 * goes to any CPU.
	 */
	if (!cpumask_intersects(mask, cpu_online_mask))
		mask = cpu_online_mask;
	if (bolt_irq_home(data->irq, mask, &home)) {
		if (bolt_irq_within(data, &home))
			return;
		desc->istate |= IRQS_BOLT_HOME;
	} else if (bolt_irq_within(data, mask)) {
		return;
	}
	bolt_irq_move(desc, mask);
}

/*
 * Places one interrupt anew. Returns the CPU that the interrupt leaves for CPUs of
 * irq_keep; -1 if it does not leave for these, or was not on exactly one CPU.
 */
static int bolt_irq_place(struct irq_desc *desc)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);

	if (!bolt_irq_movable(data) || !irqd_is_started(data) ||
	    desc->istate & IRQS_BOLT_USER)
		return -1;
	if (bolt_irq_applied)
		return bolt_irq_collect(desc);
	bolt_irq_release(desc);
	return -1;
}

/* Moves all interrupts to CPUs of the list bolt_irq_applied; NULL: gives them all back. */
static void bolt_irq_place_all(void)
{
	struct irq_desc *desc;
	unsigned int irq;
	int from;

	irq_lock_sparse();
	for_each_active_irq(irq) {
		desc = irq_to_desc(irq);
		raw_spin_lock_irq(&desc->lock);
		from = bolt_irq_place(desc);
		raw_spin_unlock_irq(&desc->lock);
		/*
		 * If the interrupt has an entry already, that entry stays: the CPU that
		 * the interrupt leaves now was most likely in an earlier list of irq_keep.
		 */
		if (from >= 0 &&
		    xa_insert(&bolt_irq_homes, irq, xa_mk_value(from),
			      GFP_KERNEL) == -ENOMEM)
			pr_warn_once("no memory to note on which CPU each interrupt was before irq_keep\n");
	}
	irq_unlock_sparse();
}

/*
 * Makes bolt_irq_list apply, or no list. A function that still looks at the list that
 * applied before holds the lock of an interrupt. bolt_irq_place_all() takes the locks
 * of all interrupts, so afterwards no function looks at that list, and the next call
 * may overwrite the list: two lists are used in turn.
 */
static void bolt_irq_apply(bool on)
{
	static struct cpumask lists[2];
	struct cpumask *next = NULL;

	if (!on && !bolt_irq_applied)
		return;
	if (on) {
		if (!bolt_irq_applied)
			xa_destroy(&bolt_irq_homes);
		next = bolt_irq_applied == &lists[0] ? &lists[1] : &lists[0];
		cpumask_copy(next, &bolt_irq_list);
	}
	/* Pairs with the acquire in bolt_irq_keep(), which sees the list complete. */
	smp_store_release(&bolt_irq_applied, next);
	bolt_irq_place_all();
}

static void bolt_irq_again(struct work_struct *work)
{
	cpu_maps_update_begin();
	if (bolt_irq_applied)
		bolt_irq_place_all();
	cpu_maps_update_done();
}

static DECLARE_WORK(bolt_irq_work, bolt_irq_again);

/**
 * bolt_irq_online - note that a CPU is coming online
 * @cpu:	the CPU
 *
 * If the CPU is one of irq_keep, a worker places all interrupts anew.
 *
 * Context: hotplug lock held.
 */
void bolt_irq_online(unsigned int cpu)
{
	if (bolt_irq_kept(cpu))
		queue_work(system_dfl_wq, &bolt_irq_work);
}

/**
 * bolt_irq_enable - begin or stop tracking interrupts, as Bolt is enabled or disabled
 * @on:		whether Bolt is enabled now
 *
 * The list in irq_keep is remembered while Bolt is disabled.
 *
 * Context: may sleep; cpu_add_remove_lock held.
 */
void bolt_irq_enable(bool on)
{
	unsigned int cpu;

	WRITE_ONCE(bolt_irq_tracking, on);
	/*
	 * Interrupts that were placed while Bolt was disabled may be on none of the
	 * lists, so each list begins with @all set.
	 */
	smp_mb();
	for_each_possible_cpu(cpu) {
		struct bolt_irqs *list = per_cpu_ptr(&bolt_irqs, cpu);

		guard(raw_spinlock_irqsave)(&list->lock);
		list->all = true;
	}
	bolt_irq_apply(on && !cpumask_empty(&bolt_irq_list));
}

/* Forgets which interrupts user space has placed: the next list in irq_keep applies to these. */
static void bolt_irq_forget_users(void)
{
	struct irq_desc *desc;
	unsigned int irq;

	irq_lock_sparse();
	for_each_active_irq(irq) {
		desc = irq_to_desc(irq);
		guard(raw_spinlock_irq)(&desc->lock);
		desc->istate &= ~IRQS_BOLT_USER;
	}
	irq_unlock_sparse();
}

/**
 * bolt_irq_set_list - set irq_keep
 * @list:	the CPUs; if empty, interrupts that irq_keep moved go back, each to its
 *		former CPU, or if that is not known or not usable, to its configured CPUs
 *
 * Context: may sleep.
 * Return: 0, or -EINVAL if @list is not empty and none of its CPUs is online.
 */
int bolt_irq_set_list(const struct cpumask *list)
{
	int err = 0;

	cpu_maps_update_begin();
	if (!cpumask_empty(list) && !cpumask_intersects(list, cpu_online_mask)) {
		err = -EINVAL;
		goto out;
	}
	cpumask_copy(&bolt_irq_list, list);
	bolt_irq_apply(bolt_enabled() && !cpumask_empty(list));
	if (cpumask_empty(list))
		bolt_irq_forget_users();
out:
	cpu_maps_update_done();
	return err;
}

/**
 * bolt_irq_get_list - read irq_keep
 * @list:	where to put the CPUs
 *
 * Context: may sleep.
 */
void bolt_irq_get_list(struct cpumask *list)
{
	cpu_maps_update_begin();
	cpumask_copy(list, &bolt_irq_list);
	cpu_maps_update_done();
}

/**
 * bolt_irq_kept - whether interrupts are kept on a CPU
 * @cpu:	the CPU
 *
 * Context: cpu_add_remove_lock held, by the caller or by a task that waits for the caller.
 * Return: true if so; only a request with BOLT_NO_DEFER may then take the CPU down.
 */
bool bolt_irq_kept(unsigned int cpu)
{
	return bolt_irq_applied && cpumask_test_cpu(cpu, bolt_irq_applied);
}
