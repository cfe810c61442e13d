/* SPDX-License-Identifier: GPL-2.0-only */
/* Has cpuboltd follow the load of a day, in which an hour takes five minutes. */
#ifndef BOLT_DAY_H
#define BOLT_DAY_H

/* Plays @hours hours of the day, from the hour @from on. */
void day(long from, long hours);

#endif
