// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: block requests that the highest CPU has when it goes: in its queue, at the
 * device, or complete but for a softirq. The test makes a block device of its own.
 */
#include <linux/bio.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

/* Declares the software queues of CPUs, in which the test looks for requests. */
#include "../../../block/blk-mq.h"
#include "handover.h"

struct block_test {
	struct bolt_handover handover;
	struct blk_mq_tag_set set;
	struct request_queue *queue;
	struct gendisk *disk;
};

static struct gendisk *disk;

/* Whether the device keeps requests and does not complete these; the request kept last. */
static bool keeps;
static struct request *kept;

static blk_status_t queue_rq(struct blk_mq_hw_ctx *hctx,
			     const struct blk_mq_queue_data *data)
{
	blk_mq_start_request(data->rq);
	if (keeps)
		kept = data->rq;
	else
		blk_mq_complete_request(data->rq);
	return BLK_STS_OK;
}

static void complete_rq(struct request *rq)
{
	blk_mq_end_request(rq, BLK_STS_OK);
}

static const struct blk_mq_ops ops = {
	.queue_rq = queue_rq,
	.complete = complete_rq,
};

static int block_init(struct kunit *test)
{
	struct block_test *bt = kunit_kzalloc(test, sizeof(*bt), GFP_KERNEL);

	keeps = false;
	return bt ? bolt_handover_begin(test, &bt->handover) : -ENOMEM;
}

/*
 * The queue is destroyed before the tag set is freed, and not by the release of the disk,
 * which may come long after the last reference to the disk was put.
 */
static void block_exit(struct kunit *test)
{
	struct block_test *bt = test->priv;

	if (!bt)
		return;
	bolt_handover_end(&bt->handover);
	if (bt->queue) {
		blk_mq_destroy_queue(bt->queue);
		if (bt->disk)
			put_disk(bt->disk);
		blk_put_queue(bt->queue);
	}
	if (bt->set.tags)
		blk_mq_free_tag_set(&bt->set);
}

static void make_disk(struct kunit *test, unsigned int queues)
{
	static struct lock_class_key key;
	struct block_test *bt = test->priv;
	struct request_queue *queue;

	bt->set.ops = &ops;
	bt->set.nr_hw_queues = queues;
	bt->set.queue_depth = 4;
	bt->set.numa_node = NUMA_NO_NODE;
	KUNIT_ASSERT_EQ(test, blk_mq_alloc_tag_set(&bt->set), 0);
	queue = blk_mq_alloc_queue(&bt->set, NULL, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, queue);
	bt->queue = queue;
	disk = blk_mq_alloc_disk_for_queue(queue, &key);
	KUNIT_ASSERT_NOT_NULL(test, disk);
	bt->disk = disk;
	set_capacity(disk, 64);
}

static void bio_done(struct bio *bio)
{
	bio_put(bio);
	complete(&arrived);
}

static int submit(void *unused)
{
	struct bio *bio = bio_alloc(disk->part0, 1, REQ_OP_READ, GFP_KERNEL);

	__bio_add_page(bio, ZERO_PAGE(0), SECTOR_SIZE, 0);
	bio->bi_end_io = bio_done;
	submit_bio(bio);
	return 0;
}

static void submit_on_victim(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, smp_call_on_cpu(victim, submit, NULL, false));
}

static bool victim_has_requests(void)
{
	struct blk_mq_ctx *ctx = per_cpu_ptr(disk->queue->queue_ctx, victim);

	return !list_empty(&ctx->rq_lists[HCTX_TYPE_DEFAULT]);
}

static void leaves_its_queue(struct kunit *test, bool fast)
{
	KUNIT_ASSERT_EQ(test, bolt_enable(fast), 0);
	reinit_completion(&arrived);
	blk_mq_quiesce_queue(disk->queue);
	submit_on_victim(test);
	KUNIT_EXPECT_TRUE(test, victim_has_requests());
	KUNIT_EXPECT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_FALSE(test, victim_has_requests());
	blk_mq_unquiesce_queue(disk->queue);
	KUNIT_EXPECT_NE(test, 0, wait_for_completion_timeout(&arrived, HANDOVER_PATIENCE));
	KUNIT_EXPECT_EQ(test, add_cpu(victim), 0);
}

/* While the queue is quiesced, requests wait in the software queues of CPUs. */
static void in_its_queue(struct kunit *test)
{
	make_disk(test, 1);
	leaves_its_queue(test, false);
	leaves_its_queue(test, true);
}

static void complete_kept(struct work_struct *work)
{
	blk_mq_complete_request(kept);
}

static DECLARE_DELAYED_WORK(later, complete_kept);

static void waits_for_its_requests(struct kunit *test, bool fast)
{
	KUNIT_ASSERT_EQ(test, bolt_enable(fast), 0);
	reinit_completion(&arrived);
	submit_on_victim(test);
	queue_delayed_work_on(cpumask_first(cpu_online_mask), system_percpu_wq, &later,
			      HZ / 4);
	KUNIT_EXPECT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_TRUE(test, completion_done(&arrived));
	flush_delayed_work(&later);
	KUNIT_EXPECT_NE(test, 0, wait_for_completion_timeout(&arrived, HANDOVER_PATIENCE));
	KUNIT_EXPECT_EQ(test, add_cpu(victim), 0);
}

/*
 * The CPU is the only one of its hardware queue, so the teardown of
 * CPUHP_AP_BLK_MQ_ONLINE waits until the device has completed the queue's requests.
 */
static void with_the_device(struct kunit *test)
{
	make_disk(test, nr_cpu_ids);
	keeps = true;
	waits_for_its_requests(test, false);
	waits_for_its_requests(test, true);
}

static void leave_completion(void)
{
	blk_mq_complete_request(kept);
}

/* The request is complete but for the softirq on the CPU that has sent it. */
static void complete_already(struct kunit *test)
{
	make_disk(test, 1);
	keeps = true;
	handed_over(test, submit_on_victim, leave_completion);
}

static struct kunit_case bolt_handover_block_cases[] = {
	KUNIT_CASE(in_its_queue),
	KUNIT_CASE(with_the_device),
	KUNIT_CASE(complete_already),
	{}
};

static struct kunit_suite bolt_handover_block_suite = {
	.name = "bolt_handover_block",
	.init = block_init,
	.exit = block_exit,
	.test_cases = bolt_handover_block_cases,
};

kunit_test_suite(bolt_handover_block_suite);
