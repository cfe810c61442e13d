// SPDX-License-Identifier: LGPL-2.1-or-later
/* What became of a request, as one sentence. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

static const char *plural(unsigned int count)
{
	return count == 1 ? "" : "s";
}

static void say_cpu(FILE *out, const struct cpubolt_result *result)
{
	if (result->cpu >= 0)
		fprintf(out, "CPU %d", result->cpu);
	else
		fputs("a CPU of the list", out);
}

static bool refused(const struct cpubolt_result *result)
{
	return !result->state[0] || !strcmp(result->state, "admission");
}

/* -- Why a request was refused ------------------------------------------------ */

static void say_einval(FILE *out, enum cpubolt_op op, const struct cpubolt_result *result)
{
	if (result->cpu >= 0)
		fprintf(out, "this machine cannot have a CPU %d", result->cpu);
	else
		fputs("the list has no CPU, or a number that this machine cannot have", out);
}

static void say_enodev(FILE *out, enum cpubolt_op op, const struct cpubolt_result *result)
{
	say_cpu(out, result);
	fputs(" is not plugged in", out);
}

static void say_eperm(FILE *out, enum cpubolt_op op, const struct cpubolt_result *result)
{
	say_cpu(out, result);
	if (op == CPUBOLT_TAKE_OFFLINE)
		fputs(" cannot be taken offline", out);
	else if (op == CPUBOLT_SET_ONLINE)
		fputs(" cannot be taken offline, or", out);
	if (op != CPUBOLT_TAKE_OFFLINE) {
		fputs(" must not come online while SMT is switched off", out);
		fputs(" (see /sys/devices/system/cpu/smt/control)", out);
	}
}

static void say_ebusy(FILE *out, enum cpubolt_op op, const struct cpubolt_result *result)
{
	if (op == CPUBOLT_BRING_ONLINE) {
		fputs("CPU hotplug is disabled at the moment", out);
		return;
	}
	say_cpu(out, result);
	fputs(" has to stay: no CPU that tasks may run on would be left", out);
	if (result->way != CPUBOLT_WAY_NATIVE)
		fputs(", irq_keep lists the CPU", out);
	if (result->way != CPUBOLT_WAY_NATIVE || result->state[0]) {
		fputs(", or CPU hotplug is disabled at the moment", out);
		return;
	}
	fputs(", CPU hotplug is disabled at the moment, or a callback of a hotplug state", out);
	fputs(" refuses, as when SCHED_DEADLINE tasks need the CPU time", out);
}

static void say_eopnotsupp(FILE *out, enum cpubolt_op op, const struct cpubolt_result *result)
{
	fputs(result->way == CPUBOLT_WAY_NATIVE ?
	      "this kernel or platform cannot take CPUs offline" :
	      "the kernel has no Bolt, Bolt is disabled, or the platform has no CPU hotplug", out);
}

static void say_e2big(FILE *out, enum cpubolt_op op, const struct cpubolt_result *result)
{
	fputs("the list of CPUs is longer than the kernel takes", out);
}

static void say_eacces(FILE *out, enum cpubolt_op op, const struct cpubolt_result *result)
{
	fputs("only root may change which CPUs are online", out);
}

static void say_erofs(FILE *out, enum cpubolt_op op, const struct cpubolt_result *result)
{
	fputs("sysfs is mounted read-only, as in most containers", out);
}

static void say_enoent(FILE *out, enum cpubolt_op op, const struct cpubolt_result *result)
{
	say_cpu(out, result);
	fputs(" has no file in sysfs any more", out);
}

static void say_enomem(FILE *out, enum cpubolt_op op, const struct cpubolt_result *result)
{
	fputs("memory is short", out);
}

static void say_eio(FILE *out, enum cpubolt_op op, const struct cpubolt_result *result)
{
	say_cpu(out, result);
	fputs(" did not answer", out);
}

static const struct {
	int err;
	void (*say)(FILE *out, enum cpubolt_op op, const struct cpubolt_result *result);
} reasons[] = {
	{ EINVAL, say_einval },
	{ ENODEV, say_enodev },
	{ EPERM, say_eperm },
	{ EBUSY, say_ebusy },
	{ EOPNOTSUPP, say_eopnotsupp },
	{ E2BIG, say_e2big },
	{ EACCES, say_eacces },
	{ EROFS, say_erofs },
	{ ENOENT, say_enoent },
	{ ENOMEM, say_enomem },
	{ EIO, say_eio },
};

static void say_other(FILE *out, int err)
{
	const char *text = strerrordesc_np(err);

	if (text)
		fprintf(out, "%s (errno %d)", text, err);
	else
		fprintf(out, "errno %d", err);
}

/*
 * The library refuses wrong CPU numbers before any write, so on the native way EINVAL and ENODEV
 * come from a callback of a hotplug state. Unless Bolt is enabled, that state is not known.
 */
static bool by_a_callback(const struct cpubolt_result *result)
{
	return result->way == CPUBOLT_WAY_NATIVE && !result->state[0] &&
	       (result->error == EINVAL || result->error == ENODEV);
}

static void say_refused(FILE *out, enum cpubolt_op op, const struct cpubolt_result *result)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(reasons) && !by_a_callback(result); i++) {
		if (reasons[i].err == result->error) {
			reasons[i].say(out, op, result);
			return;
		}
	}
	say_cpu(out, result);
	fputs(" failed: ", out);
	say_other(out, result->error);
}

/* -- What failed in the middle ------------------------------------------------ */

static void say_failed(FILE *out, const struct cpubolt_result *result)
{
	if (result->error == EBUSY && !strcmp(result->state, "sched:active")) {
		fputs("the CPUs that stay do not have the CPU time", out);
		fputs(" that SCHED_DEADLINE tasks have been promised", out);
		return;
	}
	say_cpu(out, result);
	fprintf(out, " failed in the hotplug state %s: ", result->state);
	say_other(out, result->error);
}

static void say_rest(FILE *out, const struct cpubolt_result *result)
{
	if (result->undo[0])
		fprintf(out, "; these CPUs could not be put back, each with its hotplug state: %s",
			result->undo);
	else if (result->changed)
		fprintf(out, "; %u CPU%s changed, %u CPU%s did not", result->changed,
			plural(result->changed), result->missing, plural(result->missing));
	else if (result->way == CPUBOLT_WAY_NONE || result->missing)
		fputs("; nothing has changed", out);
}

/* -- Success ------------------------------------------------------------------ */

static void say_success(FILE *out, enum cpubolt_op op, const struct cpubolt_result *result)
{
	static const char *const changes[] = {
		[CPUBOLT_BRING_ONLINE] = "came online",
		[CPUBOLT_TAKE_OFFLINE] = "went offline",
		[CPUBOLT_SET_ONLINE] = "came online or went offline",
	};

	if (result->way == CPUBOLT_WAY_NONE) {
		fputs("every CPU was already as wanted", out);
		return;
	}
	fprintf(out, "%u CPU%s %s in %.3f ms, %s", result->changed, plural(result->changed),
		changes[(unsigned int)op <= CPUBOLT_SET_ONLINE ? op : CPUBOLT_SET_ONLINE],
		(double)result->ns / 1e6,
		result->way == CPUBOLT_WAY_BATCH ? "in one request" :
						   "one CPU after the other, without Bolt");
	if (result->missing)
		fprintf(out, "; %u CPU%s not as wanted, changed back since or left half-way",
			result->missing, result->missing == 1 ? " is" : "s are");
}

char *cpubolt_explain(enum cpubolt_op op, const struct cpubolt_result *result)
{
	size_t length;
	char *text;
	FILE *out = open_memstream(&text, &length);
	bool good;

	if (!out)
		return NULL;
	if (!result->error) {
		say_success(out, op, result);
	} else {
		if (refused(result))
			say_refused(out, op, result);
		else
			say_failed(out, result);
		say_rest(out, result);
	}
	good = !ferror(out);
	if (!fclose(out) && good)
		return text;
	free(text);
	return NULL;
}
