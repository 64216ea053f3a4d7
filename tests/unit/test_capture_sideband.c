/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/time.h"
#include "capture/kernel/sideband.h"

struct seen {
	pid_t pid;
	int execs, mmaps, anonymous;
	char path[256];
	struct mapping last;
};

static void see(const struct side_event *e, void *ctx)
{
	struct seen *seen = ctx;

	if (e->pid != seen->pid)
		return;
	if (e->kind == SIDE_EXEC) {
		seen->execs++;
		assert_string_equal(e->comm, "true");
	}
	if (e->kind != SIDE_MMAP)
		return;
	seen->mmaps++;
	seen->anonymous += !e->mapping.path[0];
	seen->last = e->mapping;
	assert_true(strlen(e->mapping.path) < sizeof(seen->path));
	strcpy(seen->path, e->mapping.path);
	assert_true(e->time_ns <= time_mono_ns());
}

static struct sideband *open_or_skip(void)
{
	struct sideband *s;

	if (geteuid() != 0)
		skip_because("perf events take root");
	assert_int_equal(sideband_open(&s), 0);
	return s;
}

static void an_exec_and_its_mappings_are_reported_after_the_process_ended(void **state)
{
	struct sideband *s = open_or_skip();
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	struct seen seen = { .pid = pid };
	sideband_drain(s, see, &seen);
	assert_int_equal(seen.execs, 1);
	assert_true(seen.mmaps >= 3); /* the program, ld.so, libc */
	sideband_close(s);
}

static void memory_made_executable_later_is_reported(void **state)
{
	struct sideband *s = open_or_skip();
	struct seen seen = { .pid = getpid() };
	void *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	sideband_drain(s, see, &seen);
	assert_int_equal(seen.mmaps, 0);
	assert_int_equal(mprotect(code, 8192, PROT_READ | PROT_EXEC), 0);
	sideband_drain(s, see, &seen);
	assert_int_equal(seen.mmaps, 1);
	assert_int_equal(seen.anonymous, 1);
	assert_int_equal(seen.last.start, (uintptr_t)code);
	assert_int_equal(seen.last.end, (uintptr_t)code + 8192);
	munmap(code, 8192);
	sideband_close(s);
}

static void a_mapping_has_its_offset_device_and_inode(void **state)
{
	struct sideband *s = open_or_skip();
	struct seen seen = { .pid = getpid() };
	int fd = open("/proc/self/exe", O_RDONLY);
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
	struct mappings all;

	sideband_drain(s, see, &seen);
	assert_int_equal(mappings_read(getpid(), true, &all), 0);
	const struct mapping *m = mappings_find(&all, (uintptr_t)code);
	assert_non_null(m);
	assert_string_equal(seen.path, m->path);
	assert_int_equal(seen.last.file_off, 4096);
	assert_int_equal(seen.last.inode, m->inode);
	assert_int_equal(seen.last.dev_major, m->dev_major);
	assert_int_equal(seen.last.dev_minor, m->dev_minor);
	mappings_fini(&all);
	munmap(code, 4096);
	close(fd);
	sideband_close(s);
}

static void cut_and_changed(const void *record, size_t size)
{
	struct side_event e;

	for (size_t len = 0; len < size; len++) {
		u8 *cut = xmemdup(record,
				  len); /* a block of its own, in which ASan sees an overrun */
		side_event_parse(cut, len, &e);
		free(cut);
	}
	for (size_t i = 0; i < size; i++) {
		u8 *changed = xmemdup(record, size);
		changed[i] ^= 0xff;
		side_event_parse(changed, size, &e);
		free(changed);
	}
}

/* A record as the kernel writes it, cut to every length and with every byte changed. */
static void malformed_records_are_refused_or_harmless(void **state)
{
	struct {
		struct {
			u32 type;
			u16 misc, size;
		} head;
		u32 pid, tid;
		u64 addr, len, off;
		u32 major, minor;
		u64 inode, generation;
		u32 prot, flags;
		char path[8];
		u32 sample_pid, sample_tid;
		u64 time_ns;
	} record = { .head = { .type = 10, .size = sizeof(record) }, .path = "/a/b.so" };
	struct side_event e;

	assert_true(side_event_parse(&record, sizeof(record), &e));
	assert_string_equal(e.mapping.path, "/a/b.so");
	cut_and_changed(&record, sizeof(record));
	memset(record.path, 'x', sizeof(record.path));
	assert_false(side_event_parse(&record, sizeof(record), &e));
}

static void new_code_of_the_kernel_has_its_place_and_name(void **state)
{
	struct {
		struct {
			u32 type;
			u16 misc, size;
		} head;
		u64 addr;
		u32 len;
		u16 ksym_type, flags;
		char name[16];
		u32 sample_pid, sample_tid;
		u64 time_ns;
	} record = { .head = { .type = 17, .size = sizeof(record) },
		     .addr = 0xffffffffa0001000,
		     .len = 64,
		     .name = "bpf_prog_1_x" };
	struct side_event e;

	assert_true(side_event_parse(&record, sizeof(record), &e));
	assert_int_equal(e.kind, SIDE_CODE);
	assert_int_equal(e.mapping.start, 0xffffffffa0001000);
	assert_int_equal(e.mapping.end, 0xffffffffa0001040);
	assert_string_equal(e.mapping.path, "bpf_prog_1_x");
	cut_and_changed(&record, sizeof(record));
	record.flags = 1; /* PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER */
	assert_false(side_event_parse(&record, sizeof(record), &e));
	record.flags = 0;
	memset(record.name, 'x', sizeof(record.name));
	assert_false(side_event_parse(&record, sizeof(record), &e));
}

static void malformed_names_are_refused_or_harmless(void **state)
{
	struct {
		struct {
			u32 type;
			u16 misc, size;
		} head;
		u32 pid, tid;
		char comm[8];
		u32 sample_pid, sample_tid;
		u64 time_ns;
	} record = { .head = { .type = 3, .misc = 1 << 13, .size = sizeof(record) },
		     .pid = 7,
		     .tid = 7,
		     .comm = "java" };
	struct side_event e;

	assert_true(side_event_parse(&record, sizeof(record), &e));
	assert_int_equal(e.kind, SIDE_EXEC);
	assert_int_equal(e.pid, 7);
	assert_string_equal(e.comm, "java");
	cut_and_changed(&record, sizeof(record));
	memset(record.comm, 'x', sizeof(record.comm));
	assert_false(side_event_parse(&record, sizeof(record), &e));
	memset(record.comm, 0, sizeof(record.comm));
	record.head.misc = 0;
	assert_true(side_event_parse(&record, sizeof(record), &e));
	assert_int_equal(e.kind, SIDE_COMM);
	record.tid++; /* another thread of the process was renamed */
	assert_false(side_event_parse(&record, sizeof(record), &e));
}

static void a_record_of_losses_has_their_number(void **state)
{
	struct {
		struct {
			u32 type;
			u16 misc, size;
		} head;
		u64 id, nr;
		u32 sample_pid, sample_tid;
		u64 time_ns;
	} record = { .head = { .type = 2, .size = sizeof(record) }, .id = 7, .nr = 31 };
	struct side_event e;

	assert_true(side_event_parse(&record, sizeof(record), &e));
	assert_int_equal(e.kind, SIDE_LOST);
	assert_int_equal(e.nr_lost, 31);
	cut_and_changed(&record, sizeof(record));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exec_and_its_mappings_are_reported_after_the_process_ended),
		cmocka_unit_test(memory_made_executable_later_is_reported),
		cmocka_unit_test(a_mapping_has_its_offset_device_and_inode),
		cmocka_unit_test(malformed_records_are_refused_or_harmless),
		cmocka_unit_test(new_code_of_the_kernel_has_its_place_and_name),
		cmocka_unit_test(malformed_names_are_refused_or_harmless),
		cmocka_unit_test(a_record_of_losses_has_their_number),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
