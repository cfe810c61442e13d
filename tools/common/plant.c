// SPDX-License-Identifier: GPL-2.0-only
/* A simulated machine that does recorded work: see plant.h */
#include <math.h>

#include "plant.h"

#define LONGEST_BACKLOG_S	60

void plant_step(struct plant *plant, const struct sample *sample, double seconds,
		struct inputs *inputs, struct load *loads)
{
	double capacity = (double)capacity_of(inputs, inputs->online) / FULL_CAPACITY;
	double most = (double)capacity_of(inputs, inputs->usable) / FULL_CAPACITY *
		      LONGEST_BACKLOG_S;
	unsigned int online = (unsigned int)CPU_COUNT_S(inputs->size, inputs->online), cpu;
	double steal = fmin(sample->steal, online * 0.95);
	/* CPU time that the host took for something else is not there for the guest's work. */
	double there = online ? capacity * (1 - steal / online) : 0;
	double work = sample->demand * seconds + plant->backlog;
	double done = fmin(work, there * seconds), tasks;
	double share = there > 0 ? done / (there * seconds) : 0;

	plant->backlog = fmin(work - done, most);
	plant->came += sample->demand * seconds;
	plant->left = plant->came - plant->backlog;
	for (cpu = 0; cpu < inputs->count; cpu++) {
		bool runs = CPU_ISSET_S(cpu, inputs->size, inputs->online);
		double stolen = runs ? steal / online * share : 0;

		loads[cpu].steal = (unsigned int)lround(1000 * stolen);
		loads[cpu].busy = (unsigned int)lround(
			runs ? 1000 * share * (1 - steal / online) : 0);
	}
	/* A task keeps one CPU busy at most, so work for N CPUs is that of N tasks or more. */
	tasks = ceil(sample->demand + plant->backlog / seconds);
	inputs->runnable = plant->backlog > 0 ? (unsigned int)tasks : sample->runnable;
	if (plant->backlog > 0 && sample->runnable > inputs->runnable)
		inputs->runnable = sample->runnable;
	inputs->pressure = sample->pressure;
	if (plant->backlog > 0)
		inputs->pressure = (unsigned int)lround(
			1000 * fmin(1, plant->backlog / (there * seconds)));
	if (inputs->pressure < sample->pressure)
		inputs->pressure = sample->pressure;
}
