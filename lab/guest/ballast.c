// SPDX-License-Identifier: GPL-2.0-only
/* The part of measure that uses the module ballast, which ballast/ballast.c explains. */
#define _GNU_SOURCE
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMETERS "/sys/module/ballast/parameters/"

/* Makes every CPU of the measurement add to every counter and use every cache. */
void ballast_charge(const struct measure *m)
{
	for (int i = 0; i < m->ncpus; i++) {
		char cpu[16];
		int err;

		snprintf(cpu, sizeof(cpu), "%d", m->cpus[i]);
		err = write_text(PARAMETERS "charge", cpu);
		if (err)
			die("charge CPU %s: %s", cpu, strerror(-err));
	}
}

/* Every counter must hold the sum of what was added, whichever CPUs are online. */
void ballast_check(void)
{
	char text[32];

	if (read_text(PARAMETERS "wrong", text, sizeof(text)) < 0)
		die("cannot read the counters");
	if (atol(text))
		die("%ld counters are wrong", atol(text));
}
