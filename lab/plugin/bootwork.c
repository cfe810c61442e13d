// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plugin of QEMU's emulator: counts, block by block, the instructions from when
 * a CPU reaches the address FROM until the address TO is reached. With cpus=boot
 * only instructions of the CPU that has reached FROM count, and only that CPU ends
 * the count; with cpus=all instructions of all CPUs count, and any CPU ends the count.
 *
 * As the emulator runs CPUs in turn, the number that the plugin gets may be that of another
 * CPU. So the plugin tells CPUs apart by the register that holds the base of their per-CPU
 * data, as bystanders.c explains; with a QEMU before 9 by their numbers.
 */
#include "plugin.h"

#define BUCKETS (1 << 18)

#ifdef ARM64
#define BASE_NAME "TPIDR_EL1"
#else
#define BASE_NAME "gs_base"
#endif

/* A block of code; the emulator may translate the same block several times. */
struct block {
	struct block *next;
	uint64_t at;
	uint32_t length;
	uint64_t instructions;
};

static struct block *blocks[BUCKETS];
static uint64_t from, to, base;
static bool counting, all_cpus;
static const char *out = "bootwork.jsonl";

#if API >= 2
static struct handle *base_register;

static uint64_t whose(unsigned int index)
{
	(void)index;
	return read_register(base_register);
}

static void learn_registers(plugin_id id, unsigned int cpu)
{
	(void)id;
	if (!cpu && !base_register)
		base_register = find_register(BASE_NAME, false);
}
#else
static uint64_t whose(unsigned int index)
{
	return index;
}
#endif

static bool counts(unsigned int index)
{
	return counting && (all_cpus || whose(index) == base);
}

static void run(unsigned int index, void *data)
{
	struct block *block = data;

	if (counts(index))
		block->instructions += block->length;
}

static void edge(unsigned int index, void *data)
{
	struct block *block = data;

	if (block->at == from && !counting) {
		base = whose(index);
		counting = true;
	} else if (block->at == to && counts(index)) {
		counting = false;
		from = 0;
	}
	run(index, data);
}

static struct block *find(uint64_t at, uint32_t length)
{
	struct block **head = &blocks[(at >> 2) % BUCKETS], *block;

	for (block = *head; block; block = block->next)
		if (block->at == at && block->length == length)
			return block;
	block = calloc(1, sizeof(*block));
	if (!block)
		exit(1);
	block->at = at;
	block->length = length;
	block->next = *head;
	return *head = block;
}

static void translate(plugin_id id, struct tb *tb)
{
	struct block *block = find(qemu_plugin_tb_vaddr(tb), qemu_plugin_tb_n_insns(tb));
	bool ends = block->at == from || block->at == to;

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, ends ? edge : run, READS_REGISTERS,
					     block);
}

static void finish(plugin_id id, void *unused)
{
	FILE *file = fopen(out, "w");

	(void)id;
	(void)unused;
	if (!file)
		return;
	for (int i = 0; i < BUCKETS; i++)
		for (struct block *block = blocks[i]; block; block = block->next)
			if (block->instructions)
				fprintf(file, "{\"at\":\"%llx\",\"instructions\":%llu}\n",
					(unsigned long long)block->at,
					(unsigned long long)block->instructions);
	fclose(file);
}

__attribute__((visibility("default")))
int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			out = strdup(argv[i] + 4);
		else if (!strcmp(argv[i], "cpus=all"))
			all_cpus = true;
		else if (!strncmp(argv[i], "from=", 5))
			from = strtoull(argv[i] + 5, NULL, 16);
		else if (!strncmp(argv[i], "to=", 3))
			to = strtoull(argv[i] + 3, NULL, 16);
	}
#if API >= 2
	qemu_plugin_register_vcpu_init_cb(id, learn_registers);
#endif
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_atexit_cb(id, finish, NULL);
	return 0;
}
