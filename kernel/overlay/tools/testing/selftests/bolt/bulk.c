// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests for several CPUs are done for all CPUs or for none. BOLT_FUZZ=N sets how
 * many random requests are tried.
 */
#define _GNU_SOURCE
#include <sys/uio.h>
#include <sys/wait.h>

#include "draw.h"
#include "env.h"
#include "errors.h"
#include "events.h"
#include "model.h"
#include "sets.h"
#include "tasks.h"
#include "../kselftest_harness.h"

#define FUZZ 3000
#define ODD 1780
#define SMT CPU_DIR "smt/"

FIXTURE(bulk) {
	struct world world;
	struct sight before, after;
	char *page;
};

FIXTURE_SETUP(bulk)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	if (!world_look(&self->world) || cpus_count(self->world.movable) < 4)
		SKIP(return, "needs 4 CPUs that can go offline, and at most 64 CPUs");
	ASSERT_EQ(0, sets_start_over(&self->world));
	ASSERT_TRUE(sight_take(&self->world, &self->before));
	self->page = calloc(4, self->world.page);
	ASSERT_NE(NULL, self->page);
}

FIXTURE_TEARDOWN(bulk)
{
	free(self->page);
	if (cannot_run() || !self->world.nr)
		return;
	put(SMT "control", "on");
	EXPECT_EQ(0, sets_start_over(&self->world));
	EXPECT_EQ(0, start_over());
}

/*
 * The CPUs that tests take offline: all that can go but CPU 0. Only the random requests
 * of made_up may take CPU 0 offline, on a machine on which CPU 0 can go.
 */
static cpus_t victims(const struct world *world)
{
	return world->movable & ~CPU(0);
}

/* Every second CPU of victims(): a set that no range from one CPU to another describes. */
static cpus_t some(const struct world *world)
{
	cpus_t all = victims(world), set = 0;

	for (int cpu = 0, i = 0; cpu < world->nr; cpu++)
		if (all & CPU(cpu) && i++ % 2 == 0)
			set |= CPU(cpu);
	return set;
}

/* Expects that self->before still describes all CPUs, as after a refused request. */
#define expect_unchanged(format, ...)					\
do {									\
	ASSERT_TRUE(sight_take(&self->world, &self->after));		\
	EXPECT_TRUE(sight_same(&self->before, &self->after))		\
		TH_LOG(format, ##__VA_ARGS__);				\
} while (0)

/* Checks the result of a request that was accepted. */
static void check_taken(struct __test_metadata *_metadata,
			const struct sight *before, const struct sight *after,
			cpus_t wanted)
{
	cpus_t gone = before->online & ~wanted;

	EXPECT_EQ(wanted, after->online);
	EXPECT_EQ(wanted, after->files);
	EXPECT_EQ(gone, after->parked & gone);
	EXPECT_EQ(0, after->parked & wanted);
	EXPECT_EQ(before->parked & ~wanted, after->parked & ~gone);
}

TEST_F_TIMEOUT(bulk, does_what_it_says, 300)
{
	cpus_t set = some(&self->world), all = victims(&self->world);
	struct {
		enum ask ask;
		cpus_t set;
	} steps[] = {
		{ OFFLINE_THEM, set },
		{ OFFLINE_THEM, all & ~set },
		{ ONLINE_THEM, all },
		{ OFFLINE_THEM, all },
		{ ONLINE_THEM, set },
		{ SET_THEM, CPU(0) | (all & ~set) },
		{ SET_THEM, CPU(0) | set },
		{ SET_THEM, CPU(0) },
		{ SET_THEM, CPU(0) | all },
	};

	for (int masks = 0; masks < 2; masks++) {
		for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
			cpus_t wanted = ask_result(steps[i].ask, steps[i].set,
						   self->before.online);

			/*
			 * In the second round the CPUs are already as the request
			 * wants them.
			 */
			for (int round = 0; round < 2; round++) {
				ASSERT_EQ(0, masks ? ask_by_mask(steps[i].ask,
								 steps[i].set) :
						     ask_by_list(steps[i].ask,
								 steps[i].set));
				ASSERT_TRUE(sight_take(&self->world, &self->after));
				check_taken(_metadata, &self->before,
					    &self->after, wanted);
				self->before = self->after;
			}
		}
	}
}

/* One write is one request, however many buffers its bytes come from. */
TEST_F_TIMEOUT(bulk, gathered_and_kept_open, 120)
{
	cpus_t set = some(&self->world), all = victims(&self->world);
	unsigned long mask[128 / sizeof(long)] = { 0 };
	struct iovec parts[] = {
		{ (char *)"1", 1 }, { (char *)"-", 1 }, { (char *)"3\n", 2 },
	};
	int fd = open(ask_list[OFFLINE_THEM], O_WRONLY);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(4, writev(fd, parts, 3));
	ASSERT_TRUE(sight_take(&self->world, &self->after));
	EXPECT_EQ(self->before.online & ~0xeULL, self->after.online);
	/* A list is read as a whole, whatever the position of the file is. */
	ASSERT_EQ(2, write(fd, "2\n", 2));
	close(fd);
	ASSERT_EQ(0, ask_by_list(ONLINE_THEM, all));

	fd = open(ask_mask[OFFLINE_THEM], O_WRONLY);
	ASSERT_GE(fd, 0);
	memcpy(mask, &set, sizeof(set));
	/* This mask is as long as a cpu_set_t. */
	ASSERT_EQ(sizeof(mask), pwrite(fd, mask, sizeof(mask), 0));
	ASSERT_TRUE(sight_take(&self->world, &self->before));
	EXPECT_EQ(self->before.online, (CPU(0) | all) & ~set);
	ASSERT_EQ(sizeof(set), write(fd, mask, sizeof(set)));
	EXPECT_EQ(-1, write(fd, mask, sizeof(set)));
	EXPECT_EQ(EINVAL, errno);
	for (off_t at = 1; at < 20; at += 7) {
		EXPECT_EQ(-1, pwrite(fd, &all, sizeof(all), at));
		EXPECT_EQ(EINVAL, errno);
	}
	expect_unchanged("a mask at an offset");
	ASSERT_EQ(sizeof(all), pwrite(fd, &all, sizeof(all), 0));
	close(fd);
}

TEST_F_TIMEOUT(bulk, malformed_is_refused_whole, 120)
{
	static const struct {
		const char *text;
		size_t len;
	} bad[] = {
		{ "\n", 1 }, { " ", 1 }, { ",", 1 }, { ",,\n", 3 }, { "\0", 1 },
		{ "3-1", 3 }, { "1,3-1", 5 }, { "-1", 2 }, { "1,-1", 4 },
		{ "1-", 2 }, { "1--2", 4 }, { "1-2-3", 5 }, { "+1", 2 },
		{ "0x1", 3 }, { "1,two", 5 }, { "1;2", 3 }, { "1\n2", 3 },
		{ "\n1", 2 }, { "1\n\n", 3 }, { "1\r\n", 3 }, { "1\0002", 3 },
		{ "1\0\n", 3 }, { "1,\xd9\xa2", 4 }, { "1\xa0", 2 },
		{ "1\xff", 2 }, { "1\x01", 2 }, { "none", 4 }, { "allx", 4 },
		{ "1-3:0/0", 7 }, { "1-3:3/2", 7 }, { "1-3:1", 5 },
		{ "1-3:/2", 6 }, { "1:1/2", 5 }, { "1,64", 4 }, { "1,4095", 6 },
		{ "1-99999", 7 }, { "1,4294967297", 12 }, { "1,~2", 4 },
		{ "1,99999999999999999999999", 25 }, { "2-3:1/4294967295", 16 },
	};
	cpus_t set;

	/* In the first round all CPUs are online, in the second some are parked. */
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
			ASSERT_EQ(-EINVAL, model_list(&self->world, bad[i].text,
						      bad[i].len, &set))
				TH_LOG("the test's own model accepts: %s", bad[i].text);
			for (int ask = 0; ask < ASKS; ask++) {
				EXPECT_EQ(-EINVAL, put_bytes(ask_list[ask],
							     bad[i].text,
							     bad[i].len))
					TH_LOG("'%s' to %s", bad[i].text,
					       ask_list[ask]);
			}
			expect_unchanged("'%s'", bad[i].text);
		}
		ASSERT_EQ(0, ask_by_list(OFFLINE_THEM, some(&self->world)));
		ASSERT_TRUE(sight_take(&self->world, &self->before));
	}
}

/*
 * kernfs cuts a list that is longer than a page, so Bolt refuses a list that fills a
 * page. Bolt also refuses a short list with CPUs that this machine does not have.
 */
TEST_F_TIMEOUT(bulk, too_long_is_refused_whole, 120)
{
	size_t page = self->world.page, len = 0;
	char *list = self->page;

	for (int i = 0; i < ODD; i++)
		len += sprintf(list + len, "%s%d", i ? "," : "", 2 * i + 1);
	for (int ask = 0; ask < ASKS; ask++) {
		EXPECT_EQ(len < page ? -EINVAL : -E2BIG,
			  put_bytes(ask_list[ask], list, len));
		expect_unchanged("%d odd CPUs to %s", ODD, ask_list[ask]);
		EXPECT_EQ(-EINVAL, put(ask_list[ask], "1-3559:1/2"));
		expect_unchanged("odd CPUs as a range to %s", ask_list[ask]);
	}
	/* A list that has only CPU 1, padded to any length. */
	memset(list, ' ', 3 * page);
	list[0] = '1';
	for (int ask = 0; ask < ASKS; ask++) {
		EXPECT_EQ(-E2BIG, put_bytes(ask_list[ask], list, page));
		EXPECT_EQ(-E2BIG, put_bytes(ask_list[ask], list, page + 1));
		EXPECT_EQ(-E2BIG, put_bytes(ask_list[ask], list, 3 * page));
		expect_unchanged("a page to %s", ask_list[ask]);
	}
	memset(list, 0, 3 * page);
	((unsigned long *)list)[0] = 2;
	for (int ask = 0; ask < ASKS; ask++) {
		EXPECT_EQ(-E2BIG, put_bytes(ask_mask[ask], list, page));
		EXPECT_EQ(-E2BIG, put_bytes(ask_mask[ask], list, 3 * page));
		expect_unchanged("a page to %s", ask_mask[ask]);
	}
	ASSERT_EQ(0, put_bytes(ask_mask[OFFLINE_THEM], list, page - sizeof(long)));
	memset(list, ' ', page);
	list[0] = '1';
	ASSERT_EQ(0, put_bytes(ask_list[ONLINE_THEM], list, page - 1));
	expect_unchanged("CPU 1 offline and online");
}

TEST_F_TIMEOUT(bulk, odd_masks_are_refused_whole, 120)
{
	size_t words = self->world.page / sizeof(long) - 1;
	unsigned long *mask = (unsigned long *)self->page;
	int nr = self->world.nr;

	mask[0] = 2;
	for (int ask = 0; ask < ASKS; ask++) {
		for (size_t len = 1; len < 4 * sizeof(long); len++)
			if (len % sizeof(long))
				EXPECT_EQ(-EINVAL, put_bytes(ask_mask[ask],
							     self->page, len));
		for (size_t bit = nr; bit < 8 * words * sizeof(long);
		     bit += bit < 256 ? 1 : 97) {
			unsigned long *word = &mask[bit / (8 * sizeof(long))];
			unsigned long was = *word;

			*word |= 1UL << bit % (8 * sizeof(long));
			EXPECT_EQ(-EINVAL, put_bytes(ask_mask[ask], self->page,
						     words * sizeof(long)))
				TH_LOG("bit %zu to %s", bit, ask_mask[ask]);
			*word = was;
		}
		expect_unchanged("%s", ask_mask[ask]);
	}
	mask[0] = 0;
	for (int ask = 0; ask < ASKS; ask++)
		for (size_t len = 1; len <= words; len++)
			EXPECT_EQ(-EINVAL, put_bytes(ask_mask[ask], self->page,
						     len * sizeof(long)));
	expect_unchanged("no CPU");
}

/*
 * Checks the line of last_error that a refused request leaves, and the request's
 * number.
 */
static void check_error(struct __test_metadata *_metadata, int cpu, int err,
			unsigned long *batch)
{
	char last[TEXT_MAX], wanted[TEXT_MAX];
	unsigned long now = 0;

	EXPECT_GT(last_error(last, &now), 0);
	snprintf(wanted, sizeof(wanted), "pid=%d cpu=%d state=admission errno=%d",
		 getpid(), cpu, err);
	EXPECT_STREQ(wanted, last);
	EXPECT_GT(now, *batch);
	*batch = now;
}

/*
 * One CPU that cannot go makes the whole request fail, wherever that CPU is in the
 * list.
 */
TEST_F_TIMEOUT(bulk, in_irq_keep, 120)
{
	cpus_t all = victims(&self->world), set = some(&self->world);
	unsigned long batch = 0;
	char text[16];

	for (int cpu = 0; cpu < self->world.nr; cpu++) {
		if (!(set & CPU(cpu)))
			continue;
		snprintf(text, sizeof(text), "%d", cpu);
		ASSERT_EQ(0, put(BOLT_DIR "irq_keep", text));
		EXPECT_EQ(-EBUSY, ask_by_list(OFFLINE_THEM, set));
		check_error(_metadata, cpu, EBUSY, &batch);
		EXPECT_EQ(-EBUSY, ask_by_mask(OFFLINE_THEM, all));
		check_error(_metadata, cpu, EBUSY, &batch);
		EXPECT_EQ(-EBUSY, ask_by_list(SET_THEM, CPU(0) | (all & ~set)));
		check_error(_metadata, cpu, EBUSY, &batch);
		expect_unchanged("CPU %d in irq_keep", cpu);
		/*
		 * The CPU of irq_keep stays, and a request may name that CPU among
		 * those that are to be online.
		 */
		EXPECT_EQ(0, ask_by_list(ONLINE_THEM, all));
		EXPECT_EQ(0, ask_by_list(OFFLINE_THEM, all & ~CPU(cpu)));
		EXPECT_EQ(0, ask_by_list(SET_THEM, CPU(0) | all));
	}
}

TEST_F_TIMEOUT(bulk, not_there, 120)
{
	cpus_t absent = self->world.possible & ~self->world.present;
	cpus_t all = victims(&self->world);
	int cpu = cpus_first(absent);
	unsigned long batch = 0;

	if (!absent)
		SKIP(return, "all possible CPUs are present");
	for (int ask = 0; ask < ASKS; ask++) {
		EXPECT_EQ(-ENODEV, ask_by_list(ask, all | CPU(cpu)));
		check_error(_metadata, cpu, ENODEV, &batch);
		EXPECT_EQ(-ENODEV, ask_by_mask(ask, CPU(cpu)));
		check_error(_metadata, cpu, ENODEV, &batch);
		expect_unchanged("CPU %d to %s", cpu, ask_list[ask]);
	}
	EXPECT_EQ(-ENODEV, put(ask_list[ONLINE_THEM], "all"));
}

TEST_F_TIMEOUT(bulk, all_of_them, 120)
{
	cpus_t all = self->world.present;
	int err = all & ~self->world.movable ? -EPERM : -EBUSY;
	unsigned long batch = 0;

	EXPECT_EQ(err, ask_by_list(OFFLINE_THEM, all));
	if (err == -EPERM)
		check_error(_metadata, cpus_first(all & ~self->world.movable),
			    -err, &batch);
	EXPECT_EQ(err, ask_by_mask(OFFLINE_THEM, all));
	expect_unchanged("all offline");
	ASSERT_EQ(0, ask_by_list(OFFLINE_THEM, victims(&self->world)));
	ASSERT_TRUE(sight_take(&self->world, &self->before));
	EXPECT_EQ(err, ask_by_list(OFFLINE_THEM, CPU(0)));
	EXPECT_EQ(err, ask_by_mask(OFFLINE_THEM, all));
	expect_unchanged("the last CPU offline");
	EXPECT_EQ(0, ask_by_list(SET_THEM, all));
	if (err == -EBUSY)
		return;
	ASSERT_TRUE(sight_take(&self->world, &self->before));
	EXPECT_EQ(-EPERM, ask_by_list(OFFLINE_THEM, CPU(0) | CPU(VICTIM)));
	EXPECT_EQ(-EPERM, ask_by_list(SET_THEM, some(&self->world)));
	expect_unchanged("a CPU that never goes");
}

TEST_F_TIMEOUT(bulk, sibling_while_smt_is_off, 120)
{
	cpus_t off;

	if (!is(SMT "control", "on"))
		SKIP(return, "needs SMT that can be switched off");
	ASSERT_EQ(0, put(SMT "control", "off"));
	off = self->before.online;
	ASSERT_TRUE(sight_take(&self->world, &self->before));
	off &= ~self->before.online;
	ASSERT_NE(0, off);
	EXPECT_EQ(-EPERM, ask_by_list(ONLINE_THEM, off));
	EXPECT_EQ(-EPERM, ask_by_mask(ONLINE_THEM, victims(&self->world)));
	EXPECT_EQ(-EPERM, ask_by_list(SET_THEM, self->world.present));
	EXPECT_EQ(-EPERM, ask_by_list(SET_THEM, CPU(0) | off));
	expect_unchanged("siblings");
	EXPECT_EQ(0, ask_by_list(OFFLINE_THEM, victims(&self->world)));
	EXPECT_EQ(0, ask_by_list(ONLINE_THEM, self->before.online));
}

TEST_F_TIMEOUT(bulk, while_disabled, 60)
{
	cpus_t set = some(&self->world);

	ASSERT_EQ(0, enable(false));
	for (int ask = 0; ask < ASKS; ask++) {
		EXPECT_EQ(-EOPNOTSUPP, ask_by_list(ask, set | CPU(0)));
		EXPECT_EQ(-EOPNOTSUPP, ask_by_mask(ask, set | CPU(0)));
		EXPECT_EQ(-EOPNOTSUPP, put(ask_list[ask], "nonsense"));
	}
	expect_unchanged("disabled");
}

TEST_F(bulk, no_privilege)
{
	int status;
	pid_t pid = fork();

	ASSERT_GE(pid, 0);
	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(100);
		for (int ask = 0; ask < ASKS; ask++)
			if (open(ask_list[ask], O_WRONLY) != -1 || errno != EACCES ||
			    open(ask_mask[ask], O_WRONLY) != -1 || errno != EACCES)
				_exit(1 + ask);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* Makes a random list. About a third of these lists are well formed. */
static size_t draw_list(unsigned int *seed, char *text, size_t size)
{
	cpus_t set = 0;
	size_t len;

	if (draw(seed, 2))
		return draw_nonsense(seed, text, size - 32);
	for (int i = draw(seed, 12); i >= 0; i--)
		set |= CPU(draw(seed, draw(seed, 8) ? 8 : SETS_MAX));
	len = strlen(cpus_text(set, draw(seed, 8), text));
	/* Changes one byte of some lists, and appends one byte to some. */
	if (!draw(seed, 4))
		text[draw(seed, len)] = draw(seed, 256);
	if (!draw(seed, 4))
		text[len++] = draw(seed, 2) ? '\n' : draw(seed, 256);
	return len;
}

static size_t draw_mask(unsigned int *seed, const struct world *world, char *data)
{
	size_t len = draw(seed, 8) ? sizeof(long) * (1 + draw(seed, 20)) :
				     draw(seed, 2 * world->page);

	memset(data, 0, len);
	for (int i = draw(seed, 8); i >= 0 && len; i--)
		data[draw(seed, draw(seed, 6) ? 1 : len)] = draw(seed, 256);
	return len;
}

TEST_F_TIMEOUT(bulk, made_up, 3600)
{
	int n = env_number("BOLT_FUZZ", FUZZ), taken = 0, refused = 0;
	unsigned int seed = 4;
	char *data = self->page;

	for (int i = 0; i < n; i++) {
		enum ask ask = draw(&seed, ASKS);
		bool mask = draw(&seed, 2);
		const char *file = mask ? ask_mask[ask] : ask_list[ask];
		size_t len = mask ? draw_mask(&seed, &self->world, data) :
				    draw_list(&seed, data, 2 * self->world.page);
		struct verdict verdict;
		int wanted, err;
		cpus_t set;

		wanted = mask ? model_mask(&self->world, data, len, &set) :
				model_list(&self->world, data, len, &set);
		/* sysfs does not pass on a write of 0 bytes. */
		if (!len)
			continue;
		err = put_bytes(file, data, len);
		verdict = judge(&self->world, ask, set, self->before.online);
		if (wanted) {
			EXPECT_EQ(wanted, err)
				TH_LOG("%d: %zu bytes '%.*s' to %s", i, len,
				       len < 60 ? (int)len : 60, data, file);
		} else {
			EXPECT_TRUE(admits(verdict, err))
				TH_LOG("%d: %d for set %llx to %s, online %llx", i,
				       err, (long long)set, file,
				       (long long)self->before.online);
		}
		if (err) {
			refused++;
			expect_unchanged("%d: %zu bytes '%.*s' to %s", i, len,
					 len < 60 ? (int)len : 60, data, file);
			continue;
		}
		taken++;
		ASSERT_TRUE(sight_take(&self->world, &self->after));
		check_taken(_metadata, &self->before, &self->after,
			    ask_result(ask, set, self->before.online));
		self->before = self->after;
	}
	TH_LOG("%d requests accepted, %d refused", taken, refused);
	EXPECT_GT(taken, n / 20);
	EXPECT_GT(refused, n / 3);
}

/* Returns the CPU of the next event that says that a CPU has come or gone; -1 if none is left. */
static int next_event(const struct events *events, int *at, bool *online)
{
	static const char device[] = "@/devices/system/cpu/cpu";

	while (*at < events->n) {
		const char *text = events->text[(*at)++];
		char *end = strchrnul(text, '@');

		*online = !strncmp(text, "online@", 7);
		if ((*online || !strncmp(text, "offline@", 8)) &&
		    !strncmp(end, device, strlen(device))) {
			int cpu = strtol(end + strlen(device), &end, 10);

			if (*end == '\n')
				return cpu;
		}
	}
	return -1;
}

static void check_events(struct __test_metadata *_metadata, int fd, cpus_t came,
			 cpus_t went)
{
	struct events events = { .n = 0 };
	bool online;
	int at = 0;

	events_take(fd, &events);
	for (int cpu = 0; cpu < SETS_MAX; cpu++) {
		if (!(came & CPU(cpu)))
			continue;
		EXPECT_EQ(cpu, next_event(&events, &at, &online));
		EXPECT_TRUE(online);
	}
	for (int cpu = 0; cpu < SETS_MAX; cpu++) {
		if (!(went & CPU(cpu)))
			continue;
		EXPECT_EQ(cpu, next_event(&events, &at, &online));
		EXPECT_FALSE(online);
	}
	EXPECT_EQ(-1, next_event(&events, &at, &online));
	events_free(&events);
}

/*
 * The kernel sends one event for each CPU that has come, then one for each that has gone,
 * both in the order of the CPUs' numbers.
 */
TEST_F_TIMEOUT(bulk, uevents, 120)
{
	cpus_t set = some(&self->world), all = victims(&self->world);
	int fd = events_open();

	ASSERT_GE(fd, 0);
	events_drop(fd);
	ASSERT_EQ(0, put(ask_list[OFFLINE_THEM], "3,2,2-3"));
	check_events(_metadata, fd, 0, CPU(2) | CPU(3));
	ASSERT_EQ(0, ask_by_list(OFFLINE_THEM, all));
	check_events(_metadata, fd, 0, all & ~(CPU(2) | CPU(3)));
	ASSERT_EQ(0, ask_by_list(OFFLINE_THEM, all));
	check_events(_metadata, fd, 0, 0);
	ASSERT_EQ(0, ask_by_mask(ONLINE_THEM, set));
	check_events(_metadata, fd, set, 0);
	ASSERT_EQ(0, ask_by_mask(SET_THEM, CPU(0) | (all & ~set)));
	check_events(_metadata, fd, all & ~set, set);
	EXPECT_NE(0, put(ask_list[ONLINE_THEM], "1-3,4095"));
	check_events(_metadata, fd, 0, 0);
	ASSERT_EQ(0, settle_all());
	ASSERT_EQ(0, ask_by_mask(ONLINE_THEM, all));
	check_events(_metadata, fd, set, 0);
	close(fd);
}

/*
 * A program that receives the event of the first CPU finds that all CPUs of the
 * request have come, or gone.
 */
TEST_F_TIMEOUT(bulk, uevents_come_last, 120)
{
	cpus_t all = victims(&self->world), online;
	int status, fd = events_open();

	ASSERT_GE(fd, 0);
	for (int i = 0; i < 8; i++) {
		cpus_t wanted = CPU(0) | (i % 2 ? all : 0);
		pid_t pid;

		events_drop(fd);
		pid = fork_mortal();
		ASSERT_GE(pid, 0);
		if (!pid) {
			char buf[8192];

			do {
				memset(buf, 0, sizeof(buf));
				if (recv(fd, buf, sizeof(buf) - 1, 0) < 0)
					_exit(2);
			} while (!strstr(buf, "line@/devices/system/cpu/cpu"));
			if (!cpus_read(CPU_DIR "online", &online))
				_exit(3);
			_exit(online == wanted ? 0 : 1);
		}
		ASSERT_EQ(0, ask_by_list(SET_THEM, wanted));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status)
			TH_LOG("round %d: the child ended with %d", i, WEXITSTATUS(status));
	}
	close(fd);
}

/*
 * The data of a child of the next tests: its CPUs, a CPU that cannot go, and whether no
 * other child makes requests for its CPUs.
 */
static cpus_t share;
static int bad_cpu;
static bool alone;

/*
 * Takes the child's share of the CPUs, or a part of that share, offline or online at
 * random, and checks the result if no other child changes these CPUs.
 */
static void toggle(struct slot *slot)
{
	unsigned int seed = getpid();
	cpus_t online;

	for (;;) {
		cpus_t set = share & (draw(&seed, 4) ? ~0ULL : seed);
		enum ask ask = draw(&seed, 2) ? ONLINE_THEM : OFFLINE_THEM;
		int err;

		if (!set)
			continue;
		err = draw(&seed, 2) ? ask_by_list(ask, set) : ask_by_mask(ask, set);
		if (err && !(err == -EOPNOTSUPP && !alone))
			slot->value = err;
		if (alone && cpus_read(CPU_DIR "online", &online) &&
		    (online & set) != (ask == ONLINE_THEM ? set : 0))
			slot->value = -EILSEQ;
		slot_beat(slot);
	}
}

/* Takes all CPUs of the child's share offline by one request, online by the next, and so on. */
static void toggle_all(struct slot *slot)
{
	for (int i = 0;; i++) {
		int err = ask_by_list(i % 2 ? ONLINE_THEM : OFFLINE_THEM, share);

		if (err)
			slot->value = err;
		slot_beat(slot);
	}
}

static void toggle_one(struct slot *slot)
{
	for (int i = 0;; i++) {
		int err = set_online(VICTIM, i % 2);

		if (err)
			slot->value = err;
		slot_beat(slot);
	}
}

static void settle_and_disable(struct slot *slot)
{
	for (int i = 0;; i++) {
		int err = settle_all();

		if (!err && i % 4 == 3)
			err = enable(false) ?: enable(true);
		if (err)
			slot->value = err;
		wait_ms(20);
		slot_beat(slot);
	}
}

/*
 * Makes requests that are refused, and looks for the child's own line in last_error. The
 * line may be missing: while the child does not run, other children may write more lines
 * than last_error keeps.
 */
static void be_refused(struct slot *slot)
{
	char text[4097], mine[64];

	snprintf(mine, sizeof(mine), " pid=%d cpu=%d state=admission errno=%d\n",
		 getpid(), bad_cpu, EBUSY);
	for (;;) {
		if (ask_by_list(OFFLINE_THEM, share | CPU(bad_cpu)) != -EBUSY)
			slot->value = -EILSEQ;
		if (get(BOLT_DIR "last_error", text, sizeof(text) - 1)) {
			slot->value = -EIO;
			continue;
		}
		strcat(text, "\n");
		if (strstr(text, mine))
			slot_beat(slot);
	}
}

#define WRITERS 4
#define BEATS 15

static void let_run(struct __test_metadata *_metadata, struct task *tasks, int n)
{
	for (int i = 0; i < n; i++) {
		EXPECT_TRUE(task_lives(&tasks[i], BEATS, 120000))
			TH_LOG("writer %d is stuck", i);
	}
	for (int i = 0; i < n; i++) {
		task_kill(&tasks[i]);
		EXPECT_EQ(0, tasks[i].slot->value)
			TH_LOG("writer %d: %ld", i, tasks[i].slot->value);
	}
}

TEST_F_TIMEOUT(bulk, writers_of_their_own_cpus, 600)
{
	cpus_t all = victims(&self->world), given = 0;
	struct slot *slots = slots_map(WRITERS);
	struct task tasks[WRITERS];
	int writers = 0;

	ASSERT_NE(NULL, slots);
	alone = true;
	for (int cpu = 1; cpu < self->world.nr && writers < WRITERS; cpu++) {
		if (!(all & CPU(cpu)))
			continue;
		given |= share = all & (CPU(cpu) | CPU(cpu + WRITERS));
		ASSERT_GT(task_start(&tasks[writers], &slots[writers], toggle), 0);
		writers++;
	}
	let_run(_metadata, tasks, writers);
	EXPECT_EQ(0, ask_by_list(ONLINE_THEM, all));
	expect_unchanged("all CPUs online again");
}

TEST_F_TIMEOUT(bulk, writers_of_the_same_cpus, 600)
{
	cpus_t all = victims(&self->world);
	cpus_t shares[] = { all, some(&self->world), all & ~CPU(2) };
	struct slot *slots = slots_map(5);
	struct task tasks[5];

	ASSERT_NE(NULL, slots);
	alone = false;
	for (int i = 0; i < 3; i++) {
		share = shares[i];
		ASSERT_GT(task_start(&tasks[i], &slots[i], toggle), 0);
	}
	ASSERT_GT(task_start(&tasks[3], &slots[3], toggle_one), 0);
	ASSERT_GT(task_start(&tasks[4], &slots[4], settle_and_disable), 0);
	let_run(_metadata, tasks, 5);
	ASSERT_EQ(0, enable(true));
	EXPECT_EQ(0, ask_by_list(ONLINE_THEM, all));
	expect_unchanged("all CPUs online again");
}

TEST_F_TIMEOUT(bulk, writers_find_their_own_result, 300)
{
	cpus_t all = victims(&self->world);
	struct slot *slots = slots_map(WRITERS);
	struct task tasks[WRITERS];
	int writers = 0;

	ASSERT_NE(NULL, slots);
	ASSERT_EQ(0, put(BOLT_DIR "irq_keep", "1-3"));
	share = all & ~0xfULL;
	for (bad_cpu = 1; bad_cpu < 4; bad_cpu++) {
		ASSERT_GT(task_start(&tasks[writers], &slots[writers], be_refused), 0);
		writers++;
	}
	let_run(_metadata, tasks, writers);
	expect_unchanged("refused");
}

/*
 * The task that asks may be killed at any moment: the request is then done for all its
 * CPUs, or for none, and cpuN/online says of each CPU what cpu/online says.
 */
TEST_F_TIMEOUT(bulk, killed_in_a_request, 600)
{
	cpus_t all = victims(&self->world), online;
	struct slot *slot = slots_map(1);
	struct task task;

	ASSERT_NE(NULL, slot);
	share = all;
	for (int i = 0; i < 30; i++) {
		ASSERT_EQ(0, ask_by_list(ONLINE_THEM, all));
		ASSERT_GT(task_start(&task, slot, toggle_all), 0);
		usleep(500 + i * 731 % 9000);
		task_kill(&task);
		ASSERT_TRUE(sight_take(&self->world, &self->after));
		EXPECT_EQ(self->after.online, self->after.files);
		online = self->after.online & all;
		EXPECT_TRUE(!online || online == all)
			TH_LOG("CPUs %llx of %llx are online", online, all);
		EXPECT_EQ(0, slot->value);
	}
	EXPECT_EQ(0, ask_by_list(ONLINE_THEM, all));
	ASSERT_TRUE(sight_take(&self->world, &self->after));
	EXPECT_EQ(self->before.online, self->after.online);
}

TEST_HARNESS_MAIN
