/* SPDX-License-Identifier: GPL-2.0-only */
/* Child processes. */
#ifndef SELFTESTS_BOLT_LIB_CHILDREN_H
#define SELFTESTS_BOLT_LIB_CHILDREN_H

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Makes the kernel kill this process when its parent, @parent, ends. */
static inline void die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* If the parent ended before the prctl(), the kernel sends no signal. */
	if (getppid() != parent)
		_exit(1);
}

/* Forks a child that is killed when its parent ends. */
static inline pid_t fork_mortal(void)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid)
		die_with(parent);
	return pid;
}

#endif /* SELFTESTS_BOLT_LIB_CHILDREN_H */
