/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tests of bolt/keep_affinity share: where a task may run, and whether its
 * affinity is kept.
 */
#ifndef SELFTESTS_BOLT_AFFINITY_H
#define SELFTESTS_BOLT_AFFINITY_H

#include "tasks.h"

/* A second CPU that comes and goes. */
#define OTHER (VICTIM + 1)
#define PATIENCE_MS 2000
/*
 * If the kernel's worker is going to give a task its affinity back, the worker does so
 * within this time.
 */
#define LONG_MS 200

/* Why a test that needs @least CPUs cannot run on this machine, or NULL. */
static inline const char *affinity_cannot_run(int least)
{
	static const char * const needs[] = {
		[3] = "needs three CPUs", [4] = "needs four CPUs",
	};

	return cannot_run() ?: cpu_is_movable(least - 1) ? NULL : needs[least];
}

/*
 * Does what start_over() does, and brings OTHER online. A test calls affinity_put_back()
 * at its end.
 */
static inline int affinity_start_over(void)
{
	return start_over() ?: set_online(OTHER, true);
}

static inline int affinity_put_back(void)
{
	return set_online(OTHER, true) ?: start_over();
}

/* What becomes of an affinity that a task loses. */
enum keeping {
	NATIVELY,	/* Bolt is disabled */
	BY_DEFAULT,	/* Bolt is enabled, keep_affinity is 0 */
	IF_WANTED,	/* Bolt is enabled, keep_affinity is 1 */
};

static inline int keeping_set(enum keeping how)
{
	int err = put(BOLT_DIR "keep_affinity", how == IF_WANTED ? "1" : "0");

	return err ?: enable(how != NATIVELY);
}

/* Takes the CPUs of @list, "1", "2" or "1-2", offline or online; one by one if @how is NATIVELY. */
static inline int cpus_move(enum keeping how, const char *list, bool online)
{
	int err = 0;

	if (how != NATIVELY)
		return put(online ? BOLT_DIR "online" : BOLT_DIR "offline", list);
	for (int cpu = VICTIM; cpu <= OTHER && !err; cpu++)
		if (strchr(list, '0' + cpu))
			err = set_online(cpu, online);
	return err;
}

/* Binds a task to VICTIM, OTHER or both CPUs, as @list says: "1", "2" or "1-2". */
static inline int pin_list(pid_t pid, const char *list)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int cpu = VICTIM; cpu <= OTHER; cpu++)
		if (strchr(list, '0' + cpu))
			CPU_SET(cpu, &set);
	return pin_set(pid, &set);
}

static inline bool allowed(const struct task *task, const char *list)
{
	char text[64];

	return !task_status(task->pid, "Cpus_allowed_list", text, sizeof(text)) &&
	       !strcmp(text, list);
}

static inline bool soon_allowed(const struct task *task, const char *list)
{
	return soon(allowed(task, list), PATIENCE_MS);
}

/* Waits until a child has run through its loop once. */
static inline bool task_began(const struct task *task)
{
	return soon(slot_beats(task->slot), PATIENCE_MS);
}

/* Whether a task may soon run on just the CPUs of @list, and still may after LONG_MS. */
static inline bool stays_allowed(const struct task *task, const char *list)
{
	if (!soon_allowed(task, list))
		return false;
	wait_ms(LONG_MS);
	return allowed(task, list);
}

#endif /* SELFTESTS_BOLT_AFFINITY_H */
