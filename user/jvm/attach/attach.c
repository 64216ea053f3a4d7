/* SPDX-License-Identifier: Apache-2.0 */
/* HotSpot's attach protocol. */
#include "jvm/attach/attach.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/time.h"

#define REPLY_MAX (64 * 1024)

int attach_load_request(const char *path, const char *options, struct str *out)
{
	const char *const words[] = { "1", "load", path, "true" /* the path is absolute */,
				      options };

	str_clear(out);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strlen(words[i]) >= ATTACH_ARGUMENT_MAX)
			return -E2BIG;
		str_add_bytes(out, words[i], strlen(words[i]) + 1);
	}
	return 0;
}

/* Parses the whole line as a number; false if it is not one. */
static bool parse_line(const char *line, const char *end, long *out)
{
	char *stop;

	if (line == end || (*line != '-' && (*line < '0' || *line > '9')))
		return false;
	*out = strtol(line, &stop, 10);
	return stop == end;
}

static const char *line_end(const char *line, const char *end)
{
	const char *newline = memchr(line, '\n', (size_t)(end - line));

	return newline ? newline : end;
}

/*
 * The first line is the status of the command. If the library was loaded, the agent's return value
 * follows: a bare number in JDK 8, "return code: N" since. Otherwise a text may follow; from JDK 21
 * on the status is 0 even then.
 */
enum attach_verdict attach_load_reply(const char *reply, size_t len, struct str *text)
{
	static const char prefix[] = "return code: ";
	struct str copy = { 0 };
	long status, returned;
	enum attach_verdict verdict = ATTACH_REFUSED;

	str_clear(text);
	str_add_bytes(&copy, reply, len);
	const char *end = copy.at + copy.len, *second = line_end(copy.at, end);
	if (!parse_line(copy.at, second, &status) || second == end) {
		str_fini(&copy);
		return ATTACH_GARBLED;
	}
	second++;
	const char *second_end = line_end(second, end), *value = second;
	if (!strncmp(value, prefix, sizeof(prefix) - 1))
		value += sizeof(prefix) - 1;
	if (status == 0 && parse_line(value, second_end, &returned))
		verdict = returned == 0 ? ATTACH_LOADED : ATTACH_RETURNED;
	/*
	 * In JDK 9 and newer the first line only says "PATH was not loaded."; the reason follows.
	 */
	if (verdict == ATTACH_REFUSED && second_end < end && second_end - second > 16 &&
	    !strncmp(second_end - 16, " was not loaded.", 16)) {
		second = second_end + 1;
		second_end = line_end(second, end);
	}
	str_add_bytes(text, second, (size_t)(second_end - second));
	str_fini(&copy);
	return verdict;
}

/* Waits until the socket is ready or the time has run out. */
static int wait_for(int fd, short events, u64 end_ns)
{
	for (;;) {
		u64 now = time_mono_ns();
		if (now >= end_ns)
			return -ETIMEDOUT;
		struct pollfd p = { .fd = fd, .events = events };
		int nr = poll(&p, 1, (int)((end_ns - now) / NS_PER_MS) + 1);
		if (nr > 0)
			return 0;
		if (nr < 0 && errno != EINTR)
			return -errno;
	}
}

int attach_talk(int fd, const struct str *request, int timeout_ms, struct str *reply)
{
	u64 end = time_mono_ns() + (u64)timeout_ms * NS_PER_MS;
	char buffer[4096];

	int err = wait_for(fd, POLLOUT, end);
	if (err)
		return err;
	/* If we died between the parts of a request, the JVM's only listener would block. */
	ssize_t sent = send(fd, request->at, request->len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent != (ssize_t)request->len)
		return sent < 0 ? -errno : -EIO;

	str_clear(reply);
	for (;;) {
		err = wait_for(fd, POLLIN, end);
		if (err)
			return err;
		ssize_t got = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
		if (got == 0)
			return 0;
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (got > 0 && reply->len + (size_t)got > REPLY_MAX)
			return -EMSGSIZE;
		if (got > 0)
			str_add_bytes(reply, buffer, (size_t)got);
	}
}
