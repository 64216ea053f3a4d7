/* SPDX-License-Identifier: Apache-2.0 */
/* A fleet's controller as JSON, for the page. */
#pragma once

#include <jansson.h>

#include "fleet/controller.h"

#define FLEET_JSON_NODES 200  /* of a request; the heaviest */
#define FLEET_JSON_LIST  1000 /* nodes and services of a census */

/* Phase, coverage, estimate and nodes of a request. */
json_t *fleet_json_request(const struct controller *c);

/* Nodes that answered a census, and the services that run on them. */
json_t *fleet_json_census(const struct gather *g);
