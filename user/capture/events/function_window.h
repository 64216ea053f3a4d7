/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampling only between two functions of a process: --begin-function and --end-function. The
 * functions are searched in every file that the recorded processes map.
 */
#pragma once

#include "capture/events/sources.h"

void function_window_configure(const struct event_options *o, struct knobs *knobs);

/* Adds the window's probes to the sources if --begin-function or --end-function is given. */
void function_window_open(struct sources *s);

/* Logs if no process had the functions: then nothing was sampled. */
void function_window_report(const struct sources *s);
