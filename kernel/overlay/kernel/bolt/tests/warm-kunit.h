/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: the transitions of the word by which warm.c orders a CPU to return or to die,
 * without touching a CPU; and one test in which a CPU is parked warm and returns.
 */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_WARM_KUNIT_H
#define _BOLT_TESTS_WARM_KUNIT_H

#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>

#include <asm/tlbflush.h>

#include "fixture.h"

/*
 * For each transition that has a function in warm.h, and each value of the word: what the
 * function returns, and the value afterwards.
 */
static const struct warm_step {
	const char *name;
	bool (*step)(atomic_t *word);
	struct {
		bool yes;
		enum bolt_warm then;
	} from[BOLT_LEAVE + 1];
} warm_steps[] = {
	{ "park", bolt_word_park, {
		[BOLT_COLD] = { true, BOLT_WARM },
		[BOLT_WARM] = { false, BOLT_WARM },
		[BOLT_WAKE] = { false, BOLT_WAKE },
		[BOLT_LEAVE] = { false, BOLT_LEAVE },
	} },
	{ "take", bolt_word_take, {
		[BOLT_COLD] = { false, BOLT_COLD },
		[BOLT_WARM] = { false, BOLT_WARM },
		[BOLT_WAKE] = { true, BOLT_COLD },
		[BOLT_LEAVE] = { false, BOLT_COLD },
	} },
	{ "wake", bolt_word_wake, {
		[BOLT_COLD] = { false, BOLT_COLD },
		[BOLT_WARM] = { true, BOLT_WAKE },
		[BOLT_WAKE] = { false, BOLT_WAKE },
		[BOLT_LEAVE] = { false, BOLT_LEAVE },
	} },
	{ "withdraw", bolt_word_withdraw, {
		[BOLT_COLD] = { false, BOLT_COLD },
		[BOLT_WARM] = { false, BOLT_WARM },
		[BOLT_WAKE] = { true, BOLT_COLD },
		[BOLT_LEAVE] = { false, BOLT_LEAVE },
	} },
	{ "leave", bolt_word_leave, {
		[BOLT_COLD] = { false, BOLT_COLD },
		[BOLT_WARM] = { true, BOLT_LEAVE },
		[BOLT_WAKE] = { false, BOLT_WAKE },
		[BOLT_LEAVE] = { false, BOLT_LEAVE },
	} },
	{ "give up", bolt_word_give_up, {
		[BOLT_COLD] = { false, BOLT_COLD },
		[BOLT_WARM] = { false, BOLT_WARM },
		[BOLT_WAKE] = { false, BOLT_WAKE },
		[BOLT_LEAVE] = { true, BOLT_COLD },
	} },
};

static void warm_step_from_each(struct kunit *test)
{
	const struct warm_step *s = test->param_value;
	enum bolt_warm from;

	for (from = BOLT_COLD; from <= BOLT_LEAVE; from++) {
		atomic_t word = ATOMIC_INIT(from);

		KUNIT_EXPECT_EQ_MSG(test, s->step(&word), s->from[from].yes,
				    "%s from %d", s->name, from);
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&word), (int)s->from[from].then,
				    "%s from %d", s->name, from);
	}
}

static void warm_step_name(const struct warm_step *s, char *desc)
{
	strscpy(desc, s->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(warm_step, warm_steps, warm_step_name);

/*
 * A CPU takes its order while a task withdraws the order, or gives up waiting for the
 * CPU. Whichever of the two is first changes the word that holds the order, and the
 * other one then changes nothing.
 */
static void warm_order_is_obeyed_once(struct kunit *test)
{
	static const struct {
		enum bolt_warm order;
		bool (*withdraw)(atomic_t *word);
	} orders[] = {
		{ BOLT_WAKE, bolt_word_withdraw },
		{ BOLT_LEAVE, bolt_word_give_up },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		atomic_t word = ATOMIC_INIT(orders[i].order);

		KUNIT_EXPECT_TRUE(test, orders[i].withdraw(&word));
		KUNIT_EXPECT_FALSE(test, bolt_word_take(&word));
		KUNIT_EXPECT_FALSE(test, bolt_word_wake(&word));

		atomic_set(&word, orders[i].order);
		KUNIT_EXPECT_EQ(test, bolt_word_take(&word), orders[i].order == BOLT_WAKE);
		KUNIT_EXPECT_FALSE(test, orders[i].withdraw(&word));
		KUNIT_EXPECT_FALSE(test, bolt_word_take(&word));
	}
}

/* A CPU that has the order to die cannot get the order to return, and vice versa. */
static void warm_one_order_at_a_time(struct kunit *test)
{
	atomic_t word = ATOMIC_INIT(BOLT_WARM);

	KUNIT_EXPECT_TRUE(test, bolt_word_leave(&word));
	KUNIT_EXPECT_FALSE(test, bolt_word_wake(&word));
	KUNIT_EXPECT_FALSE(test, bolt_word_take(&word));
	KUNIT_EXPECT_FALSE(test, bolt_word_wake(&word));

	atomic_set(&word, BOLT_WARM);
	KUNIT_EXPECT_TRUE(test, bolt_word_wake(&word));
	KUNIT_EXPECT_FALSE(test, bolt_word_leave(&word));
	KUNIT_EXPECT_TRUE(test, bolt_word_take(&word));
	KUNIT_EXPECT_FALSE(test, bolt_word_leave(&word));
}

#define OLD 0x01d01d01
#define NEW 0x4e3e3e3e

/* A kernel address that is mapped to one page first and then to another. */
struct mapping {
	struct vm_struct *area;
	struct page *pages[2];
	unsigned int found;
};

static void read_mapping(void *arg)
{
	struct mapping *m = arg;

	m->found = READ_ONCE(*(unsigned int *)m->area->addr);
}

static int set_mapping(pte_t *pte, unsigned long addr, void *arg)
{
	struct page *page = arg;

	set_pte_at(&init_mm, addr, pte, mk_pte(page, PAGE_KERNEL));
	return 0;
}

static int unset_mapping(pte_t *pte, unsigned long addr, void *unused)
{
	pte_clear(&init_mm, addr, pte);
	return 0;
}

/*
 * Unmaps the address, and flushes the TLBs of CPUs that are online; on x86 without
 * INVLPGB this does not flush the TLB of a CPU that waits in the kernel.
 */
static void unmap(struct mapping *m)
{
	unsigned long addr = (unsigned long)m->area->addr;

	apply_to_existing_page_range(&init_mm, addr, PAGE_SIZE, unset_mapping, NULL);
	flush_tlb_kernel_range(addr, addr + PAGE_SIZE);
}

/*
 * On arm64 a valid page table entry must be cleared before it is set to another page.
 */
static int map(struct mapping *m, unsigned int which)
{
	unmap(m);
	return apply_to_page_range(&init_mm, (unsigned long)m->area->addr, PAGE_SIZE,
				   set_mapping, m->pages[which]);
}

static void mapping_free(struct mapping *m)
{
	unsigned int i;

	if (m->area) {
		unmap(m);
		free_vm_area(m->area);
	}
	for (i = 0; i < ARRAY_SIZE(m->pages); i++) {
		if (m->pages[i])
			__free_page(m->pages[i]);
	}
}

static int mapping_make(struct mapping *m)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(m->pages); i++) {
		m->pages[i] = alloc_page(GFP_KERNEL);
		if (!m->pages[i])
			return -ENOMEM;
		*(unsigned int *)page_address(m->pages[i]) = i ? NEW : OLD;
	}
	m->area = get_vm_area(PAGE_SIZE, VM_IOREMAP);
	return m->area ? map(m, 0) : -ENOMEM;
}

/*
 * While a CPU waits in the kernel, an address is mapped to another page. The CPU reads
 * that page when it has returned.
 */
static void warm_return_sees_new_mappings(struct kunit *test)
{
	struct bolt_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	bool wanted = READ_ONCE(bolt_park_warm);
	struct mapping m = {};
	u64 returned;

	KUNIT_ASSERT_NOT_NULL(test, f);
	KUNIT_ASSERT_EQ(test, bolt_fixture_begin(test, f), 0);
	if (bolt_warm_want(true)) {
		bolt_fixture_end(f);
		kunit_skip(test, "no CPU can be parked warm");
	}
	KUNIT_EXPECT_EQ(test, mapping_make(&m), 0);
	if (!m.area)
		goto out;
	smp_call_function_single(f->victim, read_mapping, &m, 1);
	KUNIT_EXPECT_EQ(test, m.found, OLD);

	returned = bolt_stats[BOLT_STAT_WARM];
	KUNIT_EXPECT_EQ(test, remove_cpu(f->victim), 0);
	KUNIT_EXPECT_EQ(test, map(&m, 1), 0);
	KUNIT_EXPECT_EQ(test, add_cpu(f->victim), 0);
	KUNIT_EXPECT_EQ(test, bolt_stats[BOLT_STAT_WARM], returned + 1);
	smp_call_function_single(f->victim, read_mapping, &m, 1);
	KUNIT_EXPECT_EQ(test, m.found, NEW);
out:
	mapping_free(&m);
	bolt_fixture_end(f);
	bolt_warm_want(wanted);
}

static struct kunit_case warm_cases[] = {
	KUNIT_CASE_PARAM(warm_step_from_each, warm_step_gen_params),
	KUNIT_CASE(warm_order_is_obeyed_once),
	KUNIT_CASE(warm_one_order_at_a_time),
	KUNIT_CASE(warm_return_sees_new_mappings),
	{}
};

static struct kunit_suite warm_suite = {
	.name = "bolt_warm",
	.test_cases = warm_cases,
};

kunit_test_suite(warm_suite);

#endif /* _BOLT_TESTS_WARM_KUNIT_H */
#endif /* CONFIG_BOLT_KUNIT_TEST */
