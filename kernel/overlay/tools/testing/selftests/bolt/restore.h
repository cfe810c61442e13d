/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Leaves the machine as a program has found it. A constructor notes the settings that
 * tests change, and a destructor of the program's main process writes those settings back
 * that have changed since. Each test of the harness runs in a process of its own, so that
 * the settings are restored whether a test passes, is skipped, fails, or takes too long and
 * is killed. If the main process is killed, nothing is restored.
 */
#ifndef SELFTESTS_BOLT_RESTORE_H
#define SELFTESTS_BOLT_RESTORE_H

#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/swap.h>
#include <sys/wait.h>

#include "../kselftest.h"
#include "lib/clocks.h"
#include "lib/dirs.h"
#include "lib/files.h"

/* Where tests mount version 1 of control groups, and a tmpfs. */
#define V1 "/tmp/bolt-cpusets"
#define TMPFS "/tmp/bolt-memory"
/* The instance of the tracer that a test makes. */
#define TRACE_INSTANCE TRACE_DIR "instances/bolt/"

#define RESTORE_MAX 4096
/* Room for the text of debugfs/bolt/states. */
#define RESTORE_ROWS (256 * 1024)
/* For so long a program waits at its end until its settings are restored. */
#define RESTORE_PATIENCE_MS 60000

/* How the text that a file shows becomes the text that is written. */
enum restore_how {
	RESTORE_TEXT,		/* the text itself */
	RESTORE_CHOICE,		/* the word in brackets */
	RESTORE_HEX,		/* a number in base 16, shown without 0x */
	RESTORE_CONTROLLERS,	/* "+" or "-" before each controller that is to change */
};

/* The settings, as patterns of glob(). A setting stands above those that depend on it. */
static const struct {
	const char *files;
	enum restore_how how;
} restore_patterns[] = {
	{ "/sys/kernel/debug/{failslab,fail_page_alloc}/{ignore-gfp-*,min-order,verbose}" },
	{ "/sys/power/{pm_test,mem_sleep}", RESTORE_CHOICE },
	{ "/sys/module/suspend/parameters/pm_test_delay" },
	{ CPU_DIR "cpu[0-9]*/hotplug/fail" },
	{ BOLT_DIR "{settle_delay_ms,keep,keep_affinity,park,irq_keep,enabled}" },
	{ DEBUG_DIR "timing" },
	{ CPU_DIR "smt/control" },
	{ CPU_DIR "cpu[0-9]*/online" },
	/* A CPU that a write to hotplug/target took offline still has 1 in cpuN/online. */
	{ CPU_DIR "cpu[0-9]*/hotplug/target" },
	{ "/proc/irq/default_smp_affinity" },
	{ "/proc/irq/[0-9]*/smp_affinity_list" },
	{ "/sys/devices/system/machinecheck/machinecheck1/check_interval" },
	{ "/sys/devices/system/machinecheck/machinecheck1/bank1", RESTORE_HEX },
	{ "/proc/sys/kernel/sched_rt_runtime_us" },
	{ "/sys/kernel/debug/sched/fair_server/cpu*/runtime" },
	{ "/sys/kernel/debug/sched/verbose" },
	{ "/sys/kernel/rcu_normal" },
	{ "/sys/class/net/lo/queues/rx-*/rps_cpus" },
	{ GROUP_DIR "cgroup.subtree_control", RESTORE_CONTROLLERS },
};

static struct restore_setting {
	char *path, *text;
	enum restore_how how;
} *restore_settings;

static size_t restore_nr;
static char *restore_rows;	/* the text of debugfs/bolt/states */
static bool restore_v1;		/* whether cpusets were of version 1 at the beginning */
static void (*restore_device)(void);	/* binds a device that tests unbind; or NULL */
static pid_t restore_pid;	/* the main process of the program, or 0 */

/* Reads the text that would have to be written for the setting to be as it is now. */
static inline int restore_read(const char *path, enum restore_how how, char text[RESTORE_MAX])
{
	size_t skip = how == RESTORE_HEX ? strlen("0x") : 0;
	char *word, *end;
	int err;

	memcpy(text, "0x", skip);
	err = get(path, text + skip, RESTORE_MAX - skip);
	if (err || how != RESTORE_CHOICE)
		return err;
	word = strchr(text, '[');
	end = word ? strchr(word, ']') : NULL;
	if (!end)
		return -EINVAL;
	*end = '\0';
	memmove(text, word + 1, end - word);
	return 0;
}

static inline bool restore_has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += len)
		if ((at == text || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

static inline void restore_write(const struct restore_setting *setting, const char *now)
{
	static const char * const controllers[] = { "cpu", "cpuset" };
	char line[RESTORE_MAX + 1];

	if (setting->how != RESTORE_CONTROLLERS) {
		/* sysfs ignores a write of 0 bytes: an empty text needs the newline. */
		snprintf(line, sizeof(line), "%s\n", setting->text);
		put(setting->path, line);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		bool had = restore_has_word(setting->text, controllers[i]);

		if (had == restore_has_word(now, controllers[i]))
			continue;
		snprintf(line, sizeof(line), "%c%s", had ? '+' : '-', controllers[i]);
		put(setting->path, line);
	}
}

/* Returns what a setting was when the program began, or "" if that was not noted. */
static inline const char *restore_text(const char *path)
{
	for (size_t i = 0; i < restore_nr; i++)
		if (!strcmp(restore_settings[i].path, path))
			return restore_settings[i].text;
	return "";
}

/* Whether SMT was switched off when the program began, so that some CPUs cannot come online. */
static inline bool restore_smt_is_off(void)
{
	const char *control = restore_text(CPU_DIR "smt/control");

	return !strcmp(control, "off") || !strcmp(control, "forceoff");
}

/* Whether groups of version 2 had cpusets when the program began. */
static inline bool restore_v2(void)
{
	return restore_has_word(restore_text(GROUP_DIR "cgroup.subtree_control"), "cpuset");
}

/*
 * Reads into @words the words that user space has written for state @nr: in @rows, a text of
 * debugfs/bolt/states, such a word ends with "!". A word that user space has not written
 * becomes "".
 */
static inline void restore_words(const char *rows, int nr, char words[2][24])
{
	const char *line;
	char begins[16];

	memset(words, 0, 2 * sizeof(words[0]));
	snprintf(begins, sizeof(begins), "\n%d ", nr);
	line = strstr(rows, begins);
	if (!line || sscanf(line, "%*d %23s %23s", words[0], words[1]) != 2)
		return;
	for (int i = 0; i < 2; i++) {
		size_t len = strlen(words[i]);

		if (words[i][len - 1] == '!')
			len--;
		else
			len = 0;
		memset(words[i] + len, 0, sizeof(words[i]) - len);
	}
}

static inline char *restore_read_rows(void)
{
	char *rows = malloc(RESTORE_ROWS);
	ssize_t len = rows ? get_all(DEBUG_DIR "states", rows, RESTORE_ROWS - 1) : 0;

	if (rows)
		rows[len < 0 ? 0 : len] = '\0';
	return rows;
}

static inline void restore_write_rows(void)
{
	char words[2][24], old[2][24], text[40], *now = restore_read_rows();

	if (!now || !restore_rows || !(strchr(now, '!') || strchr(restore_rows, '!')))
		return;
	for (const char *line = now; (line = strchr(line, '\n')); line++) {
		int nr = atoi(line + 1);

		restore_words(now, nr, words);
		restore_words(restore_rows, nr, old);
		if (!memcmp(words, old, sizeof(old)))
			continue;
		snprintf(text, sizeof(text), "%d default", nr);
		put(DEBUG_DIR "states", text);
		for (int i = 0; i < 2; i++) {
			snprintf(text, sizeof(text), "%d %s", nr, old[i]);
			if (old[i][0])
				put(DEBUG_DIR "states", text);
		}
	}
}

/*
 * Removes the groups bolt-* that tests have made, and before these the groups below them.
 * Returns false if a group is still busy, because a task has not quite gone from it.
 */
static inline bool restore_groups(void)
{
	static const char * const patterns[] = {
		"{" V2 "," V1 "}/bolt-*/*/*/", "{" V2 "," V1 "}/bolt-*/*/",
		"{" V2 "," V1 "}/bolt-*/",
	};
	bool all = true;
	glob_t found;

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		if (glob(patterns[i], GLOB_BRACE, NULL, &found))
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++)
			all &= !rmdir(found.gl_pathv[k]) || errno != EBUSY;
		globfree(&found);
	}
	return all;
}

/*
 * Whether version 1 of control groups has the cpusets. /proc/self/cgroup names cpuset
 * first among the controllers of a hierarchy.
 */
static inline bool restore_in_v1(void)
{
	char text[RESTORE_MAX];

	return !get("/proc/self/cgroup", text, sizeof(text)) && strstr(text, ":cpuset");
}

/*
 * Moves the cpusets back to version 2 of control groups after a test of version 1. The
 * cpusets leave version 1 when V1 is unmounted and no group is left there; groups exist
 * for a while after rmdir().
 */
static inline void restore_cpusets(void)
{
	for (int i = 0; i < 600 && !restore_v1 && restore_in_v1(); i++) {
		if (!mount("none", V1, "cgroup", 0, "cpuset"))
			umount(V1);
		wait_ms(100);
	}
}

static inline void restore_now(void)
{
	const char *disk = getenv("BOLT_DISK");
	char now[RESTORE_MAX];

	/* A device that was unbound gets interrupts, whose affinity is restored below. */
	if (restore_device)
		restore_device();
	rmdir(TRACE_INSTANCE);
	for (int i = 0; i < 500 && !restore_groups(); i++)
		wait_ms(10);
	umount2(TMPFS, MNT_DETACH);
	rmdir(TMPFS);
	restore_write_rows();
	/* Some files are there only in the second pass, when CPUs have come back. */
	for (int pass = 0; pass < 3; pass++) {
		for (size_t i = 0; i < restore_nr; i++) {
			const struct restore_setting *setting = &restore_settings[i];

			if (restore_read(setting->path, setting->how, now) ||
			    !strcmp(now, setting->text))
				continue;
			if (pass < 2)
				restore_write(setting, now);
			else
				fprintf(stderr, "# %s stays '%s', was '%s'\n", setting->path,
					now, setting->text);
		}
	}
	/* The groups of V1 may take long to vanish. */
	umount2(V1, MNT_DETACH);
	restore_cpusets();
	rmdir(V1);
	/* Ends the use of the disk as swap area, which may take long. */
	if (disk) {
		snprintf(now, sizeof(now), "/dev/%.100s", disk);
		swapoff(now);
	}
}

static inline void restore_note(const char *path, enum restore_how how)
{
	struct restore_setting *settings;
	char text[RESTORE_MAX];

	if (restore_read(path, how, text))
		return;
	settings = realloc(restore_settings, (restore_nr + 1) * sizeof(*settings));
	if (!settings)
		abort();
	restore_settings = settings;
	settings[restore_nr].path = strdup(path);
	settings[restore_nr].text = strdup(text);
	settings[restore_nr++].how = how;
}

/*
 * Notes the settings, unless the user is not root, or a test has started this program
 * once more. Mounts that tests make are seen by no other program, and end with this
 * program.
 */
static void __attribute__((constructor)) restore_begin(void)
{
	glob_t found;

	if (geteuid() || getenv("BOLT_RESTORES"))
		return;
	setenv("BOLT_RESTORES", "1", 1);
	restore_pid = getpid();
	if (!unshare(CLONE_NEWNS))
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	if (access(DEBUG_DIR, F_OK))
		mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	restore_v1 = restore_in_v1();
	restore_rows = restore_read_rows();
	for (size_t i = 0; i < ARRAY_SIZE(restore_patterns); i++) {
		if (glob(restore_patterns[i].files, GLOB_BRACE, NULL, &found))
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++)
			restore_note(found.gl_pathv[k], restore_patterns[i].how);
		globfree(&found);
	}
}

/*
 * A child writes the settings: if a write never returns, because the kernel has a bug, the
 * program ends nevertheless, and the child does not keep the program's stdout open.
 */
static void __attribute__((destructor)) restore_end(void)
{
	pid_t pid;

	if (getpid() != restore_pid)
		return;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		close(STDOUT_FILENO);
		restore_now();
		_exit(0);
	}
	for (int ms = 0; pid > 0 && !waitpid(pid, NULL, WNOHANG); ms += 10) {
		if (ms >= RESTORE_PATIENCE_MS) {
			fprintf(stderr, "# the settings were not restored in time\n");
			kill(pid, SIGKILL);
			break;
		}
		wait_ms(10);
	}
}

#endif /* SELFTESTS_BOLT_RESTORE_H */
