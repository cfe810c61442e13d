// SPDX-License-Identifier: GPL-2.0-only
/* Checks that a set of CPUs that was read, and written as text, is read again as the same set. */
#include <stdlib.h>

#include "fuzz.h"
#include "round.h"

void fuzz_round(const uint8_t *data, size_t size, parse_set *parse, format_set *format)
{
	unsigned int numbers = size && data[0] ? data[0] * 32U : 1;
	struct set set = { CPU_ALLOC(numbers), CPU_ALLOC_SIZE(numbers), numbers };
	struct set again = { CPU_ALLOC(numbers), set.size, numbers };
	char *text = fuzz_text(data + !!size, size - !!size), *written;
	size_t at = 0;
	int err = parse(&set, NULL, text, &at);

	fuzz_require(at <= size, "an error is within the text");
	fuzz_require(!err || !CPU_COUNT_S(set.size, set.cpus), "an error leaves no CPU");
	written = format(&set);
	fuzz_require(!parse(&again, NULL, written, NULL), "what is written can be read");
	fuzz_require(CPU_EQUAL_S(set.size, set.cpus, again.cpus), "the set read again is the same");
	free(written);
	free(text);
	CPU_FREE(set.cpus);
	CPU_FREE(again.cpus);
}
