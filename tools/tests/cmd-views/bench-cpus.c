// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests which CPUs "cpubolt bench" chooses, and on which CPU the program stays
 *
 * The sets of CPUs are those of a recorded tree, so the test answers sched_setaffinity(2) itself.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* These headers stand before cmocka.h, which makes fail() a macro. */
#include "bench_cpus.h"
#include "sets.h"

#include <cmocka.h>

#include "tree.h"

#define CPUS "sys/devices/system/cpu/"

int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *cpus);

static unsigned int allowed_from;	/* the cpuset has the CPUs from this one on */
static int stays;			/* the CPU on which the program stays */

int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *cpus)
{
	unsigned int cpu;

	for (cpu = allowed_from; cpu < size * 8; cpu++) {
		if (CPU_ISSET_S(cpu, size, cpus)) {
			stays = (int)cpu;
			return 0;
		}
	}
	errno = EINVAL;
	return -1;
}

struct choice {
	const char *tree, *isolated, *nohz_full, *kept, *chosen, *all;
};

/* On "clusters", which has 8 CPUs, each CPU can go; on "small", which has 4, CPU 0 cannot go. */
static const struct choice choices[] = {
	{ "small", "", "", "", "1-3", "1-3" },
	{ "small", "1-3", "", "", "", "1-3" },
	{ "small", "0", "", "", "2-3", "2-3" },
	{ "clusters", "", "", "", "5-7", "1-7" },
	{ "clusters", "1-7", "", "", "", "1-7" },
	{ "clusters", "2-7", "", "", "1", "1-7" },
	{ "clusters", "", "2-7", "", "1", "1-7" },
	{ "clusters", "0-3", "4-5", "", "7", "0-5,7" },
	{ "small+bolt", "", "", "0-1", "2-3", "2-3" },
	{ "small+bolt", "", "", "0-3", "", "" },
};

static void test_choices(void **state)
{
	struct cpubolt *machine;
	cpu_set_t *cpus, *kept;
	char *folder, *text;

	for (size_t i = 0; i < sizeof(choices) / sizeof(*choices); i++) {
		folder = tree_make(choices[i].tree);
		if (*choices[i].kept)
			tree_put(folder, CPUS "bolt/irq_keep", choices[i].kept);
		tree_put(folder, CPUS "isolated", choices[i].isolated);
		tree_put(folder, CPUS "nohz_full", choices[i].nohz_full);
		assert_int_equal(cpubolt_open(folder, &machine), 0);
		print_message("# %s, isolated %s, nohz_full %s, kept %s\n", choices[i].tree,
			      choices[i].isolated, choices[i].nohz_full, choices[i].kept);
		cpus = set_empty(machine);
		kept = bench_kept(machine);
		bench_choose(machine, 3, kept, cpus);
		text = set_text(machine, cpus);
		assert_string_equal(text, choices[i].chosen);
		free(text);
		assert_int_equal(cpubolt_parse_list(machine, "all", cpus, NULL), 0);
		bench_drop_unusable(machine, kept, cpus);
		text = set_text(machine, cpus);
		assert_string_equal(text, choices[i].all);
		free(text);
		CPU_FREE(cpus);
		CPU_FREE(kept);
		cpubolt_close(machine);
		tree_remove(folder);
	}
}

static void test_pin(void **state)
{
	struct cpubolt *machine = tree_open("smt+isolated");
	cpu_set_t *cpus = set_empty(machine);

	assert_int_equal(cpubolt_parse_list(machine, "8-31", cpus, NULL), 0);
	assert_int_equal(bench_pin(machine, cpus), EXIT_DONE);
	assert_int_equal(stays, 0);	/* CPU 0 cannot go */
	allowed_from = 2;		/* a cpuset from CPU 2 on; CPUs 2 and 3 are isolated */
	assert_int_equal(bench_pin(machine, cpus), EXIT_DONE);
	assert_int_equal(stays, 4);
	allowed_from = 8;
	assert_int_equal(bench_pin(machine, cpus), EXIT_FAILED);
	CPU_FREE(cpus);
	tree_close(machine);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_pin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
