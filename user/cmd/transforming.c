/* SPDX-License-Identifier: Apache-2.0 */
/* --transform: changes the stacks before they are written or printed. */
#include "cmd/transforming.h"

#include <string.h>

#include "base/log.h"

int transforming_parse(const struct opt_list *words, struct transforms *out)
{
	auto_str struct str why = { 0 };

	vec_each(word, words) {
		int err = transforms_parse(*word, out, &why) ?: transforms_check(out, &why);
		if (err) {
			log_error("--transform '%s': %s", *word, why.at);
			return err;
		}
	}
	return 0;
}

/* Encoded as in the address of a page: %XX for all but letters and digits. */
static void add_escaped(struct str *out, const char *text)
{
	for (; *text; text++)
		if ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		    (*text >= '0' && *text <= '9'))
			str_add_char(out, *text);
		else
			str_addf(out, "%%%02X", (u8)*text);
}

void transforming_add_view(struct profile *p, const char *key, const char *value)
{
	struct str view = { 0 };

	str_addf(&view, "%s%s%s=", p->view, *p->view ? "&" : "", key);
	add_escaped(&view, value);
	free(p->view);
	p->view = str_take(&view);
}

static void leave_to_page(const struct transforms *list, struct profile *p)
{
	auto_str struct str json = { 0 };

	transforms_print(list, &json);
	free(p->view);
	p->view = xstrdup("");
	transforming_add_view(p, "t", json.at);
}

int transforming_apply(const struct transforms *list, const struct format *f, struct profile *p)
{
	auto_str struct str why = { 0 };

	if (!list->all.nr)
		return 0;
	if (f && f->has_view) {
		leave_to_page(list, p);
		return 0;
	}
	int err = transforms_apply(list, p, TRANSFORMS_MOST_NS, &why);
	if (err)
		log_error("--transform %s", why.at);
	return err;
}
