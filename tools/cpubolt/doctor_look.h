/* SPDX-License-Identifier: GPL-2.0-only */
/* What "cpubolt doctor" looks at. */
#ifndef DOCTOR_LOOK_H
#define DOCTOR_LOOK_H

#include "command.h"

enum finding_kind {
	FINDING_OK,
	FINDING_NOTE,		/* good to know; nothing has to be done */
	FINDING_TODO,		/* something needs doing */
};

/** What one check has found */
struct finding {
	enum finding_kind status;
	const char *check;	/* a constant, 13 characters at most */
	char *found;
	char *advice;		/* what to do; NULL if there is no advice */
};

struct findings {
	struct finding *list;
	size_t count;
};

/**
 * doctor_look() - make all checks, and add to @findings what they find
 * @call: invocation_open() has opened its machine
 */
void doctor_look(struct invocation *call, struct findings *findings);

/** finding_status() - "ok", "note" or "todo": a constant */
const char *finding_status(const struct finding *finding);

/** findings_free() - free what @findings holds */
void findings_free(struct findings *findings);

#endif /* DOCTOR_LOOK_H */
