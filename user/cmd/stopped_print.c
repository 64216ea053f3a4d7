/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the stacks of stopped threads. Part of cmd/stopped.h. */
#include "cmd/stopped.h"

#include <inttypes.h>
#include <stdio.h>

#include "sym/native.h"

#define INLINED_MAX 64

static const char *const kind_names[] = {
	[USER_FRAME_NATIVE] = "native",
	[USER_FRAME_COMPILED] = "compiled",
	[USER_FRAME_WRAPPER] = "wrapper",
	[USER_FRAME_STUB] = "stub",
	[USER_FRAME_VTABLE] = "vtable",
	[USER_FRAME_INTERPRETED] = "interpreted",
	[USER_FRAME_INTERPRETER] = "interpreter",
	[USER_FRAME_FROZEN] = "frozen",
	[USER_FRAME_SKIPPED] = "skipped",
	[USER_FRAME_CLASS] = "class",
	[USER_FRAME_KLASS] = "klass",
};

static u32 kind_of(const struct user_frame *f)
{
	u32 kind = (u32)(f->info >> USER_FRAME_KIND_SHIFT);

	return kind < ARRAY_SIZE(kind_names) ? kind : USER_FRAME_NATIVE;
}

/* The Java frames at one physical frame, innermost first; 0 if it cannot be named. */
static int name_java(struct stopped *t, const struct user_frame *f, struct java_frame *out)
{
	u32 kind = kind_of(f), id = (u32)(f->info >> USER_FRAME_ID_SHIFT) & USER_FRAME_ID_MASK;
	int nr = 0;

	if (!t->jvm || kind == USER_FRAME_NATIVE || kind == USER_FRAME_FROZEN ||
	    kind == USER_FRAME_SKIPPED)
		return 0;
	if (kind == USER_FRAME_INTERPRETED)
		nr = !hotspot_name_method(t->jvm, f->addr, f->info & USER_FRAME_BCP_MASK, 0, out);
	else
		nr = hotspot_name_pc(t->jvm,
				     (struct code_pc){ .pc = f->addr,
						       .compile_id = id,
						       .is_leaf = f->info & USER_FRAME_LEAF },
				     out, INLINED_MAX);
	return nr > 0 ? nr : 0;
}

static void print_native(struct stopped *t, const struct user_frame *f)
{
	u64 addr = f->addr - !(f->info & USER_FRAME_LEAF);
	const struct mapping *m = mappings_find(&t->mappings, addr);
	struct native_name name;

	if (kind_of(f) == USER_FRAME_FROZEN)
		printf("[frozen frames]");
	else if (kind_of(f) == USER_FRAME_SKIPPED)
		printf("[missing native frames]");
	else if (!m)
		printf("[0x%" PRIx64 "]", addr);
	else if (!native_name(t->native, t->pid, m, addr, &name))
		printf("%s", name.symbol);
	else
		printf("[%s+0x%" PRIx64 "]", name.module, name.offset);
}

static void print_java(const struct java_frame *f)
{
	printf("%s%s%s%s", f->class_name, *f->class_name ? "." : "", f->method,
	       f->is_stale ? " (stale)" : "");
}

static void print_frame(struct stopped *t, size_t i, const struct walked_frame *f)
{
	struct java_frame java[INLINED_MAX];
	int nr = name_java(t, &f->frame, java);

	printf("%4zu  %016" PRIx64 "  sp %012" PRIx64 "  %-11s %c%c ", i, f->pc, f->sp,
	       kind_names[kind_of(&f->frame)], f->frame.info & USER_FRAME_LEAF ? 'L' : ' ',
	       f->frame.info & USER_FRAME_APPROXIMATE ? '~' : ' ');
	if (!nr)
		print_native(t, &f->frame);
	for (int k = 0; k < nr; k++) {
		printf("%s", k ? " < " : "");
		print_java(&java[k]);
		if (java[k].bci >= 0)
			printf("@%d", java[k].bci);
	}
	printf("  [%s]\n", f->rule);
}

void stopped_print_collapsed(struct stopped *t, const struct walked *w)
{
	struct java_frame java[INLINED_MAX];

	printf("%s", w->is_complete ? "complete" : w->stop);
	for (size_t i = w->frames.nr; i-- > 0;) {
		const struct user_frame *f = &w->frames.at[i].frame;
		int nr = name_java(t, f, java);

		if (!nr) {
			printf(";");
			print_native(t, f);
		}
		while (nr-- > 0) {
			printf(";");
			print_java(&java[nr]);
			printf("_[%s%s]", kind_names[kind_of(f)],
			       java[nr].is_approximate ? "~" : "");
		}
	}
	printf(" 1\n");
}

void stopped_print(struct stopped *t, pid_t tid, const struct walked *w)
{
	printf("thread %d: %zu frames, %s\n", tid, w->frames.nr, w->stop);
	for (size_t i = 0; i < w->frames.nr; i++)
		print_frame(t, i, &w->frames.at[i]);
}
