/* SPDX-License-Identifier: Apache-2.0 */
/* BPF's reader of ThreadLocals on the host; compiled with bpf/host first on the include path. */
#include "bpf/host/java_value.h"

#include "jvm/labels/value_reader.h"

#include <errno.h>

/* The memory that is read, static because BPF helpers take no context argument. */
static _Thread_local struct mem *memory;

/* The source of this file uses no maps. */
static __attribute__((unused)) void *bpf_map_lookup_elem(void *map, const void *key)
{
	return NULL;
}

static long bpf_probe_read_user(void *dst, __u32 size, const void *unsafe_ptr)
{
	return mem_read(memory, (u64)unsafe_ptr, dst, size) ? -EFAULT : 0;
}

void value_read(struct mem *m, struct java_place *place, u64 java_thread, u32 i,
		struct java_value *out)
{
	struct java_reading r = { 0 };

	*out = (struct java_value){ 0 };
	memory = m;
	if (java_reading_begin(place, &r, java_thread))
		java_label_read(place, &r, i, out);
}

bool values_read(struct mem *m, struct java_place *place, u64 tls,
		 struct java_value out[JAVA_LABELS])
{
	struct java_reading r = { 0 };

	memory = m;
	u64 java_thread = java_thread_find(place, tls);
	if (!java_thread || !java_reading_begin(place, &r, java_thread))
		return false;
	for (u32 i = 0; i < JAVA_LABELS; i++)
		java_label_read(place, &r, i, &out[i]);
	return true;
}
