/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads of a program of the lab, and one thread that is sent to CPUs that have come. */
#ifndef BOLT_THREAD_H
#define BOLT_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* Starts a thread that may run on any CPU, CPUs that come later included. */
pthread_t thread_start(void *(*run)(void *));

/* Allows the thread CPU @cpu only, or any CPU if @cpu is negative. */
void thread_allow(pthread_t thread, int cpu);

/*
 * Wakes a thread that sleeps, and returns the time at which the thread first ran on CPU
 * @cpu, in ns of CLOCK_MONOTONIC. Until the call returns, the thread may run on CPU @cpu
 * only.
 */
int64_t thread_first_run(int cpu);

#endif
