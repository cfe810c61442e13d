// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: another CPU takes over packets that the highest CPU has received or sent, and
 * network devices that the highest CPU was to poll, when that CPU dies. In one test the
 * highest CPU steers a packet to a CPU that dies in the same request.
 */
#include <linux/bottom_half.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/smp.h>
#include <net/net_namespace.h>

#include "../compat.h"
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

static struct sk_buff *make_packet(void)
{
	struct sk_buff *skb = alloc_skb(64, GFP_ATOMIC);

	if (!skb)
		return NULL;
	skb_put_zero(skb, 64);
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	skb->dev = init_net.loopback_dev;
	skb->protocol = local.type;
	return skb;
}

static void leave_packet(void)
{
	struct sk_buff *skb = make_packet();

	if (!skb)
		return;
	local_bh_disable();
	__netif_rx(skb);
	/* local_bh_enable() would run softirqs, which need interrupts to be on. */
	_local_bh_enable();
}

static bool receiving, was_up;

/* Brings loopback up and registers receive(). */
static void begin_to_receive(struct kunit *test)
{
	struct net_device *lo = init_net.loopback_dev;

	rtnl_lock();
	was_up = lo->flags & IFF_UP;
	KUNIT_EXPECT_EQ(test, dev_open(lo, NULL), 0);
	rtnl_unlock();
	dev_add_pack(&local);
	receiving = true;
}

static void end_receiving(void)
{
	if (!receiving)
		return;
	receiving = false;
	dev_remove_pack(&local);
	rtnl_lock();
	if (!was_up)
		dev_close(init_net.loopback_dev);
	rtnl_unlock();
}

static void a_packet_that_has_come(struct kunit *test)
{
	begin_to_receive(test);
	handed_over(test, NULL, leave_packet);
}

#ifdef CONFIG_RPS
static struct cpumask both;
static unsigned int mate;

/*
 * Leaves the victim as if it had steered a packet to @mate, the other CPU that goes, but
 * had yet to send @mate the IPI for that packet.
 */
static void leave_ipi(void)
{
	struct softnet_data *sd = this_cpu_ptr(&softnet_data);
	struct softnet_data *other = per_cpu_ptr(&softnet_data, mate);

	if (__test_and_set_bit(NAPI_STATE_SCHED, &other->backlog.state))
		return;
	other->rps_ipi_next = sd->rps_ipi_list;
	sd->rps_ipi_list = other;
	complete(&arrived);
}

static int receive_here(void *unused)
{
	struct sk_buff *skb = make_packet();

	if (!skb)
		return -ENOMEM;
	netif_rx(skb);
	return 0;
}

static int change_both(bool online)
{
	int err;

	lock_device_hotplug();
	err = online ? bolt_cpus_up(&both) : bolt_cpus_down(&both);
	unlock_device_hotplug();
	return err;
}

/* Returns the next CPU below the victim that can go offline, or 0. */
static unsigned int find_mate(void)
{
	unsigned int cpu;

	for (cpu = victim - 1; cpu; cpu--) {
		struct device *dev = get_cpu_device(cpu);

		if (cpu_online(cpu) && dev && !dev_offline_disabled(dev))
			break;
	}
	return cpu;
}

static void an_ipi_to_a_cpu_that_dies_too(struct kunit *test)
{
	static const struct bolt_defer fit = {
		.class = BOLT_CRITICAL,
		.reason = "only asks on which CPU the callback runs",
	};
	struct bolt_handover *h = test->priv;

	mate = find_mate();
	if (!mate)
		kunit_skip(test, "no second CPU can go offline");
	cpumask_clear(&both);
	cpumask_set_cpu(victim, &both);
	cpumask_set_cpu(mate, &both);
	/*
	 * Without this declaration the state would make the two CPUs go one after
	 * the other.
	 */
	KUNIT_ASSERT_EQ(test, bolt_defer_state(h->state, &fit), 0);

	reinit_completion(&arrived);
	leave = leave_ipi;
	KUNIT_ASSERT_EQ(test, change_both(false), 0);
	leave = NULL;
	KUNIT_EXPECT_TRUE(test, try_wait_for_completion(&arrived));
	KUNIT_ASSERT_EQ(test, change_both(true), 0);

	begin_to_receive(test);
	/*
	 * smp_call_function_single() is not used: if this task runs on @mate, that
	 * function makes a plain call with interrupts off, and netif_rx() then enables
	 * softirqs, which need interrupts to be on.
	 */
	KUNIT_EXPECT_EQ(test, smp_call_on_cpu(mate, receive_here, NULL, false), 0);
	KUNIT_EXPECT_NE(test, 0,
			wait_for_completion_timeout(&arrived, HANDOVER_PATIENCE));
}
#endif

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

/* A test that fails leaves the rest of its function out, so that all is undone here. */
static void handover_net_exit(struct kunit *test)
{
	end_receiving();
	bolt_handover_exit(test);
}

static struct kunit_case bolt_handover_net_cases[] = {
	KUNIT_CASE(a_packet_that_was_sent),
	KUNIT_CASE(a_packet_that_has_come),
#ifdef CONFIG_RPS
	KUNIT_CASE(an_ipi_to_a_cpu_that_dies_too),
#endif
	KUNIT_CASE(a_card_to_be_polled),
	{}
};

static struct kunit_suite bolt_handover_net_suite = {
	.name = "bolt_handover_net",
	.init = bolt_handover_init,
	.exit = handover_net_exit,
	.test_cases = bolt_handover_net_cases,
};

kunit_test_suite(bolt_handover_net_suite);
