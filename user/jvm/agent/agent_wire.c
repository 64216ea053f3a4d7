/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the agent's records. */
#include "jvm/agent/agent_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/time.h"
#include "jvmmap/wire.h"
#include "jvmmap/wire_records.h"

#define HEAD_MAX 11 /* length of a kind and a number */
/* records between looks at the clock; a hostile record can take milliseconds */
#define CLOCK_EACH 8

/* The rest of a record. */
struct cursor {
	const u8 *at, *end;
	bool is_bad; /* a number was truncated or too long */
};

static u64 number(struct cursor *c)
{
	u64 value = 0;

	for (unsigned shift = 0; c->at < c->end && shift < 64; shift += 7) {
		u8 byte = *c->at++;
		value |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->is_bad = true;
	return 0;
}

/* A signed number in zigzag encoding, -(2^63) or more. */
static s64 step(struct cursor *c)
{
	u64 value = number(c);

	return (s64)(value >> 1 ^ -(value & 1));
}

/* Reads a number below `limit`, encoded as a step from `from`. */
static u32 slot_from(struct cursor *c, u32 from, u32 limit)
{
	u64 value = from + (u64)step(c);

	if (value >= limit)
		c->is_bad = true;
	return c->is_bad ? 0 : (u32)value;
}

/* A number below `limit`. */
static u32 slot(struct cursor *c, u32 limit)
{
	u64 value = number(c);

	if (value >= limit)
		c->is_bad = true;
	return c->is_bad ? 0 : (u32)value;
}

void agent_wire_init(struct agent_wire *w, struct codemap *map, s64 clock_off_ns)
{
	*w = (struct agent_wire){ .map = map,
				  .clock_off_ns = clock_off_ns,
				  .max_string_bytes = SIZE_MAX };
	w->strings = xcalloc(WIRE_STRING_SLOTS, sizeof(w->strings[0]));
	w->methods = xcalloc(WIRE_METHOD_SLOTS, sizeof(w->methods[0]));
	codemap_hold(map, w->methods, WIRE_METHOD_SLOTS);
}

void agent_wire_fini(struct agent_wire *w)
{
	if (w->map)
		codemap_hold(w->map, NULL, 0);
	for (size_t i = 0; w->strings && i < WIRE_STRING_SLOTS; i++)
		free((char *)w->strings[i].at);
	free(w->strings);
	free(w->methods);
	*w = (struct agent_wire){ 0 };
}

size_t agent_wire_bytes(const struct agent_wire *w)
{
	return WIRE_STRING_SLOTS * sizeof(w->strings[0]) +
	       WIRE_METHOD_SLOTS * sizeof(w->methods[0]) + w->string_bytes;
}

/* Converts a time of the JVM to ours; 0 stays 0. */
static u64 time_of(struct agent_wire *w, u64 time_ns)
{
	if (!time_ns)
		return 0;
	time_ns += (u64)w->clock_off_ns;
	if (time_ns > w->last_ns)
		w->last_ns = time_ns;
	return time_ns;
}

static void read_string(struct agent_wire *w, struct cursor *c)
{
	u32 i = slot(c, WIRE_STRING_SLOTS);
	size_t len = (size_t)(c->end - c->at);

	if (len > WIRE_STRING_MAX)
		c->is_bad = true;
	if (c->is_bad)
		return;
	const char *text = (const char *)c->at;
	struct code_text *s = &w->strings[i];
	c->at = c->end;
	w->string_bytes -= s->at ? s->len + 1 : 0;
	free((char *)s->at);
	*s = (struct code_text){ 0 };
	if (w->string_bytes + len + 1 > w->max_string_bytes) {
		w->nr_left_out++;
		return;
	}
	s->at = xstrndup(text, len);
	s->len = strlen(s->at);
	w->string_bytes += s->len + 1;
}

static struct code_text string_of(const struct agent_wire *w, u32 i)
{
	return w->strings[i].at ? w->strings[i] : (struct code_text){ "?", 1 };
}

static void read_method(struct agent_wire *w, struct cursor *c)
{
	struct code_text texts[3];

	for (int i = 0; i < 3; i++) {
		w->method_strings[i] = slot_from(c, w->method_strings[i], WIRE_STRING_SLOTS);
		texts[i] = string_of(w, w->method_strings[i]);
	}
	if (c->is_bad)
		return;
	/* "Ljava/lang/Thread;" */
	if (texts[0].len > 2 && texts[0].at[0] == 'L') {
		texts[0].at++;
		texts[0].len -= 2;
	}
	w->method_slot = (w->method_slot + 1) % WIRE_METHOD_SLOTS;
	w->methods[w->method_slot] =
		codemap_name(w->map, FRAME_C2, texts[0], texts[1], texts[2]) + 1;
}

/* Returns the address of a piece of code and sets its size. */
static u64 read_place(struct agent_wire *w, struct cursor *c, u64 *size)
{
	u64 addr = w->code_end + (u64)step(c);

	*size = number(c);
	w->code_end = addr + *size;
	return addr;
}

static void read_load(struct agent_wire *w, struct cursor *c)
{
	u64 time_ns = number(c), size, addr = read_place(w, c, &size);
	u32 method = slot_from(c, w->method_slot, WIRE_METHOD_SLOTS);

	w->load_addr = addr;
	w->load_slot = method;
	if (!c->is_bad && w->methods[method])
		codemap_load(w->map, time_of(w, time_ns), addr, size, w->methods[method] - 1);
}

static void read_code(struct agent_wire *w, struct cursor *c)
{
	u64 time_ns = number(c), size, addr = read_place(w, c, &size);
	u32 i = slot(c, WIRE_STRING_SLOTS);

	if (c->is_bad)
		return;
	struct code_text name = string_of(w, i), none = { "", 0 };
	bool is_interpreter = name.len == 11 && !memcmp(name.at, "Interpreter", 11);
	u32 id = codemap_name(w->map, is_interpreter ? FRAME_INTERPRETED : FRAME_STUB, none, name,
			      none);
	codemap_load(w->map, time_of(w, time_ns), addr, size, id);
}

static void read_unload(struct agent_wire *w, struct cursor *c)
{
	u64 time_ns = number(c), addr = number(c);

	if (!c->is_bad)
		codemap_unload(w->map, time_of(w, time_ns), addr);
}

/* Reads the frames of the next range; the first ones may be shared with the previous range. */
static void read_frames(struct agent_wire *w, struct cursor *c, u32 *at_slot, u32 *names, u32 *nr)
{
	u64 change = number(c), left = change / 4, entered = change % 4;

	if (entered == WIRE_INLINE_MORE)
		entered += slot(c, WIRE_INLINE_DEPTH_MAX);
	if (left > *nr || *nr - left + entered > WIRE_INLINE_DEPTH_MAX)
		c->is_bad = true;
	if (c->is_bad)
		return;
	*nr -= (u32)left;
	for (; !c->is_bad && entered; entered--) {
		*at_slot = slot_from(c, *at_slot, WIRE_METHOD_SLOTS);
		if (!w->methods[*at_slot])
			c->is_bad = true;
		names[(*nr)++] = w->methods[*at_slot] - 1;
	}
}

static void read_inline(struct agent_wire *w, struct cursor *c)
{
	u64 begin_off = number(c);
	u32 names[WIRE_INLINE_DEPTH_MAX], nr = 0, at_slot = w->load_slot;

	while (!c->is_bad && c->at < c->end) {
		u64 len = number(c);
		if (len > CODEMAP_CODE_MAX || begin_off > CODEMAP_CODE_MAX)
			c->is_bad = true;
		read_frames(w, c, &at_slot, names, &nr);
		if (!c->is_bad)
			codemap_inline(w->map, w->load_addr, (u32)begin_off, (u32)(begin_off + len),
				       names, nr);
		begin_off += len;
	}
}

static void read_replay_begin(struct agent_wire *w, struct cursor *c)
{
	time_of(w, number(c));
	w->in_replay = true;
	w->lost_in_replay = false;
	codemap_replay_begin(w->map, w->is_dirty ? w->lost_ns : 0);
}

static void read_replay_end(struct agent_wire *w, struct cursor *c)
{
	time_of(w, number(c));
	if (!w->in_replay)
		return;
	w->in_replay = false;
	if (w->lost_in_replay)
		return;
	codemap_replay_end(w->map);
	w->is_dirty = false;
}

static void read_lost(struct agent_wire *w, struct cursor *c)
{
	w->nr_lost += number(c);
	if (!w->is_dirty)
		w->lost_ns = w->last_ns;
	w->is_dirty = true;
	w->lost_in_replay = true;
}

static void read_thread(struct agent_wire *w, struct cursor *c)
{
	u64 tid = number(c);
	size_t len = (size_t)(c->end - c->at);

	if (tid > INT32_MAX || len > WIRE_THREAD_MAX)
		c->is_bad = true;
	if (c->is_bad)
		return;
	if (w->threads)
		thread_names_report(w->threads, (pid_t)tid, (const char *)c->at, len);
	c->at = c->end;
}

static void read_class(struct agent_wire *w, struct cursor *c)
{
	u64 hash = number(c);
	size_t len = (size_t)(c->end - c->at);

	if (len > WIRE_STRING_MAX)
		c->is_bad = true;
	if (!c->is_bad)
		codemap_class(w->map, hash, (struct code_text){ (const char *)c->at, len });
	c->at = c->end;
}

static bool is_late(const struct agent_wire *w)
{
	return w->deadline_ns && w->nr_records % CLOCK_EACH == 0 &&
	       time_mono_ns() >= w->deadline_ns;
}

ssize_t agent_wire_decode(struct agent_wire *w, const u8 *bytes, size_t len)
{
	static void (*const read[])(struct agent_wire *, struct cursor *) = {
		[WIRE_STRING] = read_string,
		[WIRE_METHOD] = read_method,
		[WIRE_LOAD] = read_load,
		[WIRE_UNLOAD] = read_unload,
		[WIRE_CODE] = read_code,
		[WIRE_INLINE] = read_inline,
		[WIRE_REPLAY_BEGIN] = read_replay_begin,
		[WIRE_REPLAY_END] = read_replay_end,
		[WIRE_LOST] = read_lost,
		[WIRE_THREAD] = read_thread,
		[WIRE_CLASS] = read_class,
	};
	size_t used = 0;

	while (used < len) {
		struct cursor c = { bytes + used + 1, bytes + len, false };
		u8 kind = bytes[used];
		u64 body_len = number(&c);

		if (kind >= ARRAY_SIZE(read) || !read[kind] ||
		    (c.is_bad ? len - used > HEAD_MAX : body_len > WIRE_RECORD_MAX))
			return -EBADMSG;
		if (c.is_bad || body_len > (u64)(c.end - c.at))
			break;
		c.end = c.at + body_len;
		read[kind](w, &c);
		if (c.is_bad || c.at != c.end)
			return -EBADMSG;
		used = (size_t)(c.end - bytes);
		w->nr_records++;
		if (is_late(w))
			break;
	}
	return (ssize_t)used;
}
