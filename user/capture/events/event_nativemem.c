/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nativemem: memory allocated outside the Java heap. Every file that defines malloc gets probes on
 * all its allocating functions. bpf/events/nativemem.bpf.c decides which calls count.
 * Part of capture/events/event_kind.h.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/events/event_kind.h"
#include "capture/stacks/reserved.h"
#include "capture/unwind/sample_stack.h"

struct allocator_call {
	const char *name;
	enum memory_call_kind call;
};

/*
 * A file with the first function, malloc, is an allocator. Other files' operator new calls malloc.
 * Names that begin with _Z are C++'s operators new and delete: plain, for arrays, aligned, without
 * exceptions.
 */
static const struct allocator_call calls[] = {
	{ "malloc", MEMORY_MALLOC },
	{ "calloc", MEMORY_CALLOC },
	{ "realloc", MEMORY_REALLOC },
	{ "memalign", MEMORY_ALIGNED },
	{ "aligned_alloc", MEMORY_ALIGNED },
	{ "posix_memalign", MEMORY_POSIX_MEMALIGN },
	{ "valloc", MEMORY_MALLOC },
	{ "pvalloc", MEMORY_MALLOC },
	{ "_Znwm", MEMORY_NEW },
	{ "_Znam", MEMORY_NEW },
	{ "_ZnwmRKSt9nothrow_t", MEMORY_NEW_NOTHROW },
	{ "_ZnamRKSt9nothrow_t", MEMORY_NEW_NOTHROW },
	{ "_ZnwmSt11align_val_t", MEMORY_NEW },
	{ "_ZnamSt11align_val_t", MEMORY_NEW },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", MEMORY_NEW_NOTHROW },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", MEMORY_NEW_NOTHROW },
	{ "mallocx", MEMORY_MALLOC }, /* jemalloc's own */
	{ "rallocx", MEMORY_REALLOC },
	{ "mmap", MEMORY_MMAP },
	{ "free", MEMORY_FREE },
	{ "cfree", MEMORY_FREE },
	{ "_ZdlPv", MEMORY_FREE },
	{ "_ZdaPv", MEMORY_FREE },
	{ "_ZdlPvm", MEMORY_FREE },
	{ "_ZdaPvm", MEMORY_FREE },
	{ "_ZdlPvRKSt9nothrow_t", MEMORY_FREE },
	{ "_ZdaPvRKSt9nothrow_t", MEMORY_FREE },
	{ "_ZdlPvSt11align_val_t", MEMORY_FREE },
	{ "_ZdaPvSt11align_val_t", MEMORY_FREE },
	{ "_ZdlPvmSt11align_val_t", MEMORY_FREE },
	{ "_ZdaPvmSt11align_val_t", MEMORY_FREE },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", MEMORY_FREE },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", MEMORY_FREE },
	{ "dallocx", MEMORY_FREE },
	{ "sdallocx", MEMORY_FREE },
	{ "munmap", MEMORY_FREE },
};
_Static_assert(ARRAY_SIZE(calls) <= MEMORY_FUNCTIONS, "a file has room for each");
_Static_assert(ARRAY_SIZE(calls) < PLACES_NAMES_MAX, "one question finds all");

static void configure_nativemem(const struct event *e, u32 number, const struct event_options *o,
				struct knobs *knobs)
{
	knobs->memory = (struct memory_knobs){
		.interval = o->nativemem_interval,
		.event = number,
	};
}

/* The allocating functions of a file, and the kind of each. */
struct allocator {
	struct memory_file file;
	enum memory_call_kind calls[MEMORY_FUNCTIONS];
	bool has_own_new; /* an operator new that does not call malloc */
};

/* Several names of one function get one probe. */
static bool is_another_name(const struct memory_file *file, u64 start)
{
	for (u64 i = 0; i < file->nr; i++)
		if (file->functions[i].start == start)
			return true;
	return false;
}

static void add_function(struct allocator *a, const struct probe_place *f,
			 enum memory_call_kind call)
{
	struct memory_file *file = &a->file;

	if (!f->file_off || is_another_name(file, f->file_off))
		return;
	file->functions[file->nr].start = f->file_off;
	file->functions[file->nr].end = f->file_off + f->size;
	a->calls[file->nr++] = call;
}

/*
 * Asks for the places of the functions in `calls`, and of the function that maps the stacks of
 * threads.
 */
static bool ask(const struct probe_placing *self, const struct probe_file *f,
		struct places_query *query, void *ctx)
{
	query->kind = PLACES_FUNCTIONS;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		query->names[i] = calls[i].name;
	query->names[ARRAY_SIZE(calls)] = "pthread_create";
	query->nr_names = ARRAY_SIZE(calls) + 1;
	return true;
}

/*
 * Leaves out the mmap of statically linked programs: both their allocator and the program call it.
 */
static bool read_file(const struct places *found, struct allocator *out)
{
	const struct probe_place *threads = &found->at[ARRAY_SIZE(calls)];

	if (found->nr <= ARRAY_SIZE(calls) || !found->at[0].file_off)
		return false;
	if (threads->file_off) {
		out->file.threads_start = threads->file_off;
		out->file.threads_end = threads->file_off + threads->size;
	}
	out->file.is_program = found->is_program;
	out->file.code_start = found->code_start;
	out->file.code_end = found->code_end;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].call != MEMORY_MMAP || found->has_exports) {
			add_function(out, &found->at[i], calls[i].call);
			out->has_own_new |= found->has_exports && found->at[i].file_off &&
					    calls[i].call == MEMORY_NEW;
		}
	return true;
}

struct placement {
	struct sources *sources;
	probe_links *links;
	struct programs_uprobe at;
};

static int place_one(struct placement *p, enum program program, bool at_return)
{
	struct bpf_link *link;

	p->at.program = program;
	p->at.at_return = at_return;
	int err = programs_attach_program(sources_bpf(p->sources), &p->at, &link);
	if (!err)
		vec_push(p->links, link);
	return err;
}

/*
 * A return probe replaces the caller's address by one of the kernel. No exception can pass that:
 * std::bad_alloc would end the program.
 */
static int place_call(struct placement *p, enum memory_call_kind call, bool leaks)
{
	if (call == MEMORY_FREE)
		return leaks ? place_one(p, PROGRAM_MEMORY_FREE, false) : 0;
	if (call == MEMORY_NEW && leaks)
		return 0;
	if (!leaks)
		return place_one(p, PROGRAM_MEMORY_ALLOC, false);
	/* Attach the return probe first: every sampled allocation must be seen to return. */
	return place_one(p, PROGRAM_MEMORY_RETURN, true)
		       ?: place_one(p, PROGRAM_MEMORY_ENTER, false);
}

/* Frees are attached first: no memory may be sampled before its free can be seen. */
static int place_all(struct placement *p, const struct allocator *a, u32 number, bool frees)
{
	int err = 0;

	for (u64 i = 0; !err && i < a->file.nr; i++) {
		if ((a->calls[i] == MEMORY_FREE) != frees)
			continue;
		p->at.file_off = a->file.functions[i].start;
		p->at.cookie = MEMORY_COOKIE(number, i, a->calls[i]) |
			       (a->file.is_program ? MEMORY_COOKIE_PROGRAM : 0);
		err = place_call(p, a->calls[i], sources_options(p->sources)->leaks);
	}
	return err;
}

static bool place(const struct probe_placing *self, const struct probe_file *f,
		  const struct places *places, probe_links *out, void *ctx)
{
	struct allocator found = { 0 };
	char path[32];

	if (!read_file(places, &found))
		return false;
	struct placement p = { .sources = ctx, .links = out };
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	int err = programs_set_memory_file(sources_bpf(p.sources), f->number, &found.file);
	p.at = (struct programs_uprobe){ .path = path, .pid = f->pid };
	err = err ?: place_all(&p, &found, f->number, true)
		  ?: place_all(&p, &found, f->number, false);
	if (found.has_own_new && sources_options(p.sources)->leaks)
		log_warn("memory from operators new of an allocator of process %d is left out: a "
			 "return probe would break exceptions",
			 (int)f->pid);
	if (err == -ESRCH)
		sources_count_gone(p.sources);
	else if (err)
		log_warn("nativemem: an allocator of process %d cannot have all its probes: %s",
			 (int)f->pid, strerror(-err));
	return true;
}

/*
 * Whether an allocator took the memory from libc's mmap; its probe has reported it already. In an
 * allocator's library all code belongs to the allocator. A program with its own allocator may also
 * call mmap itself. The call is the allocator's if the allocator's return address is on the stack.
 * Its function need not be on the stack: it may have ended in a tail call.
 */
static bool is_nativemem_double(const struct sources *s, const struct probes *p,
				const struct sample *sample, const struct process *process)
{
	const struct user_frame *frames = sample_user_frames(sample);
	u32 leaf, caller;
	struct memory_file file;
	u64 off;

	if (sample->nr_user < 2 || !probes_find_file(p, process, frames[0].addr, &leaf, &off) ||
	    !probes_find_file(p, process, frames[1].addr, &caller, &off) || leaf == caller ||
	    programs_memory_file(sources_bpf(s), caller, &file))
		return false;
	bool is_double = !file.is_program;
	for (u32 i = 1; i < sample->nr_user && !is_double; i++)
		is_double = frames[i].addr == sample->allocator_return;
	return is_double;
}

static const char *group_nativemem(const struct named_stack *stack)
{
	u64 mapped = stack->sample->mapped;
	enum jvm_region region = mapped && stack->hotspot ? hotspot_region(stack->hotspot, mapped)
							  : JVM_REGION_UNKNOWN;

	return reserved_group(mapped, region, stack->all, stack->frames);
}

static bool keep_nativemem(const struct named_stack *stack)
{
	return !reserved_is_guard_page(stack->sample->mapped, stack->all, stack->frames);
}

static bool is_nativemem_held(const struct event_options *o, u64 *age_ns)
{
	*age_ns = o->leak_age_ns;
	return o->leaks;
}

static const struct probe_placing placing = {
	.name = "nativemem",
	.nr_files_max = MEMORY_FILES,
	.ask = ask,
	.place = place,
};

static int open_nativemem(struct sources *s, const struct event *e, u32 number)
{
	const struct event_options *o = sources_options(s);

	sources_describe(s, "native memory, a sample every %llu bytes",
			 (unsigned long long)o->nativemem_interval);
	sources_add_probes(s, number, probes_new(o->workers, o->only_targets, &placing, s));
	return 0;
}

const struct event_kind event_kind_nativemem = {
	.name = "nativemem",
	.unit = "bytes",
	.help = "memory of malloc and mmap, sampled by bytes; --leaks: memory not freed",
	.programs = PROGRAM_BIT(MEMORY_ALLOC) | PROGRAM_BIT(MEMORY_ENTER) |
		    PROGRAM_BIT(MEMORY_RETURN) | PROGRAM_BIT(MEMORY_FREE),
	.nr_slots = NR_SLOTS,
	.sparser = "larger --nativemem-interval",
	.configure = configure_nativemem,
	.open = open_nativemem,
	.is_held = is_nativemem_held,
	.is_double = is_nativemem_double,
	.group = group_nativemem,
	.keep = keep_nativemem,
	.why_not = why_not_uprobe,
};
