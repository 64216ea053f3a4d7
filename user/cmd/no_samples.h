/* SPDX-License-Identifier: Apache-2.0 */
/* A recording without samples: one sentence with the likely cause, and no file. */
#pragma once

#include "capture/session.h"
#include "cmd/record_options.h"

/* Memory that was sampled but freed before the end is a result, not a lack of samples. */
bool no_samples_is(struct session *s, const struct record_options *o);

/* Logs the cause as an error. */
void no_samples_say(struct session *s, const struct record_options *o);
