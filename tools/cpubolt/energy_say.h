/* SPDX-License-Identifier: GPL-2.0-only */
/* What "cpubolt energy" prints: tables, or JSON */
#ifndef ENERGY_SAY_H
#define ENERGY_SAY_H

#include "energy_replay.h"

struct energy_words {
	struct energy_model *model;		/* unchanged when energy_say_*() returns */
	const char *trace;			/* name of the trace; NULL: no trace was played */
	const struct energy_pace *pace;
	const struct energy_run *runs;		/* a run for each of the WAYS ways */
};

/** energy_say_tables() - print tables; an exit code */
int energy_say_tables(const struct energy_words *words);

/** energy_say_json() - print the figures of the tables, and more, as JSON; an exit code */
int energy_say_json(const struct energy_words *words);

#endif /* ENERGY_SAY_H */
