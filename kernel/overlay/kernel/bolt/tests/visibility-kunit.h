/* SPDX-License-Identifier: GPL-2.0-only */
/* KUnit: what is hidden in a tree of kernfs nodes; no CPU is touched. */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_VISIBILITY_KUNIT_H
#define _BOLT_TESTS_VISIBILITY_KUNIT_H

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/workqueue.h>

#include "../../../fs/kernfs/kernfs-internal.h"
#include "../compat.h"

/*
 * A directory that is hidden, with a file in a directory below, and a file beside the
 * hidden directory.
 */
struct tree_test {
	struct kernfs_root *root;
	struct kernfs_node *top;
	struct kernfs_node *sub;
	struct kernfs_node *file;
	struct kernfs_node *beside;
	struct work_struct work;
	struct completion hidden;
};

static const struct kernfs_ops tree_ops = {};

static struct kernfs_node *tree_file(struct kernfs_node *parent, const char *name)
{
	return __kernfs_create_file(parent, name, 0444, GLOBAL_ROOT_UID,
				    GLOBAL_ROOT_GID, 0, &tree_ops, NULL, NULL, NULL);
}

static void tree_show(struct tree_test *tt, bool show)
{
	bolt_kernfs_show(tt->top, show);
}

static bool usable(struct kernfs_node *kn)
{
	if (!kernfs_get_active(kn))
		return false;
	kernfs_put_active(kn);
	return true;
}

static void what_is_below_is_hidden(struct kunit *test)
{
	struct tree_test *tt = test->priv;
	int i;

	/*
	 * The first time the nodes are deactivated one by one. Later only the top of
	 * the tree is deactivated, which hides all nodes below the top.
	 */
	for (i = 0; i < 3; i++) {
		tree_show(tt, false);
		KUNIT_EXPECT_FALSE(test, usable(tt->file));
		KUNIT_EXPECT_FALSE(test, usable(tt->sub));
		KUNIT_EXPECT_FALSE(test, usable(tt->top));
		KUNIT_EXPECT_TRUE(test, usable(tt->beside));
		tree_show(tt, true);
		KUNIT_EXPECT_TRUE(test, usable(tt->file));
		KUNIT_EXPECT_TRUE(test, usable(tt->sub));
		KUNIT_EXPECT_TRUE(test, usable(tt->top));
		KUNIT_EXPECT_EQ(test, !!(tt->file->flags & KERNFS_GATED), true);
		KUNIT_EXPECT_EQ(test, tt->beside->flags & KERNFS_GATED, 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&tt->top->active), 0);
	}
}

static void tree_hide_work(struct work_struct *work)
{
	struct tree_test *tt = container_of(work, struct tree_test, work);

	tree_show(tt, false);
	complete(&tt->hidden);
}

/*
 * When a file has been hidden, no task is reading it any more, as when a file is
 * removed natively.
 */
static void hiding_waits_for_readers(struct kunit *test)
{
	struct tree_test *tt = test->priv;
	int i;

	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_NOT_NULL(test, kernfs_get_active(tt->file));
		reinit_completion(&tt->hidden);
		schedule_work(&tt->work);
		KUNIT_EXPECT_EQ(test, wait_for_completion_timeout(&tt->hidden, HZ / 20), 0);
		/* While hiding waits, a second reader is refused already. */
		KUNIT_EXPECT_FALSE(test, usable(tt->file));
		kernfs_put_active(tt->file);
		KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&tt->hidden, 10 * HZ), 0);
		flush_work(&tt->work);
		tree_show(tt, true);
	}
}

/* Hiding does not wait for a reader that has called kernfs_break_active_protection(). */
static void protection_is_broken_and_restored(struct kunit *test)
{
	struct tree_test *tt = test->priv;

	tree_show(tt, false);
	tree_show(tt, true);
	KUNIT_ASSERT_NOT_NULL(test, kernfs_get_active(tt->file));
	kernfs_break_active_protection(tt->file);
	tree_show(tt, false);
	kernfs_unbreak_active_protection(tt->file);
	kernfs_put_active(tt->file);
	tree_show(tt, true);
	KUNIT_EXPECT_TRUE(test, usable(tt->file));
	KUNIT_EXPECT_EQ(test, atomic_read(&tt->top->active), 0);
}

static void what_comes_below_is_hidden_too(struct kunit *test)
{
	struct tree_test *tt = test->priv;
	struct kernfs_node *dir, *file;

	tree_show(tt, false);
	dir = kernfs_create_dir(tt->sub, "later", 0755, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(dir));
	file = tree_file(dir, "file");
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_EXPECT_FALSE(test, usable(file));
	tree_show(tt, true);
	KUNIT_EXPECT_TRUE(test, usable(file));
	tree_show(tt, false);
	KUNIT_EXPECT_FALSE(test, usable(file));
	/* A node that is removed while it is hidden does not show up again. */
	kernfs_get(file);
	kernfs_remove(dir);
	KUNIT_EXPECT_FALSE(test, usable(file));
	tree_show(tt, true);
	KUNIT_EXPECT_FALSE(test, usable(file));
	kernfs_put(file);
	KUNIT_EXPECT_TRUE(test, usable(tt->file));
}

static void nodes_move_inside_a_gate_only(struct kunit *test)
{
	struct tree_test *tt = test->priv;

	tree_show(tt, false);
	KUNIT_EXPECT_EQ(test, kernfs_rename(tt->file, tt->top, "file"), -ENOENT);
	tree_show(tt, true);
	KUNIT_EXPECT_EQ(test, kernfs_rename(tt->beside, tt->sub, "beside"), -EBUSY);
	KUNIT_EXPECT_EQ(test, kernfs_rename(tt->file, compat_kernfs_parent(tt->beside), "file"),
			-EBUSY);
	KUNIT_EXPECT_EQ(test, kernfs_rename(tt->file, tt->top, "other"), 0);
	tree_show(tt, false);
	KUNIT_EXPECT_FALSE(test, usable(tt->file));
	tree_show(tt, true);
	KUNIT_EXPECT_TRUE(test, usable(tt->file));
	/* While tt->top is shown, tt->top itself may be renamed, with all nodes below. */
	KUNIT_EXPECT_EQ(test, kernfs_rename(tt->top, compat_kernfs_parent(tt->top), "new"), 0);
	tree_show(tt, false);
	KUNIT_EXPECT_FALSE(test, usable(tt->file));
	tree_show(tt, true);
}

/* A hidden directory can be removed for good. */
static void hidden_nodes_are_removed(struct kunit *test)
{
	struct tree_test *tt = test->priv;

	tree_show(tt, false);
	tree_show(tt, true);
	tree_show(tt, false);
	kernfs_get(tt->top);
	kernfs_remove(tt->top);
	tree_show(tt, true);
	KUNIT_EXPECT_FALSE(test, usable(tt->top));
	kernfs_put(tt->top);
}

static int tree_init(struct kunit *test)
{
	struct tree_test *tt = kunit_kzalloc(test, sizeof(*tt), GFP_KERNEL);
	struct kernfs_node *base;

	KUNIT_ASSERT_NOT_NULL(test, tt);
	tt->root = kernfs_create_root(NULL, 0, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(tt->root));
	test->priv = tt;
	base = kernfs_root_to_node(tt->root);
	tt->top = kernfs_create_dir(base, "top", 0755, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(tt->top));
	tt->sub = kernfs_create_dir(tt->top, "sub", 0755, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(tt->sub));
	tt->file = tree_file(tt->sub, "file");
	KUNIT_ASSERT_FALSE(test, IS_ERR(tt->file));
	tt->beside = tree_file(base, "beside");
	KUNIT_ASSERT_FALSE(test, IS_ERR(tt->beside));
	INIT_WORK(&tt->work, tree_hide_work);
	init_completion(&tt->hidden);
	return 0;
}

static void tree_exit(struct kunit *test)
{
	struct tree_test *tt = test->priv;

	if (tt)
		kernfs_destroy_root(tt->root);
}

static struct kunit_case bolt_visibility_cases[] = {
	KUNIT_CASE(what_is_below_is_hidden),
	KUNIT_CASE(hiding_waits_for_readers),
	KUNIT_CASE(protection_is_broken_and_restored),
	KUNIT_CASE(what_comes_below_is_hidden_too),
	KUNIT_CASE(nodes_move_inside_a_gate_only),
	KUNIT_CASE(hidden_nodes_are_removed),
	{}
};

static struct kunit_suite bolt_visibility_suite = {
	.name = "bolt_visibility",
	.init = tree_init,
	.exit = tree_exit,
	.test_cases = bolt_visibility_cases,
};

kunit_test_suite(bolt_visibility_suite);

#endif /* _BOLT_TESTS_VISIBILITY_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */
