/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame debug jvm`: prints the facts read from a JVM from outside; the first tool for a new
 * JDK. Part of cmd/cmd.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/time.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "jvm/hotspot/hotspot.h"
#include "jvm/hotspot/thread_names.h"
#include "jvm/hotspot/virtual_threads.h"
#include "proc/status.h"

#define FRAMES_MAX 64

AUTO_DEFINE(hotspot, struct hotspot *, hotspot_free)
#define auto_hotspot __attribute__((cleanup(auto_hotspot_run)))

struct options {
	bool help, blobs, code, threads, virtual;
};

static void print_frame(const struct java_frame *f)
{
	printf("%s%s%s%s", f->class_name, f->class_name[0] ? "." : "", f->method, f->signature);
	if (f->file[0])
		printf(" %s:%u", f->file, f->line);
	printf(" [%s%s%s%s]\n", frame_kind_name(f->kind), f->is_native ? ", native method" : "",
	       f->is_approximate ? ", approximate" : "", f->is_stale ? ", stale" : "");
}

/* All blobs with one name. */
struct tally {
	const char *name;
	u64 nr, bytes, by_level[5];
	bool is_nmethod;
};

struct tallies {
	struct tally *at;
	size_t nr, cap;
};

static int count_blob(void *ctx, const struct hotspot_blob *b)
{
	struct tallies *all = ctx;
	struct tally *found = NULL;

	vec_each(t, all)
		if (!strcmp(t->name, b->name))
			found = t;
	if (!found) {
		vec_push(all, (struct tally){ .name = b->name, .is_nmethod = b->is_nmethod });
		found = &all->at[all->nr - 1];
	}
	found->nr++;
	found->bytes += b->code_end - b->code_start;
	if (b->is_nmethod && b->level >= 0 && b->level < 5)
		found->by_level[b->level]++;
	return 0;
}

static void print_blobs(struct hotspot *h, bool each)
{
	size_t nr_single = 0;
	struct tallies all = { 0 };
	u64 start = time_mono_ns();
	int err = hotspot_each_blob(h, count_blob, &all);
	u64 ns = time_mono_ns() - start;

	if (err)
		printf("blobs     cannot be read: %s\n", strerror(-err));
	else
		printf("blobs     walked in %.2f ms\n", (double)ns / 1e6);
	vec_each(t, &all) {
		if (!each && t->nr == 1 && !t->is_nmethod) { /* a JVM has about 100 stubs */
			nr_single++;
			continue;
		}
		printf("  %6llu  %9llu bytes  %s", (unsigned long long)t->nr,
		       (unsigned long long)t->bytes, t->name);
		for (int level = 0; t->is_nmethod && level < 5; level++)
			if (t->by_level[level])
				printf(", level %d: %llu", level,
				       (unsigned long long)t->by_level[level]);
		puts("");
	}
	if (nr_single)
		printf("  %6zu  stubs with a name of their own; --blobs lists them\n", nr_single);
	vec_fini(&all);
}

static void print_flags(const struct hotspot *h)
{
	const char *name;
	bool value;

	printf("flags    ");
	for (size_t i = 0; (name = hotspot_flag_name(i)); i++)
		if (!hotspot_flag(h, name, &value))
			printf(" %c%s", value ? '+' : '-', name);
	puts("");
}

static void print_layout(const struct hotspot *h)
{
	struct hotspot_layout l;

	hotspot_layout(h, &l);
	for (u32 i = 0; i < l.nr_heaps; i++)
		printf("heap      %#llx-%#llx, segments of %d bytes, map at %#llx\n",
		       (unsigned long long)l.heaps[i].start, (unsigned long long)l.heaps[i].end,
		       1 << l.heaps[i].shift, (unsigned long long)l.heaps[i].segmap);
	printf("interpreter %#llx-%#llx\n", (unsigned long long)l.interpreter_start,
	       (unsigned long long)l.interpreter_end);
	printf("call stub returns to %#llx\n", (unsigned long long)l.call_stub_return);
	printf("names     nmethod %#llx, native %#llx, vtable %#llx, adapter %#llx, mh %#llx\n",
	       (unsigned long long)l.name_nmethod, (unsigned long long)l.name_native,
	       (unsigned long long)l.name_vtable, (unsigned long long)l.name_adapter,
	       (unsigned long long)l.name_mh_adapter);
	if (l.cont_stubs_start)
		printf("virtual threads: barrier %#llx, enterSpecial returns to %#llx, "
		       "continuation stubs %#llx-%#llx, "
		       "JavaThread::_cont_entry %u, enterSpecial %#llx, doYield %#llx, "
		       "JavaThread * at %u of thread-local storage %u\n",
		       (unsigned long long)l.barrier, (unsigned long long)l.enter_special_return,
		       (unsigned long long)l.cont_stubs_start, (unsigned long long)l.cont_stubs_end,
		       l.cont_entry, (unsigned long long)l.enter_special,
		       (unsigned long long)l.do_yield, l.tls_offset, l.tls_module);
}

static void print_threads(struct hotspot *h, bool each)
{
	auto_free struct hotspot_thread *threads = NULL;
	ssize_t nr = hotspot_threads(h, &threads);

	if (nr < 0) {
		printf("threads   cannot be read: %s\n", strerror((int)-nr));
		return;
	}
	printf("threads   %zd\n", nr);
	if (!each)
		return;
	struct thread_names *names = thread_names_new();
	int err = thread_names_read(names, h);
	if (err)
		printf("          their names cannot be read: %s\n", strerror(-err));
	for (ssize_t i = 0; i < nr; i++)
		printf("  %d  JavaThread %#llx, stack %#llx-%#llx  %s\n", threads[i].tid,
		       (unsigned long long)threads[i].java_thread,
		       (unsigned long long)threads[i].stack_start,
		       (unsigned long long)threads[i].stack_end,
		       thread_names_find(names, threads[i].tid) ?: "?");
	thread_names_free(names);
}

static void print_gaps(const struct hotspot *h)
{
	const char *what, *why;

	for (size_t i = 0; hotspot_limitation(h, i, &what, &why); i++)
		printf("missing   %s: %s\n", what, why);
}

static int print_code(void *ctx, const struct hotspot_blob *b)
{
	struct java_frame frames[FRAMES_MAX];
	struct hotspot *h = ctx;

	printf("%#llx %#llx ", (unsigned long long)b->code_start, (unsigned long long)b->code_end);
	if (!b->is_nmethod) {
		printf("- - %s\n", b->name);
		return 0;
	}
	printf("%u %d ", b->compile_id, b->level);
	/* The entry of compiled code is in its prologue: it has no inlined methods. */
	int nr = hotspot_name_pc(h,
				 (struct code_pc){ .pc = b->code_start,
						   .compile_id = b->compile_id,
						   .is_leaf = true },
				 frames, FRAMES_MAX);
	if (nr > 0)
		print_frame(&frames[nr - 1]);
	else
		printf("%s (%s)\n", b->name, strerror(-nr));
	return 0;
}

static int print_pc(struct hotspot *h, const char *text)
{
	struct java_frame frames[FRAMES_MAX];
	char *end;
	u64 pc = strtoull(text, &end, 16);
	int nr = *end ? -EINVAL
		      : hotspot_name_pc(h, (struct code_pc){ .pc = pc, .is_leaf = true }, frames,
					FRAMES_MAX);

	if (nr < 0) {
		log_error("%s names no code of this JVM: %s", text, strerror(-nr));
		return 1;
	}
	for (int i = 0; i < nr; i++)
		print_frame(&frames[i]);
	return 0;
}

static const char *const virtual_states[NR_VIRTUAL_STATES] = {
	[VIRTUAL_OTHER] = "new, ended or changing",
	[VIRTUAL_MOUNTED] = "mounted",
	[VIRTUAL_PINNED] = "pinned",
	[VIRTUAL_RUNNABLE] = "runnable",
	[VIRTUAL_UNBLOCKED] = "unblocked",
	[VIRTUAL_PARKED] = "parked",
	[VIRTUAL_BLOCKED] = "blocked",
	[VIRTUAL_WAITS] = "waiting",
};

static void print_virtual_frame(struct hotspot *h, const struct user_frame *f)
{
	struct java_frame frames[FRAMES_MAX];
	int nr = 1;

	if (f->info >> USER_FRAME_KIND_SHIFT == USER_FRAME_INTERPRETED)
		nr = hotspot_name_method(h, f->addr, f->info & USER_FRAME_BCP_MASK, 0, frames) ?: 1;
	else
		nr = hotspot_name_pc(h, (struct code_pc){ .pc = f->addr }, frames, FRAMES_MAX);
	if (nr < 0)
		printf("  %#llx: %s\n", (unsigned long long)f->addr, strerror(-nr));
	for (int i = 0; i < nr; i++) {
		printf("  ");
		print_frame(&frames[i]);
	}
}

static void print_virtual_thread(const struct virtual_thread *t, void *hotspot)
{
	printf("thread %llu \"%s\": %s, stands for %.2f, %u frames%s\n", (unsigned long long)t->id,
	       t->name, virtual_states[t->state], t->share, t->nr_frames,
	       t->is_complete ? "" : ", cut");
	if (t->executor)
		printf("  started by %s\n", t->executor);
	if (t->lock)
		printf("  waits for %s%s%s%s\n", t->lock, t->owner ? ", which \"" : "",
		       t->owner ?: "", t->owner ? "\" has" : "");
	for (u32 i = 0; i < t->nr_frames; i++)
		print_virtual_frame(hotspot, &t->frames[i]);
}

static int print_virtual(struct hotspot *h)
{
	struct virtual_threads *v = virtual_threads_new();
	const struct virtual_look count = { .most = 1000 };
	const struct virtual_look print = { 1000, true, NULL, print_virtual_thread, h };
	struct virtual_counts counts;
	int err = -EAGAIN;

	while (hotspot_refresh(h) > 0)
		;
	for (int i = 0; i < 1000 && err == -EAGAIN; i++)
		err = virtual_threads_look(v, h, &count, &counts);
	u64 start = time_mono_ns();
	err = err ?: virtual_threads_look(v, h, &print, &counts);
	u64 look_ns = time_mono_ns() - start;
	for (int s = 0; s < NR_VIRTUAL_STATES; s++)
		printf("%-22s %.0f\n", virtual_states[s], counts.nr[s]);
	printf("read %llu, changed meanwhile %llu, left out %llu, in %.2f ms\n",
	       (unsigned long long)counts.nr_read, (unsigned long long)counts.nr_changed,
	       (unsigned long long)counts.nr_left_out, (double)look_ns / 1e6);
	if (err)
		printf("cannot be listed: %s\n", virtual_threads_why_not(v) ?: strerror(-err));
	else if (virtual_threads_why_not(v))
		printf("some are missing: %s\n", virtual_threads_why_not(v));
	virtual_threads_free(v);
	return err ? 1 : 0;
}

static void print_all(struct hotspot *h, const struct options *o, u64 open_ns)
{
	struct hotspot_info info;

	hotspot_info(h, &info);
	printf("jvm       pid %d, JDK %d, %s\n", info.pid, info.jdk, info.release);
	printf("vm        %s\n", info.vm);
	printf("collector %s\n", info.collector[0] ? info.collector : "unknown");
	printf("read      in %.2f ms, %u fields exported\n", (double)open_ns / 1e6, info.nr_fields);
	print_flags(h);
	print_layout(h);
	print_blobs(h, o->blobs);
	print_threads(h, o->threads);
	print_gaps(h);
	hotspot_info(h, &info);
	printf("reads     %llu, failed %llu; %zu bytes of names\n",
	       (unsigned long long)info.nr_reads, (unsigned long long)info.nr_failures, info.bytes);
}

static int explain(pid_t pid, int err)
{
	/* The memory of a process that ends shows as missing or as any content. */
	if (proc_has_ended((struct process_id){ .pid = pid }))
		err = -ESRCH;
	switch (err) {
	case -ESRCH:
		log_error("process %d is not there or has ended", pid);
		break;
	case -ENOENT:
		log_error("process %d is no JVM: it maps no libjvm.so", pid);
		break;
	case -ENOEXEC:
		log_error("process %d maps a libjvm.so that is not HotSpot as we know it", pid);
		break;
	case -EAGAIN:
		log_error("the JVM %d is still starting; try again", pid);
		break;
	case -EPERM:
		log_error("no right to read the memory of %d: it takes CAP_SYS_PTRACE or root",
			  pid);
		break;
	default:
		log_error("cannot read the JVM %d: %s", pid, strerror(-err));
	}
	return 1;
}

int debug_jvm_main(int argc, char **argv)
{
	struct options o = { 0 };
	const struct opt opts[] = {
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "print this" },
		{ 0, "blobs", OPT_BOOL, &o.blobs, NULL, "count the blobs of every name" },
		{ 0, "code", OPT_BOOL, &o.code, NULL,
		  "list every blob: start, end, id, level, name" },
		{ 0, "threads", OPT_BOOL, &o.threads, NULL, "list every Java thread" },
		{ 0, "virtual", OPT_BOOL, &o.virtual, NULL,
		  "list up to 1000 virtual threads that are not on a carrier, with their stacks" },
	};
	auto_hotspot struct hotspot *h = NULL;
	int nr = opt_parse_mixed(opts, ARRAY_SIZE(opts), argc, argv), status = 0;

	if (nr >= 0 && o.help) {
		puts("usage: sysflame debug jvm [--blobs] [--code] [--threads] [--virtual] PID "
		     "[PC...]");
		puts("prints what is read of a JVM from outside; of each PC (hex) its frames\n");
		opt_help(opts, ARRAY_SIZE(opts));
		return 0;
	}
	pid_t pid = nr > 0 ? proc_pid_parse(argv[0]) : 0;
	if (!pid) {
		log_error("debug jvm needs the PID of a JVM; see sysflame debug jvm --help");
		return 2;
	}

	u64 start = time_mono_ns();
	int err = hotspot_open((struct process_id){ .pid = pid }, &h);
	u64 open_ns = time_mono_ns() - start;
	if (err)
		return explain(pid, err);
	if (o.virtual)
		return print_virtual(h);
	if (o.code)
		return hotspot_each_blob(h, print_code, h) ? 1 : 0;
	if (nr == 1)
		print_all(h, &o, open_ns);
	for (int i = 1; i < nr; i++)
		status |= print_pc(h, argv[i]);
	return status;
}
