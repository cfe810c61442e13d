/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plays recorded load to a policy, without a look at CPUs of this machine
 *
 * In each interval, first the CPUs that are online do the work of the trace, and then the policy
 * and restrain.c decide. A decision takes effect in the next interval. While a request is
 * under way there is no decision.
 */
#ifndef PLAY_H
#define PLAY_H

#include "load_trace.h"
#include "restrain.h"

/** How long requests take, in seconds */
struct request_times {
	double off, off_more;	/* for the first CPU that goes, and for each further CPU */
	double on, on_more;	/* for the first CPU that comes, and for each further CPU */
	double settled_more;	/* how much longer a CPU takes to come if it was settled */
	double settle_after;	/* how long after its offline request a CPU is settled */
};

/** request_seconds() - duration of a request, if none of the CPUs that come was settled */
double request_seconds(const struct request_times *times, unsigned int coming, unsigned int going);

/** What is played to a policy, besides the trace */
struct play {
	unsigned int count;			/* CPU numbers are 0 to count - 1 */
	size_t size;				/* size of each set, in bytes */
	const struct position *places;
	const cpu_set_t *usable;		/* CPUs that may be, and at first are, online */
	const cpu_set_t *floor;
	const struct policy *policy;
	const struct policy_settings *settings;
	struct restraint_rules rules;
	unsigned int interval_ms;
	struct request_times requests;		/* all 0: a request takes no time */
};

/** One interval of interval_ms */
struct play_step {
	double begin, seconds;		/* when the interval begins, and its length */
	const cpu_set_t *online;	/* CPUs online in this interval */
	const cpu_set_t *next;		/* CPUs online from the next interval on */
	const struct load *loads;	/* what each CPU did in this interval */
	const char *why;		/* the reason that the policy gave last */
	unsigned int going, coming;	/* CPUs of the request at the end of the interval */
	unsigned int settled;		/* how many of the CPUs that come were settled */
	double off_seconds;		/* how long the CPUs take to go */
};

typedef void play_watch(const struct play_step *step, void *data);

/** What has become of a trace that was played to a policy */
struct outcome {
	double seconds;
	double cpu_seconds;		/* sum of the time online over all CPUs */
	unsigned int least, most;	/* fewest and most CPUs online */
	unsigned int changes, most_in_a_minute;	/* requests: all, and most in one minute */
	double waited;			/* share of the work that waited for an interval or more */
	double wait_p99, wait_longest;	/* longest wait, in seconds: of 99 % of the work, of all */
	double requesting;		/* seconds in which a request was under way */
};

/**
 * play_trace() - run a policy over a trace
 * @watch: called for each interval, may be NULL
 *
 * Waiting is counted in whole intervals. If work had to wait, the time that CPUs took to come, when
 * CPUs last came, is added to the wait. Return: 0 or -ENOMEM.
 */
int play_trace(const struct play *play, const struct load_trace *trace, play_watch *watch,
	       void *data, struct outcome *outcome);

#endif /* PLAY_H */
