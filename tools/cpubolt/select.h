/* SPDX-License-Identifier: GPL-2.0-only */
/* Which CPUs a request is about: a cpulist, and options such as --node */
#ifndef SELECT_H
#define SELECT_H

#include "command.h"

enum smt_choice {
	SMT_ANY,		/* no option --smt */
	SMT_OFF,		/* one CPU of each core is to be online */
	SMT_ON,			/* all CPUs of each core are to be online */
};

/** What the user has said; NULL or 0 where the user has said nothing */
struct selection {
	const char *list;	/* cpulist */
	const char *packages;	/* list of package numbers */
	const char *nodes;	/* list of NUMA node numbers */
	const char *keep;	/* cpulist of CPUs that are left as they are */
	unsigned int cores;
	enum smt_choice smt;
};

/** selection_needs_topology() - true if select_cpus() has to know where CPUs are */
bool selection_needs_topology(const struct selection *selection);

/** means_all() - true if the cpulist @text is "all", or "all" with a pattern, as in "all:1/2" */
bool means_all(const char *text);

/**
 * select_cpus() - find the CPUs that a request is about
 * @op: the request; a selection means other CPUs when CPUs go than when CPUs come
 * @cpus: made by cpubolt_set_new(); is overwritten
 *
 * A list without CPUs is an error, and so are a package or node in which no CPU is known to be, and
 * more cores than there are to choose. If the options choose no CPU for another reason, that is no
 * error, and @cpus is empty.
 *
 * Return: EXIT_DONE, or another exit code after a message.
 */
int select_cpus(struct invocation *call, enum cpubolt_op op, const struct selection *selection,
		cpu_set_t *cpus);

#endif /* SELECT_H */
