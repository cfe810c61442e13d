// SPDX-License-Identifier: GPL-2.0-only
/* Tests cpubolt_explain(): each error of a request in the ABI document has its own sentence. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

#define BATCH CPUBOLT_WAY_BATCH
#define NATIVE CPUBOLT_WAY_NATIVE

struct row {
	enum cpubolt_op op;
	struct cpubolt_result result;
	const char *text;
};

static const struct row rows[] = {
	{ CPUBOLT_TAKE_OFFLINE, { BATCH, 0, -1, "", "", 2, 0, 1234567 },
	  "2 CPUs went offline in 1.235 ms, in one request" },
	{ CPUBOLT_BRING_ONLINE, { NATIVE, 0, -1, "", "", 1, 0, 30000000 },
	  "1 CPU came online in 30.000 ms, one CPU after the other, without Bolt" },
	{ CPUBOLT_SET_ONLINE, { BATCH, 0, -1, "", "", 3, 1, 1000000 },
	  "3 CPUs came online or went offline in 1.000 ms, in one request; "
	  "1 CPU is not as wanted, changed back since or left half-way" },
	{ CPUBOLT_SET_ONLINE, { CPUBOLT_WAY_NONE, 0, -1, "", "", 0, 0, 0 },
	  "every CPU was already as wanted" },
	{ CPUBOLT_TAKE_OFFLINE, { BATCH, E2BIG, -1, "", "", 0, 1, 0 },
	  "the list of CPUs is longer than the kernel takes; nothing has changed" },
	{ CPUBOLT_TAKE_OFFLINE, { BATCH, EINVAL, -1, "", "", 0, 1, 0 },
	  "the list has no CPU, or a number that this machine cannot have; nothing has changed" },
	{ CPUBOLT_TAKE_OFFLINE, { BATCH, EINVAL, 9, "admission", "", 0, 1, 0 },
	  "this machine cannot have a CPU 9; nothing has changed" },
	{ CPUBOLT_TAKE_OFFLINE, { BATCH, ENODEV, 9, "admission", "", 0, 1, 0 },
	  "CPU 9 is not plugged in; nothing has changed" },
	{ CPUBOLT_TAKE_OFFLINE, { BATCH, EPERM, 0, "admission", "", 0, 1, 0 },
	  "CPU 0 cannot be taken offline; nothing has changed" },
	{ CPUBOLT_BRING_ONLINE, { BATCH, EPERM, 5, "admission", "", 0, 1, 0 },
	  "CPU 5 must not come online while SMT is switched off "
	  "(see /sys/devices/system/cpu/smt/control); nothing has changed" },
	{ CPUBOLT_SET_ONLINE, { BATCH, EPERM, 5, "admission", "", 0, 1, 0 },
	  "CPU 5 cannot be taken offline, or must not come online while SMT is switched off "
	  "(see /sys/devices/system/cpu/smt/control); nothing has changed" },
	{ CPUBOLT_TAKE_OFFLINE, { BATCH, EBUSY, 3, "admission", "", 0, 1, 0 },
	  "CPU 3 has to stay: no CPU that tasks may run on would be left, irq_keep lists the CPU, "
	  "or CPU hotplug is disabled at the moment; nothing has changed" },
	{ CPUBOLT_TAKE_OFFLINE, { NATIVE, EBUSY, 3, "admission", "", 0, 1, 0 },
	  "CPU 3 has to stay: no CPU that tasks may run on would be left, "
	  "or CPU hotplug is disabled at the moment; nothing has changed" },
	{ CPUBOLT_TAKE_OFFLINE, { NATIVE, EBUSY, 3, "", "", 0, 1, 0 },
	  "CPU 3 has to stay: no CPU that tasks may run on would be left, CPU hotplug is disabled "
	  "at the moment, or a callback of a hotplug state refuses, as when SCHED_DEADLINE tasks "
	  "need the CPU time; nothing has changed" },
	{ CPUBOLT_BRING_ONLINE, { BATCH, EBUSY, -1, "", "", 0, 1, 0 },
	  "CPU hotplug is disabled at the moment; nothing has changed" },
	{ CPUBOLT_TAKE_OFFLINE, { BATCH, EBUSY, 3, "sched:active", "", 0, 1, 0 },
	  "the CPUs that stay do not have the CPU time that SCHED_DEADLINE tasks have been "
	  "promised; "
	  "nothing has changed" },
	{ CPUBOLT_TAKE_OFFLINE, { CPUBOLT_WAY_NONE, EOPNOTSUPP, -1, "", "", 0, 1, 0 },
	  "the kernel has no Bolt, Bolt is disabled, or the platform has no CPU hotplug; "
	  "nothing has changed" },
	{ CPUBOLT_TAKE_OFFLINE, { NATIVE, EOPNOTSUPP, 1, "admission", "", 0, 1, 0 },
	  "this kernel or platform cannot take CPUs offline; nothing has changed" },
	{ CPUBOLT_TAKE_OFFLINE, { BATCH, EACCES, -1, "", "", 0, 1, 0 },
	  "only root may change which CPUs are online; nothing has changed" },
	{ CPUBOLT_TAKE_OFFLINE, { BATCH, EROFS, -1, "", "", 0, 1, 0 },
	  "sysfs is mounted read-only, as in most containers; nothing has changed" },
	{ CPUBOLT_TAKE_OFFLINE, { BATCH, ENOMEM, 3, "workqueue:online", "", 0, 1, 0 },
	  "CPU 3 failed in the hotplug state workqueue:online: Cannot allocate memory (errno 12); "
	  "nothing has changed" },
	{ CPUBOLT_TAKE_OFFLINE, { BATCH, ENOMEM, 3, "a", "1:smpboot/threads:online", 1, 1, 0 },
	  "CPU 3 failed in the hotplug state a: Cannot allocate memory (errno 12); these CPUs "
	  "could not be put back, each with its hotplug state: 1:smpboot/threads:online" },
	{ CPUBOLT_TAKE_OFFLINE, { NATIVE, EAGAIN, 3, "", "", 2, 4, 0 },
	  "CPU 3 failed: Resource temporarily unavailable (errno 11); "
	  "2 CPUs changed, 4 CPUs did not" },
	/* On the native way, EINVAL and ENODEV are the errors of a callback of a hotplug state. */
	{ CPUBOLT_TAKE_OFFLINE, { NATIVE, EINVAL, 3, "", "", 0, 1, 0 },
	  "CPU 3 failed: Invalid argument (errno 22); nothing has changed" },
	{ CPUBOLT_BRING_ONLINE, { NATIVE, ENODEV, 3, "", "", 0, 1, 0 },
	  "CPU 3 failed: No such device (errno 19); nothing has changed" },
	/* The CPUs could not be looked at after the write, so it is not known what has changed. */
	{ CPUBOLT_TAKE_OFFLINE, { BATCH, ENOMEM, -1, "", "", 0, 0, 0 },
	  "memory is short" },
	{ CPUBOLT_TAKE_OFFLINE, { BATCH, 4242, 3, "a", "", 0, 1, 0 },
	  "CPU 3 failed in the hotplug state a: errno 4242; nothing has changed" },
};

static void test_sentences(void **state)
{
	char *text;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		text = cpubolt_explain(rows[i].op, &rows[i].result);
		assert_string_equal(text, rows[i].text);
		free(text);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sentences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
