/* SPDX-License-Identifier: GPL-2.0-only */
/* What "cpubolt energy" prints: tables, or JSON */
#ifndef ENERGY_SAY_H
#define ENERGY_SAY_H

#include "energy_replay.h"

struct energy_words {
	struct energy_model *model;		/* as before when energy_say_*() returns */
	const char *trace;			/* NULL: no way was played */
	const struct energy_pace *pace;
	const struct energy_run *runs;		/* WAYS of them */
};

/** energy_say_tables() - print tables; an exit code */
int energy_say_tables(const struct energy_words *words);

/** energy_say_json() - print the figures of the tables, and more, as JSON; an exit code */
int energy_say_json(const struct energy_words *words);

#endif /* ENERGY_SAY_H */
