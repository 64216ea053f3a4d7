/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples only between two functions of a process: --begin and --end. The functions are looked for
 * in every file that the recorded processes map.
 */
#pragma once

#include "capture/sources.h"

void window_configure(const struct event_options *o, struct knobs *knobs);

/* Adds the probes to the sources, if functions are asked for. */
void window_open(struct sources *s);

/* Logs if no process had the functions, so that nothing was sampled. */
void window_tell(const struct event_options *o, const struct probes *probes);
