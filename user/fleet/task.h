/* SPDX-License-Identifier: Apache-2.0 */
/* What a controller asks of an aggregator, and the answer. */
#pragma once

#include "base/types.h"
#include "fleet/limits.h"
#include "fleet/verdict.h"

struct fleet_task_node {
	char node[64], labels[256];
	u64 instance, size;
	u8 request[FLEET_ID_LEN], sha256[FLEET_HASH_LEN];
	u64 weight_ppm; /* of its values, in 1e-6 */
};

struct fleet_task {
	u8 id[FLEET_ID_LEN];
	u64 instance; /* of the aggregator */
	u8 secret[FLEET_ID_LEN];
	u32 share_ppb;
	bool keeps_nodes; /* samples keep the label `node` */
	struct fleet_task_node *nodes;
	u32 nr_nodes;
};

struct fleet_merged {
	u8 id[FLEET_ID_LEN];
	char node[64]; /* the aggregator */
	u64 instance;
	enum verdict verdict;
	char why[256];
	u64 size;
	u8 sha256[FLEET_HASH_LEN];
	char (*failed)[64]; /* nodes whose results are not in it */
	u32 nr_failed;
};
