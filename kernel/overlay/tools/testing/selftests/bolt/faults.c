// SPDX-License-Identifier: GPL-2.0-only
/*
 * Offline and online requests fail, at every hotplug state that can fail. Each failed
 * request ends as natively, to the last file and uevent, and the next request works. For
 * the first and the last CPU the test tries only every third state, unless BOLT_FAULTS is
 * set.
 */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/wait.h>

#include "cpus.h"
#include "errors.h"
#include "events.h"
#include "tree.h"
#include "../kselftest_harness.h"

#define GROUP GROUP_DIR "bolt-faults"

/* What the test looks at after a request. */
struct outcome {
	int armed;		/* 0: the state can fail; else the error that says why not */
	bool met;		/* whether the failure has happened */
	int err;
	bool online;
	char effective[2][TEXT_MAX];
	char parked[TEXT_MAX];
	char last[TEXT_MAX];	/* last line of last_error, without the batch's number */
	struct events events;
	struct tree tree;
};

static const char * const effective[] = {
	GROUP_DIR "cpuset.cpus.effective",
	GROUP "/cpuset.cpus.effective",
};

static void outcome_free(struct outcome *out)
{
	events_free(&out->events);
	tree_free(&out->tree);
}

static void look(struct outcome *out, int cpu, int fd)
{
	unsigned long batch;

	out->online = cpu_is_online(cpu);
	last_error(out->last, &batch);
	events_take(fd, &out->events);
	if (get(BOLT_DIR "parked", out->parked, TEXT_MAX))
		out->parked[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(effective); i++)
		if (get(effective[i], out->effective[i], TEXT_MAX))
			out->effective[i][0] = '\0';
	tree_of_cpus(&out->tree, true);
}

/* Makes a request in which @state fails, if the request passes that state. */
static void fail(struct outcome *out, int cpu, bool online, int state, int fd)
{
	memset(out, 0, sizeof(*out));
	out->armed = hp_fail(cpu, state);
	if (out->armed)
		return;
	events_drop(fd);
	out->err = set_online(cpu, online);
	out->met = !hp_failing(cpu);
	/* Clears the failure, in case the request has not met it. */
	hp_fail(cpu, -1);
	look(out, cpu, fd);
}

/* What the CPU is when the request is made. Natively PARKED and SETTLED both mean offline. */
enum from { ONLINE, PARKED, SETTLED };

/* The data of a test. */
struct bench {
	struct hp_state states[STATES_MAX];
	int nr_states, cpus[CPUS_MAX], nr_cpus, fd;
	struct outcome native, bolt;
};

/* Which requests a test tries. */
struct plan {
	int which;		/* 0, 1 or 2: the first, middle or last CPU */
	int step;		/* 1: every state fails; 3: every third state */
};

FIXTURE(faults) {
	struct bench bench;
};

FIXTURE_VARIANT(faults) {
	struct plan plan;
};

FIXTURE_VARIANT_ADD(faults, first) { .plan = { 0, 3 } };
FIXTURE_VARIANT_ADD(faults, middle) { .plan = { 1, 1 } };
FIXTURE_VARIANT_ADD(faults, last) { .plan = { 2, 3 } };

FIXTURE_SETUP(faults)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	self->bench.nr_states = hp_states(self->bench.states);
	ASSERT_GT(self->bench.nr_states, 10);
	self->bench.fd = events_open();
	ASSERT_GE(self->bench.fd, 0);
	ASSERT_EQ(0, start_over_all());
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "4000000000"));
	self->bench.nr_cpus = cpus_movable(self->bench.cpus);
	if (!put(GROUP_DIR "cgroup.subtree_control", "+cpuset"))
		mkdir(GROUP, 0755);
}

FIXTURE_TEARDOWN(faults)
{
	if (cannot_run())
		return;
	outcome_free(&self->bench.native);
	outcome_free(&self->bench.bolt);
	close(self->bench.fd);
	rmdir(GROUP);
	EXPECT_EQ(0, start_over_all());
}

/* Brings the CPU to @from, with Bolt or natively. */
static int prepare(int cpu, enum from from, bool bolt)
{
	int err = enable(bolt);

	if (!err)
		err = set_online(cpu, true);
	if (!err && from != ONLINE)
		err = set_online(cpu, false);
	if (!err && from == SETTLED)
		err = settle_all();
	return err;
}

static void compare(struct __test_metadata *_metadata, const char *name,
		    struct outcome *native, struct outcome *bolt)
{
	const char *line;

#ifdef __aarch64__
	/*
	 * Natively a CPU enters the maps of shared caches when it starts, and stays in
	 * the maps if its bring-up fails later. With Bolt a parked CPU enters the maps
	 * only when the CPU is up. So after a bring-up that has failed the test does not
	 * compare these maps.
	 */
	if (native->err && !native->online) {
		tree_drop(&native->tree, "/shared_cpu_");
		tree_drop(&bolt->tree, "/shared_cpu_");
	}
#endif

	EXPECT_EQ(native->armed, bolt->armed)
		TH_LOG("%s", name);
	EXPECT_EQ(native->met, bolt->met)
		TH_LOG("%s", name);
	EXPECT_EQ(native->err, bolt->err)
		TH_LOG("%s", name);
	EXPECT_EQ(native->online, bolt->online)
		TH_LOG("%s", name);
	for (size_t i = 0; i < ARRAY_SIZE(effective); i++) {
		EXPECT_STREQ(native->effective[i], bolt->effective[i])
			TH_LOG("%s: %s", name, effective[i]);
	}
	line = events_differ(&native->events, &bolt->events);
	EXPECT_EQ(NULL, line)
		TH_LOG("%s: %d and %d events, the first to differ:\n%s", name,
		       native->events.n, bolt->events.n, line);
	line = tree_differ(&native->tree, &bolt->tree);
	EXPECT_EQ(NULL, line)
		TH_LOG("%s: sysfs differs from native at %s", name, line);
}

/* Checks the outcome of a request with Bolt without regard to the native outcome. */
static void check(struct __test_metadata *_metadata, const char *name, int cpu,
		  enum from from, const struct outcome *out)
{
	char text[TEXT_MAX];

	EXPECT_EQ(out->met ? -EAGAIN : 0, out->err)
		TH_LOG("%s", name);
	EXPECT_EQ((from == ONLINE) == out->met, out->online)
		TH_LOG("%s", name);
	if (out->met) {
		snprintf(text, sizeof(text), "pid=%d cpu=%d state=%s errno=%d",
			 getpid(), cpu, name, EAGAIN);
		EXPECT_STREQ(text, out->last);
	}
	snprintf(text, sizeof(text), "%d", cpu);
	/*
	 * A CPU that was settled need not be parked after the failure, which may have
	 * happened before any state was set up again.
	 */
	if (out->online || from != SETTLED) {
		EXPECT_STREQ(out->online ? "" : text, out->parked)
			TH_LOG("%s", name);
	}
}

static void every_state(struct __test_metadata *_metadata, struct bench *bench,
			const struct plan *plan, enum from from)
{
	int cpu = bench->cpus[plan->which * (bench->nr_cpus - 1) / 2];
	int step = getenv("BOLT_FAULTS") ? 1 : plan->step;
	int tried = 0, met = 0;
	bool online = from != ONLINE;

	for (int i = plan->which % step; i < bench->nr_states; i += step) {
		const struct hp_state *state = &bench->states[i];

		ASSERT_EQ(0, prepare(cpu, from, false))
			TH_LOG("before %s", state->name);
		fail(&bench->native, cpu, online, state->nr, bench->fd);
		ASSERT_EQ(0, prepare(cpu, from, true));
		fail(&bench->bolt, cpu, online, state->nr, bench->fd);
		compare(_metadata, state->name, &bench->native, &bench->bolt);
		if (!bench->bolt.armed) {
			check(_metadata, state->name, cpu, from, &bench->bolt);
			tried++;
			met += bench->bolt.met;
			/* The next request must succeed. */
			EXPECT_EQ(0, set_online(cpu, online))
				TH_LOG("%s", state->name);
			EXPECT_EQ(online, cpu_is_online(cpu));
			EXPECT_TRUE(is(BOLT_DIR "enabled", "1"));
		}
		outcome_free(&bench->native);
		outcome_free(&bench->bolt);
	}
	TH_LOG("cpu %d: %d states, %d can fail, %d failed", cpu, bench->nr_states,
	       tried, met);
	ASSERT_GT(met, 3);
}

TEST_F_TIMEOUT(faults, going_down, 3600)
{
	every_state(_metadata, &self->bench, &variant->plan, ONLINE);
}

TEST_F_TIMEOUT(faults, coming_up_from_parked, 3600)
{
	every_state(_metadata, &self->bench, &variant->plan, PARKED);
}

TEST_F_TIMEOUT(faults, coming_up_from_settled, 3600)
{
	every_state(_metadata, &self->bench, &variant->plan, SETTLED);
}

/* Makes an offline request fail at CPUHP_AP_ACTIVE, the last state but one in hotplug/states. */
static int fail_once(const struct bench *bench, int cpu)
{
	int state = bench->states[bench->nr_states - 2].nr, err;

	err = hp_fail(cpu, state);
	return err ?: set_online(cpu, false);
}

FIXTURE(errors) {
	struct bench bench;
};

FIXTURE_SETUP(errors)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_over_all());
	ASSERT_EQ(0, enable(true));
	self->bench.nr_states = hp_states(self->bench.states);
	self->bench.nr_cpus = cpus_movable(self->bench.cpus);
}

FIXTURE_TEARDOWN(errors)
{
	if (!cannot_run())
		EXPECT_EQ(0, start_over_all());
}

TEST_F_TIMEOUT(errors, the_last_sixteen, 600)
{
	unsigned long batch, before = 0;
	char last[TEXT_MAX], wanted[32];

	for (int i = 0; i < 20; i++) {
		int cpu = self->bench.cpus[i % self->bench.nr_cpus];
		int n;

		ASSERT_EQ(-EAGAIN, fail_once(&self->bench, cpu));
		n = last_error(last, &batch);
		ASSERT_GT(n, 0);
		EXPECT_LE(n, 16);
		EXPECT_TRUE(i < 16 || n == 16);
		snprintf(wanted, sizeof(wanted), " cpu=%d ", cpu);
		EXPECT_NE(NULL, strstr(last, wanted));
		EXPECT_GT(batch, before);
		before = batch;
	}
}

TEST_F(errors, whose_request_it_was)
{
	unsigned long batch, again;
	char last[TEXT_MAX], wanted[32];
	pid_t pid = fork();
	int status;

	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(fail_once(&self->bench, VICTIM) == -EAGAIN ? 0 : 1);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_GT(last_error(last, &batch), 0);
	snprintf(wanted, sizeof(wanted), "pid=%d cpu=%d ", pid, VICTIM);
	EXPECT_EQ(0, strncmp(wanted, last, strlen(wanted)))
		TH_LOG("%s", last);
	/* Requests that succeed, and native requests, leave no line in last_error. */
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_EQ(0, set_online(VICTIM, true));
	ASSERT_EQ(0, enable(false));
	ASSERT_EQ(-EAGAIN, fail_once(&self->bench, VICTIM));
	ASSERT_GT(last_error(last, &again), 0);
	EXPECT_EQ(batch, again);
}

TEST_HARNESS_MAIN
