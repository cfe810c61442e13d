// SPDX-License-Identifier: GPL-2.0-only
/* cpuboltd: takes CPUs offline that nothing needs, and brings them back */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "daemon.h"
#include "replay.h"
#include "say.h"

struct options {
	const char *root, *config, *policy, *replay;
	bool dry_run, restore;
	unsigned long samples;
};

static int print_help(void)
{
	const struct policy *const *each;

	puts("Usage:\n"
	     " cpuboltd [options]\n"
	     "\n"
	     "Take CPUs offline that nothing needs, and bring them back when something does.\n"
	     "\n"
	     "Options:\n"
	     " -c, --config FILE    read FILE, and the files of the folder FILE.d, instead of\n"
	     "                      " CONFIG_FILE "\n"
	     " -p, --policy NAME    use this policy, whatever the configuration says\n"
	     " -n, --dry-run        measure, and say what would be done\n"
	     "     --samples N      measure N times, the first time at once, then end\n"
	     "     --replay TRACE   say what the policy would make of a recorded load\n"
	     "     --restore        put back what a daemon has left changed: CPUs, interrupts\n"
	     "     --root DIR       read the CPUs of the recorded tree DIR\n"
	     " -h, --help           display this help\n"
	     " -V, --version        display version\n"
	     "\n"
	     "Policies:");
	for (each = policies; *each; each++)
		printf(" %-10s %s\n", (*each)->name, (*each)->summary);
	puts("\n"
	     "Examples:\n"
	     " cpuboltd --dry-run                     what would be done here, until Ctrl-C\n"
	     " cpuboltd --replay day.csv -p package   a recorded day with another policy\n"
	     "\n"
	     "For more details see cpuboltd(8).");
	return EXIT_DONE;
}

static int usage(void)
{
	fputs("Try 'cpuboltd --help' for more information.\n", stderr);
	return EXIT_USAGE;
}

static bool take_count(const char *text, unsigned long *count)
{
	char *end;

	errno = 0;
	*count = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *count;
}

/*
 * Refuses --dry-run, --samples and --replay beside an option with which these do nothing. Returns
 * -1 if nothing is refused, otherwise the exit code.
 */
static int check_together(const struct options *options)
{
	if (options->restore && (options->dry_run || options->samples || options->replay))
		fail(EXIT_USAGE, "--restore takes no --dry-run, --samples or --replay");
	else if (options->replay && (options->dry_run || options->samples))
		fail(EXIT_USAGE, "--replay takes no --dry-run or --samples");
	else
		return -1;
	return usage();
}

/* Returns -1 if main() is to go on, otherwise the exit code. */
static int parse_options(int argc, char **argv, struct options *options)
{
	enum { ROOT = 256, SAMPLES, REPLAY, RESTORE };
	static const struct option known[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "policy", required_argument, NULL, 'p' },
		{ "dry-run", no_argument, NULL, 'n' },
		{ "samples", required_argument, NULL, SAMPLES },
		{ "replay", required_argument, NULL, REPLAY },
		{ "restore", no_argument, NULL, RESTORE },
		{ "root", required_argument, NULL, ROOT },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	int option;

	while ((option = getopt_long(argc, argv, "c:p:nhV", known, NULL)) != -1) {
		switch (option) {
		case 'c':
			options->config = optarg;
			break;
		case 'p':
			options->policy = optarg;
			break;
		case 'n':
			options->dry_run = true;
			break;
		case SAMPLES:
			if (!take_count(optarg, &options->samples)) {
				fail(EXIT_USAGE, "--samples %s: a number above 0 is wanted", optarg);
				return usage();
			}
			break;
		case REPLAY:
			options->replay = optarg;
			break;
		case RESTORE:
			options->restore = true;
			break;
		case ROOT:
			options->root = optarg;
			break;
		case 'h':
			return print_help();
		case 'V':
			puts("cpuboltd " CPUBOLT_VERSION);
			return EXIT_DONE;
		default:
			return usage();
		}
	}
	if (optind < argc) {
		fail(EXIT_USAGE, "\"%s\" is too much: cpuboltd takes options only", argv[optind]);
		return usage();
	}
	return check_together(options);
}

/* Reads the configuration even if "--policy" names an unknown policy: "--restore" needs "deny". */
static int read_config(const struct machine *machine, const struct options *options,
		       struct config *config)
{
	char *error = NULL;
	int err = config_init(machine, config);

	if (!err)
		err = config_read(machine, options->config, config, &error);
	if (!err && options->policy) {
		config->policy = policy_find(options->policy);
		if (!config->policy) {
			fail(EXIT_USAGE, "there is no policy \"%s\"", options->policy);
			return usage();
		}
		err = config_check(machine, config, &error);
	}
	if (!err)
		return EXIT_DONE;
	fail(EXIT_USAGE, "%s", error ?: strerror(-err));
	free(error);
	return EXIT_USAGE;
}

static int run(struct machine *machine, const struct options *options)
{
	struct config config = { 0 };
	int code;

	code = read_config(machine, options, &config);
	/* CPUs that a daemon left offline are put back even if the configuration is wrong. */
	if (options->restore)
		code = run_restore(machine, config.deny);
	else if (code == EXIT_DONE)
		code = options->replay ? run_replay(machine, &config, options->replay) :
		       run_daemon(machine, &config, options->dry_run, options->samples);
	config_free(&config);
	return code;
}

int main(int argc, char **argv)
{
	static char name[] = "cpuboltd";
	struct options options = { .root = "" };
	struct machine machine;
	int code, err;

	if (argc)
		argv[0] = name;		/* messages of getopt_long() begin with the name */
	/* When no program reads the messages any more, the daemon goes on without them. */
	signal(SIGPIPE, SIG_IGN);
	/* Every user may read what the daemon writes to /run/cpubolt, and the metrics. */
	umask(022);
	code = parse_options(argc, argv, &options);
	if (code >= 0)
		return code;
	err = machine_open(options.root, &machine);
	if (err)
		return fail(err == -EACCES ? EXIT_NOT_PERMITTED : EXIT_FAILED,
			    "cannot read %s/sys/devices/system/cpu: %s", options.root,
			    strerror(-err));
	code = run(&machine, &options);
	machine_close(&machine);
	return code;
}
