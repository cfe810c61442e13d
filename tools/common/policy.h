/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a policy gets, and what a policy answers.
 *
 * A policy is a pure function: from what was measured in one interval it computes the set of CPUs
 * that it wants online, and says why. A policy keeps nothing from one call to the next. restrain.c
 * has the rules that hold whatever a policy wants: floor, delay, return, dwell and the limit of
 * changes.
 *
 * A policy NAME has a file policy_NAME.c, a declaration below, and an entry in the table of
 * policies.c.
 */
#ifndef POLICY_H
#define POLICY_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define FULL_CAPACITY	1024	/* capacity of the fastest kind of CPU in the machine */
#define FULL_PERCENT	95	/* CPUs busier than this do not show how much there is to do */

/** Where one CPU is; a number that is not known is -1 */
struct position {
	int core;
	int cluster;
	int package;
	int capacity;		/* 1 to FULL_CAPACITY */
};

/** What one CPU did in the interval, in thousandths of the interval; 0 for a CPU that is offline */
struct load {
	unsigned int busy;	/* the CPU ran something */
	unsigned int steal;	/* the CPU had something to run, but the host ran something else */
};

/**
 * What was measured in one interval
 *
 * CPUs that the daemon leaves alone, such as isolated ones, are in none of the sets.
 */
struct inputs {
	unsigned int count;		/* CPU numbers are 0 to count - 1 */
	size_t size;			/* size of each set, for CPU_*_S() */
	const struct position *places;
	const struct load *loads;
	unsigned int runnable;		/* tasks that run or wait for a CPU at the interval's end */
	unsigned int pressure;	/* thousandths of the interval in which a task waited for a CPU */
	const cpu_set_t *usable;	/* CPUs that may be online */
	const cpu_set_t *online;	/* usable CPUs that are online */
	const cpu_set_t *floor;		/* usable CPUs that have to be online */
	const cpu_set_t *before; /* CPUs that the policy wanted last; at first the CPUs online */
};

enum package_level {
	LEVEL_PACKAGE,
	LEVEL_CLUSTER
};

/** The settings of each policy; all numbers except min_cpus are percentages */
struct policy_settings {
	unsigned int min_cpus;	/* see chooses_min of struct policy */
	struct {
		unsigned int up;	/* if CPUs are busier than this on average, CPUs come */
		unsigned int down; /* CPUs go if the CPUs that stay are then not busier than this */
		/*
		 * If a task waits for at least so much of the time, and CPUs are busy for more than
		 * half of the time, tasks that wait count as load, too: see demand()
		 */
		unsigned int pressure;
	} load, package;
	enum package_level package_level;
	struct {
		/* stolen time, of the time for which the guest had work, ... */
		unsigned int give;	/* ... from which on CPUs are given back */
		unsigned int take;	/* ... up to which a busy guest takes a CPU */
		/* a guest is busy if its CPUs are at least so busy on average */
		unsigned int up;
	} steal;
	cpu_set_t *fixed;
};

/** What a policy answers */
struct decision {
	cpu_set_t *wanted;	/* made by the caller; the policy overwrites this set */
	char why[160];		/* one English clause */
};

/** One policy */
struct policy {
	const char *name;
	const char *summary;
	/*
	 * True: a CPU comes in the interval in which the policy first wants the CPU, if the limit
	 * of changes allows that. False: the CPU comes when the policy has wanted the CPU for the
	 * time "hold" of restrain.h. This time doubles, up to 64 times "hold", for each time in a
	 * row that the CPU came, and less than a minute later ceased to be wanted. After each five
	 * minutes in which that does not happen, the time is halved, down to "hold".
	 */
	bool urgent;
	/*
	 * True: the policy wants at least settings->min_cpus CPUs, or all usable CPUs if there are
	 * fewer, and chooses these CPUs itself. False: the floor has that many CPUs.
	 */
	bool chooses_min;
	/** decide() - fill in @decision; return 0, or -ENOMEM */
	int (*decide)(const struct policy_settings *settings, const struct inputs *inputs,
		      struct decision *decision);
};

extern const struct policy policy_load, policy_steal, policy_package, policy_fixed;

/** policies - all policies, in the order of "--help"; ends with NULL */
extern const struct policy *const policies[];

/** policy_find() - the policy called @name, or NULL */
const struct policy *policy_find(const char *name);

/* -- What several policies need ------------------------------------------- */

/** load_of() - how much the CPUs ran, stolen time included, in units of capacity */
unsigned long load_of(const struct inputs *inputs);

/**
 * demand() - how much the tasks would run if there were enough CPUs, in units of capacity
 * @pressure: if tasks waited for so many percent of the interval or more, and the CPUs were busy
 *	      for more than half of the interval, tasks that wait count, one at least
 *
 * FULL_CAPACITY is one fast CPU. As long as no task counts as waiting, the demand is how much the
 * CPUs ran, stolen time included. Each waiting task that counts adds FULL_CAPACITY. CPUs that are
 * busy for more than 95 % of the time do not show how much more there is to do: then all tasks that
 * wait count, whatever @pressure is.
 */
unsigned long demand(const struct inputs *inputs, unsigned int pressure);

/** capacity_of() - capacities of the CPUs in @set together */
unsigned long capacity_of(const struct inputs *inputs, const cpu_set_t *set);

/** suffices() - whether @capacity does for @wanted, if CPUs may be busy @percent % of the time */
bool suffices(unsigned long capacity, unsigned long wanted, unsigned int percent);

/**
 * order_new() - the usable CPUs in the order in which policies want CPUs online
 * @length: overwritten with the number of these CPUs
 *
 * The floor comes first. Other CPUs are in the order of packages, clusters and cores, but CPUs that
 * share one of these with the floor's first CPU come before CPUs that do not; without a floor, the
 * first usable CPU takes the place of the floor's first CPU. Apart from the floor, siblings stand
 * together, as do the CPUs of a cluster and of a package: if a policy wants the first CPUs of the
 * order, the CPUs that go are mostly whole cores, clusters and packages.
 *
 * To be freed with free(); NULL if memory is short.
 */
unsigned int *order_new(const struct inputs *inputs, unsigned int *length);

#endif /* POLICY_H */
