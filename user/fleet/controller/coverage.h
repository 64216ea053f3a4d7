/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of the fleet a profile stands for, as notes of the profile: the page's coverage panel
 * and the text output show them.
 */
#pragma once

#include "fleet/controller/choice.h"
#include "fleet/controller/controller.h"
#include "fleet/controller/estimate.h"

#define COVERAGE_NODES 50 /* nodes with a note of their own: the heaviest */

/* Adds the notes and the title to a spool. Negative errno. */
int coverage_add(struct spool *s, const struct controller_state *c, const char *selector);

/* The estimate for all nodes that match: the total of the profile. */
struct estimate coverage_estimate(const struct controller_state *c);

/* Nodes that delivered, and the value that each of them recorded. The caller frees s->nodes. */
void coverage_sample(const struct controller_state *c, struct estimate_sample *s);

/* The estimate_factor of the results so far (fleet/controller/estimate.h). */
double coverage_factor(const struct controller_state *c);

/* Why an estimate has no interval: "an interval takes 30 nodes"; NULL if it has one. The caller
 * frees it. */
char *coverage_doubt(const struct controller_state *c, const struct estimate *e);
