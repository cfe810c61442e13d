// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command line: bolt=, and the switches bolt.WHAT=, each of which makes one
 * part of the boot different from the native boot. Hooks, cpus.c and parallel.c call
 * bolt_boot_option(), a hook of 6.12 calls bolt_topology_unchecked(), and sysfs.c calls
 * bolt_enable_after_boot(). (cpus.c reads bolt.boot= and bolt.trial_limit= itself.)
 */
#define pr_fmt(fmt) "bolt: " fmt

#include <linux/bolt.h>
#include <linux/cache.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "boot.h"

/*
 * The value of bolt=, which is also that of every switch of bolt_switches[] that is not
 * set itself.
 */
static bool bolt_at_boot __ro_after_init =
	IS_ENABLED(CONFIG_BOLT_DEFAULT_ENABLED);

/* The value of each switch; less than 0 if it is not set, so that bolt= applies. */
static s8 bolt_switches[BOLT_BOOT_SWITCHES] = {
	[0 ... BOLT_BOOT_SWITCHES - 1] = -1,
};

/**
 * bolt_boot_option - whether a part of the boot is done otherwise than natively
 * @what:	the switch for that part
 *
 * Context: any, once the command line has been parsed for the first time.
 * Return: true if so.
 */
bool bolt_boot_option(enum bolt_boot_switch what)
{
	return bolt_switches[what] < 0 ? bolt_at_boot : bolt_switches[what];
}

/**
 * bolt_enable_after_boot - whether Bolt is to be enabled when the system has booted
 *
 * Context: as bolt_boot_option().
 * Return: true if so.
 */
bool bolt_enable_after_boot(void)
{
	return bolt_at_boot;
}

static int __init bolt_parse(char *str)
{
	if (!str || kstrtobool(str, &bolt_at_boot))
		pr_err("bolt= takes on or off, not '%s'\n", str ?: "");
	return 0;
}
early_param("bolt", bolt_parse);

static int __init bolt_parse_switch(enum bolt_boot_switch what,
				    const char *name, const char *str)
{
	bool on;

	if (!str || kstrtobool(str, &on))
		pr_err("bolt.%s= takes on or off, not '%s'\n", name, str ?: "");
	else
		bolt_switches[what] = on;
	return 0;
}

#define BOLT_SWITCH(name, what)						\
static int __init bolt_parse_##name(char *str)				\
{									\
	return bolt_parse_switch(what, #name, str);			\
}									\
early_param("bolt." #name, bolt_parse_##name)

BOLT_SWITCH(balance, BOLT_BOOT_BALANCE);
BOLT_SWITCH(parallel, BOLT_BOOT_PARALLEL);
BOLT_SWITCH(trial, BOLT_BOOT_TRIAL);
BOLT_SWITCH(vmstat, BOLT_BOOT_VMSTAT);
BOLT_SWITCH(workqueue, BOLT_BOOT_WORKQUEUE);

static bool bolt_topology_skip __ro_after_init;

static int __init bolt_parse_topology(char *str)
{
	static const char * const words[] = { "check", "skip" };
	int which = match_string(words, ARRAY_SIZE(words), str ?: "");

	if (which < 0)
		pr_err("bolt.topology= takes check or skip\n");
	else
		bolt_topology_skip = which;
	return 0;
}
early_param("bolt.topology", bolt_parse_topology);

/**
 * bolt_topology_unchecked - whether the levels of scheduler domains go without a check
 *
 * Context: as bolt_boot_option().
 * Return: true if bolt.topology=skip says so; 7.3 never asks.
 */
bool bolt_topology_unchecked(void)
{
	return bolt_topology_skip;
}
