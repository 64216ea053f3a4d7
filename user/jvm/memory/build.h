/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of objects in one build of libjvm. It comes from the build's own tables, never from a
 * version number: a new JDK needs no change while it exports these fields. A missing export costs
 * one feature, not all.
 */
#pragma once

#include "elf/image.h"
#include "proc/mem.h"

/* X(slot, type, field) */
#define JVM_FIELDS(X)                                                                            \
	X(CODE_CACHE_HEAPS, "CodeCache", "_heaps")                                               \
	X(CODE_CACHE_HEAP, "CodeCache", "_heap")                                                 \
	X(CODE_CACHE_LOW, "CodeCache", "_low_bound")                                             \
	X(CODE_CACHE_HIGH, "CodeCache", "_high_bound")                                           \
	X(ARRAY_LEN, "GrowableArrayBase", "_len")                                                \
	X(ARRAY_DATA, "GrowableArray<int>", "_data")                                             \
	X(HEAP_MEMORY, "CodeHeap", "_memory")                                                    \
	X(HEAP_SEGMAP, "CodeHeap", "_segmap")                                                    \
	X(HEAP_SHIFT, "CodeHeap", "_log2_segment_size")                                          \
	X(SPACE_LOW_BOUNDARY, "VirtualSpace", "_low_boundary")                                   \
	X(SPACE_HIGH_BOUNDARY, "VirtualSpace", "_high_boundary")                                 \
	X(SPACE_LOW, "VirtualSpace", "_low")                                                     \
	X(SPACE_HIGH, "VirtualSpace", "_high")                                                   \
	X(BLOCK_LENGTH, "HeapBlock::Header", "_length")                                          \
	X(BLOCK_USED, "HeapBlock::Header", "_used")                                              \
	X(BLOB_NAME, "CodeBlob", "_name")                                                        \
	X(BLOB_KIND, "CodeBlob", "_kind")                                                        \
	X(BLOB_SIZE, "CodeBlob", "_size")                                                        \
	X(BLOB_FRAME_SIZE, "CodeBlob", "_frame_size")                                            \
	X(BLOB_FRAME_COMPLETE, "CodeBlob", "_frame_complete_offset")                             \
	X(BLOB_CODE_BEGIN, "CodeBlob", "_code_begin")                                            \
	X(BLOB_CODE_END, "CodeBlob", "_code_end")                                                \
	X(BLOB_CODE_OFFSET, "CodeBlob", "_code_offset")                                          \
	X(BLOB_DATA_OFFSET, "CodeBlob", "_data_offset")                                          \
	X(BLOB_RELOCATION_SIZE, "CodeBlob", "_relocation_size")                                  \
	X(BLOB_MUTABLE_DATA, "CodeBlob", "_mutable_data")                                        \
	X(BLOB_MUTABLE_DATA_SIZE, "CodeBlob", "_mutable_data_size")                              \
	X(BLOB_OOP_MAPS, "CodeBlob", "_oop_maps")                                                \
	X(OOP_MAPS_COUNT, "ImmutableOopMapSet", "_count")                                        \
	X(NM_METHOD, "nmethod", "_method")                                                       \
	X(NM_COMPILE_ID, "nmethod", "_compile_id")                                               \
	X(NM_COMP_LEVEL, "nmethod", "_comp_level")                                               \
	X(NM_STATE, "nmethod", "_state")                                                         \
	X(NM_ORIG_PC, "nmethod", "_orig_pc_offset")                                              \
	X(NM_STUB_OFFSET, "nmethod", "_stub_offset")                                             \
	X(NM_DEOPT_BEGIN, "CompiledMethod", "_deopt_handler_begin")                              \
	X(NM_DEOPT_MH_BEGIN, "CompiledMethod", "_deopt_mh_handler_begin")                        \
	X(NM_DEOPT_OFFSET, "nmethod", "_deopt_handler_entry_offset")                             \
	X(NM_DEOPT_MH_OFFSET, "nmethod", "_deopt_mh_handler_offset")                             \
	X(NM_METADATA_OFFSET, "nmethod", "_metadata_offset")                                     \
	X(NM_SCOPES_DATA_BEGIN, "CompiledMethod", "_scopes_data_begin")                          \
	X(NM_SCOPES_DATA_OFFSET, "nmethod", "_scopes_data_offset")                               \
	X(NM_SCOPES_PCS_OFFSET, "nmethod", "_scopes_pcs_offset")                                 \
	X(NM_DEPENDENCIES_OFFSET, "nmethod", "_dependencies_offset")                             \
	X(NM_IMMUTABLE_DATA, "nmethod", "_immutable_data")                                       \
	X(NM_IMMUTABLE_DATA_SIZE, "nmethod", "_immutable_data_size")                             \
	X(METHOD_CONST_METHOD, "Method", "_constMethod")                                         \
	X(METHOD_ACCESS_FLAGS, "Method", "_access_flags")                                        \
	X(CM_CONSTANTS, "ConstMethod", "_constants")                                             \
	X(CM_SIZE, "ConstMethod", "_constMethod_size")                                           \
	X(CM_FLAGS, "ConstMethod", "_flags._flags")                                              \
	X(CM_CODE_SIZE, "ConstMethod", "_code_size")                                             \
	X(CM_NAME_INDEX, "ConstMethod", "_name_index")                                           \
	X(CM_SIGNATURE_INDEX, "ConstMethod", "_signature_index")                                 \
	X(POOL_TAGS, "ConstantPool", "_tags")                                                    \
	X(POOL_HOLDER, "ConstantPool", "_pool_holder")                                           \
	X(POOL_LENGTH, "ConstantPool", "_length")                                                \
	X(POOL_SOURCE_FILE, "ConstantPool", "_source_file_name_index")                           \
	X(KLASS_SOURCE_FILE, "InstanceKlass", "_source_file_name_index")                         \
	X(KLASS_NAME, "Klass", "_name")                                                          \
	X(KLASS_CONSTANTS, "InstanceKlass", "_constants")                                        \
	X(KLASS_FIELDS, "InstanceKlass", "_fields")                                              \
	X(KLASS_NR_FIELDS, "InstanceKlass", "_java_fields_count")                                \
	X(KLASS_FIELD_STREAM, "InstanceKlass", "_fieldinfo_stream")                              \
	X(THREAD_CLASS, "vmClasses", "_klasses[static_cast<int>(vmClassID::Thread_klass_knum)]") \
	X(STRING_CLASS, "vmClasses", "_klasses[static_cast<int>(vmClassID::String_klass_knum)]") \
	X(NARROW_OOP_BASE, "CompressedOops", "_base")                                            \
	X(NARROW_OOP_SHIFT, "CompressedOops", "_shift")                                          \
	X(NARROW_KLASS_BASE, "CompressedKlassPointers", "_base")                                 \
	X(NARROW_KLASS_SHIFT, "CompressedKlassPointers", "_shift")                               \
	X(KLASS_MIRROR, "Klass", "_java_mirror")                                                 \
	X(KLASS_SUPER, "Klass", "_super")                                                        \
	X(KLASS_LAYOUT, "Klass", "_layout_helper")                                               \
	X(KLASS_NEXT_LINK, "Klass", "_next_link")                                                \
	X(KLASS_LOADER_DATA, "Klass", "_class_loader_data")                                      \
	X(LOADER_KLASSES, "ClassLoaderData", "_klasses")                                         \
	X(LOADER_NEXT, "ClassLoaderData", "_next")                                               \
	X(LOADERS_HEAD, "ClassLoaderDataGraph", "_head")                                         \
	X(SYMBOL_LENGTH, "Symbol", "_length")                                                    \
	X(SYMBOL_LENGTH_AND_REFCOUNT, "Symbol", "_length_and_refcount")                          \
	X(SYMBOL_BODY, "Symbol", "_body")                                                        \
	X(THREAD_LIST, "Threads", "_thread_list")                                                \
	X(THREAD_NEXT, "JavaThread", "_next")                                                    \
	X(SMR_THREAD_LIST, "ThreadsSMRSupport", "_java_thread_list")                             \
	X(THREADS_LENGTH, "ThreadsList", "_length")                                              \
	X(THREADS_ARRAY, "ThreadsList", "_threads")                                              \
	X(THREAD_OSTHREAD, "JavaThread", "_osthread")                                            \
	X(THREAD_OBJECT, "JavaThread", "_threadObj")                                             \
	X(THREAD_RUNS, "JavaThread", "_vthread")                                                 \
	X(THREAD_OWNER_ID, "JavaThread", "_monitor_owner_id")                                    \
	X(MONITOR_OBJECT, "ObjectMonitor", "_object")                                            \
	X(MONITOR_OWNER, "ObjectMonitor", "_owner")                                              \
	X(OSTHREAD_ID, "OSThread", "_thread_id")                                                 \
	X(OSTHREAD_POINTER, "OSThread", "_pthread_id")                                           \
	X(THREAD_STACK_BASE, "JavaThread", "_stack_base")                                        \
	X(THREAD_STACK_SIZE, "JavaThread", "_stack_size")                                        \
	X(THREAD_ALLOCATED, "Thread", "_allocated_bytes")                                        \
	X(THREAD_TLAB, "Thread", "_tlab")                                                        \
	X(TLAB_START, "ThreadLocalAllocBuffer", "_start")                                        \
	X(TLAB_TOP, "ThreadLocalAllocBuffer", "_top")                                            \
	X(THREAD_STATE, "JavaThread", "_thread_state")                                           \
	X(THREAD_ENTERS, "JavaThread", "_current_pending_monitor")                               \
	X(THREAD_ANCHOR, "JavaThread", "_anchor")                                                \
	X(THREAD_CONT_ENTRY, "JavaThread", "_cont_entry")                                        \
	X(CONT_RETURN_PC, "ContinuationEntry", "_return_pc")                                     \
	X(CONT_BARRIER, "StubRoutines", "_cont_returnBarrier")                                   \
	X(CALL_STUB_RETURN, "StubRoutines", "_call_stub_return_address")                         \
	X(INTERPRETER_CODE, "AbstractInterpreter", "_code")                                      \
	X(QUEUE_BUFFER, "StubQueue", "_stub_buffer")                                             \
	X(QUEUE_LIMIT, "StubQueue", "_buffer_limit")                                             \
	X(QUEUE_END, "StubQueue", "_queue_end")                                                  \
	X(UNIVERSE_HEAP, "Universe", "_collectedHeap")                                           \
	X(HEAP_RESERVED, "CollectedHeap", "_reserved")                                           \
	X(REGION_START, "MemRegion", "_start")                                                   \
	X(REGION_WORDS, "MemRegion", "_word_size")                                               \
	X(Z_GLOBALS, "ZGlobalsForVMStructs", "_instance_p")                                      \
	X(Z_BAD_COLORS, "ZGlobalsForVMStructs", "_ZPointerLoadBadMask")                          \
	X(Z_SINGLE_GLOBALS, "XGlobalsForVMStructs", "_instance_p")                               \
	X(Z_SINGLE_BAD_COLORS, "XGlobalsForVMStructs", "_XAddressBadMask")                       \
	X(PERF_START, "PerfMemory", "_start")                                                    \
	X(JDK_CURRENT, "JDK_Version", "_current")                                                \
	X(VM_MAJOR, "Abstract_VM_Version", "_vm_major_version")                                  \
	X(VM_RELEASE, "Abstract_VM_Version", "_s_vm_release")                                    \
	X(VM_INFO, "Abstract_VM_Version", "_s_internal_vm_info_string")                          \
	X(OPTIONS, "Arguments", "_jvm_args_array")                                               \
	X(NR_OPTIONS, "Arguments", "_num_jvm_args")                                              \
	X(FLAGS_OPTIONS, "Arguments", "_jvm_flags_array")                                        \
	X(NR_FLAGS_OPTIONS, "Arguments", "_num_jvm_flags")                                       \
	X(JAVA_COMMAND, "Arguments", "_java_command")                                            \
	X(FLAGS, "JVMFlag", "flags")                                                             \
	X(NR_FLAGS, "JVMFlag", "numFlags")                                                       \
	X(FLAG_NAME, "JVMFlag", "_name")                                                         \
	X(FLAG_ADDR, "JVMFlag", "_addr")                                                         \
	X(FLAG_ORIGIN, "JVMFlag", "_flags")

/* Alternative names of the same fields, used if the first name is not exported. */
#define JVM_ALIASES(X)                                                           \
	X(ARRAY_LEN, "GenericGrowableArray", "_len")                             \
	X(OOP_MAPS_COUNT, "OopMapSet", "_om_count")                              \
	X(NM_METHOD, "CompiledMethod", "_method")                                \
	X(NM_DEOPT_OFFSET, "nmethod", "_deopt_handler_offset")                   \
	X(NM_DEOPT_OFFSET, "nmethod", "_deoptimize_offset")                      \
	X(NM_DEOPT_MH_OFFSET, "nmethod", "_deoptimize_mh_offset")                \
	X(CM_FLAGS, "ConstMethod", "_flags")                                     \
	X(SYMBOL_BODY, "Symbol", "_body[0]")                                     \
	X(THREAD_CLASS, "SystemDictionary",                                      \
	  "_well_known_klasses[SystemDictionary::Thread_klass_knum]")            \
	X(STRING_CLASS, "SystemDictionary",                                      \
	  "_well_known_klasses[SystemDictionary::String_klass_knum]")            \
	X(NARROW_OOP_BASE, "CompressedOops", "_narrow_oop._base")                \
	X(NARROW_OOP_SHIFT, "CompressedOops", "_narrow_oop._shift")              \
	X(NARROW_OOP_BASE, "Universe", "_narrow_oop._base")                      \
	X(NARROW_OOP_SHIFT, "Universe", "_narrow_oop._shift")                    \
	X(NARROW_KLASS_BASE, "CompressedKlassPointers", "_narrow_klass._base")   \
	X(NARROW_KLASS_SHIFT, "CompressedKlassPointers", "_narrow_klass._shift") \
	X(THREAD_OSTHREAD, "Thread", "_osthread")                                \
	X(THREAD_STACK_BASE, "Thread", "_stack_base")                            \
	X(THREAD_ENTERS, "Thread", "_current_pending_monitor")                   \
	X(THREAD_STACK_SIZE, "Thread", "_stack_size")                            \
	X(FLAGS, "Flag", "flags")                                                \
	X(NR_FLAGS, "Flag", "numFlags")                                          \
	X(FLAG_NAME, "Flag", "_name")                                            \
	X(FLAG_ADDR, "Flag", "_addr")

enum jvm_slot {
#define X(slot, type, field) slot,
	JVM_FIELDS(X)
#undef X
	NR_JVM_SLOTS
};

/* X(slot, type): sizes of types */
#define JVM_SIZES(X)                        \
	X(SIZE_HEAP_BLOCK, "HeapBlock")     \
	X(SIZE_CONST_METHOD, "ConstMethod") \
	X(SIZE_POOL, "ConstantPool")        \
	X(SIZE_PC_DESC, "PcDesc")           \
	X(SIZE_FLAG, "JVMFlag")             \
	X(SIZE_FLAG_8, "Flag")

enum jvm_size {
#define X(slot, type) slot,
	JVM_SIZES(X)
#undef X
	NR_JVM_SIZES
};

/* X(name): the JVM flags of type bool that are read */
#define JVM_FLAGS(X)                    \
	X(PreserveFramePointer)         \
	X(DebugNonSafepoints)           \
	X(ReduceSignalUsage)            \
	X(DisableAttachMechanism)       \
	X(StartAttachListener)          \
	X(EnableDynamicAgentLoading)    \
	X(TieredCompilation)            \
	X(SegmentedCodeCache)           \
	X(UseSerialGC)                  \
	X(UseParallelGC)                \
	X(UseParallelOldGC)             \
	X(UseConcMarkSweepGC)           \
	X(UseG1GC)                      \
	X(UseZGC)                       \
	X(UseShenandoahGC)              \
	X(UseEpsilonGC)                 \
	X(ZGenerational)                \
	X(UseCompressedOops)            \
	X(UseCompressedClassPointers)   \
	X(UseCompactObjectHeaders)      \
	X(UseJVMCICompiler)             \
	X(DumpSharedSpaces)             \
	X(DynamicDumpSharedSpaces)      \
	X(DTraceAllocProbes)            \
	X(DTraceMonitorProbes)          \
	X(DTraceMethodProbes)           \
	X(AlwaysRecordEvolDependencies) \
	X(AllowEnhancedClassRedefinition)

enum jvm_flag {
#define X(name) JVM_FLAG_##name,
	JVM_FLAGS(X)
#undef X
	NR_JVM_FLAGS
};

#define JVM_NR_KINDS 32

/* A field: `at` is its offset, or for a static one its address relative to the load bias. */
struct jvm_field {
	u64 at;
	u8 width; /* bytes; 0: not exported */
	bool is_signed;
};

struct jvm_build {
	struct jvm_field fields[NR_JVM_SLOTS];
	u32 sizes[NR_JVM_SIZES]; /* 0: not exported */
	u64 flags[NR_JVM_FLAGS]; /* address relative to the load bias, 0: no such flag */
	/* address of the flag's origin, relative to the load bias; 0: unknown */
	u64 flag_origins[NR_JVM_FLAGS];
	u8 kinds[JVM_NR_KINDS]; /* enum hotspot_class by CodeBlobKind */
	u32 has_line_table;     /* bit mask in ConstMethod's flags */
	u32 nr_fields;          /* in the tables */
	bool is_cut;            /* the tables could not be read to the end */
};

/*
 * The tables in which libjvm describes its own types: gHotSpotVMStructs, -Types, -IntConstants and
 * -LongConstants (src/hotspot/share/runtime/vmStructs.hpp). They are read from a running process,
 * because they contain relocated pointers.
 */
struct vmstructs;

/*
 * -ENOENT if the image has no such tables, -EAGAIN if they are not relocated yet, -EBADMSG if they
 * describe themselves implausibly. Tables that cannot be read to the end are used as far as
 * possible: jvm_build.is_cut. The caller owns *out.
 */
int vmstructs_read(struct mem *m, const struct image *img, struct vmstructs **out);
void vmstructs_free(struct vmstructs *v);

/* Fills in everything but `flags` and `flag_origins`. */
void jvm_build_of_tables(const struct vmstructs *tables, u64 bias, struct jvm_build *out);

static inline bool vm_has(const struct jvm_build *b, enum jvm_slot slot)
{
	return b->fields[slot].width != 0;
}

/* The value of a field in `len` bytes of an object; 0 if missing or outside. */
s64 jvm_get(const struct jvm_build *b, enum jvm_slot slot, const void *object, size_t len);

/* "CodeBlob::_name is not exported", with the first name of the slot. */
const char *jvm_slot_missing(enum jvm_slot slot);
const char *jvm_flag_name(enum jvm_flag flag);
