/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of CPUs as the kernel writes and reads them, such as "0-2,5". */
#ifndef SELFTESTS_BOLT_LIB_CPULIST_H
#define SELFTESTS_BOLT_LIB_CPULIST_H

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

/*
 * Takes the first range off the list that *@list points to. Returns 1; 0 if the list has no
 * range left; or -EINVAL, and then *@list points to text with which no list can go on.
 */
static inline int cpulist_next(const char **list, long *first, long *last)
{
	char *end;

	if (!**list)
		return 0;
	if (!isdigit((unsigned char)**list))
		return -EINVAL;
	*first = strtol(*list, &end, 10);
	*last = *first;
	*list = end;
	if (*end == '-') {
		if (!isdigit((unsigned char)end[1]))
			return -EINVAL;
		*last = strtol(end + 1, &end, 10);
		*list = end;
	}
	if (*end == ',')
		++*list;
	else if (*end)
		return -EINVAL;
	return 1;
}

#endif /* SELFTESTS_BOLT_LIB_CPULIST_H */
