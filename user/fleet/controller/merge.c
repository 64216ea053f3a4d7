/* SPDX-License-Identifier: Apache-2.0 */
/* Spools, and the workers that merge them. */
#include "fleet/controller/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/time.h"
#include "export/read.h"
#include "fleet/controller/node_table.h"
#include "sandbox/worker.h"

#define CPU_NS       (300 * NS_PER_SEC)
#define MEMORY_BYTES (2ull << 30)

int spool_open(struct spool *s)
{
	*s = (struct spool){ .fd = memfile_new("fleet") };
	return s->fd < 0 ? s->fd : 0;
}

void spool_close(struct spool *s)
{
	if (s->fd >= 0)
		close(take_fd(s->fd));
}

static int append(struct spool *s, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len) {
		ssize_t n = pwrite(s->fd, at, len, (off_t)s->len);
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
		s->len += (u64)n;
	}
	return 0;
}

static int add(struct spool *s, struct spool_entry e, const char *first, const char *second,
	       const void *bytes)
{
	u64 before = s->len;

	e.first_len = (u32)strnlen(first, SPOOL_TEXT_MAX);
	e.second_len = (u32)strnlen(second, SPOOL_TEXT_MAX);
	int err = append(s, &e, sizeof(e)) ?: append(s, first, e.first_len);
	err = err ?: append(s, second, e.second_len) ?: append(s, bytes, e.len);
	if (err)
		s->len = before; /* the next one overwrites it */
	else
		s->nr++;
	return err;
}

int spool_add(struct spool *s, const struct spool_result *r)
{
	const struct spool_entry e = { .kind = SPOOL_RESULT,
				       .weight_ppm = r->weight_ppm,
				       .chance_ppb = r->chance_ppb,
				       .most_samples = r->most_samples,
				       .most_ns = r->most_ns,
				       .len = (u32)r->len };
	int err = add(s, e, r->node, r->labels, r->bytes);

	s->nr_results += !err;
	return err;
}

int spool_add_merged(struct spool *s, const void *bytes, size_t len, u32 nr_nodes)
{
	const struct spool_entry e = { .kind = SPOOL_MERGED,
				       .weight_ppm = nr_nodes,
				       .len = (u32)len };

	return add(s, e, "", "", bytes);
}

int spool_add_note(struct spool *s, const char *key, const char *text, u64 value)
{
	return add(s, (struct spool_entry){ .kind = SPOOL_NOTE, .weight_ppm = value }, key, text,
		   "");
}

static const worker_fn tasks[] = { merge_task };

static const struct worker_kind kind = {
	.tasks = tasks,
	.nr_tasks = ARRAY_SIZE(tasks),
	.memory_bytes = MEMORY_BYTES,
	.cpu_ns = CPU_NS,
	.wall_ns = 2 * CPU_NS,
	.ends_after_task = true,
};

int merge_start_workers(struct workers **out)
{
	return profile_read_prepare() ?: workers_new(&kind, out);
}

struct work *merge_begin_spool(struct workers *w, const struct spool *s,
			       const struct merge_order *o)
{
	const struct spool_params params = { s->nr, *o };
	const struct work_order order = {
		.fds = { fcntl(s->fd, F_DUPFD_CLOEXEC, 0), -1 },
		.params = &params,
		.len = sizeof(params),
		.max = WORKER_RESULT_MAX,
		.run = merge_task,
	};

	return work_start(w, &order);
}

int merge_result(struct work *k, struct str *bytes, struct str *why)
{
	auto_free void *got = NULL;
	size_t nr;
	int err = work_result(k, &got, &nr);

	if (!err)
		str_add_bytes(bytes, got, nr);
	else if (err == -EFBIG)
		str_add(why, "the merged profile is larger than 64 MiB");
	else if (err == -ETIMEDOUT)
		str_add(why, "merging took too long");
	else if (err == -EOVERFLOW)
		str_add(why, "the estimate exceeds 2^53, the largest number that all formats hold");
	else if (err == -EPIPE)
		str_add(why, "the process that merges has ended: it may lack memory");
	else if (err != -EAGAIN)
		str_add(why, strerror(-err));
	return err;
}

int merge_parse(const void *bytes, size_t len, struct partial_result *out)
{
	const char *at = bytes;
	struct partial_head head;

	if (len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	len -= sizeof(head);
	if (head.magic != PARTIAL_MAGIC || head.nr_totals > MERGE_RESULTS ||
	    len < head.nr_totals * sizeof(struct merge_total) + head.table_len)
		return -EBADMSG;
	for (u32 i = 0; i < head.nr_totals; i++) {
		struct merge_total t;
		memcpy(&t, at, sizeof(t));
		t.node[sizeof(t.node) - 1] = '\0';
		if (!*t.node && t.err) {
			vec_push(&out->lost, (struct merge_lost){ (u32)t.raw, t.err });
		} else if (node_name_is_valid(t.node)) {
			vec_push(&out->totals, t);
		} else {
			partial_result_fini(out);
			return -EBADMSG;
		}
		at += sizeof(t);
		len -= sizeof(t);
	}
	str_add_bytes(&out->table, at, head.table_len);
	str_add_bytes(&out->profile, at + head.table_len, len - head.table_len);
	return 0;
}

void partial_result_fini(struct partial_result *o)
{
	vec_fini(&o->totals);
	vec_fini(&o->lost);
	str_fini(&o->table);
	str_fini(&o->profile);
}
