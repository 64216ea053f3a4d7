/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the interactive flame graph: the page from user/ui/page with the profile as
 * one block of text that is never executed. Only this block and the escaped title come from the
 * profile. Everything else is constant, and the page's security policy names its hashes.
 * Part of export/writers/writer.h.
 */
#include <string.h>

#include "base/auto.h"
#include "export/format/base91.h"
#include "export/format/encode.h"
#include "export/format/envelope.h"
#include "export/format/page_data.h"
#include "export/format/section.h"
#include "export/format/title.h"
#include "export/format/varint.h"
#include "export/writers/markup.h"
#include "export/writers/writer.h"
#include "profile/diff.h"
#include "profile/frames/method.h"

/* Pages differ in the parts that they have. */
enum page_parts {
	PAGE_PLAIN,  /* stacks only */
	PAGE_STACKS, /* also frames of a JVM or of several tiers, notes */
	PAGE_LABELS,
	PAGE_ALL,      /* also time, comparisons, coverage of a fleet, source lines */
	PAGE_REQUESTS, /* also labels of requests and of other tools, several versions */
};

struct page {
	const char *before_title, *after_title;
};

#include "page.h"

static void write_title(const struct profile *p, FILE *out)
{
	auto_str struct str title = { 0 };

	title_add(p, &title);
	if (title.len) {
		markup_escape(title.at, out);
		fputs(" - ", out);
	}
	fputs("sysflame", out);
}

static bool has_section(const struct str *body, enum section wanted)
{
	struct cursor c = { (const u8 *)body->at, (const u8 *)body->at + body->len, false };

	for (u64 left = varint_read(&c); left > 0 && !c.is_bad; left--) {
		if (varint_read(&c) == (u64)wanted)
			return true;
		varint_read(&c);
	}
	return false;
}

static bool is_comparison(const struct profile *p)
{
	vec_each(t, &p->types)
		if (t->role != VALUE_NONE)
			return true;
	return false;
}

static bool is_of_fleet(const struct profile *p)
{
	vec_each(n, &p->notes)
		if (strstr(n->key, "fleet-"))
			return true;
	return false;
}

/* Whether the code of the profile is of a JVM, or of several tiers that the page can split by. */
static bool has_tiers(const struct profile *p)
{
	enum frame_kind first = FRAME_GROUP;
	for (frame_id f = 0; f < frames_nr(p->frames); f++) {
		enum frame_kind kind = frames_get(p->frames, f)->kind;
		if (kind == FRAME_GROUP)
			continue;
		if (frame_kind_is_java(kind) || kind == FRAME_JVM || kind == FRAME_STUB ||
		    kind == FRAME_CLASS || (first != FRAME_GROUP && kind != first))
			return true;
		first = kind;
	}
	return false;
}

/* Whether stacks are all that the page has to show. */
static bool is_plain(const struct profile *p)
{
	return !p->notes.nr && !has_tiers(p) && !strstr(p->view, "split=");
}

/* Whether samples have labels of requests, or several versions, which the page can compare. */
static bool has_requests(const struct profile *p)
{
	const char *version = "";

	if (!p->labels.nr)
		return false;
	vec_each(w, &p->weights) {
		const struct labels *l = &p->labels.at[w->labels];
		if (*l->trace || *l->tags)
			return true;
		if (*version && *l->version && strcmp(version, l->version) != 0)
			return true;
		version = *l->version ? l->version : version;
	}
	return false;
}

/* The smallest page that has a use for everything in the profile. */
static const struct page *page_for(const struct profile *p, const struct str *body)
{
	if (has_requests(p))
		return &pages[PAGE_REQUESTS];
	if (p->slot_ns || is_comparison(p) || is_of_fleet(p) || has_section(body, SECTION_LINES))
		return &pages[PAGE_ALL];
	if (has_section(body, SECTION_LABELSETS))
		return &pages[PAGE_LABELS];
	return &pages[is_plain(p) ? PAGE_PLAIN : PAGE_STACKS];
}

int html_write(const struct profile *p, FILE *out)
{
	auto_str struct str body = { 0 }, packed = { 0 };
	u32 nr_nodes;
	int err = body_encode(p, "sysflame " SYSFLAME_VERSION, &body, &nr_nodes)
			  ?: envelope_pack(&body, nr_nodes, COMPRESSED_GZIP, &packed);
	if (err)
		return err;

	const struct page *page = page_for(p, &body);
	fputs(page->before_title, out);
	write_title(p, out);
	fputs(page->after_title, out);
	fputs(PAGE_DATA_START, out);
	base91_write(&packed, out);
	fputs("</script>\n</body>\n</html>\n", out);
	return 0;
}
