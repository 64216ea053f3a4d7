/* SPDX-License-Identifier: Apache-2.0 */
/* The signals that end a recording of a fleet early. */
#pragma once

/*
 * From now on SIGINT, SIGTERM and SIGHUP only count; returns their number. A terminal that goes
 * away sends several SIGHUP: they count once. If SIGHUP is ignored, as below nohup, it stays so.
 */
volatile int *fleet_signals_count(void);
