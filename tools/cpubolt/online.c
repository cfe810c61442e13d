// SPDX-License-Identifier: GPL-2.0-only
/* cpubolt online: bring CPUs online */
#include "change.h"

static const struct help help = {
	.usage = "[options] CPULIST\n"
		 "[options] [--node LIST] [--package LIST] [--smt on | --cores N]",
	.about = "Bring CPUs online, all of them or none.",
	.options = HELP_SELECTORS
		   "     --smt on             CPUs of cores that have a CPU online\n"
		   HELP_KEEP HELP_DRY_RUN
		   " -f, --force              accepted, without effect\n"
		   "     --no-check           accepted, without effect\n"
		   HELP_QUIET HELP_OPTION_HELP,
	.examples = " cpubolt online 2-3                CPUs 2 and 3\n"
		    " cpubolt online all                every CPU\n"
		    " cpubolt online --node 1           CPUs of NUMA node 1\n"
		    " cpubolt online --cores 4          four cores more\n",
};

int run_online(struct invocation *call)
{
	return run_change(call, CPUBOLT_BRING_ONLINE, &help);
}
