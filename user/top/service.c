/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the service of a process. */
#include "top/service.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/process/main_class.h"
#include "jvm/process/words.h"
#include "proc/status.h"

#define PAUSE_NS     NS_PER_SEC /* after a failed read; doubled after each */
#define PAUSE_MAX_NS (256 * NS_PER_SEC)
#define SERVICES_MAX 65536 /* then those are dropped that were not used since the last sweep */

struct service {
	struct process_id id;
	u64 program_ns; /* of the process when it was read: exec makes another program */
	char *name, *main;
	const struct container *container; /* whose name it was read with */
	bool awaits_name;                  /* of the container, which was unknown */
	bool is_said, is_jvms; /* the JVM has said its main class; the process was a JVM then */
	u64 again_ns; /* CLOCK_MONOTONIC, when words that could not be read are tried; 0: never */
	u64 pause_ns; /* until then */
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
				 SERVICES_MAX * (sizeof(struct service) + 2 * WORDS_NAME_BYTES) };

	dict_each(slot, &all->by_id) {
		const struct service *s = (const struct service *)(uintptr_t)slot->value;
		use.bytes += sizeof(*s) + strlen(s->name) + strlen(s->main) + 2;
	}
	visit(&use, ctx);
}

static void set(char **text, char *new)
{
	free(*text);
	*text = new;
}

/* A program called "java" loads the JVM in a moment. */
static bool is_java(const struct process *p)
{
	return p->is_jvm || !strcmp(p->comm, "java");
}

/* A kernel has hundreds of threads, and each is a name that nobody looks for. */
static bool is_kernel_thread(const struct process *p)
{
	struct proc_status now;

	return !p->mappings.nr && !p->is_jvm && !proc_status_read(p->id.pid, &now) &&
	       process_id_same(proc_status_id(&now), p->id) && now.is_kernel_thread;
}

static void read_service(struct services *all, struct process *p, struct service *s)
{
	auto_words struct words w = { 0 };
	const char *command = node_jvm_command(all->node, p);

	s->container = node_container(all->node, p);
	s->program_ns = p->program_ns;
	s->is_said = command;
	s->is_jvms = p->is_jvm;
	if (is_kernel_thread(p)) {
		set(&s->main, words_clean(p->comm));
		set(&s->name, xstrdup(SERVICE_KERNEL));
		s->again_ns = 0;
		s->awaits_name = false;
		return;
	}
	words_read(p->id, is_java(p) ? WORDS_ARGS | WORDS_ENVIRON : WORDS_ENVIRON, &w);
	s->pause_ns = s->pause_ns && s->pause_ns < PAUSE_MAX_NS ? 2 * s->pause_ns : PAUSE_NS;
	s->again_ns = w.environ ? 0 : time_mono_ns() + s->pause_ns;
	set(&s->main, (is_java(p) ? main_class(command, &w) : NULL) ?: words_clean(p->comm));
	set(&s->name, w.environ ? words_service(w.environ, w.environ_len) : NULL);
	s->awaits_name = !s->name && s->container && !*s->container->name;
	if (!s->name && s->container && *s->container->name)
		s->name = words_clean(s->container->name);
	if (!s->name || !*s->name)
		set(&s->name, xstrdup(s->main));
}

/* The container is found after the process, and exec makes another program. */
static bool is_old(const struct services *all, const struct service *s, const struct process *p)
{
	if (!process_id_same(s->id, p->id) || s->program_ns != p->program_ns ||
	    (p->container && s->container != p->container))
		return true;
	return !p->exit_ns &&
	       ((p->is_jvm && !s->is_jvms) || (!s->is_said && node_jvm_command(all->node, p)) ||
		(s->again_ns && time_mono_ns() >= s->again_ns));
}

/* The name of a container may be found after the container. */
static void take_late_name(struct service *s, const struct process *p)
{
	if (!s->awaits_name || !p->container || !*p->container->name)
		return;
	free(s->name);
	s->name = words_clean(p->container->name);
	s->awaits_name = false;
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
	if (!s->name || is_old(all, s, p)) {
		s->id = p->id;
		read_service(all, p, s);
	}
	take_late_name(s, p);
	s->is_used = true;
	return s;
}

const char *services_of(struct services *all, struct process *p)
{
	return find(all, p)->name;
}

const char *services_label(struct process *p, void *ctx)
{
	return services_of(ctx, p);
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
