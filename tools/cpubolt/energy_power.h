/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Computes the power that a machine takes, by a model: pure functions
 *
 * The CPUs of a package wake up at random moments, independently of each other. In an idle period,
 * a CPU is in the deepest idle state whose residency is not longer than the period; if there is no
 * such state, the CPU is in the first state. In a period in which no CPU of a package is awake, the
 * package is in the deepest sleep state that the package may enter and whose residency is not
 * longer than the period, but only for the share of such time that the model gives.
 */
#ifndef ENERGY_POWER_H
#define ENERGY_POWER_H

#include "energy_model.h"
#include "play.h"

/** What the CPUs of one package do; the rest of its CPUs are natively offline or parked cold */
struct energy_load {
	unsigned int online, warm;	/* CPUs online, and CPUs parked warm */
	double busy;			/* share of the time in which each online CPU runs */
};

/** energy_power() - milliwatts of a package, on average */
double energy_power(const struct energy_model *model, const struct energy_load *load);

/** energy_request_times() - what play_trace() has to know of the requests */
struct request_times energy_request_times(const struct energy_requests *requests);

/** What requests have done */
struct energy_requested {
	unsigned long off, off_cpus;	/* offline requests, and their CPUs */
	unsigned long on, on_cpus;	/* online requests, and their CPUs */
	unsigned long settled;		/* CPUs that were settled */
	unsigned long came_settled;	/* CPUs that came after they were settled */
};

/** energy_of_requests() - millijoules of requests and settling, beyond what CPUs take anyhow */
double energy_of_requests(const struct energy_model *model, enum energy_kind kind,
			  const struct energy_requested *requested);

/** CPUs of an idle package that go for a while */
struct energy_leave {
	enum energy_kind kind;
	unsigned int online, going; /* CPUs online in the package before, and how many of these go */
};

/**
 * energy_saved() - millijoules that are saved if the CPUs are needed again after @seconds
 * @seconds: from the beginning of the offline request to the beginning of the online request
 */
double energy_saved(const struct energy_model *model, const struct energy_leave *leave,
		    double seconds);

/**
 * energy_break_even() - how long CPUs have to be away so that their absence costs no energy
 *
 * Return: seconds, from which on energy_saved() is not negative; or a negative number if there is
 * no such time.
 */
double energy_break_even(const struct energy_model *model, const struct energy_leave *leave);

#endif /* ENERGY_POWER_H */
