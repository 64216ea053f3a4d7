/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the agent's records. */
#include "jvm/agent_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "jvmmap/wire.h"

/* What is left of a record. */
struct cursor {
	const u8 *at, *end;
	bool is_bad; /* a number was cut or too long */
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
	*w = (struct agent_wire){ .map = map, .clock_off_ns = clock_off_ns };
	w->strings = xcalloc(WIRE_STRING_SLOTS, sizeof(w->strings[0]));
	w->methods = xcalloc(WIRE_METHOD_SLOTS, sizeof(w->methods[0]));
}

void agent_wire_fini(struct agent_wire *w)
{
	for (size_t i = 0; w->strings && i < WIRE_STRING_SLOTS; i++)
		free((char *)w->strings[i].at);
	free(w->strings);
	free(w->methods);
	*w = (struct agent_wire){ 0 };
}

/* A time of the JVM in ours; 0 stays 0. */
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
	free((char *)w->strings[i].at);
	w->strings[i] = (struct code_text){ xstrndup((const char *)c->at, len), 0 };
	w->strings[i].len = strlen(w->strings[i].at);
	c->at = c->end;
}

static struct code_text string_of(const struct agent_wire *w, u32 i)
{
	return w->strings[i].at ? w->strings[i] : (struct code_text){ "?", 1 };
}

static void read_method(struct agent_wire *w, struct cursor *c)
{
	u32 i = slot(c, WIRE_METHOD_SLOTS);
	u32 class_slot = slot(c, WIRE_STRING_SLOTS), name_slot = slot(c, WIRE_STRING_SLOTS);
	u32 signature_slot = slot(c, WIRE_STRING_SLOTS);

	if (c->is_bad)
		return;
	/* "Ljava/lang/Thread;" */
	struct code_text class_name = string_of(w, class_slot);
	if (class_name.len > 2 && class_name.at[0] == 'L') {
		class_name.at++;
		class_name.len -= 2;
	}
	w->methods[i] = codemap_name(w->map, FRAME_C2, class_name, string_of(w, name_slot),
				     string_of(w, signature_slot)) +
			1;
}

static void read_load(struct agent_wire *w, struct cursor *c)
{
	u64 time_ns = number(c), addr = number(c), size = number(c);
	u32 method = slot(c, WIRE_METHOD_SLOTS);

	w->load_addr = addr;
	if (!c->is_bad && w->methods[method])
		codemap_load(w->map, time_of(w, time_ns), addr, size, w->methods[method] - 1);
}

static void read_code(struct agent_wire *w, struct cursor *c)
{
	u64 time_ns = number(c), addr = number(c), size = number(c);
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

static void read_inline(struct agent_wire *w, struct cursor *c)
{
	u64 begin_off = number(c);
	u32 names[WIRE_INLINE_DEPTH_MAX], nr = 0;

	while (!c->is_bad && c->at < c->end) {
		u64 len = number(c);
		u32 shared = slot(c, nr + 1), more = slot(c, WIRE_INLINE_DEPTH_MAX + 1);
		if (shared + more > WIRE_INLINE_DEPTH_MAX || len > CODEMAP_CODE_MAX ||
		    begin_off > CODEMAP_CODE_MAX)
			c->is_bad = true;
		for (nr = shared; !c->is_bad && nr < shared + more; nr++) {
			u32 method = w->methods[slot(c, WIRE_METHOD_SLOTS)];
			if (!method)
				c->is_bad = true;
			names[nr] = method - 1;
		}
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
		thread_names_tell(w->threads, (pid_t)tid, (const char *)c->at, len);
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

	for (struct wire_record head; len - used >= sizeof(head); used += head.bytes) {
		memcpy(&head, bytes + used, sizeof(head));
		if (head.bytes < sizeof(head) || head.bytes > WIRE_RECORD_MAX ||
		    head.kind >= ARRAY_SIZE(read) || !read[head.kind])
			return -EBADMSG;
		if (head.bytes > len - used)
			break;
		struct cursor c = { bytes + used + sizeof(head), bytes + used + head.bytes, false };
		read[head.kind](w, &c);
		if (c.is_bad || c.at != c.end)
			return -EBADMSG;
		w->nr_records++;
	}
	return (ssize_t)used;
}
