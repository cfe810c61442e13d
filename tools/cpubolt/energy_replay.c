// SPDX-License-Identifier: GPL-2.0-only
/* The ways to run a machine, on a recorded load: see energy_replay.h */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "energy_replay.h"

#define THOUSANDTHS	1001	/* 0 to 1000 */

const char *const energy_way_names[WAYS] = {
	[WAY_NONE] = "none",
	[WAY_CONSERVATIVE] = "native-two",
	[WAY_NATIVE] = "native",
	[WAY_BOLT] = "bolt",
};

/* How many CPUs are always online in the ways with hotplug. */
static const unsigned int least_online[WAYS] = {
	[WAY_CONSERVATIVE] = 2, [WAY_NATIVE] = 1, [WAY_BOLT] = 1,
};

const struct energy_pace energy_usual_pace = { 1000, 3000, 5000, 20 };
const struct energy_pace energy_fast_pace = { 100, 300, 500, 600 };

/* The defaults of cpuboltd.conf(5). */
static const struct policy_settings usual_settings = {
	.load = { .up = 80, .down = 60, .pressure = 10 },
};

/* The state of one way while the trace is played. */
struct walk {
	const struct energy_model *model;
	struct energy_run *run;
	unsigned int cpus, package;
	double settle_after;
	bool parks_warm;
	double gone_at[ENERGY_MOST_CPUS];
	bool parked[ENERGY_MOST_CPUS];
};

static double *cell(struct energy_run *run, const struct energy_load *load)
{
	size_t busy = (size_t)lround(load->busy * 1000), width = run->package + 1;

	return &run->seconds[(load->online * width + load->warm) * THOUSANDTHS + busy];
}

/* Notes which CPUs have been settled since the last step: those that went long enough ago. */
static void settle(struct walk *walk, const struct play_step *step)
{
	double middle = step->begin + step->seconds / 2;
	unsigned int cpu;

	for (cpu = 0; cpu < walk->cpus; cpu++) {
		if (!walk->parked[cpu] || middle - walk->gone_at[cpu] < walk->settle_after)
			continue;
		walk->parked[cpu] = false;
		walk->run->requested.settled++;
	}
}

/* What the CPUs of a package do while the CPUs of @online are online. */
static struct energy_load step_load(const struct walk *walk, const struct play_step *step,
				    const cpu_set_t *online, unsigned int first)
{
	struct energy_load load = { 0 };
	unsigned int cpu;

	for (cpu = first; cpu < first + walk->package; cpu++) {
		if (CPU_ISSET_S(cpu, sizeof(cpu_set_t), online)) {
			load.online++;
			load.busy = fmax(load.busy, step->loads[cpu].busy / 1000.0);
		} else if (walk->parks_warm && walk->parked[cpu]) {
			load.warm++;
		}
	}
	return load;
}

/*
 * If a package has fewer CPUs online after the request, the power of the package stays as before
 * for the time in which CPUs go.
 */
static void count_request(struct walk *walk, const struct play_step *step)
{
	struct energy_requested *requested = &walk->run->requested;
	unsigned int cpu, first;

	for (first = 0; first < walk->cpus; first += walk->package) {
		struct energy_load before = step_load(walk, step, step->online, first), after;

		for (cpu = first; cpu < first + walk->package; cpu++) {
			bool was = CPU_ISSET_S(cpu, sizeof(cpu_set_t), step->online);
			bool is = CPU_ISSET_S(cpu, sizeof(cpu_set_t), step->next);

			if (was && !is) {
				walk->parked[cpu] = isfinite(walk->settle_after);
				walk->gone_at[cpu] = step->begin + step->seconds;
			} else if (!was && is) {
				walk->parked[cpu] = false;
			}
		}
		after = step_load(walk, step, step->next, first);
		if (after.online >= before.online)
			continue;
		*cell(walk->run, &before) += step->off_seconds;
		*cell(walk->run, &after) -= step->off_seconds;
	}
	requested->off += !!step->going;
	requested->off_cpus += step->going;
	requested->on += !!step->coming;
	requested->on_cpus += step->coming;
	requested->came_settled += step->settled;
}

static void watch(const struct play_step *step, void *data)
{
	struct walk *walk = data;
	struct energy_load load;
	unsigned int first;

	settle(walk, step);
	for (first = 0; first < walk->cpus; first += walk->package) {
		load = step_load(walk, step, step->online, first);
		*cell(walk->run, &load) += step->seconds;
	}
	if (!CPU_EQUAL(step->online, step->next))
		count_request(walk, step);
}

static int walk_through(struct walk *walk, enum energy_way way, const struct energy_pace *pace,
			const struct load_trace *trace)
{
	struct position places[ENERGY_MOST_CPUS];
	cpu_set_t all, floor;
	struct play play = {
		.count = walk->cpus,
		.size = sizeof(cpu_set_t),
		.places = places,
		.usable = &all,
		.floor = way == WAY_NONE ? &all : &floor,
		.policy = &policy_load,
		.settings = &usual_settings,
		.rules = { pace->hold_ms * 1000ULL, pace->dwell_ms * 1000ULL, pace->per_minute },
		.interval_ms = pace->interval_ms,
		.requests = energy_request_times(&walk->model->requests[walk->run->kind]),
	};
	unsigned int cpu;

	CPU_ZERO(&all);
	CPU_ZERO(&floor);
	for (cpu = 0; cpu < walk->cpus; cpu++) {
		int package = (int)(cpu / walk->package);

		places[cpu] = (struct position){ (int)cpu, package, package, FULL_CAPACITY };
		CPU_SET(cpu, &all);
		if (cpu < least_online[way])
			CPU_SET(cpu, &floor);
	}
	return play_trace(&play, trace, watch, walk, &walk->run->outcome);
}

int energy_run(const struct energy_model *model, enum energy_way way,
	       const struct energy_pace *pace, const struct load_trace *trace,
	       struct energy_run *run)
{
	struct walk *walk = calloc(1, sizeof(*walk));
	size_t width = (size_t)model->package.value + 1;
	int err = -ENOMEM;

	*run = (struct energy_run){
		.kind = way == WAY_BOLT ? ENERGY_BOLT : ENERGY_NATIVE,
		.package = (unsigned int)model->package.value,
		.seconds = calloc(width * width * THOUSANDTHS, sizeof(double)),
	};
	if (walk && run->seconds) {
		walk->model = model;
		walk->run = run;
		walk->cpus = (unsigned int)model->cpus.value;
		walk->package = run->package;
		walk->settle_after = energy_request_times(&model->requests[run->kind]).settle_after;
		walk->parks_warm = model->requests[run->kind].parks_warm.value;
		if (way < WAY_NATIVE)
			pace = &energy_usual_pace;
		err = walk_through(walk, way, pace, trace);
	}
	free(walk);
	if (err)
		energy_run_free(run);
	return err;
}

void energy_run_free(struct energy_run *run)
{
	free(run->seconds);
	*run = (struct energy_run){ 0 };
}

double energy_spent(const struct energy_model *model, const struct energy_run *run)
{
	size_t width = run->package + 1, i, busy;
	double spent = energy_of_requests(model, run->kind, &run->requested);

	for (i = 0; i < width * width; i++) {
		for (busy = 0; busy < THOUSANDTHS; busy++) {
			double seconds = run->seconds[i * THOUSANDTHS + busy];
			struct energy_load load = {
				.online = i / width, .warm = i % width, .busy = busy / 1000.0,
			};

			if (seconds != 0)
				spent += seconds * energy_power(model, &load);
		}
	}
	return spent / 1000;
}

static double share_saved(const struct energy_model *model, const struct energy_run *none,
			  const struct energy_run *run)
{
	double without = energy_spent(model, none);

	return without > 0 ? 1 - energy_spent(model, run) / without : 0;
}

struct energy_saving energy_saving(struct energy_model *model, const struct energy_run *none,
				   const struct energy_run *run)
{
	struct energy_saving saving = { .value = share_saved(model, none, run) };
	double widest = 0;
	struct quantity *quantity;
	unsigned int number;
	char label[64];

	saving.low = saving.high = saving.value;
	for (number = 0; (quantity = energy_quantity(model, number, label, sizeof(label)));
	     number++) {
		double usual = quantity->value, low, high;

		if (quantity->low == quantity->high)
			continue;
		quantity->value = quantity->low;
		low = share_saved(model, none, run);
		quantity->value = quantity->high;
		high = share_saved(model, none, run);
		quantity->value = usual;
		saving.low = fmin(saving.low, fmin(low, high));
		saving.high = fmax(saving.high, fmax(low, high));
		if (fabs(high - low) > widest) {
			widest = fabs(high - low);
			snprintf(saving.most, sizeof(saving.most), "%s", label);
		}
	}
	return saving;
}
