// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests whether look() finds a task that would lose its last CPU when CPUs come and other CPUs go
 *
 * The test changes no CPU: the sets of CPUs are those of a recorded tree, and sched_getaffinity(2)
 * is replaced by a function that says that CPU 3 is the only CPU online on which a task may run.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* These headers stand before cmocka.h, which makes fail() a macro. */
#include "look.h"
#include "sets.h"

#include <cmocka.h>

#include "tree.h"

#define GOES	3	/* the CPU that sched_getaffinity() gives */

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus);

static pid_t task;

/* Knows one task only, so that the other tasks of the machine are not found. */
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus)
{
	if (pid != task) {
		errno = ESRCH;
		return -1;
	}
	CPU_ZERO_S(size, cpus);
	CPU_SET_S(GOES, size, cpus);
	return 0;
}

/* Starts a task that may run on @cpu only, and has the name of a virtual CPU. */
static pid_t start(int cpu)
{
	int ready[2];
	cpu_set_t cpus;
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		CPU_ZERO(&cpus);
		CPU_SET(cpu, &cpus);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "CPU 0/KVM");
		if (!sched_setaffinity(0, sizeof(cpus), &cpus))
			(void)!write(ready[1], "", 1);
		close(ready[1]);
		pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(ready[0]);
	return pid;
}

static void report(const char *sentence)
{
	assert_non_null(strstr(sentence, "CPU 3 is the only CPU of the virtual CPU"));
}

static int look_for(struct invocation *call, const char *after)
{
	cpu_set_t *going = set_empty(call->machine), *stay = set_empty(call->machine);
	int found;

	CPU_SET_S(GOES, cpubolt_set_size(call->machine), going);
	assert_int_equal(cpubolt_parse_list(call->machine, after, stay, NULL), 0);
	found = look(call, going, stay, report);
	CPU_FREE(going);
	CPU_FREE(stay);
	return found;
}

static void a_task_may_run_on_a_cpu_that_comes(void **state)
{
	struct invocation call = { .root = "" };

	task = start(0);
	if (!task)
		skip();		/* CPU 0 of this machine is offline, or forbidden to this test */
	call.machine = tree_open("small");
	tree_write(tree_folder(), "sys/devices/system/cpu/online", "2-3\n");
	assert_int_equal(cpubolt_refresh(call.machine), 0);
	assert_int_equal(look_for(&call, "2"), 1);
	assert_int_equal(look_for(&call, "0,2"), 0);
	assert_int_equal(look_for(&call, "1-2"), 1);
	kill(task, SIGKILL);
	waitpid(task, NULL, 0);
	tree_close(call.machine);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_may_run_on_a_cpu_that_comes),
	};

	return cmocka_run_group_tests_name("look", tests, NULL, NULL);
}
