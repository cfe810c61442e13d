// SPDX-License-Identifier: GPL-2.0-only
/* Starts and ends cpuboltd, see daemon.h */
#define _GNU_SOURCE
#include "daemon.h"
#include "lib/children.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG "/tmp/cpuboltd.log"

int count;
char found[256];

void read_line(const char *path, char *text, size_t size)
{
	if (read_text(path, text, size) < 0)
		die("cannot read %s", path);
	text[strcspn(text, "\n")] = '\0';
}

int online_count(void)
{
	char text[256];
	int list[MAX_CPUS];

	read_line(ONLINE, text, sizeof(text));
	return parse_cpus(text, list, MAX_CPUS);
}

void daemon_begin(void)
{
	read_line(ONLINE, found, sizeof(found));
	count = online_count();
}

void daemon_configure(const char *text)
{
	close(open(CONFIG, O_WRONLY | O_CREAT, 0644));
	if (write_text(CONFIG, text))
		die("cannot write %s", CONFIG);
}

void give_up(const char *what)
{
	char text[256];

	read_line(ONLINE, text, sizeof(text));
	fprintf(stderr, "guest: %s; online: %s; the daemon said:\n", what, text);
	copy_to_fd(LOG, 2);
	die("%s", what);
}

/*
 * The started program ends with this program: otherwise the started program would keep the
 * output open, and init would wait for the started program.
 */
pid_t start(char **args)
{
	pid_t pid = fork_mortal();
	int fd;

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid)
		return pid;
	fd = open(LOG, O_WRONLY | O_CREAT | O_APPEND, 0644);
	dup2(fd, 2);
	execv(args[0], args);
	_exit(127);
}

int ended(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		die("wait: %s", strerror(errno));
	return status;
}

pid_t start_daemon(void)
{
	char *args[] = { "/bin/cpuboltd", "--config", CONFIG, NULL };

	return start(args);
}

void stop_daemon(pid_t pid)
{
	kill(pid, SIGTERM);
	if (ended(pid))
		give_up("the daemon did not end well");
	check_restored();
}

void restore(void)
{
	char *args[] = { "/bin/cpuboltd", "--restore", NULL };

	if (ended(start(args)))
		give_up("--restore failed");
}

void check_restored(void)
{
	char text[256];

	read_line(ONLINE, text, sizeof(text));
	if (strcmp(text, found))
		give_up("not all CPUs are back");
	if (!access(STATE, F_OK))
		give_up("the file of taken CPUs is still there");
}

void forget_log(void)
{
	unlink(LOG);
}
