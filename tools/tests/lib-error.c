// SPDX-License-Identifier: GPL-2.0-only
/* Tests the readers of last_error and of the uevents of CPUs. */
#include <errno.h>
#include <string.h>

#include "tree.h"

static void test_lines(void **state)
{
	const char *text =
		"batch=1 pid=10 cpu=3 state=admission errno=16\n"
		"batch=18446744073709551615 pid=11 cpu=0 state=b:c errno=12 undo=1:a,2:b:c\n";
	struct error_line line;

	assert_int_equal(error_next(&text, &line), 1);
	assert_int_equal(line.batch, 1);
	assert_int_equal(line.pid, 10);
	assert_int_equal(line.cpu, 3);
	assert_int_equal(line.err, EBUSY);
	assert_string_equal(line.state, "admission");
	assert_string_equal(line.undo, "");
	assert_int_equal(error_next(&text, &line), 1);
	assert_true(line.batch == 18446744073709551615ULL);
	assert_string_equal(line.state, "b:c");
	assert_string_equal(line.undo, "1:a,2:b:c");
	assert_int_equal(error_next(&text, &line), 0);
}

static void test_bad_lines_are_left_out(void **state)
{
	static const char *const bad[] = {
		"", "\n\n", "batch=1\n", "batch=x pid=1 cpu=1 state=a errno=1\n",
		"batch=18446744073709551616 pid=1 cpu=1 state=a errno=1\n",
		"batch=1 pid=1 cpu=-1 state=a errno=1\n",
		"batch=1 pid=99999999999 cpu=1 state=a errno=1\n",
		"batch=1 pid=1 cpu=1 errno=1\n", "xbatch=1 pid=1 cpu=1 state=a errno=1\n",
	};
	const char *mixed = "nonsense\nbatch=2 pid=1 cpu=1 state=a errno=1";
	struct error_line line;
	const char *here;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		here = bad[i];
		assert_int_equal(error_next(&here, &line), 0);
		assert_string_equal(here, "");
	}
	assert_int_equal(error_next(&mixed, &line), 1);
	assert_int_equal(line.batch, 2);
}

static void test_undo(void **state)
{
	const char *undo = "1:smpboot/threads:online,12:a:b,3:c";

	assert_int_equal(error_undo_next(&undo), 1);
	assert_int_equal(error_undo_next(&undo), 12);
	assert_int_equal(error_undo_next(&undo), 3);
	assert_int_equal(error_undo_next(&undo), -1);
	undo = "7:a,...";
	assert_int_equal(error_undo_next(&undo), 7);
	assert_int_equal(error_undo_next(&undo), -2);
	undo = "";
	assert_int_equal(error_undo_next(&undo), -1);
}

static void test_uevents(void **state)
{
	struct cpubolt_event event;

	assert_int_equal(event_parse("online", "cpu12", &event), 1);
	assert_int_equal(event.cpu, 12);
	assert_true(event.online);
	assert_int_equal(event_parse("offline", "cpu3", &event), 1);
	assert_int_equal(event.cpu, 3);
	assert_false(event.online);
	assert_int_equal(event_parse("remove", "cpu3", &event), 1);
	assert_false(event.online);
	assert_int_equal(event_parse("add", "cpu3", &event), 0);
	assert_int_equal(event_parse("change", "cpu3", &event), 0);
	assert_int_equal(event_parse("online", "cpu", &event), 0);
	assert_int_equal(event_parse("online", "memory3", &event), 0);
	assert_int_equal(event_parse("online", "cpu-1", &event), 0);
	assert_int_equal(event_parse("online", "cpu1x", &event), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_bad_lines_are_left_out),
		cmocka_unit_test(test_undo),
		cmocka_unit_test(test_uevents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
