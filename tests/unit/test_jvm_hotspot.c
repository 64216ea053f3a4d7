/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a live JVM from outside. Its threads wait in known call shapes, and every frame is compared
 * with the JVM's own report. JDK=N: one of tests/jvm/jdks instead of the host's; JVM_FLAGS:
 * additional flags for it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/time.h"
#include "base/vec.h"
#include "java.h"
#include "jvm/hotspot/hotspot.h"
#include "jvm/hotspot/hotspot_private.h"
#include "proc/mem.h"
#include "test.h"

#define LINE_MAX_LEN 1024
#define STACK_MAX    64
#define THREAD_MAX   16

/* A frame, from the JVM's report or from our reader. */
struct truth {
	char thread[THREAD_MAX];
	char class[256], method[256];
	u32 line;
};

struct world {
	pid_t child, pid; /* the process we started; the JVM */
	FILE *out;
	struct {
		struct truth *at;
		size_t nr, cap;
	} truth;
	struct hotspot *h;
	struct mem *mem;
};

static struct world world;

static void exec_java(int out)
{
	const char *flags = getenv("JVM_FLAGS");
	char args[512];

	snprintf(args, sizeof(args),
		 "-XX:+UnlockDiagnosticVMOptions -XX:+ShowHiddenFrames %s Names",
		 flags ? flags : "");
	java_exec(out, args);
}

static int start_jvm(void **state)
{
	char line[LINE_MAX_LEN] = "nothing";
	int ends[2];

	if (pipe(ends))
		return -1;
	world.child = fork();
	if (!world.child)
		exec_java(ends[1]);
	close(ends[1]);
	world.out = fdopen(ends[0], "re");
	while (fgets(line, sizeof(line), world.out) && strcmp(line, "ready\n") != 0) {
		struct truth t = { 0 };
		if (sscanf(line, "frame %15s %255s %255s %u", t.thread, t.class, t.method,
			   &t.line) != 4)
			continue;
		t.class[strcspn(t.class, "/")] = '\0';  /* a hidden class's address */
		t.line = t.line < 1000000 ? t.line : 0; /* JDK 8 adds a bci: no line table */
		vec_push(&world.truth, t);
	}
	if (strcmp(line, "ready\n") != 0) {
		print_error("the JVM did not get ready; it last said: %s\n", line);
		return -1;
	}
	world.pid = java_pid(world.child);
	if (mem_open((struct process_id){ world.pid, 0 }, &world.mem) ||
	    hotspot_open((struct process_id){ world.pid, 0 }, &world.h)) {
		print_error("cannot read the JVM %d\n", world.pid);
		return -1;
	}
	return 0;
}

static void stop_child(void)
{
	if (world.child > 0) {
		java_end(world.child);
	}
	while (world.pid > 0 && kill(world.pid, 0) == 0) /* unshare's child ends after it */
		usleep(1000);
	world.child = world.pid = 0;
}

static int stop_jvm(void **state)
{
	hotspot_free(world.h);
	mem_free(world.mem);
	vec_fini(&world.truth);
	stop_child();
	if (world.out)
		fclose(world.out);
	return 0;
}

static u64 read_word(u64 addr)
{
	u64 value = 0;

	assert_int_equal(mem_read_u64(world.mem, addr, &value), 0);
	return value;
}

/* The registers of a Java frame of a thread that is not running Java code. */
struct registers {
	u64 pc, sp, fp;
};

static struct registers last_java_frame(u64 anchor)
{
	struct registers r = { .sp = read_word(anchor),
			       .pc = read_word(anchor + 8),
			       .fp = read_word(anchor + 16) };

	if (!r.pc)
		r.pc = read_word(r.sp - 8);
	return r;
}

struct blob_search {
	u64 pc, blob;
	int frame_size;
	bool is_nmethod;
};

static int find_frame_size(void *ctx, const struct hotspot_blob *b)
{
	struct blob_search *s = ctx;

	if (s->pc < b->code_start || s->pc > b->code_end)
		return 0;
	s->blob = b->addr;
	s->frame_size = b->frame_size;
	s->is_nmethod = b->is_nmethod;
	return 1;
}

/* A deoptimised frame returns to the deopt handler and holds the real pc. */
static u64 undo_deopt(const struct hotspot_layout *l, const struct blob_search *s, u64 sp)
{
	u64 handler = 0, handler_mh = 0;
	u32 offset;

	if (!s->is_nmethod)
		return s->pc;
	if (l->flags & HOTSPOT_DEOPT_IS_OFFSET) {
		handler = s->blob + (u32)read_word(s->blob + l->deopt);
	} else {
		handler = read_word(s->blob + l->deopt);
		handler_mh = read_word(s->blob + l->deopt_mh);
	}
	offset = (u32)read_word(s->blob + l->orig_pc);
	return s->pc == handler || s->pc == handler_mh ? read_word(sp + offset) : s->pc;
}

/* Names the frame and steps to its caller. This works for threads that wait at calls. */
static int step(const struct hotspot_layout *l, struct registers *r, struct java_frame out[])
{
	if (r->pc >= l->interpreter_start && r->pc < l->interpreter_end) {
		u64 method = read_word(r->fp + 8 * (u64)(s64)l->method_slot);
		u64 bcp = read_word(r->fp + 8 * (u64)(s64)l->bcp_slot);
		u64 fp = r->fp;

		assert_int_equal(hotspot_name_method(world.h, method, bcp, 0, out), 0);
		*r = (struct registers){ read_word(fp + 8), read_word(fp - 8), read_word(fp) };
		return 1;
	}

	struct blob_search s = { .pc = r->pc };
	assert_int_equal(hotspot_each_blob(world.h, find_frame_size, &s), 1);
	u64 pc = undo_deopt(l, &s, r->sp);
	int nr = hotspot_name_pc(world.h, (struct code_pc){ .pc = pc }, out, STACK_MAX / 2);
	assert_true(nr > 0);
	u64 cfa = r->sp + 8 * (u64)s.frame_size;
	*r = (struct registers){ read_word(cfa - 8), cfa, read_word(cfa - 16) };
	return nr;
}

static int walk(u64 java_thread, struct java_frame out[])
{
	struct hotspot_layout l;
	int nr = 0;

	hotspot_layout(world.h, &l);
	struct registers r = last_java_frame(java_thread + l.anchor);
	while (nr < STACK_MAX / 2) {
		nr += step(&l, &r, out + nr);
		if (r.pc != l.call_stub_return)
			continue;
		/*
		 * Called by the JVM: the JavaCallWrapper holds the anchor of the previous frames.
		 */
		u64 anchor = read_word(r.fp - 48) + 32;
		if (!read_word(anchor))
			break;
		r = last_java_frame(anchor);
	}
	return nr;
}

static void thread_name(pid_t tid, char out[THREAD_MAX + 1])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", world.pid, tid);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(fgets(out, THREAD_MAX + 1, f));
	out[strcspn(out, "\n")] = '\0';
	fclose(f);
}

static u64 find_thread(const char *name)
{
	struct hotspot_thread *all;
	ssize_t nr = hotspot_threads(world.h, &all);
	u64 found = 0;

	assert_true(nr > 0);
	for (ssize_t i = 0; i < nr; i++) {
		char comm[THREAD_MAX + 1];
		thread_name(all[i].tid, comm);
		if (!strcmp(comm, name))
			found = all[i].java_thread;
	}
	free(all);
	assert_true(found);
	return found;
}

static void check_thread(const char *name)
{
	struct java_frame frames[STACK_MAX];
	int nr = walk(find_thread(name), frames), i = 0;

	vec_each(t, &world.truth) {
		if (strcmp(t->thread, name) != 0)
			continue;
		assert_true(i < nr);
		const struct java_frame *f = &frames[i++];
		assert_string_equal(f->class_name, t->class);
		assert_string_equal(f->method, t->method);
		assert_int_equal(f->line, t->line);
		assert_false(f->is_stale);
		assert_false(f->is_approximate);
	}
	assert_true(i > 0);
	assert_int_equal(i, nr);
}

static void frames_of_a_recursion_equal_the_jvms_report(void **state)
{
	check_thread("t-recurse");
}

static void inlined_frames_equal_the_jvms_report(void **state)
{
	check_thread("t-inlined");
}

static void lambdas_are_named_without_their_address(void **state)
{
	check_thread("t-lambda");
}

static void reflection_and_native_methods_are_named(void **state)
{
	check_thread("t-reflected");
}

static void names_beyond_ascii_are_named(void **state)
{
	check_thread("t-unicode");
}

static void initializers_and_constructors_are_named(void **state)
{
	check_thread("t-clinit");
	check_thread("t-init");
}

/* "1.8.0_452" or "21.0.7", as `java -version` prints it. */
static int jdk_of_java(void)
{
	const char *other = getenv("JDK");
	int first = 0, second = 0;

	if (other)
		return atoi(other);
	FILE *f = popen("java -version 2>&1", "r");
	assert_non_null(f);
	assert_true(fscanf(f, "%*[^\"]\"%d.%d", &first, &second) >= 1);
	pclose(f);
	return first == 1 ? second : first;
}

static void flags_and_version_are_read(void **state)
{
	struct hotspot_info info;
	const char *what, *why;
	bool on = false;

	hotspot_info(world.h, &info);
	assert_int_equal(info.jdk, jdk_of_java());
	assert_true(info.release[0] && info.vm[0] && info.collector[0]);
	assert_int_equal(hotspot_flag(world.h, "DisableAttachMechanism", &on), 0);
	assert_false(on);
	assert_int_equal(hotspot_flag(world.h, "NoSuchFlag", &on), -ENOENT);
	assert_false(hotspot_limitation(world.h, 0, &what, &why));
}

static int find_blob(void *ctx, const struct hotspot_blob *b)
{
	struct blob_search *s = ctx;

	s->pc = b->code_end;
	return b->addr == s->blob;
}

static void continuation_code_is_found(void **state)
{
	struct hotspot_layout l;
	struct blob_search s = { 0 };

	hotspot_layout(world.h, &l);
	if (l.jdk < 21)
		skip_because("this JDK has no virtual threads; JDK=25 has");
	assert_true(l.tls_module && l.cont_entry != HOTSPOT_NO_FIELD && l.popped[1].end);
	assert_in_range(l.barrier, l.cont_stubs_start, l.cont_stubs_end);
	assert_true(l.enter_special && l.do_yield);
	s.blob = l.enter_special;
	assert_int_equal(hotspot_each_blob(world.h, find_blob, &s), 1);
	assert_in_range(l.enter_special_return, l.enter_special, s.pc);
}

/* Once found it is not searched again. The leak check covers the search's allocations. */
static void the_place_of_the_current_thread_is_searched_once(void **state)
{
	struct hotspot_layout first, second;

	hotspot_find_tls(world.h);
	hotspot_layout(world.h, &first);
	if (first.jdk < 9)
		skip_because("JDK 8 keeps the thread behind a pthread key; JDK=11 has a variable");
	assert_true(first.tls_module);
	hotspot_find_tls(world.h);
	hotspot_layout(world.h, &second);
	assert_int_equal(second.tls_module, first.tls_module);
	assert_int_equal(second.tls_offset, first.tls_offset);
}

/* From exec on: first no libjvm, then one that is being relocated, then no code heap. */
static void a_jvm_can_be_opened_from_its_start(void **state)
{
	int ends[2], err, tries = 0;
	struct hotspot_layout l = { 0 };
	struct hotspot *h = NULL;

	if (getenv("JDK"))
		skip_because("the PID of a JDK of its own root is known too late");
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	if (!pid)
		exec_java(ends[1]);
	while ((err = hotspot_open((struct process_id){ pid, 0 }, &h))) {
		assert_true(err == -ENOENT || err == -EAGAIN);
		assert_true(tries++ < 100000);
	}
	for (u64 end = time_mono_ns() + 60 * NS_PER_SEC; !l.name_nmethod;) {
		assert_true(time_mono_ns() < end);
		assert_true(hotspot_refresh(h) >= 0);
		hotspot_layout(h, &l);
		usleep(1000);
	}
	assert_true(l.nr_heaps && l.interpreter_end && l.call_stub_return);
	hotspot_free(h);
	java_end(pid);
	close(ends[0]);
	close(ends[1]);
}

/* This test must be the last, because it ends the JVM. */
static void the_end_of_a_jvm_is_reported(void **state)
{
	struct java_frame frames[4];
	struct hotspot_thread *threads;
	struct hotspot_layout l;
	struct hotspot *h = world.h;

	hotspot_layout(h, &l);
	stop_child();
	assert_int_equal(
		hotspot_name_pc(h,
				(struct code_pc){ .pc = l.heaps[0].start + 4096, .is_leaf = true },
				frames, 4),
		-ESRCH);
	assert_int_equal(hotspot_name_method(h, l.heaps[0].start, 0, 0, frames), -ESRCH);
	assert_int_equal(hotspot_threads(h, &threads), -ESRCH);
	assert_int_equal(hotspot_refresh(h), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_a_recursion_equal_the_jvms_report),
		cmocka_unit_test(inlined_frames_equal_the_jvms_report),
		cmocka_unit_test(lambdas_are_named_without_their_address),
		cmocka_unit_test(reflection_and_native_methods_are_named),
		cmocka_unit_test(names_beyond_ascii_are_named),
		cmocka_unit_test(initializers_and_constructors_are_named),
		cmocka_unit_test(flags_and_version_are_read),
		cmocka_unit_test(continuation_code_is_found),
		cmocka_unit_test(the_place_of_the_current_thread_is_searched_once),
		cmocka_unit_test(a_jvm_can_be_opened_from_its_start),
		cmocka_unit_test(the_end_of_a_jvm_is_reported),
	};

	skip_all_if(java_lacking());
	return cmocka_run_group_tests(tests, start_jvm, stop_jvm);
}
