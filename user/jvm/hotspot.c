/* SPDX-License-Identifier: Apache-2.0 */
/* A HotSpot JVM, read from outside: finding it, what it is, what the unwinder needs of it. */
#include "jvm/hotspot.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/compiled.h"
#include "jvm/vm.h"
#include "proc/mapping.h"
#include "proc/status.h"

#define TEXT_MAX        512
#define BUILDS_MAX      64
#define INTERPRETER_MAX (16u << 20)
#define STARTING_NS     (10 * NS_PER_SEC)

/*
 * Builds read before. The tables lie in memory that the process can write, so that a build is
 * taken over only by a process of the same user that maps the same file.
 */
struct known_build {
	u8 build_id[IMAGE_BUILD_ID_MAX];
	u32 build_id_len, dev_major, dev_minor;
	u64 inode;
	uid_t uid;
	struct jvm_build build;
};

struct known_builds {
	pthread_mutex_t lock;
	struct known_build *at[BUILDS_MAX];
	u32 nr;
};

static struct known_builds builds = {
	.lock = PTHREAD_MUTEX_INITIALIZER
}; /* a cache, as long as the program runs */

static bool same_build(const struct known_build *a, const struct known_build *b)
{
	return a->build_id_len == b->build_id_len && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && a->inode == b->inode && a->uid == b->uid &&
	       !memcmp(a->build_id, b->build_id, a->build_id_len);
}

static bool find_build(const struct known_build *key, struct jvm_build *out)
{
	bool found = false;

	if (!key->build_id_len)
		return false;

	pthread_mutex_lock(&builds.lock);
	for (u32 i = 0; i < builds.nr && !found; i++) {
		found = same_build(builds.at[i], key);
		if (found)
			*out = builds.at[i]->build;
	}
	pthread_mutex_unlock(&builds.lock);
	return found;
}

static void keep_build(const struct known_build *key, const struct jvm_build *build)
{
	bool known = !key->build_id_len || build->is_cut;

	pthread_mutex_lock(&builds.lock);
	for (u32 i = 0; i < builds.nr && !known; i++)
		known = same_build(builds.at[i], key);
	if (!known && builds.nr < BUILDS_MAX) {
		struct known_build *k = xmemdup(key, sizeof(*key));
		k->build = *build;
		builds.at[builds.nr++] = k;
	}
	pthread_mutex_unlock(&builds.lock);
}

static bool is_libjvm(const struct mapping *m)
{
	const char *slash = strrchr(m->path, '/');

	return slash && !strcmp(slash + 1, "libjvm.so");
}

/* The mapping of libjvm.so's first byte, which holds its ELF header. */
static int find_libjvm(pid_t pid, u64 *base, struct known_build *key)
{
	struct mappings all = { 0 };
	int err = mappings_read(pid, false, &all);

	if (err)
		return err;
	err = -ENOENT;
	for (size_t i = 0; i < all.nr && err; i++) {
		const struct mapping *m = &all.at[i];
		if (!m->readable || m->file_off || !is_libjvm(m))
			continue;
		*base = m->start;
		key->dev_major = m->dev_major;
		key->dev_minor = m->dev_minor;
		key->inode = m->inode;
		err = 0;
	}
	mappings_fini(&all);
	return err;
}

static int read_for_image(void *ctx, u64 addr, void *buf, size_t len)
{
	return mem_read(ctx, addr, buf, len);
}

static int read_tables(struct hotspot *h, const struct image *img)
{
	struct vmstructs *tables;
	int err = vmstructs_read(h->jvm.mem, img, &tables);

	if (err)
		return err == -ENOENT || err == -EBADMSG ? -ENOEXEC : err;
	jvm_build_of_tables(tables, img->bias, &h->jvm.build);
	vmstructs_free(tables);
	hotspot_find_flags(&h->jvm);
	return 0;
}

/* Takes the build from those known, or reads it; `key` is filled but for the build id. */
static int read_build(struct hotspot *h, u64 base, struct known_build *key)
{
	struct image img;
	int err = image_read((struct image_memory){ read_for_image, h->jvm.mem }, base, &img);

	if (err) /* mapped, but ld.so has not got far enough yet */
		return err == -EFAULT ? -EAGAIN : err == -ENOENT ? -ENOEXEC : err;
	h->jvm.bias = img.bias;
	key->build_id_len = img.build_id_len;
	memcpy(key->build_id, img.build_id, sizeof(key->build_id));
	return find_build(key, &h->jvm.build) ? 0 : read_tables(h, &img);
}

/*
 * JDK 8..21 have JDK_Version. It comes first: JDK 8 has Abstract_VM_Version too, and says 25 there,
 * the version of HotSpot.
 */
static int read_version(const struct jvm *j)
{
	u64 at = jvm_static(j, JDK_CURRENT), major = 0;
	u8 jdk = 0;

	if (at)
		return mem_read(j->mem, at, &jdk, 1) ? 0 : jdk;
	if (jvm_read_static(j, VM_MAJOR, &major) || major > 255)
		return 0;
	return (int)major;
}

static char *read_text(const struct jvm *j, enum jvm_slot slot, struct java_names *names)
{
	char text[TEXT_MAX];
	u64 at;

	if (jvm_read_static(j, slot, &at) || !at || mem_read_string(j->mem, at, text, TEXT_MAX))
		return xstrdup("");
	return xstrdup(java_names_intern(names, text, strlen(text)));
}

static void read_interpreter(struct hotspot *h)
{
	u64 queue, start, len;

	if (h->interpreter_end || jvm_read_static(&h->jvm, INTERPRETER_CODE, &queue) || !queue ||
	    jvm_read(&h->jvm, queue, QUEUE_BUFFER, &start) ||
	    (jvm_read(&h->jvm, queue, QUEUE_END, &len) &&
	     jvm_read(&h->jvm, queue, QUEUE_LIMIT, &len)))
		return;
	if (!start || !len || len > INTERPRETER_MAX || !code_heaps_find(&h->heaps, start))
		return;
	h->interpreter_start = start;
	h->interpreter_end = start + len;
}

static void read_stubs(struct hotspot *h)
{
	const struct jvm *j = &h->jvm;
	u64 value;

	if (!j->unloads)
		h->jvm.unloads = unloads_find(j);
	if (!jvm_read_static(j, CALL_STUB_RETURN, &value))
		h->call_stub_return = value;
	if (!jvm_read_static(j, CONT_RETURN_PC, &value) && value)
		h->enter_special_return = value;
	if (!jvm_read_static(j, CONT_BARRIER, &value) && value)
		h->barrier = value;
	if (jvm_has(&j->build, THREAD_CONT_ENTRY))
		h->cont_entry = (u32)j->build.fields[THREAD_CONT_ENTRY].at;
}

int hotspot_refresh(struct hotspot *h)
{
	struct hotspot_layout before, after;
	struct code_heaps heaps;

	if (!hotspot_is_walk_due(h))
		return mem_has_ended(h->jvm.mem) ? -ESRCH : 0;
	hotspot_layout(h, &before);
	int err = code_heaps_read(&h->jvm, &heaps);
	if (err == -ESRCH)
		return err;
	if (!err)
		h->heaps = heaps;
	read_interpreter(h);
	read_stubs(h);
	err = hotspot_learn(h);
	if (err)
		return err;
	hotspot_layout(h, &after);
	return memcmp(&before, &after, sizeof(before)) != 0;
}

u64 hotspot_unloads(const struct hotspot *h)
{
	return unloads_read(&h->jvm);
}

AUTO_DEFINE(hotspot, struct hotspot *, hotspot_free)
#define auto_hotspot __attribute__((cleanup(auto_hotspot_run)))

static struct hotspot *new_hotspot(struct mem *m, pid_t pid)
{
	struct hotspot *h = xcalloc(1, sizeof(*h));

	h->pid = pid;
	h->jvm.mem = m;
	h->names = java_names_new();
	h->methods = methods_new(&h->jvm, h->names);
	return h;
}

/* What there is once the build is known. */
static int read_instance(struct hotspot *h)
{
	h->jvm.jdk = read_version(&h->jvm);
	int err = code_heaps_read(&h->jvm, &h->heaps);
	if (err) /* not there yet, or in the making */
		return err == -ESRCH ? err : err == -ENOENT ? -ENOEXEC : -EAGAIN;
	h->release = read_text(&h->jvm, VM_RELEASE, h->names);
	h->vm = read_text(&h->jvm, VM_INFO, h->names);
	err = hotspot_refresh(h);
	return err < 0 ? err : 0;
}

int hotspot_open(pid_t pid, u64 start_ns, struct hotspot **out)
{
	struct known_build key = { 0 };
	struct proc_status status;
	struct mem *m;
	u64 base;
	int err = mem_open(pid, start_ns, &m);

	if (err)
		return err;
	auto_hotspot struct hotspot *h = new_hotspot(m, pid);
	err = proc_status_read(pid, &status);
	err = err ? err : find_libjvm(pid, &base, &key);
	if (err)
		return err;
	key.uid = status.uid;
	h->is_nested = status.nr_nspid > 1;
	err = read_build(h, base, &key);
	if (err)
		return err;
	err = read_instance(h);
	/* Tables that ld.so is still relocating end too early. */
	if (err == -ENOEXEC && time_boot_ns() - status.start_ns < STARTING_NS)
		return -EAGAIN;
	if (err)
		return err;
	keep_build(&key, &h->jvm.build);
	*out = take(h);
	return 0;
}

int hotspot_of_memory(struct mem *m, u64 base, struct hotspot **out)
{
	auto_hotspot struct hotspot *h = new_hotspot(m, 0);
	struct known_build key = { 0 };
	int err = read_build(h, base, &key);

	err = err ? err : read_instance(h);
	if (err)
		return err;
	*out = take(h);
	return 0;
}

void hotspot_free(struct hotspot *h)
{
	if (!h)
		return;
	mem_free(h->jvm.mem);
	vec_each(n, &h->blob_names)
		free((char *)n->text);
	vec_fini(&h->blob_names);
	methods_free(h->methods);
	java_names_free(h->names);
	hotspot_forget_names(h);
	free(h->release);
	free(h->vm);
	free(h);
}

/* Which collector: the flags that choose one, the newest last. */
static const char *collector(const struct hotspot *h)
{
	static const struct {
		const char *flag, *name;
	} all[] = {
		{ "UseG1GC", "G1" },
		{ "UseParallelGC", "Parallel" },
		{ "UseParallelOldGC", "Parallel" },
		{ "UseSerialGC", "Serial" },
		{ "UseConcMarkSweepGC", "CMS" },
		{ "UseZGC", "Z" },
		{ "UseShenandoahGC", "Shenandoah" },
		{ "UseEpsilonGC", "Epsilon" },
	};
	bool on;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!hotspot_flag(h, all[i].flag, &on) && on)
			return all[i].name;
	return "";
}

void hotspot_info(const struct hotspot *h, struct hotspot_info *out)
{
	struct mem_counts counts = mem_counts(h->jvm.mem);

	*out = (struct hotspot_info){
		.pid = h->pid,
		.jdk = h->jvm.jdk,
		.release = h->release,
		.vm = h->vm,
		.collector = collector(h),
		.nr_fields = h->jvm.build.nr_fields,
		.tables_are_cut = h->jvm.build.is_cut,
		.nr_reads = counts.calls,
		.nr_failures = counts.failures,
		.bytes = java_names_bytes(h->names) + h->frames.cap * sizeof(h->frames.at[0]) +
			 h->named_pcs.cap * sizeof(h->named_pcs.at[0]) +
			 h->classes.cap * sizeof(h->classes.at[0]) +
			 (h->by_pc.cap + h->by_klass.cap) * sizeof(struct dict_slot),
	};
}
