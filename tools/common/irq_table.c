// SPDX-License-Identifier: GPL-2.0-only
/* Reads /proc/interrupts while CPUs may come and go, see irq_table.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file_read.h"
#include "irq_table.h"

#define ONLINE_FILE	"/sys/devices/system/cpu/online"
#define MOST_TRIES	5

/*
 * Returns as irq_table_read(). -EAGAIN replaces -EINVAL: if CPUs come or go while the text is read,
 * its rows differ in length, which may be why the text could not be understood. If the text could
 * be understood, but the function returns an error, @torn gets the table.
 */
static int read_once(const char *root, struct irq_table *table, struct irq_table *torn)
{
	char *before = file_read(root, ONLINE_FILE, NULL), *after;
	char *text = before ? file_read(root, "/proc/interrupts", NULL) : NULL;
	int err = text ? irq_parse(text, table) : -errno;
	bool understood = !err;

	if (text && (understood || err == -EINVAL)) {
		after = file_read(root, ONLINE_FILE, NULL);
		if (!after)
			err = -errno;
		else if (strcmp(before, after))
			err = -EAGAIN;
		free(after);
	}
	if (understood && err) {
		irq_free(torn);
		*torn = *table;
	}
	free(before);
	free(text);
	return err;
}

int irq_table_read(const char *root, struct irq_table *table, bool devices)
{
	struct irq_table torn = { 0 };
	int tries = 0, err;

	do {
		err = read_once(root, table, &torn);
	} while ((err == -EAGAIN || err == -EINVAL) && ++tries < MOST_TRIES);
	if (devices && (err == -EAGAIN || err == -EINVAL) && torn.cpu_count) {
		*table = torn;
		return 0;
	}
	irq_free(&torn);
	return err;
}
