// SPDX-License-Identifier: GPL-2.0-only
/* What the daemon does, in words */
#include <stdio.h>
#include <stdlib.h>

#include "daemon.h"

static bool has(const struct daemon *daemon, const cpu_set_t *set, unsigned int cpu)
{
	return CPU_ISSET_S(cpu, daemon->machine->size, set);
}

static void print_set(FILE *out, const struct daemon *daemon, const char *name,
		      const cpu_set_t *set, const char *more)
{
	char *list = machine_list(daemon->machine, set);

	fprintf(out, "%-9s %s%s%s\n", name, list ?: "no memory", *more ? ", " : "", more);
	free(list);
}

static void print_leases(FILE *out, const struct daemon *daemon, uint64_t now)
{
	unsigned int i;

	for (i = 0; i < MOST_LEASES; i++) {
		const struct lease *lease = &daemon->leases[i];
		char *list;

		if (!lease->id || lease->until_us <= now)
			continue;
		list = machine_list(daemon->machine, lease->cpus);
		fprintf(out, "%-9s %u: CPUs %s for %llu s\n", "lease", lease->id,
			list ?: "no memory",
			(unsigned long long)(lease->until_us - now + 999999) / 1000000);
		free(list);
	}
}

static char *finish(FILE *out, char **text)
{
	bool good = !ferror(out);

	if (!fclose(out) && good)
		return *text;
	free(*text);
	return NULL;
}

char *explain_status(struct daemon *daemon)
{
	uint64_t now = daemon_now_us();
	char *text, counted[64];
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	fprintf(out, "%-9s %s, %s%s\n", "policy", daemon->config->policy->name,
		daemon->config->policy->summary, daemon->dry_run ? " (dry run)" : "");
	snprintf(counted, sizeof(counted), "%d CPUs",
		 CPU_COUNT_S(daemon->machine->size, daemon->owner.online));
	print_set(out, daemon, "online", daemon->owner.online, counted);
	print_set(out, daemon, "taken", daemon->owner.taken, "");
	print_set(out, daemon, "foreign", daemon->owner.foreign, "");
	print_set(out, daemon, "floor", daemon->floor, "");
	print_set(out, daemon, "wanted", daemon->wanted, "");
	fprintf(out, "%-9s %s\n", "why", *daemon->decision.why ? daemon->decision.why :
							      "nothing was measured yet");
	fprintf(out, "%-9s %u in the last minute, %u at most\n", "changes",
		restraint_changes(daemon->restraint, now), daemon->config->rules.per_minute);
	if (daemon->interrupts)
		interrupts_explain(out, daemon->interrupts, now);
	print_leases(out, daemon, now);
	return finish(out, &text);
}

/* -- One CPU -------------------------------------------------------------------- */

static bool is_leased(const struct daemon *daemon, unsigned int cpu, uint64_t now)
{
	unsigned int i;

	for (i = 0; i < MOST_LEASES; i++)
		if (daemon->leases[i].id && daemon->leases[i].until_us > now &&
		    has(daemon, daemon->leases[i].cpus, cpu))
			return true;
	return false;
}

static void print_floor(FILE *out, const struct daemon *daemon, unsigned int cpu, uint64_t now)
{
	unsigned int waits = owner_waits(&daemon->owner, cpu, now);

	if (is_leased(daemon, cpu, now))
		fputs("a lease asks for it", out);
	else if (has(daemon, daemon->config->keep, cpu))
		fputs("\"keep\" of the configuration lists it", out);
	else if (waits && daemon->owner.backoffs[cpu].failed)
		fprintf(out, "it could not be taken offline, and is left alone for %u s", waits);
	else if (waits)
		fprintf(out, "another program has brought it online, and it is left alone for %u s",
			waits);
	else if (has(daemon, daemon->needs, cpu))
		fputs("a task or a cpuset needs it", out);
	else
		fputs("it cannot go offline, or is one of \"min_cpus\"", out);
}

static void print_online(FILE *out, const struct daemon *daemon, unsigned int cpu, uint64_t now)
{
	fprintf(out, "CPU %u is online: ", cpu);
	if (has(daemon, daemon->config->deny, cpu)) {
		fputs("it is in \"deny\", and is left alone", out);
		return;
	}
	if (!has(daemon, daemon->usable, cpu)) {
		fputs("it is isolated or nohz_full, and is left alone", out);
		return;
	}
	switch (restraint_reason(daemon->restraint, cpu)) {
	case REASON_FLOOR:
		print_floor(out, daemon, cpu, now);
		break;
	case REASON_HOLD:
		fprintf(out, "the policy does not want it, but wanted it less than %u ms ago",
			daemon->config->hold_ms);
		break;
	case REASON_RETURNS:
		fputs("the policy does not want it, but when it last went, at about this load, the "
		      "policy soon wanted it again", out);
		break;
	case REASON_DWELL:
		fprintf(out, "it came less than %u ms ago, and stays for at least that time",
			daemon->config->dwell_ms);
		break;
	case REASON_LIMIT:
		fprintf(out, "there may not be more than %u changes a minute",
			daemon->config->rules.per_minute);
		break;
	case REASON_UNWANTED:
		fputs("it is about to go, as the policy does not want it", out);
		break;
	default:
		fprintf(out, "the policy \"%s\" wants it: %s", daemon->config->policy->name,
			*daemon->decision.why ? daemon->decision.why : "nothing was measured yet");
	}
}

static void print_offline(FILE *out, const struct daemon *daemon, unsigned int cpu, uint64_t now)
{
	const struct memory *memory = &daemon->memories[cpu];
	unsigned int waits = owner_waits(&daemon->owner, cpu, now);

	fprintf(out, "CPU %u is offline: ", cpu);
	if (has(daemon, daemon->config->deny, cpu))
		fputs("it is in \"deny\"", out);
	else if (!has(daemon, daemon->owner.taken, cpu))
		fputs("another program took it, or it was offline before cpuboltd started", out);
	else if (waits)
		fprintf(out, "it could not be brought online, which is tried again in %u s", waits);
	else
		fprintf(out, "cpuboltd took it %llu s ago, %s",
			(unsigned long long)(now - memory->at_us) / 1000000,
			memory->why ?: "for a reason that is not recorded");
}

char *explain_cpu(struct daemon *daemon, unsigned int cpu)
{
	uint64_t now = daemon_now_us();
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	if (!has(daemon, daemon->owner.present, cpu))
		fprintf(out, "CPU %u is not plugged in", cpu);
	else if (has(daemon, daemon->owner.online, cpu))
		print_online(out, daemon, cpu, now);
	else
		print_offline(out, daemon, cpu, now);
	fputc('\n', out);
	if (daemon->interrupts)
		interrupts_explain_cpu(out, daemon->interrupts, cpu, now);
	return finish(out, &text);
}
