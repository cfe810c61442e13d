/* SPDX-License-Identifier: GPL-2.0-only */
/* Recorded trees for tests in C, made by trees.py when a test needs one. */
#ifndef TREE_H
#define TREE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "private.h"

/** tree_open() - make the tree @name in a folder of its own, and open it */
struct cpubolt *tree_open(const char *name);

/**
 * tree_open_wide() - make and open a tree in which lists say that 1,780 CPUs are online
 *
 * Otherwise the tree is "small+bolt": it is made quickly, as most CPUs have no files of their own.
 */
struct cpubolt *tree_open_wide(void);

/** tree_make() - only make the tree; returns its folder's name, for tree_remove() */
char *tree_make(const char *name);

/** tree_remove() - remove a folder and all in it, and free its name */
void tree_remove(char *folder);

/** tree_close() - close and remove what tree_open() or tree_open_wide() has made */
void tree_close(struct cpubolt *handle);

/** tree_folder() - the folder of the tree that tree_open() or tree_open_wide() has made */
const char *tree_folder(void);

/** tree_text() - contents of @file below @folder, to be freed; NULL if @file cannot be read */
char *tree_text(const char *folder, const char *file);

/** tree_write() - write @text to @file below @folder */
void tree_write(const char *folder, const char *file, const char *text);

/**
 * tree_put() - write @text to a new file, and make its folders
 *
 * An existing file is replaced, even if that file cannot be written. The text is written by stdio,
 * so that a test whose own write() stands for the kernel does not see the text.
 */
void tree_put(const char *folder, const char *file, const char *text);

/** tree_delete() - remove @file below @folder */
void tree_delete(const char *folder, const char *file);

/** assert_text() - check that the file has this text */
void assert_text(const char *folder, const char *file, const char *text);

/** assert_cpus() - check that the set @which of the machine's CPUs is the cpulist @list */
void assert_cpus(struct cpubolt *handle, enum cpubolt_which which, const char *list);

#endif /* TREE_H */
