/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "abi.h"
#include "capture/stacks/reserved.h"

#define HEAP_ADDR 0x700000000

static struct frames *all;
static frame_list frames;

static int make(void **state)
{
	all = frames_new();
	return 0;
}

static int drop(void **state)
{
	vec_fini(&frames);
	frames_free(all);
	return 0;
}

/* Leaf first: mmap, then functions of libjvm, or Java methods if they have a dot. */
static void stand(const char *const *names)
{
	frames.nr = 0;
	vec_push(&frames, frames_intern(all, FRAME_NATIVE, "mmap", "libc.so.6"));
	for (; *names; names++)
		vec_push(&frames, frames_intern(all, strchr(*names, '.') ? FRAME_C2 : FRAME_JVM,
						*names, ""));
}

#define STAND(...) stand((const char *const[]){ __VA_ARGS__, NULL })

static void assert_group(const char *expected, enum jvm_region region)
{
	const char *group = reserved_group(HEAP_ADDR, region, all, &frames);

	assert_non_null(group);
	assert_string_equal(group, expected);
}

static void memory_in_a_region_of_the_jvm_belongs_to_that_region(void **state)
{
	STAND("os::commit_memory", "PSVirtualSpace::expand_by", "ParMarkBitMap::initialize");
	assert_group("[java heap]", JVM_REGION_JAVA_HEAP);
	assert_group("[code cache]", JVM_REGION_CODE_CACHE);
}

static void the_innermost_known_function_decides(void **state)
{
	STAND("os::commit_memory", "metaspace::VirtualSpaceNode::commit_range",
	      "Metaspace::allocate", "G1CollectedHeap::satisfy_failed_metadata_allocation");
	assert_group("[metaspace]", JVM_REGION_OTHER);
	STAND("os::commit_memory", "VirtualSpace::expand_by", "CodeHeap::expand_by",
	      "CodeCache::allocate");
	assert_group("[code cache]", JVM_REGION_OTHER);
	STAND("os::commit_memory_or_exit", "ZMarkStackAllocator::ZMarkStackAllocator");
	assert_group("[gc]", JVM_REGION_OTHER);
}

/* G1 commits bitmaps and card tables with the same functions as the heap. */
static void outside_the_heap_a_collector_commits_its_own_structures(void **state)
{
	STAND("os::commit_memory_or_exit", "G1PageBasedVirtualSpace::commit",
	      "G1RegionsLargerThanCommitSizeMapper::commit_regions",
	      "HeapRegionManager::commit_regions");
	assert_group("[gc]", JVM_REGION_OTHER);
	assert_group("[java heap]", JVM_REGION_UNKNOWN);
	STAND("os::commit_memory_or_exit", "G1PageBasedVirtualSpace::commit",
	      "G1RegionsSmallerThanCommitSizeMapper::commit_regions",
	      "HeapRegionManager::commit_regions");
	assert_group("[gc]", JVM_REGION_UNKNOWN);
	STAND("os::commit_memory", "VirtualSpace::expand_by", "CardGeneration::grow_by");
	assert_group("[gc]", JVM_REGION_OTHER);
	assert_group("[java heap]", JVM_REGION_UNKNOWN);
}

static void memory_of_a_libjvm_without_symbols_belongs_to_the_jvm(void **state)
{
	STAND("[libjvm]+0x1234", "[libjvm]+0x5678", "a.B.run", "Metaspace::allocate");
	assert_group("[jvm]", JVM_REGION_OTHER);
	assert_group("[java heap]", JVM_REGION_JAVA_HEAP);
}

static void memory_of_other_libraries_has_no_group(void **state)
{
	STAND("a.B.run");
	assert_null(reserved_group(HEAP_ADDR, JVM_REGION_OTHER, all, &frames));
	STAND("os::malloc", "G1CollectedHeap::initialize");
	assert_null(reserved_group(0, JVM_REGION_UNKNOWN, all, &frames));
}

static void stacks_of_threads_need_no_jvm(void **state)
{
	STAND("pthread_create");
	assert_string_equal(reserved_group(MAPPED_STACK, JVM_REGION_UNKNOWN, all, &frames),
			    "[thread stacks]");
}

static void guard_pages_are_part_of_the_stack(void **state)
{
	STAND("os::pd_commit_memory", "os::commit_memory",
	      "StackOverflow::create_stack_guard_pages", "JavaThread::run");
	assert_true(reserved_is_guard_page(HEAP_ADDR, all, &frames));
	assert_false(reserved_is_guard_page(MAPPED_STACK, all, &frames));
	STAND("os::commit_memory", "a.B.run", "StackOverflow::create_stack_guard_pages");
	assert_false(reserved_is_guard_page(HEAP_ADDR, all, &frames));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_in_a_region_of_the_jvm_belongs_to_that_region),
		cmocka_unit_test(the_innermost_known_function_decides),
		cmocka_unit_test(outside_the_heap_a_collector_commits_its_own_structures),
		cmocka_unit_test(memory_of_a_libjvm_without_symbols_belongs_to_the_jvm),
		cmocka_unit_test(memory_of_other_libraries_has_no_group),
		cmocka_unit_test(stacks_of_threads_need_no_jvm),
		cmocka_unit_test(guard_pages_are_part_of_the_stack),
	};
	return cmocka_run_group_tests(tests, make, drop);
}
