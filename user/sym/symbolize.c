/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the addresses of a stack into named frames; drops those of the agent and the JVM. */
#include "sym/symbolize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "elf/debugfile.h"
#include "jvm/process/javaproc.h"
#include "proc/status.h"
#include "profile/frames/java_form.h"
#include "profile/frames/java_signature.h"
#include "sym/agree.h"
#include "sym/files/native.h"
#include "sym/frame_cache.h"
#include "sym/kernel.h"
#include "sym/known_stacks.h"

/* Stubs have no class. Wrappers of native methods have one: they are the called method. */
static bool is_of_jvm(const struct frames *all, frame_id frame)
{
	const struct frame *f = frames_get(all, frame);

	return f->kind == FRAME_JVM || (f->kind == FRAME_STUB && !strchr(f->name, '.'));
}

/*
 * Drops the frames between a class and the Java frame that requested the object, from index `first`
 * on: the agent, libjvm and its stubs. They are always the same and hide the requesting frame.
 */
static void plumbing_drop(const struct frames *all, size_t first, frame_list *frames,
			  unnamed_list *unnamed)
{
	size_t end = first, nr;

	while (end < frames->nr && frames_get(all, frames->at[end])->kind == FRAME_NATIVE)
		end++;
	size_t agent_end = end;
	while (end < frames->nr && is_of_jvm(all, frames->at[end]))
		end++;
	if (end == frames->nr || end == agent_end)
		return;
	nr = end - first;
	memmove(frames->at + first, frames->at + end, (frames->nr - end) * sizeof(frames->at[0]));
	frames->nr -= nr;
	size_t kept = 0;
	vec_each(u, unnamed) {
		if (u->at >= first && u->at < end)
			continue;
		u->at -= u->at >= end ? nr : 0;
		unnamed->at[kept++] = *u;
	}
	unnamed->nr = kept;
}

#define NATIVE_BUDGET_BYTES (24 * 1024 * 1024)
#define KERNEL_FRAMES_MAX   32768
#define KERNEL_FRAMES_BYTES (128ul * KERNEL_FRAMES_MAX)
#define CROSS_CHECK_EVERY   16 /* frames of compiled code */
#define INLINE_FRAMES_MAX   64
#define UNNAMED_BUILDS_MAX  1024

struct build_hex {
	char digits[BUILD_ID_HEX_MAX + 1];
};

struct symbolizer {
	struct frames *frames;
	struct jvm_registry *jvms;
	struct agents *agents;
	struct kernel_names kernel;
	struct native *native;
	struct frame_cache native_frames; /* frame + 1 */
	struct aged kernel_frames;        /* pc -> frame + 1 */
	struct generated_code *generated;
	u64 nr_jvm_code, nr_conflicts, nr_without_line;
	bool leaf_is_inexact, keeps_addresses;
	struct known_stacks known;
	u64 kernel_version;      /* changes when a pc of the kernel may have another name */
	enum known_for lasts;    /* how long the name that was given last holds */
	u32 nr_without_line_now; /* the same */
	VEC(u8) traits;          /* by frame: enum trait, and its agent_part */
	VEC(struct build_hex) unnamed_builds;
	struct dict is_unnamed_build; /* by hash of the build id */
};

enum trait {
	TRAIT_NAMED = 1 << 0,
	TRAIT_INFERRED = 1 << 1,
	TRAIT_STRIPPED = 1 << 2,
	TRAIT_AGENT_SHIFT = 3,
};
#define TRAIT_AGENT (3u << TRAIT_AGENT_SHIFT)

struct symbolizer *symbolizer_new(struct frames *frames, struct jvm_registry *jvms,
				  struct agents *agents)
{
	struct symbolizer *s = xcalloc(1, sizeof(*s));

	s->frames = frames;
	s->jvms = jvms;
	s->agents = agents;
	s->native = native_new(NATIVE_BUDGET_BYTES, DEBUG_ROOT);
	s->generated = generated_code_new(NULL);
	return s;
}

void symbolizer_use_workers(struct symbolizer *s, struct workers *workers)
{
	native_use_workers(s->native, workers);
	generated_code_free(s->generated);
	s->generated = generated_code_new(workers);
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	kernel_names_fini(&s->kernel);
	native_free(s->native);
	frame_cache_fini(&s->native_frames);
	aged_fini(&s->kernel_frames);
	generated_code_free(s->generated);
	known_stacks_fini(&s->known);
	vec_fini(&s->traits);
	vec_fini(&s->unnamed_builds);
	dict_fini(&s->is_unnamed_build);
	free(s);
}

/* Sets `traits` of the frame, and clears the other bits of `mask`. */
static frame_id note(struct symbolizer *s, frame_id id, u32 mask, u32 traits)
{
	while (s->traits.nr <= id)
		vec_push(&s->traits, 0);
	s->traits.at[id] = (u8)((s->traits.at[id] & ~mask) | traits);
	return id;
}

static frame_id note_named(struct symbolizer *s, frame_id id, bool named)
{
	return note(s, id, TRAIT_NAMED, named ? TRAIT_NAMED : 0);
}

static frame_id note_inferred(struct symbolizer *s, frame_id id)
{
	return note(s, id, TRAIT_INFERRED, TRAIT_INFERRED);
}

static u32 traits_of(const struct symbolizer *s, frame_id id)
{
	return id < s->traits.nr ? s->traits.at[id] : 0;
}

static frame_id intern(struct symbolizer *s, enum frame_kind kind, const char *name,
		       const char *module, bool named)
{
	return note_named(s, frames_intern(s->frames, kind, name, module), named);
}

/* Code at the same address may have had another name before. */
void symbolizer_add_kernel_code(struct symbolizer *s, const struct mapping *code)
{
	kernel_names_add(&s->kernel, code->start, code->end, code->path);
	aged_fini(&s->kernel_frames);
	s->kernel_version++;
}

static frame_id name_kernel(struct symbolizer *s, u64 pc)
{
	const char *module, *symbol = kernel_names_find(&s->kernel, pc, &module);

	if (!symbol) {
		s->lasts = KNOWN_FOR_NOW;
		return intern(s, FRAME_KERNEL, "[kernel]", "", false);
	}
	frame_id frame = intern(s, FRAME_KERNEL, symbol, module, true);
	if (s->kernel_frames.young.nr >= KERNEL_FRAMES_MAX)
		aged_turn(&s->kernel_frames);
	*aged_add(&s->kernel_frames, pc) = frame + 1ull;
	return frame;
}

static frame_id cached_kernel(struct symbolizer *s, u64 pc)
{
	const u64 *frame = aged_find(&s->kernel_frames, pc);

	return frame ? (frame_id)(*frame - 1) : name_kernel(s, pc);
}

static void note_unnamed(struct symbolizer *s, const struct native_name *name)
{
	struct build_hex hex = { "" };
	u64 hash = hash_keyed((const char *)name->build_id, name->build_id_len);

	/* Not for code between functions: files with symbols have such code, too. */
	if (name->is_passing || name->unnamed.kind == UNNAMED_RANGE ||
	    s->unnamed_builds.nr == UNNAMED_BUILDS_MAX)
		return;
	u64 *is_known = dict_add(&s->is_unnamed_build, hash);
	if (*is_known)
		return;
	*is_known = 1;
	for (size_t i = 0; i < name->build_id_len; i++)
		snprintf(hex.digits + 2 * i, 3, "%02x", name->build_id[i]);
	vec_push(&s->unnamed_builds, hex);
}

const char *symbolizer_unnamed_build(const struct symbolizer *s, size_t i)
{
	return i < s->unnamed_builds.nr ? s->unnamed_builds.at[i].digits : NULL;
}

static frame_id intern_unnamed(struct symbolizer *s, enum frame_kind kind,
			       const struct native_name *name)
{
	auto_str struct str text = { 0 }, module = { 0 };
	const struct unnamed address = { UNNAMED_ADDRESS, .start = name->offset };
	/* Code of unknown functions becomes one frame, which cannot be named later. */
	bool is_address = s->keeps_addresses && name->unnamed.kind == UNNAMED_RANGE;

	if (name->build_id_len)
		note_unnamed(s, name);
	unnamed_name(&text, name->module, is_address ? &address : &name->unnamed);
	module_with_build(&module, name->module, name->build_id, name->build_id_len);
	return intern(s, kind, text.at, module.at, false);
}

static frame_id intern_native(struct symbolizer *s, const struct native_name *name)
{
	enum frame_kind kind = name->is_libjvm ? FRAME_JVM : FRAME_NATIVE;
	auto_str struct str guess = { 0 };

	if (!name->symbol)
		return intern_unnamed(s, kind, name);
	if (name->is_guess)
		str_addf(&guess, "[%s] %s+?", name->module, name->symbol);
	frame_id id = intern(s, kind, guess.at ?: name->symbol, name->module, true);
	return name->is_role || name->is_guess ? note_inferred(s, id) : id;
}

void symbolizer_set_budget(struct symbolizer *s, size_t bytes)
{
	native_set_budget(s->native, bytes < NATIVE_BUDGET_BYTES ? bytes : NATIVE_BUDGET_BYTES);
}

void symbolizer_drop_caches(struct symbolizer *s)
{
	generated_code_drop(s->generated);
	frame_cache_fini(&s->native_frames);
	known_stacks_fini(&s->known);
}

static void mark(u64 frame, void *is_used)
{
	if (frame)
		((bool *)is_used)[frame - 1] = true;
}

void symbolizer_turn(struct symbolizer *s)
{
	frame_cache_turn(&s->native_frames);
	aged_turn(&s->kernel_frames);
	kernel_names_turn(&s->kernel);
	native_turn(s->native);
	generated_code_turn(s->generated);
}

void symbolizer_each_cache(const struct symbolizer *s, cache_use_fn visit, void *ctx)
{
	const struct cache_use own[] = {
		{ "native_pcs", frame_cache_nr(&s->native_frames),
		  frame_cache_bytes(&s->native_frames), FRAME_CACHE_BYTES },
		{ "kernel_pcs", aged_nr(&s->kernel_frames), aged_bytes(&s->kernel_frames),
		  KERNEL_FRAMES_BYTES },
		{ "kernel_names", kernel_names_nr(&s->kernel), kernel_names_bytes(&s->kernel),
		  KERNEL_NAMES_BYTES },
		{ "known_stacks", known_stacks_nr(&s->known), s->known.bytes, KNOWN_STACKS_BYTES },
		{ "perf_maps", generated_code_nr(s->generated), generated_code_bytes(s->generated),
		  GENERATED_CODE_BYTES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		visit(&own[i], ctx);
	native_each_cache(s->native, visit, ctx);
}

void symbolizer_mark(const struct symbolizer *s, bool *is_used)
{
	frame_cache_each(&s->native_frames, mark, is_used);
	aged_each(&s->kernel_frames, mark, is_used);
}

void symbolizer_sweep(struct symbolizer *s, const bool *is_used)
{
	known_stacks_fini(&s->known); /* frequent stacks are named again at once */
	for (size_t i = 0; i < s->traits.nr; i++)
		if (!is_used[i])
			s->traits.at[i] &= TRAIT_NAMED;
}

void symbolizer_forget(struct symbolizer *s, struct process_id id)
{
	frame_cache_forget(&s->native_frames, id);
	generated_code_forget(s->generated, id);
	known_stacks_forget(&s->known, id);
}

/* Functions of jvmmap/ that the JVM calls. Its linker keeps the names of static functions. */
static enum agent_part agent_part(const char *function)
{
	static const struct {
		const char *function;
		enum agent_part part;
	} entries[] = {
		{ "Agent_OnAttach", AGENT_PART_WORK },
		{ "Agent_OnLoad", AGENT_PART_WORK },
		{ "run", AGENT_PART_WORK }, /* the agent's thread */
		{ "on_load", AGENT_PART_WORK },
		{ "on_unload", AGENT_PART_WORK },
		{ "on_code", AGENT_PART_WORK },
		{ "on_thread_start", AGENT_PART_HOOK },
		{ "on_alloc", AGENT_PART_HOOK },
		{ "on_death", AGENT_PART_HOOK },
		{ "on_enter", AGENT_PART_HOOK },
		{ "on_entered", AGENT_PART_HOOK },
		{ "on_class", AGENT_PART_HOOK },
		{ "Java_java_lang_Sysflame6_entered", AGENT_PART_HOOK },
		{ "Java_java_lang_Sysflame6_lasted", AGENT_PART_HOOK },
	};
	size_t len = function ? strcspn(function, ".") : 0; /* gcc appends .part.0, .cold */

	for (size_t i = 0; len && i < ARRAY_SIZE(entries); i++)
		if (strlen(entries[i].function) == len &&
		    !strncmp(entries[i].function, function, len))
			return entries[i].part;
	return AGENT_PART_CALLED;
}

static void note_agent(struct symbolizer *s, frame_id id, enum agent_part part)
{
	note(s, id, TRAIT_AGENT, (u32)part << TRAIT_AGENT_SHIFT);
}

/*
 * Always sets *frame. -EAGAIN: a worker is reading the file, and the frame is a placeholder.
 * -ENOEXEC: the file is no program. -ENOENT: it could not be read.
 */
static int cached_native(struct symbolizer *s, const struct process *p, const struct mapping *m,
			 u64 pc, frame_id *frame)
{
	u64 *place = frame_cache_place(&s->native_frames, p, pc);
	struct native_name name;

	if (*place) {
		*frame = (frame_id)(*place - 1);
		return 0;
	}
	const struct mapper by = { p->id.pid, process_ancestors(p) };
	int err = native_name(s->native, &by, m, pc, &name);
	*frame = intern_native(s, &name);
	if (p->is_jvm && javaproc_is_agent(m->path))
		note_agent(s, *frame, agent_part(name.symbol));
	s->lasts = KNOWN_FOR_NOW;
	if (name.is_passing)
		return err == -EAGAIN ? err : 0;
	if (!name.is_program && m->inode)
		return err == -ENOEXEC ? err : -ENOENT;
	*place = *frame + 1ull;
	s->lasts = KNOWN_FOR_EVER;
	return 0;
}

/* "java.lang.Thread.run"; stubs and other code of the JVM have no class. */
static frame_id intern_java(struct symbolizer *s, const struct java_frame *f)
{
	auto_str struct str name = { 0 };

	if (*f->class_name)
		str_addf(&name, "%s.", f->class_name);
	str_add(&name, f->method);
	if (frames_keeps_signatures(s->frames))
		java_signature_show(f->signature, &name);
	if (f->is_stale)
		str_add(&name, " (stale)");

	struct source_line source = { f->file, f->is_stale ? 0 : f->line };
	if (f->kind != FRAME_STUB && !f->is_native && !source.line)
		s->nr_without_line_now++;
	return note_named(s, frames_intern_line(s->frames, f->kind, name.at, "", source), true);
}

static bool add_java(struct symbolizer *s, const struct java_frame *frames, int nr, frame_list *out)
{
	for (int i = 0; i < nr; i++)
		vec_push(out, intern_java(s, &frames[i]));
	return nr > 0;
}

/* Asks both sources for some of the frames: their names must agree. */
static void cross_check(struct symbolizer *s, const struct process *p, const struct raw_frame *f,
			u64 time_ns, const struct java_frame *outside, int nr_outside)
{
	const struct java_frame *compiled = &outside[nr_outside - 1];
	struct java_frame agent[INLINE_FRAMES_MAX];

	if (compiled->kind == FRAME_STUB || s->nr_jvm_code++ % CROSS_CHECK_EVERY)
		return;
	int nr = agents_name(s->agents, p->jvm, f->at, time_ns, (u32)f->detail, agent,
			     INLINE_FRAMES_MAX);
	if (nr <= 0 || frames_agree(agent, nr, outside, nr_outside, f->is_leaf))
		return;
	s->nr_conflicts++;
	log_debug("pid %d pc %llx: agent %s.%s and %d in it, tables %s.%s and %d in it",
		  (int)p->id.pid, (unsigned long long)f->at, agent[nr - 1].class_name,
		  agent[nr - 1].method, nr - 1, compiled->class_name, compiled->method,
		  nr_outside - 1);
}

/* The tables name only the blob, which holds many routines; the agent may know the routine. */
static void name_routine(struct symbolizer *s, const struct process *p, const struct raw_frame *f,
			 u64 time_ns, struct java_frame *stub)
{
	struct java_frame routine;
	int nr = agents_name(s->agents, p->jvm, f->at - !f->is_leaf, time_ns, 0, &routine, 1);

	if (nr == 1 && routine.kind == FRAME_STUB)
		*stub = routine;
}

static struct code_pc code_pc(const struct raw_frame *f, const struct raw_stack *stack)
{
	return (struct code_pc){ f->at, stack->unloads, (u32)f->detail, f->is_leaf };
}

/* An nmethod has an id of its own. Other code has none, and the agent may name its routines later.
 */
static enum known_for how_long(const struct raw_frame *f, const struct java_frame *code)
{
	if (f->detail)
		return KNOWN_FOR_EVER;
	return code->kind == FRAME_STUB && !code->is_native ? KNOWN_FOR_A_MOMENT : KNOWN_FOR_NOW;
}

/*
 * Names code of a code heap. HotSpot's own tables know the present code, with tiers and inlining;
 * the compile id shows whether that was sampled. The agent knows the code at the sample's time.
 */
static bool name_jvm_code(struct symbolizer *s, const struct process *p, const struct raw_frame *f,
			  const struct raw_stack *stack, frame_list *out)
{
	struct java_frame now[INLINE_FRAMES_MAX], then[INLINE_FRAMES_MAX];
	struct hotspot *h = jvm_registry_find(s->jvms, p->jvm);
	int nr_now = 0, nr_then;

	if (h && (f->kind == RAW_JVM_CODE || hotspot_owns(h, f->at)))
		nr_now = hotspot_name_pc(h, code_pc(f, stack), now, INLINE_FRAMES_MAX);
	if (nr_now == 1 && now[0].is_blob)
		name_routine(s, p, f, stack->time_ns, &now[0]);
	s->lasts = KNOWN_FOR_NOW;
	if (nr_now > 0 && !now[0].is_stale) {
		s->lasts = how_long(f, &now[nr_now - 1]);
		cross_check(s, p, f, stack->time_ns, now, nr_now);
		s->leaf_is_inexact |= f->is_leaf && now[0].is_approximate;
		return add_java(s, now, nr_now, out);
	}
	nr_then = agents_name(s->agents, p->jvm, f->at, stack->time_ns, (u32)f->detail, then,
			      INLINE_FRAMES_MAX);
	/* Stale names are not used: the present code does not identify the earlier code. */
	return add_java(s, then, nr_then, out);
}

static void name_method(struct symbolizer *s, const struct process *p, const struct raw_frame *f,
			u64 unloads, frame_list *out)
{
	struct hotspot *h = jvm_registry_find(s->jvms, p->jvm);
	struct java_frame frame;
	int err = h ? hotspot_name_method(h, f->at, f->detail, unloads, &frame) : -ENOENT;

	/* A redefinition frees Methods, too (jvm/memory/method.c). */
	s->lasts = !err && unloads && !frame.is_stale ? KNOWN_FOR_A_MOMENT : KNOWN_FOR_NOW;
	if (!err)
		vec_push(out, intern_java(s, &frame));
	else
		vec_push(out,
			 intern(s, FRAME_INTERPRETED,
				err == -ESTALE ? "Interpreter (stale)" : "Interpreter", "", false));
}

/* Sets *frame if the process's perf map names the code; otherwise -ENOENT or -EAGAIN. */
static int name_generated(struct symbolizer *s, const struct process *p, u64 pc, frame_id *frame)
{
	const char *name;
	const struct generated_by by = { p->id, p->program_ns };

	s->lasts = KNOWN_FOR_NOW; /* the map may be written again */
	int err = generated_code_name(s->generated, by, pc, &name);

	if (err)
		return err;
	bool is_java = java_form_is_method(name, strlen(name));
	*frame = intern(s, is_java ? FRAME_C2 : FRAME_NATIVE, name, "", true);
	return 0;
}

/* As name_code. A file that is no program may be a runtime's code memory, too. */
static int name_code_of_file(struct symbolizer *s, const struct process *p, const struct mapping *m,
			     u64 pc, frame_id *frame)
{
	int of_file = cached_native(s, p, m, pc, frame);

	if (of_file != -ENOEXEC && of_file != -ENOENT)
		return of_file;
	int err = name_generated(s, p, pc, frame);
	bool is_code_memory = m->deleted && of_file == -ENOEXEC;
	return err == -ENOENT && !is_code_memory ? 0 : err;
}

/* As name_code. Memory that programs are loaded into without a file on disk has their names. */
static int name_code_of_memory(struct symbolizer *s, const struct process *p,
			       const struct mapping *m, u64 pc, frame_id *frame)
{
	int err = name_generated(s, p, pc, frame);

	if (!err || !m->inode)
		return err;
	int of_file = cached_native(s, p, m, pc, frame);
	return of_file == -ENOEXEC || of_file == -ENOENT || err == -EAGAIN ? err : of_file;
}

/*
 * *frame gets the code in mapping `m`, which may be NULL. -EAGAIN: a worker may find a better name.
 * -ENOENT: it has no name. Addresses of generated code mean nothing to users, and each would become
 * a frame of its own.
 */
static int name_code(struct symbolizer *s, const struct process *p, const struct mapping *m, u64 pc,
		     frame_id *frame)
{
	int err = -ENOENT;

	if (m)
		err = (generated_code_can_be_in(m) ? name_code_of_memory
						   : name_code_of_file)(s, p, m, pc, frame);
	if (err)
		s->lasts = KNOWN_FOR_NOW;
	if (err == -ENOENT || (err && generated_code_can_be_in(m)))
		*frame = intern(s, FRAME_UNKNOWN, m ? "[generated code]" : "[unknown]", "", false);
	return err;
}

/* Code heaps may be huge pages or shared memory, whose mappings have a path and an inode. */
static bool may_be_jvm_code(const struct process *p, const struct raw_frame *f,
			    const struct mapping *m)
{
	return p->is_jvm &&
	       (f->kind == RAW_JVM_CODE || !m || generated_code_can_be_in(m) || m->deleted);
}

/*
 * Adds the frame. *later gets the source of a name that may come, and the result is then false.
 */
static bool name_pc(struct symbolizer *s, const struct process *p, const struct raw_frame *f,
		    const struct raw_stack *stack, frame_list *out, enum name_source *later)
{
	u64 pc = f->is_leaf ? f->at : f->at - 1;
	const struct mapping *m = mappings_find(&p->mappings, pc);
	frame_id frame;

	*later = NAME_OF_CODE;
	if (may_be_jvm_code(p, f, m) && name_jvm_code(s, p, f, stack, out))
		return true;
	int err = name_code(s, p, m, pc, &frame);
	vec_push(out, frame);
	if (err == -EAGAIN)
		*later = NAME_IN_FILE;
	return !err || (err == -ENOENT && !p->is_jvm);
}

/* Returns false if the class may get a name later. */
static bool name_class(struct symbolizer *s, const struct process *p, u64 number, frame_list *out)
{
	const char *name = agents_class(s->agents, p->jvm, number);

	vec_push(out, intern(s, FRAME_CLASS, name ? name : "[unknown class]", "", name != NULL));
	return name || !number;
}

static void name_klass(struct symbolizer *s, const struct process *p, const struct raw_frame *f,
		       u64 unloads, frame_list *out)
{
	static const char *const places[] = {
		[OBJECT_SOMEWHERE] = "",
		[OBJECT_IN_TLAB] = "in TLAB",
		[OBJECT_OUTSIDE_TLAB] = "outside TLAB",
	};
	struct hotspot *h = jvm_registry_find(s->jvms, p->jvm);
	const char *name = NULL, *place = f->detail < ARRAY_SIZE(places) ? places[f->detail] : "";

	if (!h || hotspot_name_class(h, f->at, unloads, &name))
		name = NULL;
	vec_push(out, intern(s, FRAME_CLASS, name ? name : "[unknown class]", place, name != NULL));
}

/*
 * Returns false if the frame may get a name later; *later is then its source.
 */
static bool name_raw(struct symbolizer *s, const struct process *p, const struct raw_frame *f,
		     const struct raw_stack *stack, frame_list *out, enum name_source *later)
{
	s->lasts = KNOWN_FOR_EVER;
	switch (f->kind) {
	case RAW_PC:
	case RAW_JVM_CODE:
		return name_pc(s, p, f, stack, out, later);
	case RAW_METHOD:
		name_method(s, p, f, stack->unloads, out);
		return true;
	case RAW_INTERPRETER:
		vec_push(out, intern(s, FRAME_INTERPRETED, "Interpreter", "", false));
		return true;
	case RAW_CLASS:
		s->lasts = KNOWN_FOR_NOW;
		*later = NAME_OF_CLASS;
		return name_class(s, p, f->at, out);
	case RAW_KLASS:
		s->lasts = KNOWN_FOR_NOW;
		name_klass(s, p, f, stack->unloads, out);
		return true;
	case RAW_FROZEN:
		vec_push(out, intern(s, FRAME_GROUP, "[frozen frames]", "", true));
		return true;
	case RAW_SKIPPED:
		vec_push(out, intern(s, FRAME_GROUP, "[missing native frames]", "", true));
		return true;
	case RAW_KERNEL:
		vec_push(out, cached_kernel(s, f->at));
		return true;
	}
	return true;
}

/* A stack on its way through known_stacks_name. */
struct naming {
	struct symbolizer *s;
	const struct process *p;
	const struct raw_stack *stack;
	frame_list *out;
	unnamed_list *unnamed;
};

/* A known_name_fn. */
static void name_once(void *ctx, const struct raw_frame *f, frame_list *out,
		      struct known_name *name)
{
	const struct naming *n = ctx;
	enum name_source later;

	n->s->nr_without_line_now = 0;
	n->s->leaf_is_inexact = false;
	bool is_named = name_raw(n->s, n->p, f, n->stack, out, &later);
	name->nr_without_line = n->s->nr_without_line_now;
	name->is_inexact = n->s->leaf_is_inexact;
	name->lasts = is_named ? n->s->lasts : KNOWN_FOR_NOW;
	if (is_named || out != n->out)
		return;
	u64 at = later == NAME_IN_FILE && !f->is_leaf ? f->at - 1 : f->at;
	vec_push(n->unnamed, (struct unnamed_frame){ out->nr - 1, at, (u32)f->detail, later });
}

void symbolize(struct symbolizer *s, struct process *p, const struct raw_stack *stack,
	       frame_list *out, unnamed_list *unnamed)
{
	struct naming n = { s, p, stack, out, unnamed };
	struct known_stacks_sum sum = { 0 };

	process_refresh(p);
	known_stacks_name(&s->known, known_stacks_tree(&s->known, p, s->kernel_version), stack,
			  time_mono_ns(), name_once, &n, out, &sum);
	s->nr_without_line += sum.nr_without_line;
	s->leaf_is_inexact = sum.is_inexact;
	if (stack->nr_user &&
	    (stack->user[0].kind == RAW_CLASS || stack->user[0].kind == RAW_KLASS))
		plumbing_drop(s->frames, stack->nr_kernel + 1, out, unnamed);
}

void symbolize_early(struct symbolizer *s, const struct process *p, const struct raw_stack *stack)
{
	struct hotspot *h = p->is_jvm ? jvm_registry_find(s->jvms, p->jvm) : NULL;
	struct java_frame frames[INLINE_FRAMES_MAX];
	const char *name;

	if (!h)
		return;
	size_t known = known_stacks_nr_known(known_stacks_tree(&s->known, p, s->kernel_version),
					     stack, time_mono_ns());
	/* Names of these frames are cached in `h`, and looked up again below. */
	for (size_t i = 0; i + known < stack->nr_user; i++) {
		const struct raw_frame *f = &stack->user[i];
		if (f->kind == RAW_METHOD)
			hotspot_name_method(h, f->at, f->detail, stack->unloads, frames);
		else if (f->kind == RAW_JVM_CODE && f->detail)
			hotspot_name_pc(h, code_pc(f, stack), frames, INLINE_FRAMES_MAX);
		else if (f->kind == RAW_KLASS)
			hotspot_name_class(h, f->at, stack->unloads, &name);
	}
}

/* Replaces one frame by `nr` frames. */
static void replace_frame(struct symbolizer *s, frame_list *frames, size_t at,
			  const struct java_frame *by, size_t nr)
{
	vec_reserve(frames, nr - 1);
	memmove(frames->at + at + nr, frames->at + at + 1,
		(frames->nr - at - 1) * sizeof(frames->at[0]));
	frames->nr += nr - 1;
	s->nr_without_line_now = 0;
	for (size_t i = 0; i < nr; i++)
		frames->at[at + i] = intern_java(s, &by[i]);
	s->nr_without_line += s->nr_without_line_now;
}

/* Asks for a class; returns whether it has a name now. */
static bool name_class_again(struct symbolizer *s, const struct process *p,
			     const struct unnamed_frame *u, frame_list *frames)
{
	const char *name = agents_class(s->agents, p->jvm, u->pc);

	if (name)
		frames->at[u->at] = intern(s, FRAME_CLASS, name, "", true);
	return name;
}

/* Asks for code that a worker was looking up; returns whether it is done. */
static bool name_file_again(struct symbolizer *s, const struct process *p,
			    const struct unnamed_frame *u, frame_list *frames)
{
	const struct mapping *m = mappings_find(&p->mappings, u->pc);

	return !m || name_code(s, p, m, u->pc, &frames->at[u->at]) != -EAGAIN;
}

/* Asks for Java code; returns the number of frames that now stand in its place, 0 if it has no
 * name. */
static size_t name_code_again(struct symbolizer *s, const struct process *p, u64 time_ns,
			      const struct unnamed_frame *u, frame_list *frames)
{
	struct java_frame named[INLINE_FRAMES_MAX];
	int nr = agents_name(s->agents, p->jvm, u->pc, time_ns, u->compile_id, named,
			     INLINE_FRAMES_MAX);

	if (nr <= 0)
		return 0;
	replace_frame(s, frames, u->at, named, (size_t)nr);
	return (size_t)nr;
}

/* The number of frames in the place of the unnamed one; 0 if it has to wait. */
static size_t name_again(struct symbolizer *s, const struct process *p, u64 time_ns,
			 const struct unnamed_frame *u, frame_list *frames)
{
	switch (u->source) {
	case NAME_OF_CODE:
		return name_code_again(s, p, time_ns, u, frames);
	case NAME_OF_CLASS:
		return name_class_again(s, p, u, frames);
	case NAME_IN_FILE:
		return name_file_again(s, p, u, frames);
	}
	return 1;
}

size_t symbolize_again(struct symbolizer *s, const struct process *p, u64 time_ns,
		       frame_list *frames, unnamed_list *unnamed)
{
	/*
	 * Go from the root towards the leaf, so that the indexes of the remaining frames stay
	 * valid.
	 */
	for (size_t i = unnamed->nr; i-- > 0;) {
		struct unnamed_frame *u = &unnamed->at[i];
		size_t nr = name_again(s, p, time_ns, u, frames);
		if (!nr)
			continue;
		for (size_t k = i + 1; k < unnamed->nr; k++)
			unnamed->at[k].at += nr - 1;
		memmove(u, u + 1, (unnamed->nr - i - 1) * sizeof(*u));
		unnamed->nr--;
	}
	return unnamed->nr;
}

frame_id symbolizer_group(struct symbolizer *s, const char *name)
{
	return intern(s, FRAME_GROUP, name, "", true);
}

frame_id symbolizer_class(struct symbolizer *s, const char *name)
{
	return intern(s, FRAME_CLASS, name, "", true);
}

frame_id symbolizer_stripped(struct symbolizer *s, enum frame_kind kind, const char *name,
			     const char *module)
{
	frame_id id = intern(s, kind, name, module, false);

	return note(s, id, TRAIT_STRIPPED, TRAIT_STRIPPED);
}

void symbolizer_keep_addresses(struct symbolizer *s)
{
	s->keeps_addresses = true;
}

bool symbolizer_keeps_addresses(const struct symbolizer *s)
{
	return s->keeps_addresses;
}

bool symbolizer_is_named(const struct symbolizer *s, frame_id frame)
{
	return traits_of(s, frame) & TRAIT_NAMED;
}

bool symbolizer_is_inferred(const struct symbolizer *s, frame_id frame)
{
	return traits_of(s, frame) & TRAIT_INFERRED;
}

bool symbolizer_is_stripped(const struct symbolizer *s, frame_id frame)
{
	return traits_of(s, frame) & TRAIT_STRIPPED;
}

enum agent_part symbolizer_agent_part(const struct symbolizer *s, frame_id frame)
{
	return (enum agent_part)(traits_of(s, frame) >> TRAIT_AGENT_SHIFT);
}

bool symbolizer_is_plain(const struct symbolizer *s, const frame_list *frames)
{
	u32 of_all = TRAIT_NAMED, of_any = 0;

	vec_each(id, frames) {
		u32 traits = traits_of(s, *id);
		of_all &= traits;
		of_any |= traits;
	}
	return of_all && !(of_any & TRAIT_AGENT);
}

const char *symbolizer_kernel_error(const struct symbolizer *s)
{
	if (!s->kernel.err)
		return NULL;
	if (s->kernel.err != -EPERM)
		return "/proc/kallsyms cannot be read";
	return kernel_syms_are_hidden_from_all()
		       ? "kernel.kptr_restrict=2 hides kernel addresses from every process; "
			 "sysctl kernel.kptr_restrict=1 shows them to CAP_SYSLOG"
		       : "kernel addresses are hidden: CAP_SYSLOG shows them";
}

u64 symbolizer_nr_without_line(const struct symbolizer *s)
{
	return s->nr_without_line;
}

bool symbolizer_leaf_is_inexact(const struct symbolizer *s)
{
	return s->leaf_is_inexact;
}

u64 symbolizer_nr_conflicts(const struct symbolizer *s)
{
	return s->nr_conflicts;
}

const struct maps_left_out *symbolizer_maps_left_out(const struct symbolizer *s)
{
	return generated_code_left_out(s->generated);
}
