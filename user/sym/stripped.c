/* SPDX-License-Identifier: Apache-2.0 */
/* Groups the functions of libjvm and libc that have no symbol. */
#include "sym/stripped.h"

#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "jvm/process/vm_thread.h"
#include "profile/frames/method.h"
#include "profile/unnamed.h"

/* Consecutive frames of one library. */
struct visit {
	const char *module, *entry; /* the innermost exported function so far; NULL: none yet */
	size_t module_len;          /* without a build id */
	bool has_group;
	frame_id group; /* of the functions below `entry` */
};

const char *stripped_role(const struct frames *all, const frame_list *frames, const char *comm)
{
	/* A stack with Java frames gets no role: a Java thread may have any name. */
	vec_each(frame, frames)
		if (frame_kind_is_java(frames_get(all, *frame)->kind))
			return "Java thread";
	return vm_role_of(comm);
}

/* "libc.so.6", "libc-2.31.so"; musl's is also the dynamic linker. */
static bool is_libc(const char *module)
{
	static const char *const begins[] = { "libc.so", "libc-2.", "libc.musl-", "ld-musl-" };

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (!strncmp(module, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* Only functions without a name have the build id in their module. */
static bool is_same_file(const struct visit *v, const char *module)
{
	return v->module == module || (!strncmp(v->module, module, v->module_len) &&
				       module_file_len(module) == v->module_len);
}

static bool is_grouped(const struct frame *f)
{
	return f->kind == FRAME_JVM || (f->kind == FRAME_NATIVE && is_libc(f->module));
}

/* Finds the group of a frame. Returns false if only the library is known. */
static bool find_group(struct symbolizer *s, const struct frame *f, const char *role,
		       struct visit *v)
{
	auto_str struct str name = { 0 };

	if (!v->entry && !role)
		return false;
	if (v->has_group)
		return true;
	str_add_char(&name, '[');
	str_add_bytes(&name, f->module, module_file_len(f->module));
	if (v->entry)
		str_addf(&name, " below %s]", v->entry);
	else
		str_addf(&name, ": %s]", role);
	v->group = symbolizer_stripped(s, f->kind, name.at, f->module);
	v->has_group = true;
	return true;
}

void stripped_group(struct symbolizer *s, const struct frames *all, const char *role,
		    frame_list *frames)
{
	struct visit v = { 0 };

	if (symbolizer_keeps_addresses(s))
		return;
	for (size_t i = frames->nr; i-- > 0;) {
		frame_id id = frames->at[i];
		/*
		 * Copy the frame, because the table may move when a group is added. Its texts do
		 * not move.
		 */
		const struct frame f = *frames_get(all, id);
		if (!is_grouped(&f)) {
			v.module = NULL;
			continue;
		}
		if (!v.module || !is_same_file(&v, f.module))
			v = (struct visit){ .module = f.module,
					    .module_len = module_file_len(f.module) };
		if (!symbolizer_is_named(s, id)) {
			if (find_group(s, &f, role, &v))
				frames->at[i] = v.group;
		} else if (!symbolizer_is_inferred(s, id)) {
			v.entry = f.name;
			v.has_group = false;
		}
	}
}
