/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The opener, a process that opens files for the recorder, with the ids of the processes that chose
 * them, and asks container runtimes. Part of proc/open_request.h.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "proc/cgroup.h"
#include "proc/open_request.h"
#include "proc/runtime.h"
#include "proc/target_file.h"
#include "sandbox/message.h"

struct opener {
	const char *root;
	struct runtime_config config; /* read when it is needed */
	bool has_config;
};

/* The recorder may be compromised: check its order like any other input. */
static bool is_order(const struct worker_message *m)
{
	const size_t head = offsetof(struct open_order, path);
	u32 version;

	memcpy(&version, m->text, sizeof(version));
	return m->kind == WORKER_OPEN && m->len > head && m->len <= sizeof(struct open_order) &&
	       version == OPEN_ORDER_VERSION && !m->text[m->len - 1] &&
	       !memchr(m->text + head, 0, m->len - 1 - head);
}

static int open_mapped(const struct open_order *o)
{
	const struct mapping m = {
		.start = o->start,
		.end = o->end,
		.inode = o->inode,
		.dev_major = o->dev_major,
		.dev_minor = o->dev_minor,
		.executable = o->is_executable != 0,
		.path = o->path,
	};

	return mapped_file_open_by(&(struct mapper){ o->pid, o->ancestors }, &m);
}

static const struct runtime_config *config_of(struct opener *opener)
{
	if (!opener->has_config)
		runtime_config_read(opener->root, &opener->config);
	opener->has_config = true;
	return &opener->config;
}

static bool is_container_id(const char *text)
{
	size_t len = strlen(text);

	return len && len <= CONTAINER_ID_LEN && strspn(text, "0123456789abcdefABCDEF-") == len;
}

/*
 * The socket itself stays here: whoever can write to it can have the runtime start any program as
 * root.
 */
static int open_answer(struct opener *opener, const struct open_order *o)
{
	auto_str struct str text = { 0 };

	if (o->runtime >= NR_RUNTIME_SOCKETS || !is_container_id(o->path))
		return -EPROTO;
	int err = runtime_socket_ask(opener->root, config_of(opener), o->runtime, o->path, &text);
	if (err)
		return err;
	auto_close int fd = memfile_new("sysflame-answer");
	if (fd < 0)
		return fd;
	if (text.len && write(fd, text.at, text.len) != (ssize_t)text.len)
		return -EIO;
	return lseek(fd, 0, SEEK_SET) ? -EIO : take_fd(fd);
}

static int carry_out(struct opener *opener, const struct open_order *o, int root_fd)
{
	const struct target_root root = { root_fd, o->uid, o->gid };

	if (o->kind == OPEN_MAPPED)
		return open_mapped(o);
	if (o->kind == OPEN_ANSWER)
		return open_answer(opener, o);
	if (root_fd < 0)
		return -EPROTO;
	switch (o->kind) {
	case OPEN_AS_PROCESS:
		return target_file_open(&root, o->path);
	case OPEN_UNLINKED:
		return target_file_open_unlinked(&root, o->path);
	default:
		return -EPROTO;
	}
}

static int answer(struct opener *opener, int sock, const struct worker_message *m, int root)
{
	struct worker_message reply = { .kind = WORKER_OPENED };
	struct open_order order;

	if (!is_order(m))
		return -EPROTO;
	memcpy(&order, m->text, m->len);
	auto_close int fd = carry_out(opener, &order, root);
	reply.err = fd < 0 ? fd : 0;
	return message_send(sock, &reply, &fd, fd >= 0);
}

void opener_serve(int sock, const char *root)
{
	struct opener opener = { .root = root };
	struct worker_message m;
	int fds[WORKER_FDS_MAX], err = 0;
	size_t nr;

	while (!err && !message_receive(sock, &m, fds, &nr)) {
		err = answer(&opener, sock, &m, nr ? fds[0] : -1);
		for (size_t i = 0; i < nr; i++)
			close(fds[i]);
	}
	if (opener.has_config)
		runtime_config_fini(&opener.config);
}
