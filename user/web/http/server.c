/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server. */
#include "web/http/server.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "base/vec.h"
#include "web/http/auth.h"
#include "web/http/route.h"
#include "web/http/site.h"

#define CONNECTIONS_MAX 512
/* when fewer are free, the slowest clients are disconnected */
#define CONNECTIONS_SPARE 64
#define HEADERS_MAX       (32u << 10)       /* bytes of the headers of a request, and of a reply */
#define IDLE_S            15                /* without a byte */
#define REQUEST_NS        (15 * NS_PER_SEC) /* to receive a request without its body */
/* TLS 1.2 only with AEAD ciphers and forward secrecy: no CBC, no RSA key exchange. */
#define TLS_VERSIONS       "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-MAC-ALL:+AEAD:-RSA"
#define BODY_BYTES_PER_SEC (64u << 10) /* a body that arrives more slowly is given up */

/* A connection. */
struct client {
	struct client *next, **at;
	int fd;
	u64 since_ns; /* when the wait for a request began; 0: the request has arrived */
	u64 reply_ns; /* when the reply began; 0: no reply is being sent, or one without end */
	u64 body_bytes;
	struct request *request; /* NULL: none has begun */
	bool is_sent_away;
	bool has_nul; /* the address of the client's request has %00 */
};

struct server {
	struct MHD_Daemon *daemon;
	VEC(struct MHD_Daemon *)
	retired; /* former daemons, which still serve the connections that they had */
	struct server_options o;
	struct client *clients;
	u32 nr_clients;
	int fd; /* epoll: of the daemons' own */
};

/*
 * Disconnects the client that has been sending or reading for the longest time. An attack by slow
 * clients, which may all come from the address of a proxy, then costs itself the connections:
 * others need milliseconds.
 */
static void make_room(struct server *s)
{
	struct client *slowest = NULL;
	u64 slowest_ns = UINT64_MAX;

	for (struct client *c = s->clients; c; c = c->next) {
		u64 begin_ns = c->since_ns ?: c->reply_ns ?: UINT64_MAX;
		if (begin_ns < slowest_ns && !c->is_sent_away) {
			slowest = c;
			slowest_ns = begin_ns;
		}
	}
	if (!slowest)
		return;
	slowest->is_sent_away = true;
	shutdown(slowest->fd, SHUT_RDWR);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **ctx,
			  enum MHD_ConnectionNotificationCode code)
{
	struct server *s = cls;
	struct client *c = *ctx;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		if (++s->nr_clients > CONNECTIONS_MAX - CONNECTIONS_SPARE)
			make_room(s);
		c = xcalloc(1, sizeof(*c));
		c->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
				->connect_fd;
		c->since_ns = time_mono_ns();
		c->next = s->clients;
		c->at = &s->clients;
		if (c->next)
			c->next->at = &c->next;
		s->clients = c;
		*ctx = c;
	} else if (c) {
		s->nr_clients--;
		*c->at = c->next;
		if (c->next)
			c->next->at = c->at;
		free(c);
		*ctx = NULL;
	}
}

static struct client *client_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
		->socket_context;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **ctx,
			 enum MHD_RequestTerminationCode code)
{
	struct client *c = client_of(connection);

	request_free(*ctx);
	*ctx = NULL;
	if (!c)
		return;
	c->since_ns = time_mono_ns();
	c->reply_ns = c->body_bytes = 0;
	c->request = NULL;
}

static void find_route(struct request *q, const char *method, const char *url)
{
	const char *prefix = q->site->prefix;
	size_t len = strlen(prefix);

	if (!strncmp(url, prefix, len) && url[len] == '/')
		q->route = route_find(q->routes, method, url + len + 1, q);
	if (q->route)
		return;
	if (*prefix && !strcmp(url, prefix)) {
		auto_free char *home = xasprintf("%s/", prefix);
		reply_redirect(q, home, NULL);
	} else if (*q->allowed) {
		reply_error(q, ERROR_METHOD, NULL, "This path does not know the method %s.",
			    strlen(method) < 16 ? method : "given");
	} else {
		reply_error(q, ERROR_UNKNOWN_ID, NULL, "There is nothing at this path.");
	}
}

static size_t body_max(const struct request *q)
{
	bool is_upload = q->route && q->route->body == BODY_UPLOAD;

	return is_upload ? BODY_UPLOAD_MAX : BODY_JSON_MAX;
}

/* Whether a body follows that is too long to be read only to be thrown away. */
static bool has_long_body(const struct request *q)
{
	const char *length = request_header(q, "Content-Length");

	if (request_header(q, "Transfer-Encoding"))
		return true;
	return length && strtoull(length, NULL, 10) > BODY_JSON_MAX;
}

static enum MHD_Result send_reply(struct request *q)
{
	bool is_stream = q->route && q->route->is_stream;

	client_of(q->connection)->reply_ns = is_stream ? 0 : time_mono_ns();
	return MHD_queue_response(q->connection, q->status, q->response);
}

/* An MHD_UnescapeCallback. Marks requests with %00: MHD would ignore everything behind a NUL. */
static size_t unescape(void *cls, struct MHD_Connection *connection, char *text)
{
	if (strstr(text, "%00"))
		client_of(connection)->has_nul = true;
	return MHD_http_unescape(text);
}

struct header_count {
	const char *name;
	u32 nr;
};

/* An MHD_KeyValueIterator */
static enum MHD_Result count_header(void *ctx, enum MHD_ValueKind kind, const char *key,
				    const char *value)
{
	struct header_count *c = ctx;

	c->nr += !strcasecmp(key, c->name);
	return MHD_YES;
}

static bool is_given_twice(struct MHD_Connection *connection, const char *name)
{
	struct header_count c = { name, 0 };

	MHD_get_connection_values(connection, MHD_HEADER_KIND, count_header, &c);
	return c.nr > 1;
}

/* Refuses a request with two values of a header: a proxy in front might have used the other one. */
static void refuse_ambiguous(struct request *q)
{
	struct client *c = client_of(q->connection);

	if (c->has_nul)
		reply_error(q, ERROR_BAD_REQUEST, NULL, "The address has a NUL.");
	else if (is_given_twice(q->connection, "Host"))
		reply_error(q, ERROR_BAD_REQUEST, NULL, "The header Host is given twice.");
	else if (is_given_twice(q->connection, "Content-Length"))
		reply_error(q, ERROR_BAD_REQUEST, NULL,
			    "The header Content-Length is given twice.");
	c->has_nul = false;
}

static enum MHD_Result begin(struct server *s, struct MHD_Connection *connection, const char *url,
			     const char *method, void **ctx)
{
	struct request *q = request_new(s->o.site, s->o.service, connection);
	const char *length = request_header(q, "Content-Length");

	*ctx = q;
	q->routes = s->o.routes;
	client_of(connection)->request = q;
	refuse_ambiguous(q);
	if (!q->response)
		find_route(q, method, url);
	if (!q->response)
		auth_check(s->o.auth, q);
	if (!q->response && length && strtoull(length, NULL, 10) > body_max(q))
		reply_error(q, ERROR_TOO_LARGE, NULL, "The body may have %zu bytes at most.",
			    body_max(q));
	return q->response && has_long_body(q) ? send_reply(q) : MHD_YES;
}

static int add_to_upload(struct request *q, const char *data, size_t nr)
{
	if (q->upload_fd < 0)
		q->upload_fd = memfd_create("sysflame-upload", MFD_CLOEXEC);
	if (q->upload_fd < 0)
		return -errno;
	while (nr) {
		ssize_t done = pwrite(q->upload_fd, data, nr, (off_t)q->body_bytes);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -EIO;
		q->body_bytes += (u64)done;
		data += done;
		nr -= (size_t)done;
	}
	return 0;
}

static void take_body(struct request *q, const char *data, size_t nr)
{
	int err = 0;

	client_of(q->connection)->body_bytes += nr;
	if (q->response)
		return;
	if (nr > body_max(q) - q->body_bytes) {
		reply_error(q, ERROR_TOO_LARGE, NULL, "The body may have %zu bytes at most.",
			    body_max(q));
		return;
	}
	if (q->route->body == BODY_UPLOAD) {
		err = add_to_upload(q, data, nr);
	} else {
		str_add_bytes(&q->body, data, nr);
		q->body_bytes += nr;
	}
	if (err)
		reply_errno(q, err, "take the file");
}

static void parse_json(struct request *q)
{
	json_error_t fault;

	q->json = json_loadb(q->body.at ?: "", q->body.len, JSON_REJECT_DUPLICATES, &fault);
	if (json_is_object(q->json))
		return;
	reply_error(q, ERROR_BAD_REQUEST, NULL, "The body must be a JSON object: %s.",
		    q->json ? "it is something else" : fault.text);
}

static void handle(struct request *q)
{
	q->is_handled = true;
	client_of(q->connection)->since_ns = 0;
	if (!q->response && q->route->body == BODY_JSON)
		parse_json(q);
	if (!q->response)
		q->route->handle(q);
	if (!q->response && !q->is_suspended)
		reply_error(q, ERROR_INTERNAL, NULL, "The request has no answer.");
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *nr, void **ctx)
{
	struct request *q = *ctx;

	if (!q)
		return begin(cls, connection, url, method, ctx);
	if (*nr) {
		take_body(q, data, *nr);
		*nr = 0;
		return MHD_YES;
	}
	if (!q->is_handled)
		handle(q);
	return q->response ? send_reply(q) : MHD_YES;
}

/* Messages of the library may quote bytes of a client, so they are not logged. */
static void log_nothing(void *cls, const char *fmt, va_list args)
{
}

/* The library closes the socket that it gets, also if it fails. */
/* NULL with errno; EINVAL most likely for a key that does not belong to the certificate. */
static struct MHD_Daemon *start_daemon(struct server *s, const char *cert, const char *key)
{
	const struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)cert },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)TLS_VERSIONS },
		{ MHD_OPTION_END, 0, NULL },
	};
	const struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };
	int listen_fd = fcntl(s->o.site->listen_fd, F_DUPFD_CLOEXEC, 0);
	if (listen_fd < 0)
		return NULL;
	struct MHD_Daemon *daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
			(key ? MHD_USE_TLS : 0),
		0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, log_nothing, NULL,
		MHD_OPTION_LISTEN_SOCKET, listen_fd, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS_MAX,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, unescape, s,
		MHD_OPTION_ARRAY, key ? tls : none, MHD_OPTION_END);

	if (!daemon) {
		errno = EINVAL; /* it does not say why */
		return NULL;
	}
	struct epoll_event ready = { .events = EPOLLIN };
	int fd = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	if (!epoll_ctl(s->fd, EPOLL_CTL_ADD, fd, &ready))
		return daemon;
	int err = errno;
	MHD_stop_daemon(daemon);
	errno = err;
	return NULL;
}

int server_new(const struct server_options *o, struct server **out)
{
	struct server *s = xcalloc(1, sizeof(*s));

	s->o = *o;
	s->fd = epoll_create1(EPOLL_CLOEXEC);
	s->daemon = s->fd < 0 ? NULL : start_daemon(s, o->site->tls_cert, o->site->tls_key);
	if (!s->daemon) {
		if (s->fd >= 0)
			close(s->fd);
		free(s);
		return -EIO;
	}
	*out = s;
	return 0;
}

int server_renew_tls(struct server *s, const char *cert, const char *key)
{
	struct MHD_Daemon *daemon = start_daemon(s, cert, key);

	if (!daemon)
		return -errno;
	close(MHD_quiesce_daemon(s->daemon)); /* its own copy of the socket */
	vec_push(&s->retired, s->daemon);
	s->daemon = daemon;
	return 0;
}

void server_free(struct server *s)
{
	if (!s)
		return;
	vec_push(&s->retired, s->daemon);
	vec_each(d, &s->retired) {
		MHD_run(*d); /* resumes those that got a reply */
		MHD_run(*d);
		MHD_stop_daemon(*d);
	}
	vec_fini(&s->retired);
	close(s->fd);
	free(s);
}

int server_fd(const struct server *s)
{
	return s->fd;
}

static int timeout_ms(struct MHD_Daemon *daemon, int max)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(daemon, &ms) != MHD_YES || ms > (MHD_UNSIGNED_LONG_LONG)max)
		return max;
	return (int)ms;
}

int server_timeout_ms(const struct server *s, int max)
{
	vec_each(d, &s->retired)
		max = timeout_ms(*d, max);
	return timeout_ms(s->daemon, max);
}

void server_run(struct server *s)
{
	size_t kept = 0;

	MHD_run(s->daemon);
	vec_each(d, &s->retired) {
		MHD_run(*d);
		if (MHD_get_daemon_info(*d, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections)
			s->retired.at[kept++] = *d;
		else
			MHD_stop_daemon(*d);
	}
	s->retired.nr = kept;
}

/* The library does not look at a connection that is suspended. An end of the input is an end, as in
 * Go's servers. */
static void notice_hangup(struct client *c)
{
	struct request *q = c->request;
	struct pollfd end = { c->fd, POLLRDHUP, 0 };

	if (!q || !q->on_hangup || !q->is_suspended || poll(&end, 1, 0) <= 0)
		return;
	void (*on_hangup)(struct request * q) = take(q->on_hangup);
	on_hangup(q);
}

void server_tick(struct server *s)
{
	u64 now = time_mono_ns();

	for (struct client *c = s->clients; c; c = c->next) {
		u64 allowed = REQUEST_NS + c->body_bytes / BODY_BYTES_PER_SEC * NS_PER_SEC;
		if (c->since_ns && now - c->since_ns > allowed)
			shutdown(c->fd, SHUT_RDWR);
		notice_hangup(c);
	}
}
