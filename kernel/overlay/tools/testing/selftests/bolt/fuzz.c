// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes to every file of Bolt and of cpu1/hotplug, at many offsets and lengths: texts
 * that are well-formed, almost well-formed, cut or random. A text that the documented
 * grammar refuses is refused with the documented errno, and changes nothing; a text that
 * the grammar allows does what the text says, or is refused for a documented reason; a
 * read returns the piece that was asked for. BOLT_FUZZ=N sets how many texts are made
 * up, or BOLT_SECONDS=N for how long; BOLT_SEED=N repeats a run; the seed is printed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdarg.h>

#include "draw.h"
#include "env.h"
#include "grammar.h"
#include "tasks.h"
#include "texts.h"
#include "../kselftest_harness.h"

#define MADE_UP 400
#define WRITERS 4
#define STATES_MAX 512
/* Room for the texts of all files; most of it is for the list of states in debugfs. */
#define TEXTS (256 * 1024)

#define HOTPLUG_DIR CPU_DIR "cpu1/hotplug/"

/* The kinds of text that files take. */
enum kind {
	LIST, MASK, SETTLE, KEEP, ENABLED, SWITCH, DELAY, CHOICE, PARK, OVERRIDE, TIMING,
	TARGET, FAIL,	/* the kernel's own files, for VICTIM */
	NOTHING,
};

static const struct file {
	const char *path;
	enum kind kind;
	enum ask ask;
	bool is_read;
	bool counts;	/* whether the file counts or lists events, and so may change */
	const char *choices[2];
} files[] = {
	{ BOLT_DIR "online", LIST, ONLINE_THEM },
	{ BOLT_DIR "offline", LIST, OFFLINE_THEM },
	{ BOLT_DIR "set", LIST, SET_THEM },
	{ BOLT_DIR "online_mask", MASK, ONLINE_THEM },
	{ BOLT_DIR "offline_mask", MASK, OFFLINE_THEM },
	{ BOLT_DIR "set_mask", MASK, SET_THEM },
	{ BOLT_DIR "settle", SETTLE },
	{ BOLT_DIR "irq_keep", KEEP, 0, true },
	{ BOLT_DIR "keep", CHOICE, 0, true, .choices = { "delay", "pressure" } },
	{ BOLT_DIR "keep_affinity", SWITCH, 0, true },
	{ BOLT_DIR "enabled", ENABLED, 0, true },
	{ BOLT_DIR "settle_delay_ms", DELAY, 0, true },
	{ BOLT_DIR "park", PARK, 0, true, .choices = { "cold", "warm" } },
	{ BOLT_DIR "parked", NOTHING, 0, true },
	{ BOLT_DIR "last_error", NOTHING, 0, true, true },
	{ DEBUG_DIR "states", OVERRIDE, 0, true },
	{ DEBUG_DIR "timing", TIMING, 0, true },
	{ DEBUG_DIR "stats", NOTHING, 0, true, true },
	{ HOTPLUG_DIR "target", TARGET, 0, true },
	{ HOTPLUG_DIR "fail", FAIL, 0, true },
	{ HOTPLUG_DIR "state", NOTHING, 0, true },
};

#define FILES ((int)ARRAY_SIZE(files))

/* The state of a run: what the kernel should answer, and counts of its answers. */
struct fuzz {
	struct world world;
	unsigned long long seed;
	unsigned long long top;		/* the number of CPUHP_ONLINE */
	int states[STATES_MAX], nr_states;	/* numbers of registered states */
	bool enabled;
	bool can_warm;			/* whether the machine accepts "warm" for park */
	cpus_t keep;
	struct sight sight;
	char *texts[4];			/* all texts before and after a write, and scratch texts */
	size_t quiet[3];		/* how long the texts of files that count no events are */
	char *buf;			/* the text that is written */
	int taken, refused;
	char why[512];			/* the reason why a test has failed, or empty */
};

/* The meaning of a text that is accepted. */
struct meaning {
	cpus_t set;
	unsigned long long number;
	long long value;
	int word;			/* the index in choices or override_words */
	bool skip;			/* ignored by the kernel, or not to be written */
};

static unsigned int roll(struct fuzz *f, unsigned int below)
{
	return draw64(&f->seed, below);
}

static bool is_listed(const struct fuzz *f, unsigned long long state)
{
	for (int i = 0; i < f->nr_states; i++)
		if (f->states[i] == (int)state)
			return true;
	return false;
}

/* Notes the reason in @f, and returns false. */
static __printf(2, 3) bool wrong(struct fuzz *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->why, sizeof(f->why), format, args);
	va_end(args);
	return false;
}

/* Files of seq_file refuse pwrite(), but have a position. */
static ssize_t write_at(const char *path, const char *text, size_t len, off_t at)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = pwrite(fd, text, len, at);
	if (n < 0 && errno == ESPIPE)
		n = lseek(fd, at, SEEK_SET) == at ? write(fd, text, len) : -1;
	if (n < 0)
		n = -errno;
	close(fd);
	return n;
}

static ssize_t read_at(const char *path, char *text, size_t len, off_t at)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = pread(fd, text, len, at);
	if (n < 0)
		n = -errno;
	close(fd);
	return n;
}

/* Reads all files that can be read; files that count or list events come last. */
static bool look(struct fuzz *f, int which)
{
	char *text = f->texts[which];
	size_t used = 0;

	for (int i = 0; i < 2 * FILES; i++) {
		const struct file *file = &files[i % FILES];
		bool second = i >= FILES;
		ssize_t n;

		if (i == FILES)
			f->quiet[which] = used;
		if (!file->is_read || file->counts != second)
			continue;
		used += sprintf(text + used, "\n== %s\n", file->path);
		n = get_all(file->path, text + used, TEXTS - used - 256);
		if (n < 0 || used + n + 256 >= TEXTS)
			return wrong(f, "a read of %s returned %zd", file->path, n);
		used += drop_kept(text + used, n);
	}
	text[used] = '\0';
	return true;
}

/* Returns 0, or the error with which the kernel refuses @text whichever CPUs are online. */
static int refusal(struct fuzz *f, const struct file *file, const char *text,
		   size_t len, off_t at, struct meaning *m)
{
	size_t page = f->world.page, kept = len < page ? len : page;
	int err = 0;

	memset(m, 0, sizeof(*m));
	/* sysfs refuses to open a read-only file for writing; debugfs lets root do so. */
	if (file->kind == NOTHING && strncmp(file->path, DEBUG_DIR, strlen(DEBUG_DIR)))
		return -EACCES;
	if (at < 0 || at > LLONG_MAX - (long long)len)
		return -EINVAL;
	/* sysfs does not pass on a write of 0 bytes. */
	if (!len && file->kind != OVERRIDE && file->kind != TIMING &&
	    file->kind != NOTHING) {
		m->skip = true;
		return 0;
	}
	switch (file->kind) {
	case LIST:
		return model_list(&f->world, text, len, &m->set);
	case MASK:
		return at ? -EINVAL : model_mask(&f->world, text, len, &m->set);
	case SETTLE:
		if ((len == 3 || (len == 4 && (!text[3] || text[3] == '\n')) ||
		     (len == 5 && text[3] == '\n' && !text[4])) &&
		    !memcmp(text, "all", 3))
			m->set = ~0ULL;
		else
			err = model_list(&f->world, text, len, &m->set);
		if (!err && m->set != ~0ULL && m->set & ~f->world.possible)
			err = -EINVAL;
		return err;
	case KEEP:
		err = model_list_any(&f->world, text, len, &m->set);
		return !err && m->set & ~f->world.possible ? -EINVAL : err;
	case ENABLED:
	case SWITCH:
	case TIMING:
		return grammar_switch(&f->world, text, len, &m->number);
	case DELAY:
		return grammar_number(&f->world, text, len, &m->number);
	case CHOICE:
	case PARK:
		err = grammar_choice(&f->world, text, len, file->choices, &m->word);
		return file->kind == PARK && !err && m->word && !f->can_warm ?
		       -EOPNOTSUPP : err;
	case OVERRIDE:
		err = grammar_override(&f->world, text, len, f->top, &m->number,
				       &m->word);
		if (!err && m->word != DEFAULT && !is_listed(f, m->number))
			err = -ENOENT;
		return err;
	case TARGET:
		err = grammar_int(text, kept, &m->value);
		if (!err && (m->value < 0 || m->value > (long long)f->top))
			err = -EINVAL;
		/*
		 * A state between offline and online would leave the CPU half-way, so the
		 * test does not write such a state.
		 */
		m->skip = !err && m->value && m->value != (long long)f->top;
		return err;
	case FAIL:
		err = grammar_int(text, kept, &m->value);
		return !err && (m->value < -1 || m->value > (long long)f->top) ?
		       -EINVAL : err;
	default:
		return -EINVAL;
	}
}

/* Whether a request may end with @err. */
static bool may_end(struct fuzz *f, const struct file *file, cpus_t set, int err)
{
	struct verdict verdict;
	cpus_t down;

	if (!f->enabled)
		return err == -EOPNOTSUPP;
	verdict = judge(&f->world, file->ask, set, f->sight.online);
	down = f->sight.online & ~ask_result(file->ask, set, f->sight.online);
	verdict.busy |= !!(down & f->keep);
	return admits(verdict, err);
}

static bool is_overridden(const char *texts, unsigned long long state)
{
	char begins[32];
	const char *line;

	snprintf(begins, sizeof(begins), "\n%llu ", state);
	line = strstr(strstr(texts, DEBUG_DIR "states"), begins);
	return line && line[1 + strcspn(line + 1, "!\n")] == '!';
}

static bool check_sight(struct fuzz *f, const struct sight *now, cpus_t online)
{
	if (now->online != online || now->files != online)
		return wrong(f, "cpu/online has %llx, cpuN/online %llx, wanted %llx",
			     (long long)now->online, (long long)now->files,
			     (long long)online);
	if (now->parked & now->online)
		return wrong(f, "CPUs are parked and online: parked %llx, online %llx",
			     (long long)now->parked, (long long)now->online);
	return true;
}

/* Checks the effect of a text, and undoes effects that would disturb later texts. */
static bool check_taken(struct fuzz *f, const struct file *file,
			const struct meaning *m)
{
	cpus_t wanted = f->sight.online, keep;
	struct sight now;
	char text[64];

	if (!sight_take(&f->world, &now) || !look(f, 1))
		return false;
	switch (file->kind) {
	case LIST:
	case MASK:
		wanted = ask_result(file->ask, m->set, wanted);
		if ((f->sight.online & ~wanted) & ~now.parked)
			return wrong(f, "a CPU went, but parked is %llx", (long long)now.parked);
		break;
	case SETTLE:
		if (now.parked != (f->sight.parked & ~m->set))
			return wrong(f, "parked %llx, was %llx", (long long)now.parked,
				     (long long)f->sight.parked);
		break;
	case KEEP:
		f->keep = m->set;
		if (!cpus_read(file->path, &keep) || keep != m->set)
			return wrong(f, "the file has %llx", (long long)keep);
		break;
	case ENABLED:
		f->enabled = m->number;
		if (!is(file->path, f->enabled ? "1" : "0") ||
		    (!f->enabled && now.parked))
			return wrong(f, "parked %llx", (long long)now.parked);
		break;
	case DELAY:
		snprintf(text, sizeof(text), "%llu", m->number);
		if (!is(file->path, text) || put(file->path, "4000000000"))
			return wrong(f, "the file does not have the delay %s", text);
		/*
		 * Settles all CPUs, so that no settling which the new delay has begun
		 * goes on later.
		 */
		if (m->number < 3900000000 && settle_all())
			return wrong(f, "cannot settle all CPUs");
		break;
	case CHOICE:
	case PARK:
		if (!is(file->path, file->choices[m->word]))
			return wrong(f, "the file does not have %s", file->choices[m->word]);
		break;
	case SWITCH:
	case TIMING:
		if (!is(file->path, m->number ? "1" : "0"))
			return wrong(f, "the file does not have %llu", m->number);
		break;
	case OVERRIDE:
		/* In bolt/states "!" shows that a word other than "default" applies. */
		if (is_listed(f, m->number) && is_overridden(f->texts[1], m->number) == !m->word)
			return wrong(f, "bolt/states shows another word for state %llu", m->number);
		snprintf(text, sizeof(text), "%llu default", m->number);
		if (put(file->path, text))
			return wrong(f, "cannot write default for state %llu", m->number);
		break;
	case TARGET:
		snprintf(text, sizeof(text), "%llu",
			 f->sight.online & CPU(VICTIM) ? f->top : 0);
		if (now.parked & CPU(VICTIM))
			return wrong(f, "CPU parked by a write to hotplug/target");
		if (put(file->path, text))
			return wrong(f, "cannot write the old target again");
		break;
	case FAIL:
		if (put(file->path, "-1"))
			return wrong(f, "cannot clear the failure");
		break;
	default:
		return wrong(f, "accepted by a file that takes no text");
	}
	if (!sight_take(&f->world, &now) || !look(f, 0))
		return false;
	f->sight = now;
	return check_sight(f, &now, wanted);
}

/* Writes a text, and compares the result with the documentation. */
static bool try(struct fuzz *f, const struct file *file, const char *text,
		size_t len, off_t at)
{
	struct meaning m;
	int wanted = refusal(f, file, text, len, at, &m);
	const char *line;
	struct sight now;
	ssize_t n;

	if (m.skip && len)
		return true;
	if (wanted != -EINVAL && (file->kind == LIST || file->kind == MASK) &&
	    !f->enabled && len)
		wanted = -EOPNOTSUPP;
	/* While Bolt is disabled, -EINVAL is only for bad offsets: for a mask, any offset but 0. */
	if (wanted == -EINVAL && !f->enabled && at >= 0 &&
	    at <= LLONG_MAX - (long long)len &&
	    (file->kind == LIST || (file->kind == MASK && !at)))
		wanted = -EOPNOTSUPP;
	n = write_at(file->path, text, len, at);
	if (wanted ? n != wanted : m.skip && n)
		return wrong(f, "the result is %zd, not %d", n, wanted);
	if (!wanted && n < 0) {
		bool known = false;

		if (file->kind == LIST || file->kind == MASK)
			known = may_end(f, file, m.set, n);
		else if (file->kind == KEEP)
			known = n == -EINVAL && m.set && !(m.set & f->sight.online);
		else if (file->kind == FAIL)
			known = n == -EINVAL;
		else if (file->kind == TARGET)
			known = n == -EBUSY;
		if (!known)
			return wrong(f, "the result %zd is not documented", n);
	}
	if (!wanted && n > 0) {
		/* The kernel's own files ignore bytes beyond a page. */
		if ((size_t)n != len &&
		    !((file->kind == TARGET || file->kind == FAIL) &&
		      (size_t)n == f->world.page))
			return wrong(f, "only %zd of %zu bytes accepted", n, len);
		if (file->kind == LIST || file->kind == MASK) {
			if (!may_end(f, file, m.set, 0))
				return wrong(f, "accepted, not refused");
		}
		f->taken++;
		return check_taken(f, file, &m);
	}
	f->refused++;
	if (!sight_take(&f->world, &now) || !look(f, 1))
		return false;
	if (!sight_same(&now, &f->sight))
		return wrong(f, "refused with %zd, but CPUs have changed", n);
	line = difference(f->texts[0], f->texts[1]);
	/* A text that has led to a request may change the files that count or list events. */
	if (wanted || !n ? !!strcmp(f->texts[0], f->texts[1]) :
	    line < f->texts[1] + f->quiet[1])
		return wrong(f, "refused with %zd, but changed: %.100s", n, line);
	return wanted || !n || look(f, 0);
}

/* Prints what went wrong, and the escaped start of @text, which is NULL if the test has read. */
static void say(struct __test_metadata *_metadata, const struct fuzz *f,
		const struct file *file, const char *text, size_t len, off_t at)
{
	char shown[4 * 64 + 1], *to = shown;

	for (size_t i = 0; text && i < len && i < 64; i++)
		to += sprintf(to, text[i] > ' ' && text[i] <= '~' && text[i] != '\\' ?
			      "%c" : "\\x%02x", (unsigned char)text[i]);
	*to = '\0';
	TH_LOG("%s %zu bytes at %lld of %s: '%s': %s", text ? "wrote" : "read", len,
	       (long long)at, file->path, shown, f->why);
}

FIXTURE(fuzz) {
	struct fuzz f;
	struct sight before;
};

FIXTURE_SETUP(fuzz)
{
	const char *why = cannot_run(), *at;
	struct fuzz *f = &self->f;
	char text[32];

	if (why)
		SKIP(return, "%s", why);
	if (!world_look(&f->world) || cpus_count(f->world.movable) < 3)
		SKIP(return, "needs 3 CPUs that can go offline, and at most 64 CPUs");
	if (access(DEBUG_DIR "states", F_OK))
		SKIP(return, "needs debugfs");
	ASSERT_EQ(0, sets_start_over(&f->world));
	ASSERT_EQ(0, put(DEBUG_DIR "timing", "0"));
	ASSERT_EQ(0, get(HOTPLUG_DIR "target", text, sizeof(text)));
	f->top = strtoull(text, NULL, 10);
	f->enabled = true;
	f->can_warm = !put(BOLT_DIR "park", "warm");
	f->seed = env_seed();
	f->buf = calloc(4, f->world.page);
	ASSERT_NE(NULL, f->buf);
	for (size_t i = 0; i < ARRAY_SIZE(f->texts); i++) {
		f->texts[i] = malloc(TEXTS);
		ASSERT_NE(NULL, f->texts[i]);
	}
	ASSERT_TRUE(look(f, 0));
	ASSERT_TRUE(sight_take(&f->world, &f->sight));
	self->before = f->sight;
	at = strstr(f->texts[0], DEBUG_DIR "states");
	for (at = strchr(at, '#'); (at = strchr(at, '\n')) && isdigit((unsigned char)at[1]); at++)
		if (f->nr_states < STATES_MAX)
			f->states[f->nr_states++] = atoi(at + 1);
	ASSERT_GT(f->nr_states, 10);
}

FIXTURE_TEARDOWN(fuzz)
{
	struct sight after;

	free(self->f.buf);
	for (size_t i = 0; i < ARRAY_SIZE(self->f.texts); i++)
		free(self->f.texts[i]);
	if (cannot_run() || !self->f.top)
		return;
	put(HOTPLUG_DIR "fail", "-1");
	restore_write_rows();
	EXPECT_EQ(0, sets_start_over(&self->f.world));
	EXPECT_TRUE(sight_take(&self->f.world, &after));
	EXPECT_TRUE(sight_same(&self->before, &after));
	EXPECT_EQ(0, start_over());
}

/* Fails if there is a file that this test does not know. */
TEST_F(fuzz, every_file_is_known)
{
	static const char * const dirs[] = { BOLT_DIR, DEBUG_DIR };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		DIR *dir = opendir(dirs[i]);
		struct dirent *entry;
		char path[512];

		ASSERT_NE(NULL, dir);
		while ((entry = readdir(dir))) {
			bool known = entry->d_name[0] == '.';

			snprintf(path, sizeof(path), "%s%s", dirs[i], entry->d_name);
			for (int k = 0; k < FILES; k++)
				known |= !strcmp(files[k].path, path);
			EXPECT_TRUE(known)
				TH_LOG("the test has no texts for %s", path);
		}
		closedir(dir);
	}
}

/* sysfs refuses to read files that are only written, and to write files that are only read. */
TEST_F(fuzz, one_way_files)
{
	struct fuzz *f = &self->f;

	for (int i = 0; i < FILES; i++) {
		bool ours = !strncmp(files[i].path, BOLT_DIR, strlen(BOLT_DIR));

		if (!files[i].is_read)
			EXPECT_EQ(-EACCES, read_at(files[i].path, f->buf, 1, 0))
				TH_LOG("%s", files[i].path);
		if (files[i].kind == NOTHING && ours)
			EXPECT_EQ(-EACCES, write_at(files[i].path, "1", 1, 0))
				TH_LOG("%s", files[i].path);
	}
}

/* A file that is kept open takes one text after the other, each as a whole. */
TEST_F(fuzz, kept_open)
{
	int fd = open(DEBUG_DIR "states", O_WRONLY | O_CLOEXEC);
	struct fuzz *f = &self->f;
	char text[32], other[32];

	ASSERT_GE(fd, 0);
	for (int i = 0; i < f->nr_states; i++) {
		int len = sprintf(text, "%d critical", f->states[i]);

		/* The second text is as long as the first, so that it replaces all of the first. */
		sprintf(other, "%-*d default ", len - 9, f->states[i]);
		ASSERT_EQ(len, write(fd, text, len));
		ASSERT_EQ(len, write(fd, other, len));
		ASSERT_TRUE(look(f, 1));
		EXPECT_FALSE(is_overridden(f->texts[1], f->states[i]))
			TH_LOG("'%s' and then '%s'", text, other);
	}
	close(fd);
}

/*
 * Draws a text of the documented form of @file. The kernel may still refuse the text, for
 * instance because the text names no CPU, because a state is out of range or not
 * registered, or because @file takes no text.
 */
static size_t draw_right(struct fuzz *f, const struct file *file, char *text)
{
	cpus_t set = f->world.movable & ~CPU(0) & (roll(f, 1 << 16) | roll(f, 4) << 1);

	if (file->ask == SET_THEM)
		set |= CPU(0);
	switch (file->kind) {
	case LIST:
	case SETTLE:
	case KEEP:
		if (file->kind == KEEP && roll(f, 2))
			set = 0;
		if (file->kind == SETTLE && !roll(f, 3))
			return sprintf(text, "all");
		cpus_text(set, roll(f, 8), text);
		return strlen(text);
	case MASK:
		memset(text, 0, 32 * sizeof(long));
		memcpy(text, &set, sizeof(set));
		return sizeof(long) * (1 + roll(f, 20));
	case ENABLED:
	case SWITCH:
	case TIMING:
		return sprintf(text, "%d", roll(f, 6) > 0);
	case DELAY:
		return sprintf(text, "%u", roll(f, 3) ? 3900000000U + roll(f, 1000) :
						   roll(f, 100));
	case CHOICE:
	case PARK:
		return sprintf(text, "%s", file->choices[roll(f, 2)]);
	case OVERRIDE:
		return sprintf(text, "%d %s", roll(f, 4) ?
			       f->states[roll(f, f->nr_states)] : (int)roll(f, f->top + 2),
			       override_words[roll(f, WORDS)]);
	case TARGET:
		return sprintf(text, "%llu", roll(f, 2) ? f->top : 0);
	case FAIL:
		return sprintf(text, "%d", (int)roll(f, f->top + 3) - 1);
	default:
		return sprintf(text, "1");
	}
}

static size_t draw_text(struct fuzz *f, const struct file *file, char *text)
{
	static const char odd[] = "\n\t ,-:/\\0+", joins[] = { '\n', ' ', ',', ';' };
	static const char fills[] = { ',', ' ', '\n', '0' };
	size_t len = draw_right(f, file, text), more, at;
	unsigned int seed;

	switch (roll(f, 12)) {
	case 0:		/* cut */
		return len ? roll(f, len) : 0;
	case 1:		/* one byte is changed */
		if (len)
			text[roll(f, len)] = roll(f, 256);
		return len;
	case 2:		/* one byte is missing */
		if (!len)
			return 0;
		at = roll(f, len);
		memmove(text + at, text + at + 1, len - at - 1);
		return len - 1;
	case 3:		/* one byte too many */
		at = roll(f, len + 1);
		memmove(text + at + 1, text + at, len - at);
		text[at] = odd[roll(f, sizeof(odd))];
		return len + 1;
	case 4:
		return len + sprintf(text + len, "\n");
	case 5:		/* something behind a NUL */
		text[len++] = '\0';
		return len + (roll(f, 2) ? draw_right(f, file, text + len) : 0);
	case 6:		/* two texts */
		if (roll(f, 2))
			text[len++] = joins[roll(f, sizeof(joins))];
		return len + draw_right(f, file, text + len);
	case 7:		/* filled up, perhaps beyond the longest text that a file takes */
		more = draw_length(&f->seed, f->world.page);
		if (more > len)
			memset(text + len, roll(f, 2) ? ' ' : file->kind == MASK ? 0 :
			       fills[roll(f, sizeof(fills))], more - len);
		return more > len ? more : len;
	case 8:
		seed = roll(f, 1 << 30);
		return draw_nonsense(&seed, text, draw_length(&f->seed, f->world.page) + 32);
	case 9:
		len = draw_length(&f->seed, f->world.page);
		for (size_t i = 0; i < len; i++)
			text[i] = roll(f, 256);
		return len;
	default:
		return len;
	}
}

static off_t draw_offset(struct fuzz *f)
{
	off_t page = f->world.page;
	off_t offsets[] = {
		1, 2, 7, 8, 31, page - 1, page, page + 1, 1LL << 31, 1LL << 32,
		LLONG_MAX, LLONG_MAX - 8, LLONG_MAX - page, -1, -page, LLONG_MIN,
	};

	return roll(f, 3) ? 0 : roll(f, 4) ? offsets[roll(f, ARRAY_SIZE(offsets))] :
			    roll(f, 3 * page);
}

/* Writes well-formed texts, cut at each of their first 24 bytes, at several offsets. */
TEST_F_TIMEOUT(fuzz, cut_at_every_place, 7200)
{
	off_t page = self->f.world.page;
	off_t offsets[] = { 0, 1, page - 1, page, 1LL << 32, -1 };
	struct fuzz *f = &self->f;

	for (int i = 0; i < FILES; i++) {
		char text[1024];
		size_t len = draw_right(f, &files[i], text);

		if (len > 24)
			len = 24;
		for (size_t cut = 0; cut <= len; cut++) {
			for (size_t k = 0; k < ARRAY_SIZE(offsets); k++) {
				bool fine = try(f, &files[i], text, cut, offsets[k]);

				ASSERT_TRUE(fine)
					say(_metadata, f, &files[i], text, cut, offsets[k]);
			}
		}
	}
	TH_LOG("%d texts accepted, %d refused", f->taken, f->refused);
	EXPECT_GT(f->taken, 5);
	EXPECT_GT(f->refused, 100);
}

/* A read returns the piece of the text that it asks for. */
static bool try_read(struct fuzz *f, const struct file *file, size_t len, off_t at)
{
	char *whole = f->texts[1], *piece = f->texts[2], *after = f->texts[3];
	ssize_t all, wanted, n, again;
	int tries = 0;

	/*
	 * Reads again until the text is the same before and after the read, because
	 * counts in the text change: see drop_kept().
	 */
	do {
		if (tries++ == 100)
			return wrong(f, "changed in each of 100 reads");
		all = get_all(file->path, whole, TEXTS);
		memset(piece, 0x5a, len + 1);
		n = read_at(file->path, piece, len, at);
		again = get_all(file->path, after, TEXTS);
	} while (all > 0 && (again != all || memcmp(whole, after, all)));
	wanted = at < 0 || at > LLONG_MAX - (long long)len ? -EINVAL :
		 at >= all ? 0 : (size_t)(all - at) < len ? all - at : (ssize_t)len;
	if (all < 0 || n != wanted)
		return wrong(f, "read %zd of %zd, not %zd", n, all, wanted);
	if (n > 0 && memcmp(whole + at, piece, n))
		return wrong(f, "read other bytes than the file has");
	if (piece[n < 0 ? 0 : n] != 0x5a)
		return wrong(f, "read() wrote beyond the bytes that it returned");
	return true;
}

TEST_F_TIMEOUT(fuzz, pieces, 7200)
{
	off_t page = self->f.world.page;
	off_t offsets[] = {
		0, 1, 2, 30, page - 1, page, page + 1, 2 * page, 1LL << 31,
		LLONG_MAX - 1, LLONG_MAX, -1, LLONG_MIN,
	};
	size_t lengths[] = { 0, 1, 2, page - 1, page, page + 1, 5 * page };
	struct fuzz *f = &self->f;

	ASSERT_EQ(0, ask_by_list(OFFLINE_THEM, CPU(1) | CPU(2)));
	for (int i = 0; i < FILES; i++) {
		if (!files[i].is_read)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(offsets); k++) {
			for (size_t l = 0; l < ARRAY_SIZE(lengths); l++) {
				bool fine = try_read(f, &files[i], lengths[l], offsets[k]);

				ASSERT_TRUE(fine)
					say(_metadata, f, &files[i], NULL, lengths[l], offsets[k]);
			}
		}
		for (int k = 0; k < 20; k++) {
			size_t len = 1 + roll(f, 3 * page);
			off_t at = roll(f, 3 * page);

			ASSERT_TRUE(try_read(f, &files[i], len, at))
				say(_metadata, f, &files[i], NULL, len, at);
		}
	}
}

/* Whether the test makes one more attempt after @done attempts. */
static bool goes_on(int done, long long start)
{
	long long seconds = env_number("BOLT_SECONDS", 0);

	if (seconds)
		return now_ns() - start < seconds * 1000000000;
	return done < (int)env_number("BOLT_FUZZ", MADE_UP);
}

TEST_F_TIMEOUT(fuzz, made_up, 7200)
{
	long long start = now_ns();
	struct fuzz *f = &self->f;
	int done = 0;

	for (; goes_on(done, start); done++) {
		const struct file *file = &files[roll(f, FILES)];
		size_t len;
		off_t at;

		if (file->is_read && !roll(f, 4)) {
			len = draw_length(&f->seed, f->world.page);
			at = draw_offset(f);
			ASSERT_TRUE(try_read(f, file, len, at))
				say(_metadata, f, file, NULL, len, at);
			continue;
		}
		len = draw_text(f, file, f->buf);
		at = draw_offset(f);
		ASSERT_TRUE(try(f, file, f->buf, len, at))
			say(_metadata, f, file, f->buf, len, at);
		/* Enables Bolt soon, because while disabled Bolt refuses all requests. */
		if (!f->enabled && !roll(f, 8)) {
			ASSERT_EQ(0, enable(true));
			f->enabled = true;
			ASSERT_TRUE(sight_take(&f->world, &f->sight));
			ASSERT_TRUE(look(f, 0));
		}
	}
	TH_LOG("%d random texts: %d accepted, %d refused", done, f->taken, f->refused);
	EXPECT_GT(f->taken, done / 20);
	EXPECT_GT(f->refused, done / 20);
}

static struct fuzz *shared;

/*
 * A malformed text is refused as always, or because Bolt is disabled. What a well-formed
 * text does depends on the states in which other writers have left the CPUs. The kernel's
 * own files get no well-formed text, which would make requests of other writers fail.
 */
static bool try_among_others(struct fuzz *f, const struct file *file,
			     const char *text, size_t len, off_t at)
{
	struct meaning m;
	int wanted = refusal(f, file, text, len, at, &m);
	bool batch = file->kind == LIST || file->kind == MASK;
	ssize_t n;

	if (m.skip || (!wanted && (file->kind == TARGET || file->kind == FAIL)))
		return true;
	n = write_at(file->path, text, len, at);
	if (batch && n == -EOPNOTSUPP)
		return true;
	if (wanted)
		return n == wanted || wrong(f, "the result is %zd, not %d", n, wanted);
	if (n == (ssize_t)len || (batch && (n == -EBUSY || n == -EPERM ||
					    n == -ENODEV || n == -EINVAL)) ||
	    (file->kind == KEEP && n == -EINVAL))
		return true;
	return wrong(f, "the result %zd is not documented", n);
}

static void write_among_others(struct slot *slot)
{
	struct fuzz f = *shared;

	f.seed ^= (unsigned long long)getpid() << 32;
	f.texts[1] = malloc(TEXTS);
	f.texts[2] = malloc(TEXTS);
	f.buf = calloc(4, f.world.page);
	while (f.texts[1] && f.texts[2] && f.buf) {
		const struct file *file = &files[roll(&f, FILES)];
		size_t len = draw_text(&f, file, f.buf);
		off_t at = draw_offset(&f);

		if (file->is_read && !roll(&f, 3)) {
			read_at(file->path, f.texts[1],
				draw_length(&f.seed, f.world.page), at);
		} else if (!try_among_others(&f, file, f.buf, len, at)) {
			slot->value = 1 + (file - files);
			fprintf(stderr, "# %zu bytes at %lld of %s: '%.*s': %s\n", len,
				(long long)at, file->path, (int)(len < 64 ? len : 64),
				f.buf, f.why);
			return;
		}
		slot_beat(slot);
	}
}

TEST_F_TIMEOUT(fuzz, writers_at_once, 7200)
{
	long long start = now_ns();
	struct slot *slots = slots_map(WRITERS);
	struct task tasks[WRITERS];
	unsigned long done = 0;

	ASSERT_NE(NULL, slots);
	shared = &self->f;
	for (int i = 0; i < WRITERS; i++)
		ASSERT_GT(task_start(&tasks[i], &slots[i], write_among_others), 0);
	while (goes_on(done, start)) {
		for (int i = 0; i < WRITERS; i++) {
			bool lives = task_lives(&tasks[i], 1, 300000);

			EXPECT_EQ(0, slots[i].value)
				TH_LOG("writer %d: %s", i, files[slots[i].value - 1].path);
			ASSERT_TRUE(lives)
				TH_LOG("writer %d is stuck", i);
		}
		done = 0;
		for (int i = 0; i < WRITERS; i++)
			done += slot_beats(&slots[i]);
	}
	for (int i = 0; i < WRITERS; i++) {
		task_kill(&tasks[i]);
		EXPECT_EQ(0, slots[i].value);
	}
	TH_LOG("%lu texts by %d writers", done, WRITERS);
}

TEST_HARNESS_MAIN
