// SPDX-License-Identifier: GPL-2.0-only
/* Reads /proc/interrupts. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "irq_parse.h"

/*
 * Reads the number at @text, of which no digit is at @end or behind. Returns the end of the number;
 * NULL if @text begins with no digit, or the number exceeds 32 bits.
 */
static const char *read_count(const char *text, const char *end, unsigned int *value)
{
	unsigned long long number = 0;
	const char *digit;

	for (digit = text; digit < end && isdigit((unsigned char)*digit); digit++) {
		number = 10 * number + (*digit - '0');
		if (number > UINT_MAX)
			return NULL;
	}
	*value = number;
	return digit > text ? digit : NULL;
}

static const char *skip_blanks(const char *text, const char *end)
{
	while (text < end && (*text == ' ' || *text == '\t'))
		text++;
	return text;
}

/* Reads the first line: "           CPU0       CPU1       " */
static int read_cpus(const char *line, const char *end, struct irq_table *table)
{
	for (line = skip_blanks(line, end); line < end; line = skip_blanks(line, end)) {
		unsigned int *more, cpu;

		if (end - line < 4 || strncmp(line, "CPU", 3))
			return -EINVAL;
		line = read_count(line + 3, end, &cpu);
		if (!line || cpu > INT_MAX || (line < end && *line != ' '))
			return -EINVAL;
		more = reallocarray(table->cpus, table->cpu_count + 1, sizeof(*more));
		if (!more)
			return -ENOMEM;
		table->cpus = more;
		table->cpus[table->cpu_count++] = cpu;
	}
	return table->cpu_count ? 0 : -EINVAL;
}

/*
 * Tells whether a word says how an interrupt is triggered. Like the name of a device, such a word
 * may follow several blanks: if the interrupt has no number at the chip, as "-event" with Xen, or
 * after "Edge", which some architectures print, padded to eight letters. The name of a device may
 * end in the same letters, as "virtio0-event".
 */
static bool is_trigger(const char *word, size_t length)
{
	static const char *const words[] = { "edge", "level", "fasteoi", "event", "virq", "ipi" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (length == strlen(words[i]) + 1 && *word == '-' &&
		    !strncmp(word + 1, words[i], length - 1))
			return true;
	return false;
}

/* Reads what follows the counts of an interrupt: chip, number at the chip, trigger, device. */
static int read_device(struct irq_row *row, const char *text, const char *end)
{
	const char *name = NULL, *word, *gap;
	size_t length;

	for (; end > text && end[-1] == ' '; end--)
		;
	for (length = 0; text + length < end && text[length] != ' '; length++)
		;
	row->chip = strndup(text, length);
	word = skip_blanks(text + length, end);
	for (length = 0; word + length < end && word[length] != ' '; length++)
		;
	row->hwirq = strndup(word, length);
	/* The names of devices follow after two blanks, and may contain single blanks. */
	for (gap = word; gap + 1 < end; gap++)
		if (gap[0] == ' ' && gap[1] == ' ')
			name = gap + 2;
	if (!name || is_trigger(name, end - name))
		name = end;
	row->name = strndup(name, end - name);
	return row->chip && row->hwirq && row->name ? 0 : -ENOMEM;
}

static int read_meaning(struct irq_row *row, const char *text, const char *end)
{
	text = skip_blanks(text, end);
	if (row->number >= 0)
		return read_device(row, text, end);
	for (; end > text && end[-1] == ' '; end--)
		;
	row->chip = strdup("");
	row->hwirq = strdup("");
	row->name = strndup(text, end - text);
	return row->chip && row->hwirq && row->name ? 0 : -ENOMEM;
}

static void clear_row(struct irq_row *row)
{
	free(row->irq);
	free(row->chip);
	free(row->hwirq);
	free(row->name);
	free(row->counts);
}

/* Reads one line. Return: 1 with a row, 0 for a line that is left out, or a negative errno. */
static int read_row(const struct irq_table *table, struct irq_row *row, const char *line,
		    const char *end)
{
	const char *colon, *text;
	unsigned int number;

	line = skip_blanks(line, end);
	colon = memchr(line, ':', end - line);
	if (!colon || colon == line)
		return -EINVAL;
	row->irq = strndup(line, colon - line);
	row->counts = calloc(table->cpu_count, sizeof(*row->counts));
	if (!row->irq || !row->counts)
		return -ENOMEM;
	text = read_count(line, colon, &number);
	row->number = text == colon && number <= INT_MAX ? (int)number : -1;
	text = colon + 1;
	for (size_t i = 0; i < table->cpu_count; i++) {
		text = read_count(skip_blanks(text, end), end, &row->counts[i]);
		if (!text)
			return i && row->number >= 0 ? -EINVAL : 0;
		if (text < end && *text != ' ')
			return -EINVAL;
	}
	if (read_meaning(row, text, end))
		return -ENOMEM;
	/* With one CPU, "ERR" and "MIS" have a count for each CPU, but no description. */
	return row->number >= 0 || *row->name;
}

static int add_row(struct irq_table *table, const char *line, const char *end)
{
	struct irq_row row = { .number = -1 }, *more;
	int found = read_row(table, &row, line, end);

	if (found <= 0) {
		clear_row(&row);
		return found;
	}
	more = reallocarray(table->rows, table->count + 1, sizeof(*more));
	if (!more) {
		clear_row(&row);
		return -ENOMEM;
	}
	table->rows = more;
	table->rows[table->count++] = row;
	return 0;
}

int irq_parse(const char *text, struct irq_table *table)
{
	int error = -EINVAL;

	memset(table, 0, sizeof(*table));
	while (*text) {
		size_t length = strcspn(text, "\n");
		const char *end = text + length;

		if (!table->cpu_count)
			error = read_cpus(text, end, table);
		else if (skip_blanks(text, end) < end)
			error = add_row(table, text, end);
		if (error)
			break;
		text = *end ? end + 1 : end;
	}
	if (error)
		irq_free(table);
	return error;
}

void irq_free(struct irq_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		clear_row(&table->rows[i]);
	free(table->rows);
	free(table->cpus);
	memset(table, 0, sizeof(*table));
}

/*
 * Finds the interrupt of @row, with the same device, in another reading. The search begins at
 * @place, the index of @row in its own reading, because the index is usually the same.
 */
static const struct irq_row *same_row(const struct irq_table *table, const struct irq_row *row,
				      size_t place)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct irq_row *other = &table->rows[(place + i) % table->count];

		if (!strcmp(other->irq, row->irq) && !strcmp(other->name, row->name))
			return other;
	}
	return NULL;
}

/*
 * Tells whether @table has @cpu. The caller asks for CPUs in ascending order, and table->cpus is
 * ascending, so the search begins at index *@from, where the search before has ended.
 */
static bool same_cpu(const struct irq_table *table, unsigned int cpu, size_t *from)
{
	while (*from < table->cpu_count && table->cpus[*from] < cpu)
		(*from)++;
	return *from < table->cpu_count && table->cpus[*from] == cpu;
}

double *irq_rates(const struct irq_table *before, const struct irq_table *after, double seconds)
{
	double *rates = calloc(after->count * after->cpu_count + 1, sizeof(*rates));

	if (!rates)
		return NULL;
	for (size_t i = 0; i < after->count; i++) {
		const struct irq_row *old = before ? same_row(before, &after->rows[i], i) : NULL;
		size_t place = 0;

		for (size_t j = 0; j < after->cpu_count; j++) {
			unsigned int count = after->rows[i].counts[j];

			if (before && !same_cpu(before, after->cpus[j], &place))
				count = 0;
			else if (old)
				count -= old->counts[place];
			rates[i * after->cpu_count + j] = count / seconds;
		}
	}
	return rates;
}

/* Each CPU has interrupts 16 to 31 of a GIC, the "private peripheral interrupts", of its own. */
static bool is_private(const struct irq_row *row)
{
	int hwirq = atoi(row->hwirq);

	if (!strncmp(row->chip, "GIC", 3))
		return hwirq >= 16 && hwirq < 32;
	/* "RISC-V INTC" is one name of two words, of which row->chip has the first. */
	return !strcmp(row->chip, "xen-percpu") || !strcmp(row->chip, "RISC-V");
}

enum irq_kind irq_kind_of(const struct irq_row *row, bool writable)
{
	if (row->number < 0 || is_private(row))
		return IRQ_PER_CPU;
	if (writable)
		return IRQ_MOVABLE;
	/* Managed interrupts are message-signalled, apart from those of a few platform devices. */
	return strstr(row->chip, "MSI") ? IRQ_MANAGED : IRQ_FIXED;
}

const char *irq_kind_name(enum irq_kind kind)
{
	static const char *const names[IRQ_KIND_COUNT] = {
		[IRQ_MOVABLE]	= "movable",
		[IRQ_MANAGED]	= "managed",
		[IRQ_PER_CPU]	= "per-CPU",
		[IRQ_FIXED]	= "fixed",
	};

	return kind < IRQ_KIND_COUNT ? names[kind] : "unknown";
}
