/* SPDX-License-Identifier: Apache-2.0 */
/* Names of native code: the module of an address, and the cache of modules' tables. */
#include "sym/files/native.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <uthash.h>

#include "base/alloc.h"
#include "base/dict.h"
#include "base/file.h"
#include "base/str.h"
#include "base/time.h"
#include "elf/debugfile.h"
#include "elf/symbols.h"
#include "proc/target_file.h"
#include "sym/files/demangle.h"
#include "sym/files/parse_symbols.h"

/*
 * A place takes some 200 bytes, a file up to 3 KB. Beyond the limit all of them are dropped and
 * found again.
 */
#define MAX_PLACES  16384
#define MAX_FILES   4096
#define MAX_READING 64 /* files that are read at a time; each takes a descriptor or two */
/* pause before another try to be among the files that are read */
#define RETRY_NS   (100 * NS_PER_MS)
#define USER_SHARE 4 /* one user's tables get at most 1/4 of the bytes if other users need more */

/* The identity of a module. Compared as bytes, and therefore zeroed before use. */
struct module_key {
	u64 size, uid;
	/* zeros if it has none; only then the fields below are set */
	u8 build_id[ELF_BUILD_ID_MAX];
	u64 dev, inode, changed_ns;
};

struct module {
	struct module_key key;
	struct work *work;       /* while it is being read */
	struct symbols *symbols; /* NULL: no names, because of `err` */
	int err;
	size_t bytes;
	u64 last_used;
	u32 used_turn;
	UT_hash_handle hh;
};

/* The identity of an open file; zeroed before use too. */
struct file_key {
	u64 dev, inode, size, uid, modified_ns, changed_ns;
};

struct file {
	struct file_key key;
	int fd;            /* -1 once the module is known */
	struct work *work; /* while its headers are read */
	int err;
	struct parsed_headers headers;
	struct module *module; /* NULL: not known yet, or dropped */
	bool is_used;          /* by a place */
	UT_hash_handle hh;
};

/*
 * The place where processes have mapped a module: the one that called mmap, and its forks. Their
 * file is opened once. Zeroed before use too.
 */
struct place_key {
	s64 pid; /* 0 if the mapping has an origin */
	u64 origin, start, end, file_off, inode;
	u32 dev_major, dev_minor;
};

struct place {
	struct place_key key;
	pid_t pid;         /* process for which the place was last settled */
	struct file *file; /* NULL: it could not be opened, because of `err` */
	u64 bias;
	bool has_bias;
	int err;
	u64 retry_ns; /* not to be tried before */
	bool is_used; /* since the last turn */
	UT_hash_handle hh;
};

struct native {
	size_t budget, bytes;
	char *debug_root;
	struct workers *workers;
	struct module *modules;
	struct file *files;
	struct place *places;
	u32 nr_reading; /* files and modules with work */
	u64 now;        /* counts uses */
	u32 turn;
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

void native_use_workers(struct native *n, struct workers *workers)
{
	n->workers = workers;
}

static void forget_place(struct native *n, struct place *p)
{
	HASH_DEL(n->places, p);
	free(p);
}

static void forget_places(struct native *n)
{
	struct place *p, *next;

	HASH_ITER(hh, n->places, p, next)
		forget_place(n, p);
}

static void end_work(struct native *n, struct work **work)
{
	n->nr_reading -= *work != NULL;
	work_free(take(*work));
}

static void forget_file(struct native *n, struct file *f)
{
	HASH_DEL(n->files, f);
	end_work(n, &f->work);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

static void forget_files(struct native *n)
{
	struct file *f, *next;

	forget_places(n);
	HASH_ITER(hh, n->files, f, next)
		forget_file(n, f);
}

static void forget_module(struct native *n, struct module *m)
{
	struct file *f, *next;

	HASH_ITER(hh, n->files, f, next)
		if (f->module == m)
			f->module = NULL;
	HASH_DEL(n->modules, m);
	n->bytes -= m->bytes;
	end_work(n, &m->work);
	symbols_free(m->symbols);
	free(m);
}

void native_turn(struct native *n)
{
	struct place *p, *next_place;
	struct file *f, *next_file;
	struct module *m, *next;

	n->turn++;
	HASH_ITER(hh, n->places, p, next_place) {
		if (!p->is_used) {
			forget_place(n, p);
			continue;
		}
		p->is_used = false;
		if (p->file)
			p->file->is_used = true;
	}
	HASH_ITER(hh, n->files, f, next_file) {
		if (!f->is_used)
			forget_file(n, f);
		else
			f->is_used = false;
	}
	HASH_ITER(hh, n->modules, m, next)
		if (n->turn - m->used_turn > NATIVE_TABLE_TURNS && !m->work)
			forget_module(n, m);
}

void native_each_cache(const struct native *n, cache_use_fn visit, void *ctx)
{
	const struct cache_use tables = { "symbols", HASH_COUNT(n->modules), n->bytes, n->budget };
	const struct cache_use files = { "symbol_files",
					 HASH_COUNT(n->files) + HASH_COUNT(n->places),
					 HASH_COUNT(n->files) * sizeof(*n->files) +
						 HASH_COUNT(n->places) * sizeof(*n->places),
					 MAX_FILES * sizeof(*n->files) +
						 MAX_PLACES * sizeof(*n->places) };

	visit(&tables, ctx);
	visit(&files, ctx);
}

void native_free(struct native *n)
{
	struct module *m, *next;

	if (!n)
		return;
	forget_files(n);
	HASH_ITER(hh, n->modules, m, next)
		forget_module(n, m);
	symbols_free(n->vdso);
	str_fini(&n->name);
	free(n->debug_root);
	free(n);
}

/* Whether the user has more than a share; `bytes` has the bytes of each user's tables. */
static bool is_greedy(const struct native *n, const struct dict *bytes, u64 uid)
{
	return uid && *dict_find(bytes, uid) > n->budget / USER_SHARE;
}

/* The module to drop next: of greedy users first, then the one not used for longest. */
static struct module *find_worst(const struct native *n, const struct module *keep)
{
	struct module *m, *next, *worst = NULL;
	bool worst_is_greedy = false;
	struct dict bytes = { 0 };

	HASH_ITER(hh, n->modules, m, next)
		*dict_add(&bytes, m->key.uid) += m->bytes;
	HASH_ITER(hh, n->modules, m, next) {
		if (m == keep || m->work)
			continue;
		bool greedy = is_greedy(n, &bytes, m->key.uid);
		if (!worst || greedy > worst_is_greedy ||
		    (greedy == worst_is_greedy && m->last_used < worst->last_used)) {
			worst = m;
			worst_is_greedy = greedy;
		}
	}
	dict_fini(&bytes);
	return worst;
}

/* Drops modules until the budget suffices, but never `keep`. */
static void evict(struct native *n, const struct module *keep)
{
	struct module *worst;

	while (n->bytes > n->budget && (worst = find_worst(n, keep)))
		forget_module(n, worst);
}

static u64 ns_of(struct timespec t)
{
	return (u64)t.tv_sec * NS_PER_SEC + (u64)t.tv_nsec;
}

void native_set_budget(struct native *n, size_t budget_bytes)
{
	n->budget = budget_bytes;
	evict(n, NULL);
}

static struct module_key key_of(const struct file *f)
{
	struct module_key key;

	memset(&key, 0, sizeof(key));
	key.size = f->key.size;
	key.uid = f->key.uid;
	memcpy(key.build_id, f->headers.build_id, f->headers.build_id_len);
	if (!f->headers.build_id_len) {
		key.dev = f->key.dev;
		key.inode = f->key.inode;
		key.changed_ns = f->key.modified_ns;
	}
	return key;
}

static struct work *read_symbols(struct native *n, struct file *f, pid_t pid,
				 const struct mapping *m)
{
	const struct symbols_request request = { n->budget };
	auto_str struct str params = { 0 };

	str_add_bytes(&params, &request, sizeof(request));
	str_add(&params, m->path);
	str_add_char(&params, '\0');
	const struct work_order order = {
		.task = WORKER_SYMBOLS,
		.user = (uid_t)f->key.uid,
		.fds = { take_fd(f->fd), -1 },
		.params = params.at,
		.len = params.len,
		.max = n->budget + sizeof(struct symbols_request) + 4096,
		.open = debug_opener_open,
		.ctx = debug_opener_new(n->debug_root, pid, (uid_t)f->key.uid),
		.run = parse_symbols_task,
	};
	return work_start(n->workers, &order);
}

/* Whether another file of this user may be read now. */
static bool may_read(const struct native *n, u64 uid)
{
	struct file *f, *next_file;
	struct module *m, *next;
	u32 nr = 0;

	if (!n->workers || n->nr_reading < MAX_READING / USER_SHARE)
		return true;
	HASH_ITER(hh, n->files, f, next_file)
		nr += f->work && f->key.uid == uid;
	HASH_ITER(hh, n->modules, m, next)
		nr += m->work && m->key.uid == uid;
	return n->nr_reading < MAX_READING && (!uid || nr < MAX_READING / USER_SHARE);
}

/* The module of a file whose headers are known; its symbols may still have to be read. */
static int find_module(struct native *n, struct file *f, const struct mapper *by,
		       const struct mapping *m)
{
	struct module_key key = key_of(f);
	struct module *module;

	HASH_FIND(hh, n->modules, &key, sizeof(key), module);
	if (!module && !may_read(n, f->key.uid)) {
		close(take_fd(f->fd)); /* it is opened again */
		return -EAGAIN;
	}
	if (!module) {
		if (f->fd < 0)
			f->fd = mapped_file_open_by(by, m);
		if (f->fd < 0)
			return take_fd(f->fd) ?: -ENOENT;
		module = xcalloc(1, sizeof(*module));
		module->key = key;
		module->last_used = n->now;
		module->used_turn = n->turn;
		module->bytes = sizeof(*module);
		module->work = read_symbols(n, f, by->pid, m);
		n->nr_reading++;
		n->bytes += module->bytes;
		HASH_ADD(hh, n->modules, key, sizeof(module->key), module);
	}
	if (f->fd >= 0)
		close(take_fd(f->fd));
	f->module = module;
	return 0;
}

/* Takes the symbols of a module that is being read; -EAGAIN, 0, or why it has none. */
static int poll_module(struct native *n, struct module *m)
{
	auto_free void *bytes = NULL;
	size_t nr = 0;

	if (!m->work)
		return m->err;
	m->err = work_result(m->work, &bytes, &nr);
	if (m->err == -EAGAIN)
		return m->err;
	end_work(n, &m->work);
	if (!m->err)
		m->err = symbols_decode(&bytes, nr, &m->symbols);
	if (m->symbols) {
		m->bytes += symbols_bytes(m->symbols);
		n->bytes += symbols_bytes(m->symbols);
	}
	evict(n, m);
	return m->err;
}

/* Takes the headers of a file that is being read; -EAGAIN, 0, or why it has none. */
static int poll_file(struct native *n, struct file *f)
{
	auto_free void *bytes = NULL;
	size_t nr = 0;

	if (!f->work)
		return f->err;
	f->err = work_result(f->work, &bytes, &nr);
	if (f->err == -EAGAIN)
		return f->err;
	end_work(n, &f->work);
	if (!f->err)
		f->err = parsed_headers_take(bytes, nr, &f->headers);
	if (f->err)
		close(take_fd(f->fd));
	return f->err;
}

/* The known file, or a new one whose headers are being read. Takes `fd` over. */
static struct file *file_of(struct native *n, int fd, const struct stat *st)
{
	struct file_key key = { st->st_dev, st->st_ino,         (u64)st->st_size,
				st->st_uid, ns_of(st->st_mtim), ns_of(st->st_ctim) };
	struct file *f;

	HASH_FIND(hh, n->files, &key, sizeof(key), f);
	if (f) {
		close(fd);
		return f;
	}
	f = xcalloc(1, sizeof(*f));
	f->key = key;
	f->fd = fd;
	const struct work_order order = {
		.task = WORKER_HEADERS,
		.user = st->st_uid,
		.fds = { dup(fd), -1 },
		.max = sizeof(struct parsed_headers),
		.run = parse_headers_task,
	};
	f->work = work_start(n->workers, &order);
	n->nr_reading++;
	HASH_ADD(hh, n->files, key, sizeof(f->key), f);
	return f;
}

static int open_file(struct native *n, const struct mapper *by, const struct mapping *m,
		     struct file **out)
{
	auto_close int fd = mapped_file_open_by(by, m);
	struct stat st;

	if (fd < 0)
		return fd;
	int err = file_status(fd, &st);
	if (err)
		return err;
	if (!may_read(n, st.st_uid))
		return -EAGAIN;
	*out = file_of(n, take_fd(fd), &st);
	return 0;
}

/* Brings the place one step on; -EAGAIN until its module is known and read. */
static int settle_place(struct native *n, const struct mapper *by, const struct mapping *m,
			struct place *p)
{
	if (!p->file) {
		u64 now = time_mono_ns();
		int err = now < p->retry_ns ? p->err : open_file(n, by, m, &p->file);
		if (err && now >= p->retry_ns)
			p->retry_ns = now + RETRY_NS;
		if (err)
			return err;
	}
	int err = poll_file(n, p->file);
	if (!err && !p->has_bias) {
		err = elf_bias_of(p->file->headers.segments, p->file->headers.nr_segments, m->start,
				  m->file_off, &p->bias);
		p->has_bias = !err;
	}
	if (!err && !p->file->module)
		err = find_module(n, p->file, by, m);
	return err ? err : poll_module(n, p->file->module);
}

/* Errors of this process, which do not concern the module. */
static bool is_passing(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -EINTR ||
	       err == -EAGAIN || err == -EBUSY || err == -EPIPE;
}

/*
 * Its module may have been dropped since, and may be read again for another place. A file that
 * could not be opened by way of one process, because it had ended or has another root, may be found
 * by way of another.
 */
static bool must_settle(const struct place *p, pid_t pid)
{
	if (p->err)
		return is_passing(p->err) || (!p->file && pid != p->pid);
	return !p->file->module || !p->file->module->symbols;
}

static struct place *place_of(struct native *n, const struct mapper *by, const struct mapping *m)
{
	struct place_key key;
	struct place *p;

	memset(&key, 0, sizeof(key));
	key.pid = m->origin ? 0 : by->pid;
	key.origin = m->origin;
	key.start = m->start;
	key.end = m->end;
	key.file_off = m->file_off;
	key.inode = m->inode;
	key.dev_major = m->dev_major;
	key.dev_minor = m->dev_minor;
	HASH_FIND(hh, n->places, &key, sizeof(key), p);
	if (!p) {
		if (HASH_COUNT(n->files) >= MAX_FILES)
			forget_files(n);
		if (HASH_COUNT(n->places) >= MAX_PLACES)
			forget_places(n);
		p = xcalloc(1, sizeof(*p));
		p->key = key;
		/* Until its headers are read, the file's offset is the best number for an address.
		 */
		p->bias = m->inode ? m->start - m->file_off : m->start;
		p->err = -EAGAIN;
		HASH_ADD(hh, n->places, key, sizeof(p->key), p);
	}
	p->is_used = true;
	if (must_settle(p, by->pid)) {
		if (!is_passing(p->err))
			p->retry_ns = 0;
		p->pid = by->pid;
		p->err = settle_place(n, by, m, p);
	}
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
static const char *vdso_name(const struct native *n, const struct mapping *m, u64 vaddr)
{
	u64 start;
	bool is_ours = m->end - m->start == n->vdso_size && m->start > UINT32_MAX;

	return n->vdso && is_ours ? symbols_find(n->vdso, vaddr, &start) : NULL;
}

/* Finds the symbol in a file that was read, or the function or the code around the address. */
static const char *find_symbol(struct native *n, const struct place *p, struct native_name *out)
{
	struct module *module = p->file->module;
	const struct symbols *symbols = module->symbols;
	struct unnamed *u = &out->unnamed;
	u64 start, end;

	module->last_used = ++n->now;
	module->used_turn = n->turn;
	const char *symbol = symbols_find(symbols, out->offset, &start);
	if (symbol) {
		*u = (struct unnamed){ UNNAMED_FUNCTION, .start = start };
		out->is_role = symbols_is_role(symbols, symbol);
		out->is_guess = symbols_is_guess(symbols, symbol);
	} else if (symbols_gap(symbols, out->offset, &start, &end)) {
		*u = (struct unnamed){ UNNAMED_RANGE, .start = start, .end = end };
	}
	return symbol;
}

int native_name(struct native *n, const struct mapper *by, const struct mapping *m, u64 pc,
		struct native_name *out)
{
	const char *symbol = NULL;
	struct place *p = NULL;
	int err = 0;

	*out = (struct native_name){ .module = file_name(m) };
	if (!m->inode) {
		out->offset = pc - m->start;
		if (!strcmp(m->path, "[vdso]")) {
			out->is_program = true;
			out->offset -= n->vdso_bias;
			symbol = vdso_name(n, m, out->offset);
		} else if (mapping_is_uprobes_trampoline(m)) {
			symbol = "[uprobes-trampoline]";
		}
	} else {
		p = place_of(n, by, m);
		out->is_libjvm = !strcmp(out->module, "libjvm.so");
		out->is_program = p->has_bias;
		out->offset = pc - p->bias;
		if (p->has_bias) {
			out->build_id = p->file->headers.build_id;
			out->build_id_len = p->file->headers.build_id_len;
		}
		err = p->err;
		out->is_passing = is_passing(err);
	}
	out->unnamed = (struct unnamed){ UNNAMED_ADDRESS, .start = out->offset };
	if (p && !err)
		symbol = find_symbol(n, p, out);
	if (!symbol || !*symbol)
		return err ? err : -ENOENT;
	demangle(&n->name, symbol);
	out->symbol = n->name.at;
	return 0;
}
