// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gives changed copies of recorded files to functions that parse text for the subcommands
 * states, irq, trace and doctor. This program is for a build with ASan and UBSan.
 *
 *     fuzz SECONDS SEED FILE...
 *
 * Prints how many inputs were tried. With the same seed the program tries the same inputs, as many
 * as it can in SECONDS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "irq_parse.h"
#include "states_parse.h"
#include "trace_events.h"
#include "trace_slices.h"
#include "udev_rules.h"
#include "waterfall.h"

#define LONGEST	8192

static unsigned long long random_state;

/* xorshift64*: draws the same numbers on every machine */
static unsigned int draw(unsigned int below)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (random_state * 2685821657736338717ull >> 33) % below;
}

static void try_states(const char *text)
{
	const struct state_row *found;
	struct state_row *rows;
	size_t count, line;

	if (!states_parse(text, &rows, &count, &line)) {
		states_find(rows, count, "slub:dead", &found);
		states_free(rows, count);
	}
	if (!states_parse_native(text, &rows, &count))
		states_free(rows, count);
	free(stats_value(text, "slow_state"));
}

static void try_interrupts(const char *text)
{
	static struct irq_table before;
	struct irq_table after;

	if (irq_parse(text, &after))
		return;
	free(irq_rates(&before, &after, 0.5));
	for (size_t i = 0; i < after.count; i++)
		irq_kind_of(&after.rows[i], draw(2));
	irq_free(&before);
	before = after;
}

static void try_trace(const char *text, FILE *nowhere)
{
	struct waterfall_look look = { .width = draw(600), .all = draw(2) };
	struct waterfall waterfall;
	struct trace_events events;

	if (trace_parse(text, &events))
		return;
	trace_slices_print(&events, draw(100), nowhere);
	if (!waterfall_build(&events, &waterfall)) {
		waterfall_print(&waterfall, &look, nowhere);
		waterfall_free(&waterfall);
	}
	trace_free(&events);
}

static void ignore_rule(const struct udev_rule *rule, void *data)
{
	size_t *lines = data;

	*lines += rule->line;
}

static void try_all(const char *text, FILE *nowhere)
{
	size_t lines = 0;

	try_states(text);
	try_interrupts(text);
	try_trace(text, nowhere);
	udev_parse(text, ignore_rule, &lines);
}

/* Makes one change: another byte, a piece removed, a piece copied, a large number, punctuation. */
static size_t change(char *text, size_t length)
{
	size_t from = draw(length), size = draw(40) + 1, to = draw(length);

	if (size > length - from)
		size = length - from;
	switch (draw(5)) {
	case 0:
		text[from] = draw(255) + 1;
		return length;
	case 1:
		memmove(text + from, text + from + size, length - from - size);
		return length - size;
	case 2:
		if (length + size > LONGEST)
			return length;
		memmove(text + to + size, text + to, length - to);
		memmove(text + to, text + from, size);
		return length + size;
	case 3:
		if (length - from < 20)
			return length;
		memcpy(text + from, "18446744073709551615", 20);
		return length;
	}
	text[from] = "\n \t:!#(){}\"=,-|\\0"[draw(17)];
	return length;
}

/* Copies a file to @text; of a long file, the first line and a piece. */
static size_t take_piece(const char *file, char *text)
{
	size_t length = strlen(file), head = strcspn(file, "\n") + 1, from;

	if (length <= LONGEST / 2) {
		memcpy(text, file, length);
		return length;
	}
	from = head + draw(length - LONGEST / 2);
	memcpy(text, file, head);
	length = LONGEST / 2 - head;
	if (from + length > strlen(file))
		length = strlen(file) - from;
	memcpy(text + head, file + from, length);
	return head + length;
}

static char *read_file(const char *path)
{
	char *text = calloc(1, 1 << 20);
	FILE *in = fopen(path, "r");

	if (!in || !text || !fread(text, 1, (1 << 20) - 1, in)) {
		fprintf(stderr, "fuzz: cannot read %s\n", path);
		exit(2);
	}
	fclose(in);
	return text;
}

int main(int argc, char **argv)
{
	static char text[LONGEST + 1];
	FILE *nowhere = fopen("/dev/null", "w");
	unsigned long tried = 0;
	time_t end;
	char **files;

	if (argc < 4 || !nowhere) {
		fputs("usage: fuzz SECONDS SEED FILE...\n", stderr);
		return 2;
	}
	random_state = strtoull(argv[2], NULL, 10) * 2 + 1;
	files = calloc(argc, sizeof(*files));
	for (int i = 3; i < argc; i++)
		files[i - 3] = read_file(argv[i]);
	for (end = time(NULL) + atoi(argv[1]); time(NULL) < end; tried++) {
		size_t length = take_piece(files[draw(argc - 3)], text);

		for (unsigned int changes = draw(8); changes && length; changes--)
			length = change(text, length);
		text[length] = '\0';
		try_all(text, nowhere);
	}
	try_interrupts("CPU0\n");	/* frees the table of the last input */
	for (int i = 3; i < argc; i++)
		free(files[i - 3]);
	free(files);
	fclose(nowhere);
	printf("%lu inputs\n", tried);
	return 0;
}
