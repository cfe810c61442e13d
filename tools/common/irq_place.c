// SPDX-License-Identifier: GPL-2.0-only
/* Where an interrupt may go, see irq_place.h */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file_read.h"
#include "irq_place.h"

/* The first line of /proc/irq/N/FILE, to be freed; "" if the file cannot be read. */
static char *read_line(const char *root, int irq, const char *file)
{
	char path[64], *text;

	snprintf(path, sizeof(path), "/proc/irq/%d/%s", irq, file);
	text = file_read(root, path, NULL);
	if (!text)
		return strdup("");
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/*
 * Newer kernels (6.12 is one) make smp_affinity_list writable only if user space may move the
 * interrupt.
 */
static bool is_writable(const char *root, int irq)
{
	struct stat file;
	char *path;
	bool writable;

	if (asprintf(&path, "%s/proc/irq/%d/smp_affinity_list", root, irq) < 0)
		return false;
	writable = !stat(path, &file) && file.st_mode & S_IWUSR;
	free(path);
	return writable;
}

/*
 * Older kernels make smp_affinity_list writable for every interrupt. On such a kernel a file in
 * debugfs, if there is one, tells whether the interrupt is managed.
 */
static bool is_managed(const char *root, int irq)
{
	char path[64], *text;
	bool managed;

	snprintf(path, sizeof(path), "/sys/kernel/debug/irq/irqs/%d", irq);
	text = file_read(root, path, NULL);
	managed = text && strstr(text, "IRQD_AFFINITY_MANAGED");
	free(text);
	return managed;
}

int irq_place_read(const char *root, const struct irq_row *row, struct irq_place *place)
{
	char *node;

	place->node = -1;
	if (row->number < 0) {
		place->kind = irq_kind_of(row, false);
		place->affinity = strdup("");
		place->effective = strdup("");
		return place->affinity && place->effective ? 0 : -ENOMEM;
	}
	place->kind = irq_kind_of(row, is_writable(root, row->number));
	if (place->kind == IRQ_MOVABLE && is_managed(root, row->number))
		place->kind = IRQ_MANAGED;
	place->affinity = read_line(root, row->number, "smp_affinity_list");
	place->effective = read_line(root, row->number, "effective_affinity_list");
	node = read_line(root, row->number, "node");
	if (node && *node)
		place->node = atoi(node);
	free(node);
	return place->affinity && place->effective ? 0 : -ENOMEM;
}

void irq_place_free(struct irq_place *place)
{
	free(place->affinity);
	free(place->effective);
	memset(place, 0, sizeof(*place));
}
