/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets of CPUs 0 to 63, requests for these sets, and facts about all CPUs. The first 8
 * bytes of a mask for the kernel are the set itself: on both architectures that Bolt is for,
 * which are little-endian, and also on 64-bit big-endian machines.
 */
#ifndef SELFTESTS_BOLT_SETS_H
#define SELFTESTS_BOLT_SETS_H

#include <ctype.h>
#include <stdint.h>

#include "bolt.h"
#include "lib/cpulist.h"

#define SETS_MAX 64
#define CPU(n) (1ULL << (n))
/* Room for any list of cpus_text(), which takes up to 12 characters for a CPU: "62-62,62-63,". */
#define SETS_TEXT (SETS_MAX * 12)

typedef uint64_t cpus_t;

/*
 * Reads a list that the kernel writes, such as "0-2,5". Returns false if the file cannot
 * be read, or a CPU does not fit in the set.
 */
static inline bool cpus_read(const char *path, cpus_t *set)
{
	char text[4096];
	const char *at = text;
	long first, last;
	int more;

	*set = 0;
	if (get(path, text, sizeof(text)))
		return false;
	while ((more = cpulist_next(&at, &first, &last)) > 0) {
		if (last >= SETS_MAX)
			return false;
		for (; first <= last; first++)
			*set |= CPU(first);
	}
	return !more;
}

/* Writes the set as a list, with an order and overlaps that depend on @style. */
static inline const char *cpus_text(cpus_t set, unsigned int style, char text[SETS_TEXT])
{
	char *at = text;

	*at = '\0';
	for (int i = 0; i < SETS_MAX; i++) {
		int cpu = style & 1 ? SETS_MAX - 1 - i : i;

		if (!(set & CPU(cpu)))
			continue;
		at += sprintf(at, "%s%d", at == text ? "" : ",", cpu);
		if (style & 2 && !(style & 1))
			at += sprintf(at, "-%d", cpu);
		if (style & 4 && cpu + 1 < SETS_MAX && set & CPU(cpu + 1))
			at += sprintf(at, ",%d-%d", cpu, cpu + 1);
	}
	return text;
}

static inline int cpus_count(cpus_t set)
{
	return __builtin_popcountll(set);
}

static inline int cpus_first(cpus_t set)
{
	return set ? __builtin_ctzll(set) : -1;
}

enum ask { ONLINE_THEM, OFFLINE_THEM, SET_THEM, ASKS };

static const char * const ask_list[ASKS] = {
	BOLT_DIR "online", BOLT_DIR "offline", BOLT_DIR "set",
};

static const char * const ask_mask[ASKS] = {
	BOLT_DIR "online_mask", BOLT_DIR "offline_mask", BOLT_DIR "set_mask",
};

static inline int ask_by_list(enum ask ask, cpus_t set)
{
	char text[SETS_TEXT];

	return put(ask_list[ask], cpus_text(set, 0, text));
}

static inline int ask_by_mask(enum ask ask, cpus_t set)
{
	return put_bytes(ask_mask[ask], (const char *)&set, sizeof(set));
}

enum from { ONLINE, PARKED, SETTLED };

/* Brings the CPUs of @set to the state that a test starts from. */
static inline int ask_to_be(cpus_t set, enum from from)
{
	int err = ask_by_list(ONLINE_THEM, set);

	if (!err && from != ONLINE)
		err = ask_by_list(OFFLINE_THEM, set);
	if (!err && from == SETTLED)
		err = settle_all();
	return err;
}

/* Returns the CPUs that are online after a request that has succeeded. */
static inline cpus_t ask_result(enum ask ask, cpus_t set, cpus_t online)
{
	switch (ask) {
	case ONLINE_THEM:
		return online | set;
	case OFFLINE_THEM:
		return online & ~set;
	default:
		return set;
	}
}

/* The CPUs of the machine. */
struct world {
	cpus_t possible, present, movable;
	int nr;			/* the number of the last possible CPU plus 1 */
	size_t page;
};

/* Reads which CPUs there are. Returns false on an error, or if not all of them fit in a set. */
static inline bool world_look(struct world *world)
{
	memset(world, 0, sizeof(*world));
	if (!cpus_read(CPU_DIR "possible", &world->possible) ||
	    !cpus_read(CPU_DIR "present", &world->present))
		return false;
	for (int cpu = 0; cpu < SETS_MAX; cpu++) {
		if (world->possible & CPU(cpu))
			world->nr = cpu + 1;
		if (cpu_is_movable(cpu))
			world->movable |= CPU(cpu);
	}
	world->page = sysconf(_SC_PAGESIZE);
	return true;
}

/* What files say about all CPUs. */
struct sight {
	cpus_t online;		/* what cpu/online says */
	cpus_t files;		/* what cpuN/online say */
	cpus_t parked;
};

static inline bool sight_take(const struct world *world, struct sight *sight)
{
	char path[ONLINE_PATH_MAX];

	memset(sight, 0, sizeof(*sight));
	if (!cpus_read(CPU_DIR "online", &sight->online) ||
	    !cpus_read(BOLT_DIR "parked", &sight->parked))
		return false;
	sight->files = sight->online & ~world->movable;
	for (int cpu = 0; cpu < world->nr; cpu++) {
		if (!(world->movable & CPU(cpu)))
			continue;
		online_path(cpu, path);
		if (is(path, "1"))
			sight->files |= CPU(cpu);
		else if (!is(path, "0"))
			return false;
	}
	return true;
}

static inline bool sight_same(const struct sight *a, const struct sight *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/*
 * Empties irq_keep, brings all CPUs online, sets a settle delay that is longer than any
 * test, so that CPUs are settled only when the test asks or memory is short, and enables
 * Bolt anew.
 */
static inline int sets_start_over(const struct world *world)
{
	int err = put(BOLT_DIR "irq_keep", "\n");

	for (int cpu = 0; cpu < world->nr && !err; cpu++)
		if (world->movable & CPU(cpu))
			err = set_online(cpu, true);
	if (!err)
		err = put(BOLT_DIR "settle_delay_ms", "4000000000");
	if (!err)
		err = enable(false);
	return err ?: enable(true);
}

/* Has the firmware eject a CPU, and waits until the CPU is gone. Returns false if the CPU stays. */
static inline bool cpu_eject(int cpu)
{
	char path[128];
	cpus_t present;

	snprintf(path, sizeof(path), "/sys/bus/acpi/devices/LNXCPU:%02x/eject", cpu);
	if (put(path, "1"))
		return false;
	for (int i = 0; i < 500; i++) {
		if (!cpus_read(CPU_DIR "present", &present))
			return false;
		if (!(present & CPU(cpu)))
			return true;
		wait_ms(20);
	}
	return false;
}

#endif /* SELFTESTS_BOLT_SETS_H */
