/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of a JVM by name. */
#include "jvm/memory/boot_classes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/time.h"

#define CLASSES_MAX  200000 /* of the boot loader; JDK 25 has 7,500 */
#define LOADERS_MAX  100000
#define KLASS_SPAN   512 /* of a Klass: its name and the next one */
#define NAME_MAX_LEN 128
#define PAGE_BYTES   16384 /* neighbours on the list are mostly neighbours in memory */
#define NR_PAGES     32

struct boot_pages {
	struct boot_page {
		u64 at; /* 0: none */
		u8 bytes[PAGE_BYTES];
	} page[NR_PAGES];
};

static int read_paged(const struct vm_memory *j, struct boot_pages *all, u64 addr, void *out,
		      size_t len)
{
	u64 at = addr / PAGE_BYTES * PAGE_BYTES;
	struct boot_page *page = &all->page[addr / PAGE_BYTES % NR_PAGES];

	if (!at || addr + len > at + PAGE_BYTES)
		return mem_read(j->mem, addr, out, len);
	if (page->at != at) {
		page->at = 0;
		if (mem_read(j->mem, at, page->bytes, PAGE_BYTES))
			return mem_read(j->mem, addr, out, len);
		page->at = at;
	}
	memcpy(out, page->bytes + (addr - at), len);
	return 0;
}

/* Whether the name that a Symbol holds is that of a wanted class; sets its klass. */
static int match(const struct vm_memory *j, struct boot_search *s, u64 klass, u64 symbol,
		 struct boot_class *wanted, size_t nr)
{
	const struct jvm_field *f = j->build.fields;
	char name[NAME_MAX_LEN];
	u16 len;
	int err = read_paged(j, s->pages, symbol + f[SYMBOL_LENGTH].at, &len, sizeof(len));
	bool may_be = false;

	for (size_t i = 0; !err && i < nr; i++)
		may_be |= !wanted[i].klass && strlen(wanted[i].name) == len;
	if (err || !may_be || len > sizeof(name))
		return err;
	err = read_paged(j, s->pages, symbol + f[SYMBOL_BODY].at, name, len);
	for (size_t i = 0; !err && i < nr; i++)
		if (!wanted[i].klass && strlen(wanted[i].name) == len &&
		    !memcmp(wanted[i].name, name, len))
			wanted[i].klass = klass;
	return err;
}

static bool can_walk(const struct vm_memory *j)
{
	return vm_has(&j->build, KLASS_NEXT_LINK) && vm_has(&j->build, KLASS_NAME) &&
	       vm_has(&j->build, SYMBOL_LENGTH) && vm_has(&j->build, SYMBOL_BODY) &&
	       j->build.fields[KLASS_NEXT_LINK].at <= KLASS_SPAN - 8 &&
	       j->build.fields[KLASS_NAME].at <= KLASS_SPAN - 8;
}

static int begin(const struct vm_memory *j, struct boot_search *s)
{
	u64 thread, loader = 0, head = 0;

	if (!can_walk(j))
		return -ENOENT;
	int err = vm_read_static(j, THREAD_CLASS, &thread);
	err = err ?: vm_read(j, thread, KLASS_LOADER_DATA, &loader);
	err = err ?: vm_read(j, loader, LOADER_KLASSES, &head);
	if (err || head == s->known)
		return err;
	s->head = s->next = head;
	s->nr_walked = 0;
	s->pages = xcalloc(1, sizeof(*s->pages));
	return 0;
}

static void end(struct boot_search *s)
{
	free(s->pages);
	s->pages = NULL;
	s->next = 0;
}

/* Walks a list from s->next on, up to s->known. */
static int walk(const struct vm_memory *j, struct boot_search *s, struct boot_class *wanted,
		size_t nr, u64 deadline_ns)
{
	int err = 0;

	while (!err && s->next && s->next != s->known) {
		u64 span[KLASS_SPAN / 8], klass = s->next;
		const struct jvm_field *f = j->build.fields;
		size_t bytes = f[KLASS_NEXT_LINK].at > f[KLASS_NAME].at ? f[KLASS_NEXT_LINK].at
									: f[KLASS_NAME].at;
		err = read_paged(j, s->pages, klass, span, bytes + 8);
		if (err)
			break;
		memcpy(&s->next, (u8 *)span + f[KLASS_NEXT_LINK].at, 8);
		u64 symbol;
		memcpy(&symbol, (u8 *)span + f[KLASS_NAME].at, 8);
		err = match(j, s, klass, symbol, wanted, nr);
		if (++s->nr_walked == CLASSES_MAX)
			break;
		if (!err && s->nr_walked % 64 == 0 && time_worked_ns() > deadline_ns)
			return -EAGAIN;
	}
	return err;
}

int boot_classes_find(const struct vm_memory *j, struct boot_search *s, struct boot_class *wanted,
		      size_t nr, u64 limit_ns)
{
	u64 deadline_ns = time_worked_ns() + limit_ns;
	int err = s->next ? 0 : begin(j, s);

	err = err ?: walk(j, s, wanted, nr, deadline_ns);
	if (err == -EAGAIN)
		return err;
	if (!err && s->pages)
		s->known = s->head;
	end(s);
	return err;
}

/* Moves on to the next loader's list; s->loader is 0 after the last. */
static int next_loader(const struct vm_memory *j, struct boot_search *s)
{
	int err = s->loader ? vm_read(j, s->loader, LOADER_NEXT, &s->loader)
			    : vm_read_static(j, LOADERS_HEAD, &s->loader);

	return err ?: s->loader ? vm_read(j, s->loader, LOADER_KLASSES, &s->next) : 0;
}

int loaded_classes_find(const struct vm_memory *j, struct boot_search *s, struct boot_class *wanted,
			size_t nr, u64 limit_ns)
{
	u64 deadline_ns = time_worked_ns() + limit_ns;
	int err = can_walk(j) ? 0 : -ENOENT;

	if (!err && !s->pages) {
		s->pages = xcalloc(1, sizeof(*s->pages));
		s->loader = s->next = 0;
		s->nr_walked = s->nr_loaders = 0;
		err = next_loader(j, s);
	}
	while (!err && s->loader) {
		err = walk(j, s, wanted, nr, deadline_ns);
		if (err == -EAGAIN)
			return err;
		if (s->nr_walked >= CLASSES_MAX || ++s->nr_loaders == LOADERS_MAX)
			break;
		err = err ?: next_loader(j, s);
	}
	end(s);
	return err;
}

void boot_search_fini(struct boot_search *s)
{
	end(s);
}
