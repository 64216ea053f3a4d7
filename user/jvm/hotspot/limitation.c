/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Features that are missing for a JVM because its build does not export the necessary data. Part of
 * jvm/hotspot/hotspot.h.
 */
#include "jvm/hotspot/hotspot_private.h"

/* `what` needs `slot`, or in other versions `other`. */
struct need {
	const char *what;
	enum jvm_slot slot, other;
};

static const struct need needs[] = {
	{ "any Java frame", CODE_CACHE_HEAPS, CODE_CACHE_HEAP },
	{ "any Java frame", HEAP_MEMORY, HEAP_MEMORY },
	{ "any Java frame", HEAP_SEGMAP, HEAP_SEGMAP },
	{ "any Java frame", HEAP_SHIFT, HEAP_SHIFT },
	{ "compiled frames", BLOB_NAME, BLOB_NAME },
	{ "compiled frames", BLOB_SIZE, BLOB_SIZE },
	{ "compiled frames", BLOB_FRAME_SIZE, BLOB_FRAME_SIZE },
	{ "compiled frames", BLOB_CODE_BEGIN, BLOB_CODE_OFFSET },
	{ "compiled frames", BLOB_CODE_END, BLOB_DATA_OFFSET },
	{ "frames in prologues", BLOB_FRAME_COMPLETE, BLOB_FRAME_COMPLETE },
	{ "interpreted frames", INTERPRETER_CODE, INTERPRETER_CODE },
	{ "interpreted frames", QUEUE_BUFFER, QUEUE_BUFFER },
	{ "names of compiled code", NM_METHOD, NM_METHOD },
	{ "proof that compiled code was not replaced", NM_COMPILE_ID, NM_COMPILE_ID },
	{ "the compiler (C1 or C2)", NM_COMP_LEVEL, NM_COMP_LEVEL },
	{ "the place in deoptimised frames", NM_DEOPT_BEGIN, NM_DEOPT_OFFSET },
	{ "the place in deoptimised frames", NM_ORIG_PC, NM_ORIG_PC },
	{ "inlined frames", NM_SCOPES_PCS_OFFSET, NM_SCOPES_PCS_OFFSET },
	{ "inlined frames", NM_SCOPES_DATA_BEGIN, NM_SCOPES_DATA_OFFSET },
	{ "inlined frames", NM_DEPENDENCIES_OFFSET, NM_IMMUTABLE_DATA },
	{ "inlined frames", NM_METADATA_OFFSET, BLOB_MUTABLE_DATA },
	{ "method names", METHOD_CONST_METHOD, METHOD_CONST_METHOD },
	{ "method names", CM_CONSTANTS, CM_CONSTANTS },
	{ "method names", CM_NAME_INDEX, CM_NAME_INDEX },
	{ "method names", CM_SIGNATURE_INDEX, CM_SIGNATURE_INDEX },
	{ "method names", CM_SIZE, CM_SIZE },
	{ "method names", CM_CODE_SIZE, CM_CODE_SIZE },
	{ "method names", POOL_HOLDER, POOL_HOLDER },
	{ "method names", POOL_LENGTH, POOL_LENGTH },
	{ "method names", POOL_TAGS, POOL_TAGS },
	{ "method names", KLASS_NAME, KLASS_NAME },
	{ "method names", SYMBOL_LENGTH, SYMBOL_LENGTH_AND_REFCOUNT },
	{ "method names", SYMBOL_BODY, SYMBOL_BODY },
	{ "source files", POOL_SOURCE_FILE, KLASS_SOURCE_FILE },
	{ "source lines", CM_FLAGS, CM_FLAGS },
	{ "Java threads", THREAD_LIST, SMR_THREAD_LIST },
	{ "Java threads", THREAD_OSTHREAD, THREAD_OSTHREAD },
	{ "Java threads", OSTHREAD_ID, OSTHREAD_ID },
	{ "stack bounds", THREAD_STACK_BASE, THREAD_STACK_BASE },
	{ "stack bounds", THREAD_STACK_SIZE, THREAD_STACK_SIZE },
	{ "JVM flags and the collector", FLAGS, FLAGS },
	{ "JVM flags and the collector", NR_FLAGS, NR_FLAGS },
};

/*
 * What cannot be read although all tables are there. It shows only when code heaps and counters
 * are searched.
 */
static bool learned_limitation(const struct hotspot *h, size_t i, const char **what,
			       const char **why)
{
	const struct {
		bool is_gap;
		const char *what, *why;
	} gaps[] = {
		{ !h->jvm.unloads, "proof that a class was not unloaded before it was named",
		  "the JVM keeps no counters (-XX:-UsePerfData)" },
		{ !h->jvm.jdk, "the version", "no version variable is exported" },
		{ h->heaps.nr == HOTSPOT_HEAPS, "some code heaps",
		  "there are more than sysflame keeps" },
		{ h->walk_is_cut, "some stubs",
		  "its code heaps take too long to be walked at once" },
		{ h->jvm.jdk >= 19 && (!h->barrier || !h->cont_entry), "virtual threads",
		  "the return barrier was not found in the continuation stubs" },
		{ h->cont_stubs_start && !h->tls_module, "virtual threads while they are moved",
		  "the JavaThread was not found in thread-local storage" },
		{ h->jvm.build.is_cut, "some fields",
		  "libjvm's tables could not be read to the end" },
	};

	for (size_t g = 0; g < ARRAY_SIZE(gaps); g++) {
		if (!gaps[g].is_gap || i--)
			continue;
		*what = gaps[g].what;
		*why = gaps[g].why;
		return true;
	}
	return false;
}

bool hotspot_limitation(const struct hotspot *h, size_t i, const char **what, const char **why)
{
	for (size_t n = 0; n < ARRAY_SIZE(needs); n++) {
		if (vm_has(&h->jvm.build, needs[n].slot) || vm_has(&h->jvm.build, needs[n].other))
			continue;
		if (i--)
			continue;
		*what = needs[n].what;
		*why = jvm_slot_missing(needs[n].slot);
		return true;
	}
	return learned_limitation(h, i, what, why);
}
