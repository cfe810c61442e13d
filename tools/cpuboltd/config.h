/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The configuration: the file cpubolt/cpuboltd.conf in the directory SYSCONFDIR, then the files
 * *.conf of the folder cpuboltd.conf.d beside that file, in the order of their names. A later value
 * replaces an earlier one. An unknown section or key is an error.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include "machine.h"
#include "restrain.h"

#define CONFIG_FILE	SYSCONFDIR "/cpubolt/cpuboltd.conf"
#define CONFIG_SUFFIX	".conf"

/** What cpuboltd does where irqbalance runs */
enum beside_irqbalance {
	IRQBALANCE_YIELD,	/* cpuboltd leaves interrupts alone */
	/* irqbalance is told to leave movable interrupts alone; if that fails, as YIELD */
	IRQBALANCE_BAN,
};

/** Section [interrupts] */
struct interrupt_settings {
	bool enabled;
	/* An interrupt that occurs at least so often a second becomes busy, see irq_busy() */
	unsigned int busy;
	unsigned int dwell_s;
	unsigned int per_minute;
	enum beside_irqbalance irqbalance;
};

struct config {
	const struct policy *policy;
	struct policy_settings settings;
	struct restraint_rules rules;
	struct interrupt_settings interrupts;
	unsigned int interval_ms;
	unsigned int hold_ms, dwell_ms;
	unsigned int backoff_s;
	cpu_set_t *keep;	/* CPUs that the daemon never takes offline */
	cpu_set_t *deny;	/* CPUs that the daemon leaves as they are */
	char *metrics;		/* file for Prometheus, or NULL */
};

/** config_init() - fill in the defaults; 0 or -ENOMEM */
int config_init(const struct machine *machine, struct config *config);

/**
 * config_read() - read a file FILE, and the files *.conf of the folder FILE.d, into @config
 * @file: a file that exists; or NULL for CONFIG_FILE, which need not exist
 * @error: a message if -EINVAL is returned, "FILE:LINE: ..." if a line is wrong; to be freed
 *
 * Lines and files after an error are read as well, and what is right in them is in @config; the
 * message is about the first error. Errors: -EINVAL with a message; -ENOMEM.
 */
int config_read(const struct machine *machine, const char *file, struct config *config,
		char **error);

/**
 * config_parse() - read one text into @config
 * @name: name of the file, for messages
 *
 * Errors and @error: as config_read().
 */
int config_parse(const struct machine *machine, const char *name, const char *text, size_t length,
		 struct config *config, char **error);

/** config_check() - refuse values that contradict each other; errors and @error as config_read() */
int config_check(const struct machine *machine, const struct config *config, char **error);

void config_free(struct config *config);

#endif /* CONFIG_H */
