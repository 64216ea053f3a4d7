/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's side of the protocol. */
#include "sandbox/worker.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "sandbox/message.h"

struct worker_io {
	int sock;       /* -1: the task runs in the recorder itself */
	char *bytes;    /* of the shared memory */
	struct str own; /* without shared memory */
	size_t nr, max;
	worker_open_fn open;
	void *ctx;
};

int worker_put(struct worker_io *io, const void *bytes, size_t len)
{
	if (len > io->max - io->nr)
		return -EFBIG;
	if (!len) /* then `bytes` may be NULL */
		return 0;
	if (io->bytes)
		memcpy(io->bytes + io->nr, bytes, len);
	else
		str_add_bytes(&io->own, bytes, len);
	io->nr += len;
	return 0;
}

/* Asks over the socket. */
static int ask_for_file(const struct worker_io *io, u32 place, const char *path)
{
	struct worker_message m = { .kind = WORKER_OPEN, .what = place };
	int fds[WORKER_FDS_MAX];
	size_t nr;

	m.len = (u32)strlen(path) + 1;
	memcpy(m.text, path, m.len);
	int err = message_send(io->sock, &m, NULL, 0) ?: message_receive(io->sock, &m, fds, &nr);
	if (err)
		return err;
	if (m.kind == WORKER_OPENED && !m.err && nr == 1)
		return fds[0];
	for (size_t i = 0; i < nr; i++)
		close(fds[i]);
	return m.kind == WORKER_OPENED && m.err < 0 ? m.err : -EPROTO;
}

int worker_open(struct worker_io *io, u32 place, const char *path)
{
	if (strlen(path) >= WORKER_TEXT_MAX)
		return -ENAMETOOLONG;
	if (io->sock >= 0)
		return ask_for_file(io, place, path);
	return io->open ? io->open(io->ctx, place, path) : -ENOENT;
}

int worker_run_here(worker_fn run, const int *fds, const void *params, size_t len, size_t max,
		    worker_open_fn open, void *ctx, void **bytes, size_t *nr)
{
	struct worker_io io = { .sock = -1, .max = max, .open = open, .ctx = ctx };
	int err = run(&io, fds, params, len);

	if (err) {
		str_fini(&io.own);
		return err;
	}
	*nr = io.own.len;
	*bytes = str_take(&io.own);
	return 0;
}

static int do_task(struct worker_io *io, const struct worker_message *m, const int *fds, size_t nr,
		   const struct worker_kind *kind)
{
	if (m->kind != WORKER_REQUEST || m->what >= kind->nr_tasks || !kind->tasks[m->what] || !nr)
		return -EPROTO;
	io->max = m->nr < WORKER_RESULT_MAX ? m->nr : WORKER_RESULT_MAX;
	return kind->tasks[m->what](io, fds, m->text, m->len);
}

void worker_serve(int sock, void *shared, const struct worker_kind *kind)
{
	struct worker_message m;
	int fds[WORKER_FDS_MAX];
	size_t nr;

	while (!message_receive(sock, &m, fds, &nr)) {
		struct worker_io io = { .sock = sock, .bytes = shared };
		int err = do_task(&io, &m, fds, nr, kind);
		for (size_t i = 0; i < nr; i++)
			close(fds[i]);
		const struct worker_message result = {
			.kind = WORKER_RESULT,
			.err = err,
			.nr = err ? 0 : (u32)io.nr,
		};
		if (message_send(sock, &result, NULL, 0))
			return;
	}
}
