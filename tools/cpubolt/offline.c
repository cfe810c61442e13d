// SPDX-License-Identifier: GPL-2.0-only
/* cpubolt offline: take CPUs offline */
#include "change.h"

static const struct help help = {
	.usage = "[options] CPULIST\n"
		 "[options] [--node LIST] [--package LIST] [--smt off | --cores N]",
	.about = "Take CPUs offline, all of them or none. cpubolt first looks for tasks that\n"
		 "would lose their last CPU.",
	.options = HELP_SELECTORS
		   "     --smt off            leave one CPU of each core online\n"
		   HELP_KEEP HELP_DRY_RUN HELP_LOOK HELP_QUIET HELP_OPTION_HELP,
	.examples = " cpubolt offline 2-3               CPUs 2 and 3\n"
		    " cpubolt offline --smt off         all but one CPU of each core\n"
		    " cpubolt offline --cores 4 -N 1    four cores of NUMA node 1\n"
		    " cpubolt offline -n 8-15           what would happen\n",
};

int run_offline(struct invocation *call)
{
	return run_change(call, CPUBOLT_TAKE_OFFLINE, &help);
}
