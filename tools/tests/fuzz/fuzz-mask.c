// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes the reader of masks. */
#include "fuzz.h"
#include "round.h"

const char *const fuzz_seeds[] = {
	"\x01" "f", "\x02" "ff,00000001", "\x3f" "0xdeadbeef,00000000\n", "\xff" "1,,1",
	NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_round(data, size, set_parse_mask, set_format_mask);
	return 0;
}
