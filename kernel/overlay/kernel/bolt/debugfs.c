// SPDX-License-Identifier: GPL-2.0-only
/* /sys/kernel/debug/bolt: the hotplug states, what Bolt does with each, and statistics. */
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../rcu/rcu.h"
#include "kept.h"
#include "parse.h"
#include "policy.h"
#include "settle.h"
#include "state.h"
#include "steps.h"

static const char *const bolt_class_names[] = {
	[BOLT_CRITICAL]	= "critical",
	[BOLT_ASYNC]	= "async",
	[BOLT_LAZY]	= "lazy",
	[BOLT_ELIDE]	= "elide",
};

static const char *const bolt_fit_names[] = {
	[BOLT_UNFIT]		= "unfit",
	[BOLT_SERIAL]		= "serial",
	[BOLT_CONCURRENT]	= "concurrent",
};

static const char *const bolt_unit_names[BOLT_UNITS] = {
	[BOLT_NO_UNIT]			= "-",
	[BOLT_UNIT_VMSTAT]		= "vmstat",
	[BOLT_UNIT_VIRTIO_NET]		= "virtio_net",
	[BOLT_UNIT_ACPI_PROCESSOR]	= "acpi_processor",
	[BOLT_UNIT_PERF_X86]		= "perf_x86",
	[BOLT_UNIT_AMD_UNCORE]		= "amd_uncore",
	[BOLT_UNIT_MCE]			= "mce",
	[BOLT_UNIT_HPET]		= "hpet",
	[BOLT_UNIT_SMPCFD]		= "smpcfd",
	[BOLT_UNIT_HRTIMERS]		= "hrtimers",
	[BOLT_UNIT_TIMERS]		= "timers",
	[BOLT_UNIT_RCU]			= "rcu",
};

static const char *const bolt_stat_names[BOLT_STATS] = {
	[BOLT_STAT_BATCHES]	= "batches",
	[BOLT_STAT_OFFLINE]	= "offline_requests",
	[BOLT_STAT_ONLINE]	= "online_requests",
	[BOLT_STAT_FAILED]	= "failed_requests",
	[BOLT_STAT_BY_CPU]	= "cpu_by_cpu_requests",
	[BOLT_STAT_CANCELLED]	= "came_back_parked",
	[BOLT_STAT_SETTLED]	= "cpus_settled",
	[BOLT_STAT_PRESSURE]	= "settled_for_memory",
	[BOLT_STAT_WARM]	= "came_back_warm",
	[BOLT_STAT_WITHDRAWN]	= "warm_unanswered",
	[BOLT_STAT_WARM_COLD]	= "warm_made_cold",
	[BOLT_STAT_WARM_SILENT]	= "warm_silent",
};

static void bolt_show_state(struct seq_file *m, int state)
{
	struct bolt_count *count = &bolt_counts[state];
	enum bolt_class class = BOLT_CRITICAL;
	struct bolt_row row = bolt_row(state);

	/*
	 * The row of a state may allow deferring the teardown although Bolt does not
	 * defer it now, for example after "STATE critical"; the state is then shown as
	 * critical.
	 */
	if (bolt_deferred(state))
		class = row.class;
	seq_printf(m, "%d %s%s %s%s %s %lld %lld %lld %lld %lld %s (%s)\n", state,
		   bolt_class_names[class], bolt_overridden(state) ? "!" : "",
		   bolt_fit_names[bolt_fit(state)],
		   bolt_fit_declared(state) ? "!" : "", bolt_unit_names[row.unit],
		   atomic64_read(&count->runs), atomic64_read(&count->skips),
		   atomic64_read(&count->settles), atomic64_read(&count->slowed),
		   atomic64_read(&count->ns), bolt_state_name(state) ?: "unnamed",
		   row.reason);
}

static int bolt_states_show(struct seq_file *m, void *unused)
{
	int state;

	seq_puts(m, "# state class fit unit runs skips settles slowed ns name (reason)\n");
	bolt_lock_states();
	for (state = CPUHP_OFFLINE + 1; state < CPUHP_ONLINE; state++) {
		if (bolt_registered(state))
			bolt_show_state(m, state);
	}
	bolt_unlock_states();
	return 0;
}

/*
 * Returns a copy, which the caller frees, of all that one write() has brought, with a NUL
 * at the end; or an ERR_PTR(), also for a page or more. The offset is ignored, as in text
 * files of sysfs: a program may keep the file open and write one line after the other.
 */
static char *bolt_take_text(const char __user *ubuf, size_t count)
{
	return count < PAGE_SIZE ? memdup_user_nul(ubuf, count) : ERR_PTR(-E2BIG);
}

static int bolt_states_tell(enum cpuhp_state state, enum bolt_say say)
{
	switch (say) {
	case BOLT_SAY_CRITICAL:
	case BOLT_SAY_DEFAULT:
		return bolt_override(state, say == BOLT_SAY_CRITICAL);
	case BOLT_SAY_SERIAL:
		return bolt_declare_fit(state, BOLT_SERIAL);
	case BOLT_SAY_UNFIT:
		return bolt_declare_fit(state, BOLT_UNFIT);
	}
	return -EINVAL;
}

/*
 * "STATE critical": the teardowns of the state and of all states of its unit are not
 * deferred from now on. "STATE serial": the state is fit for requests for several CPUs.
 * "STATE unfit": the state is not fit. "STATE default": the row of the state applies
 * again, and the teardowns of its unit are deferred again where their rows allow that.
 */
static ssize_t bolt_states_write(struct file *file, const char __user *ubuf,
				 size_t count, loff_t *ppos)
{
	char *text = bolt_take_text(ubuf, count);
	unsigned int state;
	enum bolt_say say;
	int err;

	if (IS_ERR(text))
		return PTR_ERR(text);
	err = bolt_parse_override(text, count, &state, &say);
	kfree(text);
	if (!err)
		err = bolt_states_tell(state, say);
	return err ?: count;
}
DEFINE_SHOW_STORE_ATTRIBUTE(bolt_states);

/* Shows the state that makes requests for several CPUs go CPU by CPU now, or "-". */
static void bolt_show_slow_state(struct seq_file *m)
{
	enum cpuhp_state state;

	bolt_lock_states();
	state = bolt_find_unfit();
	if (state == CPUHP_INVALID)
		seq_puts(m, "slow_state -\n");
	else
		seq_printf(m, "slow_state %s\n",
			   bolt_state_name(state) ?: "unnamed");
	bolt_unlock_states();
}

/*
 * Shows how many bytes parked CPUs keep: a line for each state with any, and one for all.
 * The hotplug lock is taken anew for each state, so that a request waits until the bytes
 * of one state are counted, not of all states.
 */
static void bolt_show_kept(struct seq_file *m)
{
	unsigned long bytes, all = 0;
	int state;

	for (state = CPUHP_OFFLINE + 1; state < CPUHP_ONLINE; state++) {
		bolt_lock_states();
		bytes = bolt_kept(state);
		if (bytes)
			seq_printf(m, "kept %s %lu\n", bolt_state_name(state), bytes);
		bolt_unlock_states();
		all += bytes;
	}
	seq_printf(m, "kept_bytes %lu\n", all);
}

static int bolt_stats_show(struct seq_file *m, void *unused)
{
	int i;

	for (i = 0; i < BOLT_STATS; i++)
		seq_printf(m, "%s %llu\n", bolt_stat_names[i], bolt_stats[i]);
	bolt_show_slow_state(m);
	seq_printf(m, "parked %u\n", cpumask_weight(&bolt_parked_mask));
	seq_printf(m, "undrained %u\n", cpumask_weight(&bolt_undrained_mask));
	seq_printf(m, "sched_domains %s\n",
		   bolt_domains_pending() ? "pending" : "current");
	/*
	 * An administrator may force normal grace periods, for which requests then
	 * wait long.
	 */
	seq_printf(m, "grace_periods %s\n",
		   rcu_gp_is_normal() ? "normal" : "expedited");
	bolt_show_kept(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(bolt_stats);

static int bolt_timing_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "%d\n", static_key_enabled(&bolt_timing));
	return 0;
}

/* static_branch_disable() warns if another task is inside static_branch_enable(). */
static DEFINE_MUTEX(bolt_timing_mutex);

/* DEFINE_SIMPLE_ATTRIBUTE() would cut off a text that is longer than its buffer. */
static ssize_t bolt_timing_write(struct file *file, const char __user *ubuf,
				 size_t count, loff_t *ppos)
{
	char *text = bolt_take_text(ubuf, count);
	bool on, off;

	if (IS_ERR(text))
		return PTR_ERR(text);
	on = bolt_parse_word(text, count, "1");
	off = bolt_parse_word(text, count, "0");
	kfree(text);
	if (!on && !off)
		return -EINVAL;
	guard(mutex)(&bolt_timing_mutex);
	if (on)
		static_branch_enable(&bolt_timing);
	else
		static_branch_disable(&bolt_timing);
	return count;
}
DEFINE_SHOW_STORE_ATTRIBUTE(bolt_timing);

static int __init bolt_debugfs_init(void)
{
	struct dentry *dir = debugfs_create_dir("bolt", NULL);

	debugfs_create_file("states", 0600, dir, NULL, &bolt_states_fops);
	debugfs_create_file("timing", 0600, dir, NULL, &bolt_timing_fops);
	debugfs_create_file("stats", 0400, dir, NULL, &bolt_stats_fops);
	return 0;
}
late_initcall(bolt_debugfs_init);
