// SPDX-License-Identifier: GPL-2.0-only
/* Configurations, and the file of CPUs that were taken */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "fuzz.h"
#include "state.h"
#include "tree.h"

const char *const fuzz_seeds[] = {
	"[policy]\nname = package\n[package]\nlevel=cluster\nup: 70\n[daemon]\nkeep=0-3\n",
	"# x\n[daemon]\ninterval_ms=500\nmetrics=/x\ndeny=3 ; y\n[limits]\nhold_ms=200\n",
	"[fixed]\ncpus=0,2\r\n[steal]\ngive=30\n",
	"boot_id=b\ntaken=2-3\n",
	NULL,
};

static struct machine *the_machine(void)
{
	static struct machine machine;
	char *folder;

	if (machine.handle)
		return &machine;
	folder = tree_make("small+bolt");
	fuzz_require(!machine_open(folder, &machine), "a machine");
	machine.root = "";
	tree_remove(folder);
	return &machine;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct machine *machine = the_machine();
	cpu_set_t *set = machine_set(machine);
	char *text = fuzz_text(data, size), *error;
	struct config config;
	int err;

	fuzz_require(set && !config_init(machine, &config), "memory");
	err = config_parse(machine, "f", text, size, &config, &error);
	fuzz_require(err == (error ? -EINVAL : 0), "a message with each error");
	fuzz_require(!error || !strncmp(error, "f:", 2), "the name of the file");
	fuzz_require(config.interval_ms >= 50 && config.min_cpus && config.rules.per_minute >= 2 &&
		     config.hold_ms >= 100 && config.dwell_ms >= 100, "values in their bounds");
	free(error);
	config_free(&config);
	err = state_parse(machine, text, "b", set);
	fuzz_require(err == 0 || err == -EINVAL || err == -ENOENT, "an error that is known");
	CPU_FREE(set);
	free(text);
	return 0;
}
