/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A simulated machine: recorded work is done on the CPUs that a policy keeps online
 *
 * Work that finds no CPU waits, and is done later. The scheduler is taken for an ideal one that
 * keeps all CPUs busy alike. If more work waits than the whole machine can do in a minute, the
 * surplus is dropped: a recording cannot say what programs would have done then.
 */
#ifndef PLANT_H
#define PLANT_H

#include "policy.h"

/** What was recorded of one interval */
struct sample {
	double demand;		/* full CPUs that the tasks kept busy, stolen time included */
	double steal;		/* full CPUs that the host took; 0 if not recorded */
	unsigned int runnable;	/* tasks that run or wait; 0 if not recorded */
	/* thousandths of the interval in which a task waited for a CPU; 0 if not recorded */
	unsigned int pressure;
};

struct plant {
	double backlog;		/* work that has not been done, in seconds of a full CPU */
	double came;		/* all work that has come, in seconds of a full CPU */
	double left;		/* all work that was done or dropped */
};

/**
 * plant_step() - do the work of @sample for @seconds on the online CPUs of @inputs
 * @loads: overwritten, as are inputs->runnable and inputs->pressure
 */
void plant_step(struct plant *plant, const struct sample *sample, double seconds,
		struct inputs *inputs, struct load *loads);

#endif /* PLANT_H */
