/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the lock that a Java thread waits for, by the thread's stack. */
#include "capture/stacks/lockstack.h"

#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"

#define LOCKS "java.util.concurrent.locks."

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static const char *name_at(const struct frames *all, const frame_list *frames, size_t at)
{
	return at < frames->nr ? frames_get(all, frames->at[at])->name : "";
}

/*
 * The kernel, libc, libjvm and its stubs, which have no class. Wrappers of native methods are Java.
 */
static bool is_below_java(const struct frame *f)
{
	return f->kind == FRAME_KERNEL || f->kind == FRAME_NATIVE || f->kind == FRAME_JVM ||
	       (f->kind == FRAME_STUB && !strchr(f->name, '.'));
}

/* sun.misc.Unsafe before JDK 9. */
static bool is_parked(const char *method)
{
	return !strcmp(method, "jdk.internal.misc.Unsafe.park") ||
	       !strcmp(method, "sun.misc.Unsafe.park");
}

/* Unsafe.park, LockSupport.parkNanos, VirtualThread.parkOnCarrierThread .. */
static bool is_parking(const char *name)
{
	const char *dot = strrchr(name, '.');

	return (dot && begins(dot, ".park")) || begins(name, LOCKS "LockSupport.");
}

/* How a virtual thread leaves its carrier. */
static bool is_yielding(const char *name)
{
	return begins(name, "jdk.internal.vm.Continuation.") ||
	       begins(name, "java.lang.VirtualThread.");
}

static bool is_synchronizer(const char *name)
{
	return begins(name, LOCKS "AbstractQueuedSynchronizer") ||
	       begins(name, LOCKS "AbstractQueuedLongSynchronizer");
}

/*
 * ObjectMonitor::enter and its callees, by the names of JDK 8 to 28. From JDK 27 on a notified
 * thread enters by the same function, which still belongs to its Object.wait.
 */
static bool is_for_monitor(const struct frames *all, const frame_list *frames, size_t nr)
{
	bool enters = false;

	for (size_t i = 0; i < nr; i++) {
		const char *name = name_at(all, frames, i);
		if (begins(name, "ObjectMonitor::wait"))
			return false;
		enters |= begins(name, "ObjectMonitor::enter") ||
			  begins(name, "ObjectMonitor::EnterI");
	}
	return enters;
}

/*
 * The lock's class: "java.util.concurrent.locks.ReentrantLock$Sync.lock" belongs to ReentrantLock.
 */
static frame_id class_of(struct symbolizer *s, const char *method)
{
	const char *dot = strrchr(method, '.');
	size_t len = strcspn(method, "$");
	auto_free char *class = xstrndup(
		method, dot && (size_t)(dot - method) < len ? (size_t)(dot - method) : len);

	return symbolizer_class(s, class);
}

/* "java.util.concurrent.locks.ReentrantLock$NonfairSync" belongs to ReentrantLock, too. */
static frame_id outer_class(struct symbolizer *s, const char *class)
{
	auto_free char *outer = xstrndup(class, strcspn(class, "$"));

	return symbolizer_class(s, outer);
}

/* Replaces the first `nr` frames by the class. */
static void put_leaf(frame_list *frames, size_t nr, frame_id class)
{
	memmove(frames->at + 1, frames->at + nr, (frames->nr - nr) * sizeof(frames->at[0]));
	frames->at[0] = class;
	frames->nr -= nr - 1;
}

/* `at` is the index of the first frame that is not part of parking. */
static enum lockstack name_lock(struct symbolizer *s, const struct frames *all, frame_list *frames,
				size_t at, const char *class)
{
	const char *waits = name_at(all, frames, at);
	bool is_stamped = begins(waits, LOCKS "StampedLock");

	/*
	 * A thread in the frames of a condition waits for the condition, not for a lock. To get its
	 * lock back, it calls a synchronizer.
	 */
	if (!is_stamped && (!is_synchronizer(waits) || strstr(waits, "$Condition")))
		return LOCKSTACK_NONE;
	while (is_synchronizer(name_at(all, frames, at)))
		at++;
	const char *lock = at < frames->nr ? name_at(all, frames, at) : waits;
	if (begins(lock, "java.util.concurrent.CountDownLatch"))
		return LOCKSTACK_NONE;
	if (strstr(name_at(all, frames, at - 1), "$ConditionObject."))
		lock = LOCKS "AbstractQueuedSynchronizer.";
	put_leaf(frames, at, class ? outer_class(s, class) : class_of(s, lock));
	return LOCKSTACK_LOCK;
}

enum lockstack lockstack_name(struct symbolizer *s, const struct frames *all, frame_list *frames,
			      const char *class)
{
	size_t at = 0;

	while (at < frames->nr && is_below_java(frames_get(all, frames->at[at])))
		at++;
	bool is_virtual = is_yielding(name_at(all, frames, at));
	while (is_yielding(name_at(all, frames, at)))
		at++;
	if (is_virtual || is_parked(name_at(all, frames, at))) {
		while (is_parking(name_at(all, frames, at)))
			at++;
		return name_lock(s, all, frames, at, class);
	}
	if (!is_for_monitor(all, frames, at))
		return LOCKSTACK_NONE;
	put_leaf(frames, at, symbolizer_class(s, "[monitor]"));
	return LOCKSTACK_MONITOR;
}

bool lockstack_name_monitor(struct symbolizer *s, const struct frames *all, frame_list *frames,
			    const char *class)
{
	frame_id leaf = symbolizer_class(s, class ?: "[monitor]");
	size_t at = 0;

	while (at < frames->nr && is_below_java(frames_get(all, frames->at[at])))
		at++;
	if (at == frames->nr)
		return false;
	if (at) {
		put_leaf(frames, at, leaf);
		return true;
	}
	vec_push(frames, leaf);
	memmove(frames->at + 1, frames->at, (frames->nr - 1) * sizeof(frames->at[0]));
	frames->at[0] = leaf;
	return true;
}
