/* SPDX-License-Identifier: GPL-2.0-only */
/* The ways to run a machine that "cpubolt energy" compares, on a recorded load */
#ifndef ENERGY_REPLAY_H
#define ENERGY_REPLAY_H

#include "energy_power.h"

enum energy_way {
	WAY_NONE,		/* no hotplug: all CPUs are online */
	WAY_CONSERVATIVE,	/* native, two CPUs always online, at the daemon's default pace */
	WAY_NATIVE,		/* native, down to one CPU */
	WAY_BOLT,		/* with Bolt, down to one CPU */
	WAYS
};

extern const char *const energy_way_names[WAYS];

/** How quickly a policy reacts: interval_ms and [limits] of cpuboltd.conf(5) */
struct energy_pace {
	unsigned int interval_ms, hold_ms, dwell_ms, per_minute;
};

/** Default paces: of the daemon, and of the ways that go down to one CPU */
extern const struct energy_pace energy_usual_pace, energy_fast_pace;

/** The result of the replay of a load in one way */
struct energy_run {
	struct outcome outcome;
	enum energy_kind kind;
	struct energy_requested requested;
	unsigned int package;		/* CPUs of each package */
	double *seconds;		/* of all packages: [CPUs online][CPUs warm][1/1000 busy] */
};

/**
 * energy_run() - play a trace
 * @pace: the pace of WAY_NATIVE and WAY_BOLT
 * @run: overwritten; to be freed with energy_run_free()
 *
 * Return: 0 or -ENOMEM.
 */
int energy_run(const struct energy_model *model, enum energy_way way,
	       const struct energy_pace *pace, const struct load_trace *trace,
	       struct energy_run *run);

void energy_run_free(struct energy_run *run);

/** energy_spent() - joules of @run by @model, whose numbers may have changed since energy_run() */
double energy_spent(const struct energy_model *model, const struct energy_run *run);

/** What a way saves, and how uncertain this figure is */
struct energy_saving {
	double value;			/* share of what the machine takes without hotplug */
	/* least and greatest @value, with one number after the other at the ends of its range */
	double low, high;
	char most[64];			/* the number that changes @value most; "" if none does */
};

/**
 * energy_saving() - the energy that a way of offlining CPUs saves
 * @model: changed meanwhile, and as before when energy_saving() returns
 */
struct energy_saving energy_saving(struct energy_model *model, const struct energy_run *none,
				   const struct energy_run *run);

#endif /* ENERGY_REPLAY_H */
