/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules that hold whatever a policy wants
 *
 * - The floor is online, and CPUs that are not usable do not come.
 * - Delay: a CPU goes only when no decision has wanted the CPU for the time "hold". For a policy
 *   that is not urgent, "hold" also delays CPUs that come, see policy.h.
 * - Return: if an urgent policy wants a CPU again within two minutes after the CPU went, although
 *   the load is about the same as when the policy ceased to want the CPU, and the CPUs online are
 *   not busier than FULL_PERCENT, then the CPU stays for 4 times "hold" when the policy next ceases
 *   to want the CPU. After further such returns, the CPU stays for 16, 64 and 256 times "hold". But
 *   the CPU may go once the load has been a different one for "hold". Without this rule, tasks that
 *   wait for each other on few CPUs, and do not wait on more CPUs, would let CPUs come and go for
 *   ever.
 * - Dwell: a CPU that came stays for the time "dwell" at least.
 * - Limit: in a minute there are "per_minute" changes at most. The last change that is left takes
 *   no CPU offline, and brings all usable CPUs, so that no load has to wait until the minute is
 *   over. When no change is left, only CPUs of the floor come, in changes beyond the limit.
 *
 * These functions do not look at a clock: the caller says what time it is.
 */
#ifndef RESTRAIN_H
#define RESTRAIN_H

#include <stdint.h>

#include "policy.h"

struct restraint_rules {
	uint64_t hold_us;
	uint64_t dwell_us;
	unsigned int per_minute;	/* at least 2 */
};

/** Why restrain() wants a CPU online, or does not */
enum reason {
	REASON_WANTED,		/* the policy wants the CPU */
	REASON_UNWANTED,	/* the policy does not want the CPU, which is or goes offline */
	REASON_FLOOR,		/* the CPU has to be online */
	REASON_HOLD,		/* too soon after the policy began, or ceased, to want the CPU */
	REASON_RETURNS,		/* not wanted, but was soon wanted again when the CPU last went */
	REASON_DWELL,		/* not wanted, but came online less than "dwell" ago */
	REASON_LIMIT,		/* the limit of changes decides: see above */
	REASON_UNUSABLE,	/* the daemon leaves the CPU alone */
};

struct restraint;

/**
 * restraint_new() - make the state that restrain() keeps of @count CPUs; NULL if memory is short
 *
 * A CPU that is online counts as always online until restraint_changed() or restraint_came() notes
 * that the CPU came.
 */
struct restraint *restraint_new(unsigned int count);

void restraint_free(struct restraint *restraint);

/**
 * restrain() - decide which CPUs are to be online now
 * @policy: the policy that has decided on @wanted
 * @wanted: CPUs that the policy wants
 * @now_us: time, of a clock that does not go back
 * @result: overwritten with the usable CPUs that are to be online; must not be the set
 *	    inputs->online, which is read while @result is filled in
 */
void restrain(struct restraint *restraint, const struct restraint_rules *rules,
	      const struct policy *policy, const struct inputs *inputs, const cpu_set_t *wanted,
	      uint64_t now_us, cpu_set_t *result);

/** restraint_reason() - why the last call of restrain() has decided on @cpu as it has */
enum reason restraint_reason(const struct restraint *restraint, unsigned int cpu);

/** restraint_changed() - note a change of the CPUs online, if @before and @after differ */
void restraint_changed(struct restraint *restraint, const struct inputs *inputs,
		       const cpu_set_t *before, const cpu_set_t *after, uint64_t now_us);

/** restraint_came() - note that @cpu has come online without the daemon, which is no change here */
void restraint_came(struct restraint *restraint, unsigned int cpu, uint64_t now_us);

/** restraint_changes() - number of changes noted by restraint_changed() in the minute to @now_us */
unsigned int restraint_changes(const struct restraint *restraint, uint64_t now_us);

#endif /* RESTRAIN_H */
