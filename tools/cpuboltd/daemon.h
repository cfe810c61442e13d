/* SPDX-License-Identifier: GPL-2.0-only */
/* The daemon: what its parts share */
#ifndef DAEMON_H
#define DAEMON_H

#include <systemd/sd-event.h>

#include "config.h"
#include "interrupts.h"
#include "owner.h"
#include "restrain.h"
#include "sample.h"

#define MOST_LEASES	64
#define LONGEST_LEASE_S	86400
#define BUCKETS		10

/** CPUs that a user wants online for a while */
struct lease {
	unsigned int id;	/* 0: not in use */
	uint64_t until_us;
	cpu_set_t *cpus;
};

/** What has happened since the daemon has started */
struct tally {
	unsigned long long came, went;		/* CPUs brought, and taken, by the daemon */
	unsigned long long requests, errors;
	unsigned long long foreign;		/* changes by other programs */
	unsigned long long buckets[BUCKETS];	/* requests that took up to bounds[] of metrics.c */
	double seconds;				/* sum of the times of all requests */
};

struct daemon {
	struct machine *machine;
	struct config *config;
	bool dry_run;
	unsigned long samples;		/* rounds until the end, 0 for no end */
	struct owner owner;
	struct restraint *restraint;
	struct counters counters;
	struct inputs inputs;
	struct load *loads;
	cpu_set_t *usable, *online, *floor, *before, *wanted, *next, *more, *needs;
	cpu_set_t *going, *coming;
	cpu_set_t *left;		/* CPUs taken by an earlier daemon, and still offline */
	cpu_set_t *planned;		/* in a dry run: the CPUs that were logged last */
	cpu_set_t *stay;		/* CPUs that may have interrupts */
	cpu_set_t *alone;		/* isolated and nohz_full CPUs, and those of "deny" */
	struct interrupts *interrupts;	/* NULL if the daemon moves no interrupts */
	uint64_t needs_until_us;	/* when to look again which CPUs are needed */
	/*
	 * No CPU goes before this time, which is set when state_save() has failed before a request,
	 * or when a request has failed and the result names no CPU.
	 */
	uint64_t stay_until_us;
	int busy_cpu;			/* CPU that the last EBUSY of unknown cause named */
	unsigned int busy_times;	/* how often in a row the kernel named that CPU */
	uint64_t metrics_at_us;
	int metrics_error;		/* error of the last write of "metrics"; logged once */
	struct decision decision;
	uint64_t now_us;
	struct lease leases[MOST_LEASES];
	unsigned int last_lease;
	struct tally tally;
	/* Why the daemon last changed each CPU, and when; "why" is to be freed. */
	struct memory {
		char *why;
		uint64_t at_us;
	} *memories;
	sd_event *loop;
	sd_event_source *timer;
	struct cpubolt_monitor *monitor;
	int control;			/* socket, or -1 */
	int code;			/* exit code of the daemon */
};

/** run_daemon() - run until a signal comes, or for @samples rounds; an exit code */
int run_daemon(struct machine *machine, struct config *config, bool dry_run,
	       unsigned long samples);

/**
 * run_restore() - "--restore": put back CPUs and affinities that a daemon changed; an exit code
 * @deny: CPUs that are left as they are, or NULL
 */
int run_restore(struct machine *machine, const cpu_set_t *deny);

/**
 * daemon_begin() - set up the members of @daemon that run_daemon() has not filled in
 *
 * Return: 0 or a negative errno; daemon_end() is to be called in either case.
 */
int daemon_begin(struct daemon *daemon);

/** daemon_round() - one interval: measure, decide, ask the kernel; 0 or a negative errno */
int daemon_round(struct daemon *daemon);

void daemon_end(struct daemon *daemon);

/** daemon_now_us() - the time of CLOCK_MONOTONIC */
uint64_t daemon_now_us(void);

/* -- Leases: leases.c ------------------------------------------------------- */

/** lease_add() - add a lease; its id, -ENOSPC or -ENOMEM */
int lease_add(struct daemon *daemon, const cpu_set_t *cpus, unsigned int seconds);

/** lease_end() - end a lease before its time; false if no lease has that id */
bool lease_end(struct daemon *daemon, unsigned int id);

/** lease_expire() - end leases whose time is over, and add the CPUs of all other leases to @set */
void lease_expire(struct daemon *daemon, cpu_set_t *set);

/** lease_free() - end all leases */
void lease_free(struct daemon *daemon);

/* -- Figures: metrics.c ------------------------------------------------------- */

/** metrics_count() - count one request that took @ns nanoseconds */
void metrics_count(struct daemon *daemon, unsigned long long ns);

/**
 * metrics_write() - write the file config->metrics
 * @now: write the file even if the last write was less than ten seconds ago
 *
 * Nothing is written in a dry run. An error is logged, unless the last write had the same error.
 */
void metrics_write(struct daemon *daemon, bool now);

/** metrics_text() - the text of the file config->metrics; to be freed; NULL if memory is short */
char *metrics_text(const struct daemon *daemon);

/* -- "cpubolt policy": control.c, explain.c ------------------------------------- */

/*
 * control_open() - open the socket; logs a failure, after which the daemon goes on without a socket
 */
void control_open(struct daemon *daemon);

void control_close(struct daemon *daemon);

/**
 * control_answer() - carry out @request, and make the answer
 * @privileged: the request may change something
 *
 * Return: "ok TEXT" or "error TEXT", to be freed; NULL if memory is short.
 */
char *control_answer(struct daemon *daemon, const char *request, bool privileged);

/** explain_status() - what the daemon does and why, in lines; to be freed */
char *explain_status(struct daemon *daemon);

/** explain_cpu() - why @cpu is online or offline; to be freed */
char *explain_cpu(struct daemon *daemon, unsigned int cpu);

#endif /* DAEMON_H */
