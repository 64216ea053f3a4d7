/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that asks debuginfod servers; with push/post.c and fleet/http/fetch.c the only user
 * of libcurl. Part of sym/files/debuginfod.h.
 */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/packet.h"
#include "base/str.h"
#include "sandbox/rights.h"
#include "sym/files/debuginfod.h"

#define CONNECT_S 5
#define REDIRECTS 3

struct client {
	int sock;
	const struct debuginfod_servers *servers;
	CURL *curl;
	bool is_dead[DEBUGINFOD_SERVERS_MAX]; /* it did not answer in time: it is not asked again */
	/* Of the transfer: */
	int fd;
	u64 len;
	bool is_too_long;
};

static size_t take_bytes(char *at, size_t size, size_t nr, void *ctx)
{
	struct client *c = ctx;
	size_t len = size * nr;

	if (len > c->servers->max_bytes - c->len) {
		c->is_too_long = true;
		return 0;
	}
	if (pwrite(c->fd, at, len, (off_t)c->len) != (ssize_t)len)
		return 0;
	c->len += len;
	return len;
}

static bool set_up(struct client *c)
{
	c->curl = curl_global_init(CURL_GLOBAL_DEFAULT) ? NULL : curl_easy_init();
	if (!c->curl)
		return false;
	curl_easy_setopt(c->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c->curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c->curl, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(c->curl, CURLOPT_MAXREDIRS, (long)REDIRECTS);
	curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
	curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_LIMIT, 1024L);
	curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_TIME, (long)DEBUGINFOD_QUIET_S);
	curl_easy_setopt(c->curl, CURLOPT_TIMEOUT, (long)c->servers->max_s);
	curl_easy_setopt(c->curl, CURLOPT_USERAGENT, "sysflame/" SYSFLAME_VERSION);
	curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, c);
	return true;
}

/* Asks one server. */
static void ask(struct client *c, size_t server, const char *build_id, struct debuginfod_event *e)
{
	const char *base = c->servers->urls[server];
	size_t len = strlen(base);
	auto_free char *url = xasprintf("%s%sbuildid/%s/debuginfo", base,
					len && base[len - 1] == '/' ? "" : "/", build_id);
	auto_str struct str why = { 0 };
	char fault[CURL_ERROR_SIZE] = "";
	long status = 0;

	c->len = 0;
	c->is_too_long = false;
	if (ftruncate(c->fd, 0)) {
		copy_text(e->why, sizeof(e->why), "its file cannot be written");
		return;
	}
	curl_easy_setopt(c->curl, CURLOPT_URL, url);
	curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, fault);
	CURLcode code = curl_easy_perform(c->curl);
	curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, NULL);
	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	e->status = code ? 0 : (u32)status;
	if (c->is_too_long)
		str_addf(&why, "%s: its file has more than %llu MB", base,
			 (unsigned long long)c->servers->max_bytes >> 20);
	else if (code)
		str_addf(&why, "%s: %s", base, *fault ? fault : curl_easy_strerror(code));
	else if (status != DEBUGINFOD_FOUND && status != 404)
		str_addf(&why, "%s: it answers %ld", base, status);
	if (why.len)
		copy_text(e->why, sizeof(e->why), why.at);
	c->is_dead[server] = code == CURLE_OPERATION_TIMEDOUT || (code && !status);
}

static void fetch(struct client *c, const struct debuginfod_order *o)
{
	struct debuginfod_event e = { .number = o->number };
	bool is_asked = false;

	for (size_t i = 0; i < c->servers->nr && e.status != DEBUGINFOD_FOUND; i++) {
		if (c->is_dead[i])
			continue;
		is_asked = true;
		ask(c, i, o->build_id, &e);
	}
	if (!is_asked)
		copy_text(e.why, sizeof(e.why), "no server answers");
	packet_send(c->sock, &e, sizeof(e), NULL, 0);
}

int debuginfod_client_run(int sock, const struct debuginfod_servers *servers)
{
	struct client c = { .sock = sock, .servers = servers };
	const struct rlimit file = { servers->max_bytes, servers->max_bytes };
	struct debuginfod_order o;
	int fds[PACKET_FDS_MAX];
	size_t nr, nr_fds;

	prctl(PR_SET_NAME, "sysflame-debuginfod");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	fcntl(sock, F_SETFL, 0);
	if (setrlimit(RLIMIT_FSIZE, &file) || guarded_confine(NULL) || !set_up(&c))
		return 1;
	for (;;) {
		int err = packet_receive(sock, &o, sizeof(o), &nr, fds, &nr_fds);
		if (err)
			return err == -EPIPE ? 0 : 1;
		if (nr == sizeof(o) && nr_fds == 1) {
			o.build_id[BUILD_ID_HEX_MAX] = '\0';
			c.fd = fds[0];
			fetch(&c, &o);
		}
		for (size_t i = 0; i < nr_fds; i++)
			close(fds[i]);
	}
}
