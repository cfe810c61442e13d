// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes the reader of cpulists. */
#include "fuzz.h"
#include "round.h"

const char *const fuzz_seeds[] = {
	"\x01" "0-3,8", "\x01" "0-31:1/2", "\x02" "all", "\x3f" "N", "\xff" "1-3,5-N:2/3,8000\n",
	NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_round(data, size, set_parse_list, set_format_list);
	return 0;
}
