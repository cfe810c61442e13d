// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the latency of CPU hotplug requests: CLOCK_MONOTONIC before and after the
 * write, on a CPU that stays. usage: measure KIND cpus=LIST n=N warmup=N gap_ms=N
 *
 *	pairs	all CPUs of the list offline, one after the other, and then online
 *	bounded	as pairs, in a guest whose emulator runs each CPU in short slices
 *	ballast	as pairs, and before each pair the module in ballast/ uses its counters and
 *		slab caches on each CPU of the list
 *	busy	as pairs, with tasks, timers, files and pipes on the CPUs
 *	irqs	as pairs, with interrupts of the module in vectors/ on the first CPU
 *	kept	as irqs, but if Bolt is enabled, irq_keep keeps these interrupts on CPU 0
 *	bulk	offline and online of all CPUs of the list in one request
 *	curve	for each number K of the list sizes=: offline and online of the first K
 *		CPUs of the list, by requests for one CPU after the other, and then, if
 *		the kernel has such requests, by requests for all K CPUs
 *	curve_bounded as curve, in a guest as for bounded
 *	alternate online of all CPUs of the list in one request and one after the
 *		other, in turn
 *	smt	the writes of off and of on to smt/control
 *	smt_bounded as smt, in a guest as for bounded
 *	freeze	suspend's freeze and thaw of the CPUs of the list, which must be all but
 *		the first
 *	stops	for how long requests for all CPUs of the list stop the machine, natively
 *		and with Bolt in turn
 *	stops_suspend for how long suspend stops the machine, in the same way
 *	settled	online after all deferred teardowns have run
 *	away	online after away_ms offline
 *	total	the sum of offline, settling (if the kernel can settle) and online
 *	moments	entry (from the write that takes the CPU offline until the CPU is dead),
 *		exit (from the write that brings the CPU online until the first task
 *		runs on the CPU)
 */
#define _GNU_SOURCE
#include "measure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SETTLE BOLT_DIR "settle"
#define MAX_SAMPLES 2000

static int64_t down_ns[MAX_SAMPLES], up_ns[MAX_SAMPLES], total_ns[MAX_SAMPLES];

int64_t request(const struct measure *m, bool online)
{
	int64_t start = now_ns();

	for (int i = 0; i < m->ncpus; i++) {
		int cpu = m->cpus[online ? m->ncpus - 1 - i : i];
		int err = cpu_write(cpu, online);

		if (err)
			die("CPU %d %s: %s", cpu, online ? "online" : "offline", strerror(-err));
	}
	return now_ns() - start;
}

/*
 * Runs deferred teardowns. Returns how long the teardowns took, or 0 on a kernel without
 * Bolt, which defers no teardown.
 */
static int64_t settle(void)
{
	int64_t start = now_ns();
	int err;

	if (access(SETTLE, F_OK))
		return 0;
	err = write_text(SETTLE, "all");
	if (err)
		die("settle: %s", strerror(-err));
	return now_ns() - start;
}

static void report(const struct measure *m, const char *what, const int64_t *ns)
{
	char name[64];

	snprintf(name, sizeof(name), "%s%s", what, m->suffix);
	emit_samples(name, m->ncpus, ns + m->warmup, m->n);
}

/* Takes all CPUs of the list offline and then online by @ask, again and again. */
static void rounds(const struct measure *m,
		   int64_t (*ask)(const struct measure *m, bool online))
{
	for (int i = 0; i < m->warmup + m->n; i++) {
		down_ns[i] = ask(m, false);
		turn(i);
		up_ns[i] = ask(m, true);
		gap(m->gap_ms, i);
	}
	report(m, "offline", down_ns);
	report(m, "online", up_ns);
}

static void pairs(const struct measure *m)
{
	rounds(m, request);
}

int64_t request_bulk(const struct measure *m, bool online)
{
	static char list[8 * MAX_CPUS];
	int64_t start;
	int err, used = 0;

	for (int i = 0; i < m->ncpus; i++)
		used += snprintf(list + used, sizeof(list) - used, "%s%d", i ? "," : "",
				 m->cpus[i]);
	start = now_ns();
	err = write_text(online ? BOLT_DIR "online" : BOLT_DIR "offline", list);
	if (err)
		die("CPUs %s %s: %s", list, online ? "online" : "offline", strerror(-err));
	return now_ns() - start;
}

static void bulk(const struct measure *m)
{
	rounds(m, request_bulk);
}

static void curve(const struct measure *m)
{
	char one_by_one[32], together[32];
	struct measure some = *m;

	snprintf(one_by_one, sizeof(one_by_one), "%s_seq", m->suffix);
	snprintf(together, sizeof(together), "%s_bulk", m->suffix);
	for (int k = 0; k < m->nsizes; k++) {
		some.ncpus = m->sizes[k];
		if (some.ncpus < 1 || some.ncpus > m->ncpus)
			die("cannot take %d of %d CPUs", some.ncpus, m->ncpus);
		some.suffix = one_by_one;
		pairs(&some);
		some.suffix = together;
		if (!access(BOLT_DIR "offline", F_OK))
			bulk(&some);
	}
}

static void alternate(const struct measure *m)
{
	static int64_t seq_ns[MAX_SAMPLES];

	for (int i = 0; i < m->warmup + m->n; i++) {
		request_bulk(m, false);
		up_ns[i] = request_bulk(m, true);
		gap(m->gap_ms, i);
		request_bulk(m, false);
		seq_ns[i] = request(m, true);
		gap(m->gap_ms, i);
	}
	emit_samples("online_bulk", m->ncpus, up_ns + m->warmup, m->n);
	emit_samples("online_seq", m->ncpus, seq_ns + m->warmup, m->n);
}

static int online_cpus(void)
{
	static int cpus[MAX_CPUS];
	char list[4096];

	if (read_text(CPU_DIR "online", list, sizeof(list)) < 0)
		die("cannot tell which CPUs are online");
	list[strcspn(list, "\n")] = '\0';
	return parse_cpus(list, cpus, MAX_CPUS);
}

static int64_t smt_control(const char *value)
{
	int64_t start = now_ns();
	int err = write_text(CPU_DIR "smt/control", value);

	if (err)
		die("smt/control %s: %s", value, strerror(-err));
	return now_ns() - start;
}

static void smt(const struct measure *m)
{
	int gone = online_cpus();
	char off[32], on[32];

	for (int i = 0; i < m->warmup + m->n; i++) {
		down_ns[i] = smt_control("off");
		if (!i)
			gone -= online_cpus();
		turn(i);
		up_ns[i] = smt_control("on");
		gap(m->gap_ms, i);
	}
	if (gone < 1)
		die("smt/control took no CPU offline");
	snprintf(off, sizeof(off), "smt_off%s", m->suffix);
	snprintf(on, sizeof(on), "smt_on%s", m->suffix);
	emit_samples(off, gone, down_ns + m->warmup, m->n);
	emit_samples(on, gone, up_ns + m->warmup, m->n);
}

static void busy(const struct measure *m)
{
	busy_start(m);
	for (int i = 0; i < m->warmup + m->n; i++) {
		busy_gather(m);
		down_ns[i] = request(m, false);
		turn(i);
		up_ns[i] = request(m, true);
	}
	busy_stop();
	report(m, "offline", down_ns);
	report(m, "online", up_ns);
}

static void irqs(const struct measure *m)
{
	for (int i = 0; i < m->warmup + m->n; i++) {
		vectors_gather(m->cpus[0]);
		gap(m->gap_ms, i);
		vectors_raise();
		down_ns[i] = request(m, false);
		turn(i);
		up_ns[i] = request(m, true);
	}
	vectors_check();
	report(m, "offline", down_ns);
	report(m, "online", up_ns);
}

static void kept(const struct measure *m)
{
	vectors_keep("0");
	irqs(m);
	vectors_keep("\n");
}

static void ballast(const struct measure *m)
{
	for (int i = 0; i < m->warmup + m->n; i++) {
		ballast_charge(m);
		down_ns[i] = request(m, false);
		if (i % 8 == 0)
			ballast_check();
		turn(i);
		up_ns[i] = request(m, true);
		if (i % 8 == 4)
			ballast_check();
		gap(m->gap_ms, i);
	}
	report(m, "offline", down_ns);
	report(m, "online", up_ns);
}

static void settled(const struct measure *m)
{
	for (int i = 0; i < m->warmup + m->n; i++) {
		down_ns[i] = request(m, false);
		total_ns[i] = down_ns[i] + settle();
		turn(i);
		up_ns[i] = request(m, true);
		total_ns[i] += up_ns[i];
		gap(m->gap_ms, i);
	}
}

static void settled_case(const struct measure *m)
{
	settled(m);
	report(m, "online", up_ns);
}

static void away(const struct measure *m)
{
	for (int i = 0; i < m->warmup + m->n; i++) {
		request(m, false);
		wait_ms(m->away_ms);
		turn(i);
		up_ns[i] = request(m, true);
		gap(m->gap_ms, i);
	}
	report(m, "online", up_ns);
}

static void total_case(const struct measure *m)
{
	settled(m);
	report(m, "total", total_ns);
}

static const struct {
	const char *name, *one, *many;	/* suffix of the case for one CPU, and for several */
	void (*run)(const struct measure *m);
} kinds[] = {
	{ "pairs", "1", "_seq", pairs },
	{ "bounded", "1_bounded", "_bounded_seq", pairs },
	{ "ballast", "1_ballast", "_ballast_seq", ballast },
	{ "busy", "1_busy", "_busy_seq", busy },
	{ "irqs", "1_irqs", "_irqs_seq", irqs },
	{ "kept", "1_irqs_kept", "_irqs_kept_seq", kept },
	{ "bulk", "1_bulk", "_bulk", bulk },
	{ "curve", "", "", curve },
	{ "curve_bounded", "_bounded", "_bounded", curve },
	{ "alternate", "", "", alternate },
	{ "smt", "", "", smt },
	{ "smt_bounded", "_bounded", "", smt },
	{ "freeze", "", "", freezes },
	{ "stops", "", "", stops },
	{ "stops_suspend", "", "", stops_suspend },
	{ "settled", "1_settled", "_settled_seq", settled_case },
	{ "away", "1_away", "_away_seq", away },
	{ "total", "1", "_seq", total_case },
	{ "moments", "1", "_seq", moments },
};

int main(int argc, char **argv)
{
	static struct measure m;

	if (argc < 2)
		die("usage: measure KIND [key=value...]");
	m.ncpus = parse_cpus(arg_text(argv, "cpus", "1"), m.cpus, MAX_CPUS);
	m.nsizes = parse_cpus(arg_text(argv, "sizes", "1"), m.sizes, MAX_SIZES);
	m.n = arg_long(argv, "n", 20);
	m.warmup = arg_long(argv, "warmup", 2);
	m.gap_ms = arg_long(argv, "gap_ms", 50);
	m.away_ms = arg_long(argv, "away_ms", 60000);
	if (m.n < 1 || m.warmup < 0 || m.n + m.warmup > MAX_SAMPLES || m.ncpus < 1)
		die("n, warmup or cpus out of range");
	pin_to(arg_long(argv, "control", 0));
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(argv[1], kinds[i].name))
			continue;
		m.suffix = m.ncpus == 1 ? kinds[i].one : kinds[i].many;
		kinds[i].run(&m);
		return 0;
	}
	die("unknown kind %s", argv[1]);
}
