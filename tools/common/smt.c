// SPDX-License-Identifier: GPL-2.0-only
/* Reads the switch for simultaneous multithreading, for cpubolt and cpuboltd */
#include <stdlib.h>
#include <string.h>

#include "file_read.h"
#include "smt.h"

bool smt_is_off(const char *root)
{
	char *control = file_read(root, "/sys/devices/system/cpu/smt/control", NULL);
	bool off = control && (!strncmp(control, "off", 3) || !strncmp(control, "forceoff", 8));

	free(control);
	return off;
}
