/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors, labels of nodes, and sampling hashes. */
#include "fleet/wire/selector.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "export/interchange/named_label.h"
#include "fleet/wire/key.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define KEY     LETTERS "-_."

static const char *const process_keys[NR_SELECTOR_PROCESS] = { "service", "container", "pod",
							       "namespace", "label" };

static int refuse(struct str *why, const char *text, const char *at, const char *what)
{
	str_addf(why, "selector \"%s\", character %zu: %s", text, (size_t)(at - text) + 1, what);
	return -EINVAL;
}

static bool take_piece(char *field, size_t size, const char *at, size_t len)
{
	if (!len || len >= size)
		return false;
	memcpy(field, at, len);
	field[len] = '\0';
	return true;
}

/* Stores a term that was read; an error is the sentence's end. */
static const char *add_term(struct selector *s, const struct selector_term *t)
{
	for (int i = 0; i < NR_SELECTOR_PROCESS; i++) {
		if (strcmp(t->key, process_keys[i]))
			continue;
		if (t->is_not)
			return "this key takes = only";
		if (*s->processes[i])
			return "this key was used before";
		if (i == SELECTOR_LABEL && !named_label_is_choice(t->value))
			return "expected a label and its value, as in label=route=/cart";
		memcpy(s->processes[i], t->value, sizeof(t->value));
		return NULL;
	}
	if (s->nr_nodes == SELECTOR_TERMS)
		return "there are more than 8 terms";
	s->nodes[s->nr_nodes++] = *t;
	return NULL;
}

int selector_parse(const char *text, struct selector *out, struct str *why)
{
	struct selector s = { 0 };

	for (const char *at = text; *at;) {
		struct selector_term t = { 0 };
		size_t len = strspn(at, KEY);
		if (!take_piece(t.key, sizeof(t.key), at, len))
			return refuse(why, text, at, "expected a key, as in zone=a");
		const char *op = at + len;
		t.is_not = *op == '!';
		if (op[t.is_not] != '=')
			return refuse(why, text, op, "expected = or !=");
		const char *value = op + 1 + t.is_not;
		len = strcspn(value, ",");
		if (!take_piece(t.value, sizeof(t.value), value, len) ||
		    !utf8_is_clean(t.value, len))
			return refuse(why, text, value,
				      "expected a value of 1 to 127 bytes of UTF-8, without "
				      "control characters");
		const char *fault = add_term(&s, &t);
		if (fault)
			return refuse(why, text, at, fault);
		at = value + len;
		if (*at == ',' && !*++at)
			return refuse(why, text, at, "expected another term after the comma");
	}
	*out = s;
	return 0;
}

bool selector_is_of_services(const struct selector *s)
{
	return !*s->processes[SELECTOR_CONTAINER] && !*s->processes[SELECTOR_POD] &&
	       !*s->processes[SELECTOR_NAMESPACE] && !*s->processes[SELECTOR_LABEL];
}

bool events_are_cpu(const char *events)
{
	return !*events || !strcmp(events, "cpu") || !strncmp(events, "cpu,", 4);
}

bool labels_find(const char *labels, const char *key, char *out, size_t size)
{
	size_t len = strlen(key);

	for (const char *at = labels; *at;) {
		size_t here = strcspn(at, ",");
		if (here > len && !strncmp(at, key, len) && at[len] == '=')
			return take_piece(out, size, at + len + 1, here - len - 1);
		at += here + (at[here] == ',');
	}
	return false;
}

bool selector_admits(const struct selector *s, const char *labels)
{
	for (u32 i = 0; i < s->nr_nodes; i++) {
		const struct selector_term *t = &s->nodes[i];
		char value[sizeof(t->value)];
		bool is_equal = labels_find(labels, t->key, value, sizeof(value)) &&
				!strcmp(value, t->value);
		if (is_equal == t->is_not)
			return false;
	}
	return true;
}

static bool is_process_key(const char *pair, size_t len)
{
	for (int i = 0; i < NR_SELECTOR_PROCESS; i++)
		if (strlen(process_keys[i]) == len && !strncmp(pair, process_keys[i], len))
			return true;
	return false;
}

int labels_add(char *labels, size_t size, const char *pair)
{
	size_t len = strspn(pair, KEY), used = strlen(labels), all = strlen(pair);
	char key[32], value[128], old[sizeof(value)];

	if (!take_piece(key, sizeof(key), pair, len) || pair[len] != '=' ||
	    is_process_key(pair, len) ||
	    !take_piece(value, sizeof(value), pair + len + 1, all - len - 1) ||
	    strpbrk(value, ",\"\\") || !utf8_is_clean(value, sizeof(value) - 1))
		return -EINVAL;
	if (!strcmp(key, "node") || labels_find(labels, key, old, sizeof(old)))
		return -EEXIST;
	if (used + all + 2 > size)
		return -E2BIG;
	if (used)
		labels[used++] = ',';
	memcpy(labels + used, pair, all + 1);
	return 0;
}

bool node_name_is_valid(const char *name)
{
	size_t len = strlen(name);

	return len && len < 64 && strspn(name, LETTERS "-_") == len;
}

u32 sampling_hash(const u8 seed[FLEET_ID_LEN], const char *node)
{
	u8 bytes[FLEET_ID_LEN + 64], sha256[FLEET_HASH_LEN];
	size_t len = strnlen(node, 64);
	u64 hash = 0;

	memcpy(bytes, seed, FLEET_ID_LEN);
	memcpy(bytes + FLEET_ID_LEN, node, len);
	digest(bytes, FLEET_ID_LEN + len, sha256);
	for (int i = 0; i < 8; i++)
		hash = hash << 8 | sha256[i];
	return (u32)((unsigned __int128)hash * FLEET_PPB >> 64);
}

u32 sampling_chance(const struct sampling *s, u64 busy_ppm)
{
	unsigned __int128 of_cpus = (unsigned __int128)s->cpu_ppb * busy_ppm / 1000000;
	u64 chance = of_cpus < FLEET_PPB ? (u64)of_cpus : FLEET_PPB;

	if (!s->cpu_ppb && !s->least_ppb && !s->unknown_ppb)
		return FLEET_PPB;
	chance = !busy_ppm ? s->unknown_ppb : chance > s->least_ppb ? chance : s->least_ppb;
	return !chance ? 1 : chance < FLEET_PPB ? (u32)chance : FLEET_PPB;
}

u32 sampling_rank(const struct sampling *s, const char *node, u64 busy_ppm)
{
	u32 chance = sampling_chance(s, busy_ppm), hash = sampling_hash(s->seed, node);
	u64 rank = chance == FLEET_PPB ? hash / 2 : (u64)hash * FLEET_PPB / chance;

	return rank < UINT32_MAX ? (u32)rank : UINT32_MAX;
}

bool sampling_takes(const struct sampling *s, const char *node, u64 busy_ppm)
{
	u32 rank = sampling_rank(s, node, busy_ppm);

	/* UINT32_MAX as the end of the range includes ranks of UINT32_MAX. */
	return rank >= s->from_rank && (rank < s->to_rank || s->to_rank == UINT32_MAX);
}
