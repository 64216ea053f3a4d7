/* SPDX-License-Identifier: Apache-2.0 */
/* Workers and the work that waits for them. */
#include "sandbox/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dict.h"
#include "base/file.h"
#include "base/time.h"
#include "base/vec.h"
#include "sandbox/message.h"
#include "sandbox/zygote.h"

#define SLOTS         WORKERS_FDS
#define USER_SLOTS    1                /* most workers of a user other than root */
#define PAYER_CREDIT  (2 * NS_PER_SEC) /* CPU time of a user before the share limits it */
#define LOOK_AGAIN_MS 10               /* between looks at the deadlines while waiting */

enum work_state {
	WORK_QUEUED,
	WORK_RUNNING,
	WORK_DONE,
};

struct work {
	struct workers *workers; /* NULL: done at once */
	struct work_order order;
	void *params;
	enum work_state state;
	int err;
	void *bytes; /* the result */
	size_t nr;
};

/* A worker process, or the place for one. */
struct slot {
	pid_t pid; /* 0: none */
	int sock, shared_fd;
	void *shared;
	uid_t user;
	struct work *work;       /* NULL: idle */
	u64 began_ns, worked_ns; /* of the work: its start, and the CPU time by then */
};

struct workers {
	const struct worker_kind *kind;
	struct zygote zygote;
	struct slot slots[SLOTS];
	VEC(struct work *) queue;
	struct dict payers; /* uid -> CPU time used, without that forgiven until forgiven_ns */
	u64 forgiven_ns, patience_ns, turned_ns;
	struct workers_usage usage;
	/* bytes of results that nobody has taken, and their limit; held_max 0: no limit */
	size_t held_bytes, held_max;
	bool is_broken; /* the zygote did not answer the last request */
};

int workers_begin(const struct worker_kind *kind, struct workers **out)
{
	struct workers *w = xcalloc(1, sizeof(*w));
	int err = zygote_start(kind, &w->zygote);

	if (err) {
		free(w);
		return err;
	}
	w->kind = kind;
	w->forgiven_ns = time_mono_ns();
	*out = w;
	return 0;
}

int workers_await(struct workers *w)
{
	return zygote_await(&w->zygote);
}

int workers_new(const struct worker_kind *kind, struct workers **out)
{
	struct workers *w;
	int err = workers_begin(kind, &w);

	if (err)
		return err;
	err = workers_await(w);
	if (err)
		workers_free(w);
	else
		*out = w;
	return err;
}

/* Adds the CPU time since the work began to its user's account. */
static void charge(struct workers *w, struct slot *s)
{
	u64 now = time_process_ns(s->pid), used = now > s->worked_ns ? now - s->worked_ns : 0;

	*dict_add(&w->payers, s->user) += used;
	w->usage.worked_ns += used;
}

static void finish(struct slot *s, int err)
{
	struct work *k = take(s->work);

	k->state = WORK_DONE;
	k->err = err;
}

/* Ends the worker of a slot; the work that it was doing fails with `err`. */
static void end_worker(struct workers *w, struct slot *s, int err)
{
	if (!s->pid)
		return;
	if (s->work) {
		charge(w, s);
		finish(s, err);
	}
	zygote_kill(&w->zygote, s->pid);
	close(s->sock);
	close(s->shared_fd);
	munmap(s->shared, WORKER_RESULT_MAX);
	*s = (struct slot){ 0 };
}

void workers_free(struct workers *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		end_worker(w, &w->slots[i], -ECANCELED);
	zygote_stop(&w->zygote);
	vec_fini(&w->queue);
	dict_fini(&w->payers);
	free(w);
}

/* Memory that neither side can shrink under the other: memfd_create(2), F_SEAL_SHRINK. */
static int make_shared(int *out)
{
	auto_close int fd = memfile_new("sysflame-result");

	if (fd < 0)
		return fd;
	if (ftruncate(fd, WORKER_RESULT_MAX) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	*out = take_fd(fd);
	return 0;
}

static int start_worker(struct workers *w, struct slot *s, uid_t user)
{
	auto_close int ours = -1, theirs = -1, shared_fd = -1;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	/* Do not block on a worker that asks but does not read. */
	if (fcntl(ours, F_SETFL, O_NONBLOCK))
		return -errno;
	int err = make_shared(&shared_fd);
	if (err)
		return err;
	void *shared = mmap(NULL, WORKER_RESULT_MAX, PROT_READ, MAP_SHARED, shared_fd, 0);
	if (shared == MAP_FAILED)
		return -errno;
	pid_t pid = zygote_fork(&w->zygote, theirs, shared_fd);
	w->is_broken = pid < 0 && pid != -EAGAIN;
	if (pid < 0) {
		munmap(shared, WORKER_RESULT_MAX);
		return w->is_broken ? -EPIPE : pid;
	}
	*s = (struct slot){ .pid = pid, .shared = shared, .user = user };
	s->sock = take_fd(ours);
	s->shared_fd = take_fd(shared_fd);
	return 0;
}

static bool may_work(const struct workers *w, uid_t user, u64 now)
{
	const u64 *used = dict_find(&w->payers, user);
	u64 share = w->kind->share;
	u32 nr = 0;

	for (size_t i = 0; i < SLOTS; i++)
		nr += w->slots[i].work && w->slots[i].user == user;
	if (!user || !share)
		return true;
	return nr < USER_SLOTS && (!used || *used < PAYER_CREDIT + (now - w->forgiven_ns) / share);
}

void workers_turn(struct workers *w)
{
	u64 now_ns = time_mono_ns();
	struct dict owing = { 0 };

	if (!w)
		return;
	u64 paid_ns = (now_ns - w->forgiven_ns) / (w->kind->share ?: 1);
	dict_each(slot, &w->payers)
		if (slot->value > paid_ns)
			*dict_add(&owing, slot->key) = slot->value - paid_ns;
	dict_fini(&w->payers);
	w->payers = owing;
	w->forgiven_ns = now_ns;
}

static u64 used_by(const struct workers *w, uid_t user)
{
	const u64 *used = dict_find(&w->payers, user);

	return used ? *used : 0;
}

/* The place in the queue of the work to do next; -1 if none may be done now. */
static ssize_t next_work(const struct workers *w)
{
	u64 now = time_mono_ns();
	ssize_t best = -1;

	for (size_t i = 0; i < w->queue.nr; i++) {
		uid_t user = w->queue.at[i]->order.user;
		if (may_work(w, user, now) &&
		    (best < 0 || used_by(w, user) < used_by(w, w->queue.at[best]->order.user)))
			best = (ssize_t)i;
	}
	return best;
}

/* An idle slot, if possible with a worker of that user. */
static struct slot *idle_slot(struct workers *w, uid_t user)
{
	struct slot *found = NULL;

	for (size_t i = 0; i < SLOTS; i++) {
		struct slot *s = &w->slots[i];
		if (s->work)
			continue;
		if (s->pid && s->user == user)
			return s;
		if (!found || !s->pid)
			found = s;
	}
	return found;
}

static void close_files(struct work_order *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(o->fds); i++)
		if (o->fds[i] >= 0)
			close(take_fd(o->fds[i]));
}

static int send_request(const struct slot *s, const struct work *k)
{
	const struct work_order *o = &k->order;
	struct worker_message m = {
		.kind = WORKER_REQUEST,
		.what = o->task,
		.nr = (u32)o->max,
		.len = (u32)o->len,
	};

	memcpy(m.text, k->params, o->len);
	return message_send(s->sock, &m, o->fds, 1 + (o->fds[1] >= 0));
}

static void start_work(struct workers *w, struct slot *s, struct work *k)
{
	int err = 0;

	if (s->pid && s->user != k->order.user)
		end_worker(w, s, 0);
	if (!s->pid)
		err = start_worker(w, s, k->order.user);
	if (!err)
		err = send_request(s, k);
	close_files(&k->order);
	if (err) {
		k->state = WORK_DONE;
		k->err = err;
		w->usage.nr_failed++;
		end_worker(w, s, 0);
		return;
	}
	k->state = WORK_RUNNING;
	s->work = k;
	s->began_ns = time_mono_ns();
	s->worked_ns = time_process_ns(s->pid);
}

static bool has_room(const struct workers *w)
{
	for (size_t i = 0; w->held_max && i < SLOTS; i++)
		if (w->slots[i].work)
			return false;
	return !w->held_max || w->held_bytes <= w->held_max;
}

static void start_waiting(struct workers *w)
{
	while (has_room(w)) {
		ssize_t next = next_work(w);
		struct slot *s = next < 0 ? NULL : idle_slot(w, w->queue.at[next]->order.user);
		if (!s)
			return;
		struct work *k = w->queue.at[next];
		memmove(&w->queue.at[next], &w->queue.at[next + 1],
			(w->queue.nr - (size_t)next - 1) * sizeof(w->queue.at[0]));
		w->queue.nr--;
		start_work(w, s, k);
	}
}

static bool is_result(const struct worker_message *m, size_t max)
{
	return m->kind == WORKER_RESULT && m->err <= 0 && m->nr <= max &&
	       m->nr <= WORKER_RESULT_MAX;
}

/* Copies the result, because the worker could change it while it is checked. */
static int take_result(struct workers *w, struct slot *s, const struct worker_message *m)
{
	struct work *k = s->work;

	if (m->err)
		return m->err;
	k->bytes = xmalloc(m->nr + 1);
	memcpy(k->bytes, s->shared, m->nr);
	k->nr = m->nr;
	w->held_bytes += k->nr;
	/* Give the pages back to the kernel, so that an idle worker takes no memory. */
	fallocate(s->shared_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, WORKER_RESULT_MAX);
	return 0;
}

static int open_for(const struct slot *s, const struct worker_message *m)
{
	const struct work_order *o = &s->work->order;
	struct worker_message answer = { .kind = WORKER_OPENED };

	if (!m->len || m->text[m->len - 1] || memchr(m->text, 0, m->len - 1))
		return -EPROTO;
	auto_close int fd = o->open ? o->open(o->ctx, m->what, m->text) : -ENOENT;
	answer.err = fd < 0 ? fd : 0;
	return message_send(s->sock, &answer, &fd, fd >= 0);
}

/* Handles one message of the worker; an error ends it. */
static int handle(struct workers *w, struct slot *s)
{
	struct worker_message m;
	int fds[WORKER_FDS_MAX];
	size_t nr;
	int err = message_receive(s->sock, &m, fds, &nr);

	for (size_t i = 0; i < nr; i++)
		close(fds[i]);
	if (err)
		return err;
	if (nr || !s->work)
		return -EPROTO;
	if (m.kind == WORKER_OPEN)
		return open_for(s, &m);
	if (!is_result(&m, s->work->order.max))
		return -EPROTO;
	charge(w, s);
	w->usage.nr_done++;
	finish(s, take_result(w, s, &m));
	if (w->kind->ends_after_task)
		end_worker(w, s, 0);
	return 0;
}

static void receive(struct workers *w, struct slot *s)
{
	int err = handle(w, s);

	if (!err)
		return;
	if (s->work) {
		w->usage.nr_failed++;
		w->usage.late_user = s->user;
	}
	end_worker(w, s, err);
}

static void enforce_deadline(struct workers *w, struct slot *s)
{
	if (!s->work || (time_mono_ns() - s->began_ns < w->kind->wall_ns &&
			 time_process_ns(s->pid) - s->worked_ns < w->kind->cpu_ns))
		return;
	w->usage.nr_late++;
	w->usage.late_user = s->user;
	end_worker(w, s, -ETIMEDOUT);
}

/* Waits up to `ms` for messages and handles them. */
static void turn(struct workers *w, int ms)
{
	struct pollfd polled[SLOTS];
	struct slot *of[SLOTS];
	nfds_t nr = 0;

	w->turned_ns = time_mono_ns();
	start_waiting(w);
	for (size_t i = 0; i < SLOTS; i++) {
		if (!w->slots[i].pid)
			continue;
		of[nr] = &w->slots[i];
		polled[nr++] = (struct pollfd){ w->slots[i].sock, POLLIN, 0 };
	}
	if (poll(polled, nr, ms) > 0)
		for (nfds_t i = 0; i < nr; i++)
			if (polled[i].revents)
				receive(w, of[i]);
	for (size_t i = 0; i < SLOTS; i++)
		enforce_deadline(w, &w->slots[i]);
	start_waiting(w);
}

size_t workers_fds(const struct workers *w, int fds[WORKERS_FDS])
{
	size_t nr = 0;

	for (size_t i = 0; w && i < SLOTS; i++)
		if (w->slots[i].pid)
			fds[nr++] = w->slots[i].sock;
	return nr;
}

void workers_poll(struct workers *w)
{
	if (w)
		turn(w, 0);
}

void workers_save_memory(struct workers *w, size_t held_bytes)
{
	if (w)
		w->held_max = held_bytes;
}

void workers_set_patience(struct workers *w, u64 ns)
{
	if (w)
		w->patience_ns = ns;
}

static void await(struct work *k)
{
	struct workers *w = k->workers;

	/* Do not look too often: many samples may ask for the same file. */
	if (w->patience_ns || time_mono_ns() - w->turned_ns > NS_PER_MS)
		turn(w, 0);
	while (k->state != WORK_DONE && w->patience_ns) {
		u64 begin_ns = time_mono_ns(), left_ms = w->patience_ns / NS_PER_MS + 1;
		turn(w, left_ms < LOOK_AGAIN_MS ? (int)left_ms : LOOK_AGAIN_MS);
		u64 waited_ns = time_mono_ns() - begin_ns;
		w->patience_ns -= waited_ns < w->patience_ns ? waited_ns : w->patience_ns;
	}
}

struct work *work_start(struct workers *w, const struct work_order *order)
{
	struct work *k = xcalloc(1, sizeof(*k));

	k->workers = w;
	k->order = *order;
	k->order.len = order->len < WORKER_TEXT_MAX ? order->len : WORKER_TEXT_MAX;
	k->params = xmemdup(order->params, k->order.len);
	if (order->fds[0] < 0) { /* no descriptor was left for it */
		k->state = WORK_DONE;
		k->err = -EMFILE;
		return k;
	}
	if (!w) {
		k->state = WORK_DONE;
		k->err = worker_run_here(order->run, order->fds, k->params, k->order.len,
					 order->max, order->open, order->ctx, &k->bytes, &k->nr);
		close_files(&k->order);
		return k;
	}
	vec_push(&w->queue, k);
	start_waiting(w);
	return k;
}

static void *hand_over(struct work *k)
{
	if (k->bytes && k->workers)
		k->workers->held_bytes -= k->nr;
	return take(k->bytes);
}

int work_result(struct work *k, void **bytes, size_t *nr)
{
	if (k->state != WORK_DONE)
		await(k);
	if (k->state != WORK_DONE)
		return -EAGAIN;
	if (k->err) /* after a result of -EAGAIN the caller would ask for ever */
		return k->err == -EAGAIN ? -EIO : k->err;
	*nr = k->nr;
	*bytes = hand_over(k);
	return 0;
}

static void leave_queue(struct workers *w, const struct work *k)
{
	size_t kept = 0;

	vec_each(other, &w->queue)
		if (*other != k)
			w->queue.at[kept++] = *other;
	w->queue.nr = kept;
}

void work_free(struct work *k)
{
	if (!k)
		return;
	for (size_t i = 0; k->state == WORK_RUNNING && i < SLOTS; i++)
		if (k->workers->slots[i].work == k)
			end_worker(k->workers, &k->workers->slots[i], -ECANCELED);
	if (k->state == WORK_QUEUED)
		leave_queue(k->workers, k);
	close_files(&k->order);
	free(k->order.ctx);
	free(k->params);
	free(hand_over(k));
	free(k);
}

struct workers_usage workers_usage(const struct workers *w)
{
	struct workers_usage usage = w ? w->usage : (struct workers_usage){ 0 };

	usage.nr_waiting = w ? w->queue.nr : 0;
	return usage;
}

bool workers_are_broken(const struct workers *w)
{
	struct pollfd polled = { w ? w->zygote.sock : -1, 0, 0 };

	if (!w)
		return false;
	return w->is_broken || (poll(&polled, 1, 0) == 1 && polled.revents & (POLLHUP | POLLERR));
}
