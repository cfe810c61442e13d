/* SPDX-License-Identifier: GPL-2.0-only */
/* What the subcommands online, offline and set have in common */
#ifndef CHANGE_H
#define CHANGE_H

#include "command.h"

/** run_change() - read the options of online, offline or set, and carry the request out */
int run_change(struct invocation *call, enum cpubolt_op op, const struct help *help);

/* Lines for struct help.options */
#define HELP_SELECTORS										\
	" -c, --cores N            N cores, with all their CPUs\n"				\
	" -p, --package LIST       CPUs of these packages only\n"				\
	" -N, --node LIST          CPUs of these NUMA nodes only\n"
#define HELP_KEEP										\
	" -k, --keep LIST          leave these CPUs as they are\n"
#define HELP_DRY_RUN										\
	" -n, --dry-run            say what would happen or be refused; change nothing\n"
#define HELP_LOOK										\
	" -f, --force              warn of tasks that lose their last CPU, and go on\n"		\
	"     --no-check           do not look for tasks that lose their last CPU\n"
#define HELP_QUIET										\
	" -q, --quiet              print nothing but errors and warnings\n"

#endif /* CHANGE_H */
