/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads and writes small files below a root directory */
#ifndef FILES_H
#define FILES_H

#include "../common/file_read.h"

/**
 * file_replace() - make a file have @text, as a whole or not at all
 *
 * The text is written under another name in the same folder first. Return: 0, or a negative errno.
 */
int file_replace(const char *root, const char *path, const char *text);

/** file_write() - write @text into a file that exists, in place; 0 or a negative errno */
int file_write(const char *root, const char *path, const char *text);

/** file_remove() - remove a file; 0, also if there is no such file, or a negative errno */
int file_remove(const char *root, const char *path);

#endif /* FILES_H */
