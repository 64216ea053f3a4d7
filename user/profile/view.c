/* SPDX-License-Identifier: Apache-2.0 */
/* The view that a page opens with. */
#include "profile/view.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/str.h"

/* Appends the text encoded as in a page's address: %XX for all but letters and digits. */
static void add_escaped(struct str *out, const char *text)
{
	for (; *text; text++)
		if ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		    (*text >= '0' && *text <= '9'))
			str_add_char(out, *text);
		else
			str_addf(out, "%%%02X", (u8)*text);
}

void view_add(struct profile *p, const char *key, const char *value)
{
	struct str view = { 0 };

	str_addf(&view, "%s%s%s=", p->view, *p->view ? "&" : "", key);
	add_escaped(&view, value);
	free(p->view);
	p->view = str_take(&view);
}

void view_set_transforms(struct profile *p, const struct transforms *list)
{
	auto_str struct str json = { 0 };

	transforms_print(list, &json);
	free(p->view);
	p->view = xstrdup("");
	view_add(p, "t", json.at);
}
