// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that the native rules refuse are refused with the native error, and change
 * nothing. BOLT_FUZZ=N sets how many random texts are written.
 */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "cpus.h"
#include "draw.h"
#include "env.h"
#include "sets.h"
#include "tasks.h"
#include "tree.h"
#include "../kselftest_harness.h"

#define FUZZ 600
#define SMT CPU_DIR "smt/"

FIXTURE(veto) {
	struct tree before, after;
};

FIXTURE_SETUP(veto)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_over_all());
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "4000000000"));
}

FIXTURE_TEARDOWN(veto)
{
	if (cannot_run())
		return;
	tree_free(&self->before);
	tree_free(&self->after);
	put(SMT "control", "on");
	EXPECT_EQ(0, start_over_all());
}

/* Whether the last line of last_error ends with @end. */
static bool last_error_ends(const char *end)
{
	char text[4097];
	size_t len;

	if (get(BOLT_DIR "last_error", text, sizeof(text)))
		return false;
	len = strlen(text);
	return len >= strlen(end) && !strcmp(text + len - strlen(end), end);
}

/*
 * Whether the native code takes the last housekeeping CPU offline, and then crashes for
 * want of a scheduler domain: _cpu_down() of Linux 7.3 counts the CPU that goes among
 * those that stay.
 */
static bool linux_takes_the_last(void)
{
	return linux_major() >= 7;
}

/* Whether no housekeeping CPU is online when @cpu has gone. */
static bool is_last_housekeeping(int cpu)
{
	cpus_t online, isolated;

	return cpus_read(CPU_DIR "online", &online) &&
	       cpus_read(CPU_DIR "isolated", &isolated) &&
	       !(online & ~isolated & ~CPU(cpu));
}

/*
 * Takes one CPU after the other offline, and notes the result of each request in @errs. If
 * @spare is set, the last housekeeping CPU counts as refused without a request. This task
 * never runs on the CPU that goes, if there is another CPU, so that no request moves this
 * task. Returns the first CPU that was refused, or -1.
 */
static int down_all(const int *cpus, int n, int *errs, bool spare)
{
	int refused = -1;

	for (int i = 0; i < n; i++) {
		pin_off(0, cpus[i]);
		if (spare && is_last_housekeeping(cpus[i]))
			errs[i] = -EBUSY;
		else
			errs[i] = set_online(cpus[i], false);
		if (errs[i] && refused < 0)
			refused = cpus[i];
	}
	unpin(0);
	return refused;
}

TEST_F_TIMEOUT(veto, last_housekeeping_cpu, 300)
{
	int cpus[CPUS_MAX], n = cpus_movable(cpus), refused;
	int native[CPUS_MAX], bolt[CPUS_MAX];
	char end[64];

	refused = down_all(cpus, n, native, linux_takes_the_last());
	ASSERT_EQ(0, start_over_all());
	if (refused < 0)
		SKIP(return, "no request was for the last housekeeping CPU: needs isolcpus=");
	ASSERT_EQ(0, enable(true));
	EXPECT_EQ(refused, down_all(cpus, n, bolt, false));
	for (int i = 0; i < n; i++) {
		EXPECT_EQ(native[i], bolt[i])
			TH_LOG("cpu %d", cpus[i]);
		EXPECT_TRUE(!native[i] || native[i] == -EBUSY);
		EXPECT_EQ(!!bolt[i], cpu_is_online(cpus[i]));
	}
	snprintf(end, sizeof(end), "cpu=%d state=admission errno=%d", refused,
		 EBUSY);
	EXPECT_TRUE(last_error_ends(end));
}

TEST_F_TIMEOUT(veto, sibling_while_smt_is_off, 300)
{
	int cpus[CPUS_MAX], n = cpus_movable(cpus), refused = 0;
	char end[64];

	if (!is(SMT "control", "on"))
		SKIP(return, "needs SMT that can be switched off");
	ASSERT_EQ(0, put(SMT "control", "off"));
	for (int i = 0; i < n; i++) {
		int native, bolt;

		if (cpu_is_online(cpus[i]))
			continue;
		native = set_online(cpus[i], true);
		ASSERT_EQ(0, enable(true));
		bolt = set_online(cpus[i], true);
		EXPECT_EQ(-EPERM, native);
		EXPECT_EQ(native, bolt);
		EXPECT_FALSE(cpu_is_online(cpus[i]));
		snprintf(end, sizeof(end), "cpu=%d state=admission errno=%d",
			 cpus[i], EPERM);
		EXPECT_TRUE(last_error_ends(end));
		ASSERT_EQ(0, enable(false));
		refused++;
	}
	EXPECT_GT(refused, 0);
}

/*
 * SMT control works as natively: the siblings go and come back, and leave nothing
 * behind.
 */
TEST_F_TIMEOUT(veto, smt_control, 300)
{
	const char *line;

	if (!is(SMT "control", "on"))
		SKIP(return, "needs SMT that can be switched off");
	ASSERT_EQ(0, put(SMT "control", "off"));
	tree_of_cpus(&self->before, true);
	ASSERT_EQ(0, put(SMT "control", "on"));
	ASSERT_EQ(0, enable(true));
	for (int round = 0; round < 3; round++) {
		/*
		 * In the second round a sibling is already parked when SMT is
		 * switched off.
		 */
		if (round == 1)
			ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_EQ(0, put(SMT "control", "off"));
		if (round == 2)
			ASSERT_EQ(0, settle_all());
		tree_of_cpus(&self->after, true);
		line = tree_differ(&self->before, &self->after);
		EXPECT_EQ(NULL, line)
			TH_LOG("round %d: %s", round, line);
		tree_free(&self->after);
		ASSERT_EQ(0, put(SMT "control", "on"));
		ASSERT_EQ(0, set_online(VICTIM, true));
	}
}

/* Odd and malformed values get the native answer from files that are not Bolt's own. */
TEST_F_TIMEOUT(veto, malformed_natively, 300)
{
	static const char * const files[] = {
		CPU_DIR "cpu1/online", CPU_DIR "cpu1/hotplug/target",
		CPU_DIR "cpu1/hotplug/fail",
	};
	static const char * const values[] = {
		"2", "-1", "x", "\n", " ", "00", "1 ", "0x1", "999999999999",
		"\xc3\xa9", "-9223372036854775809", "+", "1-2", "all", "1\n0",
		"320", "74", "-2",
	};
	char page[8192];
	int native, bolt;

	memset(page, '1', sizeof(page));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		for (size_t k = 0; k <= ARRAY_SIZE(values); k++) {
			const char *text = k ? values[k - 1] : page;
			size_t len = k ? strlen(text) : sizeof(page);

			ASSERT_EQ(0, start_over_all());
			native = put_bytes(files[i], text, len);
			ASSERT_EQ(0, start_over_all());
			ASSERT_EQ(0, enable(true));
			bolt = put_bytes(files[i], text, len);
			EXPECT_EQ(native, bolt)
				TH_LOG("'%.10s' to %s", text, files[i]);
		}
	}
}

/*
 * Three of Bolt's files accept a random text, or refuse the text with one of the few
 * documented errors and change nothing.
 */
TEST_F_TIMEOUT(veto, nonsense, 900)
{
	static const char * const files[] = {
		BOLT_DIR "settle", BOLT_DIR "settle_delay_ms", BOLT_DIR "enabled",
	};
	int n = env_number("BOLT_FUZZ", FUZZ), taken = 0, refused = 0;
	size_t page = sysconf(_SC_PAGESIZE);
	char *value = malloc(3 * page);
	unsigned int seed = 1;

	ASSERT_NE(NULL, value);
	ASSERT_EQ(0, enable(true));
	ASSERT_EQ(0, set_online(VICTIM, false));
	for (int i = 0; i < n; i++) {
		const char *file = files[draw(&seed, ARRAY_SIZE(files))];
		size_t len = draw_nonsense(&seed, value,
					   page + draw(&seed, 2 * page));
		int err = put_bytes(file, value, len);
		bool known = err == 0 || err == -EINVAL || err == -ERANGE ||
			     err == -E2BIG;

		if (!len)
			continue;
		value[len] = '\0';
		EXPECT_TRUE(known)
			TH_LOG("%d: '%.40s' to %s", err, value, file);
		EXPECT_EQ(len >= page, err == -E2BIG)
			TH_LOG("%d: %zu bytes to %s", err, len, file);
		if (err) {
			refused++;
			EXPECT_TRUE(is(BOLT_DIR "enabled", "1"));
			EXPECT_TRUE(is(BOLT_DIR "parked", "1"))
				TH_LOG("%d: '%.40s' to %s", err, value, file);
			EXPECT_TRUE(is(BOLT_DIR "settle_delay_ms", "4000000000"));
			continue;
		}
		taken++;
		ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "4000000000"));
		/*
		 * Gives a worker that still uses the settle delay of the accepted text
		 * time to end.
		 */
		wait_ms(20);
		ASSERT_EQ(0, enable(true));
		ASSERT_EQ(0, set_online(VICTIM, true));
		ASSERT_EQ(0, set_online(VICTIM, false));
	}
	free(value);
	TH_LOG("%d texts accepted, %d refused", taken, refused);
	EXPECT_GT(taken, n / 100);
	EXPECT_GT(refused, n / 4);
}

TEST_F(veto, no_privilege)
{
	static const struct {
		const char *file;
		int flags;
	} files[] = {
		{ BOLT_DIR "enabled", O_RDONLY }, { BOLT_DIR "enabled", O_WRONLY },
		{ BOLT_DIR "parked", O_RDONLY }, { BOLT_DIR "settle", O_WRONLY },
		{ BOLT_DIR "settle_delay_ms", O_RDONLY },
		{ BOLT_DIR "settle_delay_ms", O_WRONLY },
		{ BOLT_DIR "last_error", O_RDONLY },
		{ CPU_DIR "cpu1/online", O_WRONLY },
	};
	int status;
	pid_t pid = fork();

	ASSERT_GE(pid, 0);
	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(100);
		for (size_t i = 0; i < ARRAY_SIZE(files); i++)
			if (open(files[i].file, files[i].flags) != -1 ||
			    errno != EACCES)
				_exit(i + 1);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_NE(100, WEXITSTATUS(status))
		TH_LOG("the child cannot give up root");
	EXPECT_EQ(0, status)
		TH_LOG("the open() of row %d is not refused with EACCES", WEXITSTATUS(status) - 1);
}

static void toggle(struct slot *slot)
{
	for (int i = 0;; i++) {
		int err = set_online(VICTIM, i % 2);

		if (!err && i % 16 == 7)
			err = settle_all();
		if (!err && i % 16 == 15)
			err = enable(i % 32 != 15);
		if (err)
			slot->value = err;
		slot_beat(slot);
	}
}

/*
 * The task that makes a request may be killed at any moment: the request is then either
 * done as a whole, or not done at all.
 */
TEST_F_TIMEOUT(veto, killed_in_a_request, 600)
{
	struct slot *slot = slots_map(1);
	const char *line;
	struct task task;

	ASSERT_NE(NULL, slot);
	tree_of_cpus(&self->before, true);
	ASSERT_EQ(0, enable(true));
	for (int i = 0; i < 40; i++) {
		ASSERT_GT(task_start(&task, slot, toggle), 0);
		usleep(500 + i * 731 % 9000);
		task_kill(&task);
		/* cpu1/online and cpu1/hotplug/state must say the same. */
		EXPECT_EQ(cpu_is_online(VICTIM),
			  !is(CPU_DIR "cpu1/hotplug/state", "0"));
		EXPECT_EQ(0, slot->value);
	}
	ASSERT_EQ(0, start_over_all());
	tree_of_cpus(&self->after, true);
	line = tree_differ(&self->before, &self->after);
	EXPECT_EQ(NULL, line)
		TH_LOG("%s", line);
}

TEST_HARNESS_MAIN
