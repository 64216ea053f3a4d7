/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of a fleet. */
#include "fleet/fleet_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/utf8.h"
#include "fleet/budget.h"
#include "fleet/selector.h"

static bool take_number(const char *value, u64 max, u64 *out)
{
	char *end;

	errno = 0;
	u64 number = strtoull(value, &end, 10);
	if (errno || *end || *value < '0' || *value > '9' || !number || number > max)
		return false;
	*out = number;
	return true;
}

static bool take_limit(const char *value, u32 max, u32 *out)
{
	u64 number;

	if (!take_number(value, max, &number))
		return false;
	*out = (u32)number;
	return true;
}

/* Names of events without their arguments. */
static bool take_events(const char *value, char *out, size_t size)
{
	size_t len = strlen(value);

	if (!len || len >= size || *value == '+' || value[len - 1] == '+' || strstr(value, "++") ||
	    strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+") !=
		    len)
		return false;
	copy_text(out, size, value);
	return true;
}

static bool take_text(const char *value, char *out, size_t size)
{
	if (strlen(value) >= size || !utf8_is_clean(value, size - 1))
		return false;
	copy_text(out, size, value);
	return true;
}

/* Returns false if the value is invalid. */
static bool take_pair(const char *key, const char *value, struct fleet_policy *p)
{
	if (!strcmp(key, "at"))
		return take_number(value, INT64_MAX, &p->at_ms);
	if (!strcmp(key, "by"))
		return node_name_is_valid(value) && take_text(value, p->by, sizeof(p->by));
	if (!strcmp(key, "max-hz"))
		return take_limit(value, POLICY_HZ_MAX, &p->max_hz);
	if (!strcmp(key, "max-seconds"))
		return take_limit(value, POLICY_DURATION_S, &p->max_duration_s);
	if (!strcmp(key, "max-cpu-ppm"))
		return take_limit(value, BUDGET_PPM, &p->cpu_ppm);
	if (!strcmp(key, "events"))
		return take_events(value, p->events, sizeof(p->events));
	if (!strcmp(key, "reason"))
		return take_text(value, p->reason, sizeof(p->reason));
	if (strcmp(key, "disabled") != 0) {
		p->nr_unknown++;
		return true;
	}
	p->is_disabled = !strcmp(value, "yes");
	return p->is_disabled || !strcmp(value, "no");
}

/* Whether the key of the pair at `text + at` is that of an earlier pair. */
static bool is_twin(const char *text, size_t at, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = text; p < text + at; p += strcspn(p, ",") + 1)
		if (!strncmp(p, key, len) && p[len] == '=')
			return true;
	return false;
}

int fleet_policy_parse(const char *text, struct fleet_policy *out, struct str *why)
{
	auto_free char *copy = xstrdup(text);
	struct fleet_policy p = { 0 };
	char *rest = copy;

	while (rest && *rest) {
		bool is_last = !strncmp(rest, "reason=", 7);
		char *pair = is_last ? rest : strsep(&rest, ",");
		char *value = strchr(pair, '=');
		rest = is_last ? NULL : rest;
		if (value)
			*value++ = '\0';
		if (!value || !take_pair(pair, value, &p)) {
			str_addf(why, "%.32s=%.32s is no part of a policy", pair, value ?: "");
			return -EINVAL;
		}
		if (is_twin(text, (size_t)(pair - copy), pair)) {
			str_addf(why, "%.32s is there twice", pair);
			return -EINVAL;
		}
	}
	*out = p;
	return 0;
}

static void add_limit(struct str *out, const char *key, u32 value)
{
	if (value)
		str_addf(out, ",%s=%u", key, value);
}

void fleet_policy_print(const struct fleet_policy *p, struct str *out)
{
	str_addf(out, "at=%llu,by=%s", (unsigned long long)p->at_ms, p->by);
	if (p->is_disabled)
		str_add(out, ",disabled=yes");
	add_limit(out, "max-hz", p->max_hz);
	add_limit(out, "max-seconds", p->max_duration_s);
	add_limit(out, "max-cpu-ppm", p->cpu_ppm);
	if (*p->events)
		str_addf(out, ",events=%s", p->events);
	if (*p->reason)
		str_addf(out, ",reason=%s", p->reason);
}

int fleet_policy_sign(const struct fleet_policy *p, const u8 *private_key, struct fleet_signed *out)
{
	auto_str struct str text = { 0 }, why = { 0 };
	struct fleet_policy read;

	fleet_policy_print(p, &text);
	if (text.len > FLEET_POLICY_TEXT)
		return -E2BIG;
	if (fleet_policy_parse(text.at, &read, &why))
		return -EINVAL;
	memcpy(out->request, text.at, text.len);
	out->len = (u32)text.len;
	return key_sign(private_key, KEY_FOR_POLICY, out);
}

int fleet_policy_open(const struct fleet_signed *m, const struct fleet_keys *keys, u64 now_ms,
		      struct fleet_policy *out, struct str *why)
{
	const struct fleet_key *key = keys_find(keys, m->key);
	char text[FLEET_POLICY_TEXT + 1];
	struct fleet_policy p;

	if (!key || key->role != FLEET_OPERATOR || !key_has_signed(KEY_FOR_POLICY, m)) {
		str_addf(why, "%s",
			 !key                          ? "this node does not know the key"
			 : key->role != FLEET_OPERATOR ? "its signer is no operator"
						       : "the signature is not right");
		return -EACCES;
	}
	if (m->len > FLEET_POLICY_TEXT || memchr(m->request, '\0', m->len)) {
		str_addf(why, "its text is longer than %d bytes, or has a NUL", FLEET_POLICY_TEXT);
		return -EINVAL;
	}
	memcpy(text, m->request, m->len);
	text[m->len] = '\0';
	int err = fleet_policy_parse(text, &p, why);
	if (!err && !p.at_ms) {
		str_add(why, "it has no time");
		err = -EINVAL;
	}
	/* It would outlast all that follow. */
	if (!err && p.at_ms > now_ms + POLICY_CLOCK_MS) {
		str_addf(why, "it was signed %llu s from now: a clock is wrong",
			 (unsigned long long)(p.at_ms - now_ms) / 1000);
		err = -EINVAL;
	}
	if (err)
		return err;
	copy_text(p.by, sizeof(p.by), key->person); /* of the key, whatever the text says */
	*out = p;
	return 0;
}

static void lower(u32 *limit, u32 to)
{
	if (to && to < *limit)
		*limit = to;
}

void fleet_policy_lower(const struct fleet_policy *p, struct policy_caps *caps)
{
	lower(&caps->max_hz, p->max_hz);
	lower(&caps->max_duration_s, p->max_duration_s);
	caps->by = *p->by ? p->by : NULL;
	caps->events = *p->by ? p->events : NULL;
}
