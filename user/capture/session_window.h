/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording's window. Every event samples in the same window. The profile's duration is that of
 * the window, and its time 0 is the window's begin.
 */
#pragma once

#include "base/types.h"

struct session;

/* Begins the window now. With --wait-for it begins when the program is executed. */
void session_open_window(struct session *s);

/* Begins the window at `begin_ns`, when the awaited program was executed. */
void session_begin_window(struct session *s, u64 begin_ns);

/* Ends the window and sets the profile's duration. */
void session_close_window(struct session *s);

/*
 * Whether a sample of that time counts. A wait that lasts beyond the end has the end as its time.
 */
bool session_window_holds(const struct session *s, u64 time_ns);
