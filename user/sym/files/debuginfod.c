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
#include "base/file.h"
#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"
#include "net/http_client.h"

#define CONNECT_S 5
#define REDIRECTS 3
#define FOUND     200
#define NOT_FOUND 404
#define OPEN_MAX  8 /* files that are open at a time; one of them is transferred */
#define TICK_MS   200

enum fetch_state {
	FETCH_WAITS,
	FETCH_ASKED,
	FETCH_ARRIVED,
	FETCH_ENDED
};

struct fetched {
	struct debuginfod *d;
	char build_id[BUILD_ID_HEX_MAX + 1];
	enum fetch_state state;
	struct outfile *file; /* while it is ASKED or ARRIVED */
	u32 server;           /* that is asked */
	bool is_asked;        /* a server was */
	char why[200];
};

struct debuginfod {
	struct http_client *client; /* asks for one file at a time */
	char *cache;
	u64 max_bytes, max_s; /* for one file */
	struct http_server servers[DEBUGINFOD_SERVERS_MAX];
	bool is_dead[DEBUGINFOD_SERVERS_MAX]; /* it did not answer in time: it is not asked again */
	u32 nr_servers;
	VEC(struct fetched *) all;
};

static u64 limit_of(const char *variable, u64 most)
{
	const char *text = getenv(variable);
	u64 value = text ? strtoull(text, NULL, 10) : 0;

	return value && value < most ? value : most;
}

static int split_urls(const char *urls, struct debuginfod *d)
{
	auto_free char *copy = xstrdup(urls);
	char *rest = copy, *word;

	while ((word = strsep(&rest, " \t\n"))) {
		if (!*word || !strncmp(word, "ima:", 4)) /* elfutils' check of signatures */
			continue;
		if ((strncmp(word, "http://", 7) && strncmp(word, "https://", 8)) ||
		    d->nr_servers == DEBUGINFOD_SERVERS_MAX)
			return -EINVAL;
		size_t len = strlen(word);
		while (word[len - 1] == '/')
			len--;
		d->servers[d->nr_servers++] = (struct http_server){
			.url = xstrndup(word, len),
			.uses_proxy = true,
			.redirects = REDIRECTS,
			.connect_s = CONNECT_S,
			.quiet_s = DEBUGINFOD_QUIET_S,
		};
	}
	return d->nr_servers ? 0 : -EINVAL;
}

int debuginfod_start(const char *urls, const char *cache, struct debuginfod **out)
{
	struct debuginfod *d = xcalloc(1, sizeof(*d));
	int err = split_urls(urls, d);

	d->cache = xstrdup(cache);
	d->max_bytes = limit_of("DEBUGINFOD_MAXSIZE", DEBUGINFOD_BYTES_MAX);
	d->max_s = limit_of("DEBUGINFOD_MAXTIME", DEBUGINFOD_FILE_S);
	const struct http_client_options o = {
		.name = "sysflame-debuginfod",
		.servers = d->servers,
		.nr_servers = d->nr_servers,
		.max_bytes = d->max_bytes,
		.max_open = 1,
	};
	err = err ?: http_client_start(&o, &d->client);
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
	http_client_free(d->client);
	vec_each(f, &d->all) {
		outfile_abort((*f)->file);
		free(*f);
	}
	vec_fini(&d->all);
	for (u32 i = 0; i < d->nr_servers; i++)
		http_server_wipe(&d->servers[i]);
	free(d->cache);
	free(d);
}

static struct fetched *find(const struct debuginfod *d, const char *build_id)
{
	vec_each(f, &d->all)
		if (!strcmp((*f)->build_id, build_id))
			return *f;
	return NULL;
}

void debuginfod_want(struct debuginfod *d, const char *build_id)
{
	if (d->all.nr == DEBUGINFOD_FILES_MAX || find(d, build_id))
		return;
	struct fetched *f = xcalloc(1, sizeof(*f));
	f->d = d;
	copy_text(f->build_id, sizeof(f->build_id), build_id);
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

static void end(struct fetched *f)
{
	f->state = FETCH_ENDED;
	outfile_abort(take(f->file));
}

static void take_answer(void *ctx, const struct http_answer *a);

/* Asks the next server that is alive, or ends the search. */
static void ask(struct fetched *f)
{
	struct debuginfod *d = f->d;

	while (f->server < d->nr_servers && d->is_dead[f->server])
		f->server++;
	if (f->server == d->nr_servers) {
		if (!f->is_asked)
			copy_text(f->why, sizeof(f->why), "no server answers");
		end(f);
		return;
	}
	auto_free char *path = xasprintf("/buildid/%s/debuginfo", f->build_id);
	const struct http_request r = {
		.server = f->server,
		.path = path,
		.answer_fd = fileno(f->file->f),
		.max_bytes = d->max_bytes,
		.timeout_s = (u32)d->max_s,
	};
	f->state = FETCH_ASKED;
	f->is_asked = true;
	if (http_client_add(d->client, &r, take_answer, f)) {
		copy_text(f->why, sizeof(f->why), "no descriptors are left");
		end(f);
	}
}

static void explain(struct fetched *f, const struct http_finding *found)
{
	auto_str struct str why = { 0 };

	str_addf(&why, "%s: ", f->d->servers[f->server].url);
	if (found->fault == HTTP_TOO_LONG)
		str_addf(&why, "its file has more than %llu MB",
			 (unsigned long long)f->d->max_bytes >> 20);
	else if (found->fault)
		str_add(&why, found->why);
	else
		str_addf(&why, "it answers %u", found->status);
	copy_text(f->why, sizeof(f->why), why.at);
}

static void take_answer(void *ctx, const struct http_answer *a)
{
	struct fetched *f = ctx;
	struct debuginfod *d = f->d;

	if (a->found.status == FOUND) {
		*f->why = '\0';
		f->state = FETCH_ARRIVED;
		return;
	}
	d->is_dead[f->server] = a->found.fault == HTTP_SILENT;
	if (a->found.status != NOT_FOUND)
		explain(f, &a->found);
	f->server++;
	ask(f);
}

static void begin(struct fetched *f)
{
	auto_free char *folder = xasprintf("%s/%s", f->d->cache, f->build_id);
	auto_free char *path = xasprintf("%s/debuginfo", folder);

	make_folders(folder);
	int err = outfile_open(path, false, &f->file);
	if (!err) {
		ask(f);
		return;
	}
	auto_free char *why = xasprintf("%s: %s", path, outfile_why(err));
	copy_text(f->why, sizeof(f->why), why);
	end(f);
}

u32 debuginfod_step(struct debuginfod *d)
{
	u32 nr = 0, nr_asked = 0;

	http_client_step(d->client);
	vec_each(f, &d->all)
		nr_asked += (*f)->state == FETCH_ASKED;
	vec_each(f, &d->all)
		if ((*f)->state == FETCH_WAITS && nr_asked++ < OPEN_MAX)
			begin(*f);
	if (http_client_step(d->client))
		return 0;
	vec_each(f, &d->all)
		nr += (*f)->state == FETCH_WAITS || (*f)->state == FETCH_ASKED;
	return nr;
}

void debuginfod_wait(struct debuginfod *d, u64 max_ns, void (*tick)(u32 nr_open, void *ctx),
		     void *ctx)
{
	u64 end_ns = time_mono_ns() + max_ns;
	u32 nr;

	while ((nr = debuginfod_step(d)) && time_mono_ns() < end_ns) {
		struct pollfd fd = { .fd = http_client_fd(d->client), .events = POLLIN };
		if (tick)
			tick(nr, ctx);
		poll(&fd, 1, TICK_MS);
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
	/* The file has no name yet, and was opened for writing. */
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
	end(f);
}
