/* SPDX-License-Identifier: Apache-2.0 */
/* The steps in which a recording begins and ends. Private to node.c. */
#pragma once

struct recording;

/* Advances the recording. Call it after everything that had arrived was taken in. */
void recording_step(struct recording *r);

/* Follows control groups and leaks; call it once a second. */
void recording_follow(struct recording *r);
