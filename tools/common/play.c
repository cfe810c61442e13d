// SPDX-License-Identifier: GPL-2.0-only
/* Plays recorded load to a policy: see play.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plant.h"
#include "play.h"

/* Work that waits for more steps than MOST_WAIT counts as done after MOST_WAIT steps. */
#define MOST_WAIT	4096

/* The work of one step, until it is done. */
struct work {
	double until;		/* this work is done when plant.left has reached this value */
	double amount;
	unsigned long step;
};

struct player {
	const struct play *play;
	struct inputs inputs;
	struct load *loads;
	cpu_set_t *online, *before, *wanted, *next;
	struct restraint *restraint;
	struct decision decision;
	struct plant plant;
	double *gone_at;			/* when each CPU last went offline */
	unsigned int going, coming, settled;	/* CPUs of this step's request */
	double free_at;				/* when the last request ends, or ended */
	double last_on;				/* how long CPUs last took to come */
	struct work waiting[MOST_WAIT];		/* a ring */
	unsigned long head, tail;
	double waits[MOST_WAIT + 1];		/* [n]: how much work waited for n steps */
	double extra[MOST_WAIT + 1];		/* [n]: greatest last_on when such work ended */
};

static double span(double first, double more, unsigned int count)
{
	return count ? first + more * (count - 1) : 0;
}

double request_seconds(const struct request_times *times, unsigned int coming, unsigned int going)
{
	return span(times->on, times->on_more, coming) + span(times->off, times->off_more, going);
}

static void end(struct player *player)
{
	CPU_FREE(player->online);
	CPU_FREE(player->before);
	CPU_FREE(player->wanted);
	CPU_FREE(player->next);
	restraint_free(player->restraint);
	free(player->loads);
	free(player->gone_at);
	free(player);
}

static struct player *begin(const struct play *play)
{
	struct player *player = calloc(1, sizeof(*player));
	cpu_set_t **sets[4];
	size_t i;

	if (!player)
		return NULL;
	sets[0] = &player->online;
	sets[1] = &player->before;
	sets[2] = &player->wanted;
	sets[3] = &player->next;
	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		*sets[i] = CPU_ALLOC(play->size * 8);
		if (!*sets[i])
			goto failed;
		memcpy(*sets[i], play->usable, play->size);
	}
	player->play = play;
	player->loads = calloc(play->count + 1, sizeof(*player->loads));
	player->restraint = restraint_new(play->count);
	player->gone_at = calloc(play->count + 1, sizeof(*player->gone_at));
	if (!player->loads || !player->restraint || !player->gone_at)
		goto failed;
	player->decision.wanted = player->wanted;
	player->inputs = (struct inputs){
		.count = play->count,
		.size = play->size,
		.places = play->places,
		.loads = player->loads,
		.usable = play->usable,
		.online = player->online,
		.floor = play->floor,
		.before = player->before,
	};
	return player;
failed:
	end(player);
	return NULL;
}

static void finish(struct player *player, unsigned long now)
{
	const struct work *work = &player->waiting[player->tail++ % MOST_WAIT];
	unsigned long steps = now - work->step;

	if (steps > MOST_WAIT)
		steps = MOST_WAIT;
	player->waits[steps] += work->amount;
	if (steps && player->extra[steps] < player->last_on)
		player->extra[steps] = player->last_on;
}

/* Work that came first is done first. */
static void count_work(struct player *player, double amount, unsigned long now)
{
	const struct plant *plant = &player->plant;

	if (player->head - player->tail == MOST_WAIT)
		finish(player, now);
	player->waiting[player->head++ % MOST_WAIT] = (struct work){ plant->came, amount, now };
	while (player->tail != player->head &&
	       player->waiting[player->tail % MOST_WAIT].until <= plant->left + 1e-6)
		finish(player, now);
}

static void sum_up(struct player *player, unsigned long steps, struct outcome *outcome)
{
	double length = player->play->interval_ms / 1000.0, before = 0, all = 0, wait;
	unsigned int i, p99 = 0;

	while (player->tail != player->head)
		finish(player, steps);
	for (i = 0; i <= MOST_WAIT; i++)
		all += player->waits[i];
	for (i = 0; i <= MOST_WAIT; i++) {
		if (before < 0.99 * all)
			p99 = i;
		wait = i * length + player->extra[i];
		/* A wait of fewer steps may be longer, as extra[] may exceed an interval. */
		if (player->waits[i] > 0 && wait > outcome->wait_longest)
			outcome->wait_longest = wait;
		before += player->waits[i];
	}
	outcome->wait_p99 = p99 * length + player->extra[p99];
	outcome->waited = all > 0 ? 1 - player->waits[0] / all : 0;
	outcome->seconds = (double)steps * length;
}

/* Computes how long the request takes that changes the CPUs online to player->next. */
static void time_request(struct player *player, double now)
{
	const struct play *play = player->play;
	double off, on;
	unsigned int cpu;

	for (cpu = 0; cpu < play->count; cpu++) {
		bool before = CPU_ISSET_S(cpu, play->size, player->online);
		bool after = CPU_ISSET_S(cpu, play->size, player->next);

		if (before && !after) {
			player->going++;
			player->gone_at[cpu] = now;
		} else if (!before && after) {
			player->coming++;
			player->settled += now - player->gone_at[cpu] > play->requests.settle_after;
		}
	}
	off = request_seconds(&play->requests, 0, player->going);
	on = request_seconds(&play->requests, player->coming, 0) +
	     player->settled * play->requests.settled_more;
	player->free_at = now + off + on;
	if (player->coming)
		player->last_on = on;
}

static void change(struct player *player, double now, struct outcome *outcome)
{
	uint64_t now_us = (uint64_t)(now * 1e6 + 0.5);
	unsigned int minute;

	restraint_changed(player->restraint, &player->inputs, player->online, player->next, now_us);
	minute = restraint_changes(player->restraint, now_us);
	outcome->changes++;
	if (minute > outcome->most_in_a_minute)
		outcome->most_in_a_minute = minute;
	time_request(player, now);
	outcome->requesting += player->free_at - now;
}

/* Lets the policy decide at the end of an interval, unless a request is under way. */
static int decide(struct player *player, double now, struct outcome *outcome)
{
	const struct play *play = player->play;
	int err;

	memcpy(player->next, player->online, play->size);
	player->going = player->coming = player->settled = 0;
	if (now < player->free_at)
		return 0;
	err = play->policy->decide(play->settings, &player->inputs, &player->decision);
	if (err)
		return err;
	restrain(player->restraint, &play->rules, play->policy, &player->inputs, player->wanted,
		 (uint64_t)(now * 1e6 + 0.5), player->next);
	if (!CPU_EQUAL_S(play->size, player->online, player->next))
		change(player, now, outcome);
	memcpy(player->before, player->wanted, play->size);
	return 0;
}

static int step(struct player *player, const struct sample *sample, unsigned long number,
		play_watch *watch, void *data, struct outcome *outcome)
{
	const struct play *play = player->play;
	double length = play->interval_ms / 1000.0;
	unsigned int online = (unsigned int)CPU_COUNT_S(play->size, player->online);
	struct play_step now = {
		.begin = (double)number * length,
		.seconds = length,
		.online = player->online,
		.next = player->next,
		.loads = player->loads,
		.why = player->decision.why,
	};
	int err;

	plant_step(&player->plant, sample, length, &player->inputs, player->loads);
	count_work(player, sample->demand * length, number);
	outcome->cpu_seconds += online * length;
	outcome->least = online < outcome->least ? online : outcome->least;
	outcome->most = online > outcome->most ? online : outcome->most;
	err = decide(player, now.begin + length, outcome);
	if (err)
		return err;
	now.going = player->going;
	now.coming = player->coming;
	now.settled = player->settled;
	now.off_seconds = request_seconds(&play->requests, 0, player->going);
	if (watch)
		watch(&now, data);
	memcpy(player->online, player->next, play->size);
	return 0;
}

/* Returns the mean of @trace between the seconds @begin, which lies in row @row, and @end. */
static struct sample mean_of(const struct load_trace *trace, unsigned int row, double begin,
			     double end)
{
	struct sample mean = { .demand = 0 };
	double runnable = 0, pressure = 0, at = begin;

	if (trace->rows[row].end >= end || row + 1 == trace->count)
		return trace->rows[row].sample;
	for (; row < trace->count && at < end; row++) {
		const struct sample *sample = &trace->rows[row].sample;
		double until = trace->rows[row].end < end ? trace->rows[row].end : end;

		mean.demand += sample->demand * (until - at);
		mean.steal += sample->steal * (until - at);
		runnable += sample->runnable * (until - at);
		pressure += sample->pressure * (until - at);
		at = until;
	}
	mean.demand /= at - begin;
	mean.steal /= at - begin;
	mean.runnable = (unsigned int)(runnable / (at - begin) + 0.5);
	mean.pressure = (unsigned int)(pressure / (at - begin) + 0.5);
	return mean;
}

int play_trace(const struct play *play, const struct load_trace *trace, play_watch *watch,
	       void *data, struct outcome *outcome)
{
	double length = play->interval_ms / 1000.0, last = trace->rows[trace->count - 1].end, now;
	struct player *player = begin(play);
	struct sample sample;
	unsigned long number;
	unsigned int row = 0;
	int err = player ? 0 : -ENOMEM;

	*outcome = (struct outcome){ .least = play->count };
	for (number = 0; !err; number++) {
		now = (double)number * length;
		if (now >= last)
			break;
		while (row + 1 < trace->count && trace->rows[row].end <= now)
			row++;
		sample = mean_of(trace, row, now, now + length);
		err = step(player, &sample, number, watch, data, outcome);
	}
	if (!err)
		sum_up(player, number, outcome);
	if (player)
		end(player);
	return err;
}
