/* SPDX-License-Identifier: Apache-2.0 */
/* Distinguishes memory that JVMs and threads reserve for themselves from memory of the program. */
#include "capture/stacks/reserved.h"

#include <ctype.h>
#include <string.h>

#include "abi.h"
#include "base/types.h"

enum group {
	GROUP_NONE,
	GROUP_JAVA_HEAP,
	GROUP_CODE_CACHE,
	GROUP_METASPACE,
	GROUP_GC,
	GROUP_THREAD_STACKS,
	GROUP_JVM,
	NR_GROUPS,
};

static const char *const group_names[NR_GROUPS] = {
	[GROUP_JAVA_HEAP] = "[java heap]",         [GROUP_CODE_CACHE] = "[code cache]",
	[GROUP_METASPACE] = "[metaspace]",         [GROUP_GC] = "[gc]",
	[GROUP_THREAD_STACKS] = "[thread stacks]", [GROUP_JVM] = "[jvm]",
};

struct rule {
	const char *begins;
	enum group group;
};

/*
 * The beginnings of names of libjvm's functions, JDK 8 to 28. The frame nearest to the leaf that
 * matches a rule decides, by the first rule that it matches.
 */
static const struct rule rules[] = {
	{ "CodeHeap::", GROUP_CODE_CACHE },
	{ "CodeCache::", GROUP_CODE_CACHE },
	{ "metaspace::", GROUP_METASPACE },
	{ "Metaspace::", GROUP_METASPACE },
	{ "ClassLoaderMetaspace::", GROUP_METASPACE },
	{ "VirtualSpaceNode::", GROUP_METASPACE }, /* until JDK 15 */
	{ "VirtualSpaceList::", GROUP_METASPACE },
	/* The Java heap of a JVM whose tables cannot be read. */
	{ "G1PageBasedVirtualSpace::", GROUP_NONE }, /* its caller shows the purpose */
	{ "G1RegionsSmallerThanCommitSizeMapper::", GROUP_GC },
	{ "G1RegionsLargerThanCommitSizeMapper::", GROUP_JAVA_HEAP }, /* includes bitmaps */
	{ "HeapRegionManager::", GROUP_JAVA_HEAP },
	{ "G1HeapRegionManager::", GROUP_JAVA_HEAP },
	{ "PSYoungGen::", GROUP_JAVA_HEAP },
	{ "PSOldGen::", GROUP_JAVA_HEAP },
	{ "Generation::", GROUP_JAVA_HEAP },
	{ "CardGeneration::", GROUP_JAVA_HEAP },
	{ "TenuredGeneration::", GROUP_JAVA_HEAP },
	{ "DefNewGeneration::", GROUP_JAVA_HEAP },
	{ "ConcurrentMarkSweepGeneration::", GROUP_JAVA_HEAP },
	{ "ShenandoahHeap::", GROUP_JAVA_HEAP },
	{ "EpsilonHeap::", GROUP_JAVA_HEAP },
	/* Other structures of collectors. */
	{ "G1", GROUP_GC },
	{ "HeapRegion", GROUP_GC },
	{ "PS", GROUP_GC },
	{ "Par", GROUP_GC },
	{ "CardTable", GROUP_GC },
	{ "BlockOffset", GROUP_GC },
	{ "Serial", GROUP_GC },
	{ "GenCollectedHeap", GROUP_GC },
	{ "CMS", GROUP_GC },
	{ "ConcurrentMark", GROUP_GC },
	{ "Shenandoah", GROUP_GC },
	{ "MarkBitMap", GROUP_GC },
	{ "CollectedHeap::", GROUP_GC },
	{ "VM_G1", GROUP_GC },
};

/* ZHeap, ZMarkStackAllocator; XHeap of JDK 21's older ZGC. */
static bool is_zgc(const char *name)
{
	return (name[0] == 'Z' || name[0] == 'X') && isupper((unsigned char)name[1]);
}

static enum group group_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (!strncmp(name, rules[i].begins, strlen(rules[i].begins)))
			return rules[i].group;
	return is_zgc(name) ? GROUP_GC : GROUP_NONE;
}

/* Searches the functions of libjvm between the leaf and the Java code. */
static enum group group_by_names(const struct frames *all, const frame_list *frames)
{
	for (size_t i = 1; i < frames->nr; i++) {
		const struct frame *f = frames_get(all, frames->at[i]);
		enum group group = f->kind == FRAME_JVM ? group_of(f->name) : GROUP_NONE;
		if (group != GROUP_NONE)
			return group;
		if (f->kind != FRAME_JVM && f->kind != FRAME_NATIVE)
			break;
	}
	return GROUP_JVM;
}

static enum group find_group(u64 mapped, enum jvm_region region, const struct frames *all,
			     const frame_list *frames)
{
	if (mapped == MAPPED_STACK)
		return GROUP_THREAD_STACKS;
	if (!mapped || frames->nr < 2)
		return GROUP_NONE;
	if (region == JVM_REGION_JAVA_HEAP)
		return GROUP_JAVA_HEAP;
	if (region == JVM_REGION_CODE_CACHE)
		return GROUP_CODE_CACHE;
	if (frames_get(all, frames->at[1])->kind != FRAME_JVM)
		return GROUP_NONE;
	enum group group = group_by_names(all, frames);
	return group == GROUP_JAVA_HEAP && region == JVM_REGION_OTHER ? GROUP_GC : group;
}

const char *reserved_group(u64 mapped, enum jvm_region region, const struct frames *all,
			   const frame_list *frames)
{
	return group_names[find_group(mapped, region, all, frames)];
}

/* StackOverflow::create_stack_guard_pages; until JDK 15 JavaThread's. */
bool reserved_is_guard_page(u64 mapped, const struct frames *all, const frame_list *frames)
{
	for (size_t i = 1; mapped > MAPPED_STACK && i < frames->nr; i++) {
		const struct frame *f = frames_get(all, frames->at[i]);
		if (f->kind != FRAME_JVM)
			return false;
		if (strstr(f->name, "::create_stack_guard_pages"))
			return true;
	}
	return false;
}
