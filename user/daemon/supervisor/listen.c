/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the socket of the daemon. */
#include "daemon/supervisor/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"

#define BACKLOG     128
#define UNIX_PREFIX "unix:"
#define UNIX_MODE   0660

/*
 * Removes the socket of an earlier daemon, on whose path the next one must listen. Removes no other
 * kind of file.
 */
static void remove_socket(const char *path)
{
	struct stat st;

	if (!lstat(path, &st) && S_ISSOCK(st.st_mode) && st.st_uid == geteuid())
		unlink(path);
}

static int listen_unix(const char *path, struct listening *out, struct str *why)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	strcpy(at.sun_path, path);
	remove_socket(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || chmod(path, UNIX_MODE) ||
	    listen(fd, BACKLOG)) {
		int err = -errno;
		str_addf(why, "unix:%s: %s", path, strerror(-err));
		return err;
	}
	snprintf(out->url, sizeof(out->url), "%s%s", UNIX_PREFIX, path);
	out->is_loopback = out->is_unix = true;
	out->fd = take_fd(fd);
	return 0;
}

/* Splits "HOST:PORT" in place; IPv6 addresses stand in brackets. */
static bool split(char *address, char **host, char **port)
{
	char *colon = strrchr(address, ':');

	if (!colon || !colon[1])
		return false;
	*colon = '\0';
	*port = colon + 1;
	*host = address;
	if (*address == '[') {
		char *end = strchr(address, ']');
		if (!end || end[1])
			return false;
		*end = '\0';
		*host = address + 1;
	} else if (strchr(address, ':')) {
		return false;
	}
	return **host;
}

static bool is_loopback(const struct sockaddr *at)
{
	if (at->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)at)->sin_addr.s_addr) >> 24 == 127;
	return at->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)at)->sin6_addr);
}

/*
 * The host by which this machine reaches a socket that listens on all addresses; NULL for any other
 * socket.
 */
static const char *local_host(const struct sockaddr *at)
{
	if (at->sa_family == AF_INET)
		return ((const struct sockaddr_in *)at)->sin_addr.s_addr == htonl(INADDR_ANY)
			       ? "127.0.0.1"
			       : NULL;
	return at->sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(
						    &((const struct sockaddr_in6 *)at)->sin6_addr)
		       ? "::1"
		       : NULL;
}

static void name(struct listening *out)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	char host[128] = "", port[16] = "";

	if (getsockname(out->fd, (struct sockaddr *)&at, &len) ||
	    getnameinfo((struct sockaddr *)&at, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return;
	out->is_loopback = is_loopback((struct sockaddr *)&at);
	bool v6 = at.ss_family == AF_INET6;
	snprintf(out->url, sizeof(out->url), "http://%s%s%s:%s", v6 ? "[" : "",
		 local_host((struct sockaddr *)&at) ?: host, v6 ? "]" : "", port);
}

static int listen_at(const struct addrinfo *at)
{
	auto_close int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
				   at->ai_protocol);
	const int on = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, BACKLOG))
		return -errno;
	return take_fd(fd);
}

static int listen_tcp(const char *address, struct listening *out, struct str *why)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	auto_free char *own = xstrdup(address);
	struct addrinfo *found = NULL;
	char *host, *port;

	split(own, &host, &port); /* listen_check has found both */
	int err = getaddrinfo(host, port, &hints, &found);
	if (err) {
		str_addf(why, "%s: %s", address, gai_strerror(err));
		return -EINVAL;
	}
	out->fd = listen_at(found);
	freeaddrinfo(found);
	if (out->fd < 0) {
		str_addf(why, "%s: %s", address, strerror(-out->fd));
		return out->fd;
	}
	name(out);
	return 0;
}

static bool is_unix(const char *address)
{
	return !strncmp(address, UNIX_PREFIX, strlen(UNIX_PREFIX));
}

int listen_check(const char *address, struct str *why)
{
	const size_t path_max = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
	auto_free char *own = xstrdup(address);
	char *host, *port;

	if (is_unix(address)) {
		size_t len = strlen(address) - strlen(UNIX_PREFIX);
		if (len && len <= path_max)
			return 0;
		str_addf(why, "%s: a path has 1 to %zu bytes", address, path_max);
		return -EINVAL;
	}
	if (!split(own, &host, &port)) {
		str_addf(why, "%s: an address is HOST:PORT or unix:PATH", address);
		return -EINVAL;
	}
	/* getaddrinfo takes the number modulo 65536. */
	if (port[strspn(port, "0123456789")] || strlen(port) > 5 || atoi(port) > UINT16_MAX) {
		str_addf(why, "%s: a port is a number up to 65535", address);
		return -EINVAL;
	}
	return 0;
}

int listen_on(const char *address, struct listening *out, struct str *why)
{
	*out = (struct listening){ .fd = -1 };
	int err = listen_check(address, why);
	if (err)
		return err;
	return is_unix(address) ? listen_unix(address + strlen(UNIX_PREFIX), out, why)
				: listen_tcp(address, out, why);
}

void listening_address(const struct listening *l, const char *prefix, const char *separator,
		       struct str *out)
{
	str_addf(out, "%s%s%s", l->url, l->is_unix && *prefix ? separator : "", prefix);
}

void listening_set_https(struct listening *l)
{
	auto_free char *rest = xstrdup(l->url + strlen("http"));

	snprintf(l->url, sizeof(l->url), "https%s", rest);
}
