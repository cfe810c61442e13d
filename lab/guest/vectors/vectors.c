// SPDX-License-Identifier: GPL-2.0-only
/*
 * Vectors: interrupts of x86's local APICs. Not a device but this module sends these
 * interrupts, as IPIs to the interrupts' vectors. The module builds for all kernels, with
 * and without Bolt.
 *
 *	count	how many interrupts there are
 *
 * Below /sys/module/vectors/parameters:
 *	level	if set, from the next "renew" on interrupts are handled as level-triggered:
 *		until the EOI an interrupt is active, is not sent again, and free_irq()
 *		waits
 *	gather	w: a CPU, to which all interrupts are moved
 *	gathered r: how many interrupts are on the CPU of the last "gather"
 *	raise	w: each interrupt is sent once
 *	flying	a mask of CPUs: when one of these CPUs goes, each interrupt of the CPU is
 *		sent to the CPU in the stop, right before the interrupt is moved, and so is
 *		in flight
 *	late	if set, every other interrupt of "flying" is sent to its old vector
 *		later, in the third of a millisecond that follows the stop, while CPUs that
 *		go in Bolt's requests wait for such interrupts; natively such interrupts
 *		are lost
 *	flown	r: how many interrupts were in flight since the last "renew"
 *	renew	w: all interrupts are freed, and as many are allocated and requested
 *	wrong	r: how many interrupts were not handled as often as they were sent, or were
 *		handled by a CPU that was offline
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <asm/apic.h>
#include <asm/hw_irq.h>
#include <asm/irqdomain.h>

/*
 * After a change of its affinity, an interrupt moves only when it next arrives, and moves again
 * only when its old vector has been cleaned up, for which the CPU of that vector has a timer of
 * one jiffy. So one round of sending all interrupts may not be enough to move them.
 */
#define ROUNDS 4

/* The time between interrupts that are sent late, in us: 32 interrupts take 320 us. */
#define LATE_US 10

static unsigned int count = 64;
module_param(count, uint, 0400);

static bool level;
module_param(level, bool, 0600);

static unsigned int flown;
module_param(flown, uint, 0400);

static unsigned long flying;
module_param(flying, ulong, 0600);

static bool late;
module_param(late, bool, 0600);

/* @old_vector: the vector on @old_cpu to which the interrupt is still to be sent, or 0. */
struct vector {
	unsigned int irq, old_cpu, old_vector;
	atomic_t sent, handled, astray, active;
};

static DEFINE_MUTEX(vectors_lock);
static struct irq_domain *vectors_domain;
static struct vector *vectors;
static int first_irq = -1;
static unsigned int gathered_on;
static bool level_now;

/* Returns whether the interrupt may be sent, and if so, counts the interrupt as sent. */
static bool vectors_may_send(struct vector *v)
{
	if (level_now && atomic_xchg(&v->active, 1))
		return false;
	atomic_inc(&v->sent);
	return true;
}

static void vectors_send(struct irq_data *data)
{
	if (vectors_may_send(irq_data_get_irq_chip_data(data)))
		irq_chip_retrigger_hierarchy(data);
}

static void vectors_send_late(void *unused)
{
	for (unsigned int i = 0; i < count; i++) {
		struct vector *v = &vectors[i];

		if (!v->old_vector)
			continue;
		udelay(LATE_US);
		if (vectors_may_send(v))
			apic->send_IPI(v->old_cpu, v->old_vector);
		v->old_vector = 0;
		flown++;
	}
}

static call_single_data_t late_call = CSD_INIT(vectors_send_late, NULL);

/* Sends an interrupt to this CPU, which goes; or has the interrupt sent late. */
static void vectors_fly(struct irq_data *data)
{
	struct vector *v = irq_data_get_irq_chip_data(data);

	if (late && (v - vectors) % 2) {
		v->old_cpu = smp_processor_id();
		v->old_vector = irqd_cfg(data)->vector;
		/*
		 * One call sends all late interrupts: further calls return -EBUSY until
		 * the machine runs again.
		 */
		smp_call_function_single_async(cpumask_first(cpu_online_mask), &late_call);
		return;
	}
	vectors_send(data);
	flown++;
}

static int vectors_set_affinity(struct irq_data *data, const struct cpumask *mask,
				bool force)
{
	unsigned int cpu = raw_smp_processor_id();

	if (!cpu_online(cpu) && test_bit(cpu, &flying) &&
	    cpumask_test_cpu(cpu, irq_data_get_effective_affinity_mask(data)))
		vectors_fly(data);
	return irq_chip_set_affinity_parent(data, mask, force);
}

static void vectors_eoi(struct irq_data *data)
{
	struct vector *v = irq_data_get_irq_chip_data(data);

	irq_chip_ack_parent(data);
	atomic_set(&v->active, 0);
}

static int vectors_get_state(struct irq_data *data, enum irqchip_irq_state which,
			     bool *state)
{
	struct vector *v = irq_data_get_irq_chip_data(data);

	if (which != IRQCHIP_STATE_ACTIVE)
		return -EINVAL;
	*state = atomic_read(&v->active);
	return 0;
}

static void vectors_nothing(struct irq_data *data)
{
}

static struct irq_chip vectors_chip = {
	.name			= "vectors",
	.irq_mask		= vectors_nothing,
	.irq_unmask		= vectors_nothing,
	.irq_ack		= irq_chip_ack_parent,
	.irq_eoi		= vectors_eoi,
	.irq_set_affinity	= vectors_set_affinity,
	.irq_retrigger		= irq_chip_retrigger_hierarchy,
	.irq_get_irqchip_state	= vectors_get_state,
};

static int vectors_alloc(struct irq_domain *domain, unsigned int irq,
			 unsigned int nr, void *info)
{
	int err = irq_domain_alloc_irqs_parent(domain, irq, nr, info);

	for (unsigned int i = 0; i < nr && !err; i++)
		irq_domain_set_info(domain, irq + i, i, &vectors_chip, &vectors[i],
				    level_now ? handle_fasteoi_irq : handle_edge_irq,
				    NULL, level_now ? "level" : "edge");
	return err;
}

static const struct irq_domain_ops vectors_ops = {
	.alloc	= vectors_alloc,
	.free	= irq_domain_free_irqs_common,
};

static irqreturn_t vectors_handle(int irq, void *data)
{
	struct vector *v = data;

	atomic_inc(&v->handled);
	if (cpu_is_offline(smp_processor_id()))
		atomic_inc(&v->astray);
	return IRQ_HANDLED;
}

static void vectors_put(void)
{
	/* Waits for calls of vectors_send_late() that are under way. */
	kick_all_cpus_sync();
	for (unsigned int i = 0; i < count && first_irq > 0; i++) {
		if (vectors[i].irq)
			free_irq(vectors[i].irq, &vectors[i]);
		irq_dispose_mapping(first_irq + i);
	}
	first_irq = -1;
	memset(vectors, 0, count * sizeof(*vectors));
}

static int vectors_get(void)
{
	struct irq_alloc_info info = { };
	int err = 0;

	level_now = level;
	flown = 0;
	first_irq = irq_domain_alloc_irqs(vectors_domain, count, NUMA_NO_NODE, &info);
	if (first_irq < 0)
		return first_irq;
	for (unsigned int i = 0; i < count && !err; i++) {
		err = request_irq(first_irq + i, vectors_handle, 0, "vectors",
				  &vectors[i]);
		if (!err)
			vectors[i].irq = first_irq + i;
	}
	if (err)
		vectors_put();
	return err;
}

/* Begins a call that needs the interrupts; fails if no interrupts are allocated. */
static int vectors_begin(void)
{
	mutex_lock(&vectors_lock);
	if (first_irq > 0)
		return 0;
	mutex_unlock(&vectors_lock);
	return -ENODEV;
}

static void vectors_raise_all(void)
{
	for (unsigned int i = 0; i < count; i++)
		vectors_send(irq_get_irq_data(vectors[i].irq));
}

static int gather_set(const char *text, const struct kernel_param *kp)
{
	unsigned int cpu;
	int err = kstrtouint(text, 0, &cpu);

	if (err)
		return err;
	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		return -EINVAL;
	err = vectors_begin();
	if (err)
		return err;
	gathered_on = cpu;
	for (int round = 0; round < ROUNDS && !err; round++) {
		for (unsigned int i = 0; i < count; i++)
			err = irq_set_affinity(vectors[i].irq, cpumask_of(cpu)) ?: err;
		vectors_raise_all();
		msleep(2 * jiffies_to_msecs(1));
	}
	mutex_unlock(&vectors_lock);
	return err;
}

static const struct kernel_param_ops gather_ops = { .set = gather_set };
module_param_cb(gather, &gather_ops, NULL, 0200);

static int gathered_get(char *buf, const struct kernel_param *kp)
{
	unsigned int there = 0;
	int err = vectors_begin();

	if (err)
		return err;
	for (unsigned int i = 0; i < count; i++) {
		struct irq_data *data = irq_get_irq_data(vectors[i].irq);

		there += cpumask_test_cpu(gathered_on,
					  irq_data_get_effective_affinity_mask(data));
	}
	mutex_unlock(&vectors_lock);
	return sysfs_emit(buf, "%u\n", there);
}

static const struct kernel_param_ops gathered_ops = { .get = gathered_get };
module_param_cb(gathered, &gathered_ops, NULL, 0400);

static int raise_set(const char *text, const struct kernel_param *kp)
{
	int err = vectors_begin();

	if (err)
		return err;
	vectors_raise_all();
	mutex_unlock(&vectors_lock);
	return 0;
}

static const struct kernel_param_ops raise_ops = { .set = raise_set };
module_param_cb(raise, &raise_ops, NULL, 0200);

static int renew_set(const char *text, const struct kernel_param *kp)
{
	int err = vectors_begin();

	if (err)
		return err;
	vectors_put();
	err = vectors_get();
	mutex_unlock(&vectors_lock);
	return err;
}

static const struct kernel_param_ops renew_ops = { .set = renew_set };
module_param_cb(renew, &renew_ops, NULL, 0200);

static int wrong_get(char *buf, const struct kernel_param *kp)
{
	unsigned int wrong = 0;
	int err = vectors_begin();

	if (err)
		return err;
	for (unsigned int i = 0; i < count; i++)
		wrong += atomic_read(&vectors[i].sent) != atomic_read(&vectors[i].handled) ||
			 atomic_read(&vectors[i].astray);
	mutex_unlock(&vectors_lock);
	return sysfs_emit(buf, "%u\n", wrong);
}

static const struct kernel_param_ops wrong_ops = { .get = wrong_get };
module_param_cb(wrong, &wrong_ops, NULL, 0400);

static void vectors_exit(void)
{
	if (vectors)
		vectors_put();
	if (!IS_ERR_OR_NULL(vectors_domain))
		irq_domain_remove(vectors_domain);
	kfree(vectors);
}

static int __init vectors_init(void)
{
	int err = -ENOMEM;

	vectors = kcalloc(count, sizeof(*vectors), GFP_KERNEL);
	vectors_domain = irq_domain_create_hierarchy(x86_vector_domain, 0, count, NULL,
						     &vectors_ops, NULL);
	if (vectors && vectors_domain)
		err = vectors_get();
	if (err)
		vectors_exit();
	return err;
}

module_init(vectors_init);
module_exit(vectors_exit);
MODULE_DESCRIPTION("Interrupts that are sent to vectors of local APICs");
MODULE_LICENSE("GPL");
