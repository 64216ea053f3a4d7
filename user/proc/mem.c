/* SPDX-License-Identifier: Apache-2.0 */
/* Reads another process's memory with process_vm_readv, /proc/PID/mem or the helper. */
#include "proc/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "proc/blocking.h"
#include "proc/status.h"

#define PAGE_SIZE 4096 /* strings are read page by page, because the next page may be missing */

struct mem {
	struct process_id id;
	uid_t user;
	int pidfd; /* shows that the process has ended even if its PID is reused; -1 without one */
	int fd;    /* /proc/PID/mem, -1 while process_vm_readv works */
	bool by_helper;
	const struct mem_segment *segments; /* used instead of a process */
	size_t nr_segments;
	struct mem_counts counts;
};

static mem_helper_fn helper;
static void *helper_ctx;

void mem_set_helper(mem_helper_fn fn, void *ctx)
{
	helper = fn;
	helper_ctx = ctx;
}

static size_t left_in_page(u64 addr)
{
	return PAGE_SIZE - addr % PAGE_SIZE;
}

/* Reads as many of `len` bytes as possible from the front, page by page. */
static ssize_t read_by_helper(const struct mem *m, u64 addr, void *buf, size_t len)
{
	size_t done = 0;

	while (helper && done < len) {
		struct mem_request pages[MEM_HELPER_REQUESTS];
		size_t nr = 0, asked = 0;
		for (; nr < MEM_HELPER_REQUESTS && done + asked < len; nr++) {
			size_t part = left_in_page(addr + done + asked);
			part = part < len - done - asked ? part : len - done - asked;
			pages[nr] = (struct mem_request){ addr + done + asked,
							  (char *)buf + done + asked, (u32)part,
							  false };
			asked += part;
		}
		if (helper(m->id, pages, nr, helper_ctx))
			break;
		for (size_t i = 0; i < nr; i++) {
			if (!pages[i].ok)
				return done ? (ssize_t)done : -EFAULT;
			done += pages[i].len;
		}
	}
	return done ? (ssize_t)done : -EFAULT;
}

/* Requests within one page are sent many at a time, other requests one by one. */
static int read_batch_by_helper(struct mem *m, struct mem_request *requests, size_t nr)
{
	int nr_ok = 0;

	for (size_t i = 0, group; i < nr; i += group) {
		for (group = 0; group < MEM_HELPER_REQUESTS && i + group < nr; group++)
			if (requests[i + group].len > left_in_page(requests[i + group].addr))
				break;
		if (group && helper) {
			m->counts.calls++;
			helper(m->id, requests + i, group, helper_ctx);
		} else {
			group = 1;
			requests[i].ok =
				!mem_read(m, requests[i].addr, requests[i].buf, requests[i].len);
		}
		for (size_t k = i; k < i + group; k++)
			nr_ok += requests[k].ok;
	}
	return nr_ok;
}

static ssize_t read_segments(const struct mem *m, u64 addr, void *buf, size_t len)
{
	for (size_t i = 0; i < m->nr_segments; i++) {
		const struct mem_segment *s = &m->segments[i];

		if (addr < s->addr || addr - s->addr >= s->len)
			continue;
		size_t left = s->len - (addr - s->addr);
		len = len < left ? len : left;
		memcpy(buf, (const char *)s->bytes + (addr - s->addr), len);
		return (ssize_t)len;
	}
	return -EFAULT;
}

bool mem_has_ended(const struct mem *m)
{
	return m->pidfd >= 0 && syscall(SYS_pidfd_send_signal, m->pidfd, 0, NULL, 0) < 0 &&
	       errno == ESRCH;
}

static int read_error(const struct mem *m, int err)
{
	return err == ESRCH || mem_has_ended(m) ? -ESRCH : -EFAULT;
}

static ssize_t read_fd(const struct mem *m, u64 addr, void *buf, size_t len)
{
	/*
	 * Addresses are offsets in the file; those beyond the sign bit belong to the kernel anyway.
	 */
	ssize_t n = addr > INT64_MAX ? -1 : pread(m->fd, buf, len, (off_t)addr);

	return n > 0 ? n : read_error(m, 0);
}

static struct mem_job *new_job(const struct mem *m)
{
	struct mem_job *job = mem_reader_job();

	job->id = m->id;
	job->user = m->user;
	job->nr = 0;
	return job;
}

/* Reads as much as possible from the front. */
static ssize_t read_process(const struct mem *m, u64 addr, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		struct mem_job *job = new_job(m);
		size_t part = len - done < MEM_READER_BYTES ? len - done : MEM_READER_BYTES;

		job->pieces[job->nr++] = (struct mem_piece){ addr + done, part };
		ssize_t n = mem_reader_run();
		if (n <= 0)
			return done ? (ssize_t)done : n;
		memcpy((char *)buf + done, job->bytes, (size_t)n);
		done += (size_t)n;
		if ((size_t)n < part)
			break;
	}
	return (ssize_t)done;
}

ssize_t mem_read_some(struct mem *m, u64 addr, void *buf, size_t len)
{
	ssize_t n;

	m->counts.calls++;
	if (!m->segments && excluded_touch(m->id.pid))
		return -EFAULT;
	if (m->segments) {
		n = read_segments(m, addr, buf, len);
	} else if (m->by_helper) {
		n = read_by_helper(m, addr, buf, len);
		n = n > 0 ? n : read_error(m, 0);
	} else if (m->fd >= 0) {
		n = read_fd(m, addr, buf, len);
	} else {
		n = read_process(m, addr, buf, len);
		n = n > 0 ? n : read_error(m, (int)-n);
	}
	m->counts.bytes += n > 0 ? (u64)n : 0;
	m->counts.failures += n < (ssize_t)len;
	return n;
}

int mem_read(struct mem *m, u64 addr, void *buf, size_t len)
{
	ssize_t n = len ? mem_read_some(m, addr, buf, len) : 0;

	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : -EFAULT;
}

int mem_read_string(struct mem *m, u64 addr, char *buf, size_t size)
{
	size_t len = 0;

	while (len < size) {
		size_t part = PAGE_SIZE - (addr + len) % PAGE_SIZE;
		part = part < size - len ? part : size - len;
		part = part < 64 ? part : 64; /* most strings are short */
		int err = mem_read(m, addr + len, buf + len, part);
		if (err)
			return err;
		if (memchr(buf + len, '\0', part))
			return 0;
		len += part;
	}
	return -ENAMETOOLONG;
}

/*
 * process_vm_readv stops at the first request that faults and may have read a part of it. The
 * requests before it are ok. That request is not ok, and the following ones are left for the next
 * call.
 */
static size_t read_group(struct mem *m, struct mem_request *r, size_t nr, int *nr_ok)
{
	struct mem_job *job = new_job(m);
	size_t done = 0, bytes = 0;

	for (; job->nr < nr && bytes + r[job->nr].len <= MEM_READER_BYTES; job->nr++) {
		job->pieces[job->nr] = (struct mem_piece){ r[job->nr].addr, r[job->nr].len };
		bytes += r[job->nr].len;
		r[job->nr].ok = false;
	}
	nr = job->nr;
	if (!nr) { /* larger than a job */
		r->ok = !mem_read(m, r->addr, r->buf, r->len);
		*nr_ok += r->ok;
		return 1;
	}
	ssize_t left = mem_reader_run();
	const char *at = job->bytes;
	m->counts.calls++;
	m->counts.bytes += left > 0 ? (u64)left : 0;
	for (; done < nr && left >= (ssize_t)r[done].len; done++) {
		memcpy(r[done].buf, at, r[done].len);
		at += r[done].len;
		left -= r[done].len;
		r[done].ok = true;
		++*nr_ok;
	}
	if (done == nr)
		return nr;
	m->counts.failures++;
	return done + 1;
}

int mem_read_batch(struct mem *m, struct mem_request *requests, size_t nr)
{
	int nr_ok = 0;
	if (m->by_helper) {
		nr_ok = read_batch_by_helper(m, requests, nr);
	} else if (m->segments || m->fd >= 0) {
		for (size_t i = 0; i < nr; i++) {
			requests[i].ok =
				!mem_read(m, requests[i].addr, requests[i].buf, requests[i].len);
			nr_ok += requests[i].ok;
		}
	} else {
		for (size_t i = 0; i < nr;) {
			size_t left = nr - i;
			size_t group = left < MEM_READER_PIECES ? left : MEM_READER_PIECES;
			size_t done = read_group(m, requests + i, group, &nr_ok);

			if (done < group && mem_has_ended(m))
				return -ESRCH;
			i += done;
		}
	}
	return nr_ok || !nr || !mem_has_ended(m) ? nr_ok : -ESRCH;
}

/* process_vm_readv may be filtered (seccomp) or not built in while /proc/PID/mem works. */
static int choose_way(struct mem *m)
{
	char path[32], probe;
	ssize_t n = read_process(m, 0, &probe, 1);

	if (n >= 0 || n == -EFAULT || n == -ETIMEDOUT)
		return 0;
	if (n == -ESRCH)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%d/mem", m->id.pid);
	m->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (m->fd >= 0)
		return 0;
	m->by_helper = helper && (errno == EACCES || errno == EPERM);
	if (m->by_helper)
		return 0;
	return errno == ENOENT ? -ESRCH : errno == EACCES ? -EPERM : -errno;
}

AUTO_DEFINE(mem, struct mem *, mem_free)
#define auto_mem __attribute__((cleanup(auto_mem_run)))

int mem_open(struct process_id id, struct mem **out)
{
	auto_mem struct mem *m = xcalloc(1, sizeof(*m));
	struct proc_status status;
	int err = excluded_touch(id.pid);

	if (err)
		return err;
	m->id = id;
	m->fd = -1;
	m->pidfd = (int)syscall(SYS_pidfd_open, id.pid, 0);
	if (m->pidfd < 0 && errno == ESRCH)
		return -ESRCH;
	err = proc_status_read(id.pid, &status);
	if (err)
		return err;
	if (id.start_ns && !process_id_same(proc_status_id(&status), id))
		return -ESRCH;
	m->user = status.uid;
	err = choose_way(m);
	if (err)
		return err;
	*out = take(m);
	return 0;
}

struct mem *mem_of_segments(const struct mem_segment *segments, size_t nr)
{
	struct mem *m = xcalloc(1, sizeof(*m));

	m->fd = m->pidfd = -1;
	m->segments = segments;
	m->nr_segments = nr;
	return m;
}

void mem_free(struct mem *m)
{
	if (!m)
		return;
	if (m->fd >= 0)
		close(m->fd);
	if (m->pidfd >= 0)
		close(m->pidfd);
	free(m);
}

struct mem_counts mem_counts(const struct mem *m)
{
	return m->counts;
}
