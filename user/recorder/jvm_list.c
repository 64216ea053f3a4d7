/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the JVMs of the node. */
#include "recorder/jvm_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/time.h"
#include "proc/status.h"

#define EVERY_NS     (5 * NS_PER_SEC)
#define JVMS_MAX     4096
#define PPM          1000000.0
#define RELEASE_ENDS "+-" /* of the version in "17.0.15+6-Debian" */

struct seen {
	struct process_id id;
	u64 cpu_ns;
};

struct jvm_list {
	struct node *node;
	u64 at_ns; /* of the last list */
	VEC(struct seen) before, now;
	VEC(struct control_jvm) jvms;
};

struct jvm_list *jvm_list_new(struct node *n)
{
	struct jvm_list *l = xcalloc(1, sizeof(*l));

	l->node = n;
	return l;
}

void jvm_list_free(struct jvm_list *l)
{
	if (!l)
		return;
	vec_fini(&l->before);
	vec_fini(&l->now);
	vec_fini(&l->jvms);
	free(l);
}

/* CPU time since the last list, in millionths of a CPU. */
static u64 used_ppm(const struct jvm_list *l, struct process_id id, u64 now_cpu_ns, u64 passed_ns)
{
	vec_each(s, &l->before)
		if (process_id_same(s->id, id) && passed_ns && now_cpu_ns >= s->cpu_ns)
			return (u64)((double)(now_cpu_ns - s->cpu_ns) / (double)passed_ns * PPM);
	return 0;
}

struct adding {
	struct jvm_list *list;
	u64 passed_ns;
};

/* No event reports that a process becomes another user. */
static void read_user(struct process *p)
{
	struct proc_status now;

	if (!proc_status_read(p->id.pid, &now) && process_id_same(proc_status_id(&now), p->id))
		process_set_user(p, now.uid);
}

static void add(struct process *p, void *ctx)
{
	const struct adding *a = ctx;
	struct jvm_list *l = a->list;

	read_user(p);
	const struct container *c = node_container(l->node, p);
	const char *release = node_jvm_release(l->node, p);
	struct control_jvm jvm = { .pid = p->id.pid,
				   .uid = p->uid,
				   .started = p->id.start_ns / PROC_TICK_NS };
	char version[sizeof(jvm.jdk)];

	if (l->jvms.nr == JVMS_MAX)
		return;
	struct seen seen = { p->id, time_process_ns(p->id.pid) };
	vec_push(&l->now, seen);
	jvm.cpu_ppm = used_ppm(l, p->id, seen.cpu_ns, a->passed_ns);
	copy_text(version, sizeof(version), release);
	version[strcspn(version, RELEASE_ENDS)] = '\0';
	channel_text(jvm.jdk, sizeof(jvm.jdk), version);
	channel_text(jvm.service, sizeof(jvm.service), node_names(l->node, p)->service);
	channel_text(jvm.main, sizeof(jvm.main), node_names(l->node, p)->main);
	channel_text(jvm.container, sizeof(jvm.container), c ? c->id : "");
	channel_text(jvm.container_name, sizeof(jvm.container_name), c ? c->name : "");
	vec_push(&l->jvms, jvm);
}

static void send_list(const struct jvm_list *l, struct outbox *out)
{
	size_t at = 0;

	do {
		struct control_message m = { .kind = CONTROL_JVMS };
		size_t nr = l->jvms.nr - at < CONTROL_JVMS_MAX ? l->jvms.nr - at : CONTROL_JVMS_MAX;
		m.jvms.first = !at;
		m.jvms.nr = (u32)nr;
		if (nr)
			memcpy(m.jvms.at, &l->jvms.at[at], nr * sizeof(m.jvms.at[0]));
		at += nr;
		m.jvms.last = at == l->jvms.nr;
		outbox_add(out, &m, -1);
	} while (at < l->jvms.nr);
}

void jvm_list_tick(struct jvm_list *l, u64 now_ns, struct outbox *out)
{
	struct adding a = { l, now_ns - l->at_ns };

	if (l->at_ns && now_ns - l->at_ns < EVERY_NS)
		return;
	if (!l->at_ns)
		a.passed_ns = 0;
	l->at_ns = now_ns;
	l->jvms.nr = l->now.nr = 0;
	node_each_jvm(l->node, add, &a);
	send_list(l, out);
	typeof(l->before) old;
	memcpy(&old, &l->before, sizeof(old));
	memcpy(&l->before, &l->now, sizeof(old));
	memcpy(&l->now, &old, sizeof(old));
}
