// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The context of a request: a record in the thread's memory, to which a thread-local variable
 * points. Everything read here may be forged: addresses are the thread's own, sizes are bounded,
 * and nothing is followed more than once.
 */
#include "context.h"

#include "task.h"

#define START_TICK_NS 10000000ULL /* see unwind/unwind.bpf.c */

/*
 * glibc's dtv_t has 16 bytes: the block and what to free; entry -1 is the number of entries. musl
 * has an address an entry, and the number in entry 0.
 */
#define GLIBC_ENTRY_BYTES 16
#define GLIBC_UNALLOCATED (~0ULL)
#define MUSL_ENTRY_BYTES  8

#define FIRST_BYTES 64 /* a cache line */

static __always_inline bool read_word(u64 addr, u64 *out)
{
	return !bpf_probe_read_user(out, sizeof(*out), (void *)addr);
}

/* The address of the module's block; 0 if the thread has none. */
static __always_inline u64 block_of(const struct context_place *p, u64 thread)
{
	bool is_musl = p->kind == CONTEXT_MUSL;
	u64 entry_bytes = is_musl ? MUSL_ENTRY_BYTES : GLIBC_ENTRY_BYTES;
	u64 table, nr, block;

	if (!read_word(thread + DTV_SLOT, &table) ||
	    !read_word(is_musl ? table : table - GLIBC_ENTRY_BYTES, &nr) || nr < p->module ||
	    !read_word(table + entry_bytes * p->module, &block))
		return 0;
	return block == GLIBC_UNALLOCATED ? 0 : block;
}

/* The address of the thread's variable; 0 if it has none. */
static __always_inline u64 variable_of(const struct context_place *p, u64 thread)
{
	u64 block = p->kind == CONTEXT_STATIC ? thread : block_of(p, thread);

	return block ? block + p->offset : 0;
}

/*
 * Reads the record at `from` into `to`, which has room for CONTEXT_BYTES. Returns how many bytes of
 * it were read; 0 if there is no valid record. The first read takes FIRST_BYTES, which hold most
 * records. It fails if the memory ends before; the record's head is then read alone.
 */
static __always_inline u32 read_context(struct thread_context *to, u64 from)
{
	u32 at_once = FIRST_BYTES - sizeof(*to), bytes;

	if (bpf_probe_read_user(to, FIRST_BYTES, (void *)from)) {
		at_once = 0;
		if (bpf_probe_read_user(to, sizeof(*to), (void *)from)) {
			count(STAT_CONTEXT_UNREADABLE);
			return 0;
		}
	}
	if (to->is_valid != 1)
		return 0;
	bytes = to->attributes_bytes;
	if (bytes <= at_once)
		return sizeof(*to) + bytes;
	keep_as_written(bytes); /* Linux 6.1 knows no bound if the comparisons become one */
	if (bytes > CONTEXT_ATTRIBUTES)
		return sizeof(*to);
	if (!bpf_probe_read_user(to->attributes, bytes, (void *)(from + sizeof(*to))))
		return sizeof(*to) + bytes;
	count(STAT_CONTEXT_UNREADABLE);
	return sizeof(*to);
}

__noinline int context_add(struct scratch *s)
{
	if (!s || s->sample.nr_context)
		return 0;
	u32 pid = s->sample.task.pid;
	const struct context_place *place = bpf_map_lookup_elem(&context_places, &pid);
	if (!place || place->start_ns / START_TICK_NS != s->sample.task.start_ns / START_TICK_NS)
		return 0;

	u64 variable = variable_of(place, task_tls(bpf_get_current_task_btf())), record;
	if (!variable)
		return 0;
	if (!read_word(variable, &record)) {
		count(STAT_CONTEXT_UNREADABLE);
		return 0;
	}
	if (!record)
		return 0;
	u64 at = s->sample.nr_kernel + 2 * (u64)s->sample.nr_user;
	keep_as_written(at); /* the verifier forgets the bound of a sum that is computed twice */
	if (at > ABI_SAMPLE_WORDS - CONTEXT_BYTES / sizeof(u64))
		return 0;
	u32 bytes = read_context((struct thread_context *)&s->words[at], record);
	s->sample.nr_context = (bytes + sizeof(u64) - 1) / sizeof(u64);
	return 0;
}

__noinline int java_values_add(struct scratch *s)
{
	if (!s || s->sample.nr_context & SAMPLE_HAS_VALUES)
		return 0;
	u32 pid = s->sample.task.pid;
	struct java_place *p = bpf_map_lookup_elem(&java_places, &pid);
	if (!p || p->start_ns / START_TICK_NS != s->sample.task.start_ns / START_TICK_NS)
		return 0;
	u64 at = s->sample.nr_kernel + 2 * (u64)s->sample.nr_user + s->sample.nr_context;
	keep_as_written(at);
	if (at > ABI_SAMPLE_WORDS - SAMPLE_VALUES)
		return 0;
	u64 java_thread = java_thread_find(p, task_tls(bpf_get_current_task_btf()));
	if (!java_thread || !java_reading_begin(p, &s->java, java_thread))
		return 0;
	struct java_value *values = (struct java_value *)&s->words[at];
	for (u32 i = 0; i < JAVA_LABELS; i++)
		java_label_read(p, &s->java, i, &values[i]);
	s->sample.nr_context |= SAMPLE_HAS_VALUES;
	return 0;
}
