// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes configurations, and the daemon's files of CPUs taken and of interrupts moved */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "fuzz.h"
#include "irq_state.h"
#include "state.h"
#include "tree.h"

const char *const fuzz_seeds[] = {
	"[policy]\nname = package\n[package]\nlevel=cluster\nup: 70\n[daemon]\nkeep=0-3\n",
	"# x\n[daemon]\ninterval_ms=500\nmetrics=/x\ndeny=3 ; y\n[limits]\nhold_ms=200\n",
	"[fixed]\ncpus=0,2\r\n[steal]\ngive=30\n",
	"[interrupts]\nenabled = yes\nbusy_per_second=7\nirqbalance: ban\n",
	"boot_id=b\ntaken=2-3\n",
	"boot_id=b\nirqbalance=7\nirq=5 found=0-3 was=1 written=2 name=a b\n",
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
	struct irq_state irqs;
	struct config config;
	int err;

	fuzz_require(set && !config_init(machine, &config), "memory");
	err = config_parse(machine, "f", text, size, &config, &error);
	fuzz_require(err == (error ? -EINVAL : 0), "a message with each error");
	fuzz_require(!error || !strncmp(error, "f:", 2), "the name of the file");
	fuzz_require(config.interval_ms >= 50 && config.settings.min_cpus &&
		     config.rules.per_minute >= 2 && config.hold_ms >= 100 &&
		     config.dwell_ms >= 100 && config.interrupts.busy &&
		     config.interrupts.dwell_s && config.interrupts.per_minute,
		     "values in their bounds");
	free(error);
	config_free(&config);
	err = state_parse(machine, text, "b", set);
	fuzz_require(err == 0 || err == -EINVAL || err == -ENOENT, "an error that is known");
	err = irq_state_parse(machine, text, "b", &irqs);
	fuzz_require(err == 0 || err == -EINVAL || err == -ENOENT, "an error that is known");
	fuzz_require(!err || (!irqs.count && !irqs.irqs), "nothing after an error");
	irq_state_free(&irqs);
	CPU_FREE(set);
	free(text);
	return 0;
}
