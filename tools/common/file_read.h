/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads a small file below a root directory, for cpubolt and cpuboltd */
#ifndef FILE_READ_H
#define FILE_READ_H

#include <stddef.h>

/**
 * file_read() - contents of a file
 * @root: directory that stands for "/"; "" is the running system
 * @path: begins with "/", or @root is ""
 * @length: where the length is stored, as the text may contain NULs; or NULL
 *
 * Return: the text, to be freed with free(), or NULL with errno set.
 */
char *file_read(const char *root, const char *path, size_t *length);

#endif /* FILE_READ_H */
