/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording's window. Every event samples in the same window. The profile's duration is that of
 * the window, and its time 0 is the window's begin.
 */
#pragma once

#include "base/types.h"

struct recording;

/* Begins the window now. With --wait-for it begins when the program is executed. */
void recording_open_window(struct recording *r);

/* Begins the window at `begin_ns`, when the awaited program was executed. */
void recording_begin_window(struct recording *r, u64 begin_ns);

/* Ends the window. */
void recording_close_window(struct recording *r);

/*
 * Whether a sample of that time counts. A wait that lasts beyond the end has the end as its time.
 */
bool recording_window_holds(const struct recording *r, u64 time_ns);
