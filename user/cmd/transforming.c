/* SPDX-License-Identifier: Apache-2.0 */
/* --transform: changes the stacks before they are written or printed. */
#include "cmd/transforming.h"

#include "base/log.h"
#include "profile/view.h"

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

int transforming_apply(const struct transforms *list, const struct format *f, struct profile *p)
{
	auto_str struct str why = { 0 };

	if (!list->all.nr)
		return 0;
	if (f && f->has_view) {
		view_set_transforms(p, list);
		return 0;
	}
	bool had_weights = p->weights.nr > 0;
	int err = transforms_apply(list, p, TRANSFORMS_MOST_NS, &why);
	if (err)
		log_error("--transform %s", why.at);
	else if (had_weights && !p->weights.nr)
		log_warn("--transform leaves out every stack; the profile is empty");
	return err;
}
