/* SPDX-License-Identifier: GPL-2.0-only */
/* Child processes that run on the CPUs that a test chooses, and count how often their loops run. */
#ifndef SELFTESTS_BOLT_TASKS_H
#define SELFTESTS_BOLT_TASKS_H

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "bolt.h"
#include "lib/children.h"
#include "lib/place.h"
#include "lib/soon.h"

/* Memory in which a child shows what it does. */
struct slot {
	unsigned long beats;	/* how often the child has run through its loop */
	unsigned long there;	/* how often the child found itself on VICTIM */
	long value;		/* a number whose meaning depends on the test */
};

struct task {
	pid_t pid;
	struct slot *slot;
};

static inline struct slot *slots_map(int n)
{
	void *map = mmap(NULL, n * sizeof(struct slot), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

static inline unsigned long slot_beats(const struct slot *slot)
{
	return __atomic_load_n(&slot->beats, __ATOMIC_SEQ_CST);
}

static inline void slot_beat(struct slot *slot)
{
	unsigned int cpu = -1;

	syscall(SYS_getcpu, &cpu, NULL, NULL);
	if (cpu == VICTIM)
		__atomic_add_fetch(&slot->there, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&slot->beats, 1, __ATOMIC_SEQ_CST);
}

/*
 * Runs without a sleep. The instruction for a CPU that waits in a loop, pause or yield,
 * makes an emulator with one thread go on with the next CPU; without that instruction
 * QEMU 7.2 lets a busy CPU run until the next timer in virtual time, and may give another
 * busy CPU no more than 30 us in 8 ms.
 */
static inline void spin(struct slot *slot)
{
	for (;;) {
		slot_beat(slot);
#if defined(__x86_64__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("yield");
#endif
	}
}

/* Starts a child that runs @run, and dies with its parent. */
static inline pid_t task_start(struct task *task, struct slot *slot,
			       void (*run)(struct slot *slot))
{
	task->slot = slot;
	task->pid = fork_mortal();
	if (!task->pid) {
		run(slot);
		_exit(0);
	}
	return task->pid;
}

static inline void task_kill(struct task *task)
{
	if (task->pid > 0) {
		kill(task->pid, SIGKILL);
		waitpid(task->pid, NULL, 0);
	}
	task->pid = 0;
}

/*
 * Waits until the child has run through its loop @n times more. Returns false if that
 * takes longer than @ms ms.
 */
static inline bool task_lives(const struct task *task, unsigned long n, long ms)
{
	unsigned long end = slot_beats(task->slot) + n;

	return soon(slot_beats(task->slot) >= end, ms);
}

/* Reads the value of a line of /proc/PID/status. */
static inline int task_status(pid_t pid, const char *key, char *text, size_t size)
{
	char path[64], all[4096], *line, *end;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	err = get(path, all, sizeof(all));
	if (err)
		return err;
	line = strstr(all, key);
	if (!line)
		return -ENOENT;
	line += strlen(key);
	line += strspn(line, ":\t ");
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	snprintf(text, size, "%s", line);
	return 0;
}

/* Reads the state letter of a task, and the CPU that it last ran on. */
static inline int task_where(pid_t pid, char *state, int *cpu)
{
	char path[64], text[1024], *at;
	int err, field = 3;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	err = get(path, text, sizeof(text));
	if (err)
		return err;
	/* The name of the task may hold any character, ')' too. */
	at = strrchr(text, ')');
	if (!at)
		return -EINVAL;
	*state = at[2];
	for (at += 2; field < 39; field++) {
		at = strchr(at, ' ');
		if (!at)
			return -EINVAL;
		at++;
	}
	*cpu = atoi(at);
	return 0;
}

#endif /* SELFTESTS_BOLT_TASKS_H */
