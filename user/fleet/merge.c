/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the results of nodes. */
#include "fleet/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/memfile.h"
#include "base/time.h"
#include "export/format/sflm.h"
#include "export/interchange/tags.h"
#include "export/merge.h"
#include "export/read.h"
#include "fleet/message.h"
#include "profile/names.h"

#define LABELS_MAX   255
#define CPU_NS       (300 * NS_PER_SEC)
#define MEMORY_BYTES (2ull << 30)
#define POLL_US      5000

/* Labels and result follow. */
struct spooled {
	u32 labels_len, len;
};

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

int spool_add(struct spool *s, const char *labels, const void *bytes, size_t len)
{
	const struct spooled head = { (u32)strlen(labels), (u32)len };
	u64 before = s->len;
	int err = append(s, &head, sizeof(head))
			  ?: append(s, labels, head.labels_len) ?: append(s, bytes, len);

	if (err)
		s->len = before; /* the next one overwrites it */
	else
		s->nr++;
	return err;
}

/* --- in the worker ---------------------------------------------------------------------------- */

static int read_at(int fd, u64 at, void *bytes, size_t len)
{
	ssize_t got;

	for (char *to = bytes; len; to += got, at += (u64)got, len -= (size_t)got) {
		got = pread(fd, to, len, (off_t)at);
		if (got <= 0)
			return got ? -errno : -EBADMSG;
	}
	return 0;
}

static void add_node_tags(struct tags *all, const char *labels)
{
	auto_free char *copy = xstrdup(labels);
	char *rest = copy, *pair;

	while ((pair = strsep(&rest, ","))) {
		char *value = strchr(pair, '=');
		if (!value || all->all.nr >= TAGS_MAX)
			continue;
		*value++ = '\0';
		tags_add_text(all, pair, value);
	}
}

/* The labels of a node, as it marks samples. */
struct marking {
	const char *labels;
	char *tags; /* of the last label set; owned */
};

/* A merge_label_fn. */
static void mark(struct labels *l, void *ctx)
{
	struct marking *m = ctx;
	const char *at = l->tags ?: "";
	struct tags all = { 0 };
	struct tag tag;

	for (u32 nr = 0; nr < TAGS_MAX / 2 && tag_next(&at, &tag); nr++) {
		if (tag.is_number)
			tags_add_number(&all, tag.key, tag.number, tag.unit);
		else
			tags_add_text(&all, tag.key, tag.text);
		tag_fini(&tag);
	}
	add_node_tags(&all, m->labels);
	free(m->tags);
	m->tags = tags_take(&all);
	l->tags = m->tags;
}

static int add_result(struct profile *p, const char *labels, void *bytes, size_t len)
{
	auto_profile struct profile *file = profile_new();
	auto_str struct str why = { 0 };
	struct marking m = { .labels = labels };
	FILE *f = fmemopen(bytes, len, "r");

	if (!f)
		return -ENOMEM;
	int err = profile_read(f, file, &why);
	fclose(f);
	if (err)
		return err;
	profile_name_frames(file, NAMES_WITHOUT_IDS);
	err = merge_labelled(p, file, mark, &m, &why);
	free(m.tags);
	return err;
}

static int merge_all(int fd, u32 nr, struct profile *p, u64 *nr_bad)
{
	auto_free u8 *bytes = xmalloc(FLEET_BLOB_MAX);
	char labels[LABELS_MAX + 1];
	u64 at = 0;

	for (u32 i = 0; i < nr; i++) {
		struct spooled head;
		int err = read_at(fd, at, &head, sizeof(head));
		if (!err && (head.labels_len > LABELS_MAX || head.len > FLEET_BLOB_MAX))
			err = -EBADMSG;
		at += sizeof(head);
		err = err ?: read_at(fd, at, labels, head.labels_len)
				     ?: read_at(fd, at + head.labels_len, bytes, head.len);
		if (err)
			return err;
		labels[head.labels_len] = '\0';
		at += head.labels_len + head.len;
		*nr_bad += add_result(p, labels, bytes, head.len) != 0;
	}
	return 0;
}

/* A worker_fn; its parameter is the number of results. */
static int merge(struct worker_io *io, const int *fds, const void *params, size_t len)
{
	auto_profile struct profile *p = profile_new();
	auto_str struct str out = { 0 };
	u64 nr_bad = 0;
	u32 nr;

	if (len != sizeof(nr))
		return -EINVAL;
	memcpy(&nr, params, sizeof(nr));
	int err = merge_all(fds[0], nr, p, &nr_bad);
	if (nr_bad)
		profile_note(p, NOTE_INCOMPLETE "fleet-unreadable",
			     "results of nodes could not be read and are left out", nr_bad);
	return err ?: sflm_write(p, &out) ?: worker_put(io, out.at, out.len);
}

/* --- in the controller ------------------------------------------------------------------------ */

static const worker_fn tasks[] = { merge };

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

int merge_spool(struct workers *w, const struct spool *s, struct str *out, struct str *why)
{
	const struct work_order order = {
		.fds = { fcntl(s->fd, F_DUPFD_CLOEXEC, 0), -1 },
		.params = &s->nr,
		.len = sizeof(s->nr),
		.max = WORKER_RESULT_MAX,
		.run = merge,
	};
	struct work *work = work_start(w, &order);
	auto_free void *bytes = NULL;
	size_t nr;
	int err;

	while ((err = work_result(work, &bytes, &nr)) == -EAGAIN) {
		usleep(POLL_US);
		workers_poll(w);
	}
	work_free(work);
	if (!err)
		str_add_bytes(out, bytes, nr);
	else if (err == -EFBIG)
		str_add(why, "the merged profile is larger than 64 MiB");
	else if (err == -ETIMEDOUT)
		str_add(why, "merging took too long");
	else if (err == -EPIPE)
		str_add(why, "the process that merges has ended: it may lack memory");
	else
		str_add(why, strerror(-err));
	return err;
}
