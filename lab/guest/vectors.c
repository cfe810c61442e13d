// SPDX-License-Identifier: GPL-2.0-only
/* The part of measure that uses the module in vectors/, which vectors/vectors.c explains. */
#define _GNU_SOURCE
#include "measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARAMETERS "/sys/module/vectors/parameters/"

static bool kept;

static long number(const char *path)
{
	char text[32];

	if (read_text(path, text, sizeof(text)) < 0)
		die("cannot read %s", path);
	return atol(text);
}

/*
 * Has irq_keep keep interrupts on the CPUs of @list, or nowhere if @list is "\n". Does nothing if
 * the kernel has no Bolt, or Bolt is disabled.
 */
void vectors_keep(const char *list)
{
	if (access(BOLT_DIR "enabled", F_OK) || !number(BOLT_DIR "enabled"))
		return;
	must_write(BOLT_DIR "irq_keep", list);
	kept = *list != '\n';
}

/*
 * Configures all interrupts for @cpu, and checks that all interrupts are on that CPU, or that
 * none is if irq_keep keeps the interrupts on another CPU.
 */
void vectors_gather(int cpu)
{
	char text[16];
	long there, wanted;

	snprintf(text, sizeof(text), "%d", cpu);
	must_write(PARAMETERS "gather", text);
	there = number(PARAMETERS "gathered");
	wanted = kept ? 0 : number(PARAMETERS "count");
	if (there != wanted)
		die("%ld interrupts are on CPU %d, not %ld", there, cpu, wanted);
}

/* Makes each interrupt arrive. */
void vectors_raise(void)
{
	must_write(PARAMETERS "raise", "1");
}

/*
 * Checks that each interrupt was handled as often as the interrupt was sent, and by no CPU
 * that was offline.
 */
void vectors_check(void)
{
	long wrong = number(PARAMETERS "wrong");

	if (wrong)
		die("%ld interrupts were not handled as often as sent, or by an offline CPU",
		    wrong);
}
