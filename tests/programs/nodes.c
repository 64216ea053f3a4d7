/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulates the nodes of a fleet: one thread, a connection for each node, the text protocol of NATS
 * and the messages of docs/fleet-protocol.md. It answers the census and requests with labels, hash
 * and selector as a node does, and hands out the profiles of the files. Nothing is recorded: a
 * recording lasts its duration and then has the profile of a file.
 *
 * Some nodes misbehave. The options choose percentages; of 100 successive nodes exactly P do.
 *
 * usage: nodes [OPTION..] PROFILE..
 * Prints "ready" when all are connected, and counters when it is ended by SIGTERM.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/time.h"
#include "base/vec.h"
#include "export/format/sflm.h"
#include "export/read.h"
#include "fleet/wire/entry.h"
#include "fleet/wire/jwt.h"
#include "fleet/wire/link.h"
#include "fleet/wire/selector.h"
#include "tests/lib/nodes.h"

#define EVENTS     512
#define READ_BYTES (256 << 10)
#define IN_MAX     (64 << 10) /* of an incomplete message */
#define CONNECTING 256        /* at a time, at the start: the server's queue is short */
#define OTHER      (FLEET_VERSION + 8)
#define TICK_MS    5

struct body {
	char *at;
	size_t len;
	u8 sha256[FLEET_HASH_LEN];
};

/* A message to be sent later. */
struct later {
	u64 at_ns;
	struct str message;
	char to[256];
};

struct node {
	int fd; /* -1: not connected */
	u32 index;
	enum fault fault; /* NR_FAULTS: none */
	bool is_up, has_left, waits_to_write;
	char name[32], labels[160];
	struct str in, out;
	VEC(struct later) later;
	u64 connect_ns; /* when it connects again */
	u32 attempts;
};

static struct node *nodes;
static VEC(struct body) bodies;
static char *secret; /* by which nodes join; NULL */
static int poller;
static u32 nr_up, nr_connecting;
static volatile sig_atomic_t is_over;

static void on_signal(int number)
{
	is_over = 1;
}

static struct counts counts;

static void watch(struct node *n, int op)
{
	struct epoll_event e = { .events = EPOLLIN | (n->waits_to_write ? EPOLLOUT : 0),
				 .data.ptr = n };

	epoll_ctl(poller, op, n->fd, &e);
}

/* As a node does it: 1 to 60 s of full jitter. */
static void disconnect(struct node *n)
{
	u64 most = 2ull << (n->attempts < 5 ? n->attempts : 5);

	if (most > (u64)o.reconnect_s)
		most = (u64)o.reconnect_s;
	close(n->fd);
	n->fd = -1;
	nr_up -= n->is_up;
	nr_connecting -= !n->is_up;
	counts.losses += n->is_up;
	counts.refused += !n->is_up;
	n->is_up = n->waits_to_write = false;
	n->attempts++;
	n->connect_ns =
		time_mono_ns() + NS_PER_SEC + (u64)(drand48() * (double)((most - 1) * NS_PER_SEC));
	str_clear(&n->in);
	str_clear(&n->out);
}

static void flush_out(struct node *n)
{
	size_t at = 0;

	while (at < n->out.len) {
		ssize_t nr = send(n->fd, n->out.at + at, n->out.len - at, MSG_NOSIGNAL);
		if (nr < 0 && errno == EAGAIN)
			break;
		if (nr < 0) {
			disconnect(n);
			return;
		}
		at += (size_t)nr;
	}
	memmove(n->out.at, n->out.at + at, n->out.len - at);
	n->out.len -= at;
	if (n->waits_to_write == !!n->out.len)
		return;
	n->waits_to_write = n->out.len;
	watch(n, EPOLL_CTL_MOD);
}

static void send_text(struct node *n, const char *text)
{
	str_add(&n->out, text);
	flush_out(n);
}

static void publish(struct node *n, const char *to, const void *bytes, size_t len)
{
	if (n->fd < 0)
		return;
	str_addf(&n->out, "PUB %s %zu\r\n", to, len);
	str_add_bytes(&n->out, bytes, len);
	str_add(&n->out, "\r\n");
	flush_out(n);
}

/* Publishes now, or `delay_ns` later. */
static void publish_message(struct node *n, const char *to, const struct fleet_message *m,
			    u64 delay_ns)
{
	auto_str struct str bytes = { 0 };

	message_encode(m, &bytes);
	if (n->fault == FAULT_OTHER)
		bytes.at[0] = OTHER;
	if (n->fault == FAULT_NEWER) {
		publish(n, to, NEW_KIND, strlen(NEW_KIND));
		str_add(&bytes, NEW_FIELD);
	}
	for (int i = 0; i < 1 + (n->fault == FAULT_DOUBLE); i++) {
		if (!delay_ns) {
			publish(n, to, bytes.at, bytes.len);
			continue;
		}
		struct later l = { .at_ns = time_mono_ns() + delay_ns };
		copy_text(l.to, sizeof(l.to), to);
		str_add_bytes(&l.message, bytes.at, bytes.len);
		vec_push(&n->later, l);
	}
}

/* Instances differ, but not from run to run. */
static u64 instance_of(const struct node *n)
{
	return 1000003ull * n->index + 17;
}

static const struct body *body_of(const struct node *n)
{
	return &bodies.at[n->index % bodies.nr];
}

/* Of --busy; 0: the node does not know. */
static u64 busy_ppm(const struct node *n)
{
	const char *at = o.busy ?: "0";

	for (u32 i = n->index % (u32)bodies.nr; i && strchr(at, ','); i--)
		at = strchr(at, ',') + 1;
	return strtoull(at, NULL, 10) * 10000;
}

static enum verdict verdict_of(const struct node *n, const struct fleet_request *r)
{
	auto_str struct str why = { 0 };
	struct selector s;

	if (selector_parse(r->selector, &s, &why))
		return VERDICT_POLICY;
	const char *service = s.processes[SELECTOR_SERVICE];
	if (!selector_admits(&s, n->labels) || (*service && strcmp(service, o.service) != 0) ||
	    !sampling_takes(&r->sampling, n->name, busy_ppm(n)))
		return VERDICT_NO_MATCH;
	return VERDICT_ACCEPT;
}

static char *subject_of(const struct node *n, const char *reply)
{
	return xasprintf("%s.%s", reply, n->name);
}

static void answer(struct node *n, const char *reply, const struct fleet_request *r, enum verdict v)
{
	auto_free char *to = subject_of(n, reply);
	struct fleet_message m = { .kind = MESSAGE_ANSWER };
	struct fleet_answer *a = &m.answer;

	memcpy(a->id, r->id, sizeof(a->id));
	copy_text(a->node, sizeof(a->node), n->name);
	copy_text(a->labels, sizeof(a->labels), n->labels);
	copy_text(a->version, sizeof(a->version), SYSFLAME_VERSION);
	copy_text(a->kernel, sizeof(a->kernel), "6.1.0");
	copy_text(a->services[0], sizeof(a->services[0]), o.service);
	a->instance = instance_of(n);
	a->verdict = v;
	a->nr_services = a->nr_all_services = 1;
	a->nr_cpus = 64;
	a->busy_ppm = busy_ppm(n);
	a->nr_jvms = 1;
	counts.answers++;
	publish_message(n, to, &m, 0);
	if (n->fault != FAULT_POSES)
		return;
	snprintf(a->node, sizeof(a->node), "%s%u", o.prefix, n->index + 1);
	publish_message(n, to, &m, 0);
}

static void say_done(struct node *n, const char *reply, const struct fleet_request *r, u64 delay_ns)
{
	auto_free char *to = subject_of(n, reply);
	struct fleet_message m = { .kind = MESSAGE_DONE };
	struct fleet_done *d = &m.done;
	const struct body *b = body_of(n);

	memcpy(d->id, r->id, sizeof(d->id));
	copy_text(d->node, sizeof(d->node), n->name);
	d->instance = instance_of(n);
	d->size = b->len + (n->fault == FAULT_SHORT);
	memcpy(d->sha256, b->sha256, sizeof(d->sha256));
	d->sha256[0] ^= n->fault == FAULT_DAMAGED;
	d->samples = n->fault == FAULT_LYING ? 1ull << 53 : 1000;
	d->lost = n->fault == FAULT_LYING ? UINT64_MAX : 0;
	d->profile = 1;
	if (n->fault == FAULT_FAILS) {
		d->verdict = VERDICT_FAILED;
		d->size = 0;
		copy_text(d->why, sizeof(d->why), "The disk is full.");
	}
	counts.done++;
	publish_message(n, to, &m, delay_ns);
}

/* As a node does when it accepts (fleet/wire/entry.h). */
static void publish_entry(struct node *n, const struct fleet_request *r)
{
	auto_free char *to = xasprintf("sysflame.v1.audit.node.%s", n->name);
	auto_free char *what = xasprintf("fleet: slices of \"%s\": %s", r->selector, r->reason);
	auto_str struct str line = { 0 };

	entry_add(&line, time_wall_ns() / NS_PER_MS, "anna", what);
	publish(n, to, line.at, line.len);
}

static void take_request(struct node *n, const char *to, const struct fleet_signed *m)
{
	struct fleet_request r;

	if (request_decode(m->request, m->len, &r) || n->fault == FAULT_MUTE)
		return;
	enum verdict v = verdict_of(n, &r);
	u64 length_ns = r.want == WANT_RECORDING ? r.duration_s * NS_PER_SEC : 0;
	if (o.capture_ms >= 0)
		length_ns = (u64)o.capture_ms * NS_PER_MS;
	answer(n, to, &r, v);
	if (o.is_audited && !v && r.want != WANT_CENSUS)
		publish_entry(n, &r);
	if (!v && r.want != WANT_CENSUS && n->fault != FAULT_SILENT)
		say_done(n, to, &r, length_ns);
}

static void take_get(struct node *n, const char *to, const struct fleet_get *get)
{
	struct fleet_message m = { .kind = MESSAGE_CHUNK };
	const struct body *b = body_of(n);

	if (n->fault == FAULT_LEAVES && !n->has_left) {
		n->has_left = true;
		disconnect(n);
		return;
	}
	memcpy(m.chunk.id, get->id, sizeof(m.chunk.id));
	copy_text(m.chunk.node, sizeof(m.chunk.node), n->name);
	m.chunk.instance = instance_of(n);
	m.chunk.offset = get->offset;
	if (get->instance == m.chunk.instance && get->offset < b->len) {
		size_t left = b->len - get->offset;
		m.chunk.data = (const u8 *)b->at + get->offset;
		m.chunk.len = left < get->len ? (u32)left : get->len;
	}
	counts.chunks++;
	counts.bytes += m.chunk.len;
	publish_message(n, to, &m, n->fault == FAULT_SLOW ? (u64)o.slow_ms * NS_PER_MS : 0);
}

static void take_message(struct node *n, const char *reply, const void *bytes, size_t len)
{
	struct fleet_message m;

	if (message_decode(bytes, len, &m))
		return;
	if (m.kind == MESSAGE_SIGNED && *reply)
		take_request(n, reply, &m.sealed);
	else if (m.kind == MESSAGE_GET && *reply)
		take_get(n, reply, &m.get);
	message_fini(&m);
}

/* Joins, and signs the server's nonce, if there is a secret. */
static void add_login(struct node *n, const char *info, struct str *out)
{
	char seed[NKEY_SEED_TEXT], nonce[128], text[2 * FLEET_SIGN_LEN];
	u8 signature[FLEET_SIGN_LEN + 2] = { 0 };
	const char *at = strstr(info, "\"nonce\":\"");
	auto_str struct str token = { 0 };

	if (!secret || !at || sscanf(at + 9, "%127[^\"]", nonce) != 1 ||
	    jwt_join(secret, n->name, seed, &token) ||
	    nkey_sign(seed, nonce, strlen(nonce), signature))
		return;
	EVP_EncodeBlock((u8 *)text, signature, FLEET_SIGN_LEN + 2);
	for (char *c = text; *c; c++)
		*c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
	str_addf(out, ",\"jwt\":\"%s\",\"sig\":\"%.86s\"", token.at, text);
}

static void log_in(struct node *n, const char *info)
{
	auto_str struct str text = { 0 };

	str_add(&text, "CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"c\"");
	add_login(n, info, &text);
	str_addf(&text, ",\"name\":\"%s\"}\r\n", n->name);
	str_add(&text, "SUB sysflame.v1.req.all 1\r\nSUB sysflame.v1.ctl 2\r\n");
	str_addf(&text, "SUB sysflame.v1.node.%s.get 3\r\nPING\r\n", n->name);
	if (o.is_seen)
		str_addf(&text, "PUB " STREAM_SEEN "%s 1\r\nx\r\n", n->name);
	send_text(n, text.at);
}

static void take_line(struct node *n, const char *line)
{
	if (!strncmp(line, "INFO ", 5) && !n->is_up) {
		log_in(n, line);
	} else if (!strcmp(line, "PING")) {
		send_text(n, "PONG\r\n");
	} else if (!strcmp(line, "PONG") && !n->is_up) {
		n->is_up = true;
		n->attempts = 0;
		nr_up++;
		nr_connecting--;
		counts.connects++;
	} else if (!strncmp(line, "-ERR", 4) && !counts.errors++) {
		fprintf(stderr, "nodes: %s: %s\n", n->name, line);
	}
}

/* The bytes of the first message or line; 0 if it is incomplete, -1 if it is malformed. */
static ssize_t take_first(struct node *n, char *at, size_t nr)
{
	char subject[256], reply[256] = "", *end = memmem(at, nr, "\r\n", 2);
	u32 sid;
	size_t len;

	if (!end)
		return nr > IN_MAX ? -1 : 0;
	*end = '\0';
	size_t head = (size_t)(end - at) + 2;
	if (strncmp(at, "MSG ", 4) != 0) {
		take_line(n, at);
		return (ssize_t)head;
	}
	if (sscanf(at, "MSG %255s %u %255s %zu", subject, &sid, reply, &len) != 4) {
		*reply = '\0';
		if (sscanf(at, "MSG %255s %u %zu", subject, &sid, &len) != 3)
			return -1;
	}
	if (len > IN_MAX)
		return -1;
	if (head + len + 2 > nr) {
		*end = '\r';
		return 0;
	}
	take_message(n, reply, at + head, len);
	return (ssize_t)(head + len + 2);
}

static void take_bytes(struct node *n)
{
	static char bytes[READ_BYTES];
	ssize_t nr = recv(n->fd, bytes, sizeof(bytes), 0), used;
	size_t at = 0;

	if (nr < 0 && errno == EAGAIN)
		return;
	if (nr <= 0) {
		disconnect(n);
		return;
	}
	str_add_bytes(&n->in, bytes, (size_t)nr);
	while (n->fd >= 0 && (used = take_first(n, n->in.at + at, n->in.len - at)) > 0)
		at += (size_t)used;
	if (n->fd < 0)
		return;
	if (used < 0) {
		disconnect(n);
		return;
	}
	memmove(n->in.at, n->in.at + at, n->in.len - at);
	n->in.len -= at;
}

static void connect_node(struct node *n)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((u16)o.port) };
	int one = 1;

	inet_pton(AF_INET, o.host, &to.sin_addr);
	n->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (n->fd < 0) {
		perror("nodes: socket");
		exit(1);
	}
	setsockopt(n->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	nr_connecting++;
	if (connect(n->fd, (struct sockaddr *)&to, sizeof(to)) && errno != EINPROGRESS)
		disconnect(n);
	else
		watch(n, EPOLL_CTL_ADD);
}

static void send_due(struct node *n, u64 now)
{
	for (size_t i = 0; i < n->later.nr; i++) {
		struct later l = n->later.at[i];
		if (l.at_ns > now)
			continue;
		n->later.at[i--] = n->later.at[--n->later.nr];
		publish(n, l.to, l.message.at, l.message.len);
		str_fini(&l.message);
	}
}

static void tick(void)
{
	u64 now = time_mono_ns();

	for (int i = 0; i < o.nr_nodes; i++) {
		struct node *n = &nodes[i];
		if (n->fd < 0 && n->connect_ns <= now && nr_connecting < CONNECTING)
			connect_node(n);
		if (n->later.nr)
			send_due(n, now);
	}
}

static void serve(void)
{
	struct epoll_event events[EVENTS];
	bool was_ready = false;
	u64 ticked = 0;

	while (!is_over) {
		int nr = epoll_wait(poller, events, EVENTS, TICK_MS);
		for (int i = 0; i < nr; i++) {
			struct node *n = events[i].data.ptr;
			if (n->fd >= 0 && events[i].events & EPOLLOUT)
				flush_out(n);
			if (n->fd >= 0 && events[i].events & ~EPOLLOUT)
				take_bytes(n);
		}
		if (time_mono_ns() - ticked > TICK_MS * NS_PER_MS) {
			ticked = time_mono_ns();
			tick();
		}
		if (was_ready != (nr_up == (u32)o.nr_nodes)) {
			was_ready = !was_ready;
			puts(was_ready ? "ready" : "incomplete");
			fflush(stdout);
		}
	}
}

static void make_nodes(void)
{
	nodes = xcalloc((size_t)o.nr_nodes, sizeof(*nodes));
	for (int i = 0; i < o.nr_nodes; i++) {
		struct node *n = &nodes[i];
		n->fd = -1;
		n->index = (u32)(o.first + i);
		n->fault = fault_of(n->index);
		snprintf(n->name, sizeof(n->name), "%.15s%u", o.prefix, n->index);
		snprintf(n->labels, sizeof(n->labels), "node=%s,zone=z%u,version=%u", n->name,
			 n->index % (u32)o.zones, 1 + n->index % 2);
	}
}

/* In our own format, as a node stores it. */
static void read_body(const char *path)
{
	auto_profile struct profile *p = profile_new();
	auto_fclose FILE *f = fopen(path, "re");
	auto_str struct str out = { 0 }, why = { 0 };
	struct body b;

	if (!f || profile_read(f, p, &why) || sflm_write(p, &out)) {
		fprintf(stderr, "nodes: %s cannot be read: %s\n", path, why.at ?: "");
		exit(1);
	}
	b.len = out.len;
	b.at = str_take(&out);
	digest(b.at, b.len, b.sha256);
	vec_push(&bodies, b);
}

static void read_secret(void)
{
	size_t len;

	if (o.join && file_read(o.join, 1024, &secret, &len)) {
		fprintf(stderr, "nodes: %s cannot be read\n", o.join);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	int next = parse(argc, argv);

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	raise_limit();
	poller = epoll_create1(EPOLL_CLOEXEC);
	for (; next < argc; next++)
		read_body(argv[next]);
	make_nodes();
	read_secret();
	serve();
	print_counts(&counts);
	return 0;
}
