/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a BPF sample to the stack that the symbolizer takes. */
#include "capture/samples/raw_stack.h"

#include "capture/unwind/sample_stack.h"

_Static_assert((int)KLASS_IN_TLAB == OBJECT_IN_TLAB &&
		       (int)KLASS_OUTSIDE_TLAB == OBJECT_OUTSIDE_TLAB,
	       "the symbolizer knows the kernel's places");

static struct raw_frame to_raw(const struct user_frame *f)
{
	struct raw_frame raw = { .at = f->addr, .is_leaf = f->info & USER_FRAME_LEAF };

	switch (f->info >> USER_FRAME_KIND_SHIFT) {
	case USER_FRAME_COMPILED:
	case USER_FRAME_WRAPPER:
	case USER_FRAME_STUB:
	case USER_FRAME_VTABLE:
		raw.kind = RAW_JVM_CODE;
		raw.detail = f->info >> USER_FRAME_ID_SHIFT & USER_FRAME_ID_MASK;
		break;
	case USER_FRAME_INTERPRETED:
		raw.kind = RAW_METHOD;
		raw.detail = f->info & USER_FRAME_BCP_MASK;
		break;
	case USER_FRAME_INTERPRETER:
		raw.kind = RAW_INTERPRETER;
		break;
	case USER_FRAME_FROZEN:
		raw.kind = RAW_FROZEN;
		break;
	case USER_FRAME_SKIPPED:
		raw.kind = RAW_SKIPPED;
		break;
	case USER_FRAME_CLASS:
		raw.kind = RAW_CLASS;
		break;
	case USER_FRAME_KLASS:
		raw.kind = RAW_KLASS;
		raw.detail = f->info & USER_FRAME_DETAIL_MASK;
		break;
	default:
		raw.kind = RAW_PC;
	}
	return raw;
}

struct raw_stack raw_stack_of(const struct sample *sample, size_t skip, raw_frames *user)
{
	const u64 *words = sample_words(sample);
	const struct user_frame *frames = (const struct user_frame *)(words + sample->nr_kernel);

	user->nr = 0;
	for (size_t i = 0; i < sample->nr_user; i++)
		vec_push(user, to_raw(&frames[i]));
	return (struct raw_stack){
		.kernel = words + skip,
		.nr_kernel = sample->nr_kernel - skip,
		.user = user->at,
		.nr_user = user->nr,
		.time_ns = sample->time_ns,
		.unloads = sample->unloads,
	};
}

u64 raw_stack_root_pc(const struct sample *sample)
{
	return sample->nr_user ? sample_user_frames(sample)[sample->nr_user - 1].addr : 0;
}

bool raw_stack_is_approximate(const struct sample *sample)
{
	const struct user_frame *frames = sample_user_frames(sample);

	for (size_t i = 0; i < sample->nr_user; i++)
		if (frames[i].info & USER_FRAME_APPROXIMATE)
			return true;
	return false;
}
