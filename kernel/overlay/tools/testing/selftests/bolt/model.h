/* SPDX-License-Identifier: GPL-2.0-only */
/* The documented meaning of lists and masks for bolt/online and similar files. */
#ifndef SELFTESTS_BOLT_MODEL_H
#define SELFTESTS_BOLT_MODEL_H

#include <strings.h>

#include "sets.h"

/* Reads a number, or N, which means @last. Returns the text after that; NULL on an error. */
static inline const char *model_number(const char *at, unsigned long long last,
				       unsigned long long *value)
{
	if (*at == 'N') {
		*value = last;
		return at + 1;
	}
	if (!isdigit((unsigned char)*at))
		return NULL;
	for (*value = 0; isdigit((unsigned char)*at); at++) {
		*value = *value * 10 + *at - '0';
		if (*value > INT32_MAX)
			return NULL;
	}
	return at;
}

/*
 * Adds to @set the CPUs of the region with which the text @at begins. Returns the text
 * after the region, or NULL if @at is empty or the region is malformed.
 */
static inline const char *model_region(const char *at, int nr, cpus_t *set)
{
	unsigned long long first = 0, last = nr - 1, used = 1, group = 1;

	if (!strncasecmp(at, "all", 3)) {
		at += 3;
	} else {
		at = model_number(at, nr - 1, &first);
		last = first;
		if (at && *at == '-')
			at = model_number(at + 1, nr - 1, &last);
		else if (at && *at == ':')
			return NULL;
	}
	if (at && *at == ':') {
		at = model_number(at + 1, nr - 1, &used);
		if (!at || *at != '/')
			return NULL;
		at = model_number(at + 1, nr - 1, &group);
	} else if (at && *at && !strchr(" \t,", *at)) {
		return NULL;
	}
	if (!at || first > last || last >= (unsigned long long)nr || !group || used > group)
		return NULL;
	for (unsigned long long cpu = first; cpu <= last; cpu++)
		if ((cpu - first) % group < used)
			*set |= CPU(cpu);
	return at;
}

/*
 * Applies the rule for a list that may be empty. Returns 0, or the error with which a file
 * refuses the list.
 */
static inline int model_list_any(const struct world *world, const char *text,
				 size_t len, cpus_t *set)
{
	char *copy, *at;

	*set = 0;
	if (len >= world->page)
		return -E2BIG;
	if (len && !text[len - 1])
		len--;
	if (len && text[len - 1] == '\n')
		len--;
	for (size_t i = 0; i < len; i++)
		if (text[i] != '\t' && (text[i] < ' ' || text[i] > '~'))
			return -EINVAL;
	copy = strndup(text, len);
	for (at = copy; at && *at;) {
		if (strchr(" \t,", *at))
			at++;
		else
			at = (char *)model_region(at, world->nr, set);
	}
	free(copy);
	return at ? 0 : -EINVAL;
}

/* Applies the rule for a list that must not be empty. */
static inline int model_list(const struct world *world, const char *text,
			     size_t len, cpus_t *set)
{
	int err = model_list_any(world, text, len, set);

	return !err && !*set ? -EINVAL : err;
}

/* Applies the rule for a mask. */
static inline int model_mask(const struct world *world, const char *data,
			     size_t len, cpus_t *set)
{
	*set = 0;
	if (len >= world->page)
		return -E2BIG;
	if (!len || len % sizeof(long))
		return -EINVAL;
	for (size_t bit = 0; bit < 8 * len; bit++) {
		if (!(((unsigned long *)data)[bit / (8 * sizeof(long))] >>
		      bit % (8 * sizeof(long)) & 1))
			continue;
		if (bit >= (size_t)world->nr)
			return -EINVAL;
		*set |= CPU(bit);
	}
	return *set ? 0 : -EINVAL;
}

/*
 * The errors that fit a request, which must be refused with one of these errors. If no
 * error fits, the request must succeed.
 */
struct verdict {
	bool inval, nodev, perm, busy;
};

static inline struct verdict judge(const struct world *world, enum ask ask,
				   cpus_t set, cpus_t online)
{
	cpus_t down = online & ~ask_result(ask, set, online);

	return (struct verdict) {
		.inval = set & ~world->possible,
		.nodev = set & world->possible & ~world->present,
		.perm = down & ~world->movable,
		.busy = !ask_result(ask, set, online),
	};
}

static inline bool admits(struct verdict v, int err)
{
	if (!err)
		return !v.inval && !v.nodev && !v.perm && !v.busy;
	return (err == -EINVAL && v.inval) || (err == -ENODEV && v.nodev) ||
	       (err == -EPERM && v.perm) || (err == -EBUSY && v.busy);
}

#endif /* SELFTESTS_BOLT_MODEL_H */
