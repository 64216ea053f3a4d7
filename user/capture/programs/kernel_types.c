/* SPDX-License-Identifier: Apache-2.0 */
/* Features of the running kernel. */
#include "capture/programs/kernel_types.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "base/types.h"
#include "capture/programs/programs.h"
#include "elf/rowcache.h"

#define KEPT_VERSION 1 /* increase it when the same kernel gives other bytes */

static struct btf *cached;

const struct btf *kernel_types(void)
{
	if (cached)
		return cached;
	/* Whoever needs them says in a sentence that they are missing. */
	libbpf_print_fn_t print = libbpf_set_print(NULL);
	cached = btf__load_vmlinux_btf();
	libbpf_set_print(print);
	return cached;
}

static bool kernel_has_type(const char *name, u32 kind)
{
	const struct btf *btf = kernel_types();

	return btf && btf__find_by_name_kind(btf, name, kind) > 0;
}

/*
 * Kernel functions that our tracing programs attach to: BTF tracepoints and an iterator. A program
 * is loaded with the BTF id of its function. All ids are looked up in one pass, because a pass
 * reads all types of the kernel.
 */
struct attach_point {
	const char *section, *type;
	u32 kind;
	int id; /* 0: the kernel has none */
};

static struct attach_point attach_points[] = {
	{ "tp_btf/sched_process_fork", "btf_trace_sched_process_fork", BTF_KIND_TYPEDEF, 0 },
	{ "tp_btf/sched_process_exec", "btf_trace_sched_process_exec", BTF_KIND_TYPEDEF, 0 },
	{ "tp_btf/sched_process_exit", "btf_trace_sched_process_exit", BTF_KIND_TYPEDEF, 0 },
	{ "tp_btf/sched_switch", "btf_trace_sched_switch", BTF_KIND_TYPEDEF, 0 },
	{ "tp_btf/sched_exit_tp", "btf_trace_sched_exit_tp", BTF_KIND_TYPEDEF, 0 },
	{ "tp_btf/hrtimer_expire_exit", "btf_trace_hrtimer_expire_exit", BTF_KIND_TYPEDEF, 0 },
	{ "iter/task", "bpf_iter_task", BTF_KIND_FUNC, 0 },
};

static bool has_attach_points; /* they were looked up */

static void take_attach_point(const char *name, u32 kind, int id)
{
	for (size_t i = 0; i < ARRAY_SIZE(attach_points); i++)
		if (attach_points[i].kind == kind && !strcmp(attach_points[i].type, name))
			attach_points[i].id = id;
}

static void find_attach_points(void)
{
	const struct btf *btf = has_attach_points ? NULL : kernel_types();
	int nr = btf ? (int)btf__type_cnt(btf) : 0;

	for (int id = 1; id < nr; id++) {
		const struct btf_type *type = btf__type_by_id(btf, (u32)id);
		if (btf_is_typedef(type) || btf_kind(type) == BTF_KIND_FUNC)
			take_attach_point(btf__name_by_offset(btf, type->name_off), btf_kind(type),
					  id);
	}
	has_attach_points |= nr > 0; /* a failed read is no answer */
}

int kernel_types_attach_id(const char *section)
{
	find_attach_points();
	for (size_t i = 0; i < ARRAY_SIZE(attach_points); i++)
		if (!strcmp(attach_points[i].section, section))
			return attach_points[i].id ?: -ESRCH;
	return -ESRCH;
}

bool programs_kernel_has(const char *tracepoint)
{
	auto_free char *section = xasprintf("tp_btf/%s", tracepoint);

	return kernel_types_attach_id(section) > 0;
}

void kernel_types_forget(void)
{
	if (cached)
		find_attach_points();
	btf__free(cached);
	cached = NULL;
}

bool programs_can_attach_without_admin(void)
{
	return kernel_has_type("bpf_uprobe_multi_link", BTF_KIND_STRUCT);
}

bool programs_can_read_remote(void)
{
	return kernel_has_type("bpf_task_from_pid", BTF_KIND_FUNC);
}

void programs_kernel_enumerators(const char *name, programs_enumerator_fn visit, void *ctx)
{
	const struct btf *btf = kernel_types();
	int id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_ENUM) : -1;
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL;

	for (u32 i = 0; type && i < btf_vlen(type); i++)
		visit(btf__name_by_offset(btf, btf_enum(type)[i].name_off), btf_enum(type)[i].val,
		      ctx);
}

char *kernel_function(const char *wanted)
{
	auto_fclose FILE *f = fopen("/proc/kallsyms", "re");
	size_t len = strlen(wanted);
	char line[512], name[256];

	if (!f)
		return NULL;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %*c %255s", name) == 1 && !strncmp(name, wanted, len) &&
		    (!name[len] || !strncmp(name + len, ".isra.", strlen(".isra."))))
			return xstrdup(name);
	errno = ENOENT;
	return NULL;
}

bool kernel_is_from(unsigned major, unsigned minor)
{
	struct utsname kernel;
	unsigned is_major, is_minor;

	return !uname(&kernel) && sscanf(kernel.release, "%u.%u", &is_major, &is_minor) == 2 &&
	       (is_major > major || (is_major == major && is_minor >= minor));
}

/* In alphabetical order. */
static const char *const names[] = {
#include "core_type_names.h"
};

/* Ids are positive, 0 is void, and errors are negative errno. */
struct reduction {
	const struct btf *from;
	struct btf *to;
	int *ids; /* of a copied type in `to`, by its id in `from`; 0: not copied */
};

static int copy(struct reduction *r, int id);

static const char *name_of(const struct reduction *r, u32 offset)
{
	const char *name = btf__name_by_offset(r->from, offset);

	return name && *name ? name : NULL;
}

static int copy_array(struct reduction *r, const struct btf_type *type)
{
	const struct btf_array *array = btf_array(type);
	int index = copy(r, (int)array->index_type), element = copy(r, (int)array->type);

	return index < 0     ? index
	       : element < 0 ? element
			     : btf__add_array(r->to, index, element, (u32)array->nelems);
}

/* Members' types come first: an id must be known before it is used. */
static int copy_composite(struct reduction *r, const struct btf_type *type)
{
	const struct btf_member *members = btf_members(type);
	const char *name = name_of(r, type->name_off);

	for (u32 i = 0; i < btf_vlen(type); i++) {
		int err = copy(r, (int)members[i].type);
		if (err < 0)
			return err;
	}
	int id = btf_is_struct(type) ? btf__add_struct(r->to, name, type->size)
				     : btf__add_union(r->to, name, type->size);
	for (u32 i = 0; id > 0 && i < btf_vlen(type); i++) {
		int err = btf__add_field(
			r->to, name_of(r, members[i].name_off), copy(r, (int)members[i].type),
			btf_member_bit_offset(type, i), btf_member_bitfield_size(type, i));
		if (err)
			return err;
	}
	return id;
}

static int copy_enum(struct reduction *r, const struct btf_type *type)
{
	const struct btf_enum *values = btf_enum(type);
	int id = btf__add_enum(r->to, name_of(r, type->name_off), type->size);

	for (u32 i = 0; id > 0 && i < btf_vlen(type); i++) {
		int err = btf__add_enum_value(r->to, name_of(r, values[i].name_off), values[i].val);
		if (err)
			return err;
	}
	return id;
}

static int copy_enum64(struct reduction *r, const struct btf_type *type)
{
	const struct btf_enum64 *values = btf_enum64(type);
	int id = btf__add_enum64(r->to, name_of(r, type->name_off), type->size, btf_kflag(type));

	for (u32 i = 0; id > 0 && i < btf_vlen(type); i++) {
		int err = btf__add_enum64_value(r->to, name_of(r, values[i].name_off),
						btf_enum64_value(&values[i]));
		if (err)
			return err;
	}
	return id;
}

static int copy_type(struct reduction *r, const struct btf_type *type)
{
	switch (btf_kind(type)) {
	case BTF_KIND_INT:
		return btf__add_int(r->to, name_of(r, type->name_off), type->size,
				    btf_int_encoding(type));
	case BTF_KIND_FLOAT:
		return btf__add_float(r->to, name_of(r, type->name_off), type->size);
	case BTF_KIND_PTR:
		return btf__add_ptr(r->to, 0);
	case BTF_KIND_ARRAY:
		return copy_array(r, type);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return copy_composite(r, type);
	case BTF_KIND_ENUM:
		return copy_enum(r, type);
	case BTF_KIND_ENUM64:
		return copy_enum64(r, type);
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		return copy(r, (int)type->type);
	default:
		return 0;
	}
}

static int copy(struct reduction *r, int id)
{
	const struct btf_type *type = btf__type_by_id(r->from, (u32)id);

	if (type && !r->ids[id])
		r->ids[id] = copy_type(r, type);
	return r->ids[id];
}

static int compare(const void *name, const void *element)
{
	return strcmp(name, *(const char *const *)element);
}

static bool is_accessed(const struct reduction *r, const struct btf_type *type)
{
	if (!btf_is_composite(type) && !btf_is_typedef(type) && !btf_is_any_enum(type))
		return false;
	const char *name = name_of(r, type->name_off);
	return name && bsearch(name, names, ARRAY_SIZE(names), sizeof(*names), compare);
}

static int copy_accessed(struct reduction *r)
{
	int nr = (int)btf__type_cnt(r->from);

	for (int id = 1; id < nr; id++) {
		const struct btf_type *type = btf__type_by_id(r->from, (u32)id);
		if (!is_accessed(r, type))
			continue;
		int new_id = copy(r, id);
		if (new_id >= 0 && btf_is_typedef(type))
			new_id = btf__add_typedef(r->to, name_of(r, type->name_off), new_id);
		if (new_id < 0)
			return new_id;
	}
	return 0;
}

/* A file in memory with these bytes: its descriptor, or a negative errno. */
static int write_types(const void *bytes, size_t len)
{
	auto_close int fd = bytes ? memfile_new("sysflame-types") : -ENOMEM;

	if (fd >= 0 && write(fd, bytes, len) != (ssize_t)len)
		return -ENOSPC;
	return take_fd(fd);
}

/* What is kept on disk: this, then the reduced types. */
struct kept_types {
	s32 attach_ids[ARRAY_SIZE(attach_points)];
};

/*
 * The name of what is kept for this kernel and this sysflame; NULL if the kernel does not say which
 * build it is. Its notes have the build id (kernel/ksysfs.c of Linux).
 */
static char *kept_name(void)
{
	static const u8 no_key[SIPHASH_KEY_LEN];
	auto_str struct str all = { 0 };
	auto_free char *notes = NULL;
	size_t len;

	if (file_read("/sys/kernel/notes", 65536, &notes, &len) || !len)
		return NULL;
	str_add_bytes(&all, notes, len);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		str_add_bytes(&all, names[i], strlen(names[i]) + 1);
	for (size_t i = 0; i < ARRAY_SIZE(attach_points); i++)
		str_add_bytes(&all, attach_points[i].type, strlen(attach_points[i].type) + 1);
	return xasprintf("kernel-types-%d-%016llx", KEPT_VERSION,
			 (unsigned long long)siphash(no_key, all.at, all.len));
}

static int load_kept(struct rowcache *cache, const char *name)
{
	auto_free u8 *bytes = NULL;
	const struct kept_types *kept;
	size_t len;

	int err = rowcache_load_named(cache, name, (void **)&bytes, &len);
	if (err || len <= sizeof(*kept))
		return -ENOENT;
	kept = (const struct kept_types *)bytes;
	for (size_t i = 0; i < ARRAY_SIZE(attach_points); i++)
		attach_points[i].id = kept->attach_ids[i];
	has_attach_points = true;
	return write_types(kept + 1, len - sizeof(*kept));
}

static void keep(const struct rowcache *cache, const char *name, const void *types, size_t len)
{
	auto_str struct str all = { 0 };
	struct kept_types kept = { 0 };

	find_attach_points();
	for (size_t i = 0; i < ARRAY_SIZE(attach_points); i++)
		kept.attach_ids[i] = attach_points[i].id;
	str_add_bytes(&all, &kept, sizeof(kept));
	str_add_bytes(&all, types, len);
	rowcache_store_named(cache, name, all.at, all.len);
}

static int reduce(const struct rowcache *cache, const char *name)
{
	struct reduction r = { .from = kernel_types() };
	const void *data = NULL;
	u32 len = 0;

	if (!r.from)
		return -ENOENT;
	r.to = btf__new_empty();
	r.ids = xcalloc(btf__type_cnt(r.from), sizeof(*r.ids));
	int err = r.to ? copy_accessed(&r) : -errno;
	if (!err)
		data = btf__raw_data(r.to, &len);
	err = err ?: write_types(data, len);
	if (err >= 0 && name)
		keep(cache, name, data, len);
	btf__free(r.to);
	free(r.ids);
	return err;
}

static int make(void)
{
	struct rowcache cache = ROWCACHE_NONE;
	auto_free char *name = kept_name();

	int err = name ? rowcache_open(ROWCACHE_PATH, ROWCACHE_BYTES_MAX, &cache) : 0;
	if (err)
		log_debug("the kernel's types are not kept in " ROWCACHE_PATH ": %s",
			  strerror(-err));
	int fd = name && !err ? load_kept(&cache, name) : -ENOENT;
	if (fd < 0)
		fd = reduce(&cache, name);
	rowcache_fini(&cache);
	return fd;
}

static char made_path[32];

static void make_once(void)
{
	int fd = make();

	find_attach_points();
	if (fd < 0)
		log_debug("the types of the BPF programs: %s", strerror(-fd));
	else
		snprintf(made_path, sizeof(made_path), "/proc/self/fd/%d", fd);
}

const char *core_types_path(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_once);
	return *made_path ? made_path : NULL;
}
