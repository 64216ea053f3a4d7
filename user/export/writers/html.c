/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the interactive flame graph: the page from user/export/writers/page with the profile as
 * one block of text that is never executed. Only this block and the escaped title come from the
 * profile. Everything else is constant, and the page's security policy names its hashes.
 * Part of export/writers/writer.h.
 */
#include "base/auto.h"
#include "export/format/base91.h"
#include "export/format/encode.h"
#include "export/format/envelope.h"
#include "export/format/page_data.h"
#include "export/writers/markup.h"
#include "export/writers/writer.h"

#include "page.h"

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
			  ?: envelope_pack(&body, nr_nodes, &packed);
	if (err)
		return err;

	fputs(page_before_title, out);
	write_title(p, out);
	fputs(page_after_title, out);
	fputs(PAGE_DATA_START, out);
	base91_write(&packed, out);
	fputs("</script>\n</body>\n</html>\n", out);
	return 0;
}
