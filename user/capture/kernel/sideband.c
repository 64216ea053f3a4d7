/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings, execs and names of processes, from perf's side band. */
#include "capture/kernel/sideband.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"
#include "capture/kernel/cpulist.h"
#include "capture/kernel/perf.h"

/*
 * Bytes of a CPU's ring, in a power of two pages. The start of a compiler writes 4 KB. Two parallel
 * builds filled 64 KB, some 400 records, while the recorder waited for a CPU.
 */
#define RING_MAX   (256 * 1024)
#define RING_MIN   (64 * 1024)
#define RINGS_MAX  (8 * 1024 * 1024) /* of all CPUs, as long as each has RING_MIN */
#define RECORD_MAX 65536
/*
 * About as many bytes as the start of one program writes, or ten starts and ends of threads. A
 * wake-up interrupts the program that caused it (irq_work): with one for each record, a program in
 * a VM that does nothing but start and join threads takes twice its CPU time.
 */
#define WAKE_BYTES 512

struct side_ring {
	int cpu, fd;
	u64 running_ns;                    /* see perf_has_run */
	struct perf_event_mmap_page *page; /* followed by the records */
};

struct sideband {
	VEC(struct side_ring) rings;
	size_t ring_bytes;
	int epoll_fd;
	u8 *record; /* buffer for a record that wraps around the ring's end */
};

/* The sample_id trailer that attr.sample_id_all adds to each record: TID, then TIME. */
struct trailer {
	u32 pid, tid;
	u64 time_ns;
};

struct comm {
	struct perf_event_header head;
	u32 pid, tid;
	char comm[];
};

struct mmap2 {
	struct perf_event_header head;
	u32 pid, tid;
	u64 addr, len, file_off;
	u32 dev_major, dev_minor;
	u64 inode, inode_generation;
	u32 prot, flags;
	char path[];
};

struct ksymbol {
	struct perf_event_header head;
	u64 addr;
	u32 len;
	u16 type, flags;
	char name[];
};

struct lost {
	struct perf_event_header head;
	u64 id, nr;
};

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int add_cpu(struct sideband *s, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.read_format = PERF_RUN_FORMAT,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.ksymbol = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = WAKE_BYTES,
	};
	auto_close int fd = perf_open(&attr, cpu);
	if (fd < 0)
		return fd;

	void *page =
		mmap(NULL, page_size() + s->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	struct epoll_event readable = { .events = EPOLLIN | EPOLLET };
	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &readable))
		log_debug("cpu %d: new mappings do not wake the recorder", cpu);
	vec_push(&s->rings, (struct side_ring){ cpu, take_fd(fd), 0, page });
	return 0;
}

static void drop_ring(struct sideband *s, size_t i)
{
	munmap(s->rings.at[i].page, page_size() + s->ring_bytes);
	close(s->rings.at[i].fd);
	s->rings.at[i] = s->rings.at[--s->rings.nr];
}

static void drop_rings(struct sideband *s)
{
	while (s->rings.nr)
		drop_ring(s, s->rings.nr - 1);
}

static int add_cpus(struct sideband *s, const cpulist *online, size_t ring_bytes)
{
	int err = 0;

	drop_rings(s);
	s->ring_bytes = ring_bytes;
	for (size_t i = 0; !err && i < online->nr; i++) {
		err = add_cpu(s, online->at[i]);
		if (err == -ENODEV) /* went offline since the list was read */
			err = 0;
	}
	return err;
}

static size_t ring_bytes_for(size_t nr_cpus)
{
	size_t bytes = RING_MAX;

	while (bytes > RING_MIN && bytes * nr_cpus > RINGS_MAX)
		bytes /= 2;
	return bytes;
}

int sideband_open(struct sideband **out)
{
	struct sideband *s = xcalloc(1, sizeof(*s));
	cpulist online = { 0 };
	int err = cpulist_online(&online);

	s->record = xmalloc(RECORD_MAX);
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = err ?: add_cpus(s, &online, ring_bytes_for(online.nr));
	if (err == -EPERM) /* without CAP_IPC_LOCK, perf_event_mlock_kb is the limit */
		err = add_cpus(s, &online, RING_MIN);
	vec_fini(&online);
	if (err) {
		sideband_close(s);
		return err;
	}
	*out = s;
	return 0;
}

void sideband_close(struct sideband *s)
{
	if (!s)
		return;
	drop_rings(s);
	vec_fini(&s->rings);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	free(s->record);
	free(s);
}

bool sideband_follow(struct sideband *s)
{
	cpulist online = { 0 }, known = { 0 };
	bool is_any_new = false, is_any_dropped = false;

	if (!cpulist_online(&online)) {
		for (size_t i = s->rings.nr; i-- > 0;) {
			struct side_ring *r = &s->rings.at[i];
			if (cpulist_has(&online, r->cpu) && perf_has_run(r->fd, &r->running_ns))
				continue;
			drop_ring(s, i);
			is_any_dropped = true;
		}
		vec_each(r, &s->rings)
			vec_push(&known, r->cpu);
		vec_each(cpu, &online)
			if (!cpulist_has(&known, *cpu))
				is_any_new |= !add_cpu(s, *cpu);
	}
	vec_fini(&online);
	vec_fini(&known);
	return is_any_new || is_any_dropped;
}

static bool parse_mmap(const struct mmap2 *r, size_t len, struct side_event *out)
{
	if (len < sizeof(*r) + sizeof(struct trailer))
		return false;

	size_t path_max = len - sizeof(*r) - sizeof(struct trailer);
	if (!memchr(r->path, '\0', path_max) || r->addr + r->len < r->addr)
		return false;
	bool anonymous = !strcmp(r->path, "//anon");
	out->kind = SIDE_MMAP;
	out->pid = (pid_t)r->pid;
	out->mapping = (struct mapping){
		.start = r->addr,
		.end = r->addr + r->len,
		.file_off = r->file_off,
		.inode = anonymous ? 0 : r->inode,
		.dev_major = r->dev_major,
		.dev_minor = r->dev_minor,
		.readable = r->prot & PROT_READ,
		.writable = r->prot & PROT_WRITE,
		.executable = r->prot & PROT_EXEC,
		.path = anonymous ? (char *)"" : (char *)r->path,
	};
	return true;
}

static bool parse_comm(const struct comm *r, size_t len, struct side_event *out)
{
	if (len < sizeof(*r) + sizeof(struct trailer))
		return false;

	size_t comm_max = len - sizeof(*r) - sizeof(struct trailer);
	if (!memchr(r->comm, '\0', comm_max))
		return false;
	out->kind = r->head.misc & PERF_RECORD_MISC_COMM_EXEC ? SIDE_EXEC : SIDE_COMM;
	out->pid = (pid_t)r->pid;
	copy_text(out->comm, sizeof(out->comm), r->comm);
	return r->pid == r->tid;
}

static bool parse_ksymbol(const struct ksymbol *r, size_t len, struct side_event *out)
{
	if (len < sizeof(*r) + sizeof(struct trailer) ||
	    r->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)
		return false;
	size_t name_max = len - sizeof(*r) - sizeof(struct trailer);
	if (!memchr(r->name, '\0', name_max) || r->addr + r->len < r->addr)
		return false;
	out->kind = SIDE_CODE;
	out->mapping = (struct mapping){
		.start = r->addr,
		.end = r->addr + r->len,
		.path = (char *)r->name,
	};
	return true;
}

static bool parse_lost(const struct lost *r, size_t len, struct side_event *out)
{
	if (len < sizeof(*r) + sizeof(struct trailer))
		return false;
	out->kind = SIDE_LOST;
	out->nr_lost = r->nr;
	return true;
}

bool side_event_parse(const void *record, size_t len, struct side_event *out)
{
	const struct perf_event_header *head = record;
	struct trailer trailer;

	if (len < sizeof(*head) + 8 + sizeof(trailer))
		return false;
	memcpy(&trailer, (const u8 *)record + len - sizeof(trailer), sizeof(trailer));
	*out = (struct side_event){ .time_ns = trailer.time_ns };

	switch (head->type) {
	case PERF_RECORD_MMAP2:
		return parse_mmap(record, len, out);
	case PERF_RECORD_COMM:
		return parse_comm(record, len, out);
	case PERF_RECORD_KSYMBOL:
		return parse_ksymbol(record, len, out);
	case PERF_RECORD_LOST:
		return parse_lost(record, len, out);
	}
	return false;
}

/* The record at `tail` in one piece; NULL if the ring's contents are invalid. */
static const void *record_at(struct sideband *s, const u8 *data, u64 tail, u64 head, size_t *len)
{
	const size_t ring = s->ring_bytes;
	struct perf_event_header h;

	for (size_t i = 0; i < sizeof(h); i++)
		((u8 *)&h)[i] = data[(tail + i) % ring];
	if (h.size < sizeof(h) || h.size > head - tail)
		return NULL;
	*len = h.size;

	size_t at = tail % ring, first = ring - at < h.size ? ring - at : h.size;
	memcpy(s->record, data + at, first);
	memcpy(s->record + first, data, h.size - first);
	return s->record;
}

static void drain_ring(struct sideband *s, struct side_ring *r, side_event_fn event, void *ctx)
{
	const u8 *data = (const u8 *)r->page + page_size();
	u64 head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	u64 tail = r->page->data_tail;

	while (tail < head) {
		struct side_event e;
		size_t len;
		const void *record = record_at(s, data, tail, head, &len);
		if (!record)
			break;
		if (side_event_parse(record, len, &e))
			event(&e, ctx);
		tail += len;
	}
	__atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
}

int sideband_fd(const struct sideband *s)
{
	return s->epoll_fd;
}

void sideband_drain(struct sideband *s, side_event_fn event, void *ctx)
{
	struct epoll_event ready[16];

	/*
	 * Edge-triggered: takes the pending events, so that the descriptor is readable only on new
	 * ones.
	 */
	while (epoll_wait(s->epoll_fd, ready, ARRAY_SIZE(ready), 0) == ARRAY_SIZE(ready))
		;
	vec_each(r, &s->rings)
		drain_ring(s, r, event, ctx);
}

#define GIVE_BACK_NS (NS_PER_SEC / WAKES_PER_SEC)

static void give_back(struct wakes *w, u64 now_ns)
{
	u64 nr = (now_ns - w->counted_ns) / GIVE_BACK_NS;

	if (nr >= w->nr_taken) {
		w->nr_taken = 0;
		w->counted_ns = now_ns;
	} else {
		w->nr_taken -= (u32)nr;
		w->counted_ns += nr * GIVE_BACK_NS;
	}
}

bool wakes_left(struct wakes *w, u64 now_ns)
{
	give_back(w, now_ns);
	return w->nr_taken < WAKES_BURST;
}

void wakes_take(struct wakes *w, u64 now_ns)
{
	give_back(w, now_ns);
	w->nr_taken++;
}
