/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A share of all minutes for receivers that cannot take each minute of each node. A node draws each
 * minute by the CPU time that was used in it. Values of a minute that is sent are multiplied by the
 * inverse of its chance, a whole number: in the mean over minutes and nodes, sums are those of all
 * minutes (N. Duffield, C. Lund, M. Thorup, "Learn more, sample less", 2005, size-dependent
 * sampling).
 */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

struct push_share {
	u32 one_in;     /* the chance of a minute with the mean use is 1 in so many; 0 or 1: all are
			   sent */
	u32 mean_milli; /* the mean use of a node of the fleet, in thousandths of a CPU */
};

#define PUSH_SHARE_ALL ((struct push_share){ 1, 1000 })
/* A minute with a tenth of the mean use, or less, has a tenth of its chance. */
#define PUSH_SHARE_SMALLEST 10

/*
 * Parses "1/N" or "1/N@CPUS". -EINVAL with a sentence in `why`, without the option's name, if
 * `text` is wrong.
 */
int push_share_parse(const char *text, struct push_share *out, struct str *why);

/*
 * By how much the values of this minute are multiplied if it is sent: 1 to PUSH_SHARE_SMALLEST *
 * one_in. A profile without CPU time has the chance of the mean.
 */
u32 push_share_weight(const struct push_share *share, const struct profile *p, u64 length_ns);

/*
 * Whether the minute is sent, with the chance 1 / `weight`. The same node draws the same for the
 * same minute, so that a minute that is made again has the same requests.
 */
bool push_share_draws(u32 weight, const char *host, const char *labels, u64 minute_ns);

/* Multiplies all values. */
void push_share_scale(struct profile *p, u32 weight);
