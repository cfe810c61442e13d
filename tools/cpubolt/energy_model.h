/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A model of the power that a machine takes. cpubolt-energy(1) lists the sections of the files of a
 * model, and the keys of each section.
 *
 * A number may have a range, in which the true value may be: "97 (90..104)". Results are computed
 * with the numbers, and the ranges of results with each number at the ends of its range, one number
 * at a time.
 */
#ifndef ENERGY_MODEL_H
#define ENERGY_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#define ENERGY_IDLE_STATES	8
#define ENERGY_SLEEP_STATES	4
#define ENERGY_NAME		24
#define ENERGY_MOST_CPUS	1024
#define ENERGY_MOST_PACKAGE	64
#define ENERGY_MOST_SOURCES	16
#define ENERGY_MOST_FILES	2

/** A number of a model */
struct quantity {
	double value, low, high;
	unsigned int line;		/* line of the file; 1: from an option; 0: no number */
	const char *file;		/* the file's name, owned by the model; NULL: an option */
};

/** An idle state of a CPU; its power is what the CPU takes more than in the deepest idle state */
struct energy_idle {
	char name[ENERGY_NAME];
	struct quantity power, residency_us, exit_us;
	unsigned int line;
	const char *file;
};

/** A state of a package all of whose CPUs are idle or offline */
struct energy_sleep {
	char name[ENERGY_NAME];
	/* power of the package while its CPUs are in the deepest idle state */
	struct quantity power;
	struct quantity residency_us, exit_us;
	struct quantity online_most;	/* CPUs of the package that may be online; if absent, all */
	struct quantity share; /* share of sleep in the time in which the package could sleep */
	unsigned int line;
	const char *file;
};

/** Requests of one kind; times are in milliseconds */
struct energy_requests {
	struct quantity off_ms, off_more_ms;	/* first CPU that goes, and each further CPU */
	struct quantity on_ms, on_more_ms;	/* first CPU that comes, and each further CPU */
	struct quantity off_busy, on_busy;	/* how many CPUs a request keeps busy */
	struct quantity settle_after_ms;	/* how long a CPU that went stays parked */
	struct quantity parks_warm;		/* 1: a parked CPU takes the power "warm" */
	struct quantity settle_ms;		/* how long settling a CPU takes */
	struct quantity settled_more_ms;	/* how much longer a settled CPU takes to come */
	unsigned int line;
	const char *file;
};

enum energy_kind { ENERGY_NATIVE, ENERGY_BOLT, ENERGY_KINDS };

/**
 * A model; powers are in milliwatts, and the power of a CPU is what the CPU takes more than in the
 * deepest idle state
 */
struct energy_model {
	char *files[ENERGY_MOST_FILES];		/* names of the files that were read */
	size_t file_count;
	char *name, *default_requests;
	char *sources[ENERGY_MOST_SOURCES];
	size_t source_count;
	struct quantity cpus, package;		/* CPUs of the machine, and of each package */
	struct quantity active;			/* power of a CPU that runs */
	struct quantity awake;			/* an awake package's power, to which CPUs add */
	struct quantity offline, warm;		/* power of a CPU offline, and parked warm */
	struct quantity warm_sleeps;		/* 1: a package with a CPU parked warm may sleep */
	struct quantity idle_wakeups;		/* wake-ups a second of a CPU without work */
	struct quantity work_wakeups;		/* wake-ups for each second of work */
	struct energy_idle idle[ENERGY_IDLE_STATES];	/* the deepest state last */
	size_t idle_count;
	struct energy_sleep sleep[ENERGY_SLEEP_STATES];	/* the deepest state last */
	size_t sleep_count;
	struct energy_requests requests[ENERGY_KINDS];
};

/**
 * energy_model_parse() - add what a text says to a model
 * @name: name of the file, for messages; the model keeps a copy
 * @model: all zero before the first text; takes ENERGY_MOST_FILES texts at most
 * @error: "FILE:LINE: ..." if -EINVAL is returned; to be freed
 *
 * Return: 0, -EINVAL or -ENOMEM. The model is to be freed in any case.
 */
int energy_model_parse(const char *name, const char *text, size_t length, struct energy_model *model,
		       char **error);

/**
 * energy_model_check() - refuse a model that lacks its name, a source or a number, or whose numbers
 * contradict each other
 * @error: begins with the file and the line of the wrong number, or of the wrong section
 *	   [idle ...], [sleep ...] or [requests ...]; for absent requests, with line 1 of the last
 *	   file, and for all other errors with line 1 of the first file
 *
 * Return: as energy_model_parse().
 */
int energy_model_check(const struct energy_model *model, char **error);

void energy_model_free(struct energy_model *model);

/**
 * energy_quantity() - one of the numbers of a model
 * @number: index among the numbers that the model has, from 0 on
 * @label: overwritten with what the number is, as "idle C1 power"
 *
 * Return: NULL if the model has no more numbers.
 */
struct quantity *energy_quantity(struct energy_model *model, unsigned int number, char *label,
				 size_t size);

#endif /* ENERGY_MODEL_H */
