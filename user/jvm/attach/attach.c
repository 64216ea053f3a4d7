/* SPDX-License-Identifier: Apache-2.0 */
/* The attach listener of a JVM, its socket, trigger file and signal, and its protocol. */
#include "jvm/attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/time.h"
#include "jvm/attach/file_label.h"
#include "jvm/attach/readiness.h"

#define LISTENER_MS  6000 /* from SIGQUIT to the socket; usually 50 ms */
#define TRIGGER_MODE 0400

/*
 * Connects to the JVM's socket by a descriptor, which follows no link, and with the JVM's ids,
 * which its peer check requires. -ENOENT if there is no such socket, -EEXIST if another user made
 * it, -EADDRINUSE if it belongs to another process.
 */
static int connect_listener(struct job *j)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const struct timeval timeout = { .tv_sec = 2 };
	struct ucred peer;
	socklen_t peer_len = sizeof(peer);
	struct stat st;

	int err = process_root_become(&j->t);
	if (err)
		return err;
	auto_close int file = openat(j->t.tmp_fd, j->socket_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	err = file < 0 ? -errno : 0;
	if (!err && fstat(file, &st))
		err = -ENOENT;
	if (!err && process_root_is_blocked(&j->t, st.st_uid, st.st_mode))
		err = -EEXIST;
	if (!err && !S_ISSOCK(st.st_mode))
		err = -ENOENT;
	if (!err) {
		snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d", file);
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
		if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
			err = -errno;
	}
	process_root_unbecome(&j->t);
	/* JVMs of several pid namespaces that share a /tmp use the same socket name. */
	if (!err && (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_len) ||
		     peer.pid != j->t.status.pid))
		err = -EADDRINUSE;
	return err ? err : take_fd(fd);
}

/* Waits for the listener after the signal. */
static int await_listener(struct job *j)
{
	u64 end = time_mono_ns() + LISTENER_MS * NS_PER_MS;

	for (useconds_t pause = 1000; time_mono_ns() < end; usleep(pause)) {
		int fd = connect_listener(j);
		if (fd >= 0)
			return fd;
		if (job_has_ended(j))
			return -ESRCH;
		if (pause < 20000)
			pause *= 2;
	}
	return -ETIMEDOUT;
}

/* The JVM looks in its working folder before /tmp: another user's file there prevents an attach. */
static bool is_trigger_blocked(const struct job *j)
{
	auto_close int cwd = process_root_open_proc(&j->t, "cwd", O_PATH | O_DIRECTORY);
	struct stat st;

	return cwd >= 0 && fstatat(cwd, j->trigger_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_uid != j->t.status.euid;
}

/*
 * Removes the trigger of an attach that was killed: a JVM whose listener stands needs none. Other
 * tools make theirs with another mode.
 */
static void drop_trigger(const struct job *j)
{
	struct stat st;

	if (!fstatat(j->t.tmp_fd, j->trigger_name, &st, AT_SYMLINK_NOFOLLOW) &&
	    S_ISREG(st.st_mode) && !st.st_size && (st.st_mode & 07777) == TRIGGER_MODE &&
	    st.st_uid == j->t.status.euid)
		process_root_unlink(&j->t, j->trigger_name);
}

/*
 * Creates the trigger with the label of the JVM's own files. If SELinux refuses that label, the
 * file gets ours; the caller asks whether the JVM may see such a file.
 */
static int create_trigger(const struct job *j)
{
	bool is_labelled = file_label_begin(&j->t);
	int fd = process_root_create(&j->t, j->trigger_name, TRIGGER_MODE);

	if (is_labelled && !file_label_end()) { /* otherwise later files would get the label, too */
		if (fd >= 0) {
			close(fd);
			process_root_unlink(&j->t, j->trigger_name);
		}
		return -EIO;
	}
	if (is_labelled && (fd == -EACCES || fd == -EPERM))
		fd = process_root_create(&j->t, j->trigger_name, TRIGGER_MODE);
	return fd;
}

/*
 * Makes the trigger file; without it the signal would cause a thread dump. -EKEYREJECTED if SELinux
 * hides it from the JVM, or cannot be asked.
 */
static int make_trigger(struct job *j)
{
	struct stat st;

	if (is_trigger_blocked(j))
		return -EEXIST;
	int fd = create_trigger(j);
	if (fd == -EEXIST) { /* another tool is attaching, or died during an attach */
		if (fstatat(j->t.tmp_fd, j->trigger_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode) || st.st_uid != j->t.status.euid)
			return -EEXIST;
		return file_label_is_visible(&j->t, j->trigger_name) ? 0 : -EKEYREJECTED;
	}
	if (fd < 0)
		return fd;
	int err = fstat(fd, &st) || st.st_uid != j->t.status.euid ? -EPERM : 0;
	close(fd);
	if (!err && !file_label_is_visible(&j->t, j->trigger_name))
		err = -EKEYREJECTED;
	if (err)
		process_root_unlink(&j->t, j->trigger_name);
	return err;
}

static int refuse_trigger(struct job *j, int err)
{
	str_clear(&j->why);
	if (err == -EROFS || err == -ENOENT)
		str_add(&j->why, "its /tmp is read-only, so no JVM tool can attach; mount a "
				 "writable /tmp");
	else if (err == -EEXIST)
		str_addf(&j->why, "another user's %s is in its working folder or /tmp; remove it",
			 j->trigger_name);
	else if (err == -EPERM || err == -EACCES)
		str_add(&j->why, "its user may not write to its /tmp, so no JVM tool can attach; "
				 "make that writable");
	else if (err == -EKEYREJECTED)
		str_addf(&j->why,
			 "SELinux hides /tmp/%s from it, which asks it to listen, or cannot be "
			 "asked; remove the file if it stays, else let sysflame's domain label "
			 "files "
			 "(docs/operations.md, \"SELinux\")",
			 j->trigger_name);
	else
		str_addf(&j->why, "nothing can be written to its /tmp (%s)", strerror(-err));
	return job_conclude(j, INJECT_REFUSED, j->why.at);
}

/* Uses the JVM's ids: no CAP_KILL is needed. */
static int send_signal(const struct job *j)
{
	int err = process_root_become(&j->t);

	if (err)
		return err;
	if (syscall(SYS_pidfd_send_signal, j->t.pidfd, SIGQUIT, NULL, 0))
		err = -errno;
	process_root_unbecome(&j->t);
	return err;
}

/*
 * A JVM that is starting, or has a SIGQUIT pending, will be ready later. A JVM that does not listen
 * gets a few tries, because JDK 8 does not show whether it has started.
 */
static int conclude_readiness(struct job *j, enum readiness ready)
{
	if (ready != NOT_YET)
		return job_conclude(j, INJECT_REFUSED, j->why.at);
	return job_conclude(j, !strcmp(j->why.at, READINESS_DEAF) ? INJECT_RETRY : INJECT_WAIT,
			    j->why.at);
}

static int read_code(struct job *j, struct mappings *code)
{
	int err = mappings_read(j->t.status.pid, true, code);

	if (process_root_become_if_denied(&j->t, err)) {
		err = mappings_read(j->t.status.pid, true, code);
		process_root_unbecome(&j->t);
	}
	return err;
}

/* The last checks. Nothing that takes time is between the facts and the signal. */
static enum readiness check_handler(struct job *j)
{
	struct mappings code = { 0 };
	int err = read_code(j, &code);
	/* The trigger took some time. */
	enum readiness ready = readiness_for_signal(&j->t, j->handles_quit, &j->why);

	job_read_facts(j);
	if (ready == READY && err) {
		str_clear(&j->why);
		str_addf(&j->why, "its mappings cannot be read (%s)", strerror(-err));
		ready = NEVER;
	}
	if (ready == READY)
		ready = readiness_of_handler(&j->facts, &code, &j->why);
	if (ready == READY && !task_facts_allow(&j->facts, j->t.status.pid, true, &j->why))
		ready = NEVER;
	mappings_fini(&code);
	return ready;
}

static int wake_listener(struct job *j)
{
	if (j->is_early) /* its flags could not be read yet */
		return job_conclude(j, INJECT_WAIT, JOB_STILL_STARTING);
	if (j->is_reduced) /* the signal is for a handler in Java */
		return job_conclude(j, INJECT_REFUSED, READINESS_DEAF);
	enum readiness ready = readiness_for_signal(&j->t, j->handles_quit, &j->why);
	if (ready != READY)
		return conclude_readiness(j, ready);
	if (!j->order->may_signal)
		return job_conclude(
			j, INJECT_RETRY,
			"it did not react to a SIGQUIT and gets only one; find out why it "
			"is so busy");
	int err = make_trigger(j);
	if (err)
		return refuse_trigger(j, err);
	ready = check_handler(j);
	if (ready != READY) {
		process_root_unlink(&j->t, j->trigger_name);
		return conclude_readiness(j, ready);
	}
	err = send_signal(j);
	j->result.was_signalled = j->result.is_lasting = !err;
	int fd = err ? err : await_listener(j);
	process_root_unlink(&j->t, j->trigger_name);
	if (fd == -ESRCH)
		return job_conclude(j, INJECT_REFUSED, "it has ended");
	if (fd < 0)
		return job_conclude(
			j, INJECT_RETRY,
			"its attach listener did not start in time; try when it is less busy");
	return fd;
}

int listener_reach(struct job *j)
{
	int fd = connect_listener(j);

	j->result.is_lasting |= fd >= 0;
	if (fd >= 0) {
		drop_trigger(j);
		return fd;
	}
	if (fd == -EPERM || fd == -EACCES)
		return job_explain(j, fd);
	if (fd == -EEXIST) {
		str_clear(&j->why);
		str_addf(&j->why, "the %s in its /tmp belongs to another user; remove it",
			 j->socket_name);
		return job_conclude(j, INJECT_REFUSED, j->why.at);
	}
	if (fd == -EADDRINUSE)
		return job_conclude(
			j, INJECT_REFUSED,
			"another JVM with the same PID in its own container shares its /tmp; "
			"give each a /tmp of its own");
	if (j->order->command != INJECT_START)
		return job_conclude(
			j, INJECT_REFUSED,
			"its attach listener is gone; its session ends by itself within a minute");
	/* -ECONNREFUSED: a socket left by a killed JVM with this PID. */
	return wake_listener(j);
}

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
	/*
	 * Send the request in one piece: if we died between two parts, the JVM's only listener
	 * would block.
	 */
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
