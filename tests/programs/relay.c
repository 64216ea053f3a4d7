/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link between two network namespaces that have no other one: it accepts connections in the first
 * and makes them in the second. Bytes arrive later by the delay, at most at the rate; SIGUSR1 cuts
 * the link, SIGUSR2 mends it. While it is cut nothing is lost or refused: bytes wait on both sides,
 * as in a network that drops packets for a while.
 *
 * usage: relay [-d MS] [-r BYTES-PER-S] NETNS IP:PORT NETNS IP:PORT
 * NETNS is a path such as /proc/PID/ns/net, or "-" for the own one. Prints "ready PORT".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LINKS_MAX  256
#define PIECES_MAX 512
#define PIECE_MAX  4096
#define NS_PER_MS  1000000ull
#define NS_PER_SEC 1000000000ull

struct piece {
	uint64_t due_ns;
	size_t len, sent;
	char bytes[PIECE_MAX];
};

/* One direction of a connection. */
struct pipe {
	int from, to;
	struct piece *pieces; /* a ring */
	unsigned int first, nr;
	bool has_ended; /* `from` sends no more */
	bool is_shut;   /* `to` knows */
};

struct link {
	struct pipe there, back;
};

static struct link links[LINKS_MAX];
static int nr_links, listener;
static uint64_t delay_ns, rate, free_ns[2]; /* when each direction of the line is free again */
static struct sockaddr_in target;
static volatile sig_atomic_t is_cut;

static void on_signal(int number)
{
	is_cut = number == SIGUSR1;
}

static void die(const char *what)
{
	fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static void enter(const char *netns)
{
	if (!strcmp(netns, "-"))
		return;
	int fd = open(netns, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(netns);
	close(fd);
}

static struct sockaddr_in parse(const char *text)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	char ip[64];
	unsigned int port;

	if (sscanf(text, "%63[^:]:%u", ip, &port) != 2 ||
	    inet_pton(AF_INET, ip, &a.sin_addr) != 1) {
		errno = EINVAL;
		die(text);
	}
	a.sin_port = htons((uint16_t)port);
	return a;
}

static void be_quick(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	fcntl(fd, F_SETFL, O_NONBLOCK);
}

static void pipe_init(struct pipe *p, int from, int to)
{
	*p = (struct pipe){ from, to, .pieces = calloc(PIECES_MAX, sizeof(struct piece)) };
	if (!p->pieces)
		die("memory");
}

static void take_connection(void)
{
	int from = accept4(listener, NULL, NULL, SOCK_CLOEXEC), to;

	if (from < 0)
		return;
	to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (to < 0 || nr_links == LINKS_MAX ||
	    connect(to, (struct sockaddr *)&target, sizeof(target))) {
		close(from);
		if (to >= 0)
			close(to);
		return;
	}
	be_quick(from);
	be_quick(to);
	pipe_init(&links[nr_links].there, from, to);
	pipe_init(&links[nr_links].back, to, from);
	nr_links++;
}

/* Returns false if the connection is broken. */
static bool take_bytes(struct pipe *p, uint64_t *line)
{
	struct piece *e = &p->pieces[(p->first + p->nr) % PIECES_MAX];
	ssize_t nr = recv(p->from, e->bytes, sizeof(e->bytes), 0);
	uint64_t now = now_ns();

	if (nr < 0)
		return errno == EAGAIN;
	if (!nr) {
		p->has_ended = true;
		return true;
	}
	*line = *line > now ? *line : now;
	*line += rate ? (uint64_t)nr * NS_PER_SEC / rate : 0;
	e->len = (size_t)nr;
	e->sent = 0;
	e->due_ns = *line + delay_ns;
	p->nr++;
	return true;
}

static bool send_due(struct pipe *p)
{
	while (p->nr && p->pieces[p->first].due_ns <= now_ns()) {
		struct piece *e = &p->pieces[p->first];
		ssize_t nr = send(p->to, e->bytes + e->sent, e->len - e->sent, MSG_NOSIGNAL);
		if (nr < 0)
			return errno == EAGAIN;
		e->sent += (size_t)nr;
		if (e->sent < e->len)
			return true;
		p->first = (p->first + 1) % PIECES_MAX;
		p->nr--;
	}
	if (p->has_ended && !p->nr && !p->is_shut) {
		shutdown(p->to, SHUT_WR);
		p->is_shut = true;
	}
	return true;
}

static void drop(int i)
{
	close(links[i].there.from);
	close(links[i].there.to);
	free(links[i].there.pieces);
	free(links[i].back.pieces);
	links[i] = links[--nr_links];
}

/* What the two ends of a connection are waited for. */
static void expect(const struct pipe *p, struct pollfd *from, struct pollfd *to, uint64_t *due_ns)
{
	if (!p->has_ended && p->nr < PIECES_MAX)
		from->events |= POLLIN;
	if (!p->nr)
		return;
	if (p->pieces[p->first].due_ns <= now_ns())
		to->events |= POLLOUT;
	else if (p->pieces[p->first].due_ns < *due_ns)
		*due_ns = p->pieces[p->first].due_ns;
}

static bool step_link(struct link *l, const struct pollfd *at)
{
	bool works = !((at[0].revents | at[1].revents) & (POLLERR | POLLNVAL));

	if (works && at[0].revents & (POLLIN | POLLHUP) && at[0].events & POLLIN)
		works = take_bytes(&l->there, &free_ns[0]);
	if (works && at[1].revents & (POLLIN | POLLHUP) && at[1].events & POLLIN)
		works = take_bytes(&l->back, &free_ns[1]);
	works = works && send_due(&l->there) && send_due(&l->back);
	return works && !(l->there.is_shut && l->back.is_shut);
}

static void step(void)
{
	struct pollfd all[1 + 2 * LINKS_MAX] = { { listener, POLLIN, 0 } };
	uint64_t now = now_ns(), due_ns = now + NS_PER_SEC;

	for (int i = 0; i < nr_links; i++) {
		struct pollfd *at = &all[1 + 2 * i];
		at[0] = (struct pollfd){ links[i].there.from, 0, 0 };
		at[1] = (struct pollfd){ links[i].there.to, 0, 0 };
		expect(&links[i].there, &at[0], &at[1], &due_ns);
		expect(&links[i].back, &at[1], &at[0], &due_ns);
		if (!at[0].events)
			at[0].fd = -1;
		if (!at[1].events)
			at[1].fd = -1;
	}
	int nr = nr_links;
	poll(all, 1 + 2 * (nfds_t)nr, (int)((due_ns - now) / NS_PER_MS) + 1);
	if (is_cut)
		return;
	for (int i = nr; i-- > 0;)
		if (!step_link(&links[i], &all[1 + 2 * i]))
			drop(i);
	if (all[0].revents)
		take_connection();
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct sockaddr_in own = { 0 };
	socklen_t len = sizeof(own);
	int option;

	while ((option = getopt(argc, argv, "d:r:")) > 0) {
		if (option == 'd')
			delay_ns = strtoull(optarg, NULL, 10) * NS_PER_MS;
		else if (option == 'r')
			rate = strtoull(optarg, NULL, 10);
		else
			return 2;
	}
	if (argc - optind != 4)
		return 2;
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	own = parse(argv[optind + 1]);
	target = parse(argv[optind + 3]);
	enter(argv[optind]);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&own, sizeof(own)) ||
	    listen(listener, 64) || getsockname(listener, (struct sockaddr *)&own, &len))
		die(argv[optind + 1]);
	enter(argv[optind + 2]);
	printf("ready %u\n", ntohs(own.sin_port));
	fflush(stdout);
	for (;;) {
		while (is_cut)
			usleep(10000);
		step();
	}
}
