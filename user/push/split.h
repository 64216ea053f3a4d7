/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a profile by service and by event. */
#pragma once

#include "profile/profile.h"

struct split;

/*
 * Sorts the weights of `p`, which must outlive it, by service. If there are more than
 * `max_services`, the lightest are joined as "other". If an event of a service has more than
 * `max_stacks` stacks, the lightest are joined as "[other stacks]". Sums do not change.
 */
struct split *split_new(const struct profile *p, u32 max_services, u32 max_stacks);
void split_free(struct split *s);

u32 split_nr(const struct split *s);
const char *split_name(const struct split *s, u32 service);

/*
 * The profile of a service: without processes, threads and notes, with CPU time as samples. Types
 * without weights are left out. `has_ids`: keeps the labels that only OTLP should have. The caller
 * frees it.
 */
struct profile *split_service(const struct split *s, u32 service, bool has_ids);

/* The types NAME and EVENT-samples of a profile. The caller frees it. */
struct profile *split_event(const struct profile *p, const char *name, const char *event);

/* The id of a profile, a UUID that is the same each time it is computed. The caller frees it. */
char *split_id(const struct profile *p, const char *service, const char *event, const char *host);
