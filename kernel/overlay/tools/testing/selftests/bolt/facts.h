/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets of CPUs, and facts that the kernel derives from the CPUs that are online. */
#ifndef SELFTESTS_BOLT_FACTS_H
#define SELFTESTS_BOLT_FACTS_H

#include <glob.h>
#include <sched.h>
#include <stdarg.h>

#include "bolt.h"
#include "lib/cpulist.h"

/* Reads a list of CPUs as the kernel writes it. */
static inline void set_parse(const char *list, cpu_set_t *set)
{
	long first, last;

	CPU_ZERO(set);
	while (cpulist_next(&list, &first, &last) > 0)
		for (; first <= last && first < CPU_SETSIZE; first++)
			CPU_SET(first, set);
}

static inline bool set_within(const cpu_set_t *set, const cpu_set_t *of)
{
	cpu_set_t both;

	CPU_AND(&both, set, of);
	return CPU_EQUAL(&both, set);
}

/* Lines of text, to be compared one by one. Zeroed before the first use. */
struct facts {
	char *text;
	size_t len;
};

static inline void facts_add(struct facts *facts, const char *format, ...)
{
	va_list args;
	char *line;
	int n;

	va_start(args, format);
	n = vasprintf(&line, format, args);
	va_end(args);
	facts->text = n < 0 ? NULL : realloc(facts->text, facts->len + n + 1);
	if (!facts->text)
		abort();
	memcpy(facts->text + facts->len, line, n + 1);
	facts->len += n;
	free(line);
}

/*
 * Whether the facts include the affinity of a kernel thread called @name, because this
 * affinity changes with the CPUs that are online.
 */
static inline bool thread_follows(const char *name)
{
	static const char *const names[] = {
		"rcu_exp_par_gp", "rcub/", "kcompactd", NULL
	};

	for (int i = 0; names[i]; i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

static inline void facts_add_threads(struct facts *facts)
{
	char text[4096], *name, *list;
	glob_t found;

	if (glob("/proc/[0-9]*/status", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		if (get(found.gl_pathv[i], text, sizeof(text)))
			continue;
		name = text + strlen("Name:\t");
		list = strstr(text, "Cpus_allowed_list:");
		if (!list || !thread_follows(name))
			continue;
		facts_add(facts, "%.*s: %.*s\n", (int)strcspn(name, "\n"), name,
			  (int)strcspn(list, "\n"), list);
	}
	globfree(&found);
}

/*
 * Adds, for each CPU of each zone, how far the CPU's counters may be off, and how many
 * pages the CPU's page list takes or gives back at a time.
 */
static inline void facts_add_thresholds(struct facts *facts)
{
	FILE *file = fopen("/proc/zoneinfo", "r");
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		if (strstr(line, "vm stats threshold") || strstr(line, "cpu:") ||
		    strstr(line, "batch:"))
			facts_add(facts, "zone:%s", line);
	}
	if (file)
		fclose(file);
}

/*
 * Returns how many characters of a line "domainN ..." of /proc/schedstat name the domain and
 * the CPUs of the domain. In newer kernels, such as 7.3, the name of the level ("MC") stands
 * before the mask of CPUs.
 */
static inline int schedstat_span(const char *line)
{
	const char *end = line + strcspn(line, "\n ");

	for (int words = 0; words < 2 && *end == ' '; words++) {
		const char *word = end + 1;

		end = word + strcspn(word, "\n ");
		if (word + strspn(word, "0123456789abcdef,") == end)
			break;
	}
	return end - line;
}

static inline void facts_add_files(struct facts *facts, const char *pattern)
{
	char text[4096];
	glob_t found;

	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (!get(found.gl_pathv[i], text, sizeof(text)))
			facts_add(facts, "%s: %s\n", found.gl_pathv[i], text);
	globfree(&found);
}

static inline void facts_gather(struct facts *facts)
{
	facts->len = 0;
	facts_add(facts, "%s", "");
	facts_add_threads(facts);
	facts_add_thresholds(facts);
	facts_add_files(facts, CPU_DIR "smt/active");
	facts_add_files(facts, CPU_DIR "cpufreq/policy*/affected_cpus");
	facts_add_files(facts, CPU_DIR "cpu*/cache/index*/shared_cpu_list");
	facts_add_files(facts, CPU_DIR "cpu*/topology/core_cpus_list");
	facts_add_files(facts, "/sys/devices/system/node/node*/cpulist");
}

/* Returns the first line that has changed, as "was, is", or NULL. */
static inline const char *facts_differ(const struct facts *before)
{
	static struct facts now;
	static char both[1024];
	const char *a, *b;

	facts_gather(&now);
	a = before->text;
	b = now.text;
	while (*a || *b) {
		int m = strcspn(a, "\n"), n = strcspn(b, "\n");

		if (m != n || strncmp(a, b, n)) {
			snprintf(both, sizeof(both), "was '%.*s', is '%.*s'", m,
				 a, n, b);
			return both;
		}
		a += m + !!a[m];
		b += n + !!b[n];
	}
	return NULL;
}

/*
 * Whether each file cpumask of a PMU, which names the CPUs on which the PMU is read, names
 * only CPUs that are online, and at least one.
 */
static inline bool pmu_readers_are_online(void)
{
	char text[1024], online[1024];
	cpu_set_t readers, set;
	bool good = true;
	glob_t found;

	if (get(CPU_DIR "online", online, sizeof(online)))
		return false;
	set_parse(online, &set);
	if (glob("/sys/bus/event_source/devices/*/cpumask", 0, NULL, &found))
		return true;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		if (get(found.gl_pathv[i], text, sizeof(text)))
			continue;
		set_parse(text, &readers);
		if (!CPU_COUNT(&readers) || !set_within(&readers, &set)) {
			fprintf(stderr, "%s: %s\n", found.gl_pathv[i], text);
			good = false;
		}
	}
	globfree(&found);
	return good;
}

#endif /* SELFTESTS_BOLT_FACTS_H */
