// SPDX-License-Identifier: GPL-2.0-only
/* cpubolt settle: run the teardowns that Bolt has deferred */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

static const struct help help = {
	.usage = "[CPULIST|all]",
	.about = "Run the teardowns that Bolt has deferred for parked CPUs, and wait until all\n"
		 "have run. Then these CPUs are natively offline. Without a list: all CPUs.",
	.options = HELP_OPTION_HELP,
	.examples = " cpubolt settle           no CPU is parked afterwards\n"
		    " cpubolt settle 2-3       CPUs 2 and 3 only\n",
};

static int settle(struct invocation *call, const cpu_set_t *cpus)
{
	int error = cpubolt_settle(call->machine, cpus);

	switch (error) {
	case 0:
		return EXIT_DONE;
	case -EACCES:
		return fail(EXIT_NOT_PERMITTED, "only root may settle CPUs");
	case -EROFS:
		return fail(EXIT_FAILED, "sysfs is mounted read-only here, as in most containers");
	case -ENOENT:
	case -EOPNOTSUPP:
		return fail(EXIT_DONE, "this kernel has no Bolt, so no CPU is parked");
	}
	return fail(EXIT_FAILED, "cannot settle: %s", strerror(-error));
}

static int settle_list(struct invocation *call, const char *text)
{
	cpu_set_t *cpus = cpubolt_set_new(call->machine);
	size_t at = 0;
	int code, error;

	if (!cpus)
		return fail(EXIT_FAILED, "no memory");
	error = cpubolt_parse_list(call->machine, text, cpus, &at);
	if (error || !CPU_COUNT_S(cpubolt_set_size(call->machine), cpus))
		code = fail_list(call, text, error, at);
	else
		code = settle(call, cpus);
	CPU_FREE(cpus);
	return code;
}

int run_settle(struct invocation *call)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	const char *list;
	int option, code;

	while ((option = getopt_long(call->argc, call->argv, "h", options, NULL)) != -1) {
		if (option != 'h')
			return fail_usage(call);
		return print_help(call, &help);
	}
	if (call->argc > optind + 1) {
		complain("only one list of CPUs is allowed: \"%s\" is a second list",
			 call->argv[optind + 1]);
		return fail_usage(call);
	}
	list = call->argc > optind ? call->argv[optind] : "all";
	code = invocation_open(call);
	if (code != EXIT_DONE)
		return code;
	return strcmp(list, "all") ? settle_list(call, list) : settle(call, NULL);
}
