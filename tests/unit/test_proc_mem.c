/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the memory of a child process. */
#include <dlfcn.h>
#include <errno.h>
#include <libelf.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf/image.h"
#include "proc/mapping.h"
#include "proc/mem.h"
#include "proc/status.h"
#include "test.h"

#define PAGE 4096

/* Three pages; the middle one is unreadable. */
static char *pages;
static pid_t child;
static struct mem *m;

static int set_up(void **state)
{
	pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	strcpy(pages, "first");
	memset(pages + PAGE - 4, 'x', 4);
	strcpy(pages + 2 * PAGE, "third");
	mprotect(pages + PAGE, PAGE, PROT_NONE);
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	return mem_open((struct process_id){ child, 0 }, &m);
}

static int tear_down(void **state)
{
	mem_free(m);
	m = NULL;
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	munmap(pages, 3 * PAGE);
	return 0;
}

static u64 addr(const void *p)
{
	return (u64)(uintptr_t)p;
}

static void readable_memory_is_read_and_the_rest_is_an_error(void **state)
{
	char buf[8];

	assert_int_equal(mem_read(m, addr(pages), buf, 6), 0);
	assert_string_equal(buf, "first");
	assert_int_equal(mem_read(m, addr(pages) + PAGE, buf, 1), -EFAULT);
	assert_int_equal(mem_read(m, addr(pages) + PAGE - 4, buf, 8), -EFAULT);
	assert_int_equal(mem_read_some(m, addr(pages) + PAGE - 4, buf, 8), 4);
	assert_int_equal(mem_read(m, 0, buf, 8), -EFAULT);
	assert_int_equal(mem_read(m, ~0ull - 3, buf, 8), -EFAULT);
	assert_int_equal(mem_counts(m).failures, 5);
}

static void a_batch_continues_after_an_unreadable_request(void **state)
{
	char a[6], b[6], c[6];
	struct mem_request requests[] = {
		{ addr(pages), a, 6, false },
		{ addr(pages) + PAGE, b, 6, false },
		{ addr(pages) + 2 * PAGE, c, 6, false },
	};

	assert_int_equal(mem_read_batch(m, requests, 3), 2);
	assert_true(requests[0].ok && !requests[1].ok && requests[2].ok);
	assert_string_equal(a, "first");
	assert_string_equal(c, "third");
}

static void strings_end_within_their_limit(void **state)
{
	char buf[16];

	assert_int_equal(mem_read_string(m, addr(pages), buf, sizeof(buf)), 0);
	assert_string_equal(buf, "first");
	assert_int_equal(mem_read_string(m, addr(pages), buf, 5), -ENAMETOOLONG);
	assert_int_equal(mem_read_string(m, addr(pages) + PAGE - 4, buf, sizeof(buf)), -EFAULT);
}

static void a_process_that_ended_is_gone(void **state)
{
	char buf[6];
	struct mem_request request = { addr(pages), buf, 6, false };

	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(mem_read(m, addr(pages), buf, 6), -ESRCH);
	assert_int_equal(mem_read_batch(m, &request, 1), -ESRCH);
	assert_int_equal(mem_read_string(m, addr(pages), buf, 6), -ESRCH);
	struct mem *other = NULL;
	assert_int_equal(mem_open((struct process_id){ child, 0 }, &other), -ESRCH);
	child = 0;
}

static void another_start_is_another_process(void **state)
{
	struct proc_status status;
	struct mem *other = NULL;

	assert_int_equal(proc_status_read(child, &status), 0);
	assert_int_equal(
		mem_open((struct process_id){ child, status.start_ns + PROC_TICK_NS }, &other),
		-ESRCH);
	assert_int_equal(mem_open((struct process_id){ child, status.start_ns + 3 }, &other), 0);
	mem_free(other);
}

static int read_for_image(void *ctx, u64 at, void *buf, size_t len)
{
	return mem_read(ctx, at, buf, len);
}

static u64 base_of(const char *name)
{
	struct mappings all = { 0 };
	u64 base = 0;

	assert_int_equal(mappings_read(child, false, &all), 0);
	for (size_t i = 0; i < all.nr && !base; i++)
		if (strstr(all.at[i].path, name) && !all.at[i].file_off)
			base = all.at[i].start;
	mappings_fini(&all);
	assert_true(base);
	return base;
}

/* The child is a fork: its libraries are at our addresses. */
static void symbols_of_an_image_in_memory_agree_with_the_linker(void **state)
{
	const struct image_memory memory = { read_for_image, m };
	struct image img;
	u64 found;

	elf_version(EV_CURRENT); /* so that the library is linked */
	assert_int_equal(image_read(memory, base_of("libelf"), &img), 0);
	assert_int_equal(image_find_symbol(&img, "elf_begin", &found), 0);
	assert_int_equal(found, addr(dlsym(RTLD_DEFAULT, "elf_begin")));
	assert_int_equal(image_find_symbol(&img, "elf_begin_not", &found), -ENOENT);
	assert_int_equal(image_find_symbol(&img, "malloc", &found),
			 -ENOENT); /* an imported symbol */
	assert_int_equal(img.build_id_len, 20);
	assert_int_equal(image_read(memory, addr(pages), &img), -ENOEXEC);
	assert_int_equal(image_read(memory, addr(pages) + PAGE, &img), -EFAULT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#define HELPED_START 0x10000
#define HELPED_BYTES (3 * 4096)

static u8 helped_byte(u64 addr)
{
	return (u8)(addr * 7 >> 3);
}

/* A helper whose process has three pages, filled by helped_byte. */
static int help(struct process_id id, struct mem_request *r, size_t nr, void *ctx)
{
	for (size_t i = 0; i < nr; i++) {
		assert_true(r[i].addr / 4096 == (r[i].addr + r[i].len - 1) / 4096);
		r[i].ok = r[i].addr >= HELPED_START &&
			  r[i].addr + r[i].len <= HELPED_START + HELPED_BYTES;
		for (u32 k = 0; r[i].ok && k < r[i].len; k++)
			((u8 *)r[i].buf)[k] = helped_byte(r[i].addr + k);
	}
	return nr <= MEM_HELPER_REQUESTS ? 0 : -EINVAL;
}

static bool is_helped(u64 addr, const u8 *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] != helped_byte(addr + i))
			return false;
	return true;
}

/* Runs in a child that has no right to read its parent. Returns its exit status. */
static int read_with_help(void)
{
	static u8 bytes[HELPED_BYTES], more[2][64];
	const u64 start = HELPED_START;
	struct mem_request batch[] = {
		{ start, more[0], 64, false },
		{ start + 4096 - 8, more[1], 64, false },
		{ start + HELPED_BYTES, bytes, 8, true },
	};
	struct mem *m;

	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		return 1;
	if (mem_open((struct process_id){ getppid(), 0 }, &m) != -EPERM)
		return 2;
	mem_set_helper(help, NULL);
	if (mem_open((struct process_id){ getppid(), 0 }, &m) ||
	    mem_read(m, start + 5, bytes, 9000) || !is_helped(start + 5, bytes, 9000))
		return 3;
	if (mem_read_some(m, start + 8000, bytes, 8000) != HELPED_BYTES - 8000)
		return 4;
	if (mem_read_batch(m, batch, 3) != 2 || batch[2].ok || !is_helped(start, more[0], 64) ||
	    !is_helped(start + 4096 - 8, more[1], 64))
		return 5;
	mem_set_helper(NULL, NULL);
	if (mem_read(m, start, bytes, 8) != -EFAULT)
		return 6;
	mem_free(m);
	return 0;
}

static void the_helper_reads_memory_that_we_may_not_read(void **state)
{
	int status;

	if (geteuid())
		skip_because("another user takes root");
	pid_t child = fork();
	if (!child)
		_exit(read_with_help());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The first child of that process with the name of the processes that read; 0 without one. */
static pid_t reading_child(pid_t parent)
{
	char path[64], name[32];
	int pid, found = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	while (!found && fscanf(f, "%d", &pid) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		FILE *comm = fopen(path, "re");
		if (comm && fscanf(comm, "%31s", name) == 1 && !strcmp(name, "sysflame-memory"))
			found = pid;
		if (comm)
			fclose(comm);
	}
	fclose(f);
	return found;
}

/* A process whose parent has ended may stay a zombie. */
static bool has_ended(pid_t pid)
{
	char path[64], state = 'X';

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *f = fopen(path, "re");
	if (f && fscanf(f, "%*d %*s %c", &state) != 1)
		state = 'X';
	if (f)
		fclose(f);
	return state == 'X' || state == 'Z';
}

static void wait_for_end(pid_t pid)
{
	for (int i = 0; !has_ended(pid); i++) {
		assert_true(i < 6000);
		usleep(10000);
	}
}

/* Reads so that there is a process that reads; returns the one that forks it. */
static pid_t read_apart(pid_t *reader)
{
	char buf[6];

	assert_int_equal(mem_read_apart(), 0);
	assert_int_equal(mem_read(m, addr(pages), buf, 6), 0);
	assert_string_equal(buf, "first");
	pid_t forker = reading_child(getpid());
	assert_true(forker);
	*reader = reading_child(forker);
	assert_true(*reader);
	return forker;
}

static void a_killed_reader_is_replaced(void **state)
{
	char buf[6];
	pid_t reader, forker = read_apart(&reader);

	kill(reader, SIGKILL);
	wait_for_end(reader);
	assert_int_equal(mem_read(m, addr(pages) + 2 * PAGE, buf, 6), 0);
	assert_string_equal(buf, "third");
	pid_t next = reading_child(forker);
	assert_true(next && next != reader);
	assert_int_equal(mem_left_out()->nr, 0);
	assert_int_equal(mem_reader_nr_direct(), 0);
}

static void the_time_of_readers_counts(void **state)
{
	char buf[6];
	pid_t reader;

	read_apart(&reader);
	for (u64 before = mem_readers_worked_ns(); mem_readers_worked_ns() <= before;)
		assert_int_equal(mem_read(m, addr(pages), buf, 6), 0);
}

/* Its answer comes after the read for which it was asked. */
static void a_late_reader_serves_later_reads(void **state)
{
	char buf[6];
	pid_t reader, forker = read_apart(&reader);

	kill(forker, SIGSTOP);
	kill(reader, SIGKILL);
	wait_for_end(reader);
	assert_int_equal(mem_read(m, addr(pages), buf, 6), -EFAULT);
	assert_int_equal(mem_read(m, addr(pages), buf, 6), -EFAULT);
	kill(forker, SIGCONT);
	for (int i = 0; mem_read(m, addr(pages) + 2 * PAGE, buf, 6); i++) {
		assert_true(i < 6000);
		usleep(10000);
	}
	assert_string_equal(buf, "third");
	assert_int_equal(mem_read(m, addr(pages), buf, 6), 0);
	assert_string_equal(buf, "first");
	assert_int_equal(mem_left_out()->nr, 0);
	assert_int_equal(mem_reader_nr_direct(), 0);
}

/* A compromised recorder may write anything into a job. */
static void a_job_that_does_not_fit_is_refused(void **state)
{
	char buf[6];
	pid_t reader, forker = read_apart(&reader);
	struct mem_job *job = mem_reader_job();

	job->id.pid = child;
	job->nr = 1000000;
	assert_int_equal(mem_reader_run(), -EINVAL);
	job = mem_reader_job();
	job->nr = 2;
	job->pieces[0] = (struct mem_piece){ addr(pages), 1 };
	job->pieces[1] = (struct mem_piece){ addr(pages), MEM_READER_BYTES };
	assert_int_equal(mem_reader_run(), -EINVAL);
	job = mem_reader_job();
	job->pieces[0].len = ~0ull;
	assert_int_equal(mem_reader_run(), -EINVAL);
	assert_int_equal(mem_read(m, addr(pages), buf, 6), 0);
	assert_int_equal(reading_child(forker), reader);
}

/* The last one: this process then reads itself. */
static void a_killed_forker_does_not_stop_reading(void **state)
{
	static const int of_terminal[] = { SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGTERM };
	char buf[6];
	pid_t reader, forker = read_apart(&reader);

	for (size_t i = 0; i < ARRAY_SIZE(of_terminal); i++) {
		kill(forker, of_terminal[i]);
		kill(reader, of_terminal[i]);
	}
	assert_int_equal(mem_read(m, addr(pages), buf, 6), 0);
	assert_int_equal(mem_reader_nr_direct(), 0);
	kill(forker, SIGKILL);
	assert_int_equal(waitpid(forker, NULL, 0), forker);
	wait_for_end(reader);
	assert_int_equal(mem_read(m, addr(pages) + 2 * PAGE, buf, 6), 0);
	assert_string_equal(buf, "third");
	assert_int_equal(mem_read(m, addr(pages), buf, 6), 0);
	assert_int_equal(mem_left_out()->nr, 0);
	assert_int_equal(mem_reader_nr_direct(), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_helper_reads_memory_that_we_may_not_read),
		TEST(readable_memory_is_read_and_the_rest_is_an_error),
		TEST(a_batch_continues_after_an_unreadable_request),
		TEST(strings_end_within_their_limit),
		TEST(a_process_that_ended_is_gone),
		TEST(another_start_is_another_process),
		TEST(symbols_of_an_image_in_memory_agree_with_the_linker),
		TEST(a_killed_reader_is_replaced),
		TEST(the_time_of_readers_counts),
		TEST(a_late_reader_serves_later_reads),
		TEST(a_job_that_does_not_fit_is_refused),
		TEST(a_killed_forker_does_not_stop_reading),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
