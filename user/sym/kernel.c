/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernel code from /proc/kallsyms, packed into two arrays and one string. */
#include "sym/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"
#include "sandbox/rights.h"

#define MAX_SYMBOLS    4000000
#define MAX_NAMES      (256u << 20)
#define LINE_MAX_BYTES 32768

/*
 * The assumed length of a module's last function and the greatest one of a BPF program. There are
 * no sizes, and the next symbol may be gigabytes away.
 */
#define LAST_REACH 65536

/* The name of an entry that marks the end of code. */
#define NO_NAME 0

/* In the number of a name: the symbol was gone at the last read. Above MAX_NAMES. */
#define GONE (1u << 31)

/* Symbols from index `first` on belong to the module of that name. */
struct module_run {
	u32 first, name;
};

struct kernel_syms {
	u64 *addrs; /* sorted */
	u32 *names; /* by the same index: offsets into `pool`, perhaps with GONE */
	size_t nr_gone;
	size_t nr;
	VEC(struct module_run) runs; /* sorted; the first begins at 0 */
	struct str pool;             /* NUL-terminated strings; the empty one is at 0 */
};

struct kernel_entry {
	u64 addr;
	u32 name, module; /* offsets into the pool */
	bool is_local;
	bool is_gone; /* the symbol is from an earlier read and no longer exists */
};

struct entries {
	VEC(struct kernel_entry) all;
	struct str pool;
	u32 module; /* module of the latest line; the next line mostly has the same */
	bool saw_line, saw_addr;
};

static u32 add_name(struct str *pool, const char *name, size_t len)
{
	size_t at = pool->len;

	str_add_bytes(pool, name, len);
	str_add_char(pool, '\0');
	return (u32)at;
}

static u32 module_name(struct entries *e, const char *at, const char *end)
{
	size_t len = (size_t)(end - at);
	const char *latest = e->pool.at + e->module;

	if (!len)
		return 0;
	if (strlen(latest) != len || memcmp(latest, at, len))
		e->module = add_name(&e->pool, at, len);
	return e->module;
}

/*
 * Labels without code. Those with __pfx_ and __cfi_ mark the padding before each function
 * (CONFIG_PREFIX_SYMBOLS) and are half of all symbols.
 */
static bool is_end(const char *name, size_t len)
{
	return (len == 6 && !memcmp(name, "_etext", 6)) ||
	       (len == 10 && !memcmp(name, "_einittext", 10));
}

static bool is_noise(const char *name, size_t len)
{
	return !len || !name[0] || name[0] == '$' || (len > 1 && !memcmp(name, ".L", 2)) ||
	       (len > 6 && (!memcmp(name, "__pfx_", 6) || !memcmp(name, "__cfi_", 6)));
}

static bool parse_addr(const char **at, const char *end, u64 *out)
{
	const char *p = *at;
	u64 value = 0;

	for (; p < end && *p != ' '; p++) {
		if (*p >= '0' && *p <= '9')
			value = value << 4 | (u64)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			value = value << 4 | (u64)(*p - 'a' + 10);
		else
			return false;
	}
	if (p == *at || end - p < 4 || p[2] != ' ')
		return false;
	*at = p + 1;
	*out = value;
	return true;
}

static int parse_line(const char *at, const char *end, void *ctx)
{
	struct entries *e = ctx;
	struct kernel_entry new = { 0 };

	if (!parse_addr(&at, end, &new.addr))
		return 0;
	e->saw_line = true;
	if (!new.addr)
		return 0;
	e->saw_addr = true;
	if (e->all.nr >= MAX_SYMBOLS || e->pool.len > MAX_NAMES)
		return -EFBIG;

	bool is_text = strchr("tTwW", *at);
	new.is_local = *at == 't' || *at == 'w';
	at += 2;
	const char *tab = memchr(at, '\t', (size_t)(end - at));
	size_t len = (size_t)((tab ? tab : end) - at);
	if (tab && end - tab > 3 && tab[1] == '[' && end[-1] == ']')
		new.module = module_name(e, tab + 2, end - 1);
	if (is_text && is_noise(at, len))
		return 0;
	if (is_text && !is_end(at, len))
		new.name = add_name(&e->pool, at, len);
	else if (e->all.nr && e->all.at[e->all.nr - 1].name == NO_NAME)
		return 0; /* data that follows data ends no code, so it is left out */
	vec_push(&e->all, new);
	return 0;
}

static size_t leading_underscores(const char *name)
{
	return strspn(name, "_");
}

/* By address; of equal addresses the best name first. */
static int compare(const void *va, const void *vb, void *pool_at)
{
	const struct kernel_entry *a = va, *b = vb;
	const char *pool = pool_at;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (!a->name != !b->name)
		return a->name ? -1 : 1;
	if (a->is_gone != b->is_gone)
		return a->is_gone ? 1 : -1;
	if (a->is_local != b->is_local)
		return a->is_local ? 1 : -1;

	const char *an = pool + a->name, *bn = pool + b->name;
	size_t a_bars = leading_underscores(an), b_bars = leading_underscores(bn);
	if (a_bars != b_bars)
		return a_bars < b_bars ? -1 : 1;
	size_t a_len = strlen(an), b_len = strlen(bn);
	if (a_len != b_len)
		return a_len < b_len ? -1 : 1;
	return strcmp(an, bn);
}

static void push(struct kernel_syms *ks, u64 addr, u32 name)
{
	ks->addrs[ks->nr] = addr;
	ks->names[ks->nr++] = name;
}

/*
 * Whether code of the module ends before the next symbol, if that is far away. The code of BPF
 * programs lies scattered, but has one module.
 */
static bool may_end_before(const struct kernel_entry *e, u32 next_module, const char *pool)
{
	return e->module && (e->module != next_module || !strcmp(pool + e->module, "bpf"));
}

/* Keeps one entry per address, and adds an end where a module's code ends. */
static void pack(struct kernel_syms *ks, struct entries *e)
{
	ks->addrs = xreallocarray(NULL, 2 * e->all.nr + 1, sizeof(ks->addrs[0]));
	ks->names = xreallocarray(NULL, 2 * e->all.nr + 1, sizeof(ks->names[0]));
	for (size_t i = 0; i < e->all.nr; i++) {
		const struct kernel_entry *s = &e->all.at[i], *before = i ? s - 1 : NULL;
		if (before && before->addr == s->addr)
			continue;
		if (before && s->addr - before->addr > LAST_REACH &&
		    may_end_before(before, s->module, e->pool.at))
			push(ks, before->addr + LAST_REACH, NO_NAME);
		if (!ks->runs.nr || ks->runs.at[ks->runs.nr - 1].name != s->module)
			vec_push(&ks->runs, (struct module_run){ (u32)ks->nr, s->module });
		push(ks, s->addr, s->name | (s->is_gone ? GONE : 0));
		ks->nr_gone += s->is_gone;
	}
	if (e->all.nr && ks->names[ks->nr - 1] != NO_NAME)
		push(ks, ks->addrs[ks->nr - 1] + LAST_REACH, NO_NAME);
	ks->addrs = xreallocarray(ks->addrs, ks->nr + 1, sizeof(ks->addrs[0]));
	ks->names = xreallocarray(ks->names, ks->nr + 1, sizeof(ks->names[0]));
	ks->pool = e->pool;
	ks->pool.at = xreallocarray(ks->pool.at, ks->pool.len + 1, 1);
	ks->pool.cap = ks->pool.len + 1;
	e->pool = (struct str){ 0 };
}

static const struct module_run *run_of(const struct kernel_syms *ks, size_t symbol)
{
	size_t lo = 0, hi = ks->runs.nr;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		if (ks->runs.at[mid].first <= symbol)
			lo = mid;
		else
			hi = mid;
	}
	return &ks->runs.at[lo];
}

/* Adds the old symbols outside of the kernel image: modules and BPF programs that may be gone. */
static void keep_old(struct entries *e, const struct kernel_syms *old)
{
	bool keeps_gone = old && old->nr_gone < KERNEL_GONE_MAX;

	for (size_t i = 0; old && i < old->nr; i++) {
		const char *name = old->pool.at + (old->names[i] & ~GONE);
		const char *module = old->pool.at + run_of(old, i)->name;
		if (!keeps_gone && old->names[i] & GONE)
			continue;
		if (!*module || !*name || e->all.nr >= MAX_SYMBOLS || e->pool.len > MAX_NAMES)
			continue;
		struct kernel_entry s = { .addr = old->addrs[i],
					  .is_local = true,
					  .is_gone = true };
		s.module = module_name(e, module, module + strlen(module));
		s.name = add_name(&e->pool, name, strlen(name));
		vec_push(&e->all, s);
	}
}

static int read_fd(int fd, const struct kernel_syms *old, struct kernel_syms **out)
{
	struct entries e = { 0 };

	str_add_char(&e.pool, '\0');
	int err = file_each_line(fd, LINE_MAX_BYTES, parse_line, &e);
	if (!err && !e.all.nr)
		err = e.saw_line && !e.saw_addr ? -EPERM : -ENODATA;
	if (!err) {
		struct kernel_syms *ks = xcalloc(1, sizeof(*ks));
		keep_old(&e, old);
		qsort_r(e.all.at, e.all.nr, sizeof(e.all.at[0]), compare, e.pool.at);
		pack(ks, &e);
		*out = ks;
	}
	vec_fini(&e.all);
	str_fini(&e.pool);
	return err;
}

int kernel_syms_read_fd(int fd, struct kernel_syms **out)
{
	return read_fd(fd, NULL, out);
}

static int open_kallsyms(void)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int kernel_syms_read(struct kernel_syms **out)
{
	auto_close int fd = open_kallsyms();

	return fd < 0 ? fd : kernel_syms_read_fd(fd, out);
}

bool kernel_syms_are_hidden_from_all(void)
{
	auto_free char *value = NULL;
	size_t len;

	return capability_has(CAP_SYSLOG) ||
	       (!file_read("/proc/sys/kernel/kptr_restrict", 16, &value, &len) && *value == '2');
}

int kernel_syms_refresh(struct kernel_syms *ks)
{
	struct kernel_syms *new;
	auto_close int fd = open_kallsyms();

	int err = fd < 0 ? fd : read_fd(fd, ks, &new);
	if (err)
		return err;
	struct kernel_syms old = *ks;
	*ks = *new;
	*new = old;
	kernel_syms_free(new);
	return 0;
}

const char *kernel_syms_find(const struct kernel_syms *ks, u64 pc, const char **module, u64 *offset)
{
	size_t lo = 0, hi = ks->nr;

	if (!ks->nr || pc < ks->addrs[0])
		return NULL;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		if (ks->addrs[mid] <= pc)
			lo = mid;
		else
			hi = mid;
	}
	if (ks->names[lo] == NO_NAME)
		return NULL;
	*module = ks->pool.at + run_of(ks, lo)->name;
	*offset = pc - ks->addrs[lo];
	return ks->pool.at + (ks->names[lo] & ~GONE);
}

size_t kernel_syms_nr(const struct kernel_syms *ks)
{
	return ks->nr;
}

size_t kernel_syms_bytes(const struct kernel_syms *ks)
{
	return ks->nr * (sizeof(ks->addrs[0]) + sizeof(ks->names[0])) + ks->pool.cap +
	       ks->runs.cap * sizeof(ks->runs.at[0]);
}

void kernel_syms_free(struct kernel_syms *ks)
{
	if (!ks)
		return;
	free(ks->addrs);
	free(ks->names);
	vec_fini(&ks->runs);
	str_fini(&ks->pool);
	free(ks);
}

#define PAUSE_NS     NS_PER_SEC
#define PAUSE_MAX_NS (64 * NS_PER_SEC) /* a read takes up to 0.1 s of CPU time */
#define UNNAMED_MAX  16384
#define MADE_MAX     4096 /* a tool may load programs all the time */

static void read_first(struct kernel_names *k)
{
	k->err = kernel_syms_read(&k->syms);
	k->read_ns = time_mono_ns();
	k->nr_reads = 1;
	k->pause_ns = PAUSE_NS;
}

/*
 * Code of a module or BPF program that was loaded after the last read has no name yet. An unnamed
 * pc therefore triggers another read, unless the last read was a short time ago or came after this
 * pc was first seen.
 */
static bool refresh(struct kernel_names *k, u64 pc)
{
	u64 now = time_mono_ns();

	if (k->unnamed.young.nr >= UNNAMED_MAX)
		aged_turn(&k->unnamed);
	u64 *nr_reads = aged_add(&k->unnamed, pc);
	if (!*nr_reads)
		*nr_reads = k->nr_reads;
	if (!k->syms || *nr_reads != k->nr_reads || now - k->read_ns <= k->pause_ns)
		return false;
	kernel_syms_refresh(k->syms);
	k->read_ns = now;
	k->nr_reads++;
	return true;
}

static void drop_oldest(struct kernel_names *k)
{
	size_t nr = k->made.nr / 2;

	for (size_t i = 0; i < nr; i++)
		free(k->made.at[i].name);
	k->made.nr -= nr;
	memmove(k->made.at, k->made.at + nr, k->made.nr * sizeof(k->made.at[0]));
}

void kernel_names_add(struct kernel_names *k, u64 start, u64 end, const char *name)
{
	if (k->made.nr >= MADE_MAX)
		drop_oldest(k);
	vec_push(&k->made, (struct kernel_code){ start, end, xstrdup(name) });
}

static const char *find(const struct kernel_names *k, u64 pc, const char **module)
{
	u64 offset;

	for (size_t i = k->made.nr; i-- > 0;)
		if (pc >= k->made.at[i].start && pc < k->made.at[i].end) {
			*module = "bpf"; /* as in /proc/kallsyms */
			return k->made.at[i].name;
		}

	return k->syms ? kernel_syms_find(k->syms, pc, module, &offset) : NULL;
}

const char *kernel_names_find(struct kernel_names *k, u64 pc, const char **module)
{
	*module = "";
	if (!k->nr_reads)
		read_first(k);
	const char *symbol = find(k, pc, module);
	if (symbol || !refresh(k, pc))
		return symbol;
	symbol = find(k, pc, module);
	if (symbol)
		k->pause_ns = PAUSE_NS;
	else if (k->pause_ns < PAUSE_MAX_NS)
		k->pause_ns *= 2;
	return symbol;
}

void kernel_names_turn(struct kernel_names *k)
{
	aged_turn(&k->unnamed);
}

size_t kernel_names_nr(const struct kernel_names *k)
{
	return k->syms ? kernel_syms_nr(k->syms) : 0;
}

size_t kernel_names_bytes(const struct kernel_names *k)
{
	return aged_bytes(&k->unnamed) + (k->syms ? kernel_syms_bytes(k->syms) : 0);
}

void kernel_names_fini(struct kernel_names *k)
{
	kernel_syms_free(k->syms);
	vec_each(code, &k->made)
		free(code->name);
	vec_fini(&k->made);
	aged_fini(&k->unnamed);
	*k = (struct kernel_names){ 0 };
}
