/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs that run on the machine, by name. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

/**
 * program_find() - a process whose name in /proc/PID/comm is @name
 * @root: stands for "/"; "" is the running system
 *
 * The kernel cuts names to 15 characters; @name may be longer. Kernel threads
 * are not looked at.
 *
 * Return: its PID, 0 if there is none, or a negative errno if /proc cannot be read.
 */
int program_find(const char *root, const char *name);

/**
 * program_variable() - an environment variable that process @pid was started with
 *
 * Return: its value, to be freed with free(), or NULL if the process has none,
 * or if this user may not read it.
 */
char *program_variable(const char *root, int pid, const char *name);

#endif /* PROGRAMS_H */
