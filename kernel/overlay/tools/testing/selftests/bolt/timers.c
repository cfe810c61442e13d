// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers are armed on a CPU that goes: every timer fires, none before it is due, and the
 * latest misses its due time by at most 20 ms more than the latest in a native request does.
 * BOLT_SLACK_MS=N sets another limit than 20 ms, for guests that the host makes wait.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>

#include "env.h"
#include "tasks.h"
#include "../kselftest_harness.h"

#define SHOTS 12
#define SLACK_MS 20
#define NSEC 1000000000LL
/* A number that no clock of the kernel has. */
#define CLOCK_TICKS 1000
/* A timer that has not fired within this time has been lost. */
#define PATIENCE_MS 3000

/* Timers of one kind: when each timer is due, and how late each timer fired, in ns. */
struct shots {
	int armed, fired;
	long long due[SHOTS], late[SHOTS];
};

static struct shots *shots;

static struct timespec spec(long long ns)
{
	struct timespec ts = { ns / NSEC, ns % NSEC };

	return ts;
}

/*
 * Returns after how many ns timer @i is due: from 3 ms, when a native request is under way,
 * to a time when the request is long over.
 */
static long long delay(int i)
{
	return (3 + i * i) * NSEC / 1000;
}

/*
 * Returns the kernel's count of ticks, as the time that as many ticks take. The timer wheel
 * counts ticks, and no clock shows whether a tick that is due has been counted.
 */
static long long ticks_ns(void)
{
	FILE *list = fopen("/proc/timer_list", "r");
	unsigned long long ticks;
	struct timespec tick;
	char line[512];

	if (!list || clock_getres(CLOCK_MONOTONIC_COARSE, &tick))
		_exit(1);
	do {
		if (!fgets(line, sizeof(line), list))
			_exit(1);
	} while (sscanf(line, "jiffies: %llu", &ticks) != 1);
	fclose(list);
	return ticks * tick.tv_nsec;
}

static long long now(clockid_t clock)
{
	return clock == CLOCK_TICKS ? ticks_ns() : clock_ns(clock);
}

static void fired(int i, clockid_t clock)
{
	shots->late[i] = now(clock) - shots->due[i];
	__atomic_add_fetch(&shots->fired, 1, __ATOMIC_SEQ_CST);
}

static void armed(int i, clockid_t clock)
{
	shots->due[i] = now(clock) + delay(i);
	__atomic_add_fetch(&shots->armed, 1, __ATOMIC_SEQ_CST);
}

static void timerfds(clockid_t clock)
{
	struct pollfd fds[SHOTS];

	for (int i = 0; i < SHOTS; i++) {
		struct itimerspec when = {};

		fds[i].fd = timerfd_create(clock, 0);
		fds[i].events = POLLIN;
		armed(i, clock);
		when.it_value = spec(shots->due[i]);
		if (timerfd_settime(fds[i].fd, TFD_TIMER_ABSTIME, &when, NULL))
			_exit(1);
	}
	for (int left = SHOTS; left;) {
		poll(fds, SHOTS, -1);
		for (int i = 0; i < SHOTS; i++) {
			if (fds[i].fd < 0 || !(fds[i].revents & POLLIN))
				continue;
			fired(i, clock);
			close(fds[i].fd);
			fds[i].fd = -1;
			left--;
		}
	}
}

static void posix_timers(clockid_t clock)
{
	sigset_t set;
	siginfo_t info;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < SHOTS; i++) {
		struct sigevent event = {
			.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN,
			.sigev_value.sival_int = i,
		};
		struct itimerspec when = {};
		timer_t timer;

		if (timer_create(clock, &event, &timer))
			_exit(1);
		armed(i, clock);
		when.it_value = spec(shots->due[i]);
		if (timer_settime(timer, TIMER_ABSTIME, &when, NULL))
			_exit(1);
	}
	for (int left = SHOTS; left; left--)
		if (sigwaitinfo(&set, &info) == SIGRTMIN)
			fired(info.si_value.sival_int, clock);
}

/* Starts a task for each timer, which sleeps until the timer fires. */
static void sleepers(clockid_t clock, void (*sleep)(clockid_t clock, int i))
{
	for (int i = 0; i < SHOTS; i++) {
		if (fork_mortal())
			continue;
		armed(i, clock);
		sleep(clock, i);
		fired(i, clock);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
}

static void sleep_nano(clockid_t clock, int i)
{
	wait_until(clock, shots->due[i]);
}

static void nanosleeps(clockid_t clock)
{
	sleepers(clock, sleep_nano);
}

static void sleep_poll(clockid_t clock, int i)
{
	struct timespec ts = spec(shots->due[i] - clock_ns(clock));

	ppoll(NULL, 0, &ts, NULL);
}

static void polls(clockid_t clock)
{
	sleepers(clock, sleep_poll);
}

/* Sleeps by schedule_timeout(), which uses the timer wheel and so counts ticks. */
static void sleep_receive(clockid_t clock, int i)
{
	struct timeval tv = { .tv_usec = delay(i) / 1000 };
	int fds[2];
	char c;

	(void)clock;
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) ||
	    setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)))
		_exit(1);
	if (recv(fds[0], &c, 1, 0) != -1)
		_exit(1);
}

static void receives(clockid_t clock)
{
	sleepers(clock, sleep_receive);
}

static void sleep_itimer(clockid_t clock, int i)
{
	struct itimerval when = { .it_value.tv_usec = delay(i) / 1000 };
	sigset_t set;
	int sig;

	(void)clock;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	setitimer(ITIMER_REAL, &when, NULL);
	sigwait(&set, &sig);
}

static void itimers(clockid_t clock)
{
	sleepers(clock, sleep_itimer);
}

struct kind {
	const char *name;
	void (*run)(clockid_t clock);
	clockid_t clock;
};

static const struct kind kinds[] = {
	{ "timerfd", timerfds, CLOCK_MONOTONIC },
	{ "timerfd, realtime", timerfds, CLOCK_REALTIME },
	{ "timerfd, boottime", timerfds, CLOCK_BOOTTIME },
	{ "POSIX timer", posix_timers, CLOCK_MONOTONIC },
	{ "POSIX timer, TAI", posix_timers, CLOCK_TAI },
	{ "nanosleep", nanosleeps, CLOCK_MONOTONIC },
	{ "poll", polls, CLOCK_MONOTONIC },
	{ "timer wheel", receives, CLOCK_TICKS },
	{ "interval timer", itimers, CLOCK_MONOTONIC },
};

/* What the test does with the CPU after the CPU has gone offline with armed timers. */
enum then { STAYS_AWAY, RETURNS, SETTLES };

/* The data of a test. */
struct range {
	struct task task;
	long long slack;
};

FIXTURE(timers) {
	struct range range;
};

FIXTURE_VARIANT(timers) {
	enum then then;
};

FIXTURE_VARIANT_ADD(timers, stays_away) { .then = STAYS_AWAY };
FIXTURE_VARIANT_ADD(timers, returns) { .then = RETURNS };
FIXTURE_VARIANT_ADD(timers, settles) { .then = SETTLES };

FIXTURE_SETUP(timers)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_over());
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "4000000000"));
	self->range.slack = env_number("BOLT_SLACK_MS", SLACK_MS) * NSEC / 1000;
	shots = mmap(NULL, sizeof(*shots), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shots);
}

FIXTURE_TEARDOWN(timers)
{
	if (cannot_run())
		return;
	task_kill(&self->range.task);
	EXPECT_EQ(0, start_over());
}

static const struct kind *running;

static void run(struct slot *slot)
{
	(void)slot;
	if (pin(0, VICTIM))
		_exit(1);
	running->run(running->clock);
}

/* Returns the greatest number in shots->late, or -errno; *first: the least number there. */
static long long shoot(struct range *range, const struct kind *kind,
		       enum then then, long long *first)
{
	long long last = 0;
	int err, i;

	memset(shots, 0, sizeof(*shots));
	running = kind;
	if (task_start(&range->task, NULL, run) < 0)
		return -errno;
	for (i = 0; __atomic_load_n(&shots->armed, __ATOMIC_SEQ_CST) < SHOTS; i++) {
		if (i == PATIENCE_MS)
			return -ETIME;
		usleep(200);
	}
	err = set_online(VICTIM, false);
	if (!err && then == SETTLES)
		err = settle_all();
	if (!err && then == RETURNS)
		err = set_online(VICTIM, true);
	if (err)
		return err;
	for (i = 0; __atomic_load_n(&shots->fired, __ATOMIC_SEQ_CST) < SHOTS; i++) {
		if (i == PATIENCE_MS)
			return -ETIMEDOUT;
		wait_ms(1);
	}
	task_kill(&range->task);
	*first = shots->late[0];
	for (i = 0; i < SHOTS; i++) {
		if (shots->late[i] > last)
			last = shots->late[i];
		if (shots->late[i] < *first)
			*first = shots->late[i];
	}
	err = set_online(VICTIM, true);
	return err ?: last;
}

TEST_F_TIMEOUT(timers, fire_on_time, 600)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		long long native, bolt, first = 0;

		ASSERT_EQ(0, enable(false));
		native = shoot(&self->range, &kinds[i], variant->then, &first);
		ASSERT_GT(native, 0)
			TH_LOG("%s", kinds[i].name);
		ASSERT_GE(first, 0)
			TH_LOG("%s", kinds[i].name);
		ASSERT_EQ(0, enable(true));
		for (int round = 0; round < 2; round++) {
			bolt = shoot(&self->range, &kinds[i], variant->then, &first);
			/*
			 * A negative value is an error; -ETIMEDOUT says that a
			 * timer was lost.
			 */
			ASSERT_GT(bolt, 0)
				TH_LOG("%s", kinds[i].name);
			EXPECT_GE(first, 0)
				TH_LOG("%s", kinds[i].name);
			EXPECT_LE(bolt, native + self->range.slack)
				TH_LOG("%s: native %lld ns late, Bolt %lld",
				       kinds[i].name, native, bolt);
		}
	}
}

FIXTURE(periods) {
	struct task task;
	struct slot *slot;
};

FIXTURE_SETUP(periods)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_over());
	self->slot = slots_map(1);
	ASSERT_NE(NULL, self->slot);
}

FIXTURE_TEARDOWN(periods)
{
	if (cannot_run())
		return;
	task_kill(&self->task);
	EXPECT_EQ(0, start_over());
}

#define PERIOD_NS 2000000LL

/*
 * Counts expirations of a periodic timer. The value of the slot is how many more
 * expirations there should be by the clock.
 */
static void count_periods(struct slot *slot)
{
	struct itimerspec when = {};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	unsigned long long n, total = 0;
	long long start;

	pin(0, VICTIM);
	start = now_ns();
	when.it_value = spec(start + PERIOD_NS);
	when.it_interval = spec(PERIOD_NS);
	timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
	while (read(fd, &n, sizeof(n)) == sizeof(n)) {
		total += n;
		/*
		 * The clock is read after the count: by then more expirations may be due
		 * than were counted, never fewer.
		 */
		slot->value = (now_ns() - start) / PERIOD_NS - total;
		slot_beat(slot);
	}
}

TEST_F_TIMEOUT(periods, none_is_lost, 600)
{
	ASSERT_GT(task_start(&self->task, self->slot, count_periods), 0);
	ASSERT_EQ(0, enable(true));
	for (int round = 0; round < 10; round++) {
		ASSERT_EQ(0, pin(self->task.pid, VICTIM));
		ASSERT_TRUE(task_lives(&self->task, 3, PATIENCE_MS));
		ASSERT_EQ(0, set_online(VICTIM, false));
		EXPECT_TRUE(task_lives(&self->task, 5, PATIENCE_MS));
		EXPECT_GE(self->slot->value, 0);
		/*
		 * The count of a timer that is late catches up, unless an
		 * expiration was lost.
		 */
		for (int i = 0; i < PATIENCE_MS && self->slot->value > 1; i++)
			wait_ms(1);
		EXPECT_LE(self->slot->value, 1);
		if (round % 3 == 1)
			ASSERT_EQ(0, settle_all());
		ASSERT_EQ(0, set_online(VICTIM, true));
	}
	EXPECT_GT(slot_beats(self->slot), 50);
}

TEST_HARNESS_MAIN
