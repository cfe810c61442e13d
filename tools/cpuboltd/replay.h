/* SPDX-License-Identifier: GPL-2.0-only */
/* Recorded load, and what a policy would have done */
#ifndef REPLAY_H
#define REPLAY_H

#include "config.h"
#include "play.h"

typedef void change_printer(const struct machine *machine, double seconds,
			    const cpu_set_t *online, const char *why);

/**
 * replay() - run the policy of @config over @trace; no CPU is measured or changed
 * @print: called for each change, may be NULL
 *
 * Return: 0, -ENOMEM, or a negative errno as of cpubolt_cpus().
 */
int replay(const struct machine *machine, const struct config *config,
	   const struct load_trace *trace, change_printer *print, struct outcome *outcome);

/** run_replay() - "--replay": print what replay() says; an exit code */
int run_replay(const struct machine *machine, const struct config *config, const char *file);

#endif /* REPLAY_H */
