/* SPDX-License-Identifier: Apache-2.0 */
/* From the addresses of a stack to named frames. */
#include "sym/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "elf/debugfile.h"
#include "proc/status.h"
#include "sym/agree.h"
#include "sym/kernel.h"
#include "sym/native.h"
#include "sym/perfmap.h"

#define NATIVE_BUDGET_BYTES (24 * 1024 * 1024)
#define KERNEL_REFRESH_NS   NS_PER_SEC
#define PERFMAPS_MAX        64 /* processes, each with up to 64 MB of text */
#define PERFMAP_REFRESH_NS  NS_PER_SEC
#define CROSS_CHECK_EVERY   16 /* frames of compiled code */
#define INLINE_FRAMES_MAX   64
#define PROCESS_FRAMES_MAX  (256 * 1024) /* cached pcs of one process */

/* What /tmp/perf-PID.map said when it was read last. */
struct known_perfmap {
	struct perfmap *map; /* NULL if there is none */
	u64 start_ns;        /* of the process */
	u64 read_ns;
};

struct symbolizer {
	struct frames *frames;
	struct jvms *jvms;
	struct agents *agents;
	struct kernel_syms *kernel; /* NULL if it cannot be read */
	int kernel_err;
	u64 kernel_read_ns;
	struct native *native;
	struct dict kernel_frames; /* pc -> frame + 1 */
	struct dict perfmaps;      /* pid -> struct known_perfmap * */
	u64 nr_jvm_code, nr_conflicts, nr_without_line;
	VEC(bool) named; /* by frame */
};

struct symbolizer *symbolizer_new(struct frames *frames, struct jvms *jvms, struct agents *agents)
{
	struct symbolizer *s = xcalloc(1, sizeof(*s));

	s->frames = frames;
	s->jvms = jvms;
	s->agents = agents;
	s->native = native_new(NATIVE_BUDGET_BYTES, DEBUG_ROOT);
	return s;
}

static void forget_perfmaps(struct symbolizer *s)
{
	dict_each(slot, &s->perfmaps) {
		struct known_perfmap *known = (void *)slot->value;
		perfmap_free(known->map);
		free(known);
	}
	dict_fini(&s->perfmaps);
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	kernel_syms_free(s->kernel);
	native_free(s->native);
	dict_fini(&s->kernel_frames);
	forget_perfmaps(s);
	vec_fini(&s->named);
	free(s);
}

static enum frame_kind kind_of(const struct symbolizer *s, frame_id frame)
{
	return frames_get(s->frames, frame)->kind;
}

static frame_id note_named(struct symbolizer *s, frame_id id, bool named)
{
	while (s->named.nr <= id)
		vec_push(&s->named, false);
	s->named.at[id] = named;
	return id;
}

static frame_id intern(struct symbolizer *s, enum frame_kind kind, const char *name,
		       const char *module, bool named)
{
	return note_named(s, frames_intern(s->frames, kind, name, module), named);
}

/* "[module]+0x1f": what is known of an address without a symbol. */
static frame_id intern_offset(struct symbolizer *s, enum frame_kind kind, const char *module,
			      u64 offset)
{
	auto_str struct str name = { 0 };

	if (module[0] == '[')
		str_addf(&name, "%s+0x%llx", module, (unsigned long long)offset);
	else
		str_addf(&name, "[%s]+0x%llx", module, (unsigned long long)offset);
	return intern(s, kind, name.at, module, false);
}

/* Read at the first kernel frame, so that sampling need not wait for it; again for what came since.
 */
static const char *find_kernel(struct symbolizer *s, u64 pc, const char **module)
{
	u64 offset, now = time_mono_ns();

	if (!s->kernel_read_ns)
		s->kernel_err = kernel_syms_read(&s->kernel);
	const char *symbol = s->kernel ? kernel_syms_find(s->kernel, pc, module, &offset) : NULL;
	if (!symbol && s->kernel && s->kernel_read_ns &&
	    now - s->kernel_read_ns > KERNEL_REFRESH_NS) {
		kernel_syms_refresh(s->kernel);
		s->kernel_read_ns = now;
		symbol = kernel_syms_find(s->kernel, pc, module, &offset);
	}
	if (!s->kernel_read_ns)
		s->kernel_read_ns = now;
	return symbol;
}

static frame_id name_kernel(struct symbolizer *s, u64 pc)
{
	const char *module = "", *symbol = find_kernel(s, pc, &module);

	return symbol ? intern(s, FRAME_KERNEL, symbol, module, true)
		      : intern(s, FRAME_KERNEL, "[kernel]", "", false);
}

static frame_id cached_kernel(struct symbolizer *s, u64 pc)
{
	u64 *frame = dict_add(&s->kernel_frames, pc);

	if (!*frame)
		*frame = name_kernel(s, pc) + 1ull;
	return (frame_id)(*frame - 1);
}

static frame_id name_native(struct symbolizer *s, const struct process *p, const struct mapping *m,
			    u64 pc)
{
	struct native_name name;

	native_name(s->native, p->pid, m, pc, &name);
	enum frame_kind kind = name.is_libjvm ? FRAME_JVM : FRAME_NATIVE;
	if (name.symbol)
		return intern(s, kind, name.symbol, name.module, true);
	return intern_offset(s, kind, name.module, name.function);
}

static frame_id cached_native(struct symbolizer *s, struct process *p, const struct mapping *m,
			      u64 pc)
{
	if (p->frames.nr > PROCESS_FRAMES_MAX)
		dict_fini(&p->frames);

	u64 *frame = dict_add(&p->frames, pc);
	if (!*frame)
		*frame = name_native(s, p, m, pc) + 1ull;
	return (frame_id)(*frame - 1);
}

/* "java.lang.Thread.run"; stubs and other code of the VM have no class. */
static frame_id intern_java(struct symbolizer *s, const struct java_frame *f)
{
	auto_str struct str name = { 0 };

	if (*f->class_name)
		str_addf(&name, "%s.", f->class_name);
	str_add(&name, f->method);
	if (f->is_stale)
		str_add(&name, " (stale)");

	struct source_line source = { f->file, f->is_stale ? 0 : f->line };
	if (f->kind != FRAME_STUB && !f->is_native && !source.line)
		s->nr_without_line++;
	return note_named(s, frames_intern_line(s->frames, f->kind, name.at, "", source), true);
}

static bool add_java(struct symbolizer *s, const struct java_frame *frames, int nr, frame_list *out)
{
	for (int i = 0; i < nr; i++)
		vec_push(out, intern_java(s, &frames[i]));
	return nr > 0;
}

/* Now and then asks both for the same code: they must not tell different stories. */
static void cross_check(struct symbolizer *s, const struct process *p, const struct raw_frame *f,
			u64 time_ns, const struct java_frame *outside, int nr_outside)
{
	const struct java_frame *compiled = &outside[nr_outside - 1];
	struct java_frame agent[INLINE_FRAMES_MAX];

	if (compiled->kind == FRAME_STUB || s->nr_jvm_code++ % CROSS_CHECK_EVERY)
		return;
	int nr = agents_name(s->agents, p->jvm_pid, p->jvm_start_ns, f->at, time_ns, (u32)f->detail,
			     agent, INLINE_FRAMES_MAX);
	if (nr <= 0 || frames_agree(agent, nr, outside, nr_outside, f->is_leaf))
		return;
	s->nr_conflicts++;
	log_debug("pid %d pc %llx: agent %s.%s and %d in it, tables %s.%s and %d in it",
		  (int)p->pid, (unsigned long long)f->at, agent[nr - 1].class_name,
		  agent[nr - 1].method, nr - 1, compiled->class_name, compiled->method,
		  nr_outside - 1);
}

/*
 * Code of a code heap: HotSpot's own tables know what stands there now, with tiers and inlining,
 * and the compile id tells whether it is what was sampled; the agent knows what stood there then.
 */
static bool name_jvm_code(struct symbolizer *s, const struct process *p, const struct raw_frame *f,
			  u64 time_ns, frame_list *out)
{
	struct java_frame now[INLINE_FRAMES_MAX], then[INLINE_FRAMES_MAX];
	struct hotspot *h = jvms_find(s->jvms, p->jvm_pid, p->jvm_start_ns);
	int nr_now = 0, nr_then;

	if (h && (f->kind == RAW_JVM_CODE || hotspot_owns(h, f->at)))
		nr_now = hotspot_name_pc(h, f->at, (u32)f->detail, f->is_leaf, now,
					 INLINE_FRAMES_MAX);
	if (nr_now > 0 && !now[0].is_stale) {
		cross_check(s, p, f, time_ns, now, nr_now);
		return add_java(s, now, nr_now, out);
	}
	nr_then = agents_name(s->agents, p->jvm_pid, p->jvm_start_ns, f->at, time_ns,
			      (u32)f->detail, then, INLINE_FRAMES_MAX);
	/* What stands there now is no guess at what stood there then. */
	return add_java(s, then, nr_then, out);
}

static void name_method(struct symbolizer *s, const struct process *p, const struct raw_frame *f,
			u64 unloads, frame_list *out)
{
	struct hotspot *h = jvms_find(s->jvms, p->jvm_pid, p->jvm_start_ns);
	struct java_frame frame;
	int err = h ? hotspot_name_method(h, f->at, f->detail, unloads, &frame) : -ENOENT;

	if (!err)
		vec_push(out, intern_java(s, &frame));
	else
		vec_push(out,
			 intern(s, FRAME_INTERPRETED,
				err == -ESTALE ? "Interpreter (stale)" : "Interpreter", "", false));
}

/* Runtimes other than HotSpot may tell perf what they generate. */
static const char *name_generated(struct symbolizer *s, const struct process *p, u64 pc)
{
	if (s->perfmaps.nr > PERFMAPS_MAX)
		forget_perfmaps(s);

	u64 *slot = dict_add(&s->perfmaps, (u64)p->pid), now = time_mono_ns();
	struct known_perfmap *known = (void *)*slot;

	if (!known)
		*slot = (u64)(known = xcalloc(1, sizeof(*known)));
	const char *name = known->map && proc_same_start(known->start_ns, p->start_ns)
				   ? perfmap_find(known->map, pc)
				   : NULL;
	if (name || (known->read_ns && now - known->read_ns < PERFMAP_REFRESH_NS))
		return name;

	perfmap_free(take(known->map));
	known->read_ns = now;
	known->start_ns = p->start_ns;
	return perfmap_read(p->pid, &known->map) ? NULL : perfmap_find(known->map, pc);
}

/* Returns whether the frame has a name or never will have one. */
static bool name_pc(struct symbolizer *s, struct process *p, const struct raw_frame *f, u64 time_ns,
		    frame_list *out)
{
	u64 pc = f->is_leaf ? f->at : f->at - 1;
	const struct mapping *m = mappings_find(&p->mappings, pc);

	if (m && (m->inode || m->path[0] == '[')) {
		vec_push(out, cached_native(s, p, m, pc));
		return true;
	}
	if (p->is_jvm && name_jvm_code(s, p, f, time_ns, out))
		return true;
	const char *name = m ? name_generated(s, p, pc) : NULL;
	if (name) {
		vec_push(out, intern(s, FRAME_NATIVE, name, "", true));
		return true;
	}
	/* Generated code; its addresses tell nobody anything, and each would be a frame. */
	vec_push(out, intern(s, FRAME_UNKNOWN, m ? "[generated code]" : "[unknown]", "", false));
	return !p->is_jvm;
}

/* Returns whether the class has a name or never will have one. */
static bool name_class(struct symbolizer *s, const struct process *p, u64 number, frame_list *out)
{
	const char *name = agents_class(s->agents, p->jvm_pid, p->jvm_start_ns, number);

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
	struct hotspot *h = jvms_find(s->jvms, p->jvm_pid, p->jvm_start_ns);
	const char *name = NULL, *place = f->detail < ARRAY_SIZE(places) ? places[f->detail] : "";

	if (!h || hotspot_name_class(h, f->at, unloads, &name))
		name = NULL;
	vec_push(out, intern(s, FRAME_CLASS, name ? name : "[unknown class]", place, name != NULL));
}

static bool name_user(struct symbolizer *s, struct process *p, const struct raw_frame *f,
		      const struct raw_stack *stack, frame_list *out)
{
	switch (f->kind) {
	case RAW_PC:
	case RAW_JVM_CODE:
		return name_pc(s, p, f, stack->time_ns, out);
	case RAW_METHOD:
		name_method(s, p, f, stack->unloads, out);
		return true;
	case RAW_INTERPRETER:
		vec_push(out, intern(s, FRAME_INTERPRETED, "Interpreter", "", true));
		return true;
	case RAW_CLASS:
		return name_class(s, p, f->at, out);
	case RAW_KLASS:
		name_klass(s, p, f, stack->unloads, out);
		return true;
	case RAW_FROZEN:
		vec_push(out, intern(s, FRAME_GROUP, "[frozen frames]", "", true));
		return true;
	}
	return true;
}

/* Stubs have no class; wrappers of native methods do, and are what was called. */
static bool is_of_jvm(const struct symbolizer *s, frame_id frame)
{
	const struct frame *f = frames_get(s->frames, frame);

	return f->kind == FRAME_JVM || (f->kind == FRAME_STUB && !strchr(f->name, '.'));
}

/*
 * From a class to the Java frame that asked for an object of it: the agent, libjvm and its stubs.
 * They are the same for all and hide who asked.
 */
static void drop_plumbing(struct symbolizer *s, size_t first, frame_list *frames,
			  unnamed_list *unnamed)
{
	size_t end = first, nr;

	while (end < frames->nr && kind_of(s, frames->at[end]) == FRAME_NATIVE)
		end++;
	size_t agent_end = end;
	while (end < frames->nr && is_of_jvm(s, frames->at[end]))
		end++;
	if (end == frames->nr || end == agent_end)
		return;
	nr = end - first;
	memmove(frames->at + first, frames->at + end, (frames->nr - end) * sizeof(frames->at[0]));
	frames->nr -= nr;
	vec_each(u, unnamed)
		u->at -= u->at >= end ? nr : 0;
}

void symbolize(struct symbolizer *s, struct process *p, const struct raw_stack *stack,
	       frame_list *out, unnamed_list *unnamed)
{
	process_refresh(p);
	for (size_t i = 0; i < stack->nr_kernel; i++)
		vec_push(out, cached_kernel(s, stack->kernel[i] - (i > 0)));
	for (size_t i = 0; i < stack->nr_user; i++) {
		const struct raw_frame *f = &stack->user[i];
		if (!name_user(s, p, f, stack, out))
			vec_push(unnamed,
				 (struct unnamed_frame){ out->nr - 1, f->at, (u32)f->detail,
							 f->kind == RAW_CLASS });
	}
	if (stack->nr_user && stack->user[0].kind >= RAW_CLASS)
		drop_plumbing(s, stack->nr_kernel + 1, out, unnamed);
}

void symbolize_early(struct symbolizer *s, const struct process *p, const struct raw_stack *stack)
{
	struct hotspot *h = p->is_jvm ? jvms_find(s->jvms, p->jvm_pid, p->jvm_start_ns) : NULL;
	struct java_frame frames[INLINE_FRAMES_MAX];
	const char *name;

	/* The JVM's memory of names is asked again later. */
	for (size_t i = 0; h && i < stack->nr_user; i++) {
		const struct raw_frame *f = &stack->user[i];
		if (f->kind == RAW_METHOD)
			hotspot_name_method(h, f->at, f->detail, stack->unloads, frames);
		else if (f->kind == RAW_JVM_CODE && f->detail)
			hotspot_name_pc(h, f->at, (u32)f->detail, f->is_leaf, frames,
					INLINE_FRAMES_MAX);
		else if (f->kind == RAW_KLASS)
			hotspot_name_class(h, f->at, stack->unloads, &name);
	}
}

/* Puts `nr` frames in the place of one. */
static void replace_frame(struct symbolizer *s, frame_list *frames, size_t at,
			  const struct java_frame *by, size_t nr)
{
	vec_reserve(frames, nr - 1);
	memmove(frames->at + at + nr, frames->at + at + 1,
		(frames->nr - at - 1) * sizeof(frames->at[0]));
	frames->nr += nr - 1;
	for (size_t i = 0; i < nr; i++)
		frames->at[at + i] = intern_java(s, &by[i]);
}

/* Returns whether the class has a name now. */
static bool name_class_again(struct symbolizer *s, const struct process *p, unnamed_list *unnamed,
			     size_t i, frame_list *frames)
{
	struct unnamed_frame *u = &unnamed->at[i];
	const char *name = agents_class(s->agents, p->jvm_pid, p->jvm_start_ns, u->pc);

	if (!name)
		return false;
	frames->at[u->at] = intern(s, FRAME_CLASS, name, "", true);
	memmove(u, u + 1, (unnamed->nr - i - 1) * sizeof(*u));
	unnamed->nr--;
	return true;
}

size_t symbolize_again(struct symbolizer *s, const struct process *p, u64 time_ns,
		       frame_list *frames, unnamed_list *unnamed)
{
	struct java_frame named[INLINE_FRAMES_MAX];
	size_t left = 0;

	/* From the root's end on, so that the places before stay where they are. */
	for (size_t i = unnamed->nr; i-- > 0;) {
		struct unnamed_frame *u = &unnamed->at[i];
		if (u->is_class) {
			left += !name_class_again(s, p, unnamed, i, frames);
			continue;
		}
		int nr = agents_name(s->agents, p->jvm_pid, p->jvm_start_ns, u->pc, time_ns,
				     u->compile_id, named, INLINE_FRAMES_MAX);
		if (nr <= 0) {
			left++;
			continue;
		}
		replace_frame(s, frames, u->at, named, (size_t)nr);
		for (size_t k = i + 1; k < unnamed->nr; k++)
			unnamed->at[k].at += (size_t)nr - 1;
		memmove(u, u + 1, (unnamed->nr - i - 1) * sizeof(*u));
		unnamed->nr--;
	}
	return left;
}

frame_id symbolizer_group(struct symbolizer *s, const char *name)
{
	return intern(s, FRAME_GROUP, name, "", true);
}

frame_id symbolizer_class(struct symbolizer *s, const char *name)
{
	return intern(s, FRAME_CLASS, name, "", true);
}

bool symbolizer_is_named(const struct symbolizer *s, frame_id frame)
{
	return frame < s->named.nr && s->named.at[frame];
}

const char *symbolizer_kernel_error(const struct symbolizer *s)
{
	if (!s->kernel_err)
		return NULL;
	return s->kernel_err == -EPERM ? "kernel addresses are hidden: CAP_SYSLOG shows them"
				       : "/proc/kallsyms cannot be read";
}

u64 symbolizer_nr_without_line(const struct symbolizer *s)
{
	return s->nr_without_line;
}

u64 symbolizer_nr_conflicts(const struct symbolizer *s)
{
	return s->nr_conflicts;
}
