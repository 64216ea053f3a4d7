/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the node for its fleet: the recorder, the load, and the services that run. */
#pragma once

#include "fleet/node/node_agent.h"

struct service;

/*
 * Fills in all facts except the address of the page. `pressure_fd` is /proc/pressure/cpu; -1:
 * unknown.
 */
void fleet_facts_look(const struct service *sv, int pressure_fd, struct node_agent_facts *out);

/* Whether the service of the selector may run. Without slices nobody knows: true. */
bool fleet_facts_runs(const struct service *sv, const struct selector *s);

/* The busy_ppm of fleet_answer. It is known for services only, and only while `cpu` is profiled. */
u64 fleet_facts_busy_ppm(const struct service *sv, const struct selector *s);
