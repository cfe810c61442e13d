/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds programs that run on the machine, by name. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

/**
 * program_find() - a process whose name in /proc/PID/comm is @name
 * @root: stands for "/"; "" is the running system
 *
 * The kernel cuts names to 15 characters; @name may be longer. A kernel thread
 * with that name is found as well. A process of another user than the owner of
 * /proc, who is root, is not found, as any user may choose such a name, and
 * neither is a setuid program that another user runs.
 *
 * Return: the PID, 0 if there is none, -ENOMEM, or a negative errno if /proc cannot be read.
 */
int program_find(const char *root, const char *name);

/**
 * program_variable() - an environment variable that process @pid was started with
 *
 * Return: the value, to be freed with free(); NULL if the process has no such variable, if its
 * variables cannot be read, or if memory is short.
 */
char *program_variable(const char *root, int pid, const char *name);

#endif /* PROGRAMS_H */
