// SPDX-License-Identifier: GPL-2.0-only
/* Floor, delay, return, dwell, and the limit of changes: see restrain.h */
#include <stdlib.h>
#include <string.h>

#include "restrain.h"

#define MINUTE_US	60000000ULL
#define SOON_US		(2 * MINUTE_US)	/* more than a minute, the longest "interval_ms" */
#define MOST_CHANGES	1024	/* changes that are remembered; the limit may not be higher */
#define FORGET_US	(5 * MINUTE_US)
#define MOST_DOUBLINGS	6
#define MOST_RETURNS	4

struct cpu {
	bool wanted;		/* whether the last decision wanted the CPU */
	bool decided;		/* whether there was a decision */
	uint64_t since_us;	/* when "wanted" last changed */
	bool came;		/* true: the CPU came at online_us; false: it has never come */
	uint64_t online_us;
	unsigned int in_vain;	/* times in a row that the CPU came, and soon was not wanted */
	uint64_t vain_us;	/* when "in_vain" was last set */
	bool went;		/* true: the CPU went at offline_us, and was not wanted since */
	uint64_t offline_us;
	unsigned long load;	/* load_of() when the policy last ceased to want the CPU */
	uint64_t alike_us;	/* when the load was last about as high as "load" */
	unsigned int returns;	/* times in a row that the CPU went, and soon was wanted again */
	enum reason reason;
};

struct restraint {
	unsigned int count;
	unsigned int next, changes;	/* next place in the ring times[]; number of entries */
	uint64_t times[MOST_CHANGES];
	struct cpu cpus[];
};

struct restraint *restraint_new(unsigned int count)
{
	struct restraint *made = calloc(1, sizeof(*made) + count * sizeof(made->cpus[0]));

	if (made)
		made->count = count;
	return made;
}

void restraint_free(struct restraint *restraint)
{
	free(restraint);
}

enum reason restraint_reason(const struct restraint *restraint, unsigned int cpu)
{
	return cpu < restraint->count ? restraint->cpus[cpu].reason : REASON_UNUSABLE;
}

unsigned int restraint_changes(const struct restraint *restraint, uint64_t now_us)
{
	unsigned int i, found = 0;

	for (i = 1; i <= restraint->changes; i++) {
		if (now_us - restraint->times[(restraint->next - i) % MOST_CHANGES] >= MINUTE_US)
			break;
		found++;
	}
	return found;
}

/* -- One CPU ---------------------------------------------------------------- */

/* Tells whether two loads differ by at most a quarter of the higher one. */
static bool is_alike(unsigned long a, unsigned long b)
{
	return 4 * a >= 3 * b && 4 * b >= 3 * a;
}

/*
 * The policy wants a CPU that has gone. If the CPU went a short time ago, and the load is about the
 * same as when the policy ceased to want the CPU, the load needs the CPU, and cpu->returns counts
 * the return. CPUs that are @full do not show how high the load is, so the return does not count.
 */
static void note_return(struct cpu *cpu, unsigned long load, bool full, uint64_t now_us)
{
	if (!cpu->went)
		return;
	cpu->went = false;
	if (now_us - cpu->offline_us > SOON_US)
		cpu->returns = 0;
	else if (!full && is_alike(load, cpu->load) && cpu->returns < MOST_RETURNS)
		cpu->returns++;
}

static void note_wish(struct cpu *cpu, bool wanted, bool online, unsigned long load,
		      uint64_t now_us)
{
	if (cpu->decided && cpu->wanted == wanted)
		return;
	/*
	 * If the policy wanted a CPU for less than a minute after the CPU came, the CPU comes later
	 * the next time, unless the policy is urgent. If the wish ends before the CPU has come,
	 * "in_vain" stays as it is.
	 */
	if (cpu->decided && !wanted && cpu->came && online) {
		if (now_us - cpu->online_us >= MINUTE_US)
			cpu->in_vain = 0;
		else if (cpu->in_vain < MOST_DOUBLINGS)
			cpu->in_vain++;
		cpu->vain_us = now_us;
	}
	if (!wanted)
		cpu->load = load;
	cpu->decided = true;
	cpu->wanted = wanted;
	cpu->since_us = now_us;
}

/* Some minutes after a CPU came in vain, the host may have less to do: the CPU may come sooner. */
static void forget(struct cpu *cpu, uint64_t now_us)
{
	if (!cpu->in_vain || now_us - cpu->vain_us < FORGET_US)
		return;
	cpu->in_vain--;
	cpu->vain_us = now_us;
}

static bool may_come(const struct cpu *cpu, const struct restraint_rules *rules,
		     const struct policy *policy, uint64_t now_us)
{
	return policy->urgent || now_us - cpu->since_us >= rules->hold_us << cpu->in_vain;
}

/* Tells whether a CPU that the policy does not want would probably be wanted again soon. */
static bool would_return(const struct cpu *cpu, const struct restraint_rules *rules,
			 const struct policy *policy, uint64_t now_us)
{
	return policy->urgent && cpu->returns && now_us - cpu->alike_us < rules->hold_us &&
	       now_us - cpu->since_us < rules->hold_us << 2 * cpu->returns;
}

/* Decides whether a usable CPU is to be online, before the limit of changes applies. */
static bool judge(struct cpu *cpu, const struct restraint_rules *rules,
		  const struct policy *policy, bool online, bool floor, uint64_t now_us)
{
	if (floor) {
		cpu->reason = REASON_FLOOR;
		return true;
	}
	if (cpu->wanted) {
		cpu->reason = REASON_WANTED;
		if (online || may_come(cpu, rules, policy, now_us))
			return true;
		cpu->reason = REASON_HOLD;
		return false;
	}
	cpu->reason = REASON_UNWANTED;
	if (!online)
		return false;
	if (now_us - cpu->since_us < rules->hold_us)
		cpu->reason = REASON_HOLD;
	else if (would_return(cpu, rules, policy, now_us))
		cpu->reason = REASON_RETURNS;
	else if (cpu->came && now_us - cpu->online_us < rules->dwell_us)
		cpu->reason = REASON_DWELL;
	return cpu->reason != REASON_UNWANTED;
}

/* -- The limit of changes --------------------------------------------------- */

/* Leaves @cpu as it is, because of the limit of changes. */
static void keep(struct restraint *restraint, const struct inputs *inputs, unsigned int cpu,
		 cpu_set_t *result)
{
	restraint->cpus[cpu].reason = REASON_LIMIT;
	if (CPU_ISSET_S(cpu, inputs->size, inputs->online))
		CPU_SET_S(cpu, inputs->size, result);
	else
		CPU_CLR_S(cpu, inputs->size, result);
}

/* The last change that is left in this minute brings all usable CPUs. */
static void bring_all(struct restraint *restraint, const struct inputs *inputs, cpu_set_t *result)
{
	unsigned int cpu;

	for (cpu = 0; cpu < inputs->count; cpu++) {
		if (!CPU_ISSET_S(cpu, inputs->size, inputs->usable) ||
		    CPU_ISSET_S(cpu, inputs->size, result))
			continue;
		CPU_SET_S(cpu, inputs->size, result);
		restraint->cpus[cpu].reason = REASON_LIMIT;
	}
}

static void limit(struct restraint *restraint, const struct restraint_rules *rules,
		  const struct inputs *inputs, uint64_t now_us, cpu_set_t *result)
{
	unsigned int changes = restraint_changes(restraint, now_us), cpu;
	unsigned int left = changes < rules->per_minute ? rules->per_minute - changes : 0;
	bool come = false;

	if (left >= 2)
		return;
	for (cpu = 0; cpu < inputs->count; cpu++) {
		bool online = CPU_ISSET_S(cpu, inputs->size, inputs->online);
		bool then = CPU_ISSET_S(cpu, inputs->size, result);

		/* A CPU that goes may have to come back, for which a change must be left. */
		if (online && !then)
			keep(restraint, inputs, cpu, result);
		else if (!left && then && !online &&
			 !CPU_ISSET_S(cpu, inputs->size, inputs->floor))
			keep(restraint, inputs, cpu, result);
		else if (then && !online)
			come = true;
	}
	if (left && come)
		bring_all(restraint, inputs, result);
}

/* --------------------------------------------------------------------------- */

void restrain(struct restraint *restraint, const struct restraint_rules *rules,
	      const struct policy *policy, const struct inputs *inputs, const cpu_set_t *wanted,
	      uint64_t now_us, cpu_set_t *result)
{
	unsigned long load = load_of(inputs);
	bool full = !suffices(capacity_of(inputs, inputs->online), load, FULL_PERCENT);
	bool online, then, floor;
	unsigned int cpu;

	CPU_ZERO_S(inputs->size, result);
	for (cpu = 0; cpu < inputs->count; cpu++) {
		struct cpu *one = &restraint->cpus[cpu];

		one->reason = REASON_UNUSABLE;
		if (!CPU_ISSET_S(cpu, inputs->size, inputs->usable))
			continue;
		online = CPU_ISSET_S(cpu, inputs->size, inputs->online);
		then = CPU_ISSET_S(cpu, inputs->size, wanted);
		floor = CPU_ISSET_S(cpu, inputs->size, inputs->floor);
		note_wish(one, then, online, load, now_us);
		if (then && !online && !floor)
			note_return(one, load, full, now_us);
		if (is_alike(load, one->load))
			one->alike_us = now_us;
		forget(one, now_us);
		if (judge(one, rules, policy, online, floor, now_us))
			CPU_SET_S(cpu, inputs->size, result);
	}
	limit(restraint, rules, inputs, now_us, result);
}

void restraint_came(struct restraint *restraint, unsigned int cpu, uint64_t now_us)
{
	if (cpu >= restraint->count)
		return;
	restraint->cpus[cpu].came = true;
	restraint->cpus[cpu].online_us = now_us;
}

void restraint_changed(struct restraint *restraint, const struct inputs *inputs,
		       const cpu_set_t *before, const cpu_set_t *after, uint64_t now_us)
{
	unsigned int cpu;

	if (CPU_EQUAL_S(inputs->size, before, after))
		return;
	for (cpu = 0; cpu < inputs->count; cpu++) {
		struct cpu *one = &restraint->cpus[cpu];
		bool then = CPU_ISSET_S(cpu, inputs->size, after);

		if (then == !!CPU_ISSET_S(cpu, inputs->size, before))
			continue;
		one->went = !then;
		if (then)
			restraint_came(restraint, cpu, now_us);
		else
			one->offline_us = now_us;
	}
	restraint->times[restraint->next++ % MOST_CHANGES] = now_us;
	if (restraint->changes < MOST_CHANGES)
		restraint->changes++;
}
