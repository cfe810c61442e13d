// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests how cpuboltd finds which program has taken each CPU, which CPUs are needed, and what has to
 * be put back; and how cpuboltd answers "cpubolt policy"
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon.h"
#include "files.h"
#include "floor.h"
#include "irq_state.h"
#include "owner.h"
#include "state.h"
#include "place.h"

#define SECOND_US	1000000ULL

/* -- Which program has taken a CPU ------------------------------------------------- */

struct seen {
	unsigned int count, cpu;
	bool online, taken;
};

static void see(void *data, unsigned int cpu, bool online, bool taken)
{
	struct seen *seen = data;

	*seen = (struct seen){ seen->count + 1, cpu, online, taken };
}

static void test_what_others_take_stays(void **state)
{
	struct seen seen = { 0 };
	struct owner owner;

	place_begin("small+bolt");
	assert_int_equal(owner_begin(&owner, &machine, 60), 0);
	make_online("0-2");
	assert_int_equal(owner_look(&owner, SECOND_US, see, &seen), 1);
	assert_int_equal(seen.cpu, 3);
	assert_false(seen.online);
	assert_list(owner.foreign, "3");
	assert_list(owner.taken, "none");
	/* No CPU has changed since. */
	assert_int_equal(owner_look(&owner, SECOND_US, see, &seen), 0);
	make_online("0-3");
	assert_int_equal(owner_look(&owner, SECOND_US, see, &seen), 1);
	assert_true(seen.online);
	assert_false(seen.taken);
	assert_list(owner.foreign, "none");
	assert_int_equal(owner_waits(&owner, 3, SECOND_US), 0);
	owner_end(&owner);
	place_end();
}

/* The kernel cuts a list that does not fit in a page: the list can then hide that a CPU goes. */
static void test_a_change_behind_a_list_that_is_cut(void **state)
{
	size_t length = (size_t)sysconf(_SC_PAGESIZE) - 1, i;
	char *text = calloc(length + 1, 1);
	struct owner owner;

	assert_non_null(text);
	for (i = 0; i < length; i++)
		text[i] = i % 2 ? ',' : '0';
	place_begin("small+bolt");
	put(CPUS "online", text);
	free(text);
	assert_int_equal(owner_begin(&owner, &machine, 60), 0);
	assert_int_equal(owner_look(&owner, SECOND_US, NULL, NULL), 0);
	put(CPUS "cpu3/online", "0\n");
	assert_int_equal(owner_look(&owner, SECOND_US, NULL, NULL), 1);
	assert_list(owner.foreign, "3");
	owner_end(&owner);
	place_end();
}

static void take_offline(struct owner *owner, const char *list, const char *left, uint64_t now)
{
	cpu_set_t *cpus = cpus_of(list);

	make_online(left);
	assert_int_equal(owner_changed(owner, cpus, false, true, now, NULL, NULL), 0);
	CPU_FREE(cpus);
}

static void test_who_brings_a_cpu_back_is_yielded_to(void **state)
{
	uint64_t now = SECOND_US;
	struct seen seen = { 0 };
	struct owner owner;
	unsigned int i;

	place_begin("small+bolt");
	assert_int_equal(owner_begin(&owner, &machine, 10), 0);
	for (i = 0; i < 3; i++) {
		take_offline(&owner, i ? "2" : "2-3", "0-1", now);
		assert_list(owner.taken, "2-3");
		assert_list(owner.foreign, "none");
		make_online("0-2");
		assert_int_equal(owner_look(&owner, now, see, &seen), 1);
		assert_true(seen.online && seen.taken && seen.cpu == 2);
		assert_list(owner.taken, "3");
		/* The CPU is left alone for longer each time. */
		assert_int_equal(owner_waits(&owner, 2, now), 10 << i);
		assert_int_equal(owner_waits(&owner, 3, now), 0);
		now += (10 << i) * SECOND_US;
		assert_int_equal(owner_waits(&owner, 2, now), 0);
	}
	/* If a program brings the CPU back long after that, the wait is as long as at first. */
	now += 3600 * SECOND_US;
	take_offline(&owner, "2", "0-1", now);
	make_online("0-2");
	owner_look(&owner, now, see, &seen);
	assert_int_equal(owner_waits(&owner, 2, now), 10);
	owner_end(&owner);
	place_end();
}

/* Another program changes a CPU after the request, and before the daemon looks. */
static void test_a_request_that_others_undo(void **state)
{
	struct seen seen = { 0 };
	struct owner owner;
	cpu_set_t *cpus;

	place_begin("small+bolt");
	assert_int_equal(owner_begin(&owner, &machine, 10), 0);
	cpus = cpus_of("2-3");
	make_online("0-2");
	assert_int_equal(owner_changed(&owner, cpus, false, true, SECOND_US, see, &seen), 0);
	assert_true(seen.count == 1 && seen.cpu == 2 && seen.online && seen.taken);
	assert_list(owner.taken, "3");
	assert_int_equal(owner_waits(&owner, 2, SECOND_US), 10);
	/* A request that failed does not mean that another program has changed a CPU. */
	assert_int_equal(owner_changed(&owner, cpus, false, false, SECOND_US, see, &seen), 0);
	assert_int_equal(seen.count, 1);
	CPU_FREE(cpus);
	owner_end(&owner);
	place_end();
}

static void test_a_cpu_that_is_plugged_in(void **state)
{
	struct owner owner;

	place_begin("small+slots");
	assert_int_equal(owner_begin(&owner, &machine, 10), 0);
	assert_list(owner.foreign, "none");
	put(CPUS "present", "0-4\n");
	assert_int_equal(owner_look(&owner, SECOND_US, NULL, NULL), 0);
	assert_list(owner.foreign, "4");
	owner_end(&owner);
	place_end();
}

/* A look that fails loses no change: the next look finds what has changed. */
static void test_a_look_that_fails(void **state)
{
	struct owner owner;

	place_begin("small+bolt");
	assert_int_equal(owner_begin(&owner, &machine, 10), 0);
	make_online("0-2");
	put(CPUS "bolt/enabled", "x\n");
	assert_true(owner_look(&owner, SECOND_US, NULL, NULL) < 0);
	put(CPUS "bolt/enabled", "1\n");
	assert_int_equal(owner_look(&owner, SECOND_US, NULL, NULL), 1);
	assert_list(owner.foreign, "3");
	owner_end(&owner);
	place_end();
}

/* -- What has to be put back --------------------------------------------------------- */

static void test_the_file(void **state)
{
	cpu_set_t *cpus, *back;

	place_begin("small+bolt");
	cpus = cpus_of("2-3");
	back = machine_set(&machine);
	put("/run/x", "");
	assert_int_equal(state_load(&machine, back), -ENOENT);
	assert_int_equal(state_save(&machine, cpus), 0);
	assert_int_equal(state_load(&machine, back), 0);
	assert_list(back, "2-3");
	/* The file is of another boot, so the CPUs that it lists do not count. */
	assert_int_equal(state_parse(&machine, "boot_id=x\ntaken=2-3\n", "y", back), -ENOENT);
	assert_int_equal(state_parse(&machine, "boot_id=x\ntaken=\n", "x", back), 0);
	assert_int_equal(state_parse(&machine, "boot_id=x\ntaken=2-3", "x", back), -EINVAL);
	assert_int_equal(state_parse(&machine, "boot_id=x\ntaken=2-\n", "x", back), -EINVAL);
	assert_int_equal(state_parse(&machine, "boot_id=x\n", "x", back), -EINVAL);
	assert_int_equal(state_parse(&machine, "", "x", back), -EINVAL);
	assert_int_equal(state_remove(&machine), 0);
	assert_int_equal(state_remove(&machine), 0);
	CPU_FREE(cpus);
	CPU_FREE(back);
	place_end();
}

static void test_restore(void **state)
{
	struct cpubolt_result result;
	cpu_set_t *cpus, *back;

	place_begin("small+bolt");
	cpus = cpus_of("1-3");
	back = machine_set(&machine);
	put("/run/x", "");
	/* No daemon has left a CPU offline. */
	assert_int_equal(state_restore(&machine, NULL, back, &result), 0);
	assert_text(folder, CPUS "bolt/online", "");
	make_online("0-1");
	assert_int_equal(state_save(&machine, cpus), 0);
	assert_int_equal(state_restore(&machine, NULL, back, &result), 0);
	/* CPU 1 is online already. */
	assert_text(folder, CPUS "bolt/online", "2-3");
	assert_list(back, "2-3");
	assert_int_equal(state_load(&machine, back), -ENOENT);
	CPU_FREE(cpus);
	CPU_FREE(back);
	place_end();
}

static void test_restore_but_for_denied_cpus(void **state)
{
	struct cpubolt_result result;
	cpu_set_t *cpus, *deny, *back;

	place_begin("small");
	cpus = cpus_of("2-3");
	deny = cpus_of("1,3");
	back = machine_set(&machine);
	put("/run/x", "");
	make_online("0-1");
	tree_write(folder, CPUS "cpu3/online", "0");
	assert_int_equal(state_save(&machine, cpus), 0);
	assert_int_equal(state_restore(&machine, deny, back, &result), 0);
	assert_list(back, "2");
	assert_text(folder, CPUS "cpu2/online", "1");
	assert_text(folder, CPUS "cpu3/online", "0");
	assert_int_equal(state_load(&machine, back), -ENOENT);
	CPU_FREE(cpus);
	CPU_FREE(deny);
	CPU_FREE(back);
	place_end();
}

static void test_restore_that_fails(void **state)
{
	struct cpubolt_result result;
	cpu_set_t *cpus, *back;

	place_begin("small");
	cpus = cpus_of("2-3");
	back = machine_set(&machine);
	put("/run/x", "");
	make_online("0-1");
	tree_delete(folder, CPUS "cpu2/online");
	assert_int_equal(state_save(&machine, cpus), 0);
	machine_close(&machine);
	assert_int_equal(machine_open(folder, &machine), 0);
	assert_true(state_restore(&machine, NULL, back, &result) < 0);
	/* CPU 3 is back, and the file keeps CPU 2. */
	assert_text(folder, CPUS "cpu3/online", "1");
	assert_list(back, "3");
	assert_int_equal(state_load(&machine, back), 0);
	assert_list(back, "2");
	/* Whoever switched SMT off took the second threads of cores: these are not put back. */
	put(CPUS "smt/control", "off\n");
	assert_int_equal(state_restore(&machine, NULL, back, &result), 0);
	assert_int_equal(CPU_COUNT_S(machine.size, back), 0);
	assert_int_equal(state_load(&machine, back), -ENOENT);
	CPU_FREE(cpus);
	CPU_FREE(back);
	place_end();
}

/* -- Affinities of interrupts, which have to be put back ---------------------------------- */

static void test_the_file_of_interrupts(void **state)
{
	static const char *const wrong[] = {
		"", "boot_id=x", "boot_id=x\n", "boot_id=x\nirqbalance=\n",
		"boot_id=x\nirqbalance=-1\n",
		"boot_id=x\nirqbalance=0\nirq=5 found=0-1 was=1 written=0 name=a",
		"boot_id=x\nirqbalance=0\nirq=5 found=0-1 was=1 written= name=a\n",
		"boot_id=x\nirqbalance=0\nirq=5 found=0-9 was=1 written=1 name=a\n",
		"boot_id=x\nirqbalance=0\nirq=5 found=0-1 written=1 was=1 name=a\n",
		"boot_id=x\nirqbalance=0\nirq=5x found=0-1 was=1 written=1 name=a\n",
		"boot_id=x\nirqbalance=0\nirq=5 found=0-1 was=1 written=1\n",
	};
	struct irq_state irqs = { .irqbalance = 77 }, back;
	struct irq_saved *irq;
	size_t i;

	place_begin("small+bolt");
	put("/run/x", "");
	assert_int_equal(irq_state_load(&machine, &back), -ENOENT);
	irq = irq_state_add(&machine, &irqs, 25, "two words=1");
	CPU_SET_S(0, machine.size, irq->found);
	CPU_SET_S(3, machine.size, irq->found);
	CPU_SET_S(1, machine.size, irq->was);
	CPU_SET_S(2, machine.size, irq->written);
	assert_non_null(irq_state_add(&machine, &irqs, 26, ""));
	irq_state_drop(&irqs, 1);
	assert_int_equal(irq_state_save(&machine, &irqs), 0);
	assert_int_equal(irq_state_load(&machine, &back), 0);
	assert_int_equal(back.irqbalance, 77);
	assert_int_equal(back.count, 1);
	assert_int_equal(back.irqs[0].number, 25);
	assert_string_equal(back.irqs[0].name, "two words=1");
	assert_list(back.irqs[0].found, "0,3");
	assert_list(back.irqs[0].was, "1");
	assert_list(back.irqs[0].written, "2");
	irq_state_free(&back);
	irq_state_free(&irqs);
	assert_int_equal(irq_state_save(&machine, &irqs), 0);
	assert_int_equal(irq_state_load(&machine, &back), -ENOENT);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(irq_state_parse(&machine, wrong[i], "x", &back), -EINVAL);
		assert_int_equal(back.count, 0);
	}
	assert_int_equal(irq_state_parse(&machine, "boot_id=x\n", "y", &back), -ENOENT);
	place_end();
}

static void put_interrupt(const char *affinity)
{
	put("/proc/interrupts", " CPU0 CPU1\n25: 1 1 PCI-MSI 1-edge  net\n");
	put("/proc/irq/25/smp_affinity_list", affinity);
}

/*
 * Gives interrupt 25 the affinity @affinity, and writes a state file by which the daemon has found
 * interrupt 25, called @name, on CPUs 0-3, and has moved it from CPU 1 to CPU 2. Then puts
 * affinities back by the state file. Returns how many affinities were put back.
 */
static size_t restored_from(const char *name, const char *affinity)
{
	struct irq_restored restored;
	struct irq_state irqs;
	char text[128];

	put_interrupt(affinity);
	snprintf(text, sizeof(text), "boot_id=%s\nirqbalance=0\n"
		 "irq=25 found=0-3 was=1 written=2 name=%s\n",
		 "b0170000-0000-4000-8000-000000000001", name);
	put(IRQ_STATE_FILE, text);
	assert_int_equal(irq_state_begin(&machine, &irqs), 0);
	irq_state_restore(&machine, &irqs, &restored);
	assert_int_equal(restored.failed, 0);
	irq_state_free(&irqs);
	assert_int_equal(irq_state_load(&machine, &irqs), -ENOENT);
	return restored.back;
}

static void test_which_interrupts_are_put_back(void **state)
{
	place_begin("small+bolt");
	put("/run/x", "");
	assert_int_equal(restored_from("net", "2\n"), 1);
	assert_text(folder, "/proc/irq/25/smp_affinity_list", "0-3");
	/* The daemon ended after it had written the file, but before it wrote the affinity. */
	assert_int_equal(restored_from("net", "1\n"), 1);
	/* By now another program has set the affinity. */
	assert_int_equal(restored_from("net", "0\n"), 0);
	assert_text(folder, "/proc/irq/25/smp_affinity_list", "0\n");
	assert_int_equal(restored_from("disk", "2\n"), 0);
	assert_int_equal(restored_from("net", "0-3\n"), 0);
	/* Neither CPU 1 nor CPU 2 was online, so the kernel had to choose an affinity. */
	make_online("0,3");
	assert_int_equal(restored_from("net", "0,3\n"), 1);
	place_end();
}

static void test_an_interrupt_that_cannot_be_put_back(void **state)
{
	struct irq_restored restored;
	struct irq_state irqs;

	place_begin("small+bolt");
	put("/run/x", "");
	put_interrupt("2\n");
	put(IRQ_STATE_FILE, "boot_id=b0170000-0000-4000-8000-000000000001\nirqbalance=0\n"
			    "irq=25 found=0-3 was=1 written=2 name=net\n");
	assert_int_equal(irq_state_begin(&machine, &irqs), 0);
	tree_delete(folder, "/proc/irq/25/smp_affinity_list");
	irq_state_restore(&machine, &irqs, &restored);
	assert_int_equal(restored.back, 0);
	assert_int_equal(restored.failed, 1);
	assert_int_equal(restored.error, ENOENT);
	assert_int_equal(restored.irq, 25);
	irq_state_free(&irqs);
	assert_int_equal(irq_state_load(&machine, &irqs), 0);
	assert_int_equal(irqs.count, 1);
	irq_state_free(&irqs);
	place_end();
}

/* -- What tasks and cpusets need ------------------------------------------------------- */

static void assert_needed(const char *going, const char *after, const char *needed)
{
	cpu_set_t *goes = cpus_of(going), *stays = cpus_of(after), *found = machine_set(&machine);

	assert_int_equal(floor_others(&machine, goes, stays, found), 0);
	assert_list(found, needed);
	CPU_FREE(goes);
	CPU_FREE(stays);
	CPU_FREE(found);
}

static void test_tasks_need_cpus(void **state)
{
	place_begin("small+bolt");
	put_task(10, "anywhere", "0-3", 0, 0);
	put_task(11, "rt) x", "0-3", 1, 0);
	assert_needed("1-3", "0", "none");
	/* One of the CPUs of an ordinary task stays. */
	put_task(12, "pinned", "2-3", 0, 0);
	assert_needed("1-3", "0", "2");
	assert_needed("1-2", "0,3", "none");
	/* Kernel threads are no reason for a CPU to stay. */
	put_task(13, "kworker/1", "1", 0, 0x00200000);
	assert_needed("1", "0,2-3", "none");
	/* A real-time task, or a virtual CPU, that may not run on all CPUs keeps its CPUs. */
	put_task(14, "audio", "1,3", 1, 0);
	assert_needed("1-3", "0", "1,3");
	assert_needed("1", "0,2-3", "1");
	put_task(14, "audio", "0-3", 1, 0);
	put_task(15, "CPU 0/KVM", "1-2", 0, 0);
	assert_needed("1-3", "0", "1-2");
	place_end();
}

static void move(const char *from, const char *to)
{
	char *old, *new;

	assert_true(asprintf(&old, "%s%s", folder, from) > 0);
	assert_true(asprintf(&new, "%s%s", folder, to) > 0);
	assert_int_equal(rename(old, new), 0);
	free(old);
	free(new);
}

static void test_threads_of_the_kernel_are_known(void **state)
{
	place_begin("small+bolt");
	put_task(13, "kworker/1", "1", 0, 0x00200000);
	assert_needed("1", "0,2-3", "none");
	/* The files of the kernel thread are not read again ... */
	put_task(13, "kworker/1", "1", 0, 0);
	assert_needed("1", "0,2-3", "none");
	assert_needed("1", "0,2-3", "none");
	/* ... but the files of another process that has the PID are read. */
	put_task(99, "pinned", "1", 0, 0);
	move("/proc/13", "/proc/gone");
	move("/proc/99", "/proc/13");
	assert_needed("1", "0,2-3", "1");
	assert_needed("1", "0,2-3", "1");
	place_end();
}

static void test_cpusets_need_cpus(void **state)
{
	place_begin("small+bolt");
	put_task(10, "anywhere", "0-3", 0, 0);
	put("/sys/fs/cgroup/cpuset.cpus.effective", "0-3\n");
	put("/sys/fs/cgroup/a/cpuset.cpus", "\n");
	put("/sys/fs/cgroup/a/b/cpuset.cpus", "2-3\n");
	put("/sys/fs/cgroup/a/b/cpuset.cpus.partition", "member\n");
	assert_needed("1-3", "0", "2");
	put("/sys/fs/cgroup/a/b/cpuset.cpus.partition", "root\n");
	assert_needed("1-3", "0", "2-3");
	assert_needed("1", "0,2-3", "none");
	/* Version 1 would not give CPU 1 back to the cpuset. */
	put("/sys/fs/cgroup/cpuset/c/cpuset.cpus", "0-1\n");
	assert_needed("1", "0,2-3", "1");
	place_end();
}

/*
 * While other CPUs are offline, the affinity chosen for a task may contain all CPUs that
 * are online. The daemon must not take this task for one that may run on all CPUs.
 */
static void test_tasks_need_cpus_when_few_are_left(void **state)
{
	place_begin("small+bolt");
	put_task(10, "anywhere", "0-3", 1, 0);
	put_task(11, "audio", "0-1", 1, 0);
	make_online("0-1");
	assert_int_equal(cpubolt_refresh(machine.handle), 0);
	assert_needed("1", "0", "1");
	/* An ordinary task needs no other CPU while it has CPU 0. */
	put_task(11, "audio", "0-1", 0, 0);
	assert_needed("1", "0", "none");
	/* CPUs that were taken before the task asked for them have to come. */
	put_task(11, "audio", "0,3", 1, 0);
	assert_needed("2-3", "0-1", "3");
	/* Of the CPUs of an ordinary task, one that is online stays. */
	put_task(12, "pinned", "1-2", 0, 0);
	assert_needed("1-2", "0", "1");
	place_end();
}

/*
 * Real-time tasks may run on all CPUs but for the isolated ones, as long as no program chooses
 * CPUs for the tasks.
 */
static void test_tasks_beside_isolated_cpus(void **state)
{
	place_begin("small+bolt+isolated");
	put_task(10, "audio", "0-1", 1, 0);
	assert_needed("1", "0", "none");
	put_task(10, "audio", "1", 1, 0);
	assert_needed("1", "0", "1");
	place_end();
}

static void test_cpusets_where_they_are_mounted(void **state)
{
	place_begin("small+bolt");
	put_task(10, "anywhere", "0-3", 0, 0);
	put("/proc/self/mountinfo",
	    "25 1 0:22 / /proc rw - proc proc rw\n"
	    "30 1 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	    "31 1 0:27 / /dev/my\\040sets rw - cgroup none rw,cpuset,noprefix\n"
	    "32 1 0:28 / /dev/memory rw - cgroup none rw,memory\n");
	/* A folder "cpuset" in a hierarchy of version 2 is not version 1. */
	put("/sys/fs/cgroup/cpuset/a/cpuset.cpus", "0-3\n");
	assert_needed("1-3", "0", "none");
	put("/dev/memory/a/cpuset.cpus", "3\n");
	assert_needed("1-3", "0", "none");
	put("/dev/my sets/top-app/cpus", "1-2\n");
	assert_needed("1-3", "0", "1-2");
	put("/dev/my sets/top-app/cpus", "0-3\n");
	assert_needed("1-3", "0", "1-3");
	put("/proc/self/mountinfo",
	    "31 1 0:27 / /dev/my\\040sets rw - cgroup none rw,cpuset,noprefix,cpuset_v2_mode\n");
	assert_needed("1-3", "0", "none");
	place_end();
}

/* When CPUs go, version 1 cuts a cpuset's list for good, even if that list has all CPUs. */
static void test_cpusets_of_version_1_with_all_cpus(void **state)
{
	place_begin("small+bolt");
	put_task(10, "anywhere", "0-3", 0, 0);
	put("/sys/fs/cgroup/cpuset/c/cpuset.cpus", "0-3\n");
	assert_needed("2-3", "0-1", "2-3");
	place_end();
}

static void test_partitions_with_exclusive_cpus(void **state)
{
	place_begin("small+bolt");
	put_task(10, "anywhere", "0-3", 0, 0);
	put("/sys/fs/cgroup/a/cpuset.cpus", "\n");
	put("/sys/fs/cgroup/a/cpuset.cpus.exclusive", "2\n");
	put("/sys/fs/cgroup/a/cpuset.cpus.effective", "2-3\n");
	put("/sys/fs/cgroup/a/cpuset.cpus.partition", "member\n");
	assert_needed("1-3", "0", "none");
	put("/sys/fs/cgroup/a/cpuset.cpus.partition", "root\n");
	assert_needed("1-3", "0", "2-3");
	place_end();
}

/*
 * A partition that is not valid, here because it has no CPUs of its own, shows the effective CPUs
 * of its parent: these CPUs need not stay for the partition.
 */
static void test_a_partition_without_cpus(void **state)
{
	place_begin("small+bolt");
	put_task(10, "anywhere", "0-3", 0, 0);
	put("/sys/fs/cgroup/a/cpuset.cpus", "\n");
	put("/sys/fs/cgroup/a/cpuset.cpus.exclusive", "\n");
	put("/sys/fs/cgroup/a/cpuset.cpus.effective", "0-3\n");
	put("/sys/fs/cgroup/a/cpuset.cpus.partition", "root invalid (Cpu list is empty)\n");
	assert_needed("1-3", "0", "none");
	place_end();
}

/*
 * The kernel takes the CPUs of a valid partition from the masks of other tasks. So if a real-time
 * task may run on all other CPUs, no program has chosen CPUs for the task.
 */
static void test_real_time_tasks_beside_a_partition(void **state)
{
	place_begin("small+bolt");
	put_task(10, "rt", "0-2", 1, 0);
	put("/sys/fs/cgroup/a/cpuset.cpus", "2-3\n");
	put("/sys/fs/cgroup/a/cpuset.cpus.partition", "isolated\n");
	put("/sys/fs/cgroup/a/cpuset.cpus.exclusive.effective", "3\n");
	put("/sys/fs/cgroup/a/cpuset.cpus.effective", "3\n");
	assert_needed("1", "0,2-3", "none");
	make_online("0,2-3");
	assert_int_equal(cpubolt_refresh(machine.handle), 0);
	assert_needed("1", "0,2-3", "none");
	make_online("0-3");
	assert_int_equal(cpubolt_refresh(machine.handle), 0);
	put_task(10, "rt", "0-1", 1, 0);
	assert_needed("1", "0,2-3", "1");
	/* Other tasks may run on the CPUs of a partition that is not valid. */
	put_task(10, "rt", "0-2", 1, 0);
	put("/sys/fs/cgroup/a/cpuset.cpus.partition", "root invalid (Cpu list not exclusive)\n");
	assert_needed("1", "0,2-3", "1");
	/* Linux before 6.7 has no "cpuset.cpus.exclusive.effective". */
	put("/sys/fs/cgroup/a/cpuset.cpus", "3\n");
	put("/sys/fs/cgroup/a/cpuset.cpus.exclusive.effective", "\n");
	put("/sys/fs/cgroup/a/cpuset.cpus.partition", "root\n");
	assert_needed("1", "0,2-3", "none");
	place_end();
}

/* -- Requests of "cpubolt policy" -------------------------------------------------------- */

static void assert_answer(struct daemon *daemon, const char *request, bool privileged,
			  const char *begin)
{
	char *answer = control_answer(daemon, request, privileged);

	assert_non_null(answer);
	if (strncmp(answer, begin, strlen(begin)))
		fail_msg("\"%s\": %s", request, answer);
	free(answer);
}

static void test_requests(void **state)
{
	struct config config;
	struct daemon daemon = { .machine = &machine, .config = &config, .control = -1 };
	unsigned int i;

	place_begin("small+bolt+offline");
	assert_int_equal(config_init(&machine, &config), 0);
	assert_int_equal(owner_begin(&daemon.owner, &machine, 60), 0);
	daemon.restraint = restraint_new(machine.count);
	daemon.memories = calloc(machine.count, sizeof(*daemon.memories));
	daemon.usable = cpus_of("0-1");
	daemon.online = cpus_of("0-1");
	daemon.before = cpus_of("0-1");
	daemon.floor = cpus_of("0");
	daemon.wanted = cpus_of("0");
	daemon.needs = cpus_of("3");
	CPU_ZERO_S(machine.size, daemon.needs);
	assert_answer(&daemon, "status", false, "ok policy    load, as few CPUs online");
	assert_answer(&daemon, "explain 3", false,
		      "ok CPU 3 is offline: another program took it, or it was offline");
	assert_answer(&daemon, "explain 4", false, "error this machine has no such CPU");
	assert_answer(&daemon, "explain -1", false, "error this machine has no such CPU");
	assert_answer(&daemon, "explain", false, "error there is no such request");
	assert_answer(&daemon, "switch steal", false, "error only root");
	assert_answer(&daemon, "switch steal", true, "ok the policy is now \"steal\"");
	assert_ptr_equal(config.policy, &policy_steal);
	assert_answer(&daemon, "switch fast", true, "error there is no such policy");
	assert_answer(&daemon, "lease 1 60", false, "error only root");
	assert_answer(&daemon, "lease 1 60", true, "ok lease 1: CPUs 1 for 60 s");
	assert_answer(&daemon, "explain 1", false, "ok CPU 1 is online: ");
	assert_answer(&daemon, "lease 1- 60", true, "error the second word is no list");
	assert_answer(&daemon, "lease 1 0", true, "error a lease is for 1 to 86400");
	assert_answer(&daemon, "lease 1 86401", true, "error a lease is for 1 to 86400");
	assert_answer(&daemon, "lease 1", true, "error the request has too few");
	assert_answer(&daemon, "release 2", true, "error there is no such lease");
	assert_answer(&daemon, "release 1", true, "ok lease 1 has ended");
	assert_answer(&daemon, "release 1", true, "error there is no such lease");
	assert_answer(&daemon, "", true, "error there is no such request");
	assert_answer(&daemon, "lease 1 2 3 4 5", true, "error the request has too few");
	for (i = 0; i < MOST_LEASES; i++)
		assert_answer(&daemon, "lease 1 60", true, "ok lease ");
	assert_answer(&daemon, "lease 1 60", true, "error there are too many leases");
	lease_free(&daemon);
	CPU_FREE(daemon.usable);
	CPU_FREE(daemon.online);
	CPU_FREE(daemon.before);
	CPU_FREE(daemon.floor);
	CPU_FREE(daemon.wanted);
	CPU_FREE(daemon.needs);
	free(daemon.memories);
	restraint_free(daemon.restraint);
	owner_end(&daemon.owner);
	config_free(&config);
	place_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_others_take_stays),
		cmocka_unit_test(test_a_change_behind_a_list_that_is_cut),
		cmocka_unit_test(test_who_brings_a_cpu_back_is_yielded_to),
		cmocka_unit_test(test_a_request_that_others_undo),
		cmocka_unit_test(test_a_cpu_that_is_plugged_in),
		cmocka_unit_test(test_a_look_that_fails),
		cmocka_unit_test(test_the_file),
		cmocka_unit_test(test_restore),
		cmocka_unit_test(test_restore_but_for_denied_cpus),
		cmocka_unit_test(test_restore_that_fails),
		cmocka_unit_test(test_the_file_of_interrupts),
		cmocka_unit_test(test_which_interrupts_are_put_back),
		cmocka_unit_test(test_an_interrupt_that_cannot_be_put_back),
		cmocka_unit_test(test_tasks_need_cpus),
		cmocka_unit_test(test_threads_of_the_kernel_are_known),
		cmocka_unit_test(test_cpusets_need_cpus),
		cmocka_unit_test(test_tasks_need_cpus_when_few_are_left),
		cmocka_unit_test(test_tasks_beside_isolated_cpus),
		cmocka_unit_test(test_cpusets_where_they_are_mounted),
		cmocka_unit_test(test_cpusets_of_version_1_with_all_cpus),
		cmocka_unit_test(test_partitions_with_exclusive_cpus),
		cmocka_unit_test(test_a_partition_without_cpus),
		cmocka_unit_test(test_real_time_tasks_beside_a_partition),
		cmocka_unit_test(test_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
