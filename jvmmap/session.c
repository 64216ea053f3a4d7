/* SPDX-License-Identifier: Apache-2.0 */
/* A reader's session: writes records to its ring. */
#include "jvmmap/session.h"

#include "jvmmap/sys.h"

#define MAP_BYTES   (WIRE_HEADER_BYTES + 2ul * WIRE_RING_BYTES)
#define NUMBER_MAX  10 /* bytes of a varint of 64 bits */
#define NUMBERS_MAX 4  /* per record */
#define LOOK_NS     1000000000ull
/* Room in the ring that only classes may use: a sample gets the name of its class in no other way.
 */
#define CLASS_BYTES (256u << 10)

static int map_ring(struct session *s)
{
	char *at = sys_map(NULL, MAP_BYTES, -1, 0);

	if (!at)
		return 0;
	if (!sys_map(at, WIRE_HEADER_BYTES + WIRE_RING_BYTES, s->fd, 0) ||
	    !sys_map(at + WIRE_HEADER_BYTES + WIRE_RING_BYTES, WIRE_RING_BYTES, s->fd,
		     WIRE_HEADER_BYTES) ||
	    sys_dont_fork(at, MAP_BYTES)) {
		sys_unmap(at, MAP_BYTES);
		return 0;
	}
	s->header = (struct wire_header *)at;
	s->ring = (uint8_t *)at + WIRE_HEADER_BYTES;
	return 1;
}

static void write_header(struct session *s)
{
	struct wire_header *h = s->header;

	h->abi = WIRE_ABI;
	h->ring_bytes = WIRE_RING_BYTES;
	h->pid = (uint32_t)s->pid;
	memcpy(h->nonce, s->nonce, sizeof(s->nonce));
	h->start_ns = s->heartbeat_ns;
	__atomic_store_n(&h->magic, WIRE_MAGIC, __ATOMIC_RELEASE);
}

struct session *session_open(const char *nonce)
{
	char name[sizeof(WIRE_NAME_PREFIX) + WIRE_NONCE_LEN];
	struct session *s = sys_map(NULL, sizeof(*s), -1, 0);

	if (!s)
		return NULL;
	memcpy(s->nonce, nonce, sizeof(s->nonce));
	memcpy(name, WIRE_NAME_PREFIX, sizeof(WIRE_NAME_PREFIX) - 1);
	memcpy(name + sizeof(WIRE_NAME_PREFIX) - 1, s->nonce, sizeof(s->nonce));
	s->fd = (int)sys_memfd_create(name);
	if (s->fd >= 0 && sys_fix_size(s->fd, WIRE_HEADER_BYTES + WIRE_RING_BYTES) == 0 &&
	    map_ring(s)) {
		s->pid = sys_getpid();
		s->heartbeat_ns = sys_mono_ns();
		write_header(s);
		return s;
	}
	if (s->fd >= 0)
		sys_close(s->fd);
	sys_unmap(s, sizeof(*s));
	return NULL;
}

void session_close(struct session *s)
{
	__atomic_store_n(&s->header->state, WIRE_STOPPED, __ATOMIC_RELEASE);
	sys_unmap(s->header, MAP_BYTES);
	sys_close(s->fd);
	sys_unmap(s, sizeof(*s));
}

static int has_lock(const struct session *s)
{
	return __atomic_load_n(&s->header->has_lock, __ATOMIC_ACQUIRE) != 0;
}

/* Whether the kernel has released the reader's lock, whoever ended the reader and how. */
static int has_died(struct session *s, uint64_t now_ns)
{
	if (!s->is_dead && has_lock(s) && now_ns - s->looked_ns >= LOOK_NS) {
		s->looked_ns = now_ns;
		s->is_dead = !sys_is_locked(s->fd);
	}
	return s->is_dead;
}

int session_is_wanted(struct session *s, uint64_t now_ns)
{
	/*
	 * A fork of the JVM does not have the ring mapped: code after this line must not run there.
	 */
	if (sys_getpid() != s->pid)
		return 0;

	uint32_t beat = __atomic_load_n(&s->header->heartbeat, __ATOMIC_RELAXED);
	if (beat != s->heartbeat) {
		s->heartbeat = beat;
		s->heartbeat_ns = now_ns;
	}
	uint64_t timeout_ns = beat || has_lock(s) ? WIRE_READER_TIMEOUT_NS
			      : s->is_pressed     ? WIRE_CLAIM_SHORT_NS
						  : WIRE_CLAIM_TIMEOUT_NS;
	return !__atomic_load_n(&s->header->stop, __ATOMIC_RELAXED) &&
	       now_ns - s->heartbeat_ns < timeout_ns && !has_died(s, now_ns);
}

void session_suspect(struct session *s)
{
	s->looked_ns = 0;
}

void session_press(struct session *s)
{
	s->is_pressed = 1;
}

void session_lose(struct session *s, uint64_t nr)
{
	s->lost_unsaid += nr;
	__atomic_store_n(&s->header->lost, s->header->lost + nr, __ATOMIC_RELAXED);
}

static uint8_t *put_number(uint8_t *at, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		*at++ = (uint8_t)number | 0x80;
	*at++ = (uint8_t)number;
	return at;
}

static int has_room(const struct session *s, uint64_t bytes)
{
	uint64_t used = s->head - __atomic_load_n(&s->header->tail, __ATOMIC_ACQUIRE);

	return used <= WIRE_RING_BYTES && WIRE_RING_BYTES - used >= bytes;
}

static uint64_t zigzag(int64_t step)
{
	return (uint64_t)step << 1 ^ (uint64_t)(step >> 63);
}

static uint8_t *next_record(const struct session *s)
{
	return s->ring + (s->head & (WIRE_RING_BYTES - 1));
}

static void publish(struct session *s, const uint8_t *end)
{
	s->head += (uint64_t)(end - next_record(s));
	__atomic_store_n(&s->header->head, s->head, __ATOMIC_RELEASE);
}

static void write_lost(struct session *s)
{
	uint8_t *record = next_record(s), *end = put_number(record + 2, s->lost_unsaid);

	record[0] = WIRE_LOST;
	record[1] = (uint8_t)(end - record - 2);
	publish(s, end);
	s->lost_unsaid = 0;
}

/* Makes room for a record of at most `bytes`. Returns 0 if the ring is full; the record is lost. */
static int make_room(struct session *s, enum wire_kind kind, uint64_t bytes)
{
	const uint64_t lost_bytes = 2 + NUMBER_MAX;
	uint64_t kept_bytes = kind == WIRE_CLASS ? 0 : CLASS_BYTES;

	while (!has_room(s, bytes + lost_bytes + kept_bytes)) {
		if (s->may_wait_ms <= 0) {
			session_lose(s, 1);
			return 0;
		}
		sys_sleep_ms(1);
		s->may_wait_ms--;
	}
	if (s->lost_unsaid)
		write_lost(s);
	return 1;
}

/* Writes a record of numbers followed by bytes. Returns 0 if there was no room. */
static int write_record(struct session *s, enum wire_kind kind, const uint64_t *numbers, int nr,
			const void *bytes, uint32_t len)
{
	uint8_t body[NUMBERS_MAX * NUMBER_MAX], *end = body;

	for (int i = 0; i < nr; i++)
		end = put_number(end, numbers[i]);
	uint32_t body_len = (uint32_t)(end - body);
	if (!make_room(s, kind, 1 + NUMBER_MAX + body_len + len))
		return 0;
	uint8_t *at = next_record(s);
	*at++ = (uint8_t)kind;
	at = put_number(at, body_len + len);
	memcpy(at, body, body_len);
	memcpy(at + body_len, bytes, len);
	publish(s, at + body_len + len);
	return 1;
}

static int write_numbers(struct session *s, enum wire_kind kind, const uint64_t *numbers, int nr)
{
	return write_record(s, kind, numbers, nr, NULL, 0);
}

int session_mark(struct session *s, enum wire_kind kind, uint64_t time_ns)
{
	return write_numbers(s, kind, &time_ns, 1);
}

static int write_code(struct session *s, enum wire_kind kind, uint64_t time_ns, uint64_t addr,
		      uint64_t size, uint64_t what)
{
	const uint64_t numbers[] = { time_ns, zigzag((int64_t)(addr - s->code_end)), size, what };

	if (!write_numbers(s, kind, numbers, 4))
		return 0;
	s->code_end = addr + size;
	return 1;
}

int session_load(struct session *s, uint64_t time_ns, uint64_t addr, uint64_t size, uint32_t method)
{
	s->load_slot = method;
	return write_code(s, WIRE_LOAD, time_ns, addr, size,
			  zigzag((int64_t)method - s->method_slot));
}

int session_unload(struct session *s, uint64_t time_ns, uint64_t addr)
{
	const uint64_t numbers[] = { time_ns, addr };

	return write_numbers(s, WIRE_UNLOAD, numbers, 2);
}

/* Each input bit affects all output bits, even for short names. Never 0: an empty slot. */
static uint64_t mix(uint64_t hash)
{
	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ull;
	return (hash ^ hash >> 29) | 1;
}

/* FNV-1a of at most WIRE_STRING_MAX bytes. */
static uint64_t hash_text(const char *text, uint32_t *len)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (*len = 0; text[*len] && *len < WIRE_STRING_MAX; ++*len)
		hash = (hash ^ (uint8_t)text[*len]) * 0x100000001b3ull;
	return mix(hash);
}

/*
 * The slot of a string. Sends the string if the reader does not have it; < 0 without room. The slot
 * differs from both of `keep`: a record can refer to three strings, so each string has three
 * possible slots.
 */
static int intern(struct session *s, const char *text, const int keep[2])
{
	uint32_t len;
	uint64_t hash = hash_text(text, &len);
	int slot = -1;

	for (int way = 2; way >= 0; way--) {
		int candidate = (int)(((hash >> 20) + (uint64_t)way) % WIRE_STRING_SLOTS);
		if (s->string_hashes[candidate] == hash)
			return candidate;
		if (candidate != keep[0] && candidate != keep[1] &&
		    (slot < 0 || !s->string_hashes[candidate] || s->string_hashes[slot]))
			slot = candidate;
	}

	const uint64_t number = (uint64_t)slot;
	if (!write_record(s, WIRE_STRING, &number, 1, text, len))
		return -1;
	s->string_hashes[slot] = hash;
	return slot;
}

int session_code(struct session *s, uint64_t time_ns, uint64_t addr, uint64_t size,
		 const char *name)
{
	const int keep[2] = { -1, -1 };
	int slot = intern(s, name, keep);

	if (slot < 0)
		return 0;
	return write_code(s, WIRE_CODE, time_ns, addr, size, (uint64_t)slot);
}

int session_thread(struct session *s, int tid, const char *name)
{
	uint32_t len = 0;

	while (name[len] && len < WIRE_THREAD_MAX)
		len++;
	const uint64_t number = (uint32_t)tid;
	return write_record(s, WIRE_THREAD, &number, 1, name, len);
}

uint64_t session_hash(const char *name)
{
	uint32_t len;

	return hash_text(name, &len);
}

int session_class(struct session *s, uint64_t hash, const char *name)
{
	uint32_t len;

	hash_text(name, &len);
	return write_record(s, WIRE_CLASS, &hash, 1, name, len);
}

static void flush_chunk(struct session *s)
{
	if (s->chunk_bytes)
		write_record(s, WIRE_INLINE, NULL, 0, s->chunk, s->chunk_bytes);
	s->chunk_bytes = 0;
}

/* Sends a method and returns its slot; < 0 if there was no room. */
static int send_method(struct session *s, const char *class, const char *name,
		       const char *signature)
{
	int keep[2] = { -1, -1 };
	uint64_t numbers[3];

	/* The ranges in the chunk refer to the current content of the slots. */
	flush_chunk(s);
	int class_slot = keep[0] = intern(s, class, keep);
	int name_slot = keep[1] = intern(s, name, keep);
	int slots[3] = { class_slot, name_slot, intern(s, signature, keep) };

	for (int i = 0; i < 3; i++) {
		if (slots[i] < 0)
			return -1;
		numbers[i] = zigzag(slots[i] - s->method_strings[i]);
	}
	if (!write_numbers(s, WIRE_METHOD, numbers, 3))
		return -1;
	memcpy(s->method_strings, slots, sizeof(slots));
	s->method_slot = (s->method_slot + 1) % WIRE_METHOD_SLOTS;
	return (int)s->method_slot;
}

void session_next_event(struct session *s)
{
	s->event++;
}

static uint64_t hash_names(const char *class, const char *name, const char *signature)
{
	uint32_t len;
	uint64_t hash = hash_text(class, &len);

	hash = mix(hash ^ hash_text(name, &len) << 1);
	return mix(hash ^ hash_text(signature, &len) << 1);
}

/*
 * The slot of the method with these names, if possible `known`, where it was last found. < 0 if it
 * could not be sent.
 */
static int slot_of(struct session *s, jmethodID method, int known, const char *class,
		   const char *name, const char *signature)
{
	uint64_t hash = hash_names(class, name, signature);
	const struct method_slot *slot = &s->methods[known];

	if (slot->method != method || slot->name_hash != hash)
		known = send_method(s, class, name, signature);
	if (known >= 0)
		s->methods[known] = (struct method_slot){ method, hash, s->event };
	return known;
}

int session_method(struct session *s, jvmtiEnv *env, jmethodID method)
{
	uint16_t *place = &s->method_places[((uintptr_t)method * 0x9e3779b97f4a7c15ull >> 32) %
					    METHOD_PLACES];
	const struct method_slot *slot = &s->methods[*place];
	char *class = NULL, *name = NULL, *signature = NULL;
	jclass holder = NULL;
	int found = -1;

	if (!method)
		return -1;
	if (slot->method == method && slot->event == s->event)
		return *place;
	if ((*env)->GetMethodName(env, method, &name, &signature, NULL) == JVMTI_ERROR_NONE &&
	    (*env)->GetMethodDeclaringClass(env, method, &holder) == JVMTI_ERROR_NONE &&
	    (*env)->GetClassSignature(env, holder, &class, NULL) == JVMTI_ERROR_NONE)
		found = slot_of(s, method, *place, class, name, signature);
	(*env)->Deallocate(env, (unsigned char *)class);
	(*env)->Deallocate(env, (unsigned char *)name);
	(*env)->Deallocate(env, (unsigned char *)signature);
	if (found >= 0)
		*place = (uint16_t)found;
	return found;
}

/* The frame at `depth` from the outermost inlined one. Frame 0 of JVMTI is the innermost. */
static jmethodID frame_at(const PCStackInfo *range, int depth)
{
	return range->methods[range->numstackframes - 2 - depth];
}

static int depth_of(const PCStackInfo *range)
{
	int depth = range->numstackframes - 1;

	if (depth < 0)
		return 0;
	return depth > (int)WIRE_INLINE_DEPTH_MAX ? (int)WIRE_INLINE_DEPTH_MAX : depth;
}

static int shared_depth(const PCStackInfo *a, const PCStackInfo *b)
{
	int depth = 0, most = depth_of(a) < depth_of(b) ? depth_of(a) : depth_of(b);

	while (depth < most && frame_at(a, depth) == frame_at(b, depth))
		depth++;
	return depth;
}

/* Appends a range. `before` is the previous range of this record, NULL for the first. */
static void add_range(struct session *s, uint64_t begin_off, uint64_t end_off,
		      const PCStackInfo *range, const PCStackInfo *before, const uint32_t *slots)
{
	int depth = depth_of(range), shared = before ? shared_depth(before, range) : 0;
	uint32_t left = before ? (uint32_t)(depth_of(before) - shared) : 0;
	uint32_t entered = (uint32_t)(depth - shared);
	uint8_t *at = s->chunk + s->chunk_bytes;

	if (!s->chunk_bytes) {
		at = put_number(at, begin_off);
		s->chunk_slot = s->load_slot;
	}
	at = put_number(at, end_off - begin_off);
	at = put_number(at, 4 * left + (entered < WIRE_INLINE_MORE ? entered : WIRE_INLINE_MORE));
	if (entered >= WIRE_INLINE_MORE)
		at = put_number(at, entered - WIRE_INLINE_MORE);
	for (int i = shared; i < depth; i++) {
		at = put_number(at, zigzag((int64_t)slots[i] - s->chunk_slot));
		s->chunk_slot = slots[i];
	}
	s->chunk_bytes = (uint32_t)(at - s->chunk);
}

/* The slots of a range's methods, all valid at the same time; 0 if a method has no slot. */
static int find_slots(struct session *s, jvmtiEnv *env, const PCStackInfo *range, uint32_t *slots)
{
	for (int i = 0; i < depth_of(range); i++) {
		int slot = session_method(s, env, frame_at(range, i));
		if (slot < 0)
			return 0;
		slots[i] = (uint32_t)slot;
	}
	/* A stack can have so many methods that the first one's slot has been reused. */
	for (int i = 0; i < depth_of(range); i++)
		if (s->methods[slots[i]].method != frame_at(range, i))
			return 0;
	return 1;
}

/* Whether the next range has the same frames and can stand for both. */
static int is_like_next(const PCStackInfo *range)
{
	int depth = depth_of(range);

	return depth == depth_of(range + 1) && shared_depth(range, range + 1) == depth;
}

void session_inline(struct session *s, jvmtiEnv *env, uint64_t addr, uint64_t size,
		    const PCStackInfo *ranges, int nr)
{
	const uint32_t range_max = (WIRE_INLINE_DEPTH_MAX + 5) * NUMBER_MAX;
	const PCStackInfo *before = NULL;
	uint32_t slots[WIRE_INLINE_DEPTH_MAX];
	uint64_t begin_off = 0;
	int is_plain = 1;

	/* Send all methods first: sending one in between would split the record. */
	for (int i = 0; i < nr; i++) {
		is_plain &= !depth_of(&ranges[i]);
		if (i + 1 == nr || !is_like_next(&ranges[i]))
			find_slots(s, env, &ranges[i], slots);
	}
	if (is_plain)
		return;
	for (int i = 0; i < nr; i++) {
		uint64_t end_off = (uint64_t)ranges[i].pc - addr;
		if ((uint64_t)ranges[i].pc < addr || end_off > size || end_off <= begin_off ||
		    (i + 1 < nr && is_like_next(&ranges[i])))
			continue;
		if (s->chunk_bytes > WIRE_RECORD_MAX - range_max)
			flush_chunk(s);
		if (find_slots(s, env, &ranges[i], slots)) {
			add_range(s, begin_off, end_off, &ranges[i], s->chunk_bytes ? before : NULL,
				  slots);
			before = &ranges[i];
		} else {
			flush_chunk(s); /* a record has no gaps */
		}
		begin_off = end_off;
	}
	flush_chunk(s);
}

struct sessions {
	struct sys_lock lock; /* protects all fields below */
	struct session *all[SESSIONS_MAX];
	struct session *used;
	int replay_tid;
	uint64_t missed; /* events that could not take the lock */
	void (*settle)(void);
};

static struct sessions sessions;

void sessions_on_close(void (*settle)(void))
{
	sessions.settle = settle;
}

static void close_place(int i)
{
	session_close(sessions.all[i]);
	sessions.all[i] = NULL;
}

static void close_abandoned(uint64_t now_ns)
{
	int nr_closed = 0;

	for (int i = 0; i < SESSIONS_MAX; i++) {
		struct session *s = sessions.all[i];
		if (!s || s == sessions.used || s->pid != sys_getpid() ||
		    session_is_wanted(s, now_ns))
			continue;
		close_place(i);
		nr_closed++;
	}
	if (nr_closed && sessions.settle)
		sessions.settle();
}

void sessions_close_abandoned(void)
{
	close_abandoned(sys_mono_ns());
}

int sessions_begin(struct session *out[SESSIONS_MAX], uint64_t *time_ns)
{
	uint64_t now = sys_mono_ns();
	int nr = 0;

	if (!sys_lock(&sessions.lock)) {
		__atomic_fetch_add(&sessions.missed, 1, __ATOMIC_RELAXED);
		return 0;
	}
	int is_replay = sessions.replay_tid && sys_gettid() == sessions.replay_tid;
	uint64_t missed = __atomic_exchange_n(&sessions.missed, 0, __ATOMIC_RELAXED);
	if (!is_replay)
		close_abandoned(now);
	for (int i = 0; i < SESSIONS_MAX; i++) {
		struct session *s = sessions.all[i];
		if (!s || (is_replay && s != sessions.used) || !session_is_wanted(s, now))
			continue;
		if (missed)
			session_lose(s, missed);
		out[nr++] = s;
	}
	*time_ns = is_replay ? 0 : now;
	if (!nr)
		sys_unlock(&sessions.lock);
	return nr;
}

void sessions_end(void)
{
	sys_unlock(&sessions.lock);
}

void sessions_lock(void)
{
	while (!sys_lock(&sessions.lock))
		;
}

void sessions_unlock(void)
{
	sys_unlock(&sessions.lock);
}

struct session *const *sessions_all(void)
{
	return sessions.all;
}

struct session *sessions_find(const char *nonce)
{
	for (int i = 0; i < SESSIONS_MAX; i++) {
		int k = 0;
		if (!sessions.all[i])
			continue;
		while (k < WIRE_NONCE_LEN && sessions.all[i]->nonce[k] == nonce[k])
			k++;
		if (k == WIRE_NONCE_LEN)
			return sessions.all[i];
	}
	return NULL;
}

static struct session **free_place(void)
{
	for (int i = 0; i < SESSIONS_MAX; i++)
		if (!sessions.all[i])
			return &sessions.all[i];
	return NULL;
}

static void check_all(void (*prepare)(struct session *s))
{
	for (int i = 0; i < SESSIONS_MAX; i++)
		if (sessions.all[i])
			prepare(sessions.all[i]);
	sessions_close_abandoned();
}

struct session *sessions_open(const char *nonce)
{
	check_all(session_suspect);
	if (!free_place())
		check_all(session_press);
	struct session **place = free_place();
	return place ? (*place = session_open(nonce)) : NULL;
}

void sessions_close(struct session *s)
{
	for (int i = 0; i < SESSIONS_MAX; i++)
		if (s && sessions.all[i] == s)
			close_place(i);
}

void sessions_use(struct session *s)
{
	sessions.used = s;
}

struct session *sessions_used(void)
{
	return sessions.used;
}

void sessions_replay(int tid)
{
	sessions.replay_tid = tid;
}
