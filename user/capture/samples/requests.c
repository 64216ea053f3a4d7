/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of threads. */
#include "capture/samples/requests.h"

#include <bpf/bpf.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "capture/unwind/sample_stack.h"
#include "export/interchange/tags.h"
#include "jvm/hotspot/jvm_registry.h"
#include "jvm/labels/thread_local.h"
#include "jvm/labels/value_reader.h"
#include "jvm/memory/java_objects.h"
#include "jvm/process/process_context.h"
#include "proc/mem.h"
#include "profile/labels.h"

#define KEYS_AGAIN_NS (100 * NS_PER_MS) /* between looks for the names of unknown keys */
#define LOOK_PAUSE    10                /* times the duration of a look for ThreadLocals .. */
#define LOOK_PAUSE_NS (250 * NS_PER_MS) /* .. but not longer, as a busy machine delays looks */
#define TOO_MANY_SETS "context=" REQUEST_OTHER

/* The attributes of one or more samples, as bytes and as tags. Samples with equal bytes share it.
 */
struct set {
	u8 *bytes;
	u32 len, values_at; /* where the values of ThreadLocals begin, each with its label's number
			     */
	u32 nr_keys;        /* that were known when it was made */
	char *tags[REQUEST_ATTRIBUTES + 1];
	u32 faults;
	bool has_other;
};

/* A process with attributes. */
struct of_process {
	struct process_id id;
	uid_t uid;
	struct dict sets; /* hash of the bytes -> index in `all` + 1 */
	VEC(struct set) all;
	struct dict values; /* hashes of a key's number and its value */
	u16 nr_values[PROCESS_KEYS_MAX + JAVA_LABELS];
	size_t bytes; /* that its sets and values take */
	u64 keys_again_ns;
};

/* Where a process was said to have its contexts. */
struct placed {
	struct process_id id;
	uid_t uid;
	struct thread_variable variable;
};

#define PLACES_OF_USER (CONTEXT_PLACES / 4)
#define JVMS_OF_USER   (JAVA_PLACES / 4)

/* A JVM whose ThreadLocals are read. */
struct of_jvm {
	struct process_id id;
	struct thread_locals *locals;
	uid_t uid;
	bool is_placed; /* in java_places */
};

struct requests {
	int places_fd, java_fd;
	const struct thread_local_spec *specs;
	u32 nr_specs;
	struct jvm_registry *jvms;
	struct dict of_jvms;       /* hash of the id -> struct of_jvm * */
	u64 look_ns;               /* no JVM is looked at before */
	struct dict jvms_of_users; /* the number in java_places */
	bool has_warned;           /* that a user has too many */
	bool was_found[JAVA_LABELS];
	char why[JAVA_LABELS][300];  /* the last reason why a label was not found */
	struct dict placed;          /* pid -> struct placed * */
	struct dict placed_of_users; /* their number */
	struct dict by_process;      /* hash of the id -> struct of_process * */
	struct dict bytes_of_users;
	size_t bytes;
	struct set scratch; /* for attributes that there is no room to keep */
};

struct requests *requests_new(void)
{
	struct requests *r = xcalloc(1, sizeof(*r));

	r->places_fd = r->java_fd = -1;
	return r;
}

void requests_use(struct requests *r, int places_fd, int java_places_fd)
{
	r->places_fd = places_fd;
	r->java_fd = java_places_fd;
}

void requests_read_locals(struct requests *r, struct jvm_registry *jvms,
			  const struct thread_local_spec *specs, u32 nr)
{
	r->jvms = jvms;
	r->specs = specs;
	r->nr_specs = nr < JAVA_LABELS ? nr : JAVA_LABELS;
}

static void of_jvm_free(struct of_jvm *o)
{
	thread_locals_free(o->locals);
	free(o);
}

/* Notes which labels have been found, and why others have not. */
static void note_locals(struct requests *r, const struct of_jvm *o)
{
	for (u32 i = 0; i < r->nr_specs; i++) {
		const char *why = thread_locals_why(o->locals, i);
		r->was_found[i] |= !why;
		if (why)
			snprintf(r->why[i], sizeof(r->why[i]), "%s (process %d)", why,
				 (int)o->id.pid);
	}
}

static struct of_jvm *jvm_of(const struct requests *r, const struct process *p)
{
	const u64 *slot = dict_find(&r->of_jvms, process_id_hash(p->id));

	return slot ? (struct of_jvm *)*slot : NULL;
}

/* Writes to java_places how BPF reads the ThreadLocals. One user gets a part of the places. */
static void place_locals(struct requests *r, struct of_jvm *o, struct java_place *place)
{
	u64 *nr_of_user = dict_add(&r->jvms_of_users, o->uid);
	u32 key = (u32)o->id.pid;

	if (!o->is_placed && *nr_of_user >= JVMS_OF_USER) {
		if (!r->has_warned)
			log_warn("user %u has more than %d JVMs: process %d and others have no "
				 "--label",
				 (unsigned)o->uid, JVMS_OF_USER, (int)o->id.pid);
		r->has_warned = true;
		return;
	}
	place->start_ns = o->id.start_ns;
	if (bpf_map_update_elem(r->java_fd, &key, place, BPF_ANY)) {
		log_debug("process %d: its ThreadLocals: %s", (int)o->id.pid, strerror(errno));
		return;
	}
	*nr_of_user += !o->is_placed;
	o->is_placed = true;
}

/* Finds the ThreadLocals of a JVM. */
static void follow_locals(struct requests *r, const struct process *p)
{
	struct hotspot *h = jvm_registry_find(r->jvms, p->jvm);
	struct of_jvm *o = jvm_of(r, p);
	u64 begin_ns = time_mono_ns();

	if (!h || r->java_fd < 0 || begin_ns < r->look_ns)
		return;
	if (!o) {
		o = xcalloc(1, sizeof(*o));
		o->id = p->id;
		o->uid = p->uid;
		o->locals = thread_locals_new(r->specs, r->nr_specs);
		*dict_add(&r->of_jvms, process_id_hash(p->id)) = (u64)o;
	}
	struct java_place *place = thread_locals_update(o->locals, h);
	u64 end_ns = time_mono_ns();
	u64 pause_ns = LOOK_PAUSE * (end_ns - begin_ns);
	r->look_ns = end_ns + (pause_ns < LOOK_PAUSE_NS ? pause_ns : LOOK_PAUSE_NS);
	note_locals(r, o);
	if (place)
		place_locals(r, o, place);
}

static void forget_locals(struct requests *r, const struct process *p)
{
	struct of_jvm *o = jvm_of(r, p);

	if (!o)
		return;
	*dict_add(&r->jvms_of_users, o->uid) -= o->is_placed;
	of_jvm_free(o);
	dict_remove(&r->of_jvms, process_id_hash(p->id));
}

void requests_warn_of_locals(const struct requests *r)
{
	for (u32 i = 0; i < r->nr_specs; i++)
		if (!r->was_found[i])
			log_warn("--label %s: no sample has it: %s", r->specs[i].name,
				 r->why[i][0] ? r->why[i] : "no JVM was recorded");
}

static void set_fini(struct set *s)
{
	free(s->bytes);
	for (size_t i = 0; i < ARRAY_SIZE(s->tags); i++)
		free(s->tags[i]);
	*s = (struct set){ 0 };
}

static void of_process_free(struct of_process *o)
{
	vec_each(s, &o->all)
		set_fini(s);
	vec_fini(&o->all);
	dict_fini(&o->sets);
	dict_fini(&o->values);
	free(o);
}

void requests_free(struct requests *r)
{
	if (!r)
		return;
	dict_each(slot, &r->by_process)
		of_process_free((void *)slot->value);
	dict_each(slot, &r->of_jvms)
		of_jvm_free((void *)slot->value);
	dict_fini(&r->of_jvms);
	dict_fini(&r->jvms_of_users);
	dict_each(slot, &r->placed)
		free((void *)slot->value);
	dict_fini(&r->by_process);
	dict_fini(&r->placed);
	dict_fini(&r->placed_of_users);
	dict_fini(&r->bytes_of_users);
	set_fini(&r->scratch);
	free(r);
}

static void unplace(struct requests *r, pid_t pid)
{
	const u64 *placed = dict_find(&r->placed, (u64)pid);
	u32 key = (u32)pid;

	if (!placed)
		return;
	--*dict_add(&r->placed_of_users, ((const struct placed *)*placed)->uid);
	free((void *)*placed);
	dict_remove(&r->placed, (u64)pid);
	bpf_map_delete_elem(r->places_fd, &key);
}

static bool is_placed(const struct placed *at, const struct process *p)
{
	const struct thread_variable *v = &p->context.variable;

	return process_id_same(at->id, p->id) && at->variable.module == v->module &&
	       at->variable.offset == v->offset && at->variable.is_musl == v->is_musl;
}

/* Writes to context_places where the threads of the process have their contexts. */
static void place(struct requests *r, const struct process *p)
{
	const struct thread_variable *v = &p->context.variable;
	const struct context_place entry = {
		.start_ns = p->id.start_ns,
		.offset = v->offset,
		.kind = !v->module   ? CONTEXT_STATIC
			: v->is_musl ? CONTEXT_MUSL
				     : CONTEXT_GLIBC,
		.module = v->module,
	};
	const u64 *known = dict_find(&r->placed, (u64)p->id.pid);
	u32 key = (u32)p->id.pid;

	if (known && is_placed((const struct placed *)*known, p))
		return;
	unplace(r, p->id.pid);
	u64 *nr_of_user = dict_add(&r->placed_of_users, p->uid);
	if (*nr_of_user >= PLACES_OF_USER)
		return;
	int err = bpf_map_update_elem(r->places_fd, &key, &entry, BPF_ANY) ? -errno : 0;
	if (err)
		log_debug("process %d: contexts of its threads: %s", (int)p->id.pid,
			  strerror(-err));
	const struct placed now = { p->id, p->uid, *v };
	*dict_add(&r->placed, (u64)p->id.pid) = (u64)xmemdup(&now, sizeof(now));
	++*nr_of_user;
}

void requests_follow(struct requests *r, struct process *p)
{
	const struct process_context *c = &p->context;

	process_context_update(p);
	if (r->places_fd < 0 || p->exit_ns)
		return;
	if (r->nr_specs && p->is_jvm)
		follow_locals(r, p);
	if (c->has_threads && c->has_variable)
		place(r, p);
	else if (r->placed.nr)
		unplace(r, p->id.pid);
}

/* The address of the thread's variable; 0 if it has none. See bpf/context.bpf.c. */
static u64 find_variable(struct mem *m, const struct thread_variable *v, u64 tls)
{
	u64 table, nr, block = tls, entry = v->is_musl ? sizeof(u64) : 2 * sizeof(u64);

	if (v->module &&
	    (mem_read_u64(m, tls + sizeof(u64), &table) ||
	     mem_read_u64(m, v->is_musl ? table : table - entry, &nr) || nr < v->module ||
	     mem_read_u64(m, table + entry * v->module, &block) || block == ~0ull))
		return 0;
	return block ? block + (u64)v->offset : 0;
}

static size_t read_record(struct mem *m, u64 variable, struct thread_context *out)
{
	u64 record;

	if (!variable || mem_read_u64(m, variable, &record) || !record ||
	    mem_read(m, record, out, sizeof(*out)) || out->is_valid != 1)
		return 0;
	size_t bytes = out->attributes_bytes <= CONTEXT_ATTRIBUTES ? out->attributes_bytes : 0;
	return mem_read(m, record + sizeof(*out), out->attributes, bytes) ? sizeof(*out)
									  : sizeof(*out) + bytes;
}

static size_t read_context(struct mem *m, const struct process *p, u64 tls, u64 *words)
{
	const struct process_context *c = &p->context;

	if (!c->has_threads || !c->has_variable)
		return 0;
	size_t bytes = read_record(m, find_variable(m, &c->variable, tls), (void *)words);
	return (bytes + sizeof(u64) - 1) / sizeof(u64);
}

u8 requests_read(const struct requests *r, const struct process *p, u64 tls,
		 u64 words[REQUEST_WORDS])
{
	const struct of_jvm *o = jvm_of(r, p);
	struct mem *m;

	if ((!o && !p->context.has_threads) || mem_open(p->id, &m))
		return 0;
	size_t nr = read_context(m, p, tls, words);
	bool has_values = o && o->is_placed &&
			  values_read(m, thread_locals_place(o->locals), tls,
				      (struct java_value *)(words + nr));
	mem_free(m);
	return (u8)(nr | (has_values ? SAMPLE_HAS_VALUES : 0));
}

static struct of_process *find(const struct requests *r, const struct process *p)
{
	const u64 *slot = dict_find(&r->by_process, process_id_hash(p->id));

	return slot ? (struct of_process *)*slot : NULL;
}

static struct of_process *get(struct requests *r, const struct process *p)
{
	struct of_process *o = find(r, p);

	if (o)
		return o;
	o = xcalloc(1, sizeof(*o));
	o->id = p->id;
	o->uid = p->uid;
	*dict_add(&r->by_process, process_id_hash(p->id)) = (u64)o;
	return o;
}

static void charge(struct requests *r, struct of_process *o, s64 bytes)
{
	o->bytes += (u64)bytes;
	r->bytes += (u64)bytes;
	*dict_add(&r->bytes_of_users, o->uid) += (u64)bytes;
}

static bool has_room(const struct requests *r, const struct of_process *o)
{
	const u64 *of_user = dict_find(&r->bytes_of_users, o->uid);

	return o->all.nr < REQUEST_SETS_MAX && o->bytes < REQUEST_PROCESS_BYTES &&
	       r->bytes < REQUEST_BYTES && (!of_user || *of_user < REQUEST_USER_BYTES);
}

void requests_forget(struct requests *r, const struct process *p)
{
	struct of_process *o = find(r, p);
	const u64 *placed = dict_find(&r->placed, (u64)p->id.pid);

	forget_locals(r, p);
	if (placed && process_id_same(((const struct placed *)*placed)->id, p->id))
		unplace(r, p->id.pid);
	if (!o)
		return;
	charge(r, o, -(s64)o->bytes);
	dict_remove(&r->by_process, process_id_hash(p->id));
	of_process_free(o);
}

/* Attributes that the daemon keeps: they name the operation, and so have few values. */
static const char *const route_keys[] = {
	"route",
	"http.route",
	"http_route",
	"url.template",
	"endpoint",
	"operation",
	"http.request.method",
	"http.method",
	"http_method",
	"rpc.service",
	"rpc.method",
	"messaging.destination.name",
	"messaging.operation.name",
	"graphql.operation.name",
	"graphql.operation.type",
	"faas.name",
};

static bool is_route(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(route_keys); i++)
		if (!strcmp(key, route_keys[i]))
			return true;
	return false;
}

/* Whether exporters write a label of ours under that name. */
static bool is_own_label(const char *key)
{
	for (size_t i = 0; i < NR_LABELS; i++)
		if (!strcmp(key, label_names[i].key) || !strcmp(key, label_names[i].otlp))
			return true;
	return !strcmp(key, "process") || !strcmp(key, "pid") || !strcmp(key, "tid");
}

#define VALUE_BYTES (2 * sizeof(u64)) /* that an entry of of_process.values takes */

/* Whether the value is one of the first of its key. */
static bool is_kept(struct requests *r, struct of_process *o, u32 key, const u8 *value, u8 len)
{
	u64 hash = hash_u64(hash_keyed(value, len) ^ hash_u64(key + 1ull));

	if (dict_find(&o->values, hash))
		return true;
	if (o->nr_values[key] == REQUEST_VALUES_MAX || !has_room(r, o))
		return false;
	*dict_add(&o->values, hash) = 1;
	o->nr_values[key]++;
	charge(r, o, VALUE_BYTES);
	return true;
}

struct attribute {
	const u8 *value;
	u8 len;
};

/* Finds the last value of each key in the bytes of attributes. Returns faults. */
static u32 parse(const u8 *bytes, u32 len, struct attribute out[PROCESS_KEYS_MAX])
{
	u32 at = 0;

	while (len - at >= 2 && bytes[at + 1] <= len - at - 2) {
		out[bytes[at]] = (struct attribute){ bytes + at + 2, bytes[at + 1] };
		at += 2u + bytes[at + 1];
	}
	return at < len ? REQUEST_CUT : 0;
}

static void add_tag(struct tags *to, const char *key, const char *value)
{
	auto_str struct str own = { 0 };

	if (is_own_label(key)) {
		str_addf(&own, "context.%s", key);
		key = own.at;
	}
	tags_add_text(to, key, value);
}

/* Adds the values of ThreadLocals. They were asked for by name: the daemon keeps them, too. */
static void make_values(struct requests *r, struct of_process *o, struct set *s,
			struct tags tags[REQUEST_ATTRIBUTES + 1])
{
	struct attribute all[PROCESS_KEYS_MAX] = { 0 };

	parse(s->bytes + s->values_at, s->len - s->values_at, all);
	for (u32 i = 0; i < r->nr_specs; i++) {
		const struct attribute *a = &all[i];
		const char *name = r->specs[i].name;
		char text[UINT8_MAX + 1] = "";
		if (!a->value || !a->len)
			continue;
		memcpy(text, a->value, a->len);
		bool is_other = !is_kept(r, o, PROCESS_KEYS_MAX + i, a->value, a->len);
		s->has_other |= is_other;
		add_tag(&tags[REQUEST_ATTRIBUTES], name, is_other ? REQUEST_OTHER : text);
		add_tag(&tags[REQUEST_ROUTES], name, is_other ? REQUEST_OTHER : text);
	}
}

/* Makes the tags of s->bytes. */
static void make(struct requests *r, struct of_process *o, const struct process *p, struct set *s)
{
	const struct process_context *c = &p->context;
	struct attribute all[PROCESS_KEYS_MAX] = { 0 };
	struct tags tags[REQUEST_ATTRIBUTES + 1] = { 0 };
	size_t nr = 0;

	s->nr_keys = c->nr_keys;
	s->faults = parse(s->bytes, s->values_at, all);
	s->has_other = false;
	for (u32 key = 0; key < PROCESS_KEYS_MAX; key++) {
		const struct attribute *a = &all[key];
		char text[UINT8_MAX + 1] = "";
		if (!a->value || !a->len)
			continue;
		if (key >= c->nr_keys || !c->keys[key][0]) {
			s->faults |= REQUEST_UNKNOWN_KEY;
			continue;
		}
		if (nr++ == REQUEST_TAGS_MAX) {
			s->faults |= REQUEST_TOO_MANY;
			break;
		}
		memcpy(text, a->value, a->len);
		bool is_other = !is_kept(r, o, key, a->value, a->len);
		const char *value = is_other ? REQUEST_OTHER : text;
		s->has_other |= is_other;
		add_tag(&tags[REQUEST_ATTRIBUTES], c->keys[key], value);
		if (is_route(c->keys[key]))
			add_tag(&tags[REQUEST_ROUTES], c->keys[key], value);
	}
	if (s->values_at < s->len)
		make_values(r, o, s, tags);
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		free(s->tags[i]);
		s->tags[i] = tags_take(&tags[i]);
	}
}

static size_t bytes_of(const struct set *s)
{
	size_t bytes = sizeof(*s) + s->len + 2 * sizeof(struct dict_slot);

	for (size_t i = 0; i < ARRAY_SIZE(s->tags); i++)
		bytes += s->tags[i] ? strlen(s->tags[i]) + 1 : 0;
	return bytes;
}

/* The kept set of these bytes, a new one, or NULL if there is no room for it. */
static struct set *keep_set(struct requests *r, struct of_process *o, const u8 *bytes, u32 len,
			    u32 values_at)
{
	u64 key = hash_keyed(bytes, len);
	const u64 *at;

	for (; (at = dict_find(&o->sets, key)); key++) {
		struct set *s = &o->all.at[*at - 1];
		if (s->len == len && s->values_at == values_at && !memcmp(s->bytes, bytes, len))
			return s;
	}
	if (!has_room(r, o))
		return NULL;
	vec_push(&o->all,
		 (struct set){ .bytes = xmemdup(bytes, len), .len = len, .values_at = values_at });
	*dict_add(&o->sets, key) = o->all.nr;
	return &o->all.at[o->all.nr - 1];
}

/* Makes a set whose bytes are new, or some of whose keys may have names by now. */
static void remake(struct requests *r, struct of_process *o, const struct process *p, struct set *s)
{
	size_t before = s->tags[0] ? bytes_of(s) : 0;

	make(r, o, p, s);
	charge(r, o, (s64)bytes_of(s) - (s64)before);
}

/* Looks for the names of unknown keys. */
static void read_keys_again(struct of_process *o, struct process *p)
{
	u64 now_ns = time_mono_ns();

	if (now_ns < o->keys_again_ns)
		return;
	o->keys_again_ns = now_ns + KEYS_AGAIN_NS;
	p->context.again_ns = 0;
	process_context_update(p);
}

static void take_attributes(struct requests *r, struct process *p, const u8 *bytes, u32 len,
			    u32 values_at, struct request *out)
{
	struct of_process *o = get(r, p);
	struct set *s = keep_set(r, o, bytes, len, values_at);
	bool is_kept = s;

	if (!s) {
		s = &r->scratch;
		free(s->bytes);
		s->bytes = xmemdup(bytes, len);
		s->len = len;
		s->values_at = values_at;
		make(r, o, p, s);
	} else if (!s->tags[0]) {
		remake(r, o, p, s);
	}
	if (is_kept && s->faults & REQUEST_UNKNOWN_KEY) {
		read_keys_again(o, p);
		if (p->context.nr_keys != s->nr_keys)
			remake(r, o, p, s);
	}
	out->faults |= s->faults;
	out->has_other = s->has_other || !is_kept;
	for (size_t i = 0; i < ARRAY_SIZE(s->tags); i++)
		out->tags[i] = !*s->tags[i] ? NULL : is_kept ? s->tags[i] : TOO_MANY_SETS;
}

static void take_trace(const struct thread_context *c, struct request *out)
{
	static const u8 none[REQUEST_TRACE_BYTES];

	out->has_trace = memcmp(c->trace, none, sizeof(c->trace)) != 0;
	memcpy(out->trace, c->trace, sizeof(out->trace));
	memcpy(out->span, c->span, sizeof(out->span));
}

/* The number of attributes' bytes in the sample's context; 0 if it has none. */
static u32 take_context(const struct process *p, const struct sample *sample, struct request *out)
{
	const struct thread_context *c = (const void *)sample_context(sample);
	size_t room = sample_nr_context(sample) * sizeof(u64);

	if (room < sizeof(*c))
		return 0;
	take_trace(c, out);
	if (p->context.nr_changed_keys)
		out->faults |= REQUEST_CHANGED_KEY;
	if (c->attributes_bytes <= room - sizeof(*c))
		return c->attributes_bytes;
	out->faults |=
		c->attributes_bytes > CONTEXT_ATTRIBUTES ? REQUEST_TOO_LARGE : REQUEST_UNREADABLE;
	return 0;
}

#define VALUE_TEXT_BYTES (3 * JAVA_VALUE_BYTES) /* of UTF-8 */

/* A value of a ThreadLocal as text for people; the caller frees it. */
static char *value_text(const struct java_value *v)
{
	size_t len = v->bytes < JAVA_VALUE_BYTES ? v->bytes : JAVA_VALUE_BYTES;
	u32 unused = 64 - 8 * (v->bytes < 8 ? v->bytes : 8);
	s64 number;

	if (v->kind != JAVA_NUMBER)
		return java_text_decode(v->text, len, v->kind == JAVA_UTF16, VALUE_TEXT_BYTES);
	memcpy(&number, v->text, sizeof(number));
	return xasprintf("%lld",
			 (long long)(unused < 64 ? (s64)((u64)number << unused) >> unused : 0));
}

/* Reads the hexadecimal digits of a trace's or a span's id; false if it has others. */
static bool read_id(const struct java_value *v, u8 *out, u32 nr)
{
	u8 all[REQUEST_TRACE_BYTES];

	if (v->kind != JAVA_LATIN1 || v->bytes != 2 * nr)
		return false;
	for (u32 i = 0; i < nr; i++) {
		char digits[3] = { (char)v->text[2 * i], (char)v->text[2 * i + 1], 0 };
		if (!isxdigit((u8)digits[0]) || !isxdigit((u8)digits[1]))
			return false;
		all[i] = (u8)strtoul(digits, NULL, 16);
	}
	memcpy(out, all, nr);
	return true;
}

/* Takes the value of a label that is the id of a trace or span. A thread's own context counts. */
static void take_id(const struct java_value *v, enum local_role role, bool has_context,
		    struct request *out)
{
	static const u8 none[REQUEST_TRACE_BYTES];

	if (has_context)
		return;
	if (role == VALUE_IS_SPAN)
		read_id(v, out->span, REQUEST_SPAN_BYTES);
	else if (read_id(v, out->trace, REQUEST_TRACE_BYTES))
		out->has_trace = memcmp(out->trace, none, sizeof(none)) != 0;
}

/* Appends the values of ThreadLocals as attributes whose keys are numbers of labels. */
static void add_values(struct requests *r, const struct process *p, const struct sample *sample,
		       struct str *out, struct request *request)
{
	const struct java_value *values = sample_values(sample);
	bool has_context = request->has_trace;

	for (u32 i = 0; values && i < r->nr_specs; i++) {
		const struct java_value *v = &values[i];
		if (v->kind == JAVA_UNREADABLE || v->kind == JAVA_OTHER_CLASS)
			request->faults |= REQUEST_OTHER_OBJECT;
		struct of_jvm *o = v->kind == JAVA_OTHER_CLASS ? jvm_of(r, p) : NULL;
		if (o)
			thread_locals_learn(o->locals, i, v);
		if (v->kind == JAVA_NONE || v->kind >= JAVA_UNREADABLE)
			continue;
		r->was_found[i] = true;
		if (r->specs[i].role != VALUE_IS_LABEL) {
			take_id(v, r->specs[i].role, has_context, request);
			continue;
		}
		auto_free char *text = value_text(v);
		size_t len = strlen(text);
		str_add_char(out, (char)i);
		str_add_char(out, (char)len);
		str_add_bytes(out, text, len);
	}
}

void requests_of(struct requests *r, struct process *p, const struct sample *sample,
		 struct request *out)
{
	const struct thread_context *c = (const void *)sample_context(sample);
	auto_str struct str bytes = { 0 };

	*out = (struct request){ 0 };
	u32 len = take_context(p, sample, out);
	if (!sample_values(sample)) {
		if (len)
			take_attributes(r, p, c->attributes, len, len, out);
		return;
	}
	if (len)
		str_add_bytes(&bytes, c->attributes, len);
	add_values(r, p, sample, &bytes, out);
	if (bytes.len)
		take_attributes(r, p, (const u8 *)bytes.at, (u32)bytes.len, len, out);
}

char *request_faults_text(u32 faults)
{
	static const struct {
		enum request_fault fault;
		const char *text;
	} texts[] = {
		{ REQUEST_TOO_LARGE, "larger than 640 bytes" },
		{ REQUEST_UNREADABLE, "not in memory" },
		{ REQUEST_CUT, "ends inside an attribute" },
		{ REQUEST_UNKNOWN_KEY, "a key without a name" },
		{ REQUEST_CHANGED_KEY, "a key that changed its name" },
		{ REQUEST_TOO_MANY, "more than 32 attributes" },
		{ REQUEST_OTHER_OBJECT, "an object of another class" },
	};
	struct str out = { 0 };

	str_add(&out, "");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (faults & texts[i].fault)
			str_addf(&out, "%s%s", out.len ? ", " : "", texts[i].text);
	return str_take(&out);
}

size_t requests_nr(const struct requests *r)
{
	return r->by_process.nr;
}

size_t requests_bytes(const struct requests *r)
{
	return r->bytes;
}
