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

/* Waiting is counted in steps, and nothing waits longer than that. */
#define MOST_WAIT	4096

/* The work of one step, until it is done. */
struct work {
	double until;		/* when so much work is done, all of this is */
	double amount;
	unsigned long step;
};

struct play {
	const struct machine *machine;
	const struct config *config;
	struct inputs inputs;
	struct load *loads;
	cpu_set_t *usable, *online, *floor, *before, *wanted, *next, *left_out;
	struct restraint *restraint;
	struct decision decision;
	struct plant plant;
	struct work waiting[MOST_WAIT];		/* a ring */
	unsigned long head, tail;
	double waits[MOST_WAIT + 1];		/* how much work waited for so many steps */
};

static void end(struct play *play)
{
	CPU_FREE(play->usable);
	CPU_FREE(play->online);
	CPU_FREE(play->floor);
	CPU_FREE(play->before);
	CPU_FREE(play->wanted);
	CPU_FREE(play->next);
	CPU_FREE(play->left_out);
	restraint_free(play->restraint);
	free(play->loads);
}

/* All CPUs that are plugged in, but for those that a daemon would leave alone. */
static int find_usable(struct play *play)
{
	static const enum cpubolt_which alone[] = { CPUBOLT_ISOLATED, CPUBOLT_NOHZ_FULL };
	const struct machine *machine = play->machine;
	int err = cpubolt_cpus(machine->handle, CPUBOLT_PRESENT, play->usable);
	size_t i;

	for (i = 0; !err && i <= 2; i++) {
		if (i < 2)
			err = cpubolt_cpus(machine->handle, alone[i], play->left_out);
		else
			memcpy(play->left_out, play->config->deny, machine->size);
		/* What is in both goes: a AND NOT b. */
		CPU_AND_S(machine->size, play->left_out, play->left_out, play->usable);
		CPU_XOR_S(machine->size, play->usable, play->usable, play->left_out);
	}
	return err;
}

static int begin(struct play *play, const struct machine *machine, const struct config *config)
{
	cpu_set_t **sets[] = { &play->usable, &play->online, &play->floor, &play->before,
			       &play->wanted, &play->next, &play->left_out };
	size_t i;
	int err;

	play->machine = machine;
	play->config = config;
	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		*sets[i] = machine_set(machine);
		if (!*sets[i])
			return -ENOMEM;
	}
	play->loads = calloc(machine->count + 1, sizeof(*play->loads));
	play->restraint = restraint_new(machine->count);
	if (!play->loads || !play->restraint)
		return -ENOMEM;
	err = find_usable(play);
	memcpy(play->online, play->usable, machine->size);
	memcpy(play->before, play->usable, machine->size);
	play->decision.wanted = play->wanted;
	play->inputs = (struct inputs){
		.count = machine->count,
		.size = machine->size,
		.places = machine->places,
		.loads = play->loads,
		.usable = play->usable,
		.online = play->online,
		.floor = play->floor,
		.before = play->before,
	};
	return err ?: floor_own(machine, config, &play->inputs, NULL, play->floor);
}

static void finish(struct play *play, unsigned long now)
{
	const struct work *work = &play->waiting[play->tail++ % MOST_WAIT];
	unsigned long steps = now - work->step;

	play->waits[steps < MOST_WAIT ? steps : MOST_WAIT] += work->amount;
}

/* What came first is done first. */
static void count_work(struct play *play, double amount, unsigned long now)
{
	const struct plant *plant = &play->plant;

	if (play->head - play->tail == MOST_WAIT)
		finish(play, now);
	play->waiting[play->head++ % MOST_WAIT] = (struct work){ plant->came, amount, now };
	while (play->tail != play->head &&
	       play->waiting[play->tail % MOST_WAIT].until <= plant->left + 1e-6)
		finish(play, now);
}

static void sum_up(struct play *play, unsigned long steps, struct outcome *outcome)
{
	double length = play->config->interval_ms / 1000.0, before = 0, all = 0;
	unsigned int i, p99 = 0;

	while (play->tail != play->head)
		finish(play, steps);
	for (i = 0; i <= MOST_WAIT; i++)
		all += play->waits[i];
	for (i = 0; i <= MOST_WAIT; i++) {
		if (before < 0.99 * all)
			p99 = i;
		if (play->waits[i] > 0)
			outcome->wait_longest = i * length;
		before += play->waits[i];
	}
	outcome->wait_p99 = p99 * length;
	outcome->waited = all > 0 ? 1 - play->waits[0] / all : 0;
	outcome->seconds = (double)steps * length;
}

static int step(struct play *play, const struct sample *sample, unsigned long number,
		bool *changed, struct outcome *outcome)
{
	const struct config *config = play->config;
	double length = config->interval_ms / 1000.0;
	unsigned int online = (unsigned int)CPU_COUNT_S(play->inputs.size, play->online);
	uint64_t now = (number + 1) * config->interval_ms * 1000ULL;
	unsigned int minute;
	int err;

	plant_step(&play->plant, sample, length, &play->inputs, play->loads);
	count_work(play, sample->demand * length, number);
	outcome->cpu_seconds += online * length;
	outcome->least = online < outcome->least ? online : outcome->least;
	outcome->most = online > outcome->most ? online : outcome->most;
	err = config->policy->decide(&config->settings, &play->inputs, &play->decision);
	if (err)
		return err;
	restrain(play->restraint, &config->rules, config->policy, &play->inputs, play->wanted, now,
		 play->next);
	*changed = !CPU_EQUAL_S(play->inputs.size, play->online, play->next);
	restraint_changed(play->restraint, &play->inputs, play->online, play->next, now);
	memcpy(play->before, play->wanted, play->inputs.size);
	memcpy(play->online, play->next, play->inputs.size);
	if (!*changed)
		return 0;
	minute = restraint_changes(play->restraint, now);
	outcome->changes++;
	if (minute > outcome->most_in_a_minute)
		outcome->most_in_a_minute = minute;
	return 0;
}

int replay(const struct machine *machine, const struct config *config, const struct trace *trace,
	   void (*print)(const struct machine *machine, double seconds, const cpu_set_t *online,
			 const char *why),
	   struct outcome *outcome)
{
	double length = config->interval_ms / 1000.0, last = trace->rows[trace->count - 1].end, now;
	struct play *play = calloc(1, sizeof(*play));
	unsigned long number;
	unsigned int row = 0;
	bool changed;
	int err = play ? begin(play, machine, config) : -ENOMEM;

	*outcome = (struct outcome){ .least = machine->count };
	for (number = 0; !err; number++) {
		now = (double)number * length;
		if (now >= last)
			break;
		while (row + 1 < trace->count && trace->rows[row].end <= now)
			row++;
		err = step(play, &trace->rows[row].sample, number, &changed, outcome);
		if (!err && changed && print)
			print(machine, now + length, play->online, play->decision.why);
	}
	if (!err)
		sum_up(play, number, outcome);
	if (play)
		end(play);
	free(play);
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
	struct trace trace;
	char *text, *error;
	size_t length = 0;
	cpu_set_t *present = machine_set(machine);
	int err;

	if (!present || cpubolt_cpus(machine->handle, CPUBOLT_PRESENT, present)) {
		CPU_FREE(present);
		return fail(EXIT_FAILED, "no memory");
	}
	text = file_read("", file, &length);
	if (!text) {
		CPU_FREE(present);
		return fail(EXIT_FAILED, "cannot read %s: %s", file, strerror(errno));
	}
	err = trace_parse(text, length, (unsigned int)CPU_COUNT_S(machine->size, present), &trace,
			  &error);
	CPU_FREE(present);
	free(text);
	if (err) {
		fail(EXIT_FAILED, "%s: %s", file, error ?: "no memory");
		free(error);
		return EXIT_FAILED;
	}
	printf("%12s  %5s  %s\n", "SECONDS", "CPUS", "ONLINE, AND WHY");
	err = replay(machine, config, &trace, print_change, &outcome);
	trace_free(&trace);
	if (err)
		return fail(EXIT_FAILED, "no memory");
	print_outcome(config, &outcome);
	return EXIT_DONE;
}
