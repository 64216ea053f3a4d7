/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the profile in a page, or the same bytes without the page.
 * Part of export/readers/reader.h.
 */
#include "export/readers/read_html.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "export/format/base91.h"
#include "export/format/decode.h"
#include "export/format/envelope.h"
#include "export/format/page_data.h"

bool html_is(const u8 *head, size_t len)
{
	static const char start[] = "<!doctype html>";

	return envelope_is(head, len) ||
	       (len >= sizeof(start) - 1 &&
		!strncasecmp((const char *)head, start, sizeof(start) - 1));
}

static bool is_heat_map(const struct str *page)
{
	return memmem(page->at, page->len, "async-profiler", 14) &&
	       (memmem(page->at, page->len, "heatmap", 7) ||
		memmem(page->at, page->len, "Heatmap", 7));
}

/* A page may end within PAGE_START, too. */
static bool is_cut_off(const struct str *page)
{
	size_t len = page->len < strlen(PAGE_START) ? page->len : strlen(PAGE_START);

	return !memcmp(page->at, PAGE_START, len) && !memmem(page->at, page->len, "</html>", 7);
}

/* Why a page has no profile. */
static const char *other_page(const struct str *page)
{
	if (is_heat_map(page))
		return "heat maps of async-profiler are not read; convert the recording (.jfr) "
		       "that it was made from";
	if (memmem(page->at, page->len, "async-profiler", 14))
		return "only flame graphs of async-profiler 3 and later are read; convert the "
		       "recording with jfrconv";
	return is_cut_off(page) ? "this page is cut off: the profile at its end is missing"
				: "this page contains no profile of sysflame or async-profiler";
}

int html_read(struct input *in, struct profile *p, struct str *why)
{
	auto_str struct str file = { 0 }, packed = { 0 }, body = { 0 };
	int err = input_read_all(in, &file, why);
	if (err)
		return err;

	if (async_html_is(&file))
		return async_html_read(&file, p, why);
	if (!envelope_is((u8 *)file.at, file.len)) {
		const char *data =
			memmem(file.at, file.len, PAGE_DATA_START, strlen(PAGE_DATA_START));
		if (!data) {
			str_add(why, other_page(&file));
			return -EINVAL;
		}
		data += strlen(PAGE_DATA_START);
		base91_read(data, (size_t)(file.at + file.len - data), &packed);
		str_fini(&file);
	}
	const struct str *data = packed.at ? &packed : &file;
	err = envelope_unpack((const u8 *)data->at, data->len, &body, why);
	if (err)
		return err;
	input_bound_nodes(in, data->len);
	return body_decode((const u8 *)body.at, body.len, p, why);
}
