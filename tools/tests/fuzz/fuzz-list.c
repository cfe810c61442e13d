// SPDX-License-Identifier: GPL-2.0-only
/* cpulists. The first byte says how many CPU numbers the machine has, times 32. */
#include <stdlib.h>

#include "fuzz.h"
#include "private.h"

const char *const fuzz_seeds[] = {
	"\x01" "0-3,8", "\x01" "0-31:1/2", "\x02" "all", "\x3f" "N", "\xff" "1-3,5-N:2/3,8000\n",
	NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int numbers = size && data[0] ? data[0] * 32U : 1;
	struct set set = { CPU_ALLOC(numbers), CPU_ALLOC_SIZE(numbers), numbers };
	struct set again = { CPU_ALLOC(numbers), set.size, numbers };
	char *text = fuzz_text(data + !!size, size - !!size), *list;
	size_t at = 0;
	int err = set_parse_list(&set, NULL, text, &at);

	fuzz_require(at <= size, "an error is within the text");
	fuzz_require(!err || !CPU_COUNT_S(set.size, set.cpus), "an error leaves no CPU");
	list = set_format_list(&set);
	fuzz_require(!set_parse_list(&again, NULL, list, NULL), "what is written can be read");
	fuzz_require(CPU_EQUAL_S(set.size, set.cpus, again.cpus), "and is the same");
	free(list);
	free(text);
	CPU_FREE(set.cpus);
	CPU_FREE(again.cpus);
	return 0;
}
