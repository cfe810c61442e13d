/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a fuzz target has: the function that libFuzzer calls, and texts to begin with. meson.build
 * links each target with driver.c; clang could link the target with -fsanitize=fuzzer instead.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

/** LLVMFuzzerTestOneInput() - try one input; returns 0 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** fuzz_seeds - inputs, mostly good, from which other inputs are made; ends with NULL */
extern const char *const fuzz_seeds[];

/** fuzz_text() - @data as a text that ends with a NUL; to be freed */
char *fuzz_text(const uint8_t *data, size_t size);

/** fuzz_require() - abort if @holds is false, saying @what */
void fuzz_require(int holds, const char *what);

#endif /* FUZZ_H */
