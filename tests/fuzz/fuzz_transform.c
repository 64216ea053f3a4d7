/* SPDX-License-Identifier: Apache-2.0 */
/* Parses any bytes as transforms and applies the result to a small profile. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "profile/transform.h"

static struct profile *make_profile(void)
{
	static const char *const names[] = { "main", "a", "b", "a;b", "f-12", "\xc3\xa9" };
	struct profile *p = profile_new();
	labels_id none = profile_intern_labels(p, &(struct labels){ .comm = "", .thread = "" });
	node_id node = 0;

	profile_add_type(p, "cpu", "samples");
	for (u32 i = 0; i < 24; i++) {
		enum frame_kind kind = i % 5 ? FRAME_C2 : FRAME_NATIVE;
		frame_id f = frames_intern(p->frames, kind, names[i * i % 6], "");
		node = profile_child(p, i % 8 ? node : 0, f);
		profile_add(p, node, none, 0, i);
	}
	return p;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	auto_transforms struct transforms list = { 0 };
	auto_str struct str why = { 0 }, again = { 0 };
	char *text = xstrndup((const char *)data, size);

	if (!transforms_parse(text, &list, &why) && list.all.nr <= 3) {
		struct profile *p = make_profile();
		u64 before = profile_total(p, 0);
		if (!transforms_apply(&list, p, TRANSFORMS_MOST_NS, &why) &&
		    profile_total(p, 0) > before)
			abort();
		transforms_print(&list, &again);
		profile_free(p);
	}
	free(text);
	return 0;
}
