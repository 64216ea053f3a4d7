/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds Thread::current() of libjvm: a variable in thread-local storage that no table names. The
 * value of the variable is known for every JavaThread in the list. The variable is at the one place
 * where every thread holds its own JavaThread *. Part of jvm/hotspot/hotspot_private.h.
 */
#include <string.h>

#include "base/alloc.h"
#include "jvm/hotspot/hotspot_private.h"

#define THREADS_ASKED 4   /* must agree, at least two of them */
#define MODULES_MAX   256 /* most modules with thread-local storage; a JVM has about ten */
#define BLOCK_WORDS   16  /* libjvm has 60 to 96 bytes (JDK 17 to 28) */
#define PTHREAD_WORDS 288 /* glibc's struct pthread, with the first 32 values of keys */

/* glibc's dtv_t: the value of entry -1 is the number of entries. */
struct dtv {
	u64 value, to_free;
};

struct place {
	u16 module, offset;
};

static int read_dtv(const struct hotspot *h, u64 pointer, struct dtv *dtv, size_t *nr)
{
	u64 at;
	struct dtv count;
	int err = mem_read_u64(h->jvm.mem, pointer + DTV_SLOT, &at);

	err = err ? err : mem_read(h->jvm.mem, at - sizeof(count), &count, sizeof(count));
	if (err)
		return err;
	*nr = count.value < MODULES_MAX ? (size_t)count.value + 1 : MODULES_MAX;
	return mem_read(h->jvm.mem, at, dtv, *nr * sizeof(*dtv));
}

/* Whether the thread has its JavaThread * at this place. */
static bool has_it(const struct hotspot *h, u64 pointer, u64 java_thread, struct place p)
{
	u64 dtv, block, value;

	if (p.module == HOTSPOT_TLS_POINTER)
		return !mem_read_u64(h->jvm.mem, pointer + p.offset, &value) &&
		       value == java_thread;
	return !mem_read_u64(h->jvm.mem, pointer + DTV_SLOT, &dtv) &&
	       !mem_read_u64(h->jvm.mem, dtv + sizeof(struct dtv) * p.module, &block) &&
	       !mem_read_u64(h->jvm.mem, block + p.offset, &value) && value == java_thread;
}

struct known {
	u64 pointer, java_thread;
};

static bool is_everywhere(const struct hotspot *h, const struct known *threads, size_t nr,
			  struct place p)
{
	for (size_t i = 0; i < nr; i++)
		if (!has_it(h, threads[i].pointer, threads[i].java_thread, p))
			return false;
	return true;
}

/* Looks for it in a block of the first thread. */
static bool find_in_block(struct hotspot *h, const struct known *threads, size_t nr, u16 module,
			  u64 block, size_t nr_words)
{
	u64 words[PTHREAD_WORDS];
	ssize_t got = mem_read_some(h->jvm.mem, block, words, nr_words * sizeof(words[0]));

	for (size_t i = 0; got > 0 && i < (size_t)got / 8; i++) {
		struct place p = { module, (u16)(i * 8) };
		if (words[i] != threads[0].java_thread || !is_everywhere(h, threads + 1, nr - 1, p))
			continue;
		h->tls_module = p.module;
		h->tls_offset = p.offset;
		return true;
	}
	return false;
}

/* JDK 8 has no variable: it keeps the pointer as the value of a key, in glibc's struct pthread. */
static void find_place(struct hotspot *h, const struct known *threads, size_t nr)
{
	struct dtv dtv[MODULES_MAX];
	size_t nr_modules;

	if (nr < 2 || read_dtv(h, threads[0].pointer, dtv, &nr_modules))
		return;
	for (size_t m = 1; m < nr_modules; m++)
		if (find_in_block(h, threads, nr, (u16)m, dtv[m].value, BLOCK_WORDS))
			return;
	find_in_block(h, threads, nr, HOTSPOT_TLS_POINTER, threads[0].pointer, PTHREAD_WORDS);
}

void hotspot_find_tls(struct hotspot *h)
{
	struct known threads[THREADS_ASKED];
	struct hotspot_thread *all;
	size_t nr = 0;

	if (h->tls_module)
		return;
	ssize_t nr_all = hotspot_threads(h, &all);
	if (nr_all < 0)
		return;
	for (ssize_t i = 0; i < nr_all && nr < THREADS_ASKED; i++) {
		u64 os_thread, pointer;
		struct known t = { 0, all[i].java_thread };
		if (vm_read(&h->jvm, t.java_thread, THREAD_OSTHREAD, &os_thread) || !os_thread ||
		    vm_read(&h->jvm, os_thread, OSTHREAD_POINTER, &pointer) || !pointer)
			continue;
		t.pointer = pointer;
		threads[nr++] = t;
	}
	free(all);
	find_place(h, threads, nr);
}
