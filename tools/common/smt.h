/* SPDX-License-Identifier: GPL-2.0-only */
/* The switch for simultaneous multithreading. */
#ifndef SMT_H
#define SMT_H

#include <stdbool.h>

/**
 * smt_is_off() - whether the kernel refuses second threads of cores, with EPERM
 * @root: directory that stands for "/"; "" is the running system
 *
 * Return: true; false also if the machine has no such switch, or if memory is short.
 */
bool smt_is_off(const char *root);

#endif /* SMT_H */
