/* SPDX-License-Identifier: GPL-2.0-only */
/* init's commands swapon, which makes swap space for hibernation, and kexec. */
#ifndef BOLT_POWER_H
#define BOLT_POWER_H

int do_swapon(char **args);
int do_kexec(char **args);

#endif
