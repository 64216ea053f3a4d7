/* SPDX-License-Identifier: Apache-2.0 */
/* Orders debug files from debuginfod servers, takes them, and puts good ones into the cache. */
#include "sym/files/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/build.h"
#include "base/file.h"
#include "base/packet.h"
#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"
#include "sandbox/rights.h"

#define OPEN_MAX 8 /* orders that the process has at a time */
#define TICK_MS  200

enum fetch_state {
	FETCH_WAITS,
	FETCH_SENT,
	FETCH_ARRIVED,
	FETCH_ENDED
};

struct fetched {
	char build_id[BUILD_ID_HEX_MAX + 1];
	enum fetch_state state;
	struct outfile *file; /* while it is SENT or ARRIVED */
	char why[200];
};

struct debuginfod {
	int sock;
	char *cache;
	struct debuginfod_servers servers;
	VEC(struct fetched) all; /* an order's number is its index */
	u32 nr_sent;
};

static u64 limit_of(const char *variable, u64 most)
{
	const char *text = getenv(variable);
	u64 value = text ? strtoull(text, NULL, 10) : 0;

	return value && value < most ? value : most;
}

static int split_urls(const char *urls, struct debuginfod_servers *out)
{
	auto_free char *copy = xstrdup(urls);
	char *rest = copy, *word;

	while ((word = strsep(&rest, " \t\n"))) {
		if (!*word || !strncmp(word, "ima:", 4)) /* elfutils' check of signatures */
			continue;
		if ((strncmp(word, "http://", 7) && strncmp(word, "https://", 8)) ||
		    out->nr == DEBUGINFOD_SERVERS_MAX)
			return -EINVAL;
		out->urls[out->nr++] = xstrdup(word);
	}
	return out->nr ? 0 : -EINVAL;
}

/* A guarded_fn. */
static int run_client(int sock, const void *servers)
{
	return debuginfod_client_run(sock, servers);
}

int debuginfod_start(const char *urls, const char *cache, struct debuginfod **out)
{
	struct debuginfod *d = xcalloc(1, sizeof(*d));

	d->sock = -1;
	d->cache = xstrdup(cache);
	d->servers.max_bytes = limit_of("DEBUGINFOD_MAXSIZE", DEBUGINFOD_BYTES_MAX);
	d->servers.max_s = limit_of("DEBUGINFOD_MAXTIME", DEBUGINFOD_FILE_S);
	int err = split_urls(urls, &d->servers);
	if (!err)
		err = build_is_static() ? -ENOTSUP
					: guarded_start(run_client, &d->servers, &d->sock);
	if (err)
		debuginfod_free(d);
	else
		*out = d;
	return err;
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	if (d->sock >= 0)
		close(d->sock);
	vec_each(f, &d->all)
		outfile_abort(f->file);
	vec_fini(&d->all);
	for (size_t i = 0; i < d->servers.nr; i++)
		free(d->servers.urls[i]);
	free(d->cache);
	free(d);
}

static struct fetched *find(const struct debuginfod *d, const char *build_id)
{
	vec_each(f, &d->all)
		if (!strcmp(f->build_id, build_id))
			return f;
	return NULL;
}

void debuginfod_want(struct debuginfod *d, const char *build_id)
{
	struct fetched f = { .state = FETCH_WAITS };

	if (d->all.nr == DEBUGINFOD_FILES_MAX || find(d, build_id))
		return;
	copy_text(f.build_id, sizeof(f.build_id), build_id);
	vec_push(&d->all, f);
}

/* Makes the folder and those above it, for this user only. */
static void make_folders(const char *path)
{
	auto_free char *copy = xstrdup(path);

	for (char *at = copy + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(copy, 0700);
		*at = '/';
	}
	mkdir(copy, 0700);
}

static void end(struct debuginfod *d, struct fetched *f, const char *why)
{
	d->nr_sent -= f->state == FETCH_SENT;
	f->state = FETCH_ENDED;
	outfile_abort(take(f->file));
	copy_text(f->why, sizeof(f->why), why);
}

static void take_events(struct debuginfod *d)
{
	struct debuginfod_event e;
	int fds[PACKET_FDS_MAX];
	size_t nr, nr_fds;

	while (!packet_receive(d->sock, &e, sizeof(e), &nr, fds, &nr_fds)) {
		for (size_t i = 0; i < nr_fds; i++)
			close(fds[i]);
		if (nr != sizeof(e) || e.number >= d->all.nr ||
		    d->all.at[e.number].state != FETCH_SENT)
			continue;
		struct fetched *f = &d->all.at[e.number];
		auto_str struct str clean = { 0 };
		e.why[sizeof(e.why) - 1] = '\0';
		utf8_clean(&clean, e.why, sizeof(f->why) - 1);
		if (e.status == DEBUGINFOD_FOUND) {
			d->nr_sent--;
			f->state = FETCH_ARRIVED;
		} else {
			end(d, f, clean.at ?: "");
		}
	}
}

static void send_orders(struct debuginfod *d)
{
	for (u32 i = 0; i < d->all.nr && d->nr_sent < OPEN_MAX; i++) {
		struct fetched *f = &d->all.at[i];
		struct debuginfod_order o = { .number = i };
		if (f->state != FETCH_WAITS)
			continue;
		auto_free char *folder = xasprintf("%s/%s", d->cache, f->build_id);
		auto_free char *path = xasprintf("%s/debuginfo", folder);
		make_folders(folder);
		int err = outfile_open(path, false, &f->file);
		if (err) {
			auto_free char *why = xasprintf("%s: %s", path, outfile_why(err));
			end(d, f, why);
			continue;
		}
		memcpy(o.build_id, f->build_id, sizeof(o.build_id));
		int fd = fileno(f->file->f);
		if (packet_send(d->sock, &o, sizeof(o), &fd, 1)) {
			outfile_abort(take(f->file));
			return; /* it is tried again */
		}
		f->state = FETCH_SENT;
		d->nr_sent++;
	}
}

u32 debuginfod_step(struct debuginfod *d)
{
	u32 nr = 0;

	take_events(d);
	send_orders(d);
	vec_each(f, &d->all)
		nr += f->state == FETCH_WAITS || f->state == FETCH_SENT;
	return nr;
}

void debuginfod_wait(struct debuginfod *d, u64 max_ns, void (*tick)(u32 nr_open, void *ctx),
		     void *ctx)
{
	u64 end_ns = time_mono_ns() + max_ns;
	u32 nr;

	while ((nr = debuginfod_step(d)) && time_mono_ns() < end_ns) {
		struct pollfd fd = { .fd = d->sock, .events = POLLIN };
		if (tick)
			tick(nr, ctx);
		if (poll(&fd, 1, TICK_MS) > 0 && fd.revents & (POLLHUP | POLLERR))
			return;
	}
}

int debuginfod_file(const struct debuginfod *d, const char *build_id, const char **why)
{
	const struct fetched *f = find(d, build_id);
	char path[64];

	*why = f && *f->why ? f->why : NULL;
	if (!f || f->state == FETCH_ENDED)
		return -ENOENT;
	if (f->state != FETCH_ARRIVED)
		return -EAGAIN;
	/* It has no name yet, and was opened for writing. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(f->file->f));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void debuginfod_judge(struct debuginfod *d, const char *build_id, bool is_good)
{
	struct fetched *f = find(d, build_id);

	if (!f || f->state != FETCH_ARRIVED)
		return;
	if (is_good)
		outfile_commit(take(f->file), NULL);
	end(d, f, "");
}
