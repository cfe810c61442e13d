/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs come and go while the machine serves UDP requests. served.c makes the load, and
 * resize.c changes the CPUs.
 */
#ifndef BOLT_SERVED_H
#define BOLT_SERVED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What changes the CPU: this program, the guest agent, or the host, which takes an online
 * CPU out.
 */
enum way { BY_FILE, BY_AGENT, BY_HOST, WAYS };

/* When a change began and ended, ns of CLOCK_MONOTONIC. */
struct change {
	int64_t begin, end;
};

extern const char *const way_names[WAYS];

/*
 * Have the host add the CPU, or take the CPU out, and return when the kernel has added or
 * dropped the CPU.
 */
void slot_add(int cpu);
void slot_eject(int cpu);

/*
 * bring() returns when the CPU is online, take() when the CPU is offline; with BY_HOST
 * take() also has the host take the CPU out.
 */
struct change bring(int cpu, enum way way);
struct change take(int cpu, enum way way);

#endif
