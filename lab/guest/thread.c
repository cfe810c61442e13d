// SPDX-License-Identifier: GPL-2.0-only
/* Threads of a program of the lab, and one thread that is sent to CPUs that have come. */
#define _GNU_SOURCE
#include "guest.h"
#include "thread.h"

#include <sched.h>
#include <semaphore.h>
#include <string.h>

static sem_t wanted, ran;
static int64_t ran_at;
static int ran_on;

void thread_allow(pthread_t thread, int cpu)
{
	cpu_set_t cpus;

	if (cpu < 0) {
		memset(&cpus, 0xff, sizeof(cpus));
	} else {
		CPU_ZERO(&cpus);
		CPU_SET(cpu, &cpus);
	}
	if (pthread_setaffinity_np(thread, sizeof(cpus), &cpus))
		die("no thread can run on CPU %d", cpu);
}

pthread_t thread_start(void *(*run)(void *))
{
	pthread_t new;
	int err = pthread_create(&new, NULL, run, NULL);

	if (err)
		die("thread: %s", strerror(err));
	thread_allow(new, -1);
	return new;
}

static void *first_task(void *unused)
{
	for (;;) {
		sem_wait(&wanted);
		ran_at = now_ns();
		ran_on = sched_getcpu();
		sem_post(&ran);
	}
	return unused;
}

int64_t thread_first_run(int cpu)
{
	static pthread_t task;
	static bool started;

	if (!started) {
		if (sem_init(&wanted, 0, 0) || sem_init(&ran, 0, 0))
			die("no semaphore");
		task = thread_start(first_task);
		started = true;
	}
	thread_allow(task, cpu);
	sem_post(&wanted);
	sem_wait(&ran);
	if (ran_on != cpu)
		die("the thread for CPU %d ran on CPU %d", cpu, ran_on);
	thread_allow(task, -1);
	return ran_at;
}
