/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JVM with damaged memory: tables, code heaps, methods and threads. The input is a list of
 * changes to the simulated JVM of fake_jvm.h: two bytes of place (times 2), one of length, the
 * bytes.
 */
#include <stdlib.h>

#include "tests/lib/fake_jvm.h"

#define FRAMES 8

static int visit(void *ctx, const struct hotspot_blob *b)
{
	int *left = ctx;

	if (!b->name[0] && b->is_nmethod)
		abort();
	return --*left == 0;
}

static void check_frames(const struct java_frame *frames, int nr)
{
	for (int i = 0; i < nr; i++)
		if (!frames[i].class_name || !frames[i].method || !frames[i].signature ||
		    !frames[i].file || frames[i].kind >= NR_FRAME_KINDS)
			abort();
}

static void use(struct hotspot *h)
{
	static const u32 offsets[] = { 0, 8, FAKE_CALL - 1, FAKE_CALL, FAKE_CODE_SIZE, 0x1000 };
	struct java_frame frames[FRAMES];
	struct hotspot_thread *threads;
	struct hotspot_layout layout;
	const char *what, *why;
	int left = 1000;

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++)
		for (int leaf = 0; leaf < 2; leaf++) {
			u64 pc = fake_addr(FAKE_CODE + offsets[i]);
			int nr = hotspot_name_pc(
				h,
				(struct code_pc){ .pc = pc,
						  .compile_id = leaf ? FAKE_COMPILE_ID : 0,
						  .is_leaf = leaf },
				frames, FRAMES);
			if (nr > FRAMES)
				abort();
			check_frames(frames, nr);
		}
	hotspot_each_blob(h, visit, &left);
	hotspot_layout(h, &layout);
	hotspot_refresh(h);
	for (size_t i = 0; hotspot_limitation(h, i, &what, &why); i++)
		;
	if (hotspot_threads(h, &threads) >= 0)
		free(threads);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct fake_jvm fresh, fake;
	struct java_frame frame;
	struct hotspot *h;

	if (!fresh.free)
		fake_jvm_make(&fresh);
	fake = fresh;
	fake.segment.bytes = fake.bytes;
	while (size >= 4) {
		u32 at = 2 * (data[0] | (u32)data[1] << 8), len = 1 + data[2] % 16;
		len = len < size - 3 ? len : (u32)size - 3;
		len = len < FAKE_SIZE - at ? len : FAKE_SIZE - at;
		memcpy(fake.bytes + at, data + 3, len);
		data += 3 + len;
		size -= 3 + len;
	}
	if (fake_jvm_open(&fake, &h))
		return 0;
	use(h);
	for (u32 i = 0; i < 4; i++)
		if (!hotspot_name_method(h, fake_addr(fake.method) + 8 * i, 1, 0, &frame))
			check_frames(&frame, 1);
	hotspot_free(h);
	return 0;
}
