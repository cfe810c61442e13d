/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a policy gets, and what a policy answers.
 *
 * A policy is a pure function: from what was measured in one interval it computes the set of CPUs
 * that it wants online, and says why. A policy keeps nothing from one call to the next. What must
 * hold whatever a policy wants - the floor, dwell, delay and the limit of changes - is the business
 * of restrain.c.
 *
 * A policy NAME is a file policy_NAME.c, and a line in policies.c.
 */
#ifndef POLICY_H
#define POLICY_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define FULL_CAPACITY	1024	/* capacity of the fastest kind of CPU in the machine */

/** Where one CPU is; -1 where that is not known */
struct position {
	int core;
	int cluster;
	int package;
	int capacity;		/* 1 to FULL_CAPACITY */
};

/** What one CPU did in the interval, in thousandths of the interval; 0 for a CPU that is offline */
struct load {
	unsigned int busy;	/* ran something */
	unsigned int steal;	/* had something to run, but the host ran something else */
};

/**
 * What was measured in one interval
 *
 * Only CPUs that the daemon may move are counted: isolated CPUs, for instance, are in none of the
 * sets.
 */
struct inputs {
	unsigned int count;		/* CPU numbers are 0 to count - 1 */
	size_t size;			/* of each set, for CPU_*_S() */
	const struct position *places;
	const struct load *loads;
	unsigned int runnable;		/* tasks that run or wait for a CPU, at the interval's end */
	unsigned int pressure;		/* thousandths of the interval in which a task waited for a CPU */
	const cpu_set_t *usable;	/* CPUs that may be online */
	const cpu_set_t *online;	/* those of the usable CPUs that are online */
	const cpu_set_t *floor;		/* those of the usable CPUs that have to be online */
	const cpu_set_t *before; /* the CPUs that the policy wanted last; at first those online */
};

enum package_level {
	LEVEL_PACKAGE,
	LEVEL_CLUSTER
};

/** What can be set for each policy; percentages where nothing else is said */
struct policy_settings {
	struct {
		unsigned int up;	/* busier than that on average: more CPUs */
		unsigned int down; /* if fewer CPUs would not be busier than that: fewer CPUs */
		unsigned int pressure;	/* a task waits for so much of the time: more CPUs */
	} load, package;
	enum package_level package_level;
	struct {
		unsigned int give;	/* stolen time from which on CPUs are given back */
		unsigned int take;	/* stolen time up to which a busy guest takes a CPU */
		unsigned int up;	/* busier than that on average: the guest is busy */
	} steal;
	cpu_set_t *fixed;
};

/** What a policy answers */
struct decision {
	cpu_set_t *wanted;	/* made by the caller; the policy overwrites it */
	char why[160];		/* one English clause */
};

/** One policy */
struct policy {
	const char *name;
	const char *summary;
	/*
	 * CPUs come in the interval in which the policy first wants CPUs. For other policies CPUs
	 * come with the same delay as CPUs go; a CPU that was soon not wanted any more after it
	 * came, comes later the next time.
	 */
	bool urgent;
	/** decide() - fill in @decision; 0, or -ENOMEM */
	int (*decide)(const struct policy_settings *settings, const struct inputs *inputs,
		      struct decision *decision);
};

extern const struct policy policy_load, policy_steal, policy_package, policy_fixed;

/** policies - all of these, in the order of "--help"; ends with NULL */
extern const struct policy *const policies[];

/** policy_find() - the policy called @name, or NULL */
const struct policy *policy_find(const char *name);

/* -- What several policies need ------------------------------------------- */

/**
 * demand() - what the tasks would run, in units of capacity: FULL_CAPACITY is one fast CPU
 * @pressure: percentage from which on waiting tasks count
 *
 * As long as no task waits, the demand is what the CPUs ran. CPUs that are busy all the time hide
 * how much there is to do; then each task that waits counts as a full CPU.
 */
unsigned long demand(const struct inputs *inputs, unsigned int pressure);

/** capacity_of() - capacities of the CPUs in @set together */
unsigned long capacity_of(const struct inputs *inputs, const cpu_set_t *set);

/** suffices() - @capacity is enough for @wanted, if CPUs may be busy @percent of the time */
bool suffices(unsigned long capacity, unsigned long wanted, unsigned int percent);

/**
 * order_new() - the usable CPUs in the order in which these are filled
 * @length: how many there are
 *
 * The floor comes first, then the package, cluster and core of the first CPU of the floor: siblings
 * stand together, as do clusters and packages, so that whole cores, clusters and packages stay
 * empty.
 *
 * To be freed with free(); NULL without memory.
 */
unsigned int *order_new(const struct inputs *inputs, unsigned int *length);

#endif /* POLICY_H */
