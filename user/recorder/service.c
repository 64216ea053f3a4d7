/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the service of a process. */
#include "recorder/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/utf8.h"
#include "jvm/process/java_args.h"
#include "proc/mem.h"

#define NAME_BYTES   100
#define SERVICES_MAX 65536 /* then those are dropped that were not used since the last sweep */
#define READ_BYTES   (64u << 10) /* of a command line or an environment */
#define STAT_BYTES   4096
#define ARG_FIELD    48 /* arg_start in /proc/PID/stat, then arg_end, env_start, env_end */

struct service {
	struct process_id id;
	u64 program_ns; /* of the process when it was read: exec makes another program */
	char *name, *main;
	const struct container *container; /* whose name it was read with */
	bool is_used;
};

struct services {
	struct node *node;
	struct dict by_id; /* process_id_hash -> struct service * */
};

struct services *services_new(struct node *n)
{
	struct services *all = xcalloc(1, sizeof(*all));

	all->node = n;
	return all;
}

static void free_service(struct service *s)
{
	free(s->name);
	free(s->main);
	free(s);
}

void services_free(struct services *all)
{
	if (!all)
		return;
	dict_each(slot, &all->by_id)
		free_service((struct service *)(uintptr_t)slot->value);
	dict_fini(&all->by_id);
	free(all);
}

void services_each_cache(const struct services *all, cache_use_fn visit, void *ctx)
{
	struct cache_use use = { "services", all->by_id.nr, dict_bytes(&all->by_id),
				 SERVICES_MAX * (sizeof(struct service) + 2 * NAME_BYTES) };

	dict_each(slot, &all->by_id) {
		const struct service *s = (const struct service *)(uintptr_t)slot->value;
		use.bytes += sizeof(*s) + strlen(s->name) + strlen(s->main) + 2;
	}
	visit(&use, ctx);
}

static char *clean(const char *text)
{
	struct str out = { 0 };

	utf8_clean(&out, text, NAME_BYTES);
	return str_take(&out);
}

/* The value of `name` in "a=b,c=d"; NULL if it is missing. */
static char *attribute(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; *at;) {
		size_t here = strcspn(at, ",");
		if (here > len + 1 && !strncmp(at, name, len) && at[len] == '=') {
			auto_free char *value = xstrndup(at + len + 1, here - len - 1);
			return clean(value);
		}
		at += here + (at[here] == ',');
	}
	return NULL;
}

char *service_in_environment(const char *environ, size_t len)
{
	static const char own[] = "OTEL_SERVICE_NAME=", list[] = "OTEL_RESOURCE_ATTRIBUTES=";
	char *found = NULL;

	for (const char *v = java_args_next(environ, len, NULL); v;
	     v = java_args_next(environ, len, v)) {
		if (!strncmp(v, own, sizeof(own) - 1) && v[sizeof(own) - 1]) {
			free(found);
			return clean(v + sizeof(own) - 1);
		}
		if (!found && !strncmp(v, list, sizeof(list) - 1))
			found = attribute(v + sizeof(list) - 1, "service.name");
	}
	return found;
}

/*
 * Where the kernel put arguments and environment (proc_pid_stat(5)). The files that show them read
 * the process's memory, which may never answer; mem.h gives up.
 */
static bool find_words(pid_t pid, u64 out[4])
{
	auto_free char *stat = NULL;
	char path[32];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, STAT_BYTES, &stat, &len))
		return false;
	const char *at = strrchr(stat, ')'); /* the end of field 2 */
	for (int field = 2; at && field < ARG_FIELD; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at && sscanf(at, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &out[0], &out[1],
			    &out[2], &out[3]) == 4;
}

/* Reads words that end in a NUL each; NULL if none can be read. */
static char *read_words(struct mem *m, u64 begin, u64 end, size_t *len)
{
	size_t most = end > begin && end - begin < READ_BYTES ? (size_t)(end - begin) : READ_BYTES;
	char *words = end > begin ? xmalloc(most + 1) : NULL;
	ssize_t got = words ? mem_read_some(m, begin, words, most) : 0;

	if (got <= 0) {
		free(words);
		return NULL;
	}
	words[got - 1] = '\0';
	*len = (size_t)got;
	return words;
}

static char *main_of(const struct process *p, const char *cmdline, size_t len)
{
	struct java_args args;

	if (!cmdline || !p->is_jvm)
		return NULL;
	java_args_parse(cmdline, len, &args);
	return *args.main ? clean(args.main) : NULL;
}

static void read_service(struct services *all, struct process *p, struct service *s)
{
	auto_free char *cmdline = NULL, *environ = NULL;
	size_t cmdline_len = 0, environ_len = 0;
	struct mem *m = NULL;
	u64 at[4];

	free(s->name);
	free(s->main);
	s->name = NULL;
	s->container = node_container(all->node, p);
	s->program_ns = p->program_ns;
	if (find_words(p->id.pid, at) && !mem_open(p->id, &m)) {
		if (p->is_jvm)
			cmdline = read_words(m, at[0], at[1], &cmdline_len);
		environ = read_words(m, at[2], at[3], &environ_len);
		mem_free(m);
	}
	if (environ)
		s->name = service_in_environment(environ, environ_len);
	s->main = main_of(p, cmdline, cmdline_len) ?: clean(p->comm);
	if (!s->name && s->container && *s->container->name)
		s->name = clean(s->container->name);
	if (!s->name || !*s->name) {
		free(s->name);
		s->name = xstrdup(s->main);
	}
}

/* The container is found after the process, and exec makes another program. */
static bool is_old(const struct service *s, const struct process *p)
{
	return !process_id_same(s->id, p->id) || s->program_ns != p->program_ns ||
	       (p->container && s->container != p->container);
}

static struct service *find(struct services *all, struct process *p)
{
	if (all->by_id.nr >= SERVICES_MAX)
		services_sweep(all);

	u64 *slot = dict_add(&all->by_id, process_id_hash(p->id));
	struct service *s = (struct service *)(uintptr_t)*slot;

	if (!s) {
		s = xcalloc(1, sizeof(*s));
		*slot = (uintptr_t)s;
	}
	if (!s->name || is_old(s, p)) {
		s->id = p->id;
		read_service(all, p, s);
	}
	s->is_used = true;
	return s;
}

const char *services_of(struct services *all, struct process *p)
{
	return find(all, p)->name;
}

const char *services_main(struct services *all, struct process *p)
{
	return find(all, p)->main;
}

void services_sweep(struct services *all)
{
	struct dict kept = { 0 };

	dict_each(slot, &all->by_id) {
		struct service *s = (struct service *)(uintptr_t)slot->value;
		if (!s->is_used) {
			free_service(s);
			continue;
		}
		s->is_used = false;
		*dict_add(&kept, slot->key) = slot->value;
	}
	dict_fini(&all->by_id);
	all->by_id = kept;
}
