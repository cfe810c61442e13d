/* SPDX-License-Identifier: GPL-2.0-only */
/* Starts and ends cpuboltd as systemd does, and checks what the daemon leaves behind. */
#ifndef BOLT_DAEMON_H
#define BOLT_DAEMON_H

#include "guest.h"

#define CONFIG "/tmp/cpuboltd.conf"
#define ONLINE CPU_DIR "online"
#define STATE "/run/cpubolt/cpuboltd"

/* The machine without the daemon: how many CPUs are online, and the list of these CPUs. */
extern int count;
extern char found[256];

/* Reads the CPUs that are online into "count" and "found". */
void daemon_begin(void);

/* Makes @text the configuration with which the next daemon starts. */
void daemon_configure(const char *text);

void read_line(const char *path, char *text, size_t size);
int online_count(void);

/* Prints the log of the daemon and ends this program, because a check has failed. */
void give_up(const char *what) __attribute__((noreturn));

/* Starts a program whose messages go to the log of the daemon; @args ends with NULL. */
pid_t start(char **args);

/* Waits for the end of the child @pid, and returns its wait status, 0 after exit(0). */
int ended(pid_t pid);

pid_t start_daemon(void);

/* Ends the daemon as systemd does, checks its wait status, and calls check_restored(). */
void stop_daemon(pid_t pid);

/* Runs the command that ExecStopPost= has in cpuboltd's unit of systemd. */
void restore(void);

/* Checks that just the CPUs of "found" are online, and that there is no file STATE. */
void check_restored(void);

/* Removes the log of the daemon. */
void forget_log(void);

#endif
