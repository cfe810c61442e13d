/* SPDX-License-Identifier: GPL-2.0-only */
/* init's commands that have to do with power: swap space for hibernation, kexec. */
#ifndef BOLT_POWER_H
#define BOLT_POWER_H

int do_swapon(char **args);
int do_kexec(char **args);

#endif
