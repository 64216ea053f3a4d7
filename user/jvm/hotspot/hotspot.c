/* SPDX-License-Identifier: Apache-2.0 */
/* A HotSpot JVM, read from outside: finds libjvm and reads its build, version and layout. */
#include "jvm/hotspot/hotspot.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/hotspot/hotspot_private.h"
#include "jvm/memory/build.h"
#include "jvm/memory/compiled.h"
#include "proc/mapping.h"
#include "proc/status.h"

#define TEXT_MAX        512
#define BUILDS_MAX      64
#define INTERPRETER_MAX (16u << 20)
#define STARTING_NS     (10 * NS_PER_SEC)
#define CANDIDATES_MAX  8 /* copies of libjvm in one process; usually one */

/*
 * Builds read earlier. The tables are in memory that the process can write. A build is therefore
 * reused only for a process of the same user that maps the same file.
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
}; /* a cache for the life of the program */

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

/* A copy of libjvm that may be the one in use: the address of its ELF header, and its file. */
struct candidate {
	u64 base;
	u32 dev_major, dev_minor;
	u64 inode;
};

static bool is_same_file(const struct mapping *a, const struct mapping *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/*
 * Lists the places at which libjvm.so's header and code are mapped together. A profiler that reads
 * the symbols also maps offset 0, but without code after it and without relocation. ld.so leaves no
 * gap in which another mapping could be.
 */
static size_t list_candidates(const struct mappings *all, struct candidate out[CANDIDATES_MAX])
{
	const struct mapping *head = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < all->nr && nr < CANDIDATES_MAX; i++) {
		const struct mapping *m = &all->at[i];
		if (!is_libjvm(m))
			continue;
		if (m->readable && !m->file_off)
			head = m;
		if (!m->executable || !head || !is_same_file(m, head) ||
		    (nr && out[nr - 1].base == head->start))
			continue;
		out[nr++] = (struct candidate){ head->start, m->dev_major, m->dev_minor, m->inode };
	}
	return nr;
}

static int find_candidates(pid_t pid, struct candidate out[CANDIDATES_MAX], size_t *nr)
{
	struct mappings all = { 0 };
	int err = mappings_read(pid, false, &all);

	if (err)
		return err;
	*nr = list_candidates(&all, out);
	mappings_fini(&all);
	return *nr ? 0 : -ENOENT;
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

/* Takes a known build or reads it. The caller has filled `key` except for the build id. */
static int read_build(struct hotspot *h, u64 base, struct known_build *key)
{
	struct image img;
	int err = image_read((struct image_memory){ read_for_image, h->jvm.mem }, base, &img);

	if (err) /* mapped, but ld.so has not finished yet */
		return err == -EFAULT ? -EAGAIN : err == -ENOENT ? -ENOEXEC : err;
	h->jvm.bias = img.bias;
	h->jvm.image_start = img.start;
	h->jvm.image_end = img.end;
	h->jvm.data_start = img.data_start;
	h->jvm.data_end = img.data_end;
	key->build_id_len = img.build_id_len;
	memcpy(key->build_id, img.build_id, sizeof(key->build_id));
	return find_build(key, &h->jvm.build) ? 0 : read_tables(h, &img);
}

/*
 * JDK 8..21 have JDK_Version. Check it first: JDK 8 also has Abstract_VM_Version, with HotSpot's
 * version 25.
 */
static int read_version(const struct vm_memory *j)
{
	u64 at = vm_static(j, JDK_CURRENT), major = 0;
	u8 jdk = 0;

	if (at)
		return mem_read(j->mem, at, &jdk, 1) ? 0 : jdk;
	if (vm_read_static(j, VM_MAJOR, &major) || major > 255)
		return 0;
	return (int)major;
}

static char *read_text(const struct vm_memory *j, enum jvm_slot slot, struct java_names *names)
{
	char text[TEXT_MAX];
	u64 at;

	if (vm_read_static(j, slot, &at) || !at || mem_read_string(j->mem, at, text, TEXT_MAX))
		return xstrdup("");
	return xstrdup(java_names_intern(names, text, strlen(text)));
}

static void read_interpreter(struct hotspot *h)
{
	u64 queue, start, len;

	if (h->interpreter_end || vm_read_static(&h->jvm, INTERPRETER_CODE, &queue) || !queue ||
	    vm_read(&h->jvm, queue, QUEUE_BUFFER, &start) ||
	    (vm_read(&h->jvm, queue, QUEUE_END, &len) &&
	     vm_read(&h->jvm, queue, QUEUE_LIMIT, &len)))
		return;
	if (!start || !len || len > INTERPRETER_MAX || !code_heaps_find(&h->heaps, start))
		return;
	h->interpreter_start = start;
	h->interpreter_end = start + len;
}

static void read_stubs(struct hotspot *h)
{
	const struct vm_memory *j = &h->jvm;
	u64 value;

	if (!j->unloads)
		h->jvm.unloads = unloads_find(j);
	if (!vm_read_static(j, CALL_STUB_RETURN, &value))
		h->call_stub_return = value;
	if (!vm_read_static(j, CONT_RETURN_PC, &value) && value)
		h->enter_special_return = value;
	if (!vm_read_static(j, CONT_BARRIER, &value) && value)
		h->barrier = value;
	if (vm_has(&j->build, THREAD_CONT_ENTRY))
		h->cont_entry = (u32)j->build.fields[THREAD_CONT_ENTRY].at;
}

int hotspot_refresh(struct hotspot *h)
{
	struct hotspot_layout before, after;
	struct code_heaps heaps;

	hotspot_read_java_heap(h);
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

/* Reads the data of this process, after the build is known. */
static int read_instance(struct hotspot *h)
{
	h->jvm.jdk = read_version(&h->jvm);
	int err = code_heaps_read(&h->jvm, &h->heaps);
	if (err) /* not there yet, or incomplete */
		return err == -ESRCH ? err : err == -ENOENT ? -ENOEXEC : -EAGAIN;
	h->release = read_text(&h->jvm, VM_RELEASE, h->names);
	h->vm = read_text(&h->jvm, VM_INFO, h->names);
	err = hotspot_refresh(h);
	return err < 0 ? err : 0;
}

static int open_candidate(struct process_id id, const struct candidate *c,
			  const struct proc_status *status, struct hotspot **out)
{
	struct known_build key = { .dev_major = c->dev_major,
				   .dev_minor = c->dev_minor,
				   .inode = c->inode,
				   .uid = status->uid };
	struct mem *m;
	int err = mem_open(id, &m);

	if (err)
		return err;
	auto_hotspot struct hotspot *h = new_hotspot(m, id.pid);
	h->is_nested = status->nr_nspid > 1;
	err = read_build(h, c->base, &key);
	if (err)
		return err;
	err = read_instance(h);
	/* Tables that ld.so is still relocating appear to end early. */
	if (err == -ENOEXEC && time_boot_ns() - status->start_ns < STARTING_NS)
		return -EAGAIN;
	if (err)
		return err;
	keep_build(&key, &h->jvm.build);
	*out = take(h);
	return 0;
}

int hotspot_open(struct process_id id, struct hotspot **out)
{
	struct candidate candidates[CANDIDATES_MAX];
	struct proc_status status;
	size_t nr = 0;
	int err = proc_status_read(id.pid, &status), failure = 0;

	err = err ? err : find_candidates(id.pid, candidates, &nr);
	if (err)
		return err;
	for (size_t i = 0; i < nr; i++) {
		err = open_candidate(id, &candidates[i], &status, out);
		if (!err || err == -ESRCH)
			return err;
		/* A copy that is still starting may be the right one. */
		if (failure != -EAGAIN)
			failure = err;
	}
	return failure;
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
	stub_routines_fini(&h->stubs);
	vec_fini(&h->containers);
	methods_free(h->methods);
	java_names_free(h->names);
	hotspot_forget_names(h);
	free(h->release);
	free(h->vm);
	free(h);
}

void hotspot_info(const struct hotspot *h, struct hotspot_info *out)
{
	struct mem_counts counts = mem_counts(h->jvm.mem);

	*out = (struct hotspot_info){
		.pid = h->pid,
		.jdk = h->jvm.jdk,
		.release = h->release,
		.vm = h->vm,
		.collector = hotspot_collector(h),
		.nr_fields = h->jvm.build.nr_fields,
		.tables_are_cut = h->jvm.build.is_cut,
		.nr_reads = counts.calls,
		.nr_failures = counts.failures,
		.bytes = hotspot_bytes(h),
	};
}

const char *hotspot_release(const struct hotspot *h)
{
	return h->release;
}

size_t hotspot_bytes(const struct hotspot *h)
{
	return java_names_bytes(h->names) + methods_bytes(h->methods) +
	       h->frames.cap * sizeof(h->frames.at[0]) +
	       h->named_pcs.cap * sizeof(h->named_pcs.at[0]) +
	       h->classes.cap * sizeof(h->classes.at[0]) +
	       h->containers.cap * sizeof(h->containers.at[0]) + dict_bytes(&h->by_pc) +
	       dict_bytes(&h->nmethods) + h->compiled_bytes +
	       h->compiled.cap * sizeof(h->compiled.at[0]) + dict_bytes(&h->by_klass);
}

u64 hotspot_libjvm(const struct hotspot *h)
{
	return h->jvm.image_start;
}

int hotspot_variable(const struct hotspot *h, u64 vaddr, bool *out)
{
	u64 addr = vaddr + h->jvm.bias;
	u8 value;

	if (addr < h->jvm.data_start || addr >= h->jvm.data_end)
		return -ERANGE;
	int err = mem_read(h->jvm.mem, addr, &value, 1);
	if (err)
		return err;
	if (value > 1)
		return -EBADMSG;
	*out = value;
	return 0;
}

/* Arguments::_java_command; the launcher's option -Dsun.java.command is parsed before the VM
 * starts. */
int hotspot_java_command(const struct hotspot *h, char *out, size_t max)
{
	u64 at;
	int err = vm_read_static(&h->jvm, JAVA_COMMAND, &at);

	if (err)
		return err;
	*out = '\0';
	if (!at)
		return 0;
	err = mem_read_string(h->jvm.mem, at, out, max);
	if (err == -ENAMETOOLONG)
		out[max - 1] = '\0';
	return err == -ENAMETOOLONG ? 0 : err;
}
