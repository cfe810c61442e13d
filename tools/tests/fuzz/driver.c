// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a fuzz target without libFuzzer: "PROGRAM SECONDS SEED" makes random inputs from the
 * target's fuzz_seeds[], and tries these inputs, for so many seconds; the random numbers follow
 * from the number SEED. "PROGRAM FILE" tries the one input in FILE. A random input at which the
 * program aborts, or at which AddressSanitizer ends the program, is written to the file fuzz-input.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define LONGEST 8192

static uint8_t input[LONGEST];
static size_t length;
static uint64_t state;

static uint64_t chance(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below ? state % below : 0;
}

static void keep_input(void)
{
	int fd = open("fuzz-input", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, input, length) < 0)
		return;
	close(fd);
}

static void on_abort(int number)
{
	keep_input();
}

#ifdef __SANITIZE_ADDRESS__
void __sanitizer_set_death_callback(void (*callback)(void));
#endif

/* -- Mutations ------------------------------------------------------------------ */

static void insert(size_t at, const void *text, size_t size)
{
	if (size > LONGEST - length)
		return;
	memmove(input + at + size, input + at, length - at);
	memcpy(input + at, text, size);
	length += size;
}

static void delete(size_t at, size_t size)
{
	size = size < length - at ? size : length - at;
	memmove(input + at, input + at + size, length - at - size);
	length -= size;
}

static void duplicate(size_t at)
{
	uint8_t piece[64];
	size_t size = chance(sizeof(piece));

	size = size < length - at ? size : length - at;
	memcpy(piece, input + at, size);
	insert(chance(length + 1), piece, size);
}

static void mutate(void)
{
	static const char *const words[] = {
		"0", "-1", "N", "all", ",", "-", ":", "/", "\n", " ", "=", "...", "(null)", "0x",
		"2147483647", "2147483648", "4294967295", "4294967296", "18446744073709551616",
		"1:1/2", "undo=", "ffffffff",
	};
	const char *word = words[chance(sizeof(words) / sizeof(words[0]))];
	size_t at = chance(length + 1);
	uint8_t byte = (uint8_t)chance(256);

	switch (chance(6)) {
	case 0:
		if (at < length)
			input[at] ^= (uint8_t)(1 << chance(8));
		break;
	case 1:
		if (at < length)
			input[at] = byte;
		break;
	case 2:
		insert(at, &byte, 1);
		break;
	case 3:
		delete(at, chance(16));
		break;
	case 4:
		duplicate(at);
		break;
	default:
		insert(at, word, strlen(word));
	}
}

static void make_input(size_t seeds)
{
	const char *seed = fuzz_seeds[chance(seeds)];
	uint64_t changes = chance(12);

	length = strlen(seed);
	memcpy(input, seed, length);
	while (changes--)
		mutate();
}

/* ------------------------------------------------------------------------------- */

static int try_file(const char *name)
{
	FILE *file = fopen(name, "re");

	if (!file) {
		perror(name);
		return 1;
	}
	length = fread(input, 1, sizeof(input), file);
	fclose(file);
	return LLVMFuzzerTestOneInput(input, length);
}

int main(int count, char **words)
{
	unsigned long runs = 0;
	size_t seeds = 0;
	time_t end;

	if (count == 2)
		return try_file(words[1]);
	if (count != 3) {
		fprintf(stderr, "usage: %s SECONDS SEED | FILE\n", words[0]);
		return 2;
	}
	while (fuzz_seeds[seeds])
		seeds++;
	signal(SIGABRT, on_abort);
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_set_death_callback(keep_input);
#endif
	/* chance() would never change a state of 0, so the state is made odd. */
	state = strtoull(words[2], NULL, 0) * 2 + 1;
	end = time(NULL) + atol(words[1]);
	do {
		make_input(seeds);
		LLVMFuzzerTestOneInput(input, length);
		runs++;
	} while (time(NULL) < end);
	printf("%lu inputs\n", runs);
	return 0;
}
