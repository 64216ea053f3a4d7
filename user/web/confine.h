/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the rights from the web process that it does not need. */
#pragma once

/*
 * No capability and no new privileges; no new process, program, connection or socket of its own;
 * and, where the kernel has Landlock, no file outside the directory `dir` but those that name users
 * and the time zone, and those of `fleet_dir`, which may be NULL. Call it after the workers were
 * started. Logs a missing feature of the kernel. Returns a negative errno if the process would keep
 * more than that.
 */
int web_confine(int dir, const char *fleet_dir);
