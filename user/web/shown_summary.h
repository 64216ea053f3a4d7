/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a summary (web/summarize.h) that lists show. It comes from a worker that read a
 * profile of anybody, and goes to browsers: only what has the known form is kept.
 */
#pragma once

#include <jansson.h>

/* A new object with `kinds`, `top` and `alerts`; each is there, perhaps empty. */
json_t *shown_summary(const json_t *summary);
