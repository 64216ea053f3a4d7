/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's side of opening files in another process. */
#include "proc/open_request.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/time.h"
#include "base/vec.h"
#include "sandbox/message.h"

#define PAUSE_NS     (2 * NS_PER_SEC) /* refusal after the first file that did not open */
#define PAUSE_MAX_NS (64 * NS_PER_SEC)
#define PAUSES_MAX   256
#define QUICK_NS     (50 * NS_PER_MS) /* a file that opens in this time is not slow */
#define WAIT_NS      NS_PER_SEC       /* budget for all slow files .. */
#define WAIT_SHARE   20               /* .. and in addition 1/20 of the time */

#define KEY_IS_DEVICE (1ull << 63)

_Static_assert(sizeof(struct open_order) <= WORKER_TEXT_MAX, "an order fits into a message");

/* Files that are refused for a while: all files of a user; for root, all files of a device. */
struct pause {
	u64 key;
	u64 until_ns, pause_ns;
};

struct requests {
	struct open_requests_ops ops;
	bool is_used; /* `ops` are set; reset if no opener can be started any more */
	bool is_running;
	int sock; /* valid if is_running, as `number` */
	u64 number;
	u64 since_ns, waited_ns; /* for slow files */
	u64 nr_late;
	VEC(struct pause) pauses;
	size_t next_pause; /* replaced next once all are in use */
};

static struct requests requests;

static int start_opener(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	int err = requests.ops.start(requests.ops.ctx, pair[1], &requests.number);
	close(pair[1]);
	if (err)
		close(pair[0]);
	else
		requests.sock = pair[0];
	requests.is_running = !err;
	if (err == -EPIPE)
		requests.is_used = false;
	return err;
}

int open_requests_begin(const struct open_requests_ops *ops)
{
	requests.ops = *ops;
	requests.is_used = true;
	requests.since_ns = time_mono_ns();
	requests.waited_ns = 0;
	return start_opener();
}

/* The opener ends when its socket is closed; one that waits for a file system is killed. */
static void end_opener(void)
{
	if (!requests.is_running)
		return;
	close(requests.sock);
	requests.ops.end(requests.ops.ctx, requests.number);
	requests.is_running = false;
}

void open_requests_end(void)
{
	end_opener();
	requests.is_used = false;
	vec_fini(&requests.pauses);
}

bool open_requests_are_used(void)
{
	return requests.is_used;
}

/*
 * The user whose budget a file is charged to: that of the process. For root it is per file system,
 * because root uses many.
 */
static u64 key_of(const struct open_order *o)
{
	char path[32];
	struct stat st = { .st_uid = o->uid };

	snprintf(path, sizeof(path), "/proc/%d", o->pid);
	if (o->kind == OPEN_MAPPED && stat(path, &st))
		st.st_uid = 0;
	return st.st_uid ?: KEY_IS_DEVICE | (u64)o->dev_major << 32 | o->dev_minor;
}

static struct pause *find_pause(u64 key)
{
	vec_each(p, &requests.pauses)
		if (p->key == key)
			return p;
	return NULL;
}

static bool is_paused(const struct open_order *o)
{
	const struct pause *p = find_pause(key_of(o));

	return p && time_mono_ns() < p->until_ns;
}

static void add_pause(u64 key)
{
	struct pause *p = find_pause(key);

	if (!p && requests.pauses.nr < PAUSES_MAX) {
		vec_push(&requests.pauses, (struct pause){ .key = key });
		p = &requests.pauses.at[requests.pauses.nr - 1];
	} else if (!p) {
		p = &requests.pauses.at[requests.next_pause++ % PAUSES_MAX];
		*p = (struct pause){ .key = key };
	}
	p->pause_ns = !p->pause_ns                 ? PAUSE_NS
		      : p->pause_ns < PAUSE_MAX_NS ? 2 * p->pause_ns
						   : PAUSE_MAX_NS;
	p->until_ns = time_mono_ns() + p->pause_ns;
}

/* On a busy machine any file may open late: a file system of root is trusted after one success. */
static void forgive(u64 key)
{
	struct pause *p = key & KEY_IS_DEVICE ? find_pause(key) : NULL;

	if (p)
		p->pause_ns = 0;
}

/*
 * How long to wait for a file; 0: not at all. Each user id has 0.5 s for its first slow file, and
 * one person may have many ids, so only half of the budget is for these. When that half is used up,
 * files that open at once still open: no user can take the budget of the others.
 */
static u64 patience_ns(void)
{
	u64 budget = WAIT_NS + (time_mono_ns() - requests.since_ns) / WAIT_SHARE;

	if (requests.waited_ns >= budget)
		return 0;
	return requests.waited_ns < budget / 2 ? OPEN_MAX_MS * NS_PER_MS : QUICK_NS;
}

/* Waits for the answer, and continues to wait if a signal arrives. */
static int poll_answer(u64 end_ns)
{
	for (u64 now = time_mono_ns(); now < end_ns; now = time_mono_ns()) {
		struct pollfd p = { requests.sock, POLLIN, 0 };
		int nr = poll(&p, 1, (int)((end_ns - now) / NS_PER_MS) + 1);
		if (nr > 0)
			return 0;
		if (nr < 0 && errno != EINTR)
			return -errno;
	}
	return -ETIMEDOUT;
}

/* Runtimes have a budget of their own (container.c). */
static bool is_of_file(const struct open_order *o)
{
	return o->kind != OPEN_ANSWER;
}

static int await_answer(const struct open_order *o)
{
	u64 start_ns = time_mono_ns();
	u64 patience = is_of_file(o) ? patience_ns() : OPEN_MAX_MS * NS_PER_MS;
	int err = poll_answer(start_ns + patience);
	u64 ns = time_mono_ns() - start_ns;

	if (ns >= QUICK_NS && is_of_file(o))
		requests.waited_ns += ns;
	return err;
}

static bool is_regular(int fd)
{
	struct stat st;

	return !file_status(fd, &st) && S_ISREG(st.st_mode);
}

/* The opener may have been taken over, so its answer is checked. */
static int receive(const struct open_order *o)
{
	struct worker_message m;
	int fds[WORKER_FDS_MAX];
	size_t nr;
	int err = await_answer(o) ?: message_receive(requests.sock, &m, fds, &nr);

	if (err)
		return err;
	if (m.kind == WORKER_OPENED && !m.err && nr == 1 && is_regular(fds[0]))
		return fds[0];
	for (size_t i = 0; i < nr; i++)
		close(fds[i]);
	return m.kind == WORKER_OPENED && m.err < 0 && m.err > -4096 ? m.err : -EPROTO;
}

static int ask(const struct open_order *order, size_t len, int root)
{
	struct worker_message m = { .kind = WORKER_OPEN, .len = (u32)len };

	memcpy(m.text, order, len);
	int err = message_send(requests.sock, &m, &root, root >= 0) ?: receive(order);
	/* The kernel reports ECONNRESET if the opener ended before it had read the order. */
	return err == -ECONNRESET ? -EPIPE : err;
}

/* Completes the order; returns its length or a negative errno. */
static ssize_t set_path(struct open_order *order, const char *path)
{
	size_t len = strlen(path) + 1;

	if (len > sizeof(order->path))
		return -ENAMETOOLONG;
	memcpy(order->path, path, len);
	order->version = OPEN_ORDER_VERSION;
	return (ssize_t)(offsetof(struct open_order, path) + len);
}

/* An opener that does not answer is replaced. */
static int carry_out(const struct open_order *order, size_t len, int root)
{
	int err = requests.is_running ? 0 : start_opener();
	if (err)
		return err == -EPIPE ? -EPIPE : -EBUSY;
	int fd = ask(order, len, root);
	if (fd == -ETIMEDOUT && is_of_file(order))
		add_pause(key_of(order));
	if (fd >= 0 && requests.pauses.nr)
		forgive(key_of(order));
	if (fd != -ETIMEDOUT && fd != -EPIPE && fd != -EPROTO)
		return fd;
	end_opener();
	bool was_killed = !start_opener() && fd == -EPIPE;
	if (was_killed)
		fd = ask(order, len, root);
	if (was_killed && (fd == -ETIMEDOUT || fd == -EPIPE || fd == -EPROTO)) {
		/*
		 * End the opener: its late answer would be taken for the answer to the next order.
		 */
		end_opener();
		start_opener();
	}
	return fd == -ETIMEDOUT ? -EBUSY : fd;
}

int open_request(struct open_order *order, const char *path, int root)
{
	ssize_t len = set_path(order, path);

	if (len < 0)
		return (int)len;
	int fd = (requests.pauses.nr && is_paused(order)) || !patience_ns()
			 ? -EBUSY
			 : carry_out(order, (size_t)len, root);
	requests.nr_late += fd == -EBUSY;
	return fd;
}

u64 open_requests_nr_late(void)
{
	return requests.nr_late;
}

int open_request_answer(u32 runtime, const char *id)
{
	struct open_order order = { .kind = OPEN_ANSWER, .runtime = runtime };
	ssize_t len = set_path(&order, id);

	return len < 0 ? (int)len : carry_out(&order, (size_t)len, -1);
}
