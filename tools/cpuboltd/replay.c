// SPDX-License-Identifier: GPL-2.0-only
/* cpuboltd --replay: recorded load, and what a policy would have done */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "floor.h"
#include "replay.h"
#include "say.h"

struct replay {
	const struct machine *machine;
	cpu_set_t *usable, *floor;
	change_printer *print;
};

/* Finds all CPUs that are plugged in, online or not, except those of floor_alone(). */
static int find_usable(const struct machine *machine, const struct config *config,
		       cpu_set_t *usable)
{
	cpu_set_t *alone = machine_set(machine);
	int err = alone ? floor_alone(machine, config, alone) : -ENOMEM;

	if (!err)
		err = cpubolt_cpus(machine->handle, CPUBOLT_PRESENT, usable);
	if (!err) {
		CPU_AND_S(machine->size, alone, alone, usable);
		CPU_XOR_S(machine->size, usable, usable, alone);
	}
	CPU_FREE(alone);
	return err;
}

/* Returns the number of CPUs on which the load is played, or a negative errno. */
static int count_usable(const struct machine *machine, const struct config *config)
{
	cpu_set_t *usable = machine_set(machine);
	int err = usable ? find_usable(machine, config, usable) : -ENOMEM;
	int count = err ?: CPU_COUNT_S(machine->size, usable);

	CPU_FREE(usable);
	return count;
}

static void watch(const struct play_step *step, void *data)
{
	const struct replay *replay = data;

	if (replay->print && !CPU_EQUAL_S(replay->machine->size, step->online, step->next))
		replay->print(replay->machine, step->begin + step->seconds, step->next, step->why);
}

static int run(struct replay *replay, const struct config *config, const struct load_trace *trace,
	       struct outcome *outcome)
{
	const struct machine *machine = replay->machine;
	struct inputs inputs = {
		.count = machine->count,
		.size = machine->size,
		.places = machine->places,
		.usable = replay->usable,
		.floor = replay->floor,
	};
	struct play play = {
		.count = machine->count,
		.size = machine->size,
		.places = machine->places,
		.usable = replay->usable,
		.floor = replay->floor,
		.policy = config->policy,
		.settings = &config->settings,
		.rules = config->rules,
		.interval_ms = config->interval_ms,
	};
	int err = find_usable(machine, config, replay->usable);

	if (!err)
		err = floor_own(machine, config, &inputs, NULL, replay->floor);
	return err ?: play_trace(&play, trace, watch, replay, outcome);
}

int replay(const struct machine *machine, const struct config *config,
	   const struct load_trace *trace, change_printer *print, struct outcome *outcome)
{
	struct replay replay = {
		.machine = machine,
		.usable = machine_set(machine),
		.floor = machine_set(machine),
		.print = print,
	};
	int err = -ENOMEM;

	if (replay.usable && replay.floor)
		err = run(&replay, config, trace, outcome);
	CPU_FREE(replay.usable);
	CPU_FREE(replay.floor);
	return err;
}

/* -- The option ---------------------------------------------------------------- */

static void print_change(const struct machine *machine, double seconds, const cpu_set_t *online,
			 const char *why)
{
	char *list = machine_list(machine, online);

	printf("%12.3f  %5d  %s: %s\n", seconds, CPU_COUNT_S(machine->size, online),
	       list ?: "no memory", why);
	free(list);
}

static void print_outcome(const struct config *config, const struct outcome *outcome)
{
	double minutes = outcome->seconds / 60;

	printf("\npolicy %s, %.0f s in steps of %u ms\n", config->policy->name, outcome->seconds,
	       config->interval_ms);
	printf("CPUs online: %.2f on average, %u at least, %u at most\n",
	       outcome->cpu_seconds / outcome->seconds, outcome->least, outcome->most);
	printf("changes: %u, %.2f a minute, %u in a minute at most\n", outcome->changes,
	       outcome->changes / minutes, outcome->most_in_a_minute);
	printf("work that waited for a CPU: %.3f %%; 99 %% of the work waited for %.3f s or less, "
	       "all for %.3f s or less\n",
	       100 * outcome->waited, outcome->wait_p99, outcome->wait_longest);
}

int run_replay(const struct machine *machine, const struct config *config, const char *file)
{
	struct outcome outcome;
	struct load_trace trace;
	char *text, *error;
	size_t length = 0;
	int cpus = count_usable(machine, config), err;

	if (cpus < 0)
		return fail(EXIT_FAILED, "cannot read which CPUs there are: %s", strerror(-cpus));
	text = file_read("", file, &length);
	if (!text)
		return fail(EXIT_FAILED, "cannot read %s: %s", file, strerror(errno));
	err = load_trace_parse(text, length, (unsigned int)cpus, &trace, &error);
	free(text);
	if (err) {
		fail(EXIT_FAILED, "%s: %s", file, error ?: "no memory");
		free(error);
		return EXIT_FAILED;
	}
	printf("%12s  %5s  %s\n", "SECONDS", "CPUS", "ONLINE, AND WHY");
	err = replay(machine, config, &trace, print_change, &outcome);
	load_trace_free(&trace);
	if (err)
		return fail(EXIT_FAILED, "%s: %s", file, strerror(-err));
	print_outcome(config, &outcome);
	return EXIT_DONE;
}
