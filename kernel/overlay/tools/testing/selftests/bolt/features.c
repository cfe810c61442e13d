// SPDX-License-Identifier: GPL-2.0-only
/*
 * Features of the machine are those that all CPUs have. A CPU that comes for the first
 * time takes the features that it lacks away from the machine, and the CPUs of a request
 * come together: no CPU may give back a feature that another CPU takes away. The test
 * needs CPUs that differ and have not been online since the machine booted (maxcpus=1).
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/wait.h>

#include "cpus.h"
#include "lib/place.h"
#include "../kselftest_harness.h"

#define TELL "BOLT_TELL_FEATURES"

/*
 * The kernel tells a program about the machine's features when the program starts. So the
 * test starts this program once more, and the new process prints the features and ends.
 * The process does not use getauxval(), whose answer glibc has changed.
 */
static void __attribute__((constructor)) features_tell(void)
{
	uint64_t entry[2] = { 0 };	/* a type and a value of the auxiliary vector */
	int fd;

	if (!getenv(TELL))
		return;
	fd = open("/proc/self/auxv", O_RDONLY);
	while (read(fd, entry, sizeof(entry)) == sizeof(entry) &&
	       entry[0] != AT_HWCAP)
		;
	_exit(entry[0] != AT_HWCAP ||
	      write(STDOUT_FILENO, &entry[1], sizeof(entry[1])) !=
	      sizeof(entry[1]));
}

/* Reads AT_HWCAP: the features in CPUID leaf 1, edx, that the kernel says the machine has. */
static bool features_of_machine(uint64_t *features)
{
	int ends[2], status;
	bool good;
	pid_t pid;

	if (pipe(ends))
		return false;
	pid = fork();
	if (!pid) {
		setenv(TELL, "1", 1);
		dup2(ends[1], STDOUT_FILENO);
		execl("/proc/self/exe", "features", NULL);
		_exit(1);
	}
	close(ends[1]);
	good = pid > 0 &&
	       read(ends[0], features, sizeof(*features)) == sizeof(*features);
	close(ends[0]);
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status && good;
}

/* Reads CPUID leaf 1, edx, from the CPU itself. */
static bool features_of_cpu(int cpu, uint64_t *features)
{
#ifdef __x86_64__
	unsigned int eax = 1, ebx, ecx = 0, edx;

	if (pin(0, cpu))
		return false;
	asm volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
	*features = edx;
	return true;
#else
	return false;
#endif
}

FIXTURE(features) {
	int cpus[CPUS_MAX];
	int nr;
};

FIXTURE_SETUP(features)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
#ifndef __x86_64__
	SKIP(return, "only x86 removes features that a new CPU lacks");
#endif
	self->nr = cpus_movable(self->cpus);
	ASSERT_EQ(0, enable(true));
}

FIXTURE_TEARDOWN(features)
{
	if (!cannot_run())
		EXPECT_EQ(0, start_over());
}

TEST_F(features, those_of_all_cpus_remain)
{
	uint64_t before, after, first, all, one;
	char list[4096];

	if (!is(CPU_DIR "online", "0"))
		SKIP(return, "needs CPUs that have never been online: maxcpus=1");
	ASSERT_EQ(0, get(CPU_DIR "present", list, sizeof(list)));
	ASSERT_TRUE(features_of_machine(&before));
	ASSERT_EQ(0, put(BOLT_DIR "online", list));
	ASSERT_TRUE(is(CPU_DIR "online", list));
	ASSERT_TRUE(features_of_machine(&after));

	ASSERT_TRUE(features_of_cpu(0, &first));
	all = first;
	for (int i = 0; i < self->nr; i++) {
		ASSERT_TRUE(features_of_cpu(self->cpus[i], &one));
		all &= one;
	}
	if (all == first)
		SKIP(return, "needs CPUs that differ");
	for (int i = 0; i < self->nr; i++) {
		ASSERT_TRUE(features_of_cpu(self->cpus[i], &one));
		EXPECT_EQ(0, after & ~one)
			TH_LOG("the machine has %#llx, which CPU %d lacks",
			       (unsigned long long)(after & ~one), self->cpus[i]);
	}
	/* Each CPU has taken away only features that the CPU lacks. */
	EXPECT_EQ(before & all, after);
}

TEST_HARNESS_MAIN
