// SPDX-License-Identifier: GPL-2.0-only
/*
 * PID 1 of a lab guest: mounts file systems, opens the channels that take reports, runs the
 * commands of /script in order until a command fails, sends the kernel log and powers off.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "power.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ARGS 64

static const struct {
	const char *type, *dir;
	bool optional;
} mounts[] = {
	{ "proc", "/proc", false },
	{ "sysfs", "/sys", false },
	{ "devtmpfs", "/dev", false },
	{ "tmpfs", "/tmp", true },
	{ "debugfs", "/sys/kernel/debug", true },
	{ "tracefs", "/sys/kernel/tracing", true },
	{ "cgroup2", "/sys/fs/cgroup", true },
};

static void mount_all(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		mkdir(mounts[i].dir, 0755);
		if (mount(mounts[i].type, mounts[i].dir, mounts[i].type, 0, NULL) &&
		    errno != EBUSY && !mounts[i].optional)
			die("mount %s: %s", mounts[i].dir, strerror(errno));
	}
}

/* Makes the console the controlling terminal: Ctrl-C then reaches the programs of the shell. */
static void take_terminal(void)
{
	char path[256] = "/dev/", *name = path + strlen(path);
	ssize_t n = read_text("/sys/class/tty/console/active", name, sizeof(path) - 5);
	int fd;

	if (n <= 0)
		return;
	name[strcspn(name, " \n")] = '\0';
	setsid();
	fd = open(path, O_RDWR);
	if (fd < 0)
		return;
	for (int to = 0; to < 3; to++)
		dup2(fd, to);
	close(fd);
	ioctl(0, TIOCSCTTY, 0);
}

/* Waits for a child; returns 0 if the child has exited with 0, or else a negative errno. */
static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status))
		return -EINTR;
	return WEXITSTATUS(status) ? -EPROTO : 0;
}

/* Runs a program; if @capture, each line of its stdout becomes a result {"output": LINE}. */
static int run_program(char **args, bool capture)
{
	int pipefd[2];
	pid_t pid;

	if (capture && pipe2(pipefd, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		if (capture)
			dup2(pipefd[1], 1);
		execv(args[0], args);
		fprintf(stderr, "guest: %s: %s\n", args[0], strerror(errno));
		_exit(127);
	}
	if (capture) {
		static char line[8192], text[49152];
		FILE *out = fdopen(pipefd[0], "r");

		close(pipefd[1]);
		while (out && fgets(line, sizeof(line), out)) {
			line[strcspn(line, "\n")] = '\0';
			json_text(text, sizeof(text), line);
			emit("{\"output\":\"%s\"}", text);
		}
		if (out)
			fclose(out);
	}
	return wait_for(pid);
}

/* Writes the words of @args to @text, with a space between two words. */
static int join(char **args, char *text, size_t size)
{
	text[0] = '\0';
	for (int i = 0; args[i]; i++) {
		if (strlen(text) + strlen(args[i]) + 2 > size)
			return -E2BIG;
		if (i)
			strcat(text, " ");
		strcat(text, args[i]);
	}
	return 0;
}

static int do_write(char **args)
{
	char text[4096];

	if (!args[1] || !args[2])
		return -EINVAL;
	return join(args + 2, text, sizeof(text)) ?: write_text(args[1], text);
}

/* load MODULE PARAMETERS...: loads /lib/MODULE.ko, a module of the lab or of the kernel. */
static int do_load(char **args)
{
	char path[256], text[4096];
	int fd, err;

	if (!args[1])
		return -EINVAL;
	err = join(args + 2, text, sizeof(text));
	if (err)
		return err;
	snprintf(path, sizeof(path), "/lib/%s.ko", args[1]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, text, 0))
		err = -errno;
	close(fd);
	return err;
}

/* unload MODULE: if the module is in use, tries for a second, as its last user may be ending. */
static int do_unload(char **args)
{
	if (!args[1])
		return -EINVAL;
	for (int i = 0; syscall(SYS_delete_module, args[1], O_NONBLOCK); i++) {
		if (errno != EAGAIN || i == 100)
			return -errno;
		wait_ms(10);
	}
	return 0;
}

/* wait SECONDS */
static int do_wait(char **args)
{
	if (!args[1])
		return -EINVAL;
	wait_ms(1000 * atol(args[1]));
	return 0;
}

/* host stop|go CPU: the lab stops that CPU, as a busy host does, or lets the CPU go on. */
static int do_host(char **args)
{
	if (!args[1] || !args[2])
		return -EINVAL;
	emit("{\"host\":\"%s %d\"}", args[1], atoi(args[2]));
	/* The lab does not say when the CPU has stopped or goes on, so wait. */
	wait_ms(3000);
	return 0;
}

/* refuse ERRNO FILE WORDS...: the write of the words must fail with that error. */
static int do_refuse(char **args)
{
	char text[4096];
	int err;

	if (!args[1] || !args[2] || !args[3])
		return -EINVAL;
	err = join(args + 3, text, sizeof(text)) ?: write_text(args[2], text);
	if (err == -atoi(args[1]))
		return 0;
	fprintf(stderr, "guest: '%s' to %s: %s, not errno %s\n", text, args[2],
		err ? strerror(-err) : "no error", args[1]);
	return -EPROTO;
}

/* expect FILE WORDS...: the first line of the file must be exactly these words. */
static int do_expect(char **args)
{
	char text[4096], wanted[4096];
	ssize_t n;

	if (!args[1])
		return -EINVAL;
	n = join(args + 2, wanted, sizeof(wanted));
	if (n)
		return n;
	n = read_text(args[1], text, sizeof(text));
	if (n < 0)
		return n;
	text[strcspn(text, "\n")] = '\0';
	if (!strcmp(text, wanted))
		return 0;
	fprintf(stderr, "guest: %s holds '%s'\n", args[1], text);
	return -EPROTO;
}

/* show FILE: writes the file's name, without the folder, and its first line to the results. */
static int do_show(char **args)
{
	char value[4096], text[16384];
	ssize_t n;

	if (!args[1] || !strchr(args[1], '/'))
		return -EINVAL;
	n = read_text(args[1], value, sizeof(value));
	if (n < 0)
		return n;
	value[strcspn(value, "\n")] = '\0';
	json_text(text, sizeof(text), value);
	emit("{\"output\":\"%s: %s\"}", strrchr(args[1], '/') + 1, text);
	return 0;
}

/*
 * find FILE PATTERN: fails unless the extended regular expression PATTERN matches a line of
 * the file.
 */
static int do_find(char **args)
{
	static char line[8192];
	bool found = false;
	regex_t pattern;
	FILE *in;

	if (!args[1] || !args[2])
		return -EINVAL;
	in = fopen(args[1], "re");
	if (!in)
		return -errno;
	if (regcomp(&pattern, args[2], REG_EXTENDED | REG_NOSUB)) {
		fclose(in);
		return -EINVAL;
	}
	while (!found && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';	/* else "on$" would match no line */
		found = !regexec(&pattern, line, 0, NULL, 0);
	}
	regfree(&pattern);
	fclose(in);
	return found ? 0 : -ENODATA;
}

static int do_measure(char **args)
{
	args[0] = "/bin/measure";
	return run_program(args, false);
}

static int do_micro(char **args)
{
	args[0] = "/bin/micro";
	return run_program(args, false);
}

static int do_trace(char **args)
{
	args[0] = "/bin/breakdown";
	return run_program(args, false);
}

static int do_batches(char **args)
{
	args[0] = "/bin/batches";
	return run_program(args, false);
}

/* send FILE: sends the contents of the file to the trace port. */
static int do_send(char **args)
{
	return args[1] ? copy_to_fd(args[1], FD_TRACE) : -EINVAL;
}

static int do_run(char **args)
{
	if (!args[1])
		return -EINVAL;
	return run_program(args + 1, true);
}

/* Patterns of files that a selftest must leave as they were. */
static const char *const settings[] = {
	CPU_DIR "{present,online,smt/control,cpu[0-9]*/hotplug/{fail,target}}",
	BOLT_DIR "{enabled,irq_keep,keep,keep_affinity,park,settle_delay_ms}",
	DEBUG_DIR "timing",
	"/proc/{mounts,swaps,self/cgroup,irq/default_smp_affinity,sys/kernel/sched_rt_runtime_us}",
	"/sys/power/{pm_test,mem_sleep}",
	"/sys/devices/system/machinecheck/machinecheck*/{bank1,check_interval}",
	"/sys/kernel/debug/{failslab,fail_page_alloc}/{ignore-gfp-*,min-order,verbose}",
	"/sys/kernel/debug/sched/{verbose,fair_server/cpu*/runtime}",
	"/sys/kernel/rcu_normal",
	"/sys/class/net/lo/queues/rx-*/rps_cpus",
	TRACE_DIR "{current_tracer,set_ftrace_filter,events/sched/*/{enable,filter},instances/*}",
	GROUP_DIR "{cgroup.subtree_control,bolt*}",
};

/* Returns "PATH: TEXT" for each of these files, one file below the other, or NULL on an error. */
static char *settings_text(void)
{
	static char value[8192];
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	glob_t found;

	for (size_t i = 0; out && i < ARRAY_SIZE(settings); i++) {
		if (glob(settings[i], GLOB_BRACE, NULL, &found))
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++) {
			if (read_text(found.gl_pathv[k], value, sizeof(value)) < 0)
				value[0] = '\0';
			fprintf(out, "%s: %s\n", found.gl_pathv[k], value);
		}
		globfree(&found);
	}
	if (out)
		fclose(out);
	return text;
}

/* selftest PROGRAM ARGUMENTS...: like run, but fails if the program leaves a setting changed. */
static int do_selftest(char **args)
{
	char *before = settings_text(), *after;
	int err = do_run(args);
	size_t same = 0;

	after = settings_text();
	if (!before || !after)
		return -ENOMEM;
	while (before[same] && before[same] == after[same])
		same++;
	while (same && before[same - 1] != '\n')
		same--;
	/*
	 * If the first file, "present", has changed, the program has ejected a CPU, whose files
	 * are missing: then nothing is compared.
	 */
	if (!err && same && strcmp(before, after)) {
		fprintf(stderr, "guest: %s has left '%.*s', which was '%.*s'\n", args[1],
			(int)strcspn(after + same, "\n"), after + same,
			(int)strcspn(before + same, "\n"), before + same);
		err = -EPROTO;
	}
	free(before);
	free(after);
	return err;
}

/* kunit: writes the result of every KUnit suite to the results, a line at a time. */
static int do_kunit(char **args)
{
	static const char suites[] = "/sys/kernel/debug/kunit";
	char path[512], line[2048], text[8192], name[512];
	struct dirent *entry;
	DIR *dir = opendir(suites);
	int found = 0;

	(void)args;
	while (dir && (entry = readdir(dir))) {
		FILE *results;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s/results", suites, entry->d_name);
		results = fopen(path, "r");
		if (!results)
			continue;
		found++;
		json_text(name, sizeof(name), entry->d_name);
		while (fgets(line, sizeof(line), results)) {
			line[strcspn(line, "\n")] = '\0';
			json_text(text, sizeof(text), line);
			emit("{\"kunit\":\"%s\",\"line\":\"%s\"}", name, text);
		}
		fclose(results);
	}
	if (dir)
		closedir(dir);
	return found ? 0 : -ENOENT;
}

/*
 * kmemleak: fails if the kernel has lost memory, or has no kmemleak. kmemleak reports a lost
 * object at the earliest in the second scan that meets the object, and only if the object is
 * 5 seconds old by then.
 */
static int do_kmemleak(char **args)
{
	static const char file[] = "/sys/kernel/debug/kmemleak";
	static char text[49152], line[1 << 17];
	ssize_t n;

	(void)args;
	if (access(file, F_OK))
		return -ENODEV;
	for (int i = 0; i < 3; i++) {
		int err = write_text(file, "scan");

		if (err)
			return err;
		wait_ms(6000);
	}
	n = read_text(file, text, sizeof(text));
	if (n <= 0)
		return n;
	json_text(line, sizeof(line) / 4, text);
	emit("{\"output\":\"%s\"}", line);
	text[strcspn(text, "\n")] = '\0';
	fprintf(stderr, "guest: kmemleak: %s\n", text);
	return -EPROTO;
}

static int do_shell(char **args)
{
	char *shell[] = { "/bin/busybox", "sh", "-l", NULL };
	pid_t pid;

	(void)args;
	setenv("PATH", "/bin:/sbin:/usr/bin:/usr/sbin", 1);
	setenv("HOME", "/", 1);
	setenv("PS1", "bolt# ", 1);
	pid = fork();
	if (!pid) {
		take_terminal();
		execv(shell[0], shell);
		_exit(127);
	}
	return pid < 0 ? -errno : wait_for(pid);
}

static const struct {
	const char *name;
	int (*run)(char **args);
} commands[] = {
	{ "write", do_write },
	{ "expect", do_expect },
	{ "refuse", do_refuse },
	{ "show", do_show },
	{ "find", do_find },
	{ "load", do_load },
	{ "unload", do_unload },
	{ "wait", do_wait },
	{ "host", do_host },
	{ "measure", do_measure },
	{ "micro", do_micro },
	{ "trace", do_trace },
	{ "batches", do_batches },
	{ "send", do_send },
	{ "run", do_run },
	{ "selftest", do_selftest },
	{ "kunit", do_kunit },
	{ "kmemleak", do_kmemleak },
	{ "swapon", do_swapon },
	{ "kexec", do_kexec },
	{ "shell", do_shell },
};

static int run_command(char *line)
{
	char *args[MAX_ARGS + 1];
	int n = 0;

	for (char *word = strtok(line, " \t"); word; word = strtok(NULL, " \t")) {
		if (n == MAX_ARGS)
			return -E2BIG;
		args[n++] = word;
	}
	args[n] = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(args[0], commands[i].name))
			return commands[i].run(args);
	return -ENOSYS;
}

static void run_script(void)
{
	static char line[8192], copy[8192], text[49152];
	FILE *script = fopen("/script", "r");
	int err = script ? 0 : -errno;

	strcpy(copy, "/script");
	while (!err && fgets(line, sizeof(line), script)) {
		line[strcspn(line, "\n")] = '\0';
		if (!line[strspn(line, " \t")] || line[0] == '#')
			continue;
		strcpy(copy, line);
		err = run_command(line);
	}
	if (!err) {
		emit("{\"end\":\"ok\"}");
		return;
	}
	json_text(text, sizeof(text), copy);
	emit("{\"end\":\"error\",\"command\":\"%s\",\"errno\":%d}", text, -err);
}

static void send_kernel_log(void)
{
	int fd = open_log();
	int size = klogctl(10 /* SYSLOG_ACTION_SIZE_BUFFER */, NULL, 0);
	char *log = size > 0 ? malloc(size) : NULL;
	int n = log ? klogctl(3 /* SYSLOG_ACTION_READ_ALL */, log, size) : -1;
	int err;

	if (fd < 0 || n < 0)
		die("cannot send the kernel log");
	err = send_text(fd, log, n);
	if (err)
		die("cannot send the kernel log: %s", strerror(-err));
	fsync(fd);
	close(fd);
}

int main(void)
{
	long long booted = now_ns();

	mount_all();
	for (int fd = 0; fd < 3; fd++)
		if (dup2(open("/dev/console", O_RDWR), fd) < 0)
			return 1;
	if (!place_channels())
		die("cannot open the channels for results and traces");
	emit("{\"booted\":%lld}", booted);
	run_script();
	send_kernel_log();
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
