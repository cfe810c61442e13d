/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of sysfs that are changed for a while, and put back. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stddef.h>

/** One file that was changed */
struct setting {
	char *path;
	char *before;		/* its contents before the first change */
};

/** All files that were changed; begin with { 0 } */
struct settings {
	struct setting *list;
	size_t count;
};

/**
 * settings_change() - write @value to the file @path, and remember what was there at first
 *
 * A file that has @value already is not written.
 *
 * Return: 0, or a negative errno, after which the file is as it was.
 */
int settings_change(struct settings *settings, const char *path, const char *value);

/**
 * settings_put_back() - write the remembered values back, in reverse order, and forget them
 * @failed: is called for each file that could not be written; may be NULL
 *
 * Return: number of such files.
 */
size_t settings_put_back(struct settings *settings,
			 void (*failed)(const char *path, const char *before, int error));

#endif /* SETTINGS_H */
