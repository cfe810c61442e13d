// SPDX-License-Identifier: GPL-2.0-only
/*
 * Has cpuboltd follow the load of a day, see day.h. The load of an hour is the recorded load of a
 * web server, repeated over and over, and multiplied so that its mean is the hour's entry of
 * level[]; load that is more than the guest's CPUs can do in a step is cut off. As many tasks as
 * the guest has CPUs do the work. A task that cannot do its work in time does the work later.
 *
 * First "cpuboltd --replay" works out from the same load what the daemon would do, without
 * touching any CPU, so that the replay's requests and CPUs can be compared with the daemon's.
 */
#define _GNU_SOURCE
#include "day.h"
#include "daemon.h"
#include "lib/children.h"
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORDED	"/served.csv"	/* how many CPUs were busy, in steps of STEP_MS */
#define TRACE		"/tmp/day.csv"	/* the load of the day, for the replay */
#define REPLAYED	"/tmp/replayed"
#define STEP_MS		100
#define STEP_NS		(STEP_MS * 1000000LL)
#define HOUR_STEPS	(300 * 1000 / STEP_MS)
#define LATE_NS		1000000000LL	/* interval_ms of the daemon, by default */
#define MOST_STEPS	10000
#define HOURS		24

/* More aggressive than the default settings: the daemon may change CPUs every second. */
#define SETTINGS	"[policy]\nname=load\n" \
			"[limits]\nhold_ms=1000\ndwell_ms=1000\nchanges_per_minute=60\n"

/*
 * How many CPUs each hour of the day keeps busy on average. The numbers are made up; they rise and
 * fall like the load of a service that people use by day.
 */
static const double level[HOURS] = {
	0.35, 0.25, 0.20, 0.15, 0.15, 0.20, 0.35, 0.60, 1.00, 1.40, 1.60, 1.50,
	1.30, 1.40, 1.60, 1.60, 1.50, 1.30, 1.10, 1.20, 1.30, 1.10, 0.80, 0.50,
};

static double recorded[MOST_STEPS];	/* with a mean of 1 */
static int recorded_steps;

/* What the tasks have done, each task in an entry of its own. */
static struct done {
	long long work_ns, late_ns;	/* all work, and work that was late by LATE_NS or more */
	long long longest_ns;		/* the longest delay of any work */
} *done;

static void read_recorded(void)
{
	FILE *file = fopen(RECORDED, "r");
	double sum = 0, seconds;
	char line[256];

	if (!file)
		die("cannot read %s", RECORDED);
	while (recorded_steps < MOST_STEPS && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lf,%lf", &seconds, &recorded[recorded_steps]) == 2)
			sum += recorded[recorded_steps++];
	}
	fclose(file);
	if (!sum)
		die("%s has no load", RECORDED);
	for (int i = 0; i < recorded_steps; i++)
		recorded[i] *= recorded_steps / sum;
}

/* How many CPUs the step @step of the day keeps busy. */
static double demand(long step)
{
	double wanted = level[step / HOUR_STEPS % HOURS] * recorded[step % recorded_steps];

	return wanted < count ? wanted : count;
}

/* -- Replay ----------------------------------------------------------------------- */

static void write_trace(long first, long steps)
{
	FILE *file = fopen(TRACE, "w");

	if (!file)
		die("cannot write %s", TRACE);
	fputs("interval,demand\n", file);
	for (long i = 0; i < steps; i++)
		fprintf(file, "%.3f,%.3f\n", STEP_MS / 1000.0, demand(first + i));
	if (fclose(file))
		die("cannot write %s", TRACE);
}

/* Prints what the replay prints at its end. */
static void replay(void)
{
	char *args[] = { "/bin/cpuboltd", "--config", CONFIG, "--replay", TRACE, NULL };
	int out = open(REPLAYED, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), own = dup(1);
	char line[512];
	bool end = false;
	FILE *file;

	if (out < 0 || own < 0)
		die("cannot write %s", REPLAYED);
	fflush(stdout);
	dup2(out, 1);
	if (ended(start(args)))
		give_up("the replay failed");
	dup2(own, 1);
	close(own);
	file = fdopen(out, "r");
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		end |= strstr(line, "on average") != NULL;
		if (end)
			printf("replay: %s", line);
	}
	fclose(file);
}

/* -- The load itself --------------------------------------------------------------- */

/* Returns the CPU time of this task in ns. */
static long long own_time(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Does the part of task @number in each step. */
static void work(int number, long first, long steps, long long begin)
{
	struct done *own = &done[number];

	for (long i = 0; i < steps; i++) {
		double share = demand(first + i) - number;
		long long due = begin + i * STEP_NS, ns, end, late;

		if (share <= 0)
			continue;
		ns = (share < 1 ? share : 1) * STEP_NS;
		wait_until(CLOCK_MONOTONIC, due);
		for (end = own_time() + ns; own_time() < end;)
			work_rounds(2000);
		late = now_ns() - due - STEP_NS;
		own->work_ns += ns;
		own->late_ns += late >= LATE_NS ? ns : 0;
		own->longest_ns = late > own->longest_ns ? late : own->longest_ns;
	}
	_exit(0);
}

static void start_tasks(pid_t *tasks, long first, long steps, long long begin)
{
	done = mmap(NULL, count * sizeof(*done), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (done == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	for (int i = 0; i < count; i++) {
		tasks[i] = fork_mortal();
		if (tasks[i] < 0)
			die("fork: %s", strerror(errno));
		if (!tasks[i])
			work(i, first, steps, begin);
	}
}

/* Counts the online CPUs in each step; prints the number's changes, mean, minimum and maximum. */
static void watch(pid_t daemon, long steps, long long begin)
{
	int before = count, least = count, most = 0;
	long changes = 0, sum = 0;

	for (long i = 0; i < steps; i++) {
		int now;

		wait_until(CLOCK_MONOTONIC, begin + i * STEP_NS);
		now = online_count();
		changes += now != before;
		sum += now;
		least = now < least ? now : least;
		most = now > most ? now : most;
		before = now;
		if (waitpid(daemon, NULL, WNOHANG))
			give_up("the daemon has ended by itself");
	}
	printf("day: %ld s, %ld changes, %.2f CPUs online on average, %d at least, %d at most\n",
	       steps * STEP_MS / 1000, changes, (double)sum / steps, least, most);
}

static void print_done(void)
{
	struct done all = { 0 };

	for (int i = 0; i < count; i++) {
		all.work_ns += done[i].work_ns;
		all.late_ns += done[i].late_ns;
		if (done[i].longest_ns > all.longest_ns)
			all.longest_ns = done[i].longest_ns;
	}
	printf("day: %.1f s of work, %.3f %% of it late by a second or more, at most by %.2f s\n",
	       all.work_ns / 1e9, all.work_ns ? 100.0 * all.late_ns / all.work_ns : 0,
	       all.longest_ns / 1e9);
}

void day(long from, long hours)
{
	long first = from * HOUR_STEPS, steps = hours * HOUR_STEPS;
	pid_t daemon, tasks[MAX_CPUS];
	long long begin;

	daemon_configure(SETTINGS);
	read_recorded();
	write_trace(first, steps);
	replay();
	daemon = start_daemon();
	begin = now_ns() + 2 * LATE_NS;
	start_tasks(tasks, first, steps, begin);
	watch(daemon, steps, begin);
	for (int i = 0; i < count; i++) {
		if (ended(tasks[i]))
			give_up("a task of the load has failed");
	}
	print_done();
	stop_daemon(daemon);
}
