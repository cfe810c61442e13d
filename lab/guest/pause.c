// SPDX-License-Identifier: GPL-2.0-only
/* Ways to pause CPUs, which means to keep tasks away from the CPUs. */
#define _GNU_SOURCE
#include "guest.h"
#include "lib/online.h"
#include "pause.h"
#include "tracing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPEDITE "/sys/kernel/rcu_expedited"
#define GROUP GROUP_DIR "paused"
#define PARTITION GROUP "/cpuset.cpus.partition"

const char *const way_names[WAYS] = {
	[ONLINE] = "online", [ISOLATED] = "isolated", [NATIVE] = "native",
	[EXPEDITED] = "expedited", [COLD] = "cold", [WARM] = "warm",
};

bool way_is_offline(enum way way)
{
	return way >= NATIVE;
}

void pause_prepare(const struct pause *p)
{
	bool ours = p->way >= COLD;

	/* A kernel without Bolt has no file bolt/enabled. */
	if (write_text(BOLT_DIR "enabled", ours ? "1" : "0") && ours)
		die("this kernel has no Bolt");
	if (ours)
		must_write(BOLT_DIR "park", way_names[p->way]);
	if (p->way == EXPEDITED)
		must_write(EXPEDITE, "1");
	if (p->way == ISOLATED) {
		must_write(GROUP_DIR "cgroup.subtree_control", "+cpuset");
		if (mkdir(GROUP, 0755))
			die("%s: %s", GROUP, strerror(errno));
		must_write(GROUP "/cpuset.cpus", p->list);
	}
}

void pause_finish(const struct pause *p)
{
	if (p->way == EXPEDITED)
		must_write(EXPEDITE, "0");
	if (p->way == ISOLATED && rmdir(GROUP))
		die("%s: %s", GROUP, strerror(errno));
}

void pause_request(const struct pause *p, bool away)
{
	if (p->way == ONLINE)
		return;
	if (p->way == ISOLATED) {
		must_write(PARTITION, away ? "isolated" : "member");
		return;
	}
	if (p->way >= COLD) {
		must_write(away ? BOLT_DIR "offline" : BOLT_DIR "online", p->list);
		return;
	}
	for (int i = 0; i < p->n; i++)
		if (cpu_write(p->cpus[i], !away))
			die("CPU %d does not change", p->cpus[i]);
}

void pause_check(const struct pause *p, bool away)
{
	const char *wanted = away ? "isolated" : "member";
	char text[256];

	if (p->way == ISOLATED) {
		/* If the kernel refuses the partition, the file has "isolated invalid (REASON)". */
		if (read_text(PARTITION, text, sizeof(text)) < 0)
			die("cannot read %s", PARTITION);
		text[strcspn(text, "\n")] = '\0';
		if (strcmp(text, wanted))
			die("%s is \"%s\"", PARTITION, text);
		return;
	}
	for (int i = 0; way_is_offline(p->way) && i < p->n; i++) {
		char path[ONLINE_PATH_MAX];

		online_path(p->cpus[i], path);
		if (read_text(path, text, sizeof(text)) < 0 || (text[0] == '0') != away)
			die("CPU %d is not in the state that was asked for", p->cpus[i]);
	}
}
