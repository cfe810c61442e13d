/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /run/cpubolt/cpuboltd has the CPUs that the daemon has taken, or is about to take, and the
 * kernel's ID of the boot.
 *
 * The file is written before each request that takes CPUs offline, so that whatever happens to the
 * daemon, no CPU is forgotten: "cpuboltd --restore" brings these CPUs back.
 */
#ifndef STATE_H
#define STATE_H

#include "machine.h"

#define STATE_BAD_FILE	"/run/cpubolt/cpuboltd.bad"

/** state_boot() - the kernel's ID of this boot, to be freed; NULL with errno set */
char *state_boot(const struct machine *machine);

/** state_folder() - make /run/cpubolt; 0, also if the folder is there, or a negative errno */
int state_folder(const struct machine *machine);

/** state_save() - write that the daemon has taken the CPUs @taken; 0 or a negative errno */
int state_save(const struct machine *machine, const cpu_set_t *taken);

/**
 * state_load() - read the CPUs that a daemon of this boot had taken
 *
 * Errors: -ENOENT there is no file, or the file is of another boot; -EINVAL the file cannot be
 * understood; -ENOMEM; another negative errno if the file or the ID of the boot cannot be read.
 */
int state_load(const struct machine *machine, cpu_set_t *taken);

/** state_parse() - as state_load(), from @text in place of the file, for the boot @boot */
int state_parse(const struct machine *machine, const char *text, const char *boot,
		cpu_set_t *taken);

/** state_remove() - remove the file, as no CPU is taken any more; 0 or a negative errno */
int state_remove(const struct machine *machine);

/**
 * state_restore() - bring back all CPUs in the file, and remove the file
 * @deny: CPUs that stay as they are, or NULL
 * @back: overwritten with CPUs that have come back
 * @result: as that of bring_cpus()
 *
 * If a CPU does not come, bring_cpus() still tries all other CPUs, and the file keeps the CPUs that
 * did not come. CPUs of @deny are forgotten, and so are CPUs that do not come because SMT was
 * switched off. A file that cannot be understood is renamed to STATE_BAD_FILE. Return: 0, also if
 * there is nothing to do, or a negative errno: -EINVAL with @result->error 0 for a file that cannot
 * be understood, otherwise the error of reading the file or the CPUs, or that of bring_cpus().
 */
int state_restore(struct machine *machine, const cpu_set_t *deny, cpu_set_t *back,
		  struct cpubolt_result *result);

#endif /* STATE_H */
