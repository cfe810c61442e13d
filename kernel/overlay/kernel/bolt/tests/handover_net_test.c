// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: packets that have come to the highest CPU, or were sent by it, and cards
 * that it was to poll, when it dies. No steering of packets is needed for this.
 */
#include <linux/bottom_half.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/net_namespace.h>

#include "handover.h"

static void in_destructor(struct sk_buff *skb)
{
	complete(&arrived);
}

static void leave_sent_packet(void)
{
	struct sk_buff *skb = alloc_skb(64, GFP_ATOMIC);

	if (!skb)
		return;
	skb->destructor = in_destructor;
	dev_kfree_skb_irq(skb);
}

static void a_packet_that_was_sent(struct kunit *test)
{
	handed_over(test, NULL, leave_sent_packet);
}

static int receive(struct sk_buff *skb, struct net_device *dev,
		   struct packet_type *type, struct net_device *orig)
{
	kfree_skb(skb);
	complete(&arrived);
	return NET_RX_SUCCESS;
}

static struct packet_type local = {
	.type = cpu_to_be16(ETH_P_802_EX1),
	.func = receive,
};

static void leave_packet(void)
{
	struct sk_buff *skb = alloc_skb(64, GFP_ATOMIC);

	if (!skb)
		return;
	skb_put_zero(skb, 64);
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	skb->dev = init_net.loopback_dev;
	skb->protocol = local.type;
	local_bh_disable();
	__netif_rx(skb);
	/* Interrupts are off: softirqs do not run here, as they would not then. */
	_local_bh_enable();
}

static void a_packet_that_has_come(struct kunit *test)
{
	struct net_device *lo = init_net.loopback_dev;
	bool was_up;

	rtnl_lock();
	was_up = lo->flags & IFF_UP;
	KUNIT_EXPECT_EQ(test, dev_open(lo, NULL), 0);
	rtnl_unlock();
	dev_add_pack(&local);
	handed_over(test, NULL, leave_packet);
	dev_remove_pack(&local);
	rtnl_lock();
	if (!was_up)
		dev_close(lo);
	rtnl_unlock();
}

static struct napi_struct napi;

static int in_poll(struct napi_struct *napi, int budget)
{
	napi_complete_done(napi, 0);
	complete(&arrived);
	return 0;
}

static void leave_poll(void)
{
	napi_schedule_irqoff(&napi);
}

static void a_card_to_be_polled(struct kunit *test)
{
	struct net_device *dev = alloc_netdev_dummy(0);

	KUNIT_ASSERT_NOT_NULL(test, dev);
	netif_napi_add(dev, &napi, in_poll);
	napi_enable(&napi);
	handed_over(test, NULL, leave_poll);
	napi_disable(&napi);
	netif_napi_del(&napi);
	free_netdev(dev);
}

static struct kunit_case bolt_handover_net_cases[] = {
	KUNIT_CASE(a_packet_that_was_sent),
	KUNIT_CASE(a_packet_that_has_come),
	KUNIT_CASE(a_card_to_be_polled),
	{}
};

static struct kunit_suite bolt_handover_net_suite = {
	.name = "bolt_handover_net",
	.init = bolt_handover_init,
	.exit = bolt_handover_exit,
	.test_cases = bolt_handover_net_cases,
};

kunit_test_suite(bolt_handover_net_suite);
