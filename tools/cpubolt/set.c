// SPDX-License-Identifier: GPL-2.0-only
/* cpubolt set: make the selected CPUs the only ones online */
#include "change.h"

static const struct help help = {
	.usage = "[options] CPULIST\n"
		 "[options] [--node LIST] [--package LIST] [--smt off|on] [--cores N]",
	.about = "Make these CPUs the only ones online: first CPUs come, then CPUs go, all or none.\n"
		 "cpubolt first looks for tasks that would lose their last CPU.",
	.options = HELP_SELECTORS
		   "     --smt off|on         one CPU of each core, or all CPUs of each core\n"
		   HELP_KEEP HELP_DRY_RUN HELP_LOOK HELP_QUIET HELP_OPTION_HELP,
	.examples = " cpubolt set 0-7                   CPUs 0 to 7 only\n"
		    " cpubolt set --cores 4             four cores\n"
		    " cpubolt set --smt off             as now, but with one CPU of each core\n"
		    " cpubolt set --node 0 --keep 12    node 0 only, and CPU 12 stays as it is\n",
};

int run_set(struct invocation *call)
{
	return run_change(call, CPUBOLT_SET_ONLINE, &help);
}
