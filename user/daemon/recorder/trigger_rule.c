/* SPDX-License-Identifier: Apache-2.0 */
/* Parses rules that start recordings by themselves. */
#include "daemon/recorder/trigger_rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"

#define WORDS_MAX    24
#define SECONDS_MAX  86400
#define RECORD_MAX_S 300
#define COOLDOWN_S   1800
#define QUOTA        10
#define BEFORE_S     300

struct quantity {
	const char *name, *unit;
	u32 places; /* bits of enum trigger_where */
};

#define EVERY (1u << TRIGGER_JVM | 1u << TRIGGER_CONTAINER | 1u << TRIGGER_CGROUP)
#define GROUP (1u << TRIGGER_CONTAINER | 1u << TRIGGER_CGROUP)

static const struct quantity whats[NR_TRIGGER_WHATS] = {
	[TRIGGER_CPU] = { "cpu", "% of a CPU", EVERY },
	[TRIGGER_GC] = { "gc", "% of its CPU time in garbage collection", 1u << TRIGGER_JVM },
	[TRIGGER_ALLOC] = { "alloc", "MB/s allocated", 1u << TRIGGER_JVM },
	[TRIGGER_THROTTLED] = { "throttled", "% of its periods throttled", GROUP },
	[TRIGGER_PSI_CPU] = { "psi-cpu", "% of the time without a CPU",
			      GROUP | 1u << TRIGGER_NODE },
	[TRIGGER_PSI_MEMORY] = { "psi-memory", "% of the time without memory",
				 GROUP | 1u << TRIGGER_NODE },
	[TRIGGER_PSI_IO] = { "psi-io", "% of the time waiting for disks",
			     GROUP | 1u << TRIGGER_NODE },
	[TRIGGER_LOST] = { "lost", "% of the samples lost", 1u << TRIGGER_NODE },
};

static const char *const wheres[NR_TRIGGER_WHERES] = {
	[TRIGGER_JVM] = "jvm",
	[TRIGGER_NODE] = "node",
	[TRIGGER_CONTAINER] = "container=",
	[TRIGGER_CGROUP] = "cgroup=",
};

const char *trigger_what_name(enum trigger_what what)
{
	return whats[what].name;
}

const char *trigger_what_unit(enum trigger_what what)
{
	return whats[what].unit;
}

struct words {
	char *at[WORDS_MAX];
	u32 nr, next;
};

static const char *next_word(struct words *w)
{
	return w->next < w->nr ? w->at[w->next++] : "";
}

static int expect(struct words *w, const char *word, struct str *why)
{
	const char *got = next_word(w);

	if (!strcmp(got, word))
		return 0;
	str_addf(why, "expected '%s', not '%.32s'", word, got);
	return -EINVAL;
}

static int take_number(struct words *w, const char *what, u32 least, u32 most, u32 *out,
		       struct str *why)
{
	const char *text = next_word(w);
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || number < least || number > most) {
		str_addf(why, "%s takes %u to %u, not '%.32s'", what, least, most, text);
		return -EINVAL;
	}
	*out = (u32)number;
	return 0;
}

static int take_name(struct words *w, struct trigger_rule *r, struct str *why)
{
	const char *text = next_word(w);
	size_t len = strlen(text);

	if (len < 2 || text[len - 1] != ':' || len > sizeof(r->name) ||
	    strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") !=
		    len - 1) {
		str_addf(why, "begins with NAME: of letters, digits, - and _, not '%.32s'", text);
		return -EINVAL;
	}
	memcpy(r->name, text, len - 1);
	return 0;
}

static int take_condition(struct words *w, struct trigger_rule *r, struct str *why)
{
	const char *what = next_word(w);
	u32 i = 0;

	while (i < NR_TRIGGER_WHATS && strcmp(whats[i].name, what) != 0)
		i++;
	if (i == NR_TRIGGER_WHATS) {
		str_addf(why,
			 "'%.32s' is none of cpu, gc, alloc, throttled, psi-cpu, psi-memory, "
			 "psi-io, lost",
			 what);
		return -EINVAL;
	}
	r->what = i;
	if (expect(w, ">", why))
		return -EINVAL;
	const char *limit = next_word(w);
	char *end;
	r->limit = strtod(limit, &end);
	if (end == limit || *end || !(r->limit >= 0) || r->limit > 1e9) {
		str_addf(why, "'>' takes a number, not '%.32s'", limit);
		return -EINVAL;
	}
	return expect(w, "for", why) ?: take_number(w, "for", 1, SECONDS_MAX, &r->for_s, why);
}

static int take_place(struct words *w, struct trigger_rule *r, struct str *why)
{
	if (expect(w, "in", why))
		return -EINVAL;
	const char *text = next_word(w);
	for (u32 i = 0; i < NR_TRIGGER_WHERES; i++) {
		size_t len = strlen(wheres[i]);
		bool has_text = wheres[i][len - 1] == '=';
		if (strncmp(text, wheres[i], len) || has_text != !!text[len])
			continue;
		if (!(whats[r->what].places >> i & 1)) {
			str_addf(why, "%s is not known in '%.32s'", whats[r->what].name, text);
			return -EINVAL;
		}
		r->where = i;
		copy_text(r->where_text, sizeof(r->where_text), text + len);
		return 0;
	}
	str_addf(why, "'in' takes jvm, node, container=NAME or cgroup=PATH, not '%.32s'", text);
	return -EINVAL;
}

static int take_recording(struct words *w, struct trigger_rule *r, struct str *why)
{
	if (expect(w, "record", why))
		return -EINVAL;
	copy_text(r->events, sizeof(r->events), next_word(w));
	return take_number(w, "record", 1, RECORD_MAX_S, &r->record_s, why);
}

static int take_option(struct words *w, struct trigger_rule *r, struct str *why)
{
	const char *name = next_word(w);

	if (!strcmp(name, "cooldown"))
		return take_number(w, name, 1, SECONDS_MAX, &r->cooldown_s, why);
	if (!strcmp(name, "quota"))
		return take_number(w, name, 1, 1000, &r->quota, why);
	if (!strcmp(name, "before"))
		return take_number(w, name, 0, 3600, &r->before_s, why);
	str_addf(why, "'%.32s' is none of cooldown, quota, before", name);
	return -EINVAL;
}

int trigger_rule_parse(const char *text, struct trigger_rule *out, struct str *why)
{
	auto_free char *own = xstrdup(text);
	struct trigger_rule r = { .cooldown_s = COOLDOWN_S, .quota = QUOTA, .before_s = BEFORE_S };
	struct words w = { 0 };
	char *rest = own;

	for (char *word; (word = strsep(&rest, " \t"));) {
		if (*word && w.nr == WORDS_MAX) {
			str_add(why, "has too many words");
			return -EINVAL;
		}
		if (*word)
			w.at[w.nr++] = word;
	}
	int err = take_name(&w, &r, why) ?: take_condition(&w, &r, why) ?: take_place(&w, &r, why)
				   ?: take_recording(&w, &r, why);
	while (!err && w.next < w.nr)
		err = take_option(&w, &r, why);
	if (!err)
		*out = r;
	return err;
}
