// SPDX-License-Identifier: GPL-2.0-only
/* Tests meters of power on files that stand for /sys, which each test writes to its own folder */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "energy_meter.h"
#include "tree.h"

#define RAPL	"/sys/class/powercap/intel-rapl"
#define NOBODY	65534
#define SUPPLY	"/sys/class/power_supply/"

static char root[] = "/tmp/cpubolt-meter-XXXXXX";

static void put(const char *path, const char *text)
{
	tree_put(root, path, text);
}

static int make_root(void **unused)
{
	strcpy(root + sizeof(root) - 7, "XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **unused)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

/* Writes the files of RAPL that /sys has on a machine of two packages. */
static void put_rapl(void)
{
	put(RAPL "/enabled", "1\n");
	put(RAPL ":0/name", "package-0\n");
	put(RAPL ":0/energy_uj", "262143000000\n");
	put(RAPL ":0/max_energy_range_uj", "262143328850\n");
	put(RAPL ":0:0/name", "core\n");
	put(RAPL ":0:0/energy_uj", "5\n");
	put(RAPL ":0:0/max_energy_range_uj", "262143328850\n");
	put(RAPL ":0:1/name", "dram\n");
	put(RAPL ":0:1/energy_uj", "1000000\n");
	put(RAPL ":0:1/max_energy_range_uj", "65712999613\n");
	put(RAPL ":1/name", "package-1\n");
	put(RAPL ":1/energy_uj", "40000000\n");
	put(RAPL ":1/max_energy_range_uj", "262143328850\n");
	put("/sys/class/powercap/intel-rapl-mmio:0/name", "package-0\n");
	put("/sys/class/powercap/intel-rapl-mmio:0/energy_uj", "7\n");
	put("/sys/class/powercap/intel-rapl-mmio:0/max_energy_range_uj", "262143328850\n");
}

static void put_battery(const char *status)
{
	put(SUPPLY "AC/type", "Mains\n");
	put(SUPPLY "BAT0/type", "Battery\n");
	put(SUPPLY "BAT0/status", status);
	put(SUPPLY "BAT0/power_now", "7000000\n");
	put(SUPPLY "BAT1/type", "Battery\n");
	put(SUPPLY "BAT1/status", status);
	put(SUPPLY "BAT1/current_now", "500000\n");
	put(SUPPLY "BAT1/voltage_now", "12000000\n");
}

static void test_rapl(void **unused)
{
	struct energy_reading before, after;
	struct energy_meters meters;

	put_rapl();
	put_battery("Discharging\n");
	assert_int_equal(energy_meters_open(root, &meters), 0);
	assert_int_equal(meters.kind, METER_RAPL);
	assert_int_equal(meters.count, 3);
	assert_string_equal(meters.names[0], "package-0");
	assert_string_equal(meters.names[1], "dram");
	assert_string_equal(meters.names[2], "package-1");
	assert_int_equal(energy_meters_read(&meters, &before), 0);
	/* The first counter wraps: 0.32885 J before the wrap, and 0.67115 J after it. */
	put(RAPL ":0/energy_uj", "671150\n");
	put(RAPL ":0:1/energy_uj", "3000000\n");
	put(RAPL ":1/energy_uj", "47000000\n");
	assert_int_equal(energy_meters_read(&meters, &after), 0);
	assert_true(after.at_ns > before.at_ns);
	after.at_ns = before.at_ns + 2000000000;
	assert_true(fabs(energy_watts(&meters, &before, &after) - 5) < 1e-6);
	put(RAPL ":1/energy_uj", "much\n");
	assert_int_equal(energy_meters_read(&meters, &after), -EINVAL);
	energy_meters_close(&meters);
}

static void test_batteries(void **unused)
{
	struct energy_reading before, after;
	struct energy_meters meters;

	put_battery("Discharging\n");
	assert_int_equal(energy_meters_open(root, &meters), 0);
	assert_int_equal(meters.kind, METER_BATTERY);
	assert_int_equal(meters.count, 2);
	assert_string_equal(meters.names[1], "BAT1");
	assert_int_equal(energy_meters_read(&meters, &before), 0);
	put(SUPPLY "BAT0/power_now", "9000000\n");
	assert_int_equal(energy_meters_read(&meters, &after), 0);
	assert_true(fabs(energy_watts(&meters, &before, &after) - 14) < 1e-6);
	energy_meters_close(&meters);
}

static void test_nothing_to_measure_with(void **unused)
{
	struct energy_meters meters;

	assert_int_equal(energy_meters_open(root, &meters), -ENOENT);
	put_battery("Charging\n");
	assert_int_equal(energy_meters_open(root, &meters), -ENOENT);
	energy_meters_close(&meters);
}

static void test_without_privilege(void **unused)
{
	struct energy_meters meters;
	uid_t user = geteuid();
	char path[256];
	int err;

	put_rapl();
	snprintf(path, sizeof(path), "%s" RAPL ":0/energy_uj", root);
	assert_int_equal(chmod(root, 0755), 0);
	assert_int_equal(chmod(path, 0), 0);
	/* Root may read everything, so the test becomes another user meanwhile. */
	assert_true(user || !seteuid(NOBODY));
	err = energy_meters_open(root, &meters);
	assert_true(user || !seteuid(user));
	assert_int_equal(err, -EACCES);
	energy_meters_close(&meters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rapl, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_batteries, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_nothing_to_measure_with, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(test_without_privilege, make_root, remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
