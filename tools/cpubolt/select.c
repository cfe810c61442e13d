// SPDX-License-Identifier: GPL-2.0-only
/* Which CPUs a request is about: a cpulist, and options such as --node */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "select.h"
#include "sets.h"

/* One core, of which at least one CPU is a candidate for the selection */
struct core {
	int number;
	bool online;		/* a CPU of the core is online */
	bool fixed;		/* a CPU of the core cannot go offline */
	bool whole;		/* all CPUs of the core that are online are candidates */
	bool kept;		/* --keep lists an offline CPU of the core: see list_cores() */
	bool picked;
};

struct work {
	struct invocation *call;
	struct cpubolt *machine;
	enum cpubolt_op op;
	const struct selection *selection;
	cpu_set_t *cpus;	/* the candidates; in the end the CPUs selected */
	cpu_set_t *online, *present, *fixed, *keep;
	int *core;		/* number of the core of each CPU present, -1 if not known */
	struct core *cores;
	unsigned int core_count;
};

bool selection_needs_topology(const struct selection *selection)
{
	return selection->packages || selection->nodes || selection->cores ||
	       selection->smt != SMT_ANY;
}

static int parse(struct work *work, const char *text, cpu_set_t *set)
{
	size_t at = 0;
	int error = cpubolt_parse_list(work->machine, text, set, &at);

	return error ? fail_list(work->call, text, error, at) : EXIT_DONE;
}

bool means_all(const char *text)
{
	return !strncasecmp(text, "all", 3) && !text[strcspn(text, ", ")];
}

/* Reads the list of the request. "all", if nothing else is listed, means the CPUs plugged in. */
static int parse_request(struct work *work)
{
	const char *text = work->selection->list;
	int code = parse(work, text, work->cpus);

	if (code == EXIT_DONE && !set_count(work->machine, work->cpus))
		code = fail_list(work->call, text, 0, 0);
	if (means_all(text))
		set_and(work->machine, work->cpus, work->present);
	return code;
}

/* If the user has not listed CPUs, all CPUs that the user may mean are candidates at first. */
static void start_without_list(struct work *work)
{
	const struct selection *selection = work->selection;
	bool smt_only = !selection->packages && !selection->nodes && !selection->cores;

	CPU_OR_S(cpubolt_set_size(work->machine), work->cpus, work->present, work->present);
	switch (work->op) {
	case CPUBOLT_TAKE_OFFLINE:
		set_and(work->machine, work->cpus, work->online);
		break;
	case CPUBOLT_BRING_ONLINE:
		set_minus(work->machine, work->cpus, work->online);
		break;
	case CPUBOLT_SET_ONLINE:
		if (smt_only)
			set_and(work->machine, work->cpus, work->online);
		break;
	}
}

static int number_of(const struct cpubolt_topology *topology, bool node)
{
	return node ? topology->node : topology->package;
}

/* Adds the CPUs of package or node @number to @found; false if no such CPU is known. */
static bool add_place(struct work *work, unsigned long number, bool node, cpu_set_t *found)
{
	struct cpubolt_topology topology;
	unsigned int cpu;
	bool any = false;

	for_each_cpu(work->machine, cpu, work->present) {
		int place = -1;

		if (!cpubolt_topology(work->machine, cpu, &topology))
			place = number_of(&topology, node);
		if (place < 0 || (unsigned long)place != number)
			continue;
		CPU_SET_S(cpu, cpubolt_set_size(work->machine), found);
		any = true;
	}
	return any;
}

/*
 * Does the work of filter() for a list that cpubolt_parse_list() refuses because no CPU can have
 * one of its numbers: on arm64 a package may have a large number, an offset in a firmware table.
 */
static int filter_large(struct work *work, const char *text, bool node)
{
	cpu_set_t *found = set_empty(work->machine);
	const char *what = node ? "node" : "package", *here = text;
	unsigned long first, last;
	int code = EXIT_DONE;
	unsigned int cpu;
	char *end;

	do {
		if (!parse_range(here, INT_MAX, &first, &last, &end)) {
			code = fail(EXIT_USAGE, "\"%s\" is no list of %ss", text, what);
			break;
		}
		while (first <= last && add_place(work, first, node, found))
			first++;
		if (first <= last)
			code = fail(EXIT_FAILED, "no CPU is known to be in %s %lu", what, first);
		here = end + 1;
	} while (code == EXIT_DONE && *end);
	if (code == EXIT_DONE) {
		for_each_cpu(work->machine, cpu, work->present)
			if (!set_has(work->machine, cpu, found))
				CPU_CLR_S(cpu, cpubolt_set_size(work->machine), work->cpus);
	}
	CPU_FREE(found);
	return code;
}

/*
 * Keeps the candidates whose package or node is in the list @text; "all" stands for every number
 * that is known. A candidate that is not plugged in stays a candidate.
 */
static int filter(struct work *work, const char *text, bool node)
{
	const char *what = node ? "node" : "package";
	bool all = !strcasecmp(text, "all");
	cpu_set_t *numbers = set_empty(work->machine), *found = set_empty(work->machine);
	size_t size = cpubolt_set_size(work->machine);
	struct cpubolt_topology topology;
	unsigned int cpu;
	int code = EXIT_DONE, error = cpubolt_parse_list(work->machine, text, numbers, NULL);

	if (error || !set_count(work->machine, numbers)) {
		CPU_FREE(numbers);
		CPU_FREE(found);
		if (!error)
			return fail(EXIT_USAGE, "the list of %ss is empty", what);
		return error == -ERANGE ? filter_large(work, text, node) :
		       fail(EXIT_USAGE, "\"%s\" is no list of %ss", text, what);
	}
	for_each_cpu(work->machine, cpu, work->present) {
		int number = -1;

		if (!cpubolt_topology(work->machine, cpu, &topology))
			number = number_of(&topology, node);
		if (number >= 0 && (all || CPU_ISSET_S(number, size, numbers)))
			CPU_SET_S(number, size, found);
		else
			CPU_CLR_S(cpu, size, work->cpus);
	}
	if (!all && !CPU_EQUAL_S(size, numbers, found)) {
		char *missing;

		set_minus(work->machine, numbers, found);
		missing = set_text(work->machine, numbers);
		code = fail(EXIT_FAILED, "no CPU is known to be in %s %s", what, missing);
		free(missing);
	}
	CPU_FREE(numbers);
	CPU_FREE(found);
	return code;
}

/* Reads the core of each CPU. A candidate whose core is not known is no candidate any more. */
static void read_cores(struct work *work)
{
	cpu_set_t *unknown = set_empty(work->machine);
	size_t size = cpubolt_set_size(work->machine);
	struct cpubolt_topology topology;
	unsigned int cpu;

	for_each_cpu(work->machine, cpu, work->present) {
		work->core[cpu] = -1;
		if (!cpubolt_topology(work->machine, cpu, &topology))
			work->core[cpu] = topology.core;
	}
	/* The user may list a CPU that is not plugged in, of which no core was read above. */
	for_each_cpu(work->machine, cpu, work->cpus)
		if (!CPU_ISSET_S(cpu, size, work->present) || work->core[cpu] < 0)
			CPU_SET_S(cpu, size, unknown);
	if (CPU_COUNT_S(size, unknown)) {
		char *text = set_text(work->machine, unknown);

		complain("not touched, because the cores of these CPUs are not known: %s", text);
		free(text);
		set_minus(work->machine, work->cpus, unknown);
	}
	CPU_FREE(unknown);
}

static struct core *find_core(struct work *work, int number)
{
	unsigned int i;

	/*
	 * The search begins at the core that was listed last. While list_cores() lists cores, that
	 * is the wanted core if the CPUs of a core have neighbouring numbers.
	 */
	for (i = work->core_count; i-- > 0;)
		if (work->cores[i].number == number)
			return &work->cores[i];
	return NULL;
}

static void list_cores(struct work *work)
{
	struct core *core;
	unsigned int cpu;

	work->core_count = 0;
	for_each_cpu(work->machine, cpu, work->cpus) {
		if (find_core(work, work->core[cpu]))
			continue;
		work->cores[work->core_count++] =
			(struct core){ .number = work->core[cpu], .whole = true };
	}
	for_each_cpu(work->machine, cpu, work->keep) {
		/* The core of a CPU that is not plugged in is not known. */
		if (set_has(work->machine, cpu, work->online) ||
		    !set_has(work->machine, cpu, work->present))
			continue;
		/* With --smt off, the candidate of a core counts, and no other CPU of the core. */
		if (work->selection->smt == SMT_OFF && !set_has(work->machine, cpu, work->cpus))
			continue;
		core = find_core(work, work->core[cpu]);
		if (core)
			core->kept = true;
	}
	for_each_cpu(work->machine, cpu, work->online) {
		core = find_core(work, work->core[cpu]);
		if (!core)
			continue;
		core->online = true;
		core->fixed |= set_has(work->machine, cpu, work->fixed);
		core->whole &= set_has(work->machine, cpu, work->cpus);
	}
}

/*
 * With --smt off, the one CPU of a core that is to be online is the CPU with the highest rank: 3
 * for a CPU online that cannot go or that --keep lists, 2 for other CPUs online, 0 for a CPU
 * offline that --keep lists, as that CPU stays offline, 1 for other CPUs offline. Of CPUs with the
 * same rank, the first is chosen.
 */
static int rank(struct work *work, unsigned int cpu)
{
	bool kept = set_has(work->machine, cpu, work->keep);

	if (!set_has(work->machine, cpu, work->online))
		return !kept;
	return kept || set_has(work->machine, cpu, work->fixed) ? 3 : 2;
}

static bool has_better_sibling(struct work *work, unsigned int cpu, const cpu_set_t *among)
{
	unsigned int other;

	for_each_cpu(work->machine, other, among) {
		int more = rank(work, other) - rank(work, cpu);

		if (other != cpu && work->core[other] == work->core[cpu] &&
		    (more > 0 || (!more && other < cpu)))
			return true;
	}
	return false;
}

static bool core_is_online(struct work *work, unsigned int cpu)
{
	unsigned int other;

	for_each_cpu(work->machine, other, work->online)
		if (work->core[other] == work->core[cpu])
			return true;
	return false;
}

static void add_siblings(struct work *work)
{
	size_t size = cpubolt_set_size(work->machine);
	unsigned int cpu;

	list_cores(work);
	for_each_cpu(work->machine, cpu, work->present)
		if (work->core[cpu] >= 0 && find_core(work, work->core[cpu]))
			CPU_SET_S(cpu, size, work->cpus);
}

static int apply_smt(struct work *work)
{
	cpu_set_t *before = set_copy(work->machine, work->cpus);
	size_t size = cpubolt_set_size(work->machine);
	bool off = work->selection->smt == SMT_OFF;
	const cpu_set_t *among = work->op == CPUBOLT_TAKE_OFFLINE ? work->online : before;
	unsigned int cpu;

	if (work->op == CPUBOLT_SET_ONLINE && !off)
		add_siblings(work);
	for_each_cpu(work->machine, cpu, before) {
		bool stays = true;

		if (work->op == CPUBOLT_TAKE_OFFLINE)
			stays = has_better_sibling(work, cpu, among);
		else if (work->op == CPUBOLT_BRING_ONLINE)
			stays = core_is_online(work, cpu);
		else if (off)
			stays = !has_better_sibling(work, cpu, among);
		if (!stays)
			CPU_CLR_S(cpu, size, work->cpus);
	}
	CPU_FREE(before);
	return EXIT_DONE;
}

static bool can_pick(const struct work *work, const struct core *core)
{
	switch (work->op) {
	case CPUBOLT_TAKE_OFFLINE:
		return core->online && core->whole && !core->fixed;
	case CPUBOLT_BRING_ONLINE:
		return !core->online && !core->kept;
	case CPUBOLT_SET_ONLINE:
		break;
	}
	/*
	 * A core with an offline CPU that --keep lists is picked by "set" only if another CPU of
	 * the core cannot go and so is online in any case.
	 */
	return !core->kept || core->fixed;
}

/* True if @one is picked before @other. */
static bool goes_first(const struct work *work, const struct core *one, const struct core *other)
{
	if (work->op == CPUBOLT_TAKE_OFFLINE)
		return one->number > other->number;
	if (one->fixed != other->fixed)
		return one->fixed;
	if (one->online != other->online)
		return one->online;
	return one->number < other->number;
}

static bool pick_core(struct work *work)
{
	struct core *best = NULL;
	unsigned int i;

	for (i = 0; i < work->core_count; i++) {
		struct core *core = &work->cores[i];

		if (core->picked || !can_pick(work, core))
			continue;
		if (!best || goes_first(work, core, best))
			best = core;
	}
	if (best)
		best->picked = true;
	return best;
}

static const char *const can_do[] = {
	[CPUBOLT_BRING_ONLINE]	= "can come online",
	[CPUBOLT_TAKE_OFFLINE]	= "can go offline",
	[CPUBOLT_SET_ONLINE]	= "can be chosen",
};

static int apply_cores(struct work *work)
{
	size_t size = cpubolt_set_size(work->machine);
	unsigned int cpu, n;

	list_cores(work);
	for (n = 0; n < work->selection->cores; n++)
		if (!pick_core(work))
			return fail(EXIT_FAILED, "only %u of %u wanted cores %s",
				    n, work->selection->cores, can_do[work->op]);
	for_each_cpu(work->machine, cpu, work->present) {
		const struct core *core = find_core(work, work->core[cpu]);

		if (!core || !core->picked)
			CPU_CLR_S(cpu, size, work->cpus);
	}
	return EXIT_DONE;
}

static int apply_topology(struct work *work)
{
	const struct selection *selection = work->selection;
	int code = EXIT_DONE;

	if (selection->packages)
		code = filter(work, selection->packages, false);
	if (code == EXIT_DONE && selection->nodes)
		code = filter(work, selection->nodes, true);
	if (code != EXIT_DONE || (!selection->cores && selection->smt == SMT_ANY))
		return code;
	read_cores(work);
	if (selection->smt != SMT_ANY)
		code = apply_smt(work);
	if (code == EXIT_DONE && selection->cores)
		code = apply_cores(work);
	return code;
}

/*
 * A CPU of --keep whose hotplug has stopped half-way could not stay as it is: the request "set" has
 * a list of CPUs, brings these online, and takes all other CPUs offline.
 */
static int refuse_halfway(struct work *work)
{
	unsigned int cpu;

	for_each_cpu(work->machine, cpu, work->keep)
		if (cpubolt_state(work->machine, cpu) == CPUBOLT_STATE_HALFWAY)
			return fail(EXIT_FAILED, "\"set\" cannot leave CPU %u as it is, because "
				    "its hotplug has stopped half-way", cpu);
	return EXIT_DONE;
}

/*
 * Takes the CPUs of --keep off the candidates, because the request must not change these CPUs. With
 * @last, at the end of the selection, those of them that are online become candidates of "set"
 * again: "set" takes all CPUs offline that are no candidates.
 */
static void apply_keep(struct work *work, bool last)
{
	set_minus(work->machine, work->cpus, work->keep);
	if (!last || work->op != CPUBOLT_SET_ONLINE)
		return;
	set_and(work->machine, work->keep, work->online);
	set_or(work->machine, work->cpus, work->keep);
}

static int run(struct work *work)
{
	const struct selection *selection = work->selection;
	int code = EXIT_DONE;

	if (selection->keep)
		code = parse(work, selection->keep, work->keep);
	if (code == EXIT_DONE && work->op == CPUBOLT_SET_ONLINE)
		code = refuse_halfway(work);
	if (code == EXIT_DONE && selection->list)
		code = parse_request(work);
	else if (code == EXIT_DONE)
		start_without_list(work);
	if (code != EXIT_DONE)
		return code;
	/* --cores picks cores whose online CPUs are all candidates, so --keep is applied first. */
	if (work->op == CPUBOLT_TAKE_OFFLINE)
		apply_keep(work, false);
	if (selection_needs_topology(selection))
		code = apply_topology(work);
	if (code == EXIT_DONE)
		apply_keep(work, true);
	return code;
}

int select_cpus(struct invocation *call, enum cpubolt_op op, const struct selection *selection,
		cpu_set_t *cpus)
{
	struct cpubolt *machine = call->machine;
	struct work work = {
		.call = call,
		.machine = machine,
		.op = op,
		.selection = selection,
		.cpus = cpus,
		.online = set_new(machine, CPUBOLT_ONLINE),
		.present = set_new(machine, CPUBOLT_PRESENT),
		.fixed = set_new(machine, CPUBOLT_FIXED),
		.keep = set_empty(machine),
		.core = calloc(set_limit(machine), sizeof(*work.core)),
		.cores = calloc(set_limit(machine), sizeof(*work.cores)),
	};
	int code;

	if (work.core && work.cores)
		code = run(&work);
	else
		code = fail(EXIT_FAILED, "no memory");
	CPU_FREE(work.online);
	CPU_FREE(work.present);
	CPU_FREE(work.fixed);
	CPU_FREE(work.keep);
	free(work.core);
	free(work.cores);
	return code;
}
