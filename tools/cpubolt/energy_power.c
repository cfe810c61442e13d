// SPDX-License-Identifier: GPL-2.0-only
/* Computes the power that a machine takes, by a model: see energy_power.h */
#include <math.h>

#include "energy_power.h"

/*
 * Idle periods end at random, "rate" of them in a second of idle time. Returns which share of the
 * idle time is in periods of "seconds" or more; number_of_long() returns which share of the periods
 * is that long.
 */
static double time_in_long(double rate, double seconds)
{
	return (1 + rate * seconds) * exp(-rate * seconds);
}

static double number_of_long(double rate, double seconds)
{
	return exp(-rate * seconds);
}

/* The power of one CPU that is online. */
static double cpu_power(const struct energy_model *model, double busy, double rate)
{
	double power = busy * model->active.value, idle = 1 - busy;
	size_t i;

	for (i = 0; idle > 0 && i < model->idle_count; i++) {
		const struct energy_idle *state = &model->idle[i];
		/* The first state is for the shortest periods, too. */
		double least = i ? state->residency_us.value / 1e6 : 0;
		double most = i + 1 < model->idle_count ?
			      model->idle[i + 1].residency_us.value / 1e6 : INFINITY;
		double in_time = time_in_long(rate, least);
		double entries = number_of_long(rate, least);

		if (isfinite(most)) {
			in_time -= time_in_long(rate, most);
			entries -= number_of_long(rate, most);
		}
		power += idle * in_time * state->power.value;
		power += idle * rate * entries * state->exit_us.value / 1e6 * model->active.value;
	}
	return power;
}

static bool may_sleep(const struct energy_model *model, const struct energy_sleep *state,
		      const struct energy_load *load)
{
	if (load->warm && !model->warm_sleeps.value)
		return false;
	return !state->online_most.line || load->online <= state->online_most.value;
}

/* The power that a package saves by sleeping while none of its CPUs is awake. */
static double sleep_saves(const struct energy_model *model, const struct energy_load *load,
			  double rate)
{
	double asleep = pow(1 - load->busy, load->online), saves = 0, in_time = 0, entries = 0;
	double all = load->online * rate;
	size_t i;

	/*
	 * The deepest state comes first: time in which the package cannot be in that state is left
	 * for the next shallower one.
	 */
	for (i = model->sleep_count; asleep > 0 && i-- > 0;) {
		const struct energy_sleep *state = &model->sleep[i];
		double residency = state->residency_us.value / 1e6, share = asleep;
		double less = model->awake.value - state->power.value;

		if (!may_sleep(model, state, load))
			continue;
		share *= state->share.value;
		saves += share * less * (time_in_long(all, residency) - in_time);
		saves -= share * less * all * state->exit_us.value / 1e6 *
			 (number_of_long(all, residency) - entries);
		in_time = time_in_long(all, residency);
		entries = number_of_long(all, residency);
	}
	return saves > 0 ? saves : 0;
}

double energy_power(const struct energy_model *model, const struct energy_load *load)
{
	double cpus = model->package.value, wakeups, rate;
	double power = model->awake.value + load->warm * model->warm.value;

	wakeups = model->idle_wakeups.value + model->work_wakeups.value * load->busy;
	rate = load->busy < 1 ? wakeups / (1 - load->busy) : 0;
	power += load->online * cpu_power(model, load->busy, rate);
	power += (cpus - load->online - load->warm) * model->offline.value;
	return power - sleep_saves(model, load, rate);
}

/* -- Requests ------------------------------------------------------------- */

struct request_times energy_request_times(const struct energy_requests *requests)
{
	return (struct request_times){
		.off = requests->off_ms.value / 1000,
		.off_more = requests->off_more_ms.value / 1000,
		.on = requests->on_ms.value / 1000,
		.on_more = requests->on_more_ms.value / 1000,
		.settled_more = requests->settled_more_ms.value / 1000,
		.settle_after = requests->settle_after_ms.line ?
				requests->settle_after_ms.value / 1000 : INFINITY,
	};
}

double energy_of_requests(const struct energy_model *model, enum energy_kind kind,
			  const struct energy_requested *requested)
{
	const struct energy_requests *requests = &model->requests[kind];
	double off_ms = requested->off * requests->off_ms.value +
			(requested->off_cpus - requested->off) * requests->off_more_ms.value;
	double on_ms = requested->on * requests->on_ms.value +
		       (requested->on_cpus - requested->on) * requests->on_more_ms.value +
		       requested->came_settled * requests->settled_more_ms.value;
	double busy_ms = off_ms * requests->off_busy.value + on_ms * requests->on_busy.value +
			 requested->settled * requests->settle_ms.value;

	return busy_ms / 1000 * model->active.value;
}

/* -- CPUs that go for a while ------------------------------------------------ */

/* The time and energy of CPUs that go and come once. */
struct round {
	double off, settle_after;	/* seconds: of the offline request, and parked */
	double before, warm, cold;	/* milliwatts: CPUs online, parked, and settled */
	double cost, settled_cost;	/* millijoules: of the requests, and what settling adds */
};

static struct round round_of(const struct energy_model *model, const struct energy_leave *leave)
{
	const struct energy_requests *requests = &model->requests[leave->kind];
	struct request_times times = energy_request_times(requests);
	struct energy_load before = { .online = leave->online };
	struct energy_load cold = { .online = leave->online - leave->going }, warm = cold;
	struct energy_requested once = {
		.off = 1, .off_cpus = leave->going, .on = 1, .on_cpus = leave->going,
	};
	struct energy_requested settled = {
		.settled = leave->going, .came_settled = leave->going,
	};

	if (requests->parks_warm.value)
		warm.warm = leave->going;
	return (struct round){
		.off = request_seconds(&times, 0, leave->going),
		.settle_after = times.settle_after,
		.before = energy_power(model, &before),
		.warm = energy_power(model, &warm),
		.cold = energy_power(model, &cold),
		.cost = energy_of_requests(model, leave->kind, &once),
		.settled_cost = energy_of_requests(model, leave->kind, &settled),
	};
}

/* Nothing is saved before the offline request has ended. */
static double saved(const struct round *round, double seconds)
{
	bool settles = isfinite(round->settle_after);
	double away = seconds > round->off ? seconds - round->off : 0, warm = 0;

	if (settles)
		warm = fmin(away, round->settle_after);
	return warm * (round->before - round->warm) +
	       (away - warm) * (round->before - round->cold) - round->cost -
	       (settles && away > round->settle_after ? round->settled_cost : 0);
}

double energy_saved(const struct energy_model *model, const struct energy_leave *leave,
		    double seconds)
{
	struct round round = round_of(model, leave);

	return saved(&round, seconds);
}

double energy_break_even(const struct energy_model *model, const struct energy_leave *leave)
{
	struct round round = round_of(model, leave);
	double less = round.before - round.cold, warm_less = round.before - round.warm;
	double settle_after = round.settle_after, spent = round.cost;

	/* A difference of a billionth of the power, or less, is taken for a rounding error. */
	if (less <= round.before * 1e-9)
		return -1;
	if (!isfinite(settle_after))
		return round.off + spent / less;
	/*
	 * If the CPUs, right after they were settled, have saved as much as settling and requests
	 * cost, the break-even time is before that moment.
	 */
	if (warm_less * settle_after >= spent + round.settled_cost)
		return round.off + spent / warm_less;
	spent += round.settled_cost - warm_less * settle_after;
	return round.off + settle_after + spent / less;
}
