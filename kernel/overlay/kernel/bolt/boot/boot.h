/* SPDX-License-Identifier: GPL-2.0-only */
/* What Bolt does while the machine boots. */
#ifndef _KERNEL_BOLT_BOOT_BOOT_H
#define _KERNEL_BOLT_BOOT_BOOT_H

#include <linux/types.h>

bool bolt_enable_after_boot(void);

/* Boot in a tree, in which CPUs that are online bring up other CPUs. */
int bolt_tree_begin(void);
void bolt_tree_end(void);

#endif /* _KERNEL_BOLT_BOOT_BOOT_H */
