/* SPDX-License-Identifier: Apache-2.0 */
/* Names of native code: the module of an address, and the cache of modules' tables. */
#include "sym/native.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <uthash.h>

#include "base/alloc.h"
#include "base/str.h"
#include "elf/debugfile.h"
#include "elf/symbols.h"
#include "proc/mapped_file.h"
#include "sym/demangle.h"

/* A place takes some 200 bytes. Beyond the limit all places are dropped and found again. */
#define MAX_PLACES 16384

/* The identity of a module. Compared as bytes, and therefore zeroed before use. */
struct module_key {
	u64 size, uid;
	u8 build_id[ELF_BUILD_ID_MAX]; /* or zeros; only then the fields below are set */
	u64 dev, inode, changed_ns;
};

struct module {
	struct module_key key;
	struct symbols *symbols;
	size_t bytes;
	u64 last_used;
	UT_hash_handle hh;
};

/* The place where a process has mapped a module; zeroed before use too. */
struct place_key {
	s64 pid;
	u64 start, end, file_off, inode;
	u32 dev_major, dev_minor;
};

struct place {
	struct place_key key;
	struct module *module; /* NULL: no names, because of `err` */
	u64 bias;
	int err;
	UT_hash_handle hh;
};

struct native {
	size_t budget, bytes;
	char *debug_root;
	struct module *modules;
	struct place *places;
	u64 now; /* counts uses */
	struct symbols *vdso;
	u64 vdso_size, vdso_bias;
	struct str name;
};

static void read_vdso(struct native *n)
{
	u64 start = getauxval(AT_SYSINFO_EHDR);
	struct mappings all = { 0 };
	auto_elf struct elf *e = NULL;

	if (!start || mappings_read(getpid(), true, &all))
		return;
	const struct mapping *m = mappings_find(&all, start);
	u64 size = m && m->start == start ? m->end - m->start : 0;
	mappings_fini(&all);
	if (!size || elf_open_memory((const void *)(uintptr_t)start, size, &e) ||
	    elf_bias(e, 0, 0, &n->vdso_bias))
		return;
	n->vdso_size = size;
	n->vdso = symbols_read(e, NULL, 0, 1 << 20);
}

struct native *native_new(size_t budget_bytes, const char *debug_root)
{
	struct native *n = xcalloc(1, sizeof(*n));

	n->budget = budget_bytes;
	n->debug_root = xstrdup(debug_root);
	read_vdso(n);
	return n;
}

static void forget_place(struct native *n, struct place *p)
{
	HASH_DEL(n->places, p);
	free(p);
}

static void forget_places(struct native *n, const struct module *of)
{
	struct place *p, *next;

	HASH_ITER(hh, n->places, p, next)
		if (!of || p->module == of)
			forget_place(n, p);
}

static void forget_module(struct native *n, struct module *m)
{
	forget_places(n, m);
	HASH_DEL(n->modules, m);
	n->bytes -= m->bytes;
	symbols_free(m->symbols);
	free(m);
}

void native_free(struct native *n)
{
	struct module *m, *next;

	if (!n)
		return;
	forget_places(n, NULL);
	HASH_ITER(hh, n->modules, m, next)
		forget_module(n, m);
	symbols_free(n->vdso);
	str_fini(&n->name);
	free(n->debug_root);
	free(n);
}

/* Drops the least recently used modules until the budget suffices, but never `keep`. */
static void evict(struct native *n, const struct module *keep)
{
	while (n->bytes > n->budget) {
		struct module *m, *next, *oldest = NULL;
		HASH_ITER(hh, n->modules, m, next)
			if (m != keep && (!oldest || m->last_used < oldest->last_used))
				oldest = m;
		if (!oldest)
			return;
		forget_module(n, oldest);
	}
}

void native_set_budget(struct native *n, size_t budget_bytes)
{
	n->budget = budget_bytes;
	evict(n, NULL);
}

static struct module_key key_of(const struct elf *e, const struct stat *st)
{
	struct module_key key;
	size_t len;

	memset(&key, 0, sizeof(key));
	key.size = (u64)st->st_size;
	key.uid = st->st_uid;
	if (elf_build_id(e, key.build_id, &len)) {
		key.dev = st->st_dev;
		key.inode = st->st_ino;
		key.changed_ns = (u64)st->st_mtim.tv_sec * 1000000000 + (u64)st->st_mtim.tv_nsec;
	}
	return key;
}

/* Names of a module without .symtab may be in a separate or embedded debug file. */
static struct symbols *read_stripped(const struct native *n, const struct elf *e, pid_t pid,
				     const struct mapping *m, uid_t owner)
{
	const struct elf *more[2];
	size_t nr = 0, len;
	auto_free void *embedded = NULL;
	auto_elf struct elf *inner = NULL, *separate = NULL;

	char root[32];
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	const struct debug_places in = { n->debug_root, root, m->path, owner };
	auto_close int fd = debugfile_find(e, &in);
	if (fd >= 0 && !elf_open_fd(fd, &separate))
		more[nr++] = separate;
	if (!debugfile_embedded(e, &embedded, &len) && !elf_open_memory(embedded, len, &inner))
		more[nr++] = inner;
	return symbols_read(e, more, nr, n->budget);
}

static struct module *load_module(struct native *n, const struct elf *e,
				  const struct module_key *key, pid_t pid, const struct mapping *m)
{
	struct module *module = xcalloc(1, sizeof(*module));

	module->key = *key;
	module->symbols = elf_section_find(e, ".symtab")
				  ? symbols_read(e, NULL, 0, n->budget)
				  : read_stripped(n, e, pid, m, (uid_t)key->uid);
	module->bytes = sizeof(*module) + symbols_bytes(module->symbols);
	module->last_used = n->now;
	n->bytes += module->bytes;
	HASH_ADD(hh, n->modules, key, sizeof(module->key), module);
	evict(n, module);
	return module;
}

/* Fills in the module and the bias, or returns the reason for their absence. */
static int find_module(struct native *n, pid_t pid, const struct mapping *m, struct place *p)
{
	auto_close int fd = mapped_file_open(pid, m);
	auto_elf struct elf *e = NULL;
	struct stat st;

	if (fd < 0)
		return fd;
	int err = elf_open_fd(fd, &e);
	if (!err)
		err = elf_bias(e, m->start, m->file_off, &p->bias);
	if (err)
		return err;
	if (fstat(fd, &st))
		return -errno;

	struct module_key key = key_of(e, &st);
	HASH_FIND(hh, n->modules, &key, sizeof(key), p->module);
	if (!p->module)
		p->module = load_module(n, e, &key, pid, m);
	return 0;
}

/* Errors of this process, which do not concern the module. */
static bool is_passing(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -EINTR;
}

static struct place *place_of(struct native *n, pid_t pid, const struct mapping *m)
{
	struct place_key key;
	struct place *p;

	memset(&key, 0, sizeof(key));
	key.pid = pid;
	key.start = m->start;
	key.end = m->end;
	key.file_off = m->file_off;
	key.inode = m->inode;
	key.dev_major = m->dev_major;
	key.dev_minor = m->dev_minor;
	HASH_FIND(hh, n->places, &key, sizeof(key), p);
	if (p && !is_passing(p->err))
		return p;
	if (p)
		forget_place(n, p);
	if (HASH_COUNT(n->places) >= MAX_PLACES)
		forget_places(n, NULL);

	p = xcalloc(1, sizeof(*p));
	p->key = key;
	/* Until its tables are read, the file's offset is the best number for an address. */
	p->bias = m->inode ? m->start - m->file_off : m->start;
	p->err = find_module(n, pid, m, p);
	HASH_ADD(hh, n->places, key, sizeof(p->key), p);
	return p;
}

static const char *file_name(const struct mapping *m)
{
	const char *slash = strrchr(m->path, '/');

	if (!*m->path || (slash && !slash[1]))
		return "[anon]";
	return slash ? slash + 1 : m->path;
}

/* A 32-bit process has another vdso, which lies below 4 GB. */
static const char *vdso_name(const struct native *n, const struct mapping *m, u64 vaddr, u64 *start)
{
	bool is_ours = m->end - m->start == n->vdso_size && m->start > UINT32_MAX;

	return n->vdso && is_ours ? symbols_find(n->vdso, vaddr, start) : NULL;
}

int native_name(struct native *n, pid_t pid, const struct mapping *m, u64 pc,
		struct native_name *out)
{
	const char *symbol = NULL;
	int err = 0;

	*out = (struct native_name){ .module = file_name(m) };
	if (!m->inode) {
		out->offset = pc - m->start;
		if (!strcmp(m->path, "[vdso]")) {
			out->offset -= n->vdso_bias;
			symbol = vdso_name(n, m, out->offset, &out->function);
		}
	} else {
		struct place *p = place_of(n, pid, m);
		out->is_libjvm = !strcmp(out->module, "libjvm.so");
		out->offset = pc - p->bias;
		err = p->err;
		if (p->module) {
			p->module->last_used = ++n->now;
			symbol = symbols_find(p->module->symbols, out->offset, &out->function);
			out->is_role = symbol && symbols_is_role(p->module->symbols, symbol);
		}
	}
	if (!symbol)
		out->function = out->offset;
	if (!symbol || !*symbol)
		return err ? err : -ENOENT;
	demangle(&n->name, symbol);
	out->symbol = n->name.at;
	return 0;
}

size_t native_bytes(const struct native *n)
{
	return n->bytes + HASH_COUNT(n->places) * sizeof(struct place);
}

size_t native_nr_modules(const struct native *n)
{
	return HASH_COUNT(n->modules);
}
