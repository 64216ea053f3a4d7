/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks that virtual threads wait for, and their owners. Private to user/jvm.
 *
 *	Thread.parkBlocker -> AbstractOwnableSynchronizer.exclusiveOwnerThread -> Thread
 *	Thread.parkBlocker -> StampedLock, which has no owner
 *	VirtualThread.objectWaiter (injected, JDK 24) -> ObjectWaiter -> ObjectMonitor
 *	  -> _object -> the object
 *	  -> _owner: Thread.threadId(), JavaThread::_monitor_owner_id
 *
 * Sources: OpenJDK src/java.base/share/classes java/util/concurrent/locks/{LockSupport,
 * AbstractOwnableSynchronizer}.java; src/hotspot/share runtime/{objectMonitor,javaThread}.hpp,
 * classfile/javaClasses.hpp.
 */
#pragma once

#include "base/dict.h"
#include "jvm/memory/java_objects.h"

#define LOCK_WAITERS 3 /* injected fields of VirtualThread that may be objectWaiter */

/* Offsets of fields and addresses of classes; 0: unknown, or the class is not loaded. */
struct lock_layout {
	u32 owner;          /* AbstractOwnableSynchronizer.exclusiveOwnerThread */
	u64 synchronizer;   /* Klass * of AbstractOwnableSynchronizer */
	u64 stamped, class; /* Klass * of StampedLock and java.lang.Class */
};

/* Classes of which it is known whether their objects are locks. {0} is empty. */
struct lock_classes {
	struct dict by_klass; /* Klass * -> enum lock_kind */
	u32 nr_new;           /* classes that may still be asked for, see lock_classes_begin */
};

/*
 * Call it before each look. `is_same`: no class was unloaded since the last one; otherwise all are
 * forgotten.
 */
void lock_classes_begin(struct lock_classes *c, bool is_same);
void lock_classes_fini(struct lock_classes *c);

/* A thread that waits, and for what. */
struct lock_wait {
	u64 thread;                /* address of the object; 0: none, nothing is found */
	u64 blocker;               /* of the object in its parkBlocker; 0: none */
	u64 waiters[LOCK_WAITERS]; /* values of the fields that may be objectWaiter; 0: none */
	u64 monitor;               /* the ObjectMonitor if it is known; 0: that of a waiter */
	/* Found: */
	u64 klass;    /* Klass * of the lock, or of the monitor's object; 0: unknown or no lock */
	u64 owner;    /* address of the Thread that has the lock; 0: none or unknown */
	u64 owner_id; /* threadId() of the one that has the monitor; 0: none or unknown */
};

/*
 * Finds the locks. A thread waits for the lock if its state and these fields are the same
 * afterwards. Returns 0 or -ESRCH. *nr_left_out grows by the number of classes that were too many
 * for one look.
 */
int java_locks_read(const struct vm_memory *j, const struct java_objects *o,
		    const struct lock_layout *l, struct lock_classes *classes,
		    struct lock_wait *waits, size_t nr, u64 *nr_left_out);

/* Offsets of fields of java.lang.Thread. */
struct owner_layout {
	u32 name, id;
	u32 name_max; /* bytes */
	struct string_fields strings;
	const struct dict *names;
};

/*
 * The names of the owners, for the caller to free: "VirtualThread-N" for one without a name, NULL
 * if there is none. The owner of a monitor is found among `java_threads`, all JavaThread *, by the
 * thread that each one runs; otherwise it is a virtual thread that is not mounted, and its name
 * may be in `names` (threadId() -> const char *). Returns 0 or -ESRCH; every out[i] is then NULL.
 */
int java_owners_read(const struct vm_memory *j, const struct java_objects *o,
		     const struct owner_layout *l, const u64 *java_threads, size_t nr_java_threads,
		     const struct lock_wait *waits, size_t nr, char **out);
