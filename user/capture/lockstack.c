/* SPDX-License-Identifier: Apache-2.0 */
/* What a Java thread parked for, by its stack. */
#include "capture/lockstack.h"

#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"

#define LOCKS "java.util.concurrent.locks."

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* Libjvm, the native method, and LockSupport. */
static bool is_parking(const struct frame *f)
{
	const char *dot = strrchr(f->name, '.');

	return f->kind == FRAME_JVM || f->kind == FRAME_NATIVE || f->kind == FRAME_KERNEL ||
	       (dot && !strcmp(dot, ".park")) || begins(f->name, LOCKS "LockSupport.");
}

static bool is_synchronizer(const char *name)
{
	return begins(name, LOCKS "AbstractQueuedSynchronizer") ||
	       begins(name, LOCKS "AbstractQueuedLongSynchronizer");
}

/* "java.util.concurrent.locks.ReentrantLock$Sync.lock" is a ReentrantLock's. */
static frame_id class_of(struct symbolizer *s, const char *method)
{
	const char *dot = strrchr(method, '.');
	size_t len = strcspn(method, "$");
	auto_free char *class = xstrndup(
		method, dot && (size_t)(dot - method) < len ? (size_t)(dot - method) : len);

	return symbolizer_class(s, class);
}

bool lockstack_name(struct symbolizer *s, const struct frames *all, frame_list *frames)
{
	size_t at = 1;

	if (!frames->nr || strcmp(frames_get(all, frames->at[0])->name, SYMBOLIZE_PARKED))
		return true;
	while (at < frames->nr && is_parking(frames_get(all, frames->at[at])))
		at++;
	const char *waits = at < frames->nr ? frames_get(all, frames->at[at])->name : "";
	bool is_stamped = begins(waits, LOCKS "StampedLock");
	/* A condition is waited for, no lock; to get its lock back it calls a synchronizer. */
	if (!is_stamped && (!is_synchronizer(waits) || strstr(waits, "$ConditionObject.")))
		return false;
	while (at < frames->nr && is_synchronizer(frames_get(all, frames->at[at])->name))
		at++;
	const char *lock = at < frames->nr ? frames_get(all, frames->at[at])->name : waits;
	if (begins(lock, "java.util.concurrent.CountDownLatch"))
		return false;
	if (strstr(frames_get(all, frames->at[at - 1])->name, "$ConditionObject."))
		lock = LOCKS "AbstractQueuedSynchronizer.";
	frames->at[0] = class_of(s, lock);
	memmove(frames->at + 1, frames->at + at, (frames->nr - at) * sizeof(frames->at[0]));
	frames->nr -= at - 1;
	return true;
}
