/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's end of an agent's ring. */
#include "jvm/agent/agent_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "base/time.h"
#include "jvm/agent/agent_wire.h"
#include "jvmmap/wire.h"
#include "jvmmap/wire_records.h"

#define MAP_BYTES   (WIRE_HEADER_BYTES + WIRE_RING_BYTES)
#define CHUNK_BYTES (64u << 10)
#define READ_NS     (20 * NS_PER_MS)
#define PAGE_BYTES  4096u

#define JNI_EDETACHED (-2) /* the VM's error until it has started completely (jni_GetEnv) */

#define JVMTI_INVALID_CLASS    21
#define JVMTI_INVALID_METHODID 23
#define JVMTI_NOT_AVAILABLE    98

struct agent_ring {
	struct wire_header *header;
	const u8 *records;
	int fd;
	u64 tail;      /* our copy: the header can change at any time */
	u64 published; /* the value of `tail` that the agent sees; a whole number of pages */
	u64 read_until_ns;
	u64 max_ns; /* of a read */
	bool is_broken;
	struct agent_wire wire;
	u8 chunk[CHUNK_BYTES]; /* a copy that cannot change after it was checked */
};

/* If a mapped file could shrink, an access would kill us with SIGBUS. */
static bool is_sealed_memfd(int fd)
{
	const int needed = F_SEAL_SHRINK | F_SEAL_GROW;
	struct statfs fs;
	struct stat st;

	return fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC && fstat(fd, &st) == 0 &&
	       st.st_size == MAP_BYTES && (fcntl(fd, F_GET_SEALS) & needed) == needed;
}

static bool is_ours(const struct wire_header *h, const char *nonce)
{
	struct wire_header copy = *h;

	return copy.magic == WIRE_MAGIC && copy.abi == WIRE_ABI &&
	       copy.ring_bytes == WIRE_RING_BYTES && !memcmp(copy.nonce, nonce, WIRE_NONCE_LEN + 1);
}

int agent_ring_open(int fd, const char *nonce, s64 clock_off_ns, struct codemap *map,
		    struct agent_ring **out)
{
	auto_close int own = fd;

	if (strlen(nonce) != WIRE_NONCE_LEN || !is_sealed_memfd(own))
		return -EBADMSG;
	void *at = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
	if (at == MAP_FAILED)
		return -errno;
	/* A child of ours would keep the lock of memfds_claim after our end. */
	madvise(at, MAP_BYTES, MADV_DONTFORK);
	if (!is_ours(at, nonce)) {
		munmap(at, MAP_BYTES);
		return -EBADMSG;
	}
	struct agent_ring *r = xcalloc(1, sizeof(*r));
	r->header = at;
	r->records = (const u8 *)at + WIRE_HEADER_BYTES;
	r->fd = take_fd(own);
	r->max_ns = READ_NS;
	agent_wire_init(&r->wire, map, clock_off_ns);
	*out = r;
	return 0;
}

void agent_ring_report_threads(struct agent_ring *r, struct thread_names *to)
{
	r->wire.threads = to;
}

void agent_ring_close(struct agent_ring *r)
{
	if (!r)
		return;
	munmap(r->header, MAP_BYTES);
	close(r->fd);
	agent_wire_fini(&r->wire);
	free(r);
}

/*
 * Releases the pages that were read: first to the kernel, which stops charging the JVM for them,
 * then to the agent, which may write there at once.
 */
static void release_pages(struct agent_ring *r)
{
	u64 whole = r->tail / PAGE_BYTES * PAGE_BYTES;

	if (whole - r->published < CHUNK_BYTES)
		return;
	while (r->published < whole) {
		u64 off = r->published % WIRE_RING_BYTES, len = whole - r->published;
		if (len > WIRE_RING_BYTES - off)
			len = WIRE_RING_BYTES - off;
		fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)(WIRE_HEADER_BYTES + off), (off_t)len);
		r->published += len;
	}
	__atomic_store_n(&r->header->tail, r->published, __ATOMIC_RELEASE);
}

static size_t copy_chunk(struct agent_ring *r, u64 available)
{
	size_t len = available < CHUNK_BYTES ? (size_t)available : CHUNK_BYTES;
	size_t off = r->tail % WIRE_RING_BYTES, first = WIRE_RING_BYTES - off;

	if (first > len)
		first = len;
	memcpy(r->chunk, r->records + off, first);
	memcpy(r->chunk + first, r->records, len - first);
	return len;
}

/* Reads one chunk of records. Returns whether there may be more. */
static bool read_chunk(struct agent_ring *r)
{
	u64 head = __atomic_load_n(&r->header->head, __ATOMIC_ACQUIRE), available = head - r->tail;

	if (available > WIRE_RING_BYTES) {
		r->is_broken = true;
		return false;
	}
	size_t len = copy_chunk(r, available);
	ssize_t used = agent_wire_decode(&r->wire, r->chunk, len);
	/*
	 * The agent publishes only complete records, each of which fits into a chunk. Decoding
	 * always reads one.
	 */
	if (used < 0 || (!used && len)) {
		r->is_broken = true;
		return false;
	}
	r->tail += (u64)used;
	release_pages(r);
	return len == CHUNK_BYTES || (size_t)used < len;
}

enum agent_ring_state agent_ring_read(struct agent_ring *r)
{
	bool has_more = !r->is_broken;
	u64 now_ns = time_mono_ns(), head = __atomic_load_n(&r->header->head, __ATOMIC_ACQUIRE);
	/* Read the state before the records: after "stopped" no more records follow. */
	u32 state = __atomic_load_n(&r->header->state, __ATOMIC_ACQUIRE);

	__atomic_store_n(&r->header->heartbeat, r->header->heartbeat + 1, __ATOMIC_RELAXED);
	r->wire.deadline_ns = now_ns + r->max_ns;
	while (has_more) {
		has_more = read_chunk(r);
		if (time_mono_ns() >= r->wire.deadline_ns)
			break;
	}
	if (r->is_broken)
		return RING_BROKEN;
	if (r->tail >= head)
		r->read_until_ns = now_ns;
	switch (state) {
	case WIRE_STARTING:
		return RING_STARTING;
	case WIRE_LIVE:
		return RING_LIVE;
	case WIRE_FAILED:
		return RING_FAILED;
	case WIRE_STOPPED:
		return has_more ? RING_LIVE : RING_STOPPED;
	}
	return RING_BROKEN;
}

size_t agent_ring_held_bytes(const struct agent_ring *r)
{
	return sizeof(*r) + agent_wire_bytes(&r->wire);
}

u64 agent_ring_nr_left_out(const struct agent_ring *r)
{
	return r->wire.nr_left_out;
}

void agent_ring_limit(struct agent_ring *r, u64 max_ns, u64 max_bytes)
{
	u64 fixed_bytes = agent_ring_held_bytes(r) - r->wire.string_bytes;

	r->max_ns = max_ns < READ_NS ? max_ns : READ_NS;
	r->wire.max_string_bytes = max_bytes > fixed_bytes ? max_bytes - fixed_bytes : 0;
}

void agent_ring_stop(struct agent_ring *r)
{
	__atomic_store_n(&r->header->stop, 1, __ATOMIC_RELAXED);
}

bool agent_ring_is_dirty(const struct agent_ring *r)
{
	return r->wire.is_dirty;
}

bool agent_ring_is_drained(const struct agent_ring *r)
{
	return __atomic_load_n(&r->header->head, __ATOMIC_ACQUIRE) == r->tail;
}

u64 agent_ring_read_until(const struct agent_ring *r)
{
	return r->read_until_ns;
}

u64 agent_ring_nr_lost(const struct agent_ring *r)
{
	return r->wire.nr_lost;
}

u64 agent_ring_bytes(const struct agent_ring *r)
{
	return r->tail;
}

char *agent_ring_failure(const struct agent_ring *r)
{
	static const char *const steps[] = {
		[WIRE_STEP_GET_ENV] = "the JVM gave it no JVMTI environment",
		[WIRE_STEP_CAPABILITY] = "the JVM refused it the events of compiled methods",
		[WIRE_STEP_CALLBACKS] = "the JVM did not take its callbacks",
		[WIRE_STEP_ENABLE] = "the JVM did not turn its events on",
		[WIRE_STEP_REPLAY] = "the JVM did not report its compiled code",
	};
	u32 step = r->header->failed_step;
	const char *what = step < ARRAY_SIZE(steps) && steps[step] ? steps[step] : "unknown step";

	return xasprintf("%s (error %d)", what, r->header->error);
}

bool agent_ring_was_early(const struct agent_ring *r)
{
	return r->header->failed_step == WIRE_STEP_GET_ENV && r->header->error == JNI_EDETACHED;
}

/* The state of that method, 0 if it has not failed. */
static s32 failure_of(const struct agent_ring *r, u32 number)
{
	for (size_t i = 0; i < WIRE_METHODS; i++) {
		const struct wire_method_failure *f = &r->header->method_failures[i];
		if (__atomic_load_n(&f->number, __ATOMIC_ACQUIRE) == number)
			return __atomic_load_n(&f->state, __ATOMIC_RELAXED);
	}
	return 0;
}

/* The hook's state from the header. For calls it is the first failure among `methods`. */
static s32 hook_state(const struct agent_ring *r, size_t hook, const char *methods)
{
	s32 all = __atomic_load_n(&r->header->hook_states[hook], __ATOMIC_ACQUIRE), state = 0;

	if (hook != WIRE_HOOK_METHOD || all >= 0 || !r->header->names_failures)
		return all;
	while (*methods && state >= 0) {
		size_t len = strcspn(methods, ",");
		state = failure_of(r, wire_method_number(methods, len));
		methods += len + (methods[len] == ',');
	}
	return state;
}

u32 agent_ring_failed_hooks(const struct agent_ring *r, const char *methods)
{
	u32 failed = 0;

	for (u32 i = 0; i < WIRE_HOOKS; i++)
		if (hook_state(r, i, methods) < 0)
			failed |= 1u << i;
	return failed;
}

/* The JVM may write the name while it is copied. */
static char *running_failure(const struct agent_ring *r)
{
	char name[WIRE_RUNNING_MAX + 1] = { 0 };
	auto_str struct str out = { 0 };

	memcpy(name, r->header->running, WIRE_RUNNING_MAX);
	for (char *c = name; *c; c++)
		*c = *c == '/' ? '.' : *c;
	utf8_clean(&out, name, WIRE_RUNNING_MAX);
	str_add(&out, " runs a loop, which the JVM would interpret for good after a change of its "
		      "class; record when the loop has ended, or a method of another class");
	return take(out.at);
}

char *agent_ring_hook_failure(const struct agent_ring *r, u32 hooks, const char *methods)
{
	static const char *const events[] = {
		[WIRE_HOOK_ALLOC] = "allocations",
		[WIRE_HOOK_LOCK] = "waits for monitors",
		[WIRE_HOOK_METHOD] = "calls of methods",
	};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		s32 state = hooks & 1u << i ? hook_state(r, i, methods) : 0;
		if (i == WIRE_HOOK_METHOD && state == -JVMTI_INVALID_CLASS)
			return xstrdup("it has not loaded the class; record when it has");
		if (i == WIRE_HOOK_METHOD && state == -JVMTI_INVALID_METHODID)
			return xstrdup(
				"its class has no such method with code, or the method is too "
				"large for a hook");
		if (i == WIRE_HOOK_METHOD && state == -WIRE_ERROR_RUNNING)
			return running_failure(r);
		if (state == -JVMTI_NOT_AVAILABLE)
			return xasprintf(
				"it does not report %s: it is older than JDK 11, or another agent "
				"has them",
				events[i]);
		if (state < 0)
			return xasprintf("it does not report %s (JVMTI error %d)", events[i],
					 -state);
	}
	return NULL;
}
