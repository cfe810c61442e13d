// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plugin of QEMU's emulator: measures the time that the kernel takes from tasks
 * of each CPU in each phase of a guest. The guest begins a phase by calling the
 * address MARK + 64 * phase, which is used for nothing else; phase 0 is no phase.
 *
 * A stretch is what a CPU runs in the kernel between two instructions of user
 * space. If a task that never asks for anything runs on every CPU, a stretch is
 * how long such a task could not run, in instructions. CPUs take turns of equal
 * length, so the time that one CPU spends waiting is about the time for which
 * the other CPUs work meanwhile.
 *
 * When QEMU 8 or later runs CPUs in turn, a plugin gets the number of the CPU
 * that translated a block, not of the CPU that executes the block. So this
 * plugin tells CPUs apart by the address of their per-CPU data, which the kernel
 * has in a register, and numbers the CPUs in the order of these addresses. QEMU
 * 7.2 gives the right number, but no registers.
 *
 * Built with -DARM64 for arm64 guests.
 */
#include "plugin.h"

#define MARK 0x133700000000ULL
#define PHASES 8
#define CPUS 64

#ifdef ARM64
#define BASE_NAMES { "TPIDR_EL1", NULL }
#define FLAGS_NAME "cpsr"
#define INTERRUPTS_OFF(flags) ((flags) & 0x80)
#else
/*
 * The register that holds the base of per-CPU data while the CPU runs the kernel; and the
 * register that holds the base in user space, and on the way into or out of the kernel.
 */
#define BASE_NAMES { "gs_base", "k_gs_base" }
#define FLAGS_NAME "eflags"
#define INTERRUPTS_OFF(flags) (!((flags) & 0x200))
#endif

/* Sums of one CPU in one phase. */
struct sum {
	uint64_t user, kernel, stretches, longest, longest_off;
};

struct cpu {
	uint64_t base;		/* base of the CPU's per-CPU data, or the CPU's number */
	uint64_t stretch, off;	/* instructions of this stretch, and since interrupts went off */
	struct sum sums[PHASES];
};

static struct cpu cpus[CPUS];
static int nr_cpus, phase;
static uint64_t rounds[PHASES];
static const char *out = "bystanders.json";

#if API >= 2
static struct handle *bases[2], *flags;

static void learn_registers(plugin_id id, unsigned int cpu)
{
	static const char *const names[2] = BASE_NAMES;

	(void)id;
	if (cpu || flags)
		return;
	bases[0] = find_register(names[0], false);
	bases[1] = names[1] ? find_register(names[1], true) : NULL;
	flags = find_register(FLAGS_NAME, false);
}

static bool interrupts_off(void)
{
	return INTERRUPTS_OFF(read_register(flags));
}

/*
 * One of the two registers may have a value of user space, which is below all values of
 * the kernel.
 */
static uint64_t whose(unsigned int index)
{
	uint64_t one = read_register(bases[0]), other = read_register(bases[1]);

	(void)index;
	return one > other ? one : other;
}
#else
static bool interrupts_off(void)
{
	return false;
}

static uint64_t whose(unsigned int index)
{
	return index;
}
#endif

static struct cpu *find(unsigned int index)
{
	uint64_t base = whose(index);

	/* A CPU that is coming up has no base yet. */
	if (READS_REGISTERS && !base)
		return NULL;
	for (int i = 0; i < nr_cpus; i++)
		if (cpus[i].base == base)
			return &cpus[i];
	if (nr_cpus == CPUS)
		return NULL;
	cpus[nr_cpus].base = base;
	return &cpus[nr_cpus++];
}

static void end_stretch(struct cpu *cpu)
{
	struct sum *sum = &cpu->sums[phase];

	if (cpu->stretch) {
		sum->stretches++;
		if (cpu->stretch > sum->longest)
			sum->longest = cpu->stretch;
	}
	cpu->stretch = 0;
}

static void end_off(struct cpu *cpu)
{
	struct sum *sum = &cpu->sums[phase];

	if (cpu->off > sum->longest_off)
		sum->longest_off = cpu->off;
	cpu->off = 0;
}

static void user(unsigned int index, void *n)
{
	struct cpu *cpu = phase ? find(index) : NULL;

	if (!cpu)
		return;
	cpu->sums[phase].user += (uintptr_t)n;
	end_stretch(cpu);
	end_off(cpu);
}

static void kernel(unsigned int index, void *n)
{
	struct cpu *cpu = phase ? find(index) : NULL;

	if (!cpu)
		return;
	cpu->sums[phase].kernel += (uintptr_t)n;
	cpu->stretch += (uintptr_t)n;
	if (interrupts_off())
		cpu->off += (uintptr_t)n;
	else
		end_off(cpu);
}

static void mark(unsigned int index, void *which)
{
	(void)index;
	for (int i = 0; i < nr_cpus; i++) {
		end_stretch(&cpus[i]);
		end_off(&cpus[i]);
	}
	phase = (uintptr_t)which;
	rounds[phase]++;
}

static void translate(plugin_id id, struct tb *tb)
{
	uint64_t at = qemu_plugin_tb_vaddr(tb);
	uintptr_t n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	if (at >= MARK && at < MARK + 64 * PHASES && !(at % 64))
		qemu_plugin_register_vcpu_tb_exec_cb(tb, mark, 0,
						     (void *)(uintptr_t)((at - MARK) / 64));
	else
		qemu_plugin_register_vcpu_tb_exec_cb(tb, at >> 63 ? kernel : user, READS_REGISTERS,
						     (void *)n);
}

static int by_base(const void *a, const void *b)
{
	const struct cpu *one = a, *other = b;

	return one->base < other->base ? -1 : one->base > other->base;
}

static void finish(plugin_id id, void *unused)
{
	FILE *file = fopen(out, "w");

	(void)id;
	(void)unused;
	if (!file)
		return;
	qsort(cpus, nr_cpus, sizeof(cpus[0]), by_base);
	for (int which = 1; which < PHASES; which++) {
		for (int i = 0; i < nr_cpus; i++) {
			const struct sum *sum = &cpus[i].sums[which];

			if (!sum->user && !sum->kernel)
				continue;
			fprintf(file, "{\"phase\":%d,\"rounds\":%llu,\"cpu\":%d,\"base\":\"%llx\","
				"\"user\":%llu,\"kernel\":%llu,\"stretches\":%llu,"
				"\"longest\":%llu,\"longest_off\":%llu}\n", which,
				(unsigned long long)rounds[which], i,
				(unsigned long long)cpus[i].base, (unsigned long long)sum->user,
				(unsigned long long)sum->kernel,
				(unsigned long long)sum->stretches,
				(unsigned long long)sum->longest,
				(unsigned long long)sum->longest_off);
		}
	}
	fclose(file);
}

__attribute__((visibility("default")))
int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			out = strdup(argv[i] + 4);
#if API >= 2
	qemu_plugin_register_vcpu_init_cb(id, learn_registers);
#endif
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_atexit_cb(id, finish, NULL);
	return 0;
}
