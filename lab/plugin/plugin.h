/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declarations of the emulator's functions that plugins use, as Debian does not
 * package QEMU's own header. -DAPI=N names the interface that a plugin is compiled
 * for: interface 1, for versions of QEMU before 9, cannot read registers.
 */
#ifndef LAB_PLUGIN_H
#define LAB_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
struct tb;
struct handle;

size_t qemu_plugin_tb_n_insns(const struct tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct tb *tb);
void qemu_plugin_register_vcpu_init_cb(plugin_id id, void (*cb)(plugin_id, unsigned int));
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*cb)(plugin_id, struct tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct tb *tb, void (*cb)(unsigned int, void *),
					  int flags, void *data);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*cb)(plugin_id, void *), void *data);

int qemu_plugin_version = API;

#if API >= 2
#define READS_REGISTERS 1	/* QEMU_PLUGIN_CB_R_REGS */

struct bytes {			/* GByteArray */
	uint8_t *data;
	unsigned int len;
};

struct descriptor {		/* qemu_plugin_reg_descriptor */
	struct handle *handle;
	const char *name, *feature;
};

struct descriptors {		/* GArray of struct descriptor */
	struct descriptor *data;
	unsigned int len;
};

struct descriptors *qemu_plugin_get_registers(void);
int qemu_plugin_read_register(struct handle *handle, struct bytes *buf);
struct bytes *g_byte_array_new(void);
struct bytes *g_byte_array_set_size(struct bytes *array, unsigned int length);

static uint64_t read_register(struct handle *handle)
{
	static struct bytes *scratch;
	uint64_t value = 0;

	if (!scratch)
		scratch = g_byte_array_new();
	g_byte_array_set_size(scratch, 0);
	if (handle && qemu_plugin_read_register(handle, scratch) > 0)
		memcpy(&value, scratch->data, scratch->len < 8 ? scratch->len : 8);
	return value;
}

/* Returns the register @name. If QEMU lacks it, returns NULL if @optional, else ends QEMU. */
static struct handle *find_register(const char *name, bool optional)
{
	struct descriptors *known = qemu_plugin_get_registers();

	for (unsigned int i = 0; i < known->len; i++)
		if (!strcmp(known->data[i].name, name))
			return known->data[i].handle;
	if (!optional) {
		fprintf(stderr, "this QEMU does not show the register %s\n", name);
		exit(1);
	}
	return NULL;
}
#else
#define READS_REGISTERS 0
#endif

#endif
