// SPDX-License-Identifier: GPL-2.0-only
/* /sys/kernel/debug/bolt: what is put off, and what has become of it. */
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../rcu/rcu.h"
#include "internal.h"

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
	[BOLT_ALONE]			= "-",
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
};

static void bolt_show_state(struct seq_file *m, int state)
{
	struct bolt_count *count = &bolt_counts[state];
	enum bolt_class class = BOLT_CRITICAL;
	struct bolt_row row = bolt_row(state);

	/* A row says what may be; without callbacks for it, it is not. */
	if (bolt_deferred(state))
		class = row.class;
	seq_printf(m, "%d %s%s %s%s %s %lld %lld %lld %lld %lld %s (%s)\n", state,
		   bolt_class_names[class], bolt_overridden(state) ? "!" : "",
		   bolt_fit_names[bolt_fit(state)],
		   bolt_fit_told(state) ? "!" : "", bolt_unit_names[row.unit],
		   atomic64_read(&count->runs), atomic64_read(&count->skips),
		   atomic64_read(&count->settles), atomic64_read(&count->slowed),
		   atomic64_read(&count->ns), bolt_glue_name(state), row.reason);
}

static int bolt_states_show(struct seq_file *m, void *unused)
{
	int state;

	seq_puts(m, "# state class fit unit runs skips settles slowed ns name (reason)\n");
	bolt_glue_lock_states();
	for (state = CPUHP_OFFLINE + 1; state < CPUHP_ONLINE; state++) {
		if (bolt_glue_has(state, true) || bolt_glue_has(state, false))
			bolt_show_state(m, state);
	}
	bolt_glue_unlock_states();
	return 0;
}

static int bolt_states_open(struct inode *inode, struct file *file)
{
	return single_open(file, bolt_states_show, inode->i_private);
}

/* What the administrator says of @state, in one word. */
static int bolt_states_tell(enum cpuhp_state state, const char *word)
{
	if (!strcmp(word, "critical"))
		bolt_override(state, true);
	else if (!strcmp(word, "default"))
		bolt_override(state, false);
	else if (!strcmp(word, "serial"))
		return bolt_tell_fit(state, BOLT_SERIAL);
	else if (!strcmp(word, "unfit"))
		return bolt_tell_fit(state, BOLT_UNFIT);
	else
		return -EINVAL;
	return 0;
}

/*
 * "STATE critical": its teardown is not deferred from now on; "STATE serial": it
 * is fit for requests for several CPUs; "STATE unfit": it is not; "STATE default":
 * all as its row says.
 */
static ssize_t bolt_states_write(struct file *file, const char __user *ubuf,
				 size_t count, loff_t *ppos)
{
	char buf[32], word[16];
	unsigned int state;
	ssize_t len;
	char end;
	int err;

	len = simple_write_to_buffer(buf, sizeof(buf) - 1, ppos, ubuf, count);
	if (len < 0)
		return len;
	if (len != count)
		return -EINVAL;
	buf[len] = '\0';
	if (sscanf(buf, "%u %15s %c", &state, word, &end) != 2 ||
	    state <= CPUHP_OFFLINE || state >= CPUHP_ONLINE)
		return -EINVAL;
	err = bolt_states_tell(state, word);
	return err ?: count;
}

static const struct file_operations bolt_states_fops = {
	.owner		= THIS_MODULE,
	.open		= bolt_states_open,
	.read		= seq_read,
	.write		= bolt_states_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

/* What makes requests for several CPUs go CPU by CPU now, if anything does. */
static void bolt_show_slow_state(struct seq_file *m)
{
	enum cpuhp_state state;

	bolt_glue_lock_states();
	state = bolt_find_unfit();
	if (state == CPUHP_INVALID)
		seq_puts(m, "slow_state -\n");
	else
		seq_printf(m, "slow_state %s\n", bolt_glue_name(state));
	bolt_glue_unlock_states();
}

static int bolt_stats_show(struct seq_file *m, void *unused)
{
	int i;

	for (i = 0; i < BOLT_STATS; i++)
		seq_printf(m, "%s %llu\n", bolt_stat_names[i], bolt_stats[i]);
	bolt_show_slow_state(m);
	seq_printf(m, "parked %u\n", cpumask_weight(&bolt_parked_mask));
	seq_printf(m, "sched_domains %s\n",
		   bolt_domains_pending() ? "pending" : "current");
	/* Whoever forces normal ones makes requests wait for them. */
	seq_printf(m, "grace_periods %s\n",
		   rcu_gp_is_normal() ? "normal" : "expedited");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(bolt_stats);

static int bolt_timing_get(void *data, u64 *val)
{
	*val = static_key_enabled(&bolt_timing);
	return 0;
}

static int bolt_timing_set(void *data, u64 val)
{
	if (val > 1)
		return -EINVAL;
	if (val)
		static_branch_enable(&bolt_timing);
	else
		static_branch_disable(&bolt_timing);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(bolt_timing_fops, bolt_timing_get, bolt_timing_set,
			 "%llu\n");

static int __init bolt_debugfs_init(void)
{
	struct dentry *dir = debugfs_create_dir("bolt", NULL);

	debugfs_create_file("states", 0600, dir, NULL, &bolt_states_fops);
	debugfs_create_file_unsafe("timing", 0600, dir, NULL,
				   &bolt_timing_fops);
	debugfs_create_file("stats", 0400, dir, NULL, &bolt_stats_fops);
	return 0;
}
late_initcall(bolt_debugfs_init);
