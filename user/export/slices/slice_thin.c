/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the slices of a file to longer ones. */
#include "export/slices/slice_thin.h"

#include "base/auto.h"
#include "export/slices/slice_pack.h"
#include "export/slices/slice_reader.h"
#include "export/slices/slice_writer.h"

struct thinning {
	struct slice_writer *writer;
	/* weights of the slices of this step so far; stacks and labels of all slices */
	struct profile *p;
	u64 step_ns, step; /* number of the step */
	bool has_slice;
	struct str records;
};

/* Writes the slice of the step. */
static int end_step(struct thinning *t)
{
	struct profile *p = t->p;
	bool begins;

	if (!t->has_slice)
		return 0;
	int err = slice_writer_add(t->writer, p, p->start_wall_ns,
				   p->start_wall_ns + p->duration_ns, &t->records, &begins);
	profile_empty(p);
	p->start_wall_ns = p->duration_ns = 0;
	t->has_slice = false;
	return err;
}

static int before_slice(const struct slice_head *head, void *ctx)
{
	struct thinning *t = ctx;
	u64 step = head->begin_wall_ns / t->step_ns;
	int err = step != t->step ? end_step(t) : 0;

	t->step = step;
	t->has_slice = true;
	return err;
}

int slices_thin(const u8 *bytes, size_t len, u64 step_ns, struct str *out, struct str *why)
{
	const struct slice_query all = { .to_wall_ns = UINT64_MAX, .refuses_damage = true };
	struct thinning t = { .writer = slice_writer_new(),
			      .p = profile_new(),
			      .step_ns = step_ns };

	frames_keep_lines(t.p->frames);
	int err = slices_visit(bytes, len, &all, t.p, before_slice, &t, why);
	if (!err)
		err = end_step(&t);
	if (!err)
		err = slices_pack(t.records.at, t.records.len, out);
	str_fini(&t.records);
	slice_writer_free(t.writer);
	profile_free(t.p);
	return err;
}
