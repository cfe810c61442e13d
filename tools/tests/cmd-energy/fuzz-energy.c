// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes the files of a model of power, and what is computed with a model */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "energy_power.h"
#include "fuzz.h"

#define REQUESTS	"off_ms = 30 (15..60)\noff_more_ms = 20\non_ms = 1\non_more_ms = 1\n" \
			"off_busy = 0.1 (0.02..0.5)\non_busy = 1\n"

const char *const fuzz_seeds[] = {
	"# a remark\n[machine]\nname = m\nsource = s\nsource = t\ncpus = 8\npackage = 4\n"
	"requests = r\n"
	"[power]\nactive = 1500 (750..2250)\nawake = 97\noffline = 0 (-2..2)\nwarm = 60\n"
	"warm_sleeps = 0\n[wakeups]\nidle = 10 (1..100)\nwork = 2e2\n"
	"[idle C1]\npower = 60\nresidency_us = 1\nexit_us = 1\n"
	"[idle C2]\npower = 0\nresidency_us = 2000\nexit_us = 300\n"
	"[sleep C3]\npower = 55\nresidency_us = 5000\nexit_us = 1000\nonline_most = 1\nshare = 1\n"
	"[requests native]\n" REQUESTS "[requests bolt]\n" REQUESTS
	"settle_after_ms = 1000\nparks_warm = 1\nsettle_ms = 0.9\nsettled_more_ms = 1\n",
	"[sleep PC6]\r\npower = 12400 (12000..16000)\r\n",
	NULL,
};

static void check(struct energy_model *model)
{
	unsigned int package = (unsigned int)model->package.value, number;
	struct energy_leave leave = { ENERGY_BOLT, package, package };
	struct energy_load load = { .online = package, .busy = 0.5 };
	double seconds = energy_break_even(model, &leave);
	struct quantity *quantity;
	char label[64];

	fuzz_require(isfinite(energy_power(model, &load)), "a power");
	fuzz_require(!isnan(seconds), "a time");
	fuzz_require(isfinite(energy_saved(model, &leave, 1)), "an energy");
	for (number = 0; (quantity = energy_quantity(model, number, label, sizeof(label)));
	     number++)
		fuzz_require(quantity->low <= quantity->value && quantity->value <= quantity->high,
			     "a range");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *error;
	struct energy_model model = { 0 };
	int err = energy_model_parse("f", text, size, &model, &error);

	fuzz_require(err == (error ? -EINVAL : 0), "a message with each error");
	if (!err) {
		err = energy_model_check(&model, &error);
		fuzz_require(err == (error ? -EINVAL : 0), "a message with each error");
		if (!err)
			check(&model);
	}
	fuzz_require(!error || !strncmp(error, "f:", 2), "a file and a line");
	free(error);
	energy_model_free(&model);
	free(text);
	return 0;
}
