/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the names that are most similar to a name that was not found. */
#include "base/near.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define NAME_MAX_LEN 256 /* longer names are not compared */
#define DISTANCE_MAX 4

/* The number of letters that differ (Levenshtein), at most DISTANCE_MAX + 1. */
static u32 distance(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strnlen(b, NAME_MAX_LEN + 1);
	u32 row[NAME_MAX_LEN + 1];

	if (b_len > NAME_MAX_LEN || a_len > b_len + DISTANCE_MAX || b_len > a_len + DISTANCE_MAX)
		return DISTANCE_MAX + 1;
	for (u32 j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		u32 diagonal = row[0], least = row[0] = (u32)i;
		for (size_t j = 1; j <= b_len; j++) {
			u32 best = diagonal + (a[i - 1] != b[j - 1]);
			diagonal = row[j];
			best = best < row[j] + 1 ? best : row[j] + 1;
			row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
			least = least < row[j] ? least : row[j];
		}
		if (least > DISTANCE_MAX)
			return DISTANCE_MAX + 1;
	}
	return row[b_len];
}

void near_consider(struct near *n, const char *name)
{
	u32 d = strstr(name, n->wanted) ? 1 : distance(n->wanted, name);
	size_t at = 0;

	if (d > DISTANCE_MAX || 2 * d > strlen(n->wanted))
		return;
	for (size_t i = 0; i < n->max && n->names[i]; i++)
		if (!strcmp(n->names[i], name))
			return;
	while (at < n->max && n->names[at] && n->distance[at] <= d)
		at++;
	if (at == n->max)
		return;
	free(n->names[n->max - 1]);
	for (size_t i = n->max - 1; i > at; i--) {
		n->names[i] = n->names[i - 1];
		n->distance[i] = n->distance[i - 1];
	}
	n->names[at] = xstrndup(name, NAME_MAX_LEN);
	n->distance[at] = d;
}

void near_fini(struct near *n)
{
	for (size_t i = 0; i < n->max; i++)
		free(n->names[i]);
}
