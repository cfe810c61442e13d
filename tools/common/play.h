/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plays recorded load to a policy, without a look at CPUs of this machine
 *
 * Each interval has two halves: first the CPUs that are online do the work of the trace, then the
 * policy and restrain.c decide. What they have changed counts from the next interval on. While a
 * request is under way nothing is decided.
 */
#ifndef PLAY_H
#define PLAY_H

#include "load_trace.h"
#include "restrain.h"

/** How long requests take, in seconds */
struct request_times {
	double off, off_more;	/* the first CPU of a request, and each further one */
	double on, on_more;
	double settled_more;	/* how much longer a CPU takes to come that went so long ago: */
	double settle_after;
};

/** request_seconds() - a request that brings and takes so many CPUs, none of which was settled */
double request_seconds(const struct request_times *times, unsigned int coming, unsigned int going);

/** What is played */
struct play {
	unsigned int count;			/* CPU numbers are 0 to count - 1 */
	size_t size;				/* of each set */
	const struct position *places;
	const cpu_set_t *usable;		/* all are online at first */
	const cpu_set_t *floor;
	const struct policy *policy;
	const struct policy_settings *settings;
	struct restraint_rules rules;
	unsigned int interval_ms;
	struct request_times requests;		/* 0: a request takes no time */
};

/** One interval of the trace */
struct play_step {
	double begin, seconds;		/* since the begin of the trace, and the interval */
	const cpu_set_t *online;	/* in this interval */
	const cpu_set_t *next;		/* from the end of it on */
	const struct load *loads;	/* in this interval */
	const char *why;		/* the policy has decided so at its end */
	unsigned int going, coming;	/* CPUs of the request at its end */
	unsigned int settled;		/* how many of the CPUs that come were settled */
	double off_seconds;		/* how long the CPUs that go take */
};

typedef void play_watch(const struct play_step *step, void *data);

/** What a policy has made of a trace */
struct outcome {
	double seconds;
	double cpu_seconds;		/* sum over all CPUs, of the time online */
	unsigned int least, most;	/* CPUs online */
	unsigned int changes, most_in_a_minute;
	double waited;			/* share of the work that had to wait for an interval */
	double wait_p99, wait_longest;	/* of all work, in seconds */
	double requesting;		/* seconds in which a request was under way */
};

/**
 * play_trace() - run a policy over a trace
 * @watch: called for each interval, may be NULL
 *
 * Waiting is counted in whole intervals; work that waited until CPUs came has waited for their request,
 * too. Return: 0 or -ENOMEM.
 */
int play_trace(const struct play *play, const struct load_trace *trace, play_watch *watch, void *data,
	       struct outcome *outcome);

#endif /* PLAY_H */
