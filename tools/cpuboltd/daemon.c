// SPDX-License-Identifier: GPL-2.0-only
/* The daemon: measures, decides, makes requests, and brings CPUs back at its end */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#include "bring.h"
#include "daemon.h"
#include "floor.h"
#include "irq_state.h"
#include "say.h"
#include "state.h"

#define RUN_FOLDER	"/run/cpubolt"
#define LOCK_FILE	RUN_FOLDER "/cpuboltd.lock"
#define NEEDS_US	10000000	/* from one search of renew_needs() to the next */
#define MOST_BUSY	3		/* refusals in a row after which a CPU counts as at fault */

uint64_t daemon_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static bool has(const struct daemon *daemon, const cpu_set_t *set, unsigned int cpu)
{
	return CPU_ISSET_S(cpu, daemon->machine->size, set);
}

static bool is_empty(const struct daemon *daemon, const cpu_set_t *set)
{
	return !CPU_COUNT_S(daemon->machine->size, set);
}

/* Removes the CPUs of @other from @set. */
static void remove_from(struct daemon *daemon, cpu_set_t *set, const cpu_set_t *other)
{
	unsigned int cpu;

	for (cpu = 0; cpu < daemon->machine->count; cpu++)
		if (has(daemon, other, cpu))
			CPU_CLR_S(cpu, daemon->machine->size, set);
}

/* -- Which CPUs may come or go -------------------------------------------------- */

static void on_foreign(void *data, unsigned int cpu, bool online, bool taken)
{
	struct daemon *daemon = data;
	char *fields[] = { field("CPUBOLT_CPU=%u", cpu), field("CPUBOLT_EVENT=foreign") };

	daemon->tally.foreign++;
	if (online)
		restraint_came(daemon->restraint, cpu, daemon->now_us);
	if (online && taken)
		say_with(LOG_NOTICE, fields, 2,
			 "another program has brought CPU %u online: it is left alone for %u s",
			 cpu, owner_waits(&daemon->owner, cpu, daemon->now_us));
	else if (online)
		say_with(LOG_INFO, fields, 2, "CPU %u has come online", cpu);
	else
		say_with(LOG_NOTICE, fields, 2,
			 "another program has taken CPU %u offline: it stays offline", cpu);
	free(fields[0]);
	free(fields[1]);
}

/*
 * Finds which CPUs are usable, and which of these are the floor. The CPUs of floor_alone(), and
 * CPUs that other programs have taken, are not usable. A CPU that failed in a request, or that
 * another program has brought back, is left alone as long as owner_waits() says so: while the CPU
 * is online, the floor has the CPU; while the CPU is offline, the CPU is not usable.
 */
static int find_usable(struct daemon *daemon)
{
	const struct owner *owner = &daemon->owner;
	size_t size = daemon->machine->size;
	unsigned int cpu;

	CPU_ZERO_S(size, daemon->more);
	memcpy(daemon->usable, owner->present, size);
	remove_from(daemon, daemon->usable, daemon->alone);
	remove_from(daemon, daemon->usable, owner->foreign);
	for (cpu = 0; cpu < daemon->machine->count; cpu++) {
		if (!owner_waits(owner, cpu, daemon->now_us))
			continue;
		if (has(daemon, owner->online, cpu))
			CPU_SET_S(cpu, size, daemon->more);
		else
			CPU_CLR_S(cpu, size, daemon->usable);
	}
	lease_expire(daemon, daemon->more);
	CPU_OR_S(size, daemon->more, daemon->more, daemon->needs);
	CPU_AND_S(size, daemon->online, owner->online, daemon->usable);
	CPU_AND_S(size, daemon->before, daemon->before, daemon->usable);
	return floor_own(daemon->machine, daemon->config, &daemon->inputs, daemon->more,
			 daemon->floor);
}

/* -- Requests --------------------------------------------------------------------- */

static void remember(struct daemon *daemon, const cpu_set_t *cpus)
{
	unsigned int cpu;

	for (cpu = 0; cpu < daemon->machine->count; cpu++) {
		if (!has(daemon, cpus, cpu))
			continue;
		free(daemon->memories[cpu].why);
		daemon->memories[cpu].why = field("for the policy \"%s\": %s",
						  daemon->config->policy->name,
						  daemon->decision.why);
		daemon->memories[cpu].at_us = daemon->now_us;
	}
}

static void say_request(struct daemon *daemon, enum cpubolt_op op, const cpu_set_t *cpus,
			const struct cpubolt_result *result)
{
	char *list = machine_list(daemon->machine, cpus);
	char *what = result->error ? cpubolt_explain(op, result) : NULL;
	char *fields[] = {
		field("CPUBOLT_EVENT=request"),
		field("CPUBOLT_OPERATION=%s", op == CPUBOLT_BRING_ONLINE ? "online" : "offline"),
		field("CPUBOLT_CPUS=%s", list ?: ""),
		field("CPUBOLT_POLICY=%s", daemon->config->policy->name),
		field("CPUBOLT_WHY=%s", daemon->decision.why),
		field("CPUBOLT_NS=%llu", result->ns),
		field("CPUBOLT_ERRNO=%d", result->error),
	};
	size_t i, count = sizeof(fields) / sizeof(fields[0]);

	if (result->error)
		say_with(LOG_WARNING, fields, (unsigned int)count, "%s", what ?: "no memory");
	else
		say_with(LOG_INFO, fields, (unsigned int)count, "CPUs %s %s in %.3f ms: %s",
			 list ?: "", op == CPUBOLT_BRING_ONLINE ? "came" : "went",
			 (double)result->ns / 1e6, daemon->decision.why);
	for (i = 0; i < count; i++)
		free(fields[i]);
	free(what);
	free(list);
}

/* Tells whether Bolt's setting "irq_keep" lists @cpu. Overwrites daemon->more. */
static bool is_in_irq_keep(struct daemon *daemon, int cpu)
{
	struct cpubolt *handle = daemon->machine->handle;
	char *list = NULL;
	bool kept = !cpubolt_get(handle, "irq_keep", &list) && *list &&
		    !cpubolt_parse_list(handle, list, daemon->more, NULL) &&
		    has(daemon, daemon->more, (unsigned int)cpu);

	free(list);
	return kept;
}

/*
 * Tells whether the CPU that @result names is at fault: always, unless bring_is_busy() is true of
 * @result. While CPU hotplug is disabled for a moment, as while a driver probes a PCI device, the
 * error is EBUSY, and the CPU that is named is not at fault. Bolt's "admission" of a CPU that comes
 * fails with EBUSY for no other reason, so this CPU never is at fault. If Bolt's "admission" of a
 * CPU that is to go fails with EBUSY, and irq_keep lists the CPU, the CPU is at fault. In all other
 * cases of bring_is_busy() a CPU counts as at fault each MOST_BUSY-th time in a row that the CPU is
 * named.
 */
static bool is_at_fault(struct daemon *daemon, enum cpubolt_op op,
			const struct cpubolt_result *result)
{
	if (!bring_is_busy(result))
		return true;
	if (op == CPUBOLT_BRING_ONLINE && *result->state)
		return false;
	if (op == CPUBOLT_TAKE_OFFLINE && *result->state && is_in_irq_keep(daemon, result->cpu))
		return true;
	if (daemon->busy_cpu != result->cpu)
		daemon->busy_times = 0;
	daemon->busy_cpu = result->cpu;
	return ++daemon->busy_times % MOST_BUSY == 0;
}

/*
 * A CPU that is at fault when a request fails is left alone for a while. If the request does not
 * say which CPU failed, no CPU goes for a while.
 */
static void yield_to_failure(struct daemon *daemon, enum cpubolt_op op,
			     const struct cpubolt_result *result)
{
	daemon->tally.errors++;
	if (result->cpu < 0 || (unsigned int)result->cpu >= daemon->machine->count)
		daemon->stay_until_us = daemon->now_us + daemon->config->backoff_s * 1000000ULL;
	else if (is_at_fault(daemon, op, result))
		owner_yield(&daemon->owner, (unsigned int)result->cpu, true, daemon->now_us);
}

/*
 * Writes the offline CPUs that this daemon or an earlier one has taken, and the CPUs of @going, to
 * the file /run/cpubolt/cpuboltd, or removes the file if there are none. @going is written before
 * the request: "--restore" finds these CPUs if the daemon is killed in the request.
 */
static int save(struct daemon *daemon, const cpu_set_t *going)
{
	size_t size = daemon->machine->size;

	remove_from(daemon, daemon->left, daemon->owner.online);
	CPU_OR_S(size, daemon->more, daemon->owner.taken, going);
	CPU_OR_S(size, daemon->more, daemon->more, daemon->left);
	if (is_empty(daemon, daemon->more))
		return state_remove(daemon->machine);
	return state_save(daemon->machine, daemon->more);
}

/*
 * Empties "going", and calls save(). If the file cannot be written, the daemon goes on with the old
 * file: at worst "--restore" brings CPUs back that another program has taken since.
 */
static void save_taken(struct daemon *daemon)
{
	int err;

	CPU_ZERO_S(daemon->machine->size, daemon->going);
	err = save(daemon, daemon->going);
	if (err)
		say(LOG_ERR, "cannot write " RUN_FOLDER "/cpuboltd: %s", strerror(-err));
}

/*
 * Another program may have changed CPUs since the daemon has looked. If so, no CPU goes in this
 * interval, because it is not known which tasks need the CPUs that are online now (save_taken()
 * empties "going"), and a CPU comes only if it still is one that the daemon has taken.
 */
static int look_again(struct daemon *daemon)
{
	size_t size = daemon->machine->size;
	int found = owner_look(&daemon->owner, daemon->now_us, on_foreign, daemon);

	if (found <= 0)
		return found;
	machine_places(daemon->machine);
	CPU_AND_S(size, daemon->coming, daemon->coming, daemon->owner.taken);
	save_taken(daemon);
	return 0;
}

static int ask_once(struct daemon *daemon, enum cpubolt_op op, const cpu_set_t *cpus,
		    struct cpubolt_result *result)
{
	bool online = op == CPUBOLT_BRING_ONLINE;
	/* Without Bolt, CPUs that have come stay when a later CPU does not come. */
	int err = cpubolt_request(daemon->machine->handle, op, cpus,
				  online ? CPUBOLT_KEEP_CHANGES : 0, result);

	/* A request with CPUBOLT_WAY_NONE did not get to the kernel, and is not counted. */
	if (result->way != CPUBOLT_WAY_NONE)
		metrics_count(daemon, result->ns);
	say_request(daemon, op, cpus, result);
	if (err)
		yield_to_failure(daemon, op, result);
	else
		daemon->busy_times = 0;
	/* If a request has failed, and could not be undone, some of its CPUs may be offline. */
	if (!err || !online)
		remember(daemon, cpus);
	if (!err || online)
		*(online ? &daemon->tally.came : &daemon->tally.went) += result->changed;
	err = owner_changed(&daemon->owner, cpus, online, !err, daemon->now_us, on_foreign, daemon);
	if (online)
		machine_places(daemon->machine);
	return err;
}

/*
 * @cpus is daemon->going or daemon->coming, as look_again() changes these sets. If a CPU that is at
 * fault does not come, asks again without that CPU.
 */
static int ask(struct daemon *daemon, enum cpubolt_op op, cpu_set_t *cpus)
{
	struct cpubolt_result result = { .error = EAGAIN };
	unsigned int failed;
	int err = 0;

	while (!err && result.error && !is_empty(daemon, cpus)) {
		err = look_again(daemon);
		if (err || is_empty(daemon, cpus))
			break;
		err = ask_once(daemon, op, cpus, &result);
		failed = (unsigned int)result.cpu;
		if (op != CPUBOLT_BRING_ONLINE || result.cpu < 0 ||
		    failed >= daemon->machine->count || !has(daemon, cpus, failed) ||
		    !owner_waits(&daemon->owner, failed, daemon->now_us))
			break;
		CPU_CLR_S(failed, daemon->machine->size, cpus);
		/* Without Bolt other CPUs may have come: these are not asked for again. */
		remove_from(daemon, cpus, daemon->owner.online);
	}
	return err;
}

/* @online: CPUs that are online when the CPUs of @going, which may be empty, have gone. */
static int move_interrupts(struct daemon *daemon, const cpu_set_t *online, const cpu_set_t *going)
{
	size_t size = daemon->machine->size;
	struct irq_cpus cpus = {
		.online = daemon->owner.online,
		.stay = daemon->stay,
		.going = going,
		.floor = daemon->floor,
	};

	if (!daemon->interrupts)
		return 0;
	/* CPUs that the policy does not want will go soon, so they do not count as staying. */
	CPU_OR_S(size, daemon->stay, daemon->wanted, daemon->floor);
	CPU_AND_S(size, daemon->stay, daemon->stay, online);
	CPU_AND_S(size, daemon->stay, daemon->stay, daemon->usable);
	if (is_empty(daemon, daemon->stay))
		CPU_AND_S(size, daemon->stay, online, daemon->usable);
	return interrupts_update(daemon->interrupts, &cpus, daemon->now_us);
}

/* Moves interrupts off the CPUs that go: a CPU without interrupts goes faster. */
static int free_of_interrupts(struct daemon *daemon)
{
	memcpy(daemon->more, daemon->owner.online, daemon->machine->size);
	remove_from(daemon, daemon->more, daemon->going);
	return move_interrupts(daemon, daemon->more, daemon->going);
}

/* In a dry run, CPUs that would have gone are online, and count as CPUs that go. */
static int renew_interrupts(struct daemon *daemon)
{
	size_t size = daemon->machine->size;

	CPU_ZERO_S(size, daemon->going);
	memcpy(daemon->more, daemon->owner.online, size);
	if (daemon->dry_run) {
		memcpy(daemon->going, daemon->online, size);
		remove_from(daemon, daemon->going, daemon->next);
		remove_from(daemon, daemon->more, daemon->going);
	}
	return move_interrupts(daemon, daemon->more, daemon->going);
}

static int carry_out(struct daemon *daemon)
{
	int err;

	if (daemon->now_us < daemon->stay_until_us)
		CPU_ZERO_S(daemon->machine->size, daemon->going);
	if (!is_empty(daemon, daemon->going)) {
		err = save(daemon, daemon->going);
		if (err) {
			/* Without the file no CPU may go: none would come back after a crash. */
			say(LOG_ERR, "cannot write " RUN_FOLDER "/cpuboltd: %s", strerror(-err));
			daemon->stay_until_us = daemon->now_us +
						daemon->config->backoff_s * 1000000ULL;
			CPU_ZERO_S(daemon->machine->size, daemon->going);
		}
	}
	err = ask(daemon, CPUBOLT_BRING_ONLINE, daemon->coming);
	/* If a CPU has not come, no CPU goes: the CPU may be meant to replace a CPU that goes. */
	memcpy(daemon->coming, daemon->next, daemon->machine->size);
	remove_from(daemon, daemon->coming, daemon->owner.online);
	if (!is_empty(daemon, daemon->coming))
		CPU_ZERO_S(daemon->machine->size, daemon->going);
	if (!err && !is_empty(daemon, daemon->going))
		err = free_of_interrupts(daemon);
	if (!err)
		err = ask(daemon, CPUBOLT_TAKE_OFFLINE, daemon->going);
	if (!err) {
		/* Records which CPUs the requests have changed. */
		memcpy(daemon->next, daemon->owner.online, daemon->machine->size);
		CPU_AND_S(daemon->machine->size, daemon->next, daemon->next, daemon->usable);
		restraint_changed(daemon->restraint, &daemon->inputs, daemon->online, daemon->next,
				  daemon->now_us);
		save_taken(daemon);
	}
	return err;
}

static void find_difference(struct daemon *daemon)
{
	size_t size = daemon->machine->size;

	memcpy(daemon->going, daemon->online, size);
	remove_from(daemon, daemon->going, daemon->next);
	memcpy(daemon->coming, daemon->next, size);
	remove_from(daemon, daemon->coming, daemon->online);
}

/*
 * Adds to "needs" the CPUs of "going" that are needed, and lets these stay. Returns 1 if there are
 * such CPUs, 0 if there are none, or a negative errno.
 */
static int spare_the_needed(struct daemon *daemon)
{
	size_t size = daemon->machine->size;
	cpu_set_t *found = daemon->coming;
	bool any;
	int err;

	/* CPUs that are left alone stay, too. */
	CPU_OR_S(size, daemon->more, daemon->owner.online, daemon->next);
	remove_from(daemon, daemon->more, daemon->going);
	err = floor_others(daemon->machine, daemon->going, daemon->more, found);
	if (err)
		return err;
	any = !is_empty(daemon, found);
	CPU_OR_S(size, daemon->needs, daemon->needs, found);
	CPU_OR_S(size, daemon->next, daemon->next, found);
	find_difference(daemon);
	return any;
}

/*
 * Looks every ten seconds which CPUs are still needed, and whether any CPU that was taken is
 * needed. A CPU that was needed counts as needed until the next look; otherwise the CPU might go
 * and come again in each interval.
 */
static int renew_needs(struct daemon *daemon)
{
	size_t size = daemon->machine->size;
	int err;

	if (daemon->now_us < daemon->needs_until_us)
		return 0;
	CPU_OR_S(size, daemon->going, daemon->needs, daemon->owner.taken);
	if (!is_empty(daemon, daemon->going)) {
		memcpy(daemon->more, daemon->owner.online, size);
		remove_from(daemon, daemon->more, daemon->going);
		err = floor_others(daemon->machine, daemon->going, daemon->more, daemon->next);
		if (err)
			return err;
		memcpy(daemon->needs, daemon->next, size);
	}
	daemon->needs_until_us = daemon->now_us + NEEDS_US;
	return 0;
}

/* Logs in a dry run which CPUs would be online, when these change. */
static void say_plan(struct daemon *daemon)
{
	char *list;

	if (CPU_EQUAL_S(daemon->machine->size, daemon->planned, daemon->next))
		return;
	memcpy(daemon->planned, daemon->next, daemon->machine->size);
	list = machine_list(daemon->machine, daemon->next);
	say(LOG_INFO, "dry run: CPUs %s would be online: %s", list ?: "", daemon->decision.why);
	free(list);
}

/* -- One interval ------------------------------------------------------------------- */

static int decide(struct daemon *daemon)
{
	const struct config *config = daemon->config;
	size_t size = daemon->machine->size;
	unsigned int tries;
	int err = 1;

	/*
	 * When more CPUs turn out to be needed, the policy may want other CPUs than before, so the
	 * policy is asked again.
	 */
	for (tries = 0; err > 0 && tries < 2; tries++) {
		err = config->policy->decide(&config->settings, &daemon->inputs,
					     &daemon->decision);
		if (err)
			return err;
		restrain(daemon->restraint, &config->rules, config->policy, &daemon->inputs,
			 daemon->wanted, daemon->now_us, daemon->next);
		find_difference(daemon);
		if (is_empty(daemon, daemon->going))
			break;
		err = spare_the_needed(daemon);
		CPU_AND_S(size, daemon->more, daemon->needs, daemon->usable);
		CPU_OR_S(size, daemon->floor, daemon->floor, daemon->more);
	}
	memcpy(daemon->before, daemon->wanted, size);
	return err < 0 ? err : 0;
}

static int look(struct daemon *daemon)
{
	int found;

	daemon->now_us = daemon_now_us();
	found = owner_look(&daemon->owner, daemon->now_us, on_foreign, daemon);
	if (found > 0) {
		machine_places(daemon->machine);
		if (!daemon->dry_run)
			save_taken(daemon);
	}
	if (found >= 0)
		found = renew_needs(daemon);
	return found < 0 ? found : find_usable(daemon);
}

/* Decides which CPUs are wanted, and makes the requests. */
static int change(struct daemon *daemon)
{
	int err = decide(daemon);

	if (err)
		return err;
	if (daemon->dry_run)
		say_plan(daemon);
	else if (!is_empty(daemon, daemon->going) || !is_empty(daemon, daemon->coming))
		err = carry_out(daemon);
	return err;
}

int daemon_round(struct daemon *daemon)
{
	bool first = !daemon->counters.at_us;
	int err = look(daemon);
	/* Looking at tasks may have taken long, so the clock is read again. */
	uint64_t now_us = daemon_now_us();

	/*
	 * A lease starts a round early. If less than half an interval has passed since the load was
	 * measured, a later round measures the load: load of so short a time says nothing.
	 */
	if (!err && (first || now_us - daemon->counters.at_us >=
				      daemon->config->interval_ms * 500ULL))
		err = sample_take(daemon->machine, &daemon->counters, now_us, &daemon->inputs,
				  daemon->loads);
	if (err || first)
		return err;
	err = change(daemon);
	if (!err)
		err = renew_interrupts(daemon);
	metrics_write(daemon, false);
	return err;
}

static void notify(const struct daemon *daemon)
{
	char *list = machine_list(daemon->machine, daemon->owner.online);

	sd_notifyf(0, "WATCHDOG=1\nSTATUS=policy %s, CPUs %s online",
		   daemon->config->policy->name, list ?: "");
	free(list);
}

static int on_time(sd_event_source *source, uint64_t due_us, void *data)
{
	struct daemon *daemon = data;
	int err = daemon_round(daemon);

	if (err) {
		say(LOG_ERR, "cannot go on: %s", strerror(-err));
		daemon->code = EXIT_FAILED;
		return sd_event_exit(daemon->loop, 0);
	}
	notify(daemon);
	if (daemon->samples && !--daemon->samples)
		return sd_event_exit(daemon->loop, 0);
	err = sd_event_source_set_time(source, daemon->now_us +
					       daemon->config->interval_ms * 1000ULL);
	return err < 0 ? err : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_event(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct daemon *daemon = data;
	struct cpubolt_event event;
	int got;

	do {
		got = cpubolt_monitor_next(daemon->monitor, 0, &event);
	} while (got > 0);
	if (got < 0 && got != -ENOBUFS) {
		say(LOG_WARNING, "no more events of CPUs: %s", strerror(-got));
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	}
	/* An error of look() is not handled here, but in the next interval if it occurs again. */
	look(daemon);
	return 0;
}

/* -- Begin and end -------------------------------------------------------------------- */

static int make_sets(struct daemon *daemon)
{
	cpu_set_t **sets[] = { &daemon->usable, &daemon->online, &daemon->floor, &daemon->before,
			       &daemon->wanted, &daemon->next, &daemon->more, &daemon->needs,
			       &daemon->going, &daemon->coming, &daemon->planned,
			       &daemon->left, &daemon->stay, &daemon->alone };
	const struct machine *machine = daemon->machine;
	size_t i;

	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		*sets[i] = machine_set(machine);
		if (!*sets[i])
			return -ENOMEM;
	}
	daemon->loads = calloc(machine->count + 1, sizeof(*daemon->loads));
	daemon->memories = calloc(machine->count + 1, sizeof(*daemon->memories));
	daemon->restraint = restraint_new(machine->count);
	daemon->decision.wanted = daemon->wanted;
	daemon->inputs = (struct inputs){
		.count = machine->count,
		.size = machine->size,
		.places = machine->places,
		.loads = daemon->loads,
		.usable = daemon->usable,
		.online = daemon->online,
		.floor = daemon->floor,
		.before = daemon->before,
	};
	if (daemon->config->interrupts.enabled) {
		daemon->interrupts = interrupts_new(daemon->machine, daemon->config,
						    daemon->dry_run);
		if (!daemon->interrupts)
			return -ENOMEM;
	}
	return daemon->loads && daemon->memories && daemon->restraint ? 0 : -ENOMEM;
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *about, void *data)
{
	struct daemon *daemon = data;

	return sd_event_exit(daemon->loop, 0);
}

static int make_loop(struct daemon *daemon)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
	sigset_t blocked;
	size_t i;
	int err;

	sigemptyset(&blocked);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&blocked, signals[i]);
	if (sigprocmask(SIG_BLOCK, &blocked, NULL))
		return -errno;
	err = sd_event_new(&daemon->loop);
	for (i = 0; err >= 0 && i < sizeof(signals) / sizeof(signals[0]); i++)
		err = sd_event_add_signal(daemon->loop, NULL, signals[i], on_signal, daemon);
	if (err >= 0)
		err = sd_event_add_time(daemon->loop, &daemon->timer, CLOCK_MONOTONIC, 0,
					daemon->config->interval_ms * 20ULL, on_time, daemon);
	return err < 0 ? err : 0;
}

/* Without udev, changes by other programs are found in the next interval. */
static void listen_to_events(struct daemon *daemon)
{
	int err = cpubolt_monitor_open(daemon->machine->handle, &daemon->monitor);

	if (!err) {
		err = sd_event_add_io(daemon->loop, NULL, cpubolt_monitor_fd(daemon->monitor),
				      EPOLLIN, on_event, daemon);
		err = err < 0 ? err : 0;
	}
	if (err && err != -EOPNOTSUPP)
		say(LOG_WARNING, "cannot listen for CPUs that come and go: %s", strerror(-err));
}

void daemon_end(struct daemon *daemon)
{
	unsigned int cpu;

	control_close(daemon);
	cpubolt_monitor_close(daemon->monitor);
	sd_event_source_unref(daemon->timer);
	sd_event_unref(daemon->loop);
	lease_free(daemon);
	owner_end(&daemon->owner);
	restraint_free(daemon->restraint);
	counters_free(&daemon->counters);
	interrupts_free(daemon->interrupts);
	free(daemon->loads);
	for (cpu = 0; daemon->memories && cpu < daemon->machine->count; cpu++)
		free(daemon->memories[cpu].why);
	free(daemon->memories);
	CPU_FREE(daemon->usable);
	CPU_FREE(daemon->online);
	CPU_FREE(daemon->floor);
	CPU_FREE(daemon->before);
	CPU_FREE(daemon->wanted);
	CPU_FREE(daemon->next);
	CPU_FREE(daemon->more);
	CPU_FREE(daemon->needs);
	CPU_FREE(daemon->going);
	CPU_FREE(daemon->coming);
	CPU_FREE(daemon->planned);
	CPU_FREE(daemon->left);
	CPU_FREE(daemon->stay);
	CPU_FREE(daemon->alone);
}

int daemon_begin(struct daemon *daemon)
{
	int err = make_sets(daemon);

	if (!err)
		err = counters_init(daemon->machine, &daemon->counters);
	if (!err)
		err = owner_begin(&daemon->owner, daemon->machine, daemon->config->backoff_s);
	if (!err)
		err = floor_alone(daemon->machine, daemon->config, daemon->alone);
	if (!err)
		err = make_loop(daemon);
	if (err)
		return err;
	memcpy(daemon->before, daemon->owner.online, daemon->machine->size);
	/* CPUs of an earlier daemon that are still offline: save() keeps these for restore(). */
	if (!daemon->dry_run)
		state_load(daemon->machine, daemon->left);
	listen_to_events(daemon);
	if (!daemon->dry_run)
		control_open(daemon);
	return 0;
}

/*
 * Locks LOCK_FILE, and returns its descriptor: apart from dry runs, one daemon runs at a time, and
 * no daemon while "--restore" puts CPUs back.
 */
static int lock_alone(const struct machine *machine)
{
	char *folder = field("%s" RUN_FOLDER, machine->root);
	char *path = field("%s" LOCK_FILE, machine->root);
	int fd = -ENOMEM;

	if (folder && path && mkdir(folder, 0755) && errno != EEXIST) {
		fd = -errno;
	} else if (folder && path) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB)) {
			int err = -errno;

			if (fd >= 0)
				close(fd);
			fd = err;
		}
	}
	free(folder);
	free(path);
	return fd;
}

static int refuse_lock(int err)
{
	if (err == -EWOULDBLOCK)
		return fail(EXIT_FAILED, "a cpuboltd runs already");
	return fail(err == -EACCES || err == -EROFS ? EXIT_NOT_PERMITTED : EXIT_FAILED,
		    "cannot write " LOCK_FILE ": %s", strerror(-err));
}

/* Logs CPUs that were taken, and that the configuration now has in "deny". */
static void say_denied(const struct machine *machine, const cpu_set_t *deny, cpu_set_t *set)
{
	char *list;

	if (state_load(machine, set))
		return;
	CPU_AND_S(machine->size, set, set, deny);
	if (!CPU_COUNT_S(machine->size, set))
		return;
	list = machine_list(machine, set);
	say(LOG_NOTICE, "CPUs %s are in \"deny\", and are left as they are", list ?: "");
	free(list);
}

static int restore(struct machine *machine, const cpu_set_t *deny)
{
	struct cpubolt_result result;
	struct irq_state interrupts;
	cpu_set_t *back = machine_set(machine);
	int irq_err = interrupts_restore_begin(machine, &interrupts), err;
	char *list, *what;
	bool good;

	if (back && deny)
		say_denied(machine, deny, back);
	err = back ? state_restore(machine, deny, back, &result) : -ENOMEM;

	if (back && CPU_COUNT_S(machine->size, back)) {
		list = machine_list(machine, back);
		say(LOG_NOTICE, "CPUs %s are online again, as the daemon found them", list ?: "");
		free(list);
	}
	if (err == -EINVAL && !result.error) {
		say(LOG_ERR, "cannot put back all CPUs: " RUN_FOLDER "/cpuboltd cannot be "
			     "understood, and is now " STATE_BAD_FILE);
	} else if (err) {
		what = err != -ENOMEM && result.error ?
		       cpubolt_explain(CPUBOLT_BRING_ONLINE, &result) : NULL;
		say(LOG_ERR, "cannot put back all CPUs: %s", what ?: strerror(-err));
		free(what);
	}
	CPU_FREE(back);
	good = interrupts_restore_end(machine, &interrupts, irq_err);
	return err || !good ? EXIT_FAILED : EXIT_DONE;
}

int run_restore(struct machine *machine, const cpu_set_t *deny)
{
	static const struct timespec pause = { .tv_nsec = 100000000 };
	int lock = lock_alone(machine), code, tries;

	/* A daemon that is about to end puts its CPUs back: wait for the lock, for up to 3 s. */
	for (tries = 0; lock == -EWOULDBLOCK && tries < 30; tries++) {
		nanosleep(&pause, NULL);
		lock = lock_alone(machine);
	}
	if (lock < 0)
		return refuse_lock(lock);
	code = restore(machine, deny);
	close(lock);
	return code;
}

/* The metrics file outlives the daemon: CPUs and affinities that were put back no longer count. */
static void write_last_metrics(struct daemon *daemon)
{
	size_t size = daemon->machine->size;
	int before = CPU_COUNT_S(size, daemon->owner.taken);

	if (owner_look(&daemon->owner, daemon->now_us, NULL, NULL) >= 0)
		daemon->tally.came += before - CPU_COUNT_S(size, daemon->owner.taken);
	CPU_ZERO_S(size, daemon->wanted);
	CPU_ZERO_S(size, daemon->floor);
	if (daemon->interrupts)
		interrupts_restored(daemon->interrupts);
	metrics_write(daemon, true);
}

static int run(struct daemon *daemon)
{
	int err = daemon_begin(daemon), restored;
	unsigned int features;

	if (err) {
		daemon_end(daemon);
		return fail(EXIT_FAILED, "cannot start: %s", strerror(-err));
	}
	features = cpubolt_features(daemon->machine->handle);
	if (!(features & (CPUBOLT_ENABLED | CPUBOLT_UNREADABLE)))
		say(LOG_NOTICE, "Bolt is not enabled: CPUs change one after the other, and slowly");
	sd_notify(0, "READY=1");
	err = sd_event_loop(daemon->loop);
	if (err < 0)
		daemon->code = fail(EXIT_FAILED, "the event loop has failed: %s", strerror(-err));
	sd_notify(0, "STOPPING=1");
	if (!daemon->dry_run) {
		/* look() finds what other programs have changed; that is not put back. */
		if (err >= 0 && !look(daemon))
			save_taken(daemon);
		restored = restore(daemon->machine, daemon->config->deny);
		daemon->code = daemon->code ?: restored;
		write_last_metrics(daemon);
	}
	daemon_end(daemon);
	return daemon->code;
}

int run_daemon(struct machine *machine, struct config *config, bool dry_run,
	       unsigned long samples)
{
	struct daemon daemon = {
		.machine = machine,
		.config = config,
		.dry_run = dry_run,
		.samples = samples,
		.control = -1,
	};
	int lock, code;

	if (dry_run)
		return run(&daemon);
	lock = lock_alone(machine);
	if (lock < 0)
		return refuse_lock(lock);
	/*
	 * A daemon that was killed may have left CPUs offline, which come back here. A CPU that
	 * does not come now counts as taken by another program, and is no reason not to start.
	 */
	restore(machine, config->deny);
	code = run(&daemon);
	close(lock);
	return code;
}
