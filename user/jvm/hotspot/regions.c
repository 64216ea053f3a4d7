/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of its address space that a JVM reserves for itself. */
#include "jvm/hotspot/regions.h"

#include <string.h>

#include "jvm/hotspot/hotspot_private.h"

#define WORD_BYTES 8

/* CollectedHeap::_reserved, a MemRegion: the maximum range of the Java heap. */
void hotspot_read_java_heap(struct hotspot *h)
{
	const struct vm_memory *j = &h->jvm;
	const struct jvm_field *reserved = &j->build.fields[HEAP_RESERVED];
	u64 heap, start, words;

	if (h->java_heap_end || !reserved->width || vm_read_static(j, UNIVERSE_HEAP, &heap) ||
	    !heap || vm_read(j, heap + reserved->at, REGION_START, &start) ||
	    vm_read(j, heap + reserved->at, REGION_WORDS, &words))
		return;
	if (!start || !words || words > (UINT64_MAX - start) / WORD_BYTES)
		return;
	h->java_heap_start = start;
	h->java_heap_end = start + words * WORD_BYTES;
}

/* Whether the build does not export the heap, or the collector leaves the field empty. */
static bool hides_java_heap(const struct hotspot *h)
{
	if (!vm_has(&h->jvm.build, UNIVERSE_HEAP) || !vm_has(&h->jvm.build, HEAP_RESERVED) ||
	    !vm_has(&h->jvm.build, REGION_START) || !vm_has(&h->jvm.build, REGION_WORDS))
		return true;
	return !strcmp(hotspot_collector(h), "Z");
}

/* The code heaps, and their segment maps. */
static bool is_code_cache(const struct code_heaps *heaps, u64 addr)
{
	if (code_heaps_find(heaps, addr))
		return true;
	for (u32 i = 0; i < heaps->nr; i++) {
		const struct hotspot_heap *heap = &heaps->at[i];
		if (addr - heap->segmap < (heap->end - heap->start) >> heap->shift)
			return true;
	}
	return false;
}

enum jvm_region hotspot_region(struct hotspot *h, u64 addr)
{
	hotspot_read_java_heap(h);
	if (addr >= h->java_heap_start && addr < h->java_heap_end)
		return JVM_REGION_JAVA_HEAP;
	if (is_code_cache(&h->heaps, addr))
		return JVM_REGION_CODE_CACHE;
	return h->java_heap_end || hides_java_heap(h) ? JVM_REGION_OTHER : JVM_REGION_UNKNOWN;
}
