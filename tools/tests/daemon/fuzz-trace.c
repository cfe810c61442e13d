// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes recorded load, and counters of /proc */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "sample.h"
#include "load_trace.h"

const char *const fuzz_seeds[] = {
	"time,demand,runnable,pressure,steal\n100,1.5,2,12.5,0.25\n110,3,0,0,0\n",
	"# hostname;interval;timestamp;CPU;%user;%iowait;%steal;%idle;runq-sz\n"
	"h;600;2026-11-22 00:10:01 UTC;-1;20.00;10.00;0.00;65.00;3\n"
	"h;-1;2026-11-22 00:15:00 UTC;LINUX-RESTART\t(8 CPU)\n",
	"interval,demand\n0.5,1e3\n60,20\n",
	"cpu0 100 10 20 5000 7 1 2 9 3 0\ncpu2 1 0 0 9 0 0 0 0\nprocs_running 4\n",
	"some avg10=0.00 avg60=0.00 avg300=0.00 total=1234567\n",
	NULL,
};

static void check(const struct load_trace *trace)
{
	unsigned int i;

	fuzz_require(trace->count > 0, "rows");
	for (i = 0; i < trace->count; i++) {
		const struct load_row *row = &trace->rows[i];

		fuzz_require(row->end > row->begin || !i, "time that goes on");
		fuzz_require(row->sample.demand >= 0 && row->sample.demand <= 1e6, "a demand");
		fuzz_require(row->sample.pressure <= 1000, "a pressure");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *error;
	unsigned long long busy[4], steal[4], stalled;
	unsigned int runnable;
	struct load_trace trace;
	int err = load_trace_parse(text, size, 8, &trace, &error);

	fuzz_require(err == (error ? -EINVAL : 0), "a message with each error");
	if (!err)
		check(&trace);
	load_trace_free(&trace);
	free(error);
	sample_parse_stat(text, 4, busy, steal, &runnable);
	sample_parse_pressure(text, &stalled);
	free(text);
	return 0;
}
