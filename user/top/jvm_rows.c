/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the numbers of all JVMs. */
#include "top/jvm_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "base/time.h"
#include "base/utf8.h"
#include "jvm/hotspot/hotspot.h"
#include "jvm/hotspot/legibility.h"
#include "jvm/process/javaproc.h"
#include "jvm/process/main_class.h"

#define SEARCH_NS    (5 * NS_PER_SEC) /* between searches of /proc, without a node */
#define CONTAINER_ID 12               /* characters shown of one without a name */
#define JVMS_MAX     4096

/* A JVM of the last readings. */
struct watched {
	struct jvm_meter *meter;
	char *name, *container, *jdk, *collector, *gap;
	struct hotspot *own; /* without a node */
	bool is_there;
};

struct jvm_rows {
	const pid_t *pids;
	size_t nr_pids;
	VEC(struct watched) jvms;
	u64 searched_ns;
	/* Of this reading. */
	struct node *node;
	u64 now_ns;
	struct board *board;
};

struct jvm_rows *jvm_rows_new(const pid_t *pids, size_t nr_pids)
{
	struct jvm_rows *r = xcalloc(1, sizeof(*r));

	r->pids = pids;
	r->nr_pids = nr_pids;
	return r;
}

static void free_jvm(struct watched *j)
{
	jvm_meter_free(j->meter);
	hotspot_free(j->own);
	free(j->name);
	free(j->container);
	free(j->jdk);
	free(j->collector);
	free(j->gap);
}

void jvm_rows_free(struct jvm_rows *r)
{
	if (!r)
		return;
	vec_each(j, &r->jvms)
		free_jvm(j);
	vec_fini(&r->jvms);
	free(r);
}

static bool is_wanted(const struct jvm_rows *r, pid_t pid)
{
	for (size_t i = 0; i < r->nr_pids; i++)
		if (r->pids[i] == pid)
			return true;
	return !r->nr_pids;
}

/* The JVM's entry, a new one if it is new; NULL if it is not wanted. */
static struct watched *find(struct jvm_rows *r, struct process_id id)
{
	vec_each(j, &r->jvms)
		if (process_id_same(jvm_meter_id(j->meter), id))
			return j;
	if (!is_wanted(r, id.pid) || r->jvms.nr == JVMS_MAX)
		return NULL;
	struct watched new = { .meter = jvm_meter_new(id) };
	vec_push(&r->jvms, new);
	return &r->jvms.at[r->jvms.nr - 1];
}

static void set(char **to, const char *text, size_t max)
{
	struct str clean = { 0 };

	utf8_clean(&clean, text, max);
	free(*to);
	*to = str_take(&clean);
}

/* Version and collector, when its memory can be read. */
static void describe(struct watched *j, const struct hotspot *h)
{
	struct hotspot_info info;

	hotspot_info(h, &info);
	if (info.jdk == 8) /* its release is that of HotSpot, "25.504-b08" */
		set(&j->jdk, "8", SIZE_MAX);
	else if (*info.release)
		set(&j->jdk, info.release, strcspn(info.release, "+-"));
	set(&j->collector, info.collector, 32);
}

static void read_jvm(struct jvm_rows *r, struct watched *j, struct hotspot *h)
{
	struct jvm_row row = { 0 };

	if (h && (!j->collector || !*j->collector))
		describe(j, h);
	row.collector = j->collector ?: "";
	jvm_meter_read(j->meter, h, r->now_ns, &row);
	row.name = j->name ?: "?";
	row.container = j->container ?: "";
	row.jdk = j->jdk ?: "";
	row.gap = h ? NULL : j->gap ?: "its memory cannot be read (yet)";
	j->is_there = true;
	vec_push(&r->board->rows, row);
}

static void read_of_node(struct process *p, void *ctx)
{
	struct jvm_rows *r = ctx;
	struct watched *j = process_is_whole_jvm(p) ? find(r, p->id) : NULL;
	const struct container *c = j ? node_container(r->node, p) : NULL;

	if (!j)
		return;
	set(&j->name, node_names(r->node, p)->main, SIZE_MAX);
	if (c && *c->name)
		set(&j->container, c->name, SIZE_MAX);
	else
		set(&j->container, c ? c->id : "", CONTAINER_ID);
	read_jvm(r, j, node_jvm(r->node, p));
}

static void search(struct jvm_rows *r)
{
	struct javaprocs all = { 0 };
	char id[CONTAINER_ID_LEN + 1];

	if (r->searched_ns && r->now_ns - r->searched_ns < SEARCH_NS)
		return;
	r->searched_ns = r->now_ns;
	javaprocs_read(&all);
	vec_each(found, &all) {
		struct watched *j = find(r, found->id);
		if (!j || j->name)
			continue;
		set(&j->name, found->main, SIZE_MAX);
		set(&j->jdk, found->jdk, SIZE_MAX);
		set(&j->container, cgroup_container(found->id.pid, id) ? id : "", CONTAINER_ID);
	}
	javaprocs_fini(&all);
}

/* Once the JVM itself can be asked for its main class. */
static void read_name(struct watched *j, struct process_id id)
{
	char command[MAIN_CLASS_COMMAND_MAX];

	if (hotspot_java_command(j->own, command, sizeof(command)))
		return;
	auto_free char *name = javaproc_main(id, command);
	set(&j->name, name, SIZE_MAX);
}

static void read_alone(struct jvm_rows *r)
{
	auto_str struct str why = { 0 };

	search(r);
	vec_each(j, &r->jvms) {
		struct process_id id = jvm_meter_id(j->meter);
		bool is_new = !j->own;
		int err = is_new ? hotspot_open(id, &j->own) : 0;
		if (err && legibility_of(id, err, NULL, &why) != LEGIBLE)
			set(&j->gap, why.at, SIZE_MAX);
		else if (!err && is_new)
			read_name(j, id);
		if (time_process_ns(id.pid) && !(j->own && hotspot_refresh(j->own) == -ESRCH))
			read_jvm(r, j, j->own);
	}
}

static void drop_ended(struct jvm_rows *r)
{
	size_t nr = 0;

	vec_each(j, &r->jvms) {
		if (j->is_there)
			r->jvms.at[nr++] = *j;
		else
			free_jvm(j);
	}
	r->jvms.nr = nr;
}

static void begin(struct jvm_rows *r, u64 now_ns, struct board *out)
{
	r->now_ns = now_ns;
	r->board = out;
	out->rows.nr = 0;
	vec_each(j, &r->jvms)
		j->is_there = false;
}

void jvm_rows_read(struct jvm_rows *r, struct node *n, u64 now_ns, struct board *out)
{
	begin(r, now_ns, out);
	r->node = n;
	node_each_jvm(n, read_of_node, r);
	drop_ended(r);
}

void jvm_rows_search(struct jvm_rows *r, u64 now_ns, struct board *out)
{
	begin(r, now_ns, out);
	read_alone(r);
	drop_ended(r);
}
