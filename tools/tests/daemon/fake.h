/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kernel and a daemon for tests of whole intervals
 *
 * Functions in place of read(), write() and clock_gettime() stand for the kernel: CPUs of a
 * recorded tree come and go on request, and the time is clock_us.
 */
#ifndef FAKE_H
#define FAKE_H

#include "daemon.h"
#include "irq_state.h"
#include "say.h"
/* place.h comes last: place.h includes cmocka.h, whose macro fail() would break say.h. */
#include "place.h"

#define SECOND_US	1000000ULL
#define NO_CPU		(-1)

extern struct config config;
extern struct daemon one;
extern uint64_t clock_us, suspended_us;

extern int broken;		/* requests that bring this CPU online fail; or NO_CPU */
extern bool disabled;		/* CPU hotplug is disabled for a moment: each request fails */
extern bool short_of_memory;	/* each request fails, and no CPU is named */
extern unsigned int requests;
/*
 * If not NULL: when the daemon next writes its file of the CPUs taken, another program changes
 * CPUs, so that these CPUs are online, and no others
 */
extern const char *race;

#define DEVICES	4
#define MANAGED	3		/* index of the managed interrupt, which is the last */

/** Interrupts of the machine, and how often each has occurred on each CPU */
extern struct device {
	int irq;
	const char *name;
	unsigned int rate;	/* interrupts a second */
	unsigned int counts[4];
	bool refuses;		/* whether writes of the affinity fail */
	bool closed;		/* whether no device uses it: no row in /proc/interrupts */
	bool nameless;		/* whether the row does not name the device, which is closed */
} devices[DEVICES];

extern bool overflows;	/* irq_keep and parked are longer than a page: no program can read them */
extern bool starved;	/* irq_keep and names of processes cannot be read for lack of memory */
extern bool flickers;		/* a CPU comes or goes between any two looks at the CPUs online */
extern unsigned int affinities;	/* how often an affinity was written, or a write was refused */
extern unsigned int listed;	/* how many of these writes were made while irq_keep had CPUs */
extern unsigned int lists;	/* how often irq_keep was written */
extern unsigned int late;	/* movable interrupts on CPUs when these were asked to go offline */
/*
 * In so many further calls of put_counts(), all rows of /proc/interrupts but the first have fewer
 * counts than the first line has CPUs.
 */
extern unsigned int torn;

/** begin() - make the tree @name, and begin a daemon with @policy there */
void begin(const char *name, const char *policy);

/**
 * begin_interrupts() - as begin() with the tree "small+bolt", but the daemon moves interrupts
 * @fixed: the CPUs that the policy "fixed" wants
 */
void begin_interrupts(const char *policy, const char *fixed);

void end(void);

/** wait_for() - let @seconds intervals pass, each of which is a second long */
void wait_for(unsigned int seconds);

/** put_busy() - write that the first @cpus CPUs have been busy for @ticks ticks since the boot */
void put_busy(unsigned int cpus, unsigned long ticks);

/** put_affinity() - set the affinity of an interrupt, as if a program had done so */
void put_affinity(const struct device *device, const char *list);

/** put_counts() - count the interrupts of one more second */
void put_counts(void);

/** assert_file() - check that the daemon's file of the CPUs taken lists these CPUs */
void assert_file(const char *list);

#endif /* FAKE_H */
