// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

char *fuzz_text(const uint8_t *data, size_t size)
{
	/* The buffer ends with the NUL, so that AddressSanitizer sees a read behind the text. */
	char *text = malloc(size + 1);

	fuzz_require(text != NULL, "memory");
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

void fuzz_require(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}
