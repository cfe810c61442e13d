// SPDX-License-Identifier: GPL-2.0-only
/* The checks of "cpubolt doctor" */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "doctor_look.h"
#include "irq_confined.h"
#include "programs.h"
#include "sets.h"
#include "states_parse.h"
#include "udev_rules.h"

#define CPU_DIR		"/sys/devices/system/cpu"
#define STATS_FILE	"/sys/kernel/debug/bolt/stats"

struct doctor {
	struct invocation *call;
	struct cpubolt *machine;
	struct findings *findings;
	unsigned int features;
};

/* -- Findings ------------------------------------------------------------- */

const char *finding_status(const struct finding *finding)
{
	static const char *const names[] = {
		[FINDING_OK]	= "ok",
		[FINDING_NOTE]	= "note",
		[FINDING_TODO]	= "todo",
	};

	return names[finding->status];
}

void findings_free(struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		free(findings->list[i].found);
		free(findings->list[i].advice);
	}
	free(findings->list);
	findings->list = NULL;
	findings->count = 0;
}

static char *format_text(const char *format, va_list arguments)
{
	char *text;

	if (vasprintf(&text, format, arguments) < 0)
		exit(fail(EXIT_FAILED, "no memory"));
	return text;
}

__attribute__((format(printf, 4, 5)))
static void find(struct doctor *doctor, enum finding_kind status, const char *check,
		 const char *format, ...)
{
	struct findings *findings = doctor->findings;
	struct finding *more = reallocarray(findings->list, findings->count + 1, sizeof(*more));
	va_list arguments;

	if (!more)
		exit(fail(EXIT_FAILED, "no memory"));
	findings->list = more;
	va_start(arguments, format);
	more[findings->count++] = (struct finding){
		.status = status,
		.check = check,
		.found = format_text(format, arguments),
	};
	va_end(arguments);
}

/* Sets the advice of the last finding. */
__attribute__((format(printf, 2, 3)))
static void advise(struct doctor *doctor, const char *format, ...)
{
	struct finding *last = &doctor->findings->list[doctor->findings->count - 1];
	va_list arguments;

	va_start(arguments, format);
	last->advice = format_text(format, arguments);
	va_end(arguments);
}

/* The first line of a file, to be freed; NULL if the file cannot be read. */
static char *read_line(struct doctor *doctor, const char *path)
{
	char *text = invocation_read(doctor->call, path);

	if (text)
		text[strcspn(text, "\n")] = '\0';
	return text;
}

/* -- Kernel --------------------------------------------------------------- */

/* The EFI variable "SecureBoot" has four bytes of attributes, and then 1 if Secure Boot is on. */
static bool has_secure_boot(struct doctor *doctor)
{
	struct invocation *call = doctor->call;
	unsigned char value[5] = { 0 };
	char *path;
	FILE *in;

	if (asprintf(&path, "%s/sys/firmware/efi/efivars/"
		     "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", call->root) < 0)
		return false;
	in = fopen(path, "re");
	free(path);
	if (!in)
		return false;
	if (fread(value, 1, sizeof(value), in) < sizeof(value))
		value[4] = 0;
	fclose(in);
	return value[4] == 1;
}

/*
 * The path, below the root, of an installed kernel with "bolt" in its name, to be freed; of several
 * such kernels, the one whose name sorts last. NULL if there is none, or if memory is short.
 */
static char *installed_kernel(struct doctor *doctor)
{
	const char *root = doctor->call->root;
	char *pattern, *found = NULL;
	glob_t images;

	if (asprintf(&pattern, "%s/boot/vmlinuz-*bolt*", root) < 0)
		return NULL;
	if (!glob(pattern, 0, NULL, &images)) {
		found = strdup(images.gl_pathv[images.gl_pathc - 1] + strlen(root));
		globfree(&images);
	}
	free(pattern);
	return found;
}

static void check_kernel(struct doctor *doctor)
{
	char *release = read_line(doctor, "/proc/sys/kernel/osrelease"), *image;

	if (doctor->features & CPUBOLT_HAS_BOLT) {
		find(doctor, FINDING_OK, "kernel", "Linux %s has Bolt", release ?: "(unknown)");
		free(release);
		return;
	}
	find(doctor, FINDING_TODO, "kernel", "Linux %s has no Bolt: one CPU is changed after the "
	     "other, natively", release ?: "(unknown)");
	image = installed_kernel(doctor);
	if (!image)
		advise(doctor, "install a kernel with Bolt, and boot it");
	else if (has_secure_boot(doctor))
		advise(doctor, "%s is installed. Secure Boot is on and refuses a kernel that "
		       "is not signed: sign it with a key of your own, or switch Secure Boot off",
		       image);
	else
		advise(doctor, "boot %s, which is installed", image);
	free(image);
	free(release);
}

static void check_hotplug(struct doctor *doctor)
{
	struct statvfs system;
	char *path;

	if (!(doctor->features & CPUBOLT_HAS_HOTPLUG)) {
		find(doctor, FINDING_TODO, "hotplug", "no CPU can go offline");
		advise(doctor, "use a kernel with CONFIG_HOTPLUG_CPU on a machine that can "
		       "switch CPUs off; in a container, ask on the host");
		return;
	}
	if (asprintf(&path, "%s/sys", doctor->call->root) < 0)
		return;
	if (!statvfs(path, &system) && system.f_flag & ST_RDONLY && !*doctor->call->root) {
		find(doctor, FINDING_TODO, "sysfs", "/sys is mounted read-only, as in most "
		     "containers");
		advise(doctor, "run cpubolt on the host");
	}
	free(path);
}

static void check_switch(struct doctor *doctor)
{
	if (!(doctor->features & CPUBOLT_HAS_BOLT))
		return;
	if (doctor->features & CPUBOLT_UNREADABLE) {
		find(doctor, FINDING_NOTE, "switch", "only root can see whether Bolt is enabled");
		advise(doctor, "run cpubolt doctor as root");
	} else if (doctor->features & CPUBOLT_ENABLED) {
		find(doctor, FINDING_OK, "switch", "Bolt is enabled");
	} else {
		find(doctor, FINDING_TODO, "switch", "Bolt is not enabled");
		advise(doctor, "echo 1 > " CPU_DIR "/bolt/enabled, or boot with bolt=on");
	}
}

/* -- CPUs ----------------------------------------------------------------- */

static void check_halfway(struct doctor *doctor)
{
	struct cpubolt *machine = doctor->machine;
	cpu_set_t *halfway = set_empty(machine), *present = set_new(machine, CPUBOLT_PRESENT);
	unsigned int cpu;
	char *text;

	for_each_cpu(machine, cpu, present)
		if (cpubolt_state(machine, cpu) == CPUBOLT_STATE_HALFWAY)
			CPU_SET_S(cpu, cpubolt_set_size(machine), halfway);
	if (set_count(machine, halfway)) {
		text = set_text(machine, halfway);
		find(doctor, FINDING_TODO, "CPUs", "hotplug of CPU%s %s has stopped half-way: "
		     "no task can run there", set_count(machine, halfway) == 1 ? "" : "s", text);
		advise(doctor, "cpubolt online %s, or cpubolt offline %s", text, text);
		free(text);
	}
	CPU_FREE(halfway);
	CPU_FREE(present);
}

static void check_smt(struct doctor *doctor)
{
	char *control = read_line(doctor, CPU_DIR "/smt/control");

	if (!control || !strncmp(control, "not", 3)) {
		find(doctor, FINDING_OK, "SMT", "this machine has no SMT, or no switch for it");
	} else if (!strcmp(control, "forceoff")) {
		find(doctor, FINDING_NOTE, "SMT", "SMT is off until the next boot: second threads "
		     "of cores cannot come online");
		advise(doctor, "to use second threads, take nosmt=force off the kernel's command "
		       "line if it is there, and boot again");
	} else if (!strcmp(control, "off")) {
		find(doctor, FINDING_NOTE, "SMT", "SMT is off: second threads of cores cannot come "
		     "online");
		advise(doctor, "to use second threads, echo on > " CPU_DIR "/smt/control");
	} else {
		find(doctor, FINDING_OK, "SMT", "SMT is %s", control);
	}
	free(control);
}

static void check_housekeeping(struct doctor *doctor)
{
	struct cpubolt *machine = doctor->machine;
	cpu_set_t *cpus = set_new(machine, CPUBOLT_ONLINE);
	cpu_set_t *isolated = set_new(machine, CPUBOLT_ISOLATED);
	cpu_set_t *nohz_full = set_new(machine, CPUBOLT_NOHZ_FULL);
	unsigned int count;
	char *text;

	set_minus(machine, cpus, isolated);
	set_minus(machine, cpus, nohz_full);
	count = set_count(machine, cpus);
	text = set_text(machine, cpus);
	if (count == 1) {
		find(doctor, FINDING_NOTE, "housekeeping", "CPU %s is the only one online that "
		     "tasks may use freely, so it cannot go offline", text);
		advise(doctor, "to take this CPU offline, bring another CPU online that is neither "
		       "isolated nor nohz_full");
	} else if (!count) {
		find(doctor, FINDING_NOTE, "housekeeping", "all CPUs online are isolated or "
		     "nohz_full");
	} else {
		find(doctor, FINDING_OK, "housekeeping", "%u CPUs that tasks may use freely are "
		     "online: %s", count, text);
	}
	free(text);
	CPU_FREE(cpus);
	CPU_FREE(isolated);
	CPU_FREE(nohz_full);
}

/* -- What keeps requests slow --------------------------------------------- */

static void check_slow_state(struct doctor *doctor, const char *stats)
{
	char *state = stats_value(stats, "slow_state");

	if (state && strcmp(state, "-")) {
		find(doctor, FINDING_TODO, "drivers", "hotplug state %s makes requests for several "
		     "CPUs go CPU by CPU: the state is not declared fit for such requests",
		     state);
		advise(doctor, "unload the driver; or, if you know that it copes with several CPUs "
		       "at once, cpubolt states --set %s=serial", state);
	} else {
		find(doctor, FINDING_OK, "drivers", "no driver makes requests for several CPUs "
		     "slow");
	}
	free(state);
}

static void check_grace_periods(struct doctor *doctor, const char *stats)
{
	char *kind = stats_value(stats, "grace_periods");

	if (kind && !strcmp(kind, "normal")) {
		find(doctor, FINDING_TODO, "RCU", "grace periods are forced to be normal: each "
		     "offline request waits 8 to 20 ms for one");
		advise(doctor, "echo 0 > /sys/kernel/rcu_normal, and boot without "
		       "rcupdate.rcu_normal=1; a kernel with PREEMPT_RT sets rcu_normal to 1 "
		       "at the end of each boot");
	}
	free(kind);
}

static void check_slow(struct doctor *doctor)
{
	char *stats;

	if (!(doctor->features & CPUBOLT_HAS_BOLT))
		return;
	stats = invocation_read(doctor->call, STATS_FILE);
	if (stats) {
		check_slow_state(doctor, stats);
		check_grace_periods(doctor, stats);
		free(stats);
	} else if (errno == EACCES || errno == EPERM) {
		find(doctor, FINDING_NOTE, "drivers", "only root may read " STATS_FILE
		     ", and nobody if the kernel is locked down for Secure Boot");
		advise(doctor, "run cpubolt doctor as root");
	} else {
		find(doctor, FINDING_NOTE, "drivers", "there is no " STATS_FILE
		     ", which names drivers that keep requests slow");
		advise(doctor, "mount -t debugfs debugfs /sys/kernel/debug");
	}
}

static void check_settling(struct doctor *doctor)
{
	char *delay = NULL;

	if (!(doctor->features & CPUBOLT_ENABLED) ||
	    cpubolt_get(doctor->machine, "settle_delay_ms", &delay))
		return;
	if (!strcmp(delay, "0")) {
		find(doctor, FINDING_NOTE, "settling", "settle_delay_ms is 0: teardowns run right "
		     "after each request, and all startups when a CPU returns");
		advise(doctor, "echo 1000 > " CPU_DIR "/bolt/settle_delay_ms");
	}
	free(delay);
}

/* -- Interrupts ----------------------------------------------------------- */

static bool is_confined(struct doctor *doctor, int pid, const char *keep)
{
	cpu_set_t *cpus = set_empty(doctor->machine);
	bool confined;

	confined = !cpubolt_parse_list(doctor->machine, keep, cpus, NULL) &&
		   irqbalance_is_confined(doctor->call, pid, cpus);
	CPU_FREE(cpus);
	return confined;
}

static void check_interrupts(struct doctor *doctor)
{
	int pid = program_find(doctor->call->root, "irqbalance");
	char *keep = NULL;
	bool kept;

	if (doctor->features & CPUBOLT_HAS_BOLT &&
	    cpubolt_get(doctor->machine, "irq_keep", &keep) == -EOVERFLOW)
		keep = strdup("longer than a page");
	kept = keep && *keep;
	if (pid > 0 && kept && is_confined(doctor, pid, keep)) {
		find(doctor, FINDING_OK, "interrupts", "the keep list of movable interrupts is %s, "
		     "and irqbalance (PID %d) uses these CPUs only", keep, pid);
	} else if (pid > 0 && kept) {
		find(doctor, FINDING_TODO, "interrupts", "irqbalance (PID %d) runs beside the keep "
		     "list %s: interrupts whose affinity irqbalance has written are not kept", pid,
		     keep);
		advise(doctor, "systemctl disable --now irqbalance; or confine it, see "
		       "\"cpubolt irq\"");
	} else if (pid > 0 && doctor->features & CPUBOLT_UNREADABLE) {
		find(doctor, FINDING_NOTE, "interrupts", "irqbalance (PID %d) moves interrupts; only "
		     "root can see whether the keep list limits that", pid);
	} else if (pid > 0) {
		find(doctor, FINDING_NOTE, "interrupts", "irqbalance (PID %d) moves interrupts to "
		     "any CPU, where these delay a request for that CPU", pid);
		advise(doctor, "see \"cpubolt irq --propose\"");
	} else if (kept) {
		find(doctor, FINDING_OK, "interrupts", "the keep list of movable interrupts is %s",
		     keep);
	} else if (keep) {
		find(doctor, FINDING_NOTE, "interrupts", "the keep list is empty: interrupts of a "
		     "CPU that goes are moved in the request, which takes longer");
		advise(doctor, "see \"cpubolt irq --propose\"");
	}
	free(keep);
}

/* -- Programs and rules --------------------------------------------------- */

static const struct {
	const char *name, *does, *advice;
} programs[] = {
	{ "intel_lpmd", "moves tasks to a few CPUs while the machine has little to do",
	  "do not take the CPUs of its configuration offline, or systemctl disable --now "
	  "intel_lpmd" },
	{ "tuned", "sets affinities of tasks and interrupts as its profile says, and again when "
	  "CPUs return", "look at the profile: tuned-adm active" },
	{ "qemu-ga", "changes CPUs when the host asks (guest-set-vcpus)",
	  "agree with the host's administrator which CPUs each of you changes" },
	{ "cpuplugd", "takes CPUs offline and brings them online by load",
	  "systemctl disable --now cpuplugd, or let cpuplugd alone decide" },
	{ "google_guest_agent", "sets affinities of network interrupts",
	  "see \"cpubolt irq\"; set_multiqueue = false in instance_configs.cfg" },
};

static void check_programs(struct doctor *doctor)
{
	bool any = false;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		int pid = program_find(doctor->call->root, programs[i].name);

		if (pid < 0)
			return;
		if (!pid)
			continue;
		any = true;
		find(doctor, FINDING_NOTE, "programs", "%s (PID %d) %s", programs[i].name, pid,
		     programs[i].does);
		advise(doctor, "%s", programs[i].advice);
	}
	if (!any)
		find(doctor, FINDING_OK, "programs", "no program that is known to change CPUs "
		     "runs");
}

/** The file of udev rules that is being read */
struct rules_file {
	struct doctor *doctor;
	const char *path, *name;
	bool any;		/* this file, or one read before, has a rule that changes CPUs */
};

/*
 * Where the administrator's own rules are; a file there replaces the files of the same name in the
 * other directories of rule_dirs.
 */
#define OWN_RULES	"/etc/udev/rules.d"

static void report_rule(const struct udev_rule *rule, void *data)
{
	struct rules_file *file = data;
	struct doctor *doctor = file->doctor;
	const char *what = rule->online ? "brings CPUs online" : "takes CPUs offline";
	bool own = !strncmp(file->path, OWN_RULES "/", strlen(OWN_RULES "/"));
	char *remedy;

	if (asprintf(&remedy, own ? "remove the rule from %s/%s" : "ln -s /dev/null %s/%s",
		     OWN_RULES, file->name) < 0)
		exit(fail(EXIT_FAILED, "no memory"));
	file->any = true;
	if (rule->add_only) {
		find(doctor, FINDING_NOTE, "udev", "%s:%zu %s when these are plugged in",
		     file->path, rule->line, what);
		advise(doctor, "to decide yourself: %s", remedy);
	} else {
		find(doctor, FINDING_TODO, "udev", "%s:%zu %s whenever udev sees an event of a "
		     "CPU, so also right after a request", file->path, rule->line, what);
		advise(doctor, "%s, or let the rule have ACTION==\"add\"", remedy);
	}
	free(remedy);
}

static const char *const rule_dirs[] = {
	OWN_RULES, "/run/udev/rules.d", "/usr/local/lib/udev/rules.d",
	"/usr/lib/udev/rules.d",
};

/*
 * Whether rule_dirs has a directory before number @dir with a file of this name: that file replaces
 * the one in directory @dir.
 */
static bool is_replaced(struct doctor *doctor, size_t dir, const char *name)
{
	for (size_t i = 0; i < dir; i++) {
		struct stat file;
		char *path;
		bool there;

		if (asprintf(&path, "%s%s/%s", doctor->call->root, rule_dirs[i], name) < 0)
			continue;
		there = !lstat(path, &file);
		free(path);
		if (there)
			return true;
	}
	return false;
}

static void read_rules(struct rules_file *file, size_t dir, const char *name)
{
	size_t length = strlen(name), end = strlen(".rules");
	char *path, *text;

	if (length <= end || strcmp(name + length - end, ".rules") ||
	    is_replaced(file->doctor, dir, name))
		return;
	if (asprintf(&path, "%s/%s", rule_dirs[dir], name) < 0)
		return;
	text = invocation_read(file->doctor->call, path);
	file->path = path;
	file->name = name;
	if (text)
		udev_parse(text, report_rule, file);
	free(text);
	free(path);
}

static void check_rules(struct doctor *doctor)
{
	struct rules_file file = { .doctor = doctor };

	for (size_t i = 0; i < sizeof(rule_dirs) / sizeof(*rule_dirs); i++) {
		struct dirent **entries;
		char *path;
		int count;

		if (asprintf(&path, "%s%s", doctor->call->root, rule_dirs[i]) < 0)
			return;
		count = scandir(path, &entries, NULL, alphasort);
		free(path);
		for (int j = 0; j < count; j++) {
			read_rules(&file, i, entries[j]->d_name);
			free(entries[j]);
		}
		if (count >= 0)
			free(entries);
	}
	if (!file.any)
		find(doctor, FINDING_OK, "udev", "no rule changes which CPUs are online");
}

void doctor_look(struct invocation *call, struct findings *findings)
{
	struct doctor doctor = {
		.call = call,
		.machine = call->machine,
		.findings = findings,
		.features = cpubolt_features(call->machine),
	};

	check_kernel(&doctor);
	check_hotplug(&doctor);
	check_switch(&doctor);
	check_halfway(&doctor);
	check_smt(&doctor);
	check_housekeeping(&doctor);
	check_slow(&doctor);
	check_settling(&doctor);
	check_interrupts(&doctor);
	check_programs(&doctor);
	check_rules(&doctor);
}
