// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures how long a CPU takes to be free of tasks, and to have a task again:
 *	in	from the start to the end of the write that frees an idle CPU (see pause.h)
 *	left	from the start of the write that frees a CPU on which a task works until the
 *		task works on another CPU
 *	back	from the start to the end of the write that gives the CPU back
 *	out	from the start of that write until a task that asks for the CPU after the
 *		write runs there
 * If the CPU stays online and is only idle, there is no write: only "out" is measured, from
 * the moment at which the CPU would be given back.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "lib/soon.h"
#include "pause.h"
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define WARMUP 2
#define MAX_ROUNDS 200
#define GAP_MS 50
#define PATIENCE_MS 10000
#define PIECE_NS 20000

static int64_t in_ns[MAX_ROUNDS], left_ns[MAX_ROUNDS], back_ns[MAX_ROUNDS], out_ns[MAX_ROUNDS];

/* -- A CPU that is idle ---------------------------------------------------------- */

static void idle_round(const struct pause *p, int i)
{
	int64_t start = now_ns();

	pause_request(p, true);
	in_ns[i] = now_ns() - start;
	pause_check(p, true);
	turn(i);
	start = now_ns();
	pause_request(p, false);
	back_ns[i] = now_ns() - start;
	out_ns[i] = thread_first_run(p->cpus[0]) - start;
	pause_check(p, false);
	gap(GAP_MS, i);
}

/* -- A CPU on which a task works --------------------------------------------------- */

static sem_t work_now;
static atomic_bool working;
static atomic_int works_on;
static _Atomic int64_t moved_at;	/* first move since busy_round() set this to 0, or 0 */

/*
 * The task sleeps between two pieces of work: in virtual time, a CPU that never halts
 * keeps the emulator from running the other CPUs, for milliseconds.
 */
static void *work(void *unused)
{
	const struct timespec pause = { 0, PIECE_NS };

	prctl(PR_SET_TIMERSLACK, 1);
	for (;;) {
		sem_wait(&work_now);
		while (working) {
			int64_t now = now_ns(), end = now + PIECE_NS;
			int cpu = sched_getcpu();

			if (cpu != works_on && !moved_at)
				moved_at = now;
			works_on = cpu;
			while (now_ns() < end)
				;
			nanosleep(&pause, NULL);
		}
	}
	return unused;
}

static void busy_round(const struct pause *p, pthread_t task, int i)
{
	int cpu = p->cpus[0];
	int64_t start;

	working = true;
	thread_allow(task, cpu);
	sem_post(&work_now);
	if (!soon(works_on == cpu, PATIENCE_MS))
		die("the working task does not come to the CPU");
	thread_allow(task, -1);
	turn(i);
	moved_at = 0;
	start = now_ns();
	pause_request(p, true);
	if (!soon(moved_at, PATIENCE_MS))
		die("the working task does not leave the CPU");
	left_ns[i] = moved_at - start;
	working = false;
	pause_request(p, false);
	pause_check(p, false);
	gap(GAP_MS, i);
}

/* -- The report ------------------------------------------------------------------ */

static void report(const struct pause *p, const char *what, const int64_t *ns, int n)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", way_names[p->way], what);
	emit_samples(name, 1, ns + WARMUP, n);
}

void pause_times(const struct pause *p, int n)
{
	static pthread_t works;
	static bool started;

	if (n > MAX_ROUNDS - WARMUP)
		die("n= is too large");
	if (!started) {
		started = true;
		if (sem_init(&work_now, 0, 0))
			die("semaphore: %s", strerror(errno));
		works = thread_start(work);
	}
	for (int i = 0; i < WARMUP + n; i++)
		idle_round(p, i);
	report(p, "out", out_ns, n);
	if (p->way == ONLINE)
		return;
	report(p, "in", in_ns, n);
	report(p, "back", back_ns, n);
	for (int i = 0; i < WARMUP + n; i++)
		busy_round(p, works, i);
	report(p, "left", left_ns, n);
}
