/* SPDX-License-Identifier: GPL-2.0-only */
/* What the fuzz targets for cpulists and for masks have in common */
#ifndef FUZZ_ROUND_H
#define FUZZ_ROUND_H

#include <stddef.h>
#include <stdint.h>

#include "private.h"

typedef int parse_set(const struct set *set, const cpu_set_t *possible, const char *text,
		      size_t *error_at);
typedef char *format_set(const struct set *set);

/**
 * fuzz_round() - read a set, write the set as text, and check that this text is read as that set
 * @data: the first byte, times 32, is how many CPU numbers the machine has; a byte of 0 means one
 *	  CPU number. The text of a set follows.
 */
void fuzz_round(const uint8_t *data, size_t size, parse_set *parse, format_set *format);

#endif /* FUZZ_ROUND_H */
