// SPDX-License-Identifier: GPL-2.0-only
/* Tests what cpuboltd reads: the configuration, recorded load, and counters of /proc */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "files.h"
#include "replay.h"
#include "sample.h"
#include "tree.h"

static char *folder;
static struct machine machine;

static int set_up(void **state)
{
	folder = tree_make("smt+bolt");
	return machine_open(folder, &machine);
}

static int tear_down(void **state)
{
	machine_close(&machine);
	tree_remove(folder);
	return 0;
}

/* -- The configuration ---------------------------------------------------------- */

static char *parse(struct config *config, const char *text)
{
	char *error;
	int err;

	assert_int_equal(config_init(&machine, config), 0);
	err = config_parse(&machine, "f", text, strlen(text), config, &error);
	assert_int_equal(err, error ? -EINVAL : 0);
	return error;
}

static void test_defaults(void **state)
{
	struct config config;

	assert_null(parse(&config, ""));
	assert_ptr_equal(config.policy, &policy_load);
	assert_int_equal(config.interval_ms, 1000);
	assert_int_equal(config.settings.min_cpus, 1);
	assert_int_equal(config.rules.per_minute, 20);
	assert_int_equal(config.settings.load.up, 80);
	assert_int_equal(CPU_COUNT_S(machine.size, config.deny), 0);
	assert_int_equal(CPU_COUNT_S(machine.size, config.settings.fixed), 32);
	assert_null(config.metrics);
	assert_false(config.interrupts.enabled);
	assert_int_equal(config.interrupts.busy, 100);
	assert_int_equal(config.interrupts.irqbalance, IRQBALANCE_YIELD);
	config_free(&config);
}

static void test_values(void **state)
{
	struct config config;

	assert_null(parse(&config, "# remark\n[policy]\nname = package ; remark\n\n"
				   "[package]\r\nlevel=cluster\r\nup: 70\n[daemon]\n"
				   "keep=0-3,8\ndeny = 31\nmetrics = /var/x.prom\n"
				   "[limits]\nhold_ms=200\n[fixed]\ncpus=\n"
				   "[interrupts]\nenabled=yes\nbusy_per_second=7\n"
				   "irqbalance = ban\ndwell_s=3\nmoves_per_minute=600\n"));
	assert_ptr_equal(config.policy, &policy_package);
	assert_int_equal(config.settings.package_level, LEVEL_CLUSTER);
	assert_int_equal(config.settings.package.up, 70);
	assert_int_equal(CPU_COUNT_S(machine.size, config.keep), 5);
	assert_true(CPU_ISSET_S(31, machine.size, config.deny));
	assert_string_equal(config.metrics, "/var/x.prom");
	assert_int_equal(config.hold_ms, 200);
	assert_int_equal(CPU_COUNT_S(machine.size, config.settings.fixed), 0);
	assert_true(config.interrupts.enabled);
	assert_int_equal(config.interrupts.busy, 7);
	assert_int_equal(config.interrupts.dwell_s, 3);
	assert_int_equal(config.interrupts.per_minute, 600);
	assert_int_equal(config.interrupts.irqbalance, IRQBALANCE_BAN);
	config_free(&config);
}

static void test_what_is_wrong(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "[polic]\n", "f:1: there is no section [polic]" },
		{ "\n[load]\nupp = 3\n", "f:3: the section [load] has no key \"upp\"" },
		{ "[load]\nup = 101\n", "f:2: up = 101: a number from 2 to 100 is wanted" },
		{ "[load]\nup = -5\n", "f:2: up = -5: a number from 2 to 100 is wanted" },
		{ "[load]\nup = 5x\n", "f:2: up = 5x: a number from 2 to 100 is wanted" },
		{ "[load]\nup =\n", "f:2: up = : a number from 2 to 100 is wanted" },
		{ "[load]\nup\n", "f:2: the line is neither a section nor \"key = value\"" },
		{ "[load]\n up = 5\n", "f:2: a line must not begin with a blank" },
		{ "[load] up = 5\n", "f:1: a section is a name in brackets, and nothing else" },
		{ "[load\n", "f:1: a section is a name in brackets, and nothing else" },
		{ "up = 5\n", "f:1: up = ... stands before the first section" },
		{ "[policy]\nname = laod\n", "f:2: name = laod: there is no such policy" },
		{ "[daemon]\nkeep = 0-\n",
		  "f:2: keep = 0-: a list of CPUs is wanted, as 0-3,8" },
		{ "[daemon]\nkeep = 32\n", "f:2: keep = 32: this machine has no such CPU number" },
		{ "[daemon]\nmetrics = x\n",
		  "f:2: metrics = x: a path that begins with / is wanted" },
		{ "[package]\nlevel = core\n",
		  "f:2: level = core: \"package\" or \"cluster\" is wanted" },
		{ "[limits]\ndwell_ms = 0\n",
		  "f:2: dwell_ms = 0: a number from 100 to 3600000 is wanted" },
		{ "[interrupts]\nenabled = on\n",
		  "f:2: enabled = on: \"yes\" or \"no\" is wanted" },
		{ "[interrupts]\nirqbalance = kill\n",
		  "f:2: irqbalance = kill: \"yield\" or \"ban\" is wanted" },
		{ "[interrupts]\nbusy_per_second = 0\n",
		  "f:2: busy_per_second = 0: a number from 1 to 1000000 is wanted" },
		{ "[interrupts]\n\nbusy = 5\n",
		  "f:3: the section [interrupts] has no key \"busy\"" },
		/* The message is about the first of several errors. */
		{ "[load]\nx=1\n[y]\n", "f:2: the section [load] has no key \"x\"" },
		{ "[load]\nup\n[y]\n",
		  "f:2: the line is neither a section nor \"key = value\"" },
	};
	struct config config;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *error = parse(&config, cases[i].text);

		assert_non_null(error);
		assert_string_equal(error, cases[i].error);
		free(error);
		config_free(&config);
	}
}

/* Values behind an error that are right themselves are read, too. */
static void test_values_behind_an_error(void **state)
{
	static const char *const errors[] = {
		"[load]\nup = 1000\n", "[load\n", "[polic]\nkeep = 1\n", "nonsense\n",
		"[daemon]\ndeny = 4\n 5\n", "[daemon]\ndeny = 3\ndeny = 3-\n[load]\n",
	};
	char text[128], *error;
	struct config config;
	cpu_set_t *denied = machine_set(&machine);
	size_t i;

	CPU_SET_S(3, machine.size, denied);
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		/* errors[5] has "deny" itself: after a wrong list the earlier list still holds. */
		snprintf(text, sizeof(text), "%s[daemon]\n%s", errors[i],
			 i == 5 ? "" : "deny = 3\n");
		error = parse(&config, text);
		assert_non_null(error);
		assert_true(CPU_EQUAL_S(machine.size, config.deny, denied));
		assert_int_equal(CPU_COUNT_S(machine.size, config.keep), 0);
		free(error);
		config_free(&config);
	}
	/* A line that begins with a blank is not taken for more of the value in the line before. */
	error = parse(&config, "[daemon]\ndeny = 3\n 5\n");
	assert_string_equal(error, "f:3: a line must not begin with a blank");
	assert_true(CPU_EQUAL_S(machine.size, config.deny, denied));
	free(error);
	config_free(&config);
	CPU_FREE(denied);
}

static void test_a_long_line_and_a_nul(void **state)
{
	char text[400] = "[daemon]\nkeep=", *error;
	struct config config;

	memset(text + strlen(text), '1', 300);
	error = parse(&config, text);
	assert_non_null(error);
	assert_non_null(strstr(error, "f:2: a line must not have more than"));
	free(error);
	config_free(&config);
	assert_int_equal(config_init(&machine, &config), 0);
	assert_int_equal(config_parse(&machine, "f", "[load]\nup\0=3\n", 12, &config, &error),
			 -EINVAL);
	assert_string_equal(error, "f:2: the line contains a NUL");
	free(error);
	config_free(&config);
}

static void write_below(const char *path, const char *text)
{
	assert_int_equal(file_replace(folder, path, text), 0);
}

static void make_folder(const char *path)
{
	char *full;

	assert_true(asprintf(&full, "%s%s", folder, path) > 0);
	assert_int_equal(mkdir(full, 0755), 0);
	free(full);
}

static void test_drop_ins(void **state)
{
	struct config config;
	char *error;

	assert_int_equal(config_init(&machine, &config), 0);
	/* Without a file the defaults hold; but a file that is named has to exist. */
	assert_int_equal(config_read(&machine, NULL, &config, &error), 0);
	assert_int_equal(config_read(&machine, "/none/such", &config, &error), -EINVAL);
	assert_string_equal(error, "cannot read /none/such: No such file or directory");
	free(error);
	tree_put(folder, CONFIG_FILE ".d/30.bak", "nonsense");
	write_below(CONFIG_FILE, "[load]\nup=90\ndown=50\n");
	write_below(CONFIG_FILE ".d/20.conf", "[load]\nup=70\n");
	write_below(CONFIG_FILE ".d/10.conf", "[load]\nup=75\n[limits]\nhold_ms=250\n");
	assert_int_equal(config_read(&machine, NULL, &config, &error), 0);
	assert_int_equal(config.settings.load.up, 70);
	assert_int_equal(config.settings.load.down, 50);
	assert_int_equal(config.rules.hold_us, 250000);
	write_below(CONFIG_FILE ".d/20.conf", "[load]\n\nup=7o\n");
	assert_int_equal(config_read(&machine, NULL, &config, &error), -EINVAL);
	assert_string_equal(error, CONFIG_FILE ".d/20.conf:3: up = 7o: "
				   "a number from 2 to 100 is wanted");
	free(error);
	/* The drop-ins behind an error are read, too, and the message is about the first error. */
	write_below(CONFIG_FILE ".d/30.conf", "[daemon]\ndeny = 2\n[x]\n");
	assert_int_equal(config_read(&machine, NULL, &config, &error), -EINVAL);
	assert_non_null(strstr(error, "20.conf:3: up = 7o: "));
	assert_true(CPU_ISSET_S(2, machine.size, config.deny));
	free(error);
	write_below(CONFIG_FILE ".d/30.conf", "");
	/* Values of two files contradict each other: "up" of 20.conf is not above "down". */
	write_below(CONFIG_FILE ".d/20.conf", "[load]\nup=50\n");
	assert_int_equal(config_read(&machine, NULL, &config, &error), -EINVAL);
	assert_string_equal(error, "[load]: down has to be less than up");
	free(error);
	config_free(&config);
}

/* -- Recorded load ---------------------------------------------------------------- */

static char *parse_trace(const char *text, struct load_trace *trace)
{
	char *error;
	int err = load_trace_parse(text, strlen(text), 8, trace, &error);

	assert_int_equal(err, error ? -EINVAL : 0);
	return error;
}

static void test_a_trace(void **state)
{
	struct load_trace trace;

	assert_null(parse_trace("# remark\n\ntime,demand,runnable,pressure,steal\n100,1.5,2,12.5,0.25\n"
				"# remark\n\n110,3,0,0,0\n111,0,0,0,0\n", &trace));
	assert_int_equal(trace.count, 3);
	/* The trace does not give the length of the first interval: that of the second is taken. */
	assert_true(trace.rows[0].begin == 0 && trace.rows[0].end == 10);
	assert_true(trace.rows[1].end == 20 && trace.rows[2].end == 21);
	assert_true(trace.rows[0].sample.demand == 1.5);
	assert_true(trace.rows[0].sample.steal == 0.25);
	assert_int_equal(trace.rows[0].sample.runnable, 2);
	assert_int_equal(trace.rows[0].sample.pressure, 125);
	load_trace_free(&trace);
}

/* "sadf -d -h -- -u -q" prints percentages of the time of all CPUs, here eight. */
static void test_a_trace_of_sadf(void **state)
{
	struct load_trace trace;

	assert_null(parse_trace("# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;"
				"%steal;%idle;runq-sz\n"
				"h;600;2026-11-22 00:10:01 UTC;-1;20.00;0.00;5.00;10.00;0.00;65.00;3\n"
				"h;600;2026-11-22 00:10:01 UTC;0;99.00;0.00;0.00;0.00;0.00;1.00;3\n"
				"h;-1;2026-11-22 00:15:00 UTC;LINUX-RESTART\t(8 CPU)\n"
				"h;600;2026-11-22 00:20:01 UTC;-1;45.00;0.00;5.00;0.00;25.00;25.00;9\n",
				&trace));
	assert_int_equal(trace.count, 2);
	assert_true(fabs(trace.rows[0].sample.demand - 2) < 1e-9);
	assert_true(fabs(trace.rows[1].sample.demand - 6) < 1e-9);
	assert_true(fabs(trace.rows[1].sample.steal - 2) < 1e-9);
	assert_int_equal(trace.rows[1].sample.runnable, 9);
	assert_true(trace.rows[1].begin == 600 && trace.rows[1].end == 1200);
	load_trace_free(&trace);
}

static void test_what_is_wrong_in_a_trace(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "", "line 1: the trace has no line with numbers" },
		{ "time,demand\n", "line 2: the trace has no line with numbers" },
		{ "time,load\n1,2\n",
		  "line 1: there is no column \"demand\", and no column \"%idle\"" },
		{ "demand\n1\n", "line 1: there is no column \"time\", and no column \"interval\"" },
		{ "time,demand,time\n", "line 1: the column \"time\" is there twice" },
		{ "time,demand\n1,x\n", "line 2: \"x\" is no number from 0 to 1e+06" },
		{ "time,demand\n1,nan\n", "line 2: \"nan\" is no number from 0 to 1e+06" },
		{ "time,demand\n1,-1\n", "line 2: \"-1\" is no number from 0 to 1e+06" },
		{ "time,demand\n1\n", "line 2: the line is too short" },
		{ "time,demand\n2,1\n2,1\n",
		  "line 3: the time is not later than in the line before" },
		{ "time,demand\n2,1\n1,1\n",
		  "line 3: the time is not later than in the line before" },
		{ "interval,%idle\n1,101\n", "line 2: \"101\" is no number from 0 to 100.5" },
		{ "interval,demand\n0,1\n60,1\n", "line 2: an interval may not be 0" },
		{ "interval,demand\n60,1\n0,1\n", "line 3: an interval may not be 0" },
	};
	struct load_trace trace;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *error = parse_trace(cases[i].text, &trace);

		assert_non_null(error);
		assert_string_equal(error, cases[i].error);
		free(error);
	}
}

static struct outcome play(const struct policy *policy, const char *text)
{
	struct outcome outcome;
	struct config config;
	struct load_trace trace;
	char *error;

	assert_int_equal(config_init(&machine, &config), 0);
	config.rules.hold_us = 3000000;
	config.rules.dwell_us = 5000000;
	config.policy = policy;
	assert_int_equal(load_trace_parse(text, strlen(text), 32, &trace, &error), 0);
	assert_int_equal(replay(&machine, &config, &trace, NULL, &outcome), 0);
	load_trace_free(&trace);
	config_free(&config);
	return outcome;
}

static void test_replay(void **state)
{
	static const char step[] = "interval,demand\n60,0.1\n60,20\n60,0.1\n";
	struct outcome outcome = play(&policy_load, step);

	assert_true(outcome.seconds == 180);
	assert_int_equal(outcome.least, 1);
	/* The work for which there are too few CPUs in the 61st second is done in the 62nd. */
	assert_true(outcome.wait_longest == 1);
	assert_true(outcome.wait_p99 <= 1);
	assert_true(outcome.waited > 0 && outcome.waited < 0.05);
	assert_in_range(outcome.changes, 3, 6);
	/* All CPUs are always online: nothing waits, and nothing changes. */
	outcome = play(&policy_fixed, step);
	assert_true(outcome.waited == 0 && outcome.wait_longest == 0);
	assert_int_equal(outcome.changes, 0);
	assert_true(outcome.cpu_seconds == 180 * 32);
}

/* build.csv has five minutes of a machine of two CPUs, which were busy all the time. */
static void test_a_recorded_load(void **state)
{
	char *text = file_read(DATA, "/build.csv", NULL);
	struct outcome outcome;

	assert_non_null(text);
	outcome = play(&policy_load, text);
	assert_in_range(outcome.most_in_a_minute, 1, 20);
	assert_true(outcome.cpu_seconds < outcome.seconds * 8);
	assert_true(outcome.wait_longest <= 2);
	outcome = play(&policy_package, text);
	assert_true(outcome.cpu_seconds < outcome.seconds * 17);
	assert_true(outcome.waited == 0);
	free(text);
}

/* -- Counters ------------------------------------------------------------------------ */

static void test_stat(void **state)
{
	static const char text[] = "cpu  10 0 0 0 0 0 0 0 0 0\n"
				   "cpu0 100 10 20 5000 7 1 2 9 3 0\n"
				   "cpu2 1 0 0 9 0 0 0 0\n"
				   "cpu99 1 0 0 9 0 0 0 0\n"
				   "intr 1 2 3\nprocs_running 4\n";
	unsigned long long busy[4] = { 0, 77, 0, 0 }, steal[4] = { 0 };
	unsigned int runnable;

	assert_int_equal(sample_parse_stat(text, 4, busy, steal, &runnable), 0);
	assert_int_equal(busy[0], 133);
	assert_int_equal(steal[0], 9);
	assert_int_equal(busy[1], 77);
	assert_int_equal(busy[2], 1);
	assert_int_equal(runnable, 4);
	assert_int_equal(sample_parse_stat("nothing\n", 4, busy, steal, &runnable), -EINVAL);
}

static void test_pressure(void **state)
{
	unsigned long long stalled;

	assert_int_equal(sample_parse_pressure("some avg10=0.00 avg60=0.00 avg300=0.00 "
					       "total=1234567\nfull avg10=0 total=5\n", &stalled),
			 0);
	assert_int_equal(stalled, 1234567);
	assert_int_equal(sample_parse_pressure("full total=3\n", &stalled), -EINVAL);
	assert_int_equal(sample_parse_pressure("", &stalled), -EINVAL);
}

static void test_samples(void **state)
{
	struct counters counters;
	struct load loads[33];
	cpu_set_t *online = machine_set(&machine);
	struct inputs inputs = {
		.count = 32, .size = machine.size, .online = online, .usable = online,
	};

	CPU_SET_S(0, machine.size, online);
	CPU_SET_S(1, machine.size, online);
	assert_int_equal(counters_init(&machine, &counters), 0);
	counters.ticks = 100;
	write_below("/proc/stat", "cpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n"
				  "cpu2 0 0 0 0 0 0 0 0\n");
	make_folder("/proc/pressure");
	write_below("/proc/pressure/cpu", "some avg10=0 total=1000\n");
	assert_int_equal(sample_take(&machine, &counters, 1000000, &inputs, loads), 0);
	assert_int_equal(loads[0].busy, 0);
	write_below("/proc/stat", "cpu0 50 0 0 150 0 0 0 20\ncpu1 900 0 0 0 0 0 0 0\n"
				  "cpu2 100 0 0 0 0 0 0 0\nprocs_running 3\n");
	write_below("/proc/pressure/cpu", "some avg10=0 total=501000\n");
	assert_int_equal(sample_take(&machine, &counters, 3000000, &inputs, loads), 0);
	assert_int_equal(loads[0].busy, 250);
	assert_int_equal(loads[0].steal, 100);
	assert_int_equal(loads[1].busy, 1000);
	/*
	 * CPU 2 is left alone, so neither its line counts nor the task that keeps CPU 2 busy. Of
	 * the three tasks, the daemon's own does not count either.
	 */
	assert_int_equal(loads[2].busy, 0);
	assert_int_equal(inputs.runnable, 1);
	assert_int_equal(inputs.pressure, 250);
	counters_free(&counters);
	CPU_FREE(online);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_what_is_wrong),
		cmocka_unit_test(test_values_behind_an_error),
		cmocka_unit_test(test_a_long_line_and_a_nul),
		cmocka_unit_test(test_drop_ins),
		cmocka_unit_test(test_a_trace),
		cmocka_unit_test(test_a_trace_of_sadf),
		cmocka_unit_test(test_what_is_wrong_in_a_trace),
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_a_recorded_load),
		cmocka_unit_test(test_stat),
		cmocka_unit_test(test_pressure),
		cmocka_unit_test(test_samples),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
