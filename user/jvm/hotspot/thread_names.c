/* SPDX-License-Identifier: Apache-2.0 */
/* The full names of a JVM's Java threads, and how to read them from its heap. */
#include "jvm/hotspot/thread_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"
#include "jvm/hotspot/hotspot_private.h"
#include "jvm/memory/java_objects.h"
#include "jvm/memory/vm_memory.h"
#include "proc/mem.h"

#define NAME_MAX_BYTES 512 /* longer ones are truncated */
#define READ_MAX_BYTES (2 * NAME_MAX_BYTES)
#define AT_ONCE        512 /* threads per batch, to limit the memory for it */
#define VOTES_MAX      64
#define KEPT_MAX       100000 /* names; at this number those of ended threads are dropped */
#define COMM_BYTES     15
#define HEAP_BYTES     48 /* of two pieces of memory */
#define UTF8_MAX_BYTES 4  /* per character */
#define DOUBT_NS       NS_PER_SEC
#define DOUBT_NEW_NS   (100 * NS_PER_MS)
#define OLD_NS         (2 * NS_PER_SEC)
#define OLD_MOST_NS    (8 * NS_PER_SEC)  /* while no name changes */
#define ABSENT_NS      (100 * NS_PER_MS) /* doubled after each look, up to OLD_MOST_NS */
#define UNASKED_NS     (60 * NS_PER_SEC) /* after that an absent thread is forgotten */
#define PAUSE_LEAST_NS (20 * NS_PER_MS)
#define PAUSE_FACTOR   50 /* times the duration of a read */

/* The fields Thread.name, Thread.eetop, String.value and String.coder. */
struct name_fields {
	u32 thread_name, string_value;
	u32 thread_eetop; /* its JavaThread, a check that the object is that Thread */
	u32 string_coder; /* 0: JDK 8, whose strings are UTF-16 */
	bool is_handle;   /* JavaThread::_threadObj is a pointer to the reference */
};

static int find_fields(const struct vm_memory *j, struct name_fields *out)
{
	struct java_fields thread = { 0 }, string = { 0 };
	bool has_object = vm_has(&j->build, THREAD_OBJECT) && j->jdk;
	int err = has_object ? 0 : -ENOENT;

	err = err ?: java_fields_of(j, THREAD_CLASS, &thread);
	err = err ?: java_field_find(&thread, "name", &out->thread_name);
	err = err ?: java_field_find(&thread, "eetop", &out->thread_eetop);
	err = err ?: java_fields_of(j, STRING_CLASS, &string);
	err = err ?: java_field_find(&string, "value", &out->string_value);
	if (!err && j->jdk > 8)
		err = java_field_find(&string, "coder", &out->string_coder);
	out->is_handle = j->jdk >= 16;
	java_fields_fini(&thread);
	java_fields_fini(&string);
	return err;
}

struct known {
	char *name;       /* NULL while its first name is in doubt, and if it is absent */
	char comm[16];    /* at the time of the read; "" for a name from an agent */
	u64 absent_ns;    /* pause after a read that did not find the thread; 0: it was found */
	u64 asked_ns;     /* when the name of an absent thread was asked for last */
	char doubted[16]; /* the comm with which a different name was found */
	u64 doubted_ns;   /* start of the doubt; 0: none */
	bool is_named;    /* the JVM has also named it in the kernel: name and comm match */
	u32 read;         /* number of the last read that found it */
};

struct thread_names {
	struct java_objects objects; /* valid if reference_bytes is not 0 */
	struct name_fields fields;
	u64 string_class;   /* identifies the class in a String's header; 0: unknown */
	char leader[16];    /* comm of threads that were never named */
	struct dict by_tid; /* -> struct known * */
	u32 nr_reads;
	size_t name_bytes, nr_left_out;
	u64 max_bytes; /* limit of reported names; 0: only KEPT_MAX limits them */
	u64 read_ns, pause_ns;
	u64 old_ns;      /* after that names are read again */
	bool is_changed; /* the last read found another name or thread */
};

struct thread_names *thread_names_new(void)
{
	return xcalloc(1, sizeof(struct thread_names));
}

static void free_known(struct thread_names *all, struct known *k)
{
	all->name_bytes -= k->name ? strlen(k->name) : 0;
	free(k->name);
	free(k);
}

static void forget_all(struct thread_names *all)
{
	dict_each(slot, &all->by_tid)
		free_known(all, (struct known *)(uintptr_t)slot->value);
	dict_fini(&all->by_tid);
	all->by_tid = (struct dict){ 0 };
}

void thread_names_free(struct thread_names *all)
{
	if (!all)
		return;
	forget_all(all);
	free(all);
}

static bool is_asked_for(const struct known *k, u64 now)
{
	return k->absent_ns && now - k->asked_ns < UNASKED_NS;
}

/*
 * Drops threads that the previous read did not find, unless they were absent all the time and are
 * still sampled: those of the collector. At KEPT_MAX drops all of them: the read that follows finds
 * the live ones again.
 */
static void forget_ended(struct thread_names *all)
{
	struct dict kept = { 0 };
	bool is_full = all->by_tid.nr >= KEPT_MAX;
	u64 now = time_mono_ns();

	dict_each(slot, &all->by_tid) {
		struct known *k = (struct known *)(uintptr_t)slot->value;
		if (k->read + !is_full >= all->nr_reads || (!is_full && is_asked_for(k, now)))
			*dict_add(&kept, slot->key) = slot->value;
		else
			free_known(all, k);
	}
	dict_fini(&all->by_tid);
	all->by_tid = kept;
}

/* "abcdefg..uvwxyz" stands for a longer name. The end of a truncated name is unknown. */
static bool is_elided(const char *name, const char *comm)
{
	size_t len = strlen(name);
	bool is_cut = len > NAME_MAX_BYTES - UTF8_MAX_BYTES;

	return len > COMM_BYTES && !strncmp(name, comm, 7) && !strncmp(comm + 7, "..", 2) &&
	       (is_cut || !strcmp(comm + 9, name + len - 6));
}

/*
 * Whether the kernel's comm belongs to the name: its first 15 bytes, or from JDK 26 on both ends of
 * a longer name. The kernel has other bytes beyond ASCII.
 */
static bool is_comm_of(const char *name, const char *comm)
{
	size_t plain = 0;

	while (comm[plain] >= ' ' && comm[plain] <= '~')
		plain++;
	if (comm[plain] && !strncmp(name, comm, plain))
		return true;
	return !strncmp(name, comm, COMM_BYTES) || is_elided(name, comm);
}

/*
 * A thread that names itself sets the name in the JVM first and in the kernel second, and may lose
 * its CPU in between. Name and comm then do not match. If this lasts, another thread has named it.
 */
static bool is_doubtful(struct known *k, const char *comm)
{
	u64 now = time_mono_ns();

	if (!k->doubted_ns || strcmp(k->doubted, comm) != 0) {
		copy_text(k->doubted, sizeof(k->doubted), comm);
		k->doubted_ns = now;
	}
	return now - k->doubted_ns < (k->name ? DOUBT_NS : DOUBT_NEW_NS);
}

/*
 * Whether the thread may be between the two steps of naming itself. Also true for a new thread,
 * unless threads of this JVM never get a name in the kernel.
 */
static bool may_be_between(const struct thread_names *all, const struct known *k, const char *comm)
{
	return *comm && (k->name ? k->is_named : strcmp(comm, all->leader) != 0);
}

/* The entry of a thread that the last read has dealt with; a new one is empty. */
static struct known *add(struct thread_names *all, pid_t tid)
{
	u64 *place = dict_add(&all->by_tid, (u64)tid);

	if (!*place)
		*place = (u64)(uintptr_t)xcalloc(1, sizeof(struct known));
	struct known *k = (struct known *)(uintptr_t)*place;
	k->read = all->nr_reads;
	return k;
}

/* Takes ownership of `clean`. */
static void keep(struct thread_names *all, pid_t tid, char *clean, const char *comm)
{
	struct known *k = add(all, tid);
	bool is_named = is_comm_of(clean, comm);

	k->absent_ns = 0;
	if (!is_named && may_be_between(all, k, comm) && is_doubtful(k, comm)) {
		free(clean);
		all->is_changed = true;
		return;
	}
	k->is_named = is_named;
	k->doubted_ns = 0;
	all->is_changed |= !k->name || strcmp(k->name, clean) != 0;
	all->name_bytes += strlen(clean) - (k->name ? strlen(k->name) : 0);
	free(k->name);
	k->name = clean;
	copy_text(k->comm, sizeof(k->comm), comm);
}

u64 thread_names_bytes(const struct thread_names *all)
{
	return all->name_bytes + all->by_tid.nr * (sizeof(struct known) + HEAP_BYTES) +
	       all->by_tid.cap * sizeof(struct dict_slot);
}

void thread_names_limit(struct thread_names *all, u64 max_bytes)
{
	all->max_bytes = max_bytes ?: 1;
}

size_t thread_names_left_out(const struct thread_names *all)
{
	return all->nr_left_out;
}

void thread_names_report(struct thread_names *all, pid_t tid, const char *name, size_t len)
{
	auto_str struct str utf8 = { 0 };
	struct str clean = { 0 };

	bool is_full = all->max_bytes && thread_names_bytes(all) > all->max_bytes;

	if (is_full || all->by_tid.nr >= KEPT_MAX) {
		all->nr_left_out += is_full ? all->by_tid.nr : 0;
		forget_all(all);
	}
	java_name_decode(&utf8, name, len);
	utf8_clean(&clean, utf8.at ?: "", NAME_MAX_BYTES);
	keep(all, tid, str_take(&clean), "");
}

/* A value of each thread, after each step of reading; 0 if one is missing. */
struct column {
	u64 *at;
	size_t nr;
};

/* Replaces every non-zero address by the `width` bytes at `off` after it. */
static int follow(struct mem *m, struct column *c, u64 off, u32 width)
{
	auto_free struct mem_request *requests = xcalloc(c->nr, sizeof(*requests));
	auto_free u64 *values = xcalloc(c->nr, sizeof(*values));
	size_t nr = 0;

	for (size_t i = 0; i < c->nr; i++)
		if (c->at[i])
			requests[nr++] =
				(struct mem_request){ c->at[i] + off, &values[i], width, false };
	int got = nr ? mem_read_batch(m, requests, nr) : 0;
	if (got < 0)
		return got;
	for (size_t i = 0; i < nr; i++)
		if (!requests[i].ok)
			*(u64 *)requests[i].buf = 0;
	memcpy(c->at, values, c->nr * sizeof(values[0]));
	return 0;
}

/*
 * From JavaThreads to the Strings of their names. A collector that moves objects concurrently
 * leaves old copies behind, and puts other objects in their place.
 */
static int find_strings(const struct thread_names *all, const struct vm_memory *j, struct column *c)
{
	const struct java_objects *o = &all->objects;
	const struct name_fields *f = &all->fields;
	auto_free u64 *java_threads = xmemdup(c->at, c->nr * sizeof(u64));
	auto_free u64 *words = xcalloc(c->nr, sizeof(u64));
	struct column eetops = { words, c->nr };
	int err = follow(j->mem, c, j->build.fields[THREAD_OBJECT].at, 8);

	if (!err && f->is_handle)
		err = follow(j->mem, c, 0, 8);
	for (size_t i = 0; i < c->nr; i++)
		words[i] = c->at[i] = java_root(o, c->at[i]);
	err = err ? err : follow(j->mem, &eetops, f->thread_eetop, 8);
	for (size_t i = 0; i < c->nr; i++)
		c->at[i] = words[i] == java_threads[i] ? c->at[i] : 0;
	err = err ? err : follow(j->mem, c, f->thread_name, o->reference_bytes);
	for (size_t i = 0; i < c->nr; i++)
		c->at[i] = java_address(o, c->at[i]);
	return err;
}

/* The class that most have. */
static u64 most_frequent(const u64 *classes, size_t nr)
{
	size_t best = 0;
	u64 found = 0;

	for (size_t i = 0; i < nr && i < VOTES_MAX; i++) {
		size_t same = 0;
		for (size_t k = 0; k < nr; k++)
			same += classes[i] && classes[k] == classes[i];
		if (same > best) {
			best = same;
			found = classes[i];
		}
	}
	return found;
}

/* Drops objects that are not Strings (any more). */
static int drop_others(struct thread_names *all, const struct vm_memory *j, struct column *c)
{
	const struct java_objects *o = &all->objects;
	auto_free u64 *classes = xmemdup(c->at, c->nr * sizeof(u64));
	struct column heads = { classes, c->nr };
	int err = follow(j->mem, &heads, o->class_off, o->class_bytes);

	for (size_t i = 0; i < c->nr; i++)
		classes[i] >>= o->class_shift;
	if (!err && !all->string_class)
		all->string_class = most_frequent(classes, c->nr);
	for (size_t i = 0; i < c->nr; i++)
		c->at[i] = classes[i] == all->string_class ? c->at[i] : 0;
	return err;
}

struct texts {
	struct column arrays, coders, lengths;
	u8 (*bytes)[READ_MAX_BYTES];
};

/* Reads for the Strings in `t->arrays` their arrays, encodings and lengths. */
static int read_arrays(const struct thread_names *all, const struct vm_memory *j, struct texts *t)
{
	const struct java_objects *o = &all->objects;
	const struct name_fields *f = &all->fields;
	size_t size = t->arrays.nr * sizeof(u64);
	int err = 0;

	memcpy(t->coders.at, t->arrays.at, size);
	if (f->string_coder)
		err = follow(j->mem, &t->coders, f->string_coder, 1);
	err = err ? err : follow(j->mem, &t->arrays, f->string_value, o->reference_bytes);
	for (size_t i = 0; i < t->arrays.nr; i++)
		t->arrays.at[i] = java_address(o, t->arrays.at[i]);
	memcpy(t->lengths.at, t->arrays.at, size);
	return err ? err : follow(j->mem, &t->lengths, o->array_length, 4);
}

static int read_bytes(const struct thread_names *all, const struct vm_memory *j, struct texts *t)
{
	const struct java_objects *o = &all->objects;
	auto_free struct mem_request *requests = xcalloc(t->arrays.nr, sizeof(*requests));
	size_t nr = 0;

	for (size_t i = 0; i < t->arrays.nr; i++) {
		u64 len = t->lengths.at[i] << (all->fields.string_coder ? 0 : 1);
		if (len > READ_MAX_BYTES)
			len = READ_MAX_BYTES;
		t->lengths.at[i] = t->arrays.at[i] ? len : 0;
		if (t->lengths.at[i])
			requests[nr++] = (struct mem_request){ t->arrays.at[i] + o->array_data,
							       t->bytes[i], (u32)len, false };
	}
	int got = nr ? mem_read_batch(j->mem, requests, nr) : 0;
	for (size_t i = 0; i < nr; i++)
		if (!requests[i].ok)
			t->arrays.at[(u8(*)[READ_MAX_BYTES])requests[i].buf - t->bytes] = 0;
	return got < 0 ? got : 0;
}

static void read_comm(pid_t pid, pid_t tid, char comm[16])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, comm, 16);
	comm[len > 0 ? len - 1 : 0] = '\0';
}

static int read_texts(struct thread_names *all, const struct hotspot *h,
		      const struct hotspot_thread *threads, size_t nr)
{
	const struct vm_memory *j = &h->jvm;
	auto_free char(*comms)[16] = xcalloc(nr, sizeof(*comms));
	auto_free u64 *words = xcalloc(3 * nr, sizeof(*words));
	auto_free u8(*bytes)[READ_MAX_BYTES] = xcalloc(nr, READ_MAX_BYTES);
	struct texts t = { { words, nr }, { words + nr, nr }, { words + 2 * nr, nr }, bytes };

	for (size_t i = 0; i < nr; i++)
		words[i] = threads[i].java_thread;
	/*
	 * Read comms first: a thread that renames itself meanwhile is then known by its old comm.
	 */
	read_comm(h->pid, h->pid, all->leader);
	for (size_t i = 0; i < nr; i++)
		read_comm(h->pid, threads[i].tid, comms[i]);
	int err = find_strings(all, j, &t.arrays);
	err = err ? err : drop_others(all, j, &t.arrays);
	err = err ? err : read_arrays(all, j, &t);
	err = err ? err : read_bytes(all, j, &t);
	for (size_t i = 0; !err && i < nr; i++)
		if (t.arrays.at[i])
			keep(all, threads[i].tid,
			     java_text_decode(bytes[i], t.lengths.at[i],
					      !all->fields.string_coder || t.coders.at[i] == 1,
					      NAME_MAX_BYTES),
			     comms[i]);
	return err;
}

int thread_names_read(struct thread_names *all, struct hotspot *h)
{
	auto_free struct hotspot_thread *threads = NULL;
	ssize_t nr = hotspot_threads(h, &threads);
	int err = nr < 0 ? (int)nr : 0;

	if (!err && !all->objects.reference_bytes)
		err = find_fields(&h->jvm, &all->fields)
			      ?: java_objects_find(&h->jvm, &all->objects);
	if (err)
		return err;
	all->nr_reads++;
	forget_ended(all);
	for (size_t i = 0; !err && i < (size_t)nr; i += AT_ONCE) {
		size_t rest = (size_t)nr - i;
		err = read_texts(all, h, threads + i, rest < AT_ONCE ? rest : AT_ONCE);
	}
	return err;
}

static struct known *find(const struct thread_names *all, pid_t tid)
{
	const u64 *place = dict_find(&all->by_tid, (u64)tid);

	return place ? (struct known *)(uintptr_t)*place : NULL;
}

const char *thread_names_find(const struct thread_names *all, pid_t tid)
{
	const struct known *k = find(all, tid);

	return k ? k->name : NULL;
}

/*
 * Reads all names again. In a JVM that renames no threads this happens less often, so a rename that
 * the kernel's comm does not show is found later there.
 */
static void read_again(struct thread_names *all, struct hotspot *h, u64 now)
{
	all->is_changed = false;
	thread_names_read(all, h);
	all->read_ns = time_mono_ns();
	all->pause_ns = (all->read_ns - now) * PAUSE_FACTOR;
	if (all->pause_ns < PAUSE_LEAST_NS)
		all->pause_ns = PAUSE_LEAST_NS;
	all->old_ns = all->is_changed || !all->old_ns ? OLD_NS : 2 * all->old_ns;
	if (all->old_ns > OLD_MOST_NS)
		all->old_ns = OLD_MOST_NS;
}

static bool is_due(const struct thread_names *all, const struct known *k, const char *comm, u64 now)
{
	if (now < all->read_ns + all->pause_ns)
		return false;
	if (!k || strcmp(k->comm, comm) != 0 || now > all->read_ns + all->old_ns)
		return true;
	return k->absent_ns && now >= all->read_ns + k->absent_ns;
}

/*
 * A thread of the collector is in no list, a new Java thread soon is: it is looked for again after
 * growing pauses. A pause begins with the last read, whichever thread it was for: each read lists
 * all threads, so that twenty threads of the collector cost as many reads as one.
 */
static struct known *note_absent(struct thread_names *all, pid_t tid, const char *comm)
{
	struct known *k = add(all, tid);
	bool is_first = !k->absent_ns || strcmp(k->comm, comm) != 0;
	k->absent_ns = is_first ? ABSENT_NS : 2 * k->absent_ns;
	if (k->absent_ns > OLD_MOST_NS)
		k->absent_ns = OLD_MOST_NS;
	k->asked_ns = time_mono_ns();
	copy_text(k->comm, sizeof(k->comm), comm);
	return k;
}

const char *thread_names_ask(struct thread_names *all, struct hotspot *h, pid_t tid,
			     const char *comm)
{
	struct known *k = find(all, tid);
	u64 now = time_mono_ns();

	if (k && k->absent_ns)
		k->asked_ns = now;
	if (is_due(all, k, comm, now)) {
		read_again(all, h, now);
		k = find(all, tid);
		if (!k || k->absent_ns)
			k = note_absent(all, tid, comm);
	}
	/* Another comm means another name, of this thread or of one that had its tid before. */
	return k && !strcmp(k->comm, comm) ? k->name : NULL;
}

const char *thread_names_reported(const struct thread_names *all, pid_t tid, const char *comm)
{
	const char *name = thread_names_find(all, tid);
	char native[16]; /* TASK_COMM_LEN */

	if (!name)
		return NULL;
	copy_text(native, sizeof(native), name);
	if (!strcmp(native, comm))
		return name;
	size_t len = strlen(name);
	if (len < sizeof(native))
		return NULL;
	snprintf(native, sizeof(native), "%.7s..%.6s", name, name + len - 6);
	return strcmp(native, comm) ? NULL : name;
}

void thread_names_each(const struct thread_names *all,
		       void (*visit)(pid_t tid, const char *name, void *ctx), void *ctx)
{
	dict_each(slot, &all->by_tid) {
		const struct known *k = (const struct known *)(uintptr_t)slot->value;
		if (k->name)
			visit((pid_t)slot->key, k->name, ctx);
	}
}
