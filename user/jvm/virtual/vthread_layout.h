/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JDK's classes of virtual threads in one JVM: their addresses, and the offsets of their
 * fields, all found by name. Private to user/jvm.
 *
 * Sources: as for hotspot/virtual_threads.h and java_locks.h.
 */
#pragma once

#include "jvm/memory/boot_classes.h"
#include "jvm/memory/java_locks.h"
#include "virtual_abi.h"

/* X(slot, name): classes of the JDK. */
#define CLASSES(X)                                                                         \
	X(OF_VIRTUAL, "java/lang/VirtualThread")                                           \
	X(OF_THREAD, "java/lang/Thread")                                                   \
	X(OF_STRING, "java/lang/String")                                                   \
	X(OF_CONTINUATION, "jdk/internal/vm/Continuation")                                 \
	X(OF_CHUNK, "jdk/internal/vm/StackChunk")                                          \
	X(OF_CONTAINERS, "jdk/internal/vm/ThreadContainers")                               \
	X(OF_VIEW, "java/util/concurrent/ConcurrentHashMap$CollectionView")                \
	X(OF_MAP, "java/util/concurrent/ConcurrentHashMap")                                \
	X(OF_NODE, "java/util/concurrent/ConcurrentHashMap$Node")                          \
	X(OF_REFERENCE, "java/lang/ref/Reference")                                         \
	/* The others may never be loaded. */                                              \
	X(OF_ROOT, "jdk/internal/vm/ThreadContainers$RootContainer$TrackingRootContainer") \
	X(OF_TREE, "java/util/concurrent/ConcurrentHashMap$TreeBin")                       \
	X(OF_MOVED, "java/util/concurrent/ConcurrentHashMap$ForwardingNode")               \
	X(OF_EXECUTOR, "java/util/concurrent/ThreadPerTaskExecutor")                       \
	X(OF_SHARED, "jdk/internal/vm/SharedThreadContainer")                              \
	X(OF_SCOPE, "jdk/internal/vm/StackableScope")                                      \
	X(OF_FLOCK, "jdk/internal/misc/ThreadFlock")                                       \
	X(OF_FLOCK_CONTAINER, "jdk/internal/misc/ThreadFlock$ThreadContainerImpl")         \
	X(OF_CLASS, "java/lang/Class")                                                     \
	X(OF_SYNCHRONIZER, "java/util/concurrent/locks/AbstractOwnableSynchronizer")       \
	X(OF_STAMPED, "java/util/concurrent/locks/StampedLock")

enum vthread_class {
#define X(slot, name) slot,
	CLASSES(X)
#undef X
	NR_CLASSES,
	NR_NEEDED = OF_ROOT,
};

/* X(slot, class, field) */
#define FIELDS(X)                                          \
	X(VIRTUAL_STATE, OF_VIRTUAL, "state")              \
	X(VIRTUAL_CONT, OF_VIRTUAL, "cont")                \
	X(VIRTUAL_CARRIER, OF_VIRTUAL, "carrierThread")    \
	X(THREAD_NAME, OF_THREAD, "name")                  \
	X(THREAD_ID, OF_THREAD, "tid")                     \
	X(THREAD_BLOCKER, OF_THREAD, "parkBlocker")        \
	X(THREAD_SCOPES, OF_THREAD, "headStackableScopes") \
	X(STRING_VALUE, OF_STRING, "value")                \
	X(STRING_CODER, OF_STRING, "coder")                \
	X(CONT_TAIL, OF_CONTINUATION, "tail")              \
	X(CHUNK_PARENT, OF_CHUNK, "parent")                \
	X(CHUNK_SIZE, OF_CHUNK, "size")                    \
	X(CHUNK_SP, OF_CHUNK, "sp")                        \
	X(REGISTRY, OF_CONTAINERS, "CONTAINER_REGISTRY")   \
	X(TRACKS, OF_CONTAINERS, "TRACK_ALL_THREADS")      \
	X(VIEW_MAP, OF_VIEW, "map")                        \
	X(MAP_TABLE, OF_MAP, "table")                      \
	X(NODE_HASH, OF_NODE, "hash")                      \
	X(NODE_KEY, OF_NODE, "key")                        \
	X(NODE_NEXT, OF_NODE, "next")                      \
	X(REFERENT, OF_REFERENCE, "referent")              \
	X(ROOT_THREADS, OF_ROOT, "VTHREADS")               \
	X(TREE_FIRST, OF_TREE, "first")                    \
	X(MOVED_TABLE, OF_MOVED, "nextTable")              \
	X(EXECUTOR_THREADS, OF_EXECUTOR, "threads")        \
	X(SHARED_NAME, OF_SHARED, "name")                  \
	X(SHARED_THREADS, OF_SHARED, "virtualThreads")     \
	X(SCOPE_PREVIOUS, OF_SCOPE, "previous")            \
	X(FLOCK_NAME, OF_FLOCK, "name")                    \
	X(FLOCK_THREADS, OF_FLOCK, "threads")              \
	X(CONTAINER_FLOCK, OF_FLOCK_CONTAINER, "flock")    \
	X(LOCK_OWNER, OF_SYNCHRONIZER, "exclusiveOwnerThread")

enum vthread_field {
#define X(slot, class, name) F_##slot,
	FIELDS(X)
#undef X
	NR_FIELDS,
};

#define VTHREAD_STATES 128

/* A constant of VirtualThread, by name: the numbers differ between JDKs. */
struct vthread_state {
	const char *name;
	u8 meaning; /* the caller's number; not 0 */
};

/* {0} at first. */
struct vthread_layout {
	struct java_objects objects;
	struct boot_search search;
	u64 search_ns; /* time of the next search */
	struct boot_class classes[NR_CLASSES];
	bool has_fields[NR_CLASSES];
	u32 fields[NR_FIELDS];              /* 0: missing, or its class is not loaded */
	u32 chunk_end;                      /* StackChunk.bottom (22+) */
	u32 chunk_arguments;                /* StackChunk.argsize (21); both in words */
	u32 chunk_stack;                    /* from a StackChunk to its first word, in bytes */
	u32 waiters[LOCK_WAITERS];          /* fields that may be VirtualThread.objectWaiter */
	u64 root_handle, containers_handle; /* addresses of the references to these mirrors */
	u8 states[VTHREAD_STATES];          /* meanings; 0: another state */
	u32 suspended;                      /* bit of a state */
	bool is_ready, has_asked;           /* has_asked: whether all threads are tracked */
	char why[256];                      /* why threads are missing; "" if none are */
};

/*
 * Finds what is missing. Classes that are needed rarely may be found later. Returns 0 if threads
 * can be read; -EAGAIN if not everything is there yet; -ENOENT with `why` if this JDK lacks
 * something; -EFAULT, -ESRCH. `states`: nr_states of them.
 */
int vthread_layout_update(struct vthread_layout *l, const struct vm_memory *j,
			  const struct vthread_state *states, size_t nr_states);
void vthread_layout_fini(struct vthread_layout *l);

/* The value that an object's header has if it is of this class. */
u64 vthread_class_value(const struct vthread_layout *l, enum vthread_class class);

/* How many bytes of a VirtualThread hold all fields that are read. */
u32 vthread_bytes(const struct vthread_layout *l);

/* The parts of the layout that others need; for BPF all but the process, its
 * slots, and `metadata`. */
void vthread_place(const struct vthread_layout *l, struct virtual_place *out);
struct set_fields vthread_sets(const struct vthread_layout *l);
struct lock_layout vthread_locks(const struct vthread_layout *l);
struct string_fields vthread_strings(const struct vthread_layout *l);

/*
 * The sets in which a JVM keeps its virtual threads (thread_containers.c).
 *
 *	ThreadContainers$..TrackingRootContainer.VTHREADS   threads that were started directly
 *	ThreadContainers.CONTAINER_REGISTRY                 executors, each with a set of its own
 *	Thread.headStackableScopes -> StackableScope.previous -> ..  scopes that a thread has
 *opened: ThreadFlock$ThreadContainerImpl.flock -> ThreadFlock.threads  threads of a
 *StructuredTaskScope
 *
 * Sources: OpenJDK src/java.base/share/classes jdk/internal/vm/{ThreadContainers,
 * SharedThreadContainer,StackableScope}.java, jdk/internal/misc/ThreadFlock.java,
 * java/util/concurrent/ThreadPerTaskExecutor.java.
 */

/* A set of threads. */
struct thread_set {
	struct java_table table;
	double share; /* the number of sets that it stands for */
	/* The container: a name as in the JVM, NULL for the root; the String of its own name, or 0
	 */
	const char *container;
	u64 name;
};

typedef VEC(struct thread_set) thread_set_list;

/*
 * Appends the sets of the root container and of registered ones, some of them if there are very
 * many. Returns 0, -EFAULT or -ESRCH. *nr_left_out grows by the number of objects that were not
 * followed.
 */
int thread_sets_list(const struct vm_memory *j, const struct vthread_layout *l,
		     thread_set_list *out, u64 *nr_left_out);

/*
 * Chooses slots of all tables, about as many as hold `most` threads if a slot holds `per_slot`.
 * *out, for the caller to free, has them; their `owner` is the number of the set.
 */
struct slot_choice thread_sets_choose(const thread_set_list *sets, u32 most, double per_slot,
				      struct set_slot **out);

/*
 * Moves the wanted sets from `sets` to *found, which gets one for each wanted one; those whose
 * table is not among `sets` get table 0.
 */
void thread_sets_take(const thread_set_list *wanted, thread_set_list *sets, thread_set_list *found);

/* The innermost scope of a thread. */
struct scope_head {
	u64 scope;    /* address of the StackableScope; 0: none */
	double share; /* the number of threads that this one stands for */
};

/* Whether the JVM has scopes with threads. */
bool thread_scopes_exist(const struct vthread_layout *l);

/* Appends the sets of all scopes of these threads, as thread_sets_list does. */
int thread_scopes_list(const struct vm_memory *j, const struct vthread_layout *l,
		       const struct scope_head *heads, size_t nr, thread_set_list *out,
		       u64 *nr_left_out);
