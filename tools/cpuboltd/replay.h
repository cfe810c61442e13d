/* SPDX-License-Identifier: GPL-2.0-only */
/* Recorded load, and what a policy would have done */
#ifndef REPLAY_H
#define REPLAY_H

#include "config.h"
#include "trace.h"

/** What a policy has made of a trace */
struct outcome {
	double seconds;
	double cpu_seconds;		/* sum over all CPUs, of the time online */
	unsigned int least, most;	/* CPUs online */
	unsigned int changes, most_in_a_minute;
	double waited;			/* share of the work that had to wait for an interval */
	double wait_p99, wait_longest;	/* of all work, in seconds */
};

/**
 * replay() - run the policy of @config over @trace, without a look at a CPU
 * @print: called for each change, may be NULL
 *
 * Return: 0 or -ENOMEM.
 */
int replay(const struct machine *machine, const struct config *config, const struct trace *trace,
	   void (*print)(const struct machine *machine, double seconds, const cpu_set_t *online,
			 const char *why),
	   struct outcome *outcome);

/** run_replay() - "--replay": print what replay() says; an exit code */
int run_replay(const struct machine *machine, const struct config *config, const char *file);

#endif /* REPLAY_H */
