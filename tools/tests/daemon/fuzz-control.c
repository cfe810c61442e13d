// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes requests of "cpubolt policy" */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon.h"
#include "fuzz.h"
#include "tree.h"

const char *const fuzz_seeds[] = {
	"status", "explain 2", "switch package", "lease 1-2 60", "release 1", NULL,
};

static struct machine machine;
static struct config config;
static struct daemon daemon_here = { .machine = &machine, .config = &config, .control = -1 };

static cpu_set_t *all(void)
{
	cpu_set_t *set = machine_set(&machine);

	fuzz_require(set && !cpubolt_parse_list(machine.handle, "0-3", set, NULL), "a set");
	return set;
}

static void begin(void)
{
	char *folder = tree_make("small+bolt");

	fuzz_require(!machine_open(folder, &machine) && !config_init(&machine, &config) &&
		     !owner_begin(&daemon_here.owner, &machine, 60), "a machine");
	machine.root = "";
	tree_remove(folder);
	/* Messages that the daemon logs on requests are of no interest. */
	fuzz_require(freopen("/dev/null", "w", stderr) != NULL, "/dev/null");
	daemon_here.restraint = restraint_new(machine.count);
	daemon_here.memories = calloc(machine.count, sizeof(*daemon_here.memories));
	daemon_here.usable = all();
	daemon_here.online = all();
	daemon_here.before = all();
	daemon_here.floor = all();
	daemon_here.wanted = all();
	daemon_here.needs = all();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text, *answer;

	if (!machine.handle)
		begin();
	text = fuzz_text(data, size);
	answer = control_answer(&daemon_here, text, size % 2);
	fuzz_require(answer && (!strncmp(answer, "ok ", 3) || !strncmp(answer, "error ", 6)),
		     "an answer");
	free(answer);
	free(text);
	if (size % 7 == 0)
		lease_free(&daemon_here);
	return 0;
}
