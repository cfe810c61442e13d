// SPDX-License-Identifier: GPL-2.0-only
/* RAPL's counters, and the gauges of batteries: see energy_meter.h */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "energy_meter.h"
#include "file_read.h"

#define POWERCAP	"/sys/class/powercap"
#define POWER_SUPPLY	"/sys/class/power_supply"

/* The first line of a file of sysfs, to be freed; NULL with errno set after an error. */
static char *read_word(const char *root, const char *folder, const char *file)
{
	char *path, *text;

	if (asprintf(&path, "%s/%s", folder, file) < 0) {
		errno = ENOMEM;
		return NULL;
	}
	text = file_read(root, path, NULL);
	free(path);
	if (text)
		text[strcspn(text, "\n")] = '\0';
	return text;
}

static int read_number(const char *root, const char *folder, const char *file, uint64_t *number)
{
	char *text = read_word(root, folder, file), *end;
	int err = text ? 0 : -errno;

	if (!err) {
		errno = 0;
		*number = strtoull(text, &end, 10);
		if (*text < '0' || *text > '9' || *end || errno)
			err = -EINVAL;
	}
	free(text);
	return err;
}

static int add(struct energy_meters *meters, char *folder, const char *name, uint64_t range)
{
	char *copy = strdup(name);

	if (!copy) {
		free(folder);
		return -ENOMEM;
	}
	meters->folders[meters->count] = folder;
	meters->names[meters->count] = copy;
	meters->range[meters->count++] = range;
	return 0;
}

/*
 * Adds a zone of RAPL if the zone is a package or memory. The energy of cores, which have zones of
 * their own, is part of the energy of their package, and must not be counted twice.
 */
static int add_zone(struct energy_meters *meters, char *folder)
{
	char *name = read_word(meters->root, folder, "name");
	uint64_t range = 0, now;
	int err = 0;

	if (name && (!strncmp(name, "package-", 8) || !strcmp(name, "dram"))) {
		err = read_number(meters->root, folder, "energy_uj", &now);
		if (!err)
			err = read_number(meters->root, folder, "max_energy_range_uj", &range);
		if (!err) {
			err = add(meters, folder, name, range);
			free(name);
			return err;
		}
	}
	free(name);
	free(folder);
	/* A meter that gives no reading counts as absent, unless only root may read the meter. */
	return err == -EACCES || err == -EPERM ? -EACCES : 0;
}

static int add_battery(struct energy_meters *meters, char *folder, const char *entry)
{
	char *type = read_word(meters->root, folder, "type");
	char *status = read_word(meters->root, folder, "status");
	int err = 0;

	if (type && status && !strcmp(type, "Battery") && !strcmp(status, "Discharging"))
		err = add(meters, folder, entry, 0);
	else
		free(folder);
	free(type);
	free(status);
	return err;
}

static int wanted(const struct dirent *entry)
{
	return *entry->d_name != '.';
}

static int look_in(struct energy_meters *meters, const char *folder)
{
	struct dirent **entries = NULL;
	char *path;
	int count, i, err = 0;

	if (asprintf(&path, "%s%s", meters->root, folder) < 0)
		return -ENOMEM;
	count = scandir(path, &entries, wanted, alphasort);
	free(path);
	for (i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;

		if (!err && meters->count < ENERGY_MOST_METERS) {
			if (asprintf(&path, "%s/%s", folder, name) < 0)
				err = -ENOMEM;
			else if (meters->kind == METER_BATTERY)
				err = add_battery(meters, path, name);
			/* "intel-rapl-mmio:0" is left out: "intel-rapl:0" is the same package. */
			else if (!strncmp(name, "intel-rapl:", 11))
				err = add_zone(meters, path);
			else
				free(path);
		}
		free(entries[i]);
	}
	free(entries);
	return err;
}

int energy_meters_open(const char *root, struct energy_meters *meters)
{
	int err;

	*meters = (struct energy_meters){ .kind = METER_RAPL, .root = root };
	err = look_in(meters, POWERCAP);
	if (err || meters->count)
		return err;
	meters->kind = METER_BATTERY;
	err = look_in(meters, POWER_SUPPLY);
	return err ?: meters->count ? 0 : -ENOENT;
}

void energy_meters_close(struct energy_meters *meters)
{
	size_t i;

	for (i = 0; i < meters->count; i++) {
		free(meters->folders[i]);
		free(meters->names[i]);
	}
	meters->count = 0;
}

/* Some batteries report their power, other batteries their current and voltage. */
static int read_battery(const char *root, const char *folder, uint64_t *microwatts)
{
	uint64_t current, voltage;
	int err = read_number(root, folder, "power_now", microwatts);

	if (!err)
		return 0;
	err = read_number(root, folder, "current_now", &current);
	if (!err)
		err = read_number(root, folder, "voltage_now", &voltage);
	if (!err)
		*microwatts = (uint64_t)((double)current * (double)voltage / 1e6);
	return err;
}

int energy_meters_read(const struct energy_meters *meters, struct energy_reading *reading)
{
	struct timespec now;
	size_t i;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &now);
	reading->at_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	for (i = 0; i < meters->count && !err; i++) {
		if (meters->kind == METER_RAPL)
			err = read_number(meters->root, meters->folders[i], "energy_uj",
					  &reading->values[i]);
		else
			err = read_battery(meters->root, meters->folders[i],
					   &reading->values[i]);
	}
	return err;
}

double energy_watts(const struct energy_meters *meters, const struct energy_reading *before,
		    const struct energy_reading *after)
{
	double seconds = (double)(after->at_ns - before->at_ns) / 1e9, sum = 0;
	size_t i;

	for (i = 0; i < meters->count; i++) {
		double from = (double)before->values[i], to = (double)after->values[i];

		if (meters->kind == METER_BATTERY)
			sum += (from + to) / 2;
		else if (seconds > 0)
			sum += (to - from + (to < from ? (double)meters->range[i] : 0)) / seconds;
	}
	return sum / 1e6;
}
