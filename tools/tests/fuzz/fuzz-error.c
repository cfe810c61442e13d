// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes the reader of last_error. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "private.h"

const char *const fuzz_seeds[] = {
	"batch=1 pid=10 cpu=3 state=admission errno=16\n",
	"batch=18446744073709551615 pid=11 cpu=0 state=sched:active errno=12 undo=1:a,2:b:c\n",
	"batch=2 pid=1 cpu=1 state=a errno=5 undo=1:a,...\nbatch=3 pid=1 cpu=1 state=b errno=5\n",
	NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	const char *here = text, *before, *undo;
	struct error_line line;
	size_t entries;
	int cpu;

	while (before = here, error_next(&here, &line)) {
		fuzz_require(here > before, "each line is read once");
		fuzz_require(line.cpu >= 0 && line.err >= 0, "numbers are not negative");
		undo = line.undo;
		for (entries = 0; (cpu = error_undo_next(&undo)) >= 0; entries++)
			fuzz_require(entries < sizeof(line.undo), "an undo list ends");
	}
	fuzz_require(here == text + strlen(text), "all was read");
	free(text);
	return 0;
}
