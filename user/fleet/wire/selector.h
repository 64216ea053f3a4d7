/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes, and which of their processes, a request is for: "service=checkout,zone!=b". All
 * terms must hold. The keys service, container, pod and namespace choose processes of a node, and
 * label=NAME=VALUE samples with a label. They take "=" only; all others are labels of the node.
 *
 * Of the nodes that match, a request may take a random part. Nobody needs a list of them: each node
 * decides for itself. Its sampling hash is the first 64 bits of SHA-256(seed of the request, name
 * of the node), as a fraction. Its rank is that hash divided by its chance; the node takes part if
 * the rank lies in the range of the request. This is sequential Poisson sampling (E. Ohlsson,
 * "Sequential Poisson Sampling", Journal of Official Statistics 14, 1998): the N lowest ranks are N
 * nodes, each with about its chance.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "fleet/wire/message.h"

#define SELECTOR_TERMS 8

enum selector_process {
	SELECTOR_SERVICE,
	SELECTOR_CONTAINER,
	SELECTOR_POD,
	SELECTOR_NAMESPACE,
	SELECTOR_LABEL, /* NAME=VALUE, as report --with */
	NR_SELECTOR_PROCESS,
};

struct selector_term {
	char key[32], value[128];
	bool is_not;
};

struct selector {
	struct selector_term nodes[SELECTOR_TERMS]; /* labels of the node */
	u32 nr_nodes;
	char processes[NR_SELECTOR_PROCESS][128]; /* "": all */
};

/* -EINVAL and a sentence with the position if the text is no selector. "" chooses everything. */
int selector_parse(const char *text, struct selector *out, struct str *why);

/*
 * Whether the selector chooses processes by their service only, or takes all of them. The CPU use
 * of services is known.
 */
bool selector_is_of_services(const struct selector *s);

/*
 * Whether the first event is `cpu`, the default: only values of `cpu` are proportional to the use
 * of CPUs.
 */
bool events_are_cpu(const char *events);

/*
 * Labels of a node as "key=value,..": the terms hold for them. A node without the label passes only
 * terms with "!=".
 */
bool selector_admits(const struct selector *s, const char *labels);

/*
 * Adds "key=value" to a list of labels. -EINVAL if it is not of that form, -EEXIST if the key is
 * there already or is `node`, the node's name; -E2BIG if the list is full.
 */
int labels_add(char *labels, size_t size, const char *pair);

/* The value of a label, in `out`, which has room for `size` bytes; false if it is missing. */
bool labels_find(const char *labels, const char *key, char *out, size_t size);

/* Whether the name can be part of a subject: letters, digits, "-" and "_", 1 to 63 of them. */
bool node_name_is_valid(const char *name);

/* The sampling hash in 1e-9, below 1e9. */
u32 sampling_hash(const u8 seed[FLEET_ID_LEN], const char *node);

/* A node's chance in 1e-9, 1 to FLEET_PPB. `busy_ppm` is the one of fleet_answer. */
u32 sampling_chance(const struct sampling *s, u64 busy_ppm);

/*
 * A node's rank in 1e-9, at most UINT32_MAX. A node with a chance of 1 gets half its hash as its
 * rank: with N nodes the highest chosen rank varies around 1, and must not leave that node out.
 */
u32 sampling_rank(const struct sampling *s, const char *node, u64 busy_ppm);

/* Whether the rank lies in the range of the request. */
bool sampling_takes(const struct sampling *s, const char *node, u64 busy_ppm);
