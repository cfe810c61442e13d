// SPDX-License-Identifier: GPL-2.0-only
/* CPUs that a user wants online for a while */
#include <errno.h>
#include <string.h>

#include "daemon.h"

int lease_add(struct daemon *daemon, const cpu_set_t *cpus, unsigned int seconds)
{
	struct lease *lease = daemon->leases;

	while (lease < daemon->leases + MOST_LEASES && lease->id)
		lease++;
	if (lease == daemon->leases + MOST_LEASES)
		return -ENOSPC;
	lease->cpus = machine_set(daemon->machine);
	if (!lease->cpus)
		return -ENOMEM;
	memcpy(lease->cpus, cpus, daemon->machine->size);
	lease->until_us = daemon_now_us() + seconds * 1000000ULL;
	lease->id = ++daemon->last_lease;
	return (int)lease->id;
}

static void end(struct lease *lease)
{
	CPU_FREE(lease->cpus);
	*lease = (struct lease){ 0 };
}

bool lease_end(struct daemon *daemon, unsigned int id)
{
	unsigned int i;

	for (i = 0; i < MOST_LEASES; i++) {
		if (!id || daemon->leases[i].id != id)
			continue;
		end(&daemon->leases[i]);
		return true;
	}
	return false;
}

void lease_expire(struct daemon *daemon, cpu_set_t *set)
{
	unsigned int i;

	for (i = 0; i < MOST_LEASES; i++) {
		struct lease *lease = &daemon->leases[i];

		if (lease->id && lease->until_us <= daemon->now_us)
			end(lease);
		else if (lease->id)
			CPU_OR_S(daemon->machine->size, set, set, lease->cpus);
	}
}

void lease_free(struct daemon *daemon)
{
	unsigned int i;

	for (i = 0; i < MOST_LEASES; i++)
		end(&daemon->leases[i]);
}
