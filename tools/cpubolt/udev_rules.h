/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules of udev that bring CPUs online or take CPUs offline. */
#ifndef UDEV_RULES_H
#define UDEV_RULES_H

#include <stdbool.h>
#include <stddef.h>

/** A rule that writes cpuN/online */
struct udev_rule {
	size_t line;		/* where the rule begins, from 1 */
	bool online;		/* the rule writes 1 */
	bool add_only;		/* applies only at boot and when a CPU is plugged in */
};

/**
 * udev_parse() - find the rules of one file
 * @text: contents of a file *.rules, see udev(7)
 * @found: is called for each rule that writes cpuN/online
 *
 * A rule is for CPUs if it says SUBSYSTEM=="cpu", or if it names no other SUBSYSTEM and
 * stands between SUBSYSTEM!="cpu" with a GOTO and the label of this GOTO. A rule applies
 * to events "add" only, as at boot and when a CPU is plugged in, if it says ACTION=="add",
 * or stands between a GOTO whose only condition is ACTION!="add" and the label of this GOTO.
 * Other jumps are not followed. Programs that a rule runs are not looked into.
 */
void udev_parse(const char *text, void (*found)(const struct udev_rule *rule, void *data),
		void *data);

#endif /* UDEV_RULES_H */
