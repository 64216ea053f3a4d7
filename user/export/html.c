/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interactive flame graph: the page from user/export/page with the profile as one block of
 * text that is never executed. Nothing but this block and the escaped title comes from the
 * profile; everything else is constant, so that the page's security policy can name its hashes.
 */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "export/armour.h"
#include "export/container.h"
#include "export/decode.h"
#include "export/encode.h"
#include "export/export.h"
#include "export/markup.h"
#include "export/read.h"

#include "page.h"

static const char data_start[] = "<script type=\"text/plain\" id=\"profile\">";

static void write_title(const struct profile *p, FILE *out)
{
	const char *title = *p->title ? p->title : *p->target ? p->target : p->host;

	if (*title) {
		markup_escape(title, out);
		fputs(" - ", out);
	}
	fputs("sysflame", out);
}

int html_write(const struct profile *p, FILE *out)
{
	auto_str struct str body = { 0 }, packed = { 0 };
	u32 nr_nodes;
	int err = body_encode(p, "sysflame " SYSFLAME_VERSION, &body, &nr_nodes)
			  ?: container_pack(&body, nr_nodes, &packed);
	if (err)
		return err;

	fputs(page_before_title, out);
	write_title(p, out);
	fputs(page_after_title, out);
	fputs(data_start, out);
	armour_write(&packed, out);
	fputs("</script>\n</body>\n</html>\n", out);
	return 0;
}

bool html_is(const u8 *head, size_t len)
{
	static const char start[] = "<!doctype html>";

	return container_is(head, len) ||
	       (len >= sizeof(start) - 1 &&
		!strncasecmp((const char *)head, start, sizeof(start) - 1));
}

/* Takes a page, or the same bytes without the page around them. */
int html_read(struct input *in, struct profile *p, struct str *why)
{
	auto_str struct str file = { 0 }, packed = { 0 }, body = { 0 };
	int err = input_read_all(in, &file, why);
	if (err)
		return err;

	if (!container_is((u8 *)file.at, file.len)) {
		const char *data = memmem(file.at, file.len, data_start, sizeof(data_start) - 1);
		if (!data) {
			str_add(why, "it is a page without a profile of sysflame");
			return -EINVAL;
		}
		data += sizeof(data_start) - 1;
		armour_read(data, (size_t)(file.at + file.len - data), &packed);
		str_fini(&file);
	}
	const struct str *data = packed.at ? &packed : &file;
	return container_unpack((const u8 *)data->at, data->len, &body, why)
		       ?: body_decode((const u8 *)body.at, body.len, p, why);
}
