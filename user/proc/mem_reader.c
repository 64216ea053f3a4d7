/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that make the calls by which other processes' memory is read. Such a call waits for
 * pages that are not in memory, and a process can own pages that never arrive (userfaultfd, FUSE).
 * Not even SIGKILL ends the wait for a FUSE server. The caller therefore waits with a deadline and
 * then abandons the reading process. A reading process that was killed is replaced. If no further
 * process can be forked, the caller itself reads, without a deadline. Part of proc/mem.h.
 */
#include "proc/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "base/vec.h"
#include "proc/blocking.h"
#include "sandbox/rights.h"

#define QUICK_NS (2 * NS_PER_MS)  /* a call that takes less is not examined */
#define LOOK_NS  (10 * NS_PER_MS) /* between examinations of a slow call */
#define DEADLINE_NS                                                                  \
	(100 * NS_PER_MS) /* a call that takes longer is abandoned, with its process \
			   */
#define LEFT_MAX  32      /* most abandoned processes; beyond, nothing is read */
#define ANSWER_MS 2000
#define NAME      "sysflame-memory"

enum reader_state {
	IDLE,
	ASKED,
	DONE,
	LEFT,     /* abandoned, with its call */
	RETURNED, /* the reader has returned from a call that was abandoned */
};

struct reader {
	pid_t pid;
	u32 state; /* enum reader_state; a futex */
	ssize_t result;
	struct mem_job job;
};

enum outcome {
	ANSWERED,
	TOO_LATE, /* the reader was abandoned */
	DIED,     /* the reader was killed */
};

/* State of the only thread that reads memory. */
struct readers {
	struct reader *slots; /* LEFT_MAX + 1, shared with the readers; NULL: reads are direct */
	struct reader *alone; /* the job of direct reads */
	struct reader *idle;  /* reader for the next call */
	int cpu;              /* where `idle` runs; -1: anywhere */
	struct reader *asked; /* its process was requested and has not started yet */
	int sock; /* to the process that forks readers: sends a slot, receives a PID; -1: it has
		     ended */
	u32 nr_left;
	struct slow_users users;
	struct mem_left_out left_out;
	u64 nr_direct;
};

static struct readers readers;

static void futex_wait(u32 *at, u32 value, const struct timespec *timeout)
{
	syscall(SYS_futex, at, FUTEX_WAIT, value, timeout, NULL, 0);
}

static void wake(struct reader *r)
{
	syscall(SYS_futex, &r->state, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static u32 state_of(const struct reader *r)
{
	return __atomic_load_n(&r->state, __ATOMIC_SEQ_CST);
}

static void set_state(struct reader *r, u32 state)
{
	__atomic_store_n(&r->state, state, __ATOMIC_SEQ_CST);
}

static bool change_state(struct reader *r, u32 from, u32 to)
{
	return __atomic_compare_exchange_n(&r->state, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

/* A compromised recorder can change the shared job at any moment: each field is read once. */
static ssize_t read_pieces(struct mem_job *job)
{
	struct iovec local[MEM_READER_PIECES], remote[MEM_READER_PIECES];
	const size_t nr = __atomic_load_n(&job->nr, __ATOMIC_RELAXED);
	size_t used = 0;

	if (nr > MEM_READER_PIECES)
		return -EINVAL;
	for (size_t i = 0; i < nr; i++) {
		u64 addr = __atomic_load_n(&job->pieces[i].addr, __ATOMIC_RELAXED);
		u64 len = __atomic_load_n(&job->pieces[i].len, __ATOMIC_RELAXED);
		if (len > MEM_READER_BYTES - used)
			return -EINVAL;
		local[i] = (struct iovec){ job->bytes + used, len };
		remote[i] = (struct iovec){ (void *)(uintptr_t)addr, len };
		used += len;
	}
	ssize_t n = process_vm_readv(job->id.pid, local, nr, remote, nr, 0);
	return n < 0 ? -errno : n;
}

/* The reader closes the socket, so that the recorder sees it closed as soon as the forker ends. */
static void run_reader(struct reader *r, int sock, pid_t parent)
{
	close(sock);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	for (;;) {
		for (u32 state; (state = state_of(r)) != ASKED;)
			futex_wait(&r->state, state, NULL);
		r->result = read_pieces(&r->job);
		if (!change_state(r, ASKED, DONE)) {
			change_state(r, LEFT, RETURNED);
			_exit(0);
		}
		wake(r);
	}
}

/* An abandoned process must not hold a pipe or a terminal open. */
static void keep_only(int sock)
{
	int in = open("/dev/null", O_RDONLY), out = open("/dev/null", O_WRONLY);

	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	if (sock != 3)
		dup2(sock, 3);
	close_range(4, ~0u, 0);
}

/* The recorder handles these signals; this process ends when the recorder does. */
static void ignore_signals(void)
{
	static const int ignored[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGTSTP,
				       SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2 };

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_IGN); /* the kernel reaps the readers */
}

/* Forks a reader for each slot number that arrives. */
static void run_forker(struct reader *slots, int sock, pid_t parent)
{
	const pid_t own = getpid();
	u32 slot;

	prctl(PR_SET_NAME, NAME);
	keep_only(sock);
	/*
	 * A call is short, and the recorder waits for it. Among many busy programs each call would
	 * otherwise wait for a CPU: beside six loops on two CPUs a recording began 320 ms after its
	 * start, not 272 ms.
	 */
	precedence_take();
	ignore_signals();
	if (privileges_keep(PRIVILEGED_MEMORY, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL) ||
	    getppid() != parent)
		_exit(1);
	call_filter_load(PRIVILEGED_MEMORY);
	while (recv(3, &slot, sizeof(slot), 0) == sizeof(slot)) {
		pid_t pid = slot <= LEFT_MAX ? fork() : -1;
		if (!pid)
			run_reader(&slots[slot], 3, own);
		if (send(3, &pid, sizeof(pid), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

/* A child of the program shares the slots with it and must not use them. */
static void enter_child(void)
{
	readers.idle = readers.asked = NULL;
	readers.alone = NULL;
	readers.slots = NULL;
	readers.nr_left = 0;
}

int mem_read_apart(void)
{
	size_t size = (LEFT_MAX + 1) * sizeof(struct reader);
	pid_t parent = getpid();
	int pair[2];

	if (readers.slots)
		return 0;
	struct reader *slots =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (slots == MAP_FAILED)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid_t pid = fork();
	if (!pid)
		run_forker(slots, pair[1], parent);
	close(pair[1]);
	if (pid < 0 || pthread_atfork(NULL, NULL, enter_child)) {
		close(pair[0]);
		munmap(slots, size);
		return -EAGAIN;
	}
	readers.slots = slots;
	readers.sock = pair[0];
	readers.idle = readers.asked = NULL;
	return 0;
}

static void lose_forker(void)
{
	close(readers.sock);
	readers.sock = -1;
	readers.asked = NULL;
}

/*
 * Gets a process for the slot, or for the slot of an unanswered request: answers would otherwise be
 * mixed up. NULL if it does not start in time or cannot be forked.
 */
static struct reader *start_reader(struct reader *r)
{
	int timeout_ms = readers.asked ? 0 : ANSWER_MS, nr;
	u32 slot = (u32)(r - readers.slots);
	pid_t pid;

	if (readers.sock < 0)
		return NULL;
	if (!readers.asked && send(readers.sock, &slot, sizeof(slot), MSG_NOSIGNAL) < 0) {
		lose_forker();
		return NULL;
	}
	r = readers.asked = readers.asked ?: r;
	do
		nr = poll(&(struct pollfd){ readers.sock, POLLIN, 0 }, 1, timeout_ms);
	while (nr < 0 && errno == EINTR);
	if (nr != 1)
		return NULL;
	if (recv(readers.sock, &pid, sizeof(pid), 0) != sizeof(pid)) {
		lose_forker();
		return NULL;
	}
	readers.asked = NULL;
	if (pid < 0)
		return NULL;
	readers.cpu = -1;
	r->pid = pid;
	set_state(r, DONE);
	return r;
}

/* A free slot with a process, or NULL. */
static struct reader *new_reader(void)
{
	for (u32 i = 0; i <= LEFT_MAX; i++)
		if (state_of(&readers.slots[i]) == IDLE)
			return start_reader(&readers.slots[i]);
	return NULL;
}

struct mem_job *mem_reader_job(void)
{
	if (!readers.idle && readers.slots)
		readers.idle = new_reader();
	if (readers.idle)
		return &readers.idle->job;
	if (!readers.alone)
		readers.alone = xcalloc(1, sizeof(*readers.alone));
	return &readers.alone->job;
}

/* Reclaims readers whose abandoned calls have returned. Their processes can then be read again. */
static void free_returned(void)
{
	for (u32 i = 0; i <= LEFT_MAX; i++) {
		if (state_of(&readers.slots[i]) != RETURNED)
			continue;
		set_state(&readers.slots[i], IDLE);
		readers.nr_left--;
	}
}

static bool is_left_out(const struct mem_job *job)
{
	if (!readers.users.all.nr || !readers.slots) /* no call was ever slow */
		return false;
	free_returned();
	if (readers.nr_left == LEFT_MAX || slow_users_is_over(&readers.users, job->user))
		return true;
	for (u32 i = 0; i <= LEFT_MAX; i++)
		if (state_of(&readers.slots[i]) == LEFT &&
		    process_id_same(readers.slots[i].job.id, job->id))
			return true;
	return false;
}

enum activity {
	RUNS, /* the reader may also wait for a CPU */
	WAITS,
	IS_GONE,
};

/* Finds out what the reader does. If the PID has another name by now, it was reused. */
static enum activity activity_of(const struct reader *r)
{
	char path[64], text[512];

	if (kill(r->pid, 0) && errno == ESRCH)
		return IS_GONE;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)r->pid);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return WAITS;
	text[len] = '\0';
	const char *end = strrchr(text, ')');
	if (!strstr(text, "(" NAME ")") || !end || !end[1])
		return IS_GONE;
	return end[2] == 'R' ? RUNS : end[2] == 'Z' || end[2] == 'X' ? IS_GONE : WAITS;
}

static void leave_behind(struct reader *r)
{
	readers.left_out.nr++;
	readers.left_out.last = r->job.id;
	readers.left_out.user = r->job.user;
	readers.left_out.reader = r->pid;
	readers.nr_left++;
	readers.idle = NULL;
}

static enum outcome wait_for_slow(struct reader *r)
{
	const struct timespec step = { 0, LOOK_NS };
	u64 start_ns = time_mono_ns() - QUICK_NS, ns = QUICK_NS;
	bool was_blocked = false;

	do {
		bool is_late = ns >= DEADLINE_NS || slow_users_is_over(&readers.users, r->job.user);
		enum activity activity = activity_of(r);
		was_blocked = activity == WAITS;
		if (activity == IS_GONE && change_state(r, ASKED, IDLE))
			return DIED;
		if (is_late && was_blocked && change_state(r, ASKED, LEFT)) {
			slow_users_charge(&readers.users, r->job.user, ns);
			leave_behind(r);
			return TOO_LATE;
		}
		futex_wait(&r->state, ASKED, &step);
		ns = time_mono_ns() - start_ns;
	} while (state_of(r) == ASKED);
	if (was_blocked)
		slow_users_charge(&readers.users, r->job.user, ns);
	return ANSWERED;
}

/*
 * Keeps the reader on the CPU of this thread, so that waking it is a switch of threads. To wake a
 * thread of another, idle CPU takes ten times as long, and this thread would have to spin
 * meanwhile.
 */
static void keep_near(const struct reader *r)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	if (cpu == readers.cpu || cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (!sched_setaffinity(r->pid, sizeof(one), &one))
		readers.cpu = cpu;
}

static enum outcome run_in(struct reader *r)
{
	const struct timespec quick = { 0, QUICK_NS };

	keep_near(r);
	set_state(r, ASKED);
	wake(r);
	futex_wait(&r->state, ASKED, &quick);
	return state_of(r) == ASKED ? wait_for_slow(r) : ANSWERED;
}

/*
 * Reads in this process, if no reader can be had. While one is still starting, the read fails
 * instead: it could block.
 */
static ssize_t read_directly(struct mem_job *job)
{
	if (readers.slots && readers.sock >= 0 && (readers.asked || readers.nr_left))
		return -ETIMEDOUT;
	if (is_left_out(job))
		return -ETIMEDOUT;
	readers.nr_direct += readers.slots != NULL;
	return read_pieces(job);
}

ssize_t mem_reader_run(void)
{
	struct reader *r = readers.idle;

	if (!r)
		return read_directly(&readers.alone->job);
	if (is_left_out(&r->job))
		return -ETIMEDOUT;
	enum outcome outcome = run_in(r);
	if (outcome == DIED) { /* not the target's fault: try again, the job is still in the slot */
		readers.idle = start_reader(r);
		if (!readers.idle)
			return read_directly(&r->job);
		outcome = run_in(r);
	}
	if (outcome == DIED)
		readers.idle = NULL;
	return outcome == ANSWERED ? r->result : -ETIMEDOUT;
}

bool mem_reader_has_ended(void)
{
	struct pollfd polled = { readers.sock, 0, 0 };

	if (!readers.slots)
		return false;
	return readers.sock < 0 ||
	       (poll(&polled, 1, 0) == 1 && polled.revents & (POLLHUP | POLLERR));
}

u64 mem_reader_nr_direct(void)
{
	return readers.nr_direct;
}

const struct mem_left_out *mem_left_out(void)
{
	return &readers.left_out;
}

u64 mem_readers_worked_ns(void)
{
	u64 sum = 0;

	for (u32 i = 0; readers.slots && i <= LEFT_MAX; i++) {
		const struct reader *r = &readers.slots[i];
		u32 state = state_of(r);
		if (state != IDLE && state != RETURNED)
			sum += time_process_ns(r->pid);
	}
	return sum;
}
