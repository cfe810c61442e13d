/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading what user space writes. */
#ifndef _KERNEL_BOLT_PARSE_H
#define _KERNEL_BOLT_PARSE_H

#include <linux/types.h>

/* What the administrator may say of a hotplug state, in bolt/states. */
enum bolt_say {
	BOLT_SAY_DEFAULT,
	BOLT_SAY_CRITICAL,
	BOLT_SAY_SERIAL,
	BOLT_SAY_UNFIT,
};

int bolt_parse_list(const char *buf, size_t count, unsigned long *bits,
		    unsigned int nbits);
int bolt_parse_mask(const void *buf, size_t count, unsigned long *bits,
		    unsigned int nbits);
bool bolt_parse_word(const char *buf, size_t count, const char *word);
int bolt_parse_number(const char *buf, size_t count, unsigned int *number);
int bolt_parse_override(char *buf, size_t count, unsigned int *state,
			enum bolt_say *say);

#endif /* _KERNEL_BOLT_PARSE_H */
