/* SPDX-License-Identifier: Apache-2.0 */
/* The context that a process publishes of itself. */
#include "jvm/process/process_context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "export/interchange/pb.h"
#include "jvm/process/words.h"
#include "proc/mem.h"

#define YOUNG_NS     (100 * NS_PER_MS) /* short programs are not searched */
#define PAUSE_NS     (100 * NS_PER_MS) /* after the first search; half as long again after each */
#define PAUSE_MAX_NS (64 * NS_PER_SEC)
/* between searches for a variable, doubled after each; with new mappings the next is due at once */
#define VARIABLE_NS     (100 * NS_PER_MS)
#define VARIABLE_MAX_NS (10 * NS_PER_SEC)
#define CHECK_NS        NS_PER_SEC /* between looks at a known header */
#define PAYLOAD_MAX     (64u << 10)
#define TRIES           2 /* the process may publish again while it is read */

#define SIGNATURE "OTEL_CTX"
#define VERSION   2

/* The kernel's names for the mapping; which one depends on how the process made it. */
static const char *const names[] = { "[anon_shmem:" SIGNATURE, "[anon:" SIGNATURE,
				     "/memfd:" SIGNATURE };

struct header {
	char signature[8];
	u32 version;
	u32 payload_len;
	u64 published_ns; /* CLOCK_BOOTTIME; 0 while the process changes it */
	u64 payload;      /* its address */
};

/* Fields of ProcessContext, Resource, KeyValue and AnyValue. */
enum {
	CONTEXT_RESOURCE = 1,
	CONTEXT_ATTRIBUTE = 2,
	RESOURCE_ATTRIBUTE = 1,
	ATTRIBUTE_KEY = 1,
	ATTRIBUTE_VALUE = 2,
	VALUE_TEXT = 1,
	VALUE_ARRAY = 5,
	ARRAY_VALUE = 1,
};

/* The schemas of thread contexts that are known, in threadlocal.schema_version. */
static const char *const schemas[] = { "tlsdesc_v1_dev", "tls_v1" };

static void set(char **text, char *new)
{
	free(*text);
	*text = new;
}

static void add_key(struct process_context *c, char *name)
{
	if (!c->keys)
		c->keys = xcalloc(PROCESS_KEYS_MAX, sizeof(c->keys[0]));
	c->keys[c->nr_keys++] = name;
}

static bool is_key(const struct pb_field *key, const char *name)
{
	return key->len == strlen(name) && !memcmp(key->at, name, key->len);
}

/* The text for that key; NULL if it is not one of ours. */
static char **text_of(struct process_context *c, const struct pb_field *key)
{
	return is_key(key, "service.name")                  ? &c->service
	       : is_key(key, "service.instance.id")         ? &c->instance
	       : is_key(key, "service.version")             ? &c->version
	       : is_key(key, "deployment.environment.name") ? &c->environment
	       : is_key(key, "deployment.environment")      ? &c->environment
							    : NULL;
}

static int take_value(const struct pb_field *value, char **out)
{
	struct pb_reader r = pb_read(value->at, value->len);
	struct pb_field f;
	int more;

	while ((more = pb_next(&r, &f)) > 0) {
		if (f.number != VALUE_TEXT || !f.is_bytes || !f.len)
			continue;
		auto_free char *raw = xstrndup((const char *)f.at, f.len);
		set(out, words_clean(raw));
	}
	return more;
}

/* The names of keys, by their numbers. */
static int take_names(const struct pb_field *array, struct process_context *c)
{
	struct pb_reader r = pb_read(array->at, array->len);
	struct pb_field f;
	int more;

	while ((more = pb_next(&r, &f)) > 0) {
		char *name = NULL;
		if (f.number != ARRAY_VALUE || !f.is_bytes || c->nr_keys == PROCESS_KEYS_MAX)
			continue;
		int err = take_value(&f, &name);
		add_key(c, name ?: xstrdup(""));
		if (err)
			return err;
	}
	return more;
}

static int take_keys(const struct pb_field *value, struct process_context *c)
{
	struct pb_reader r = pb_read(value->at, value->len);
	struct pb_field f;
	int more;

	while ((more = pb_next(&r, &f)) > 0) {
		int err = f.number == VALUE_ARRAY && f.is_bytes && !c->nr_keys ? take_names(&f, c)
									       : 0;
		if (err)
			return err;
	}
	return more;
}

static int take_schema(const struct pb_field *value, struct process_context *c)
{
	auto_free char *text = NULL;
	int err = take_value(value, &text);

	for (size_t i = 0; i < ARRAY_SIZE(schemas); i++)
		c->has_threads |= text && !strcmp(text, schemas[i]);
	return err;
}

/* The first attribute of a key counts. */
static int take_attribute(const struct pb_field *attribute, struct process_context *c)
{
	struct pb_reader r = pb_read(attribute->at, attribute->len);
	struct pb_field f, key = { 0 }, value = { 0 };
	int more;

	while ((more = pb_next(&r, &f)) > 0) {
		if (f.number == ATTRIBUTE_KEY && f.is_bytes)
			key = f;
		else if (f.number == ATTRIBUTE_VALUE && f.is_bytes)
			value = f;
	}
	if (more || !key.at)
		return more;
	if (value.at && is_key(&key, "threadlocal.schema_version"))
		return take_schema(&value, c);
	if (value.at && is_key(&key, "threadlocal.attribute_key_map"))
		return take_keys(&value, c);
	char **out = text_of(c, &key);
	return out && !*out && value.at ? take_value(&value, out) : more;
}

static int take_resource(const struct pb_field *resource, struct process_context *c)
{
	struct pb_reader r = pb_read(resource->at, resource->len);
	struct pb_field f;
	int more;

	while ((more = pb_next(&r, &f)) > 0)
		if (f.number == RESOURCE_ATTRIBUTE && f.is_bytes)
			more = take_attribute(&f, c) ?: more;
		else
			continue;
	return more;
}

int process_context_parse(const void *payload, size_t len, struct process_context *out)
{
	struct pb_reader r = pb_read(payload, len);
	struct pb_field f;
	int more = 0, err = 0;

	process_context_fini(out);
	while (!err && (more = pb_next(&r, &f)) > 0)
		if (f.number == CONTEXT_RESOURCE && f.is_bytes)
			err = take_resource(&f, out);
		else if (f.number == CONTEXT_ATTRIBUTE && f.is_bytes)
			err = take_attribute(&f, out);
	if (err || more) {
		process_context_fini(out);
		return -EINVAL;
	}
	return 0;
}

static bool is_header(const struct header *h)
{
	return !memcmp(h->signature, SIGNATURE, sizeof(h->signature)) && h->version == VERSION;
}

static int read_payload(struct mem *m, const struct process *p, const struct header *h,
			struct process_context *out)
{
	struct header after;
	auto_free u8 *payload = xmalloc(h->payload_len + 1ul);

	int err = mem_read(m, h->payload, payload, h->payload_len)
			  ?: mem_read(m, p->context.header, &after, sizeof(after));
	if (err)
		return err;
	return after.published_ns == h->published_ns
		       ? process_context_parse(payload, h->payload_len, out)
		       : -EAGAIN;
}

/* Keys are only added: a number that has a name keeps it. */
static void take_new_keys(struct process_context *c, const struct process_context *new)
{
	for (u32 i = 0; i < new->nr_keys; i++) {
		if (i >= c->nr_keys) {
			add_key(c, take(new->keys[i]));
			continue;
		}
		c->nr_changed_keys += strcmp(c->keys[i], new->keys[i]) != 0;
		free(new->keys[i]);
	}
	free(new->keys);
	c->has_threads = new->has_threads;
}

/* Gives the process the texts of `new`, which it takes over. */
static void change(struct process *p, const struct process_context *new)
{
	struct process_context *c = &p->context;

	take_new_keys(c, new);
	set(&c->service, new->service);
	set(&c->instance, new->instance);
	set(&c->environment, new->environment);
	set(&c->version, new->version);
	c->nr_changes++;
}

/* Reads what the process publishes at its header. -ENOENT if there is no header any more. */
static int read_context(struct process *p)
{
	struct process_context new = { 0 };
	struct header h = { 0 };
	struct mem *m;
	int err = mem_open(p->id, &m);

	if (err)
		return err;
	err = -EAGAIN;
	for (int i = 0; i < TRIES && err == -EAGAIN; i++) {
		err = mem_read(m, p->context.header, &h, sizeof(h));
		if (!err && !is_header(&h))
			err = -ENOENT;
		if (err)
			break;
		if (h.published_ns == p->context.published_ns) {
			mem_free(m);
			return h.published_ns ? 0 : -EAGAIN;
		}
		err = !h.published_ns               ? -EAGAIN
		      : h.payload_len > PAYLOAD_MAX ? -E2BIG
						    : read_payload(m, p, &h, &new);
	}
	mem_free(m);
	if (err == -EAGAIN || err == -ESRCH)
		return err;
	/* What cannot be read is not read again until the process publishes anew. */
	p->context.published_ns = err == -ENOENT ? 0 : h.published_ns;
	change(p, &new);
	return err;
}

/* The size of the process's memory in pages, by proc(5); 0 if it cannot be read. */
static u64 size_of(const struct process *p)
{
	char path[32], text[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)p->id.pid);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return 0;
	return strtoull(text, NULL, 10);
}

/*
 * A header is a mapping: a process of the same size has made none. It may get its name after it was
 * made, so that one more search follows each change; and after the longest pause the mappings are
 * searched in any case.
 */
static bool has_new_mappings(struct process *p)
{
	struct process_context *c = &p->context;
	u64 size = size_of(p);

	c->nr_same = size && size == c->size_pages ? c->nr_same + 1 : 0;
	c->size_pages = size;
	return c->nr_same < 2 || c->pause_ns >= PAUSE_MAX_NS;
}

/* Kernel threads, and processes that ended, have no mappings. */
static void search(struct process *p, u64 now_ns)
{
	struct process_context *c = &p->context;
	u64 age_ns = time_boot_ns() - p->program_ns;
	u64 found = 0;

	if (age_ns < YOUNG_NS) {
		c->again_ns = now_ns + YOUNG_NS - age_ns;
		return;
	}
	int err = p->mappings.nr && has_new_mappings(p)
			  ? process_find_mapping(p, names, ARRAY_SIZE(names), &found)
			  : -ENOENT;
	if (err == -EAGAIN) {
		c->again_ns = now_ns + YOUNG_NS;
		return;
	}
	c->header = found;
	c->pause_ns = err == -E2BIG || err == -ETIMEDOUT ? PAUSE_MAX_NS
		      : !c->pause_ns                     ? PAUSE_NS
		      : c->pause_ns < PAUSE_MAX_NS / 2   ? c->pause_ns + c->pause_ns / 2
							 : PAUSE_MAX_NS;
	c->again_ns = now_ns + c->pause_ns;
}

/*
 * A library that defines the variable may be loaded later, and its relocations are resolved after
 * it is mapped. A known variable is searched again now and then, because its library may be gone.
 */
static void follow_variable(struct process *p, u64 now_ns)
{
	struct process_context *c = &p->context;
	struct thread_variable found;
	bool is_new = !c->has_variable && c->variable_version != p->mappings_version;

	if (!c->has_threads ||
	    (now_ns < c->variable_again_ns &&
	     (!is_new || now_ns < c->variable_again_ns - c->variable_pause_ns + VARIABLE_NS)))
		return;
	c->variable_version = p->mappings_version;
	int err = thread_variable_find(p, &found);
	if (!err)
		c->variable = found;
	if (!err || err == -ENOENT)
		c->has_variable = !err;
	c->variable_pause_ns = !err                                       ? PAUSE_MAX_NS
			       : !c->variable_pause_ns || c->has_variable ? VARIABLE_NS
			       : c->variable_pause_ns < VARIABLE_MAX_NS / 2
				       ? 2 * c->variable_pause_ns
				       : VARIABLE_MAX_NS;
	c->variable_again_ns = now_ns + c->variable_pause_ns;
	log_debug("process %d: the variable of contexts: %s, module %u, offset %lld",
		  (int)p->id.pid, err ? strerror(-err) : "found", c->variable.module,
		  (long long)c->variable.offset);
}

void process_context_update(struct process *p)
{
	struct process_context *c = &p->context;
	u64 now_ns = time_mono_ns();

	if (p->exit_ns || !p->all)
		return;
	if (now_ns < c->again_ns) {
		follow_variable(p, now_ns);
		return;
	}
	if (!c->header)
		search(p, now_ns);
	if (!c->header)
		return;
	int err = read_context(p);
	if (err && err != -EAGAIN)
		log_debug("process %d: its context: %s", (int)p->id.pid, strerror(-err));
	if (err == -ENOENT || err == -EFAULT)
		c->header = 0;
	c->again_ns = now_ns + CHECK_NS;
	follow_variable(p, now_ns);
}
