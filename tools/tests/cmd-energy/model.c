// SPDX-License-Identifier: GPL-2.0-only
/* Tests models of power: their files, what is computed with a model, and ways to run a machine */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "energy_replay.h"
#include "file_read.h"

#define MODEL_ROUNDS	2000	/* number of made-up models */

static uint64_t state = 88172645463325252ULL;

static double chance(double least, double most)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return least + (most - least) * (double)(state % 1000003) / 1000002;
}

/* -- Files ---------------------------------------------------------------- */

static void read_into(struct energy_model *model, const char *name)
{
	size_t length = 0;
	char path[64], *text, *error;

	snprintf(path, sizeof(path), "/%s.conf", name);
	text = file_read(MODELS, path, &length);
	assert_non_null(text);
	assert_int_equal(energy_model_parse(name, text, length, model, &error), 0);
	free(text);
}

static void read_model(struct energy_model *model, const char *name, const char *requests)
{
	char *error;

	*model = (struct energy_model){ 0 };
	read_into(model, name);
	assert_non_null(model->default_requests);
	read_into(model, requests ?: model->default_requests);
	assert_int_equal(energy_model_check(model, &error), 0);
}

static void test_the_installed_models(void **unused)
{
	static const char *const models[] = { "exynos5410", "xeon-4114" };
	static const char *const requests[] = {
		NULL, "arm64-4", "arm64-4-cold", "x86_64-32", "x86_64-32-cold", "paper-exynos5410",
	};
	struct energy_model model;
	unsigned int i, number;
	char label[64];
	size_t k;

	for (i = 0; i < 2; i++) {
		for (k = 0; k < 6; k++) {
			read_model(&model, models[i], requests[k]);
			for (number = 0; energy_quantity(&model, number, label, sizeof(label));)
				number++;
			assert_in_range(number, 30, 60);
			energy_model_free(&model);
		}
	}
}

/*
 * The paper on Bolt, the first source of exynos5410.conf, has 97 mW with all cores in C2, and
 * 55 mW, 43 % less, in C3, for which all cores but one have to be offline.
 */
static void test_the_figures_of_the_paper(void **unused)
{
	struct energy_load all = { .online = 4 }, one = { .online = 1 }, two = { .online = 2 };
	struct energy_model model;
	double c2, c3;

	read_model(&model, "exynos5410", NULL);
	model.idle_wakeups.value = 0;
	c2 = energy_power(&model, &all);
	c3 = energy_power(&model, &one);
	assert_true(fabs(c2 - 97) < 1e-9);
	assert_true(fabs(c3 - 55) < 1e-9);
	assert_int_equal(lround(100 * (c2 - c3) / c2), 43);
	/*
	 * The paper: "All on-chip cores but one should be in hotplug offline state to enable C3."
	 */
	assert_true(fabs(energy_power(&model, &two) - 97) < 1e-9);
	/* A CPU that is parked warm keeps the cluster awake. */
	one.warm = 1;
	assert_true(energy_power(&model, &one) >= 97);
	energy_model_free(&model);
}

#define HEAD	"[machine]\nname = m\nsource = s\ncpus = 4\npackage = 4\n"

static void test_what_is_wrong_in_a_model(void **unused)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "[machin]\n", "f:1: there is no section [machin]" },
		{ "[machine] x\n", "f:1: a section is a name in brackets, and nothing else" },
		{ "cpus = 4\n", "f:1: cpus = ... stands before the first section" },
		{ "# r\n\n[machine]\ncpu = 4\n", "f:4: the section [machine] has no key \"cpu\"" },
		{ "[machine]\ncpus 4\n", "f:2: the line is neither a section nor \"key = value\"" },
		{ "[machine]\ncpus = 4\ncpus = 4\n", "f:3: cpus is there twice" },
		{ "[machine]\ncpus = 4.5\n",
		  "f:2: cpus = 4.5: a whole number without a range is wanted" },
		{ "[machine]\ncpus = 0\n", "f:2: cpus = 0: a number from 1 to 1024 is wanted" },
		{ "[machine]\ncpus = nan\n",
		  "f:2: cpus = nan: a number is wanted, or \"N (LOW..HIGH)\"" },
		{ "[machine]\ncpus = 0x4\n",
		  "f:2: cpus = 0x4: a number is wanted, or \"N (LOW..HIGH)\"" },
		{ "[machine]\nname = \n", "f:2: the line is neither a section nor \"key = value\"" },
		{ "[power]\nactive = 9 (10..11)\n",
		  "f:2: active = 9 (10..11): the number is not in its range" },
		{ "[power]\nactive = 9 (1.11)\n",
		  "f:2: active = 9 (1.11): a number is wanted, or \"N (LOW..HIGH)\"" },
		{ "[power]\nactive = 9 (1..11\n",
		  "f:2: active = 9 (1..11: a number is wanted, or \"N (LOW..HIGH)\"" },
		{ "[power]\nactive = -9\n", "f:2: active = -9: a number from 0 to 1e+09 is wanted" },
		{ "[power]\nactive = 1e99\n",
		  "f:2: active = 1e99: a number from 0 to 1e+09 is wanted" },
		{ "[idle ]\n", "f:1: [idle ...]: a name of 1 to 23 characters is wanted" },
		{ "[requests bolt]\n[requests bolt]\n", "f:2: [requests bolt] is there twice" },
		{ "[requests bolt]\nsettle_after_ms = 1 (1..2)\n",
		  "f:2: settle_after_ms = 1 (1..2): a number without a range is wanted" },
		{ HEAD, "f:1: [power] lacks active" },
		{ HEAD "[sleep C3]\npower = 1\n", "f:1: [power] lacks active" },
	};
	struct energy_model model;
	char *error;
	size_t i;
	int err;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *text = cases[i].text;

		model = (struct energy_model){ 0 };
		err = energy_model_parse("f", text, strlen(text), &model, &error);
		if (!err)
			err = energy_model_check(&model, &error);
		assert_int_equal(err, -EINVAL);
		assert_string_equal(error, cases[i].error);
		free(error);
		energy_model_free(&model);
	}
	model = (struct energy_model){ 0 };
	assert_int_equal(energy_model_parse("f", "[machine]\n\0", 11, &model, &error), -EINVAL);
	assert_string_equal(error, "f:1: the file contains a NUL: it is no text");
	free(error);
	energy_model_free(&model);
}

/* Checks that a model of two texts, which are called "m" and "r", is refused with @wanted. */
static void check_two(const char *machine, const char *requests, const char *wanted)
{
	struct energy_model model = { 0 };
	char *error;

	assert_int_equal(energy_model_parse("m", machine, strlen(machine), &model, &error), 0);
	assert_int_equal(energy_model_parse("r", requests, strlen(requests), &model, &error), 0);
	assert_int_equal(energy_model_check(&model, &error), -EINVAL);
	assert_string_equal(error, wanted);
	free(error);
	energy_model_free(&model);
}

/*
 * The message names the file that has the wrong line or section, or, if a section is missing, the
 * file that would have to have the section.
 */
static void test_messages_name_the_right_file(void **unused)
{
	static const char machine[] = HEAD
		"[power]\nactive = 9\nawake = 9\noffline = 0\nwarm = 0\nwarm_sleeps = 0\n"
		"[wakeups]\nidle = 1\nwork = 1\n"
		"[idle C1]\npower = 0\nresidency_us = 1\nexit_us = 1\n";
	static const char native[] =
		"\n[requests native]\noff_ms = 1\noff_more_ms = 1\non_ms = 1\non_more_ms = 1\n"
		"off_busy = 1\non_busy = 1\n";
	struct energy_model model = { 0 };
	char text[512], *error;
	int i;

	check_two(machine, "", "r:1: [requests native] lacks off_ms");
	check_two(machine, "[requests native]\n", "r:1: [requests native] lacks off_ms");
	check_two(machine, native, "r:1: [requests bolt] lacks off_ms");
	snprintf(text, sizeof(text), "%s[requests bolt]\n", native);
	check_two(machine, text, "r:9: [requests bolt] lacks off_ms");
	check_two(HEAD, native, "m:1: [power] lacks active");
	check_two(machine, "\n[idle C2]\n", "r:2: [idle C2] lacks power");
	check_two(machine, "\n[sleep S]\n", "r:2: [sleep S] lacks power");
	for (i = 0; i < ENERGY_MOST_FILES; i++)
		assert_int_equal(energy_model_parse("f", "", 0, &model, &error), 0);
	assert_int_equal(energy_model_parse("g", "", 0, &model, &error), -EINVAL);
	assert_string_equal(error, "g:1: there are more than 2 files");
	free(error);
	energy_model_free(&model);
}

static void test_what_contradicts_itself(void **unused)
{
	struct energy_model model;
	char *error;

	read_model(&model, "exynos5410", NULL);
	model.cpus.value = 6;
	assert_int_equal(energy_model_check(&model, &error), -EINVAL);
	assert_non_null(strstr(error, ": 6 CPUs cannot be divided into packages of 4"));
	free(error);
	model.cpus.value = 4;
	model.idle[1].residency_us.value = 0;
	assert_int_equal(energy_model_check(&model, &error), -EINVAL);
	assert_non_null(strstr(error, "[idle C2] must have a longer residency than [idle C1]"));
	free(error);
	model.idle[1].residency_us.value = 2000;
	model.idle[1].power.value = model.idle[1].power.high = 1;
	assert_int_equal(energy_model_check(&model, &error), -EINVAL);
	assert_non_null(strstr(error, "that of [idle C2] has to be 0"));
	free(error);
	model.idle[1].power.value = model.idle[1].power.high = 0;
	model.sleep[0].power.value = 98;
	assert_int_equal(energy_model_check(&model, &error), -EINVAL);
	assert_non_null(strstr(error, "a package takes more power in [sleep C3] than awake"));
	free(error);
	energy_model_free(&model);
}

/* -- What is computed with a model ---------------------------------------- */

static void make_up(struct energy_model *model)
{
	int kind;

	read_model(model, chance(0, 1) < 0.5 ? "exynos5410" : "xeon-4114", NULL);
	model->active.value = chance(100, 5000);
	model->awake.value = chance(60, 40000);
	model->sleep[0].power.value = chance(10, model->awake.value);
	model->sleep[0].share.value = chance(0, 1);
	model->sleep[0].residency_us.value = chance(100, 20000);
	model->idle[0].power.value = chance(1, 2000);
	model->offline.value = chance(-5, 5);
	model->warm.value = chance(-5, 2000);
	model->idle_wakeups.value = chance(0, 200);
	model->work_wakeups.value = chance(1, 5000);
	for (kind = 0; kind < ENERGY_KINDS; kind++) {
		struct energy_requests *requests = &model->requests[kind];

		requests->off_ms.value = chance(0.01, 50);
		requests->off_more_ms.value = chance(0.01, 50);
		requests->on_ms.value = chance(0.01, 50);
		requests->on_more_ms.value = chance(0.01, 50);
		requests->off_busy.value = chance(0.01, 1);
		requests->on_busy.value = chance(0.01, 1);
	}
	model->requests[ENERGY_BOLT].settle_after_ms.value = chance(0, 2000);
	model->requests[ENERGY_BOLT].settle_ms.value = chance(0, 5);
	model->requests[ENERGY_BOLT].settled_more_ms.value = chance(0, 10);
	model->requests[ENERGY_BOLT].parks_warm.value = chance(0, 1) < 0.5;
}

/*
 * Returns a time shortly before the break-even time @seconds, at which CPUs that are away have not
 * saved energy yet. If CPUs are settled shortly before @seconds, the CPUs may have saved energy
 * until then, which settling uses up: in this case the function returns a time after settling.
 */
static double shortly_before(const struct energy_model *model, const struct energy_leave *leave,
			     double seconds)
{
	const struct energy_requests *requests = &model->requests[leave->kind];
	double settled = (requests->off_ms.value + (leave->going - 1) * requests->off_more_ms.value +
			  requests->settle_after_ms.value) / 1000;

	if (leave->kind == ENERGY_BOLT && seconds > settled && seconds * 0.99 <= settled)
		return (settled + seconds) / 2;
	return seconds * 0.99;
}

static void test_break_even_is_where_nothing_is_saved(void **unused)
{
	unsigned int round, i, found = 0, never = 0;

	for (round = 0; round < MODEL_ROUNDS; round++) {
		struct energy_model model;
		struct energy_leave leave;
		double seconds, after;

		make_up(&model);
		leave.online = (unsigned int)model.package.value;
		leave.going = (unsigned int)chance(1, leave.online);
		leave.kind = chance(0, 1) < 0.5 ? ENERGY_NATIVE : ENERGY_BOLT;
		seconds = energy_break_even(&model, &leave);
		if (seconds < 0) {
			never++;
			/* 1e7 seconds, 116 days, stand for a time without end. */
			assert_true(energy_saved(&model, &leave, 1e7) < 1 ||
				    energy_saved(&model, &leave, 1e7) < 1e7 * 1e-6);
		} else {
			double scale = model.awake.value * seconds + 1;

			found++;
			assert_true(fabs(energy_saved(&model, &leave, seconds)) < 1e-6 * scale);
			for (i = 0; i < 20; i++) {
				after = seconds * (1 + pow(10, chance(-6, 3)));
				assert_true(energy_saved(&model, &leave, after) > -1e-6 * scale);
			}
			assert_true(energy_saved(&model, &leave,
						 shortly_before(&model, &leave, seconds)) <
				    1e-6 * scale);
		}
		energy_model_free(&model);
	}
	assert_in_range(found, 100, MODEL_ROUNDS);
	assert_in_range(never, 5, MODEL_ROUNDS);
}

static void test_more_requests_take_more(void **unused)
{
	unsigned int round;

	for (round = 0; round < MODEL_ROUNDS; round++) {
		struct energy_requested few = {
			.off = 5, .off_cpus = 5 + (unsigned long)chance(0, 9),
			.on = 4, .on_cpus = 4 + (unsigned long)chance(0, 9),
		};
		struct energy_requested many = few;
		enum energy_kind kind = chance(0, 1) < 0.5 ? ENERGY_NATIVE : ENERGY_BOLT;
		struct energy_model model;
		double before, after;

		make_up(&model);
		before = energy_of_requests(&model, kind, &few);
		switch ((int)chance(0, 2.999)) {
		case 0:
			many.off++;
			many.off_cpus++;
			break;
		case 1:
			many.on_cpus++;
			break;
		default:
			many.settled++;
			kind = ENERGY_BOLT;
			before = energy_of_requests(&model, kind, &few);
		}
		after = energy_of_requests(&model, kind, &many);
		assert_true(after > before);
		energy_model_free(&model);
	}
}

/*
 * CPUs without work that nothing wakes up take no more power than CPUs that work and wake up. A
 * package whose sleep state saves nothing takes no less power than with a sleep state that does.
 */
static void test_power(void **unused)
{
	unsigned int round;

	for (round = 0; round < MODEL_ROUNDS; round++) {
		struct energy_model model;
		struct energy_load load, still;
		double power, wakeups;

		make_up(&model);
		load.online = (unsigned int)chance(1, model.package.value + 0.999);
		load.warm = 0;
		load.busy = chance(0, 0.9);
		power = energy_power(&model, &load);
		assert_true(isfinite(power));
		still = (struct energy_load){ .online = load.online };
		wakeups = model.idle_wakeups.value;
		model.idle_wakeups.value = 0;
		assert_true(energy_power(&model, &still) <= power + 1e-9);
		model.idle_wakeups.value = wakeups;
		model.sleep[0].power.value = model.awake.value;
		assert_true(energy_power(&model, &load) >= power - 1e-9);
		energy_model_free(&model);
	}
}

/* -- Ways ----------------------------------------------------------------- */

static void read_trace(struct load_trace *trace, const char *name, unsigned int cpus)
{
	size_t length = 0;
	char *text = file_read(DATA, name, &length), *error;

	assert_non_null(text);
	assert_int_equal(load_trace_parse(text, length, cpus, trace, &error), 0);
	free(text);
}

static double all_seconds(const struct energy_run *run)
{
	size_t width = run->package + 1, i;
	double sum = 0;

	for (i = 0; i < width * width * 1001; i++)
		sum += run->seconds[i];
	return sum;
}

static void test_no_hotplug_is_the_baseline(void **unused)
{
	static const char text[] = "interval,demand\n10,0\n20,2\n10,4\n";
	struct energy_load idle = { .online = 4 }, half = { .online = 4, .busy = 0.5 };
	struct energy_load full = { .online = 4, .busy = 1 };
	struct energy_saving saving;
	struct energy_model model;
	struct load_trace trace;
	struct energy_run run;
	char *error;
	double joules;

	read_model(&model, "exynos5410", NULL);
	assert_int_equal(load_trace_parse(text, strlen(text), 4, &trace, &error), 0);
	assert_int_equal(energy_run(&model, WAY_NONE, &energy_fast_pace, &trace, &run), 0);
	joules = (10 * energy_power(&model, &idle) + 20 * energy_power(&model, &half) +
		  10 * energy_power(&model, &full)) / 1000;
	assert_true(fabs(energy_spent(&model, &run) - joules) < 1e-6 * joules);
	saving = energy_saving(&model, &run, &run);
	assert_true(saving.value == 0 && saving.low == 0 && saving.high == 0);
	assert_int_equal(run.outcome.changes, 0);
	energy_run_free(&run);
	load_trace_free(&trace);
	energy_model_free(&model);
}

static void test_ways_on_a_recorded_load(void **unused)
{
	static const char *const models[] = { "exynos5410", "xeon-4114" };
	struct energy_run runs[WAYS];
	struct energy_model model;
	struct load_trace trace;
	unsigned int i;
	int way;

	for (i = 0; i < 2; i++) {
		read_model(&model, models[i], NULL);
		read_trace(&trace, "/served.csv", (unsigned int)model.cpus.value);
		for (way = 0; way < WAYS; way++) {
			struct energy_run *run = &runs[way];
			double packages = model.cpus.value / model.package.value, all;

			assert_int_equal(energy_run(&model, way, &energy_fast_pace, &trace, run), 0);
			all = run->outcome.seconds * packages;
			assert_true(fabs(all_seconds(run) - all) < 1e-6 * all);
			assert_true(energy_spent(&model, run) > 0);
		}
		assert_true(runs[WAY_NONE].outcome.waited == 0);
		assert_int_equal(runs[WAY_CONSERVATIVE].outcome.least, 2);
		assert_int_equal(runs[WAY_NATIVE].outcome.least, 1);
		assert_int_equal(runs[WAY_BOLT].outcome.least, 1);
		assert_true(runs[WAY_NATIVE].outcome.requesting >
			    3 * runs[WAY_BOLT].outcome.requesting);
		for (way = 0; way < WAYS; way++)
			energy_run_free(&runs[way]);
		load_trace_free(&trace);
		energy_model_free(&model);
	}
}

/* With the times of native requests, and without settling, Bolt takes as much energy as native. */
static void test_same_times_same_energy(void **unused)
{
	struct energy_run native, bolt;
	struct energy_model model;
	struct load_trace trace;

	read_model(&model, "exynos5410", NULL);
	model.requests[ENERGY_BOLT] = model.requests[ENERGY_NATIVE];
	read_trace(&trace, "/served.csv", 4);
	assert_int_equal(energy_run(&model, WAY_NATIVE, &energy_fast_pace, &trace, &native), 0);
	assert_int_equal(energy_run(&model, WAY_BOLT, &energy_fast_pace, &trace, &bolt), 0);
	assert_true(native.outcome.changes > 10);
	assert_int_equal(native.outcome.changes, bolt.outcome.changes);
	assert_true(energy_spent(&model, &native) == energy_spent(&model, &bolt));
	energy_run_free(&native);
	energy_run_free(&bolt);
	/* If requests of Bolt take two seconds, no decision is made meanwhile, and work waits. */
	assert_int_equal(energy_run(&model, WAY_NATIVE, &energy_fast_pace, &trace, &native), 0);
	model.requests[ENERGY_BOLT].off_ms.value = model.requests[ENERGY_BOLT].on_ms.value = 2000;
	assert_int_equal(energy_run(&model, WAY_BOLT, &energy_fast_pace, &trace, &bolt), 0);
	assert_true(bolt.outcome.wait_longest > native.outcome.wait_longest + 1);
	energy_run_free(&native);
	energy_run_free(&bolt);
	load_trace_free(&trace);
	energy_model_free(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_installed_models),
		cmocka_unit_test(test_the_figures_of_the_paper),
		cmocka_unit_test(test_what_is_wrong_in_a_model),
		cmocka_unit_test(test_messages_name_the_right_file),
		cmocka_unit_test(test_what_contradicts_itself),
		cmocka_unit_test(test_break_even_is_where_nothing_is_saved),
		cmocka_unit_test(test_more_requests_take_more),
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_no_hotplug_is_the_baseline),
		cmocka_unit_test(test_ways_on_a_recorded_load),
		cmocka_unit_test(test_same_times_same_energy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
