/* SPDX-License-Identifier: Apache-2.0 */
/* A recording without samples: one sentence with the likely cause, and no file. */
#pragma once

#include "cmd/record_options.h"
#include "cmd/summary.h"

/* Memory that was sampled but freed before the end is a result, not a lack of samples. */
bool no_samples_is(const struct recorded *r, const struct record_options *o);

/* Logs the cause as an error. */
void no_samples_say(const struct recorded *r, const struct record_options *o);
