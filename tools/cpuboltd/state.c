// SPDX-License-Identifier: GPL-2.0-only
/* The CPUs that the daemon has taken, see state.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bring.h"
#include "files.h"
#include "smt.h"
#include "state.h"

#define FOLDER	"/run/cpubolt"
#define FILE_NAME FOLDER "/cpuboltd"

char *state_boot(const struct machine *machine)
{
	char *boot = file_read(machine->root, "/proc/sys/kernel/random/boot_id", NULL);

	if (boot)
		boot[strcspn(boot, "\n")] = '\0';
	return boot;
}

int state_folder(const struct machine *machine)
{
	char *full;
	int err = 0;

	if (asprintf(&full, "%s" FOLDER, machine->root) < 0)
		return -ENOMEM;
	if (mkdir(full, 0755) && errno != EEXIST)
		err = -errno;
	free(full);
	return err;
}

int state_save(const struct machine *machine, const cpu_set_t *taken)
{
	char *boot = state_boot(machine), *list = cpubolt_format_list(machine->handle, taken);
	char *text = NULL;
	int err = state_folder(machine);

	if (!err && (!boot || !list))
		err = -ENOMEM;
	if (!err && asprintf(&text, "boot_id=%s\ntaken=%s\n", boot, list) < 0) {
		text = NULL;
		err = -ENOMEM;
	}
	if (!err)
		err = file_replace(machine->root, FILE_NAME, text);
	free(text);
	free(boot);
	free(list);
	return err;
}

int state_parse(const struct machine *machine, const char *text, const char *boot,
		cpu_set_t *taken)
{
	char *copy = strdup(text), *here = copy, *line, *list;
	int err = -EINVAL;

	CPU_ZERO_S(machine->size, taken);
	if (!copy)
		return -ENOMEM;
	line = strsep(&here, "\n");
	if (!strncmp(line, "boot_id=", 8) && strcmp(line + 8, boot)) {
		err = -ENOENT;
	} else if (!strncmp(line, "boot_id=", 8) && here && !strncmp(here, "taken=", 6)) {
		list = here + 6;
		here = strchr(list, '\n');
		if (here) {
			*here = '\0';
			err = !*list ? 0 :
			      cpubolt_parse_list(machine->handle, list, taken, NULL) ? -EINVAL : 0;
		}
	}
	free(copy);
	return err;
}

int state_load(const struct machine *machine, cpu_set_t *taken)
{
	char *text = file_read(machine->root, FILE_NAME, NULL), *boot;
	int err;

	CPU_ZERO_S(machine->size, taken);
	if (!text)
		return -errno;
	boot = state_boot(machine);
	err = boot ? state_parse(machine, text, boot, taken) : -errno;
	free(boot);
	free(text);
	return err;
}

int state_remove(const struct machine *machine)
{
	return file_remove(machine->root, FILE_NAME);
}

/* -- Back to what was found ------------------------------------------------------ */

/* Leaves out CPUs that cannot come, because they were unplugged, or that are online already. */
static int find_missing(struct machine *machine, cpu_set_t *cpus)
{
	unsigned int cpu;
	int err = cpubolt_refresh(machine->handle), state;

	for (cpu = 0; cpu < machine->count; cpu++) {
		state = cpubolt_state(machine->handle, cpu);
		if (state < 0 || state == CPUBOLT_STATE_ABSENT || state == CPUBOLT_STATE_ONLINE)
			CPU_CLR_S(cpu, machine->size, cpus);
	}
	return err;
}

/* Renames a file that cannot be understood: the next daemon will write a new one. */
static void put_aside(const struct machine *machine)
{
	char *from, *to;

	if (asprintf(&from, "%s" FILE_NAME, machine->root) < 0)
		return;
	if (asprintf(&to, "%s" STATE_BAD_FILE, machine->root) >= 0) {
		rename(from, to);
		free(to);
	}
	free(from);
}

/* Removes the CPUs of @other from @set. */
static void remove_from(const struct machine *machine, cpu_set_t *set, const cpu_set_t *other)
{
	unsigned int cpu;

	for (cpu = 0; cpu < machine->count; cpu++)
		if (CPU_ISSET_S(cpu, machine->size, other))
			CPU_CLR_S(cpu, machine->size, set);
}

int state_restore(struct machine *machine, const cpu_set_t *deny, cpu_set_t *back,
		  struct cpubolt_result *result)
{
	cpu_set_t *left = machine_set(machine);
	int err = left ? state_load(machine, back) : -ENOMEM;

	*result = (struct cpubolt_result){ .cpu = -1 };
	if (err == -ENOENT) {
		CPU_ZERO_S(machine->size, back);
		CPU_FREE(left);
		return 0;
	}
	if (err == -EINVAL)
		put_aside(machine);
	if (!err && deny)
		remove_from(machine, back, deny);
	if (!err) {
		err = find_missing(machine, back);
		/* -EINVAL is for a file that cannot be understood. */
		if (err) {
			CPU_ZERO_S(machine->size, back);
			err = err == -EINVAL ? -EIO : err;
		}
	}
	if (!err && CPU_COUNT_S(machine->size, back)) {
		err = bring_cpus(machine->handle, back, 0, left, result);
		CPU_XOR_S(machine->size, back, back, left);
		if (err == -EPERM && smt_is_off(machine->root))
			err = 0;
		if (err && CPU_COUNT_S(machine->size, left))
			state_save(machine, left);
	}
	CPU_FREE(left);
	return err ?: state_remove(machine);
}
