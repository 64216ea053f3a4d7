/* SPDX-License-Identifier: Apache-2.0 */
/* -I, -X, --reverse, --transform and --raw-names. */
#include "cmd/stack_options.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "profile/stack_filter.h"
#include "profile/view.h"

static int check_patterns(const char *option, const struct opt_list *patterns)
{
	vec_each(pattern, patterns)
		if (strspn(*pattern, "*") == strlen(*pattern)) {
			log_error("%s '%s': every frame matches; give a name, as in 'java/*' or "
				  "'*.park'",
				  option, *pattern);
			return -EINVAL;
		}
	return 0;
}

int stack_options_check(const struct stack_options *o, const struct format *f)
{
	if (check_patterns("-I", &o->include) || check_patterns("-X", &o->exclude))
		return -EINVAL;
	if (!o->is_reversed || !f || f->has_stacks)
		return 0;
	log_error("--reverse: %s holds stacks as they were sampled; use html, svg or collapsed",
		  f->name);
	return -EINVAL;
}

void stack_options_filter(const struct stack_options *o, struct profile *p)
{
	const struct stack_filter filter = {
		.include = (const char *const *)o->include.at,
		.exclude = (const char *const *)o->exclude.at,
		.nr_include = o->include.nr,
		.nr_exclude = o->exclude.nr,
	};

	if (!filter.nr_include && !filter.nr_exclude)
		return;
	bool had_weights = p->weights.nr > 0;
	u64 dropped = profile_filter_stacks(p, &filter);
	if (dropped)
		profile_note(p, "filtered", "samples left out by -I and -X", dropped);
	if (had_weights && !p->weights.nr)
		log_warn("-I and -X leave out every stack; the profile is empty");
}

void stack_options_turn(const struct stack_options *o, const struct format *f, struct profile *p)
{
	if (!o->is_reversed)
		return;
	if (f && f->has_view)
		view_add(p, "up", "1");
	else
		profile_reverse(p);
}

void stack_options_fini(struct stack_options *o)
{
	vec_fini(&o->include);
	vec_fini(&o->exclude);
}

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
