/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of records that BPF programs fill, and the thread that copies records out of it. */
#include "capture/kernel/receiver.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/signals.h"
#include "sandbox/rights.h"

struct ring {
	struct ring_place place;
	struct ring_buffer *buffer;
	ring_record_fn record; /* during ring_drain */
	void *ctx;
};

static int on_record(void *ctx, void *data, size_t len)
{
	struct ring *r = ctx;

	return r->record(data, len, r->ctx) ? 0 : -ENOBUFS;
}

int ring_new(const struct ring_place *place, struct ring **out)
{
	struct ring *r = xcalloc(1, sizeof(*r));

	r->place = *place;
	r->buffer = ring_buffer__new(place->fd, on_record, r, NULL);
	if (!r->buffer) {
		int err = -errno;
		free(r);
		return err;
	}
	*out = r;
	return 0;
}

void ring_free(struct ring *r)
{
	if (!r)
		return;
	ring_buffer__free(r->buffer);
	free(r);
}

int ring_drain(struct ring *r, ring_record_fn record, void *ctx)
{
	r->record = record;
	r->ctx = ctx;
	int nr = ring_buffer__consume(r->buffer);
	return nr < 0 ? nr : 0;
}

int ring_fd(const struct ring *r)
{
	return r->place.fd;
}

bool ring_answer_call(struct ring *r)
{
	return __atomic_exchange_n(r->place.is_called, 0, __ATOMIC_SEQ_CST);
}

void ring_set_halvings(struct ring *r, u32 halvings)
{
	if (r->place.halvings)
		__atomic_store_n(r->place.halvings, halvings, __ATOMIC_RELAXED);
}

#define PARCEL_BYTES (256u << 10)
#define RECORD_MAX   (sizeof(struct sample) + ABI_SAMPLE_WORDS * sizeof(u64))
/* beyond this backlog, records stay in the ring, which fills and counts its losses */
#define BACKLOG_MAX (64u << 20)
/* spare parcels to keep: as many are in use while few records arrive */
#define SPARES 3
/* largest number of halvings of the sampling rate, reached at BACKLOG_MAX */
#define HALVINGS    32
#define STACK_BYTES (64u << 10)

/* Precedes each record. */
struct parcel_head {
	u64 len;
};

struct receiver {
	struct ring *ring;
	pthread_t thread;
	bool has_thread, is_last; /* the thread has to end */
	int epoll_fd;             /* watches the ring and `asked_fd` */
	/* eventfd: requests that the thread hands over its records or ends */
	int asked_fd;
	sem_t answered;

	/* parcel that is being filled; belongs to the receiver's thread if it has one */
	struct parcel *open;
	struct parcel *ready;          /* newest first; taken as a whole */
	struct parcel *spares[SPARES]; /* to reuse */
	size_t backlog, most;          /* bytes in parcels */
	size_t backlog_max;            /* set before records arrive */
};

/* Uses mmap, because freed parcels would otherwise stay in a heap's arena. */
static struct parcel *parcel_new(struct receiver *r)
{
	struct parcel *p;

	for (int i = 0; i < SPARES; i++)
		if ((p = __atomic_exchange_n(&r->spares[i], NULL, __ATOMIC_ACQUIRE)))
			return p;
	p = mmap(NULL, PARCEL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static void parcels_free(struct parcel *p)
{
	while (p) {
		struct parcel *next = p->next;
		munmap(p, PARCEL_BYTES);
		p = next;
	}
}

static size_t size_of(size_t len)
{
	return sizeof(struct parcel_head) + ((len + 7) & ~7ul);
}

void parcels_each(const struct parcel *parcels, parcel_record_fn record, void *ctx)
{
	struct parcel_head head;

	for (const struct parcel *p = parcels; p; p = p->next)
		for (size_t at = 0; at < p->nr_bytes; at += size_of(head.len)) {
			memcpy(&head, p->bytes + at, sizeof(head));
			record(p->bytes + at + sizeof(head), head.len, ctx);
		}
}

void parcels_add(struct parcel **parcels, struct parcel *more)
{
	while (*parcels)
		parcels = &(*parcels)->next;
	*parcels = more;
}

static void publish(struct receiver *r)
{
	if (!r->open || !r->open->nr_bytes)
		return;
	struct parcel *p = take(r->open);
	p->next = __atomic_load_n(&r->ready, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&r->ready, &p->next, p, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

static void add_backlog(struct receiver *r, ssize_t more)
{
	size_t backlog = __atomic_add_fetch(&r->backlog, (size_t)more, __ATOMIC_RELAXED);

	if (backlog > r->most)
		r->most = backlog;
	ring_set_halvings(r->ring, (u32)(backlog / (r->backlog_max / HALVINGS)));
}

/* Ensures that a record of any size fits into the open parcel. */
static bool make_room(struct receiver *r)
{
	if (receiver_backlog(r) >= r->backlog_max)
		return false;
	if (r->open && PARCEL_BYTES - sizeof(*r->open) - r->open->nr_bytes < size_of(RECORD_MAX))
		publish(r);
	if (r->open)
		return true;
	r->open = parcel_new(r);
	if (r->open)
		r->open->nr_bytes = 0;
	return r->open;
}

/* Returns whether one more record fits. The ring removes every record that it passes on. */
static bool add_record(const void *record, size_t len, void *receiver)
{
	const struct parcel_head head = { .len = len };
	struct receiver *r = receiver;
	size_t bytes = size_of(len);

	if (len > RECORD_MAX)
		return true;
	u8 *at = r->open->bytes + r->open->nr_bytes;
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), record, len);
	r->open->nr_bytes += bytes;
	add_backlog(r, (ssize_t)bytes);
	return make_room(r);
}

/*
 * Copies the records out of the ring. If there is no room, ring_answer_call is not called, so BPF
 * does not wake the thread again; receiver_take retries later.
 */
static void drain(struct receiver *r)
{
	if (!make_room(r))
		return;
	/*
	 * Repeat until BPF has not called: epoll is edge-triggered, so a call for records that were
	 * taken here would not be seen again.
	 */
	do
		ring_drain(r->ring, add_record, r);
	while (ring_answer_call(r->ring) && make_room(r));
}

size_t receiver_backlog(const struct receiver *r)
{
	return __atomic_load_n(&r->backlog, __ATOMIC_RELAXED);
}

static void *receive(void *receiver)
{
	struct receiver *r = receiver;
	struct epoll_event event;
	u64 asked;

	precedence_take(); /* it has little to do, but without delay */
	for (;;) {
		if (epoll_wait(r->epoll_fd, &event, 1, -1) < 1)
			continue;
		bool is_asked = event.data.fd == r->asked_fd &&
				read(r->asked_fd, &asked, sizeof(asked)) == sizeof(asked);
		if (__atomic_load_n(&r->is_last, __ATOMIC_ACQUIRE))
			return NULL;
		drain(r);
		if (is_asked) {
			publish(r);
			sem_post(&r->answered);
		}
	}
}

static bool watch(int epoll_fd, int fd, u32 events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return !epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static bool begin_thread(struct receiver *r)
{
	if (r->epoll_fd < 0 || r->asked_fd < 0 || !watch(r->epoll_fd, r->asked_fd, EPOLLIN) ||
	    !watch(r->epoll_fd, ring_fd(r->ring), EPOLLIN | EPOLLET))
		return false;
	return !thread_start(STACK_BYTES, receive, r, &r->thread);
}

static void ask(struct receiver *r)
{
	const u64 one = 1;

	while (write(r->asked_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

struct receiver *receiver_new(struct ring *ring, size_t backlog_max, bool has_thread)
{
	struct receiver *r = xcalloc(1, sizeof(*r));

	r->ring = ring;
	r->backlog_max = backlog_max ?: BACKLOG_MAX;
	r->epoll_fd = has_thread ? epoll_create1(EPOLL_CLOEXEC) : -1;
	r->asked_fd = has_thread ? eventfd(0, EFD_CLOEXEC) : -1;
	sem_init(&r->answered, 0, 0);
	r->has_thread = has_thread && begin_thread(r);
	if (has_thread && !r->has_thread)
		log_debug("no second thread reads the ring");
	return r;
}

void receiver_free(struct receiver *r)
{
	if (!r)
		return;
	if (r->has_thread) {
		__atomic_store_n(&r->is_last, true, __ATOMIC_RELEASE);
		ask(r);
		pthread_join(r->thread, NULL);
	}
	log_debug("at most %zu KB of the ring's records waited", r->most >> 10);
	parcels_free(r->ready);
	parcels_free(r->open);
	for (int i = 0; i < SPARES; i++)
		parcels_free(r->spares[i]);
	sem_destroy(&r->answered);
	if (r->asked_fd >= 0)
		close(r->asked_fd);
	if (r->epoll_fd >= 0)
		close(r->epoll_fd);
	free(r);
}

static struct parcel *oldest_first(struct parcel *p)
{
	struct parcel *done = NULL;

	while (p) {
		struct parcel *next = p->next;
		p->next = done;
		done = p;
		p = next;
	}
	return done;
}

struct parcel *receiver_take(struct receiver *r)
{
	if (r->has_thread) {
		ask(r);
		while (sem_wait(&r->answered))
			;
	} else {
		drain(r);
		publish(r);
	}
	return oldest_first(__atomic_exchange_n(&r->ready, NULL, __ATOMIC_ACQUIRE));
}

/*
 * Keeps a parcel for reuse. Only receiver_return fills the places, and only the thread empties
 * them.
 */
static void keep(struct receiver *r, struct parcel *p)
{
	int i = 0;

	while (i < SPARES && __atomic_load_n(&r->spares[i], __ATOMIC_ACQUIRE))
		i++;
	if (i < SPARES)
		__atomic_store_n(&r->spares[i], p, __ATOMIC_RELEASE);
	else
		parcels_free(p);
}

void receiver_return(struct receiver *r, struct parcel *parcels)
{
	ssize_t bytes = 0;

	if (!parcels)
		return;
	for (const struct parcel *p = parcels; p; p = p->next)
		bytes += (ssize_t)p->nr_bytes;
	add_backlog(r, -bytes);
	while (parcels) {
		struct parcel *next = parcels->next;
		parcels->next = NULL;
		keep(r, parcels);
		parcels = next;
	}
}
