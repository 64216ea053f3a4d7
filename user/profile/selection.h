/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits a profile to some of its processes. The notes that count samples are counted again from
 * the samples that stay. Other notes, as losses, are known for the whole node only: their keys get
 * the prefix "node_".
 */
#pragma once

#include "base/dict.h"
#include "profile/profile.h"

/* Prefix of the keys of notes of the whole node. */
#define NOTE_NODE "node_"

/* Keeps the weights of these label sets only, with their notes. */
void profile_select(struct profile *p, labels_keep_fn keeps, const void *ctx);

/* Counts of samples that were selected. */
struct selection {
	bool knows_samples; /* the profile has numbers of samples */
	bool knows_stacks;  /* the profile's writer knew the label `stack` */
	u64 nr, nr_truncated, nr_approximate, nr_inexact;
	struct dict pids;
	VEC(struct selection_key {
		char *key; /* key of the note on stacks that were cut for one reason */
		u64 nr;
	})
	keys;
};

/* Counts `nr` samples with these labels. */
void selection_count(struct selection *s, const struct labels *l, u64 nr);

/* Adds a note of the whole node to `p`, and its number for the selection if that is known. */
void selection_note(const struct selection *s, struct profile *p, const struct note *of_node);
void selection_fini(struct selection *s);
