/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of virtual threads that are not mounted on a carrier. */
#include "capture/samples/virtual_waits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/programs/node_programs.h"
#include "jvm/hotspot/hotspot.h"
#include "jvm/hotspot/virtual_threads.h"
#include "proc/mem.h"
#include "stat.h"

#define LOOK_LEAST_NS  (20 * NS_PER_MS) /* from one look at a JVM to the next, in the mean */
#define LOOK_MOST_NS   (500 * NS_PER_MS)
#define CPU_SHARE      100  /* looks at a JVM take one part in so many of a CPU .. */
#define CPU_SHARE_MOST 50   /* .. and never more than this one, however long a look takes */
#define THREADS        64   /* in one look */
#define NAMES_MAX      2048 /* names of threads in a JVM; digits of others become "*" */
#define FRAMES_MAX     1024

/* How the states of a look were read. */
enum caught {
	CAUGHT_LATE,      /* after the recorder had taken a CPU */
	CAUGHT_RUNNING,   /* by the timer: nothing was disturbed */
	CAUGHT_ELSEWHERE, /* at once, on another CPU */
	CAUGHT_STILL,     /* the JVM ran on no CPU */
};

/* A JVM that was looked at. */
struct watched {
	struct process_id id;
	u64 looked_ns; /* at first: the turn before it was wanted */
	u64 turn;      /* the last one in which it was wanted */
	u64 next_ns;   /* when to look again */
	u64 cost_ns;   /* of a look, in the mean */
	u64 nr_looks;
	struct dict names; /* of threads, by hash */
	bool has_threads;
	/* Of the next look: */
	int place;     /* of struct virtual_states; -1: none */
	u64 caught_ns; /* 0: not due */
	enum caught how;
	bool is_planned;
};

struct virtual_waits {
	VEC(struct watched) jvms;
	u64 turn, turned_ns, before_ns; /* the last turn, and the one before it */
	struct sample *sample;          /* with room for FRAMES_MAX frames */
	struct virtual_states *states;  /* NULL: not needed so far, or impossible */
	bool has_tried;                 /* to open them */
};

/* The turn under way. */
struct turn {
	struct virtual_waits *w;
	struct jvm_registry *jvms;
	virtual_wanted_fn wants;
	virtual_sample_fn visit;
	void *ctx;
	bool is_last;
	/* Of the JVM that is being looked at: */
	struct process *process;
	struct watched *jvm;
	u64 time_ns, unloads;
};

struct virtual_waits *virtual_waits_new(void)
{
	struct virtual_waits *w = xcalloc(1, sizeof(*w));

	w->sample = xcalloc(1, sizeof(*w->sample) + FRAMES_MAX * sizeof(struct user_frame));
	return w;
}

void virtual_waits_free(struct virtual_waits *w)
{
	if (!w)
		return;
	vec_each(jvm, &w->jvms)
		dict_fini(&jvm->names);
	vec_fini(&w->jvms);
	virtual_states_close(w->states);
	free(w->sample);
	free(w);
}

int virtual_waits_due_ms(struct virtual_waits *w, int most_ms)
{
	u64 now = time_mono_ns();

	vec_each(jvm, &w->jvms) {
		u64 left_ns = jvm->next_ns > now ? jvm->next_ns - now : 0;
		int left_ms = (int)(left_ns / NS_PER_MS) + 1;
		if (jvm->has_threads && left_ms <= most_ms)
			most_ms = left_ms;
	}
	vec_each(jvm, &w->jvms) {
		u64 wakes_ns = now + (u64)most_ms * NS_PER_MS;
		if (jvm->is_planned && wakes_ns >= jvm->next_ns)
			virtual_states_arm(w->states, (u32)jvm->place, wakes_ns - now);
	}
	return most_ms;
}

static struct watched *watched_of(struct virtual_waits *w, struct process_id id)
{
	vec_each(jvm, &w->jvms)
		if (process_id_same(jvm->id, id))
			return jvm;
	vec_push(&w->jvms, (struct watched){ .id = id, .looked_ns = w->before_ns, .place = -1 });
	return &w->jvms.at[w->jvms.nr - 1];
}

/* Names with numbers may be as many as threads: from a number on, all share one. */
static void limit_names(struct watched *jvm, char *out)
{
	u64 hash = hash_keyed(out, strlen(out));
	if (dict_find(&jvm->names, hash))
		return;
	if (jvm->names.nr < NAMES_MAX) {
		*dict_add(&jvm->names, hash) = 1;
		return;
	}
	char *to = out;
	for (const char *from = out; *from; from++) {
		bool is_digit = *from >= '0' && *from <= '9';
		if (!is_digit)
			*to++ = *from;
		else if (to == out || to[-1] != '*')
			*to++ = '*';
	}
	*to = '\0';
}

static void add_name(struct watched *jvm, const struct virtual_thread *t, char *out, size_t size)
{
	if (*t->name)
		snprintf(out, size, "%s", t->name);
	else
		snprintf(out, size, "VirtualThread-%llu", (unsigned long long)t->id);
	limit_names(jvm, out);
}

static enum thread_state state_of(enum virtual_state state)
{
	return state == VIRTUAL_RUNNABLE || state == VIRTUAL_UNBLOCKED ? STATE_RUNNABLE
								       : STATE_SLEEPING;
}

static void take_thread(const struct virtual_thread *t, void *ctx)
{
	const struct turn *turn = ctx;
	struct sample *s = turn->w->sample;
	u32 nr = t->nr_frames < FRAMES_MAX ? t->nr_frames : FRAMES_MAX;
	char name[VIRTUAL_NAME_MAX + 32], owner[VIRTUAL_NAME_MAX + 32],
		executor[VIRTUAL_NAME_MAX + 32];

	add_name(turn->jvm, t, name, sizeof(name));
	copy_text(owner, sizeof(owner), t->owner ?: "");
	limit_names(turn->jvm, owner);
	copy_text(executor, sizeof(executor), t->executor ?: "");
	limit_names(turn->jvm, executor);
	bool is_own_name = !strchr(name, '*');
	*s = (struct sample){ .kind = RECORD_VIRTUAL,
			      .stop = t->is_complete ? STAT_ROOT : STAT_FROZEN,
			      .task = { (u32)turn->process->id.pid,
					VIRTUAL_TID + (is_own_name ? (u32)t->id : 0),
					turn->process->id.start_ns },
			      .time_ns = turn->time_ns,
			      .state = state_of(t->state),
			      .cpu = t->state,
			      .nr_user = (u16)nr,
			      .unloads = turn->unloads };
	memcpy(s->comm, turn->process->comm, sizeof(s->comm) - 1);
	memcpy(s + 1, t->frames, nr * sizeof(t->frames[0]));
	const struct virtual_sample out = { .sample = s,
					    .thread = name,
					    .lock = t->lock,
					    .owner = t->owner ? owner : NULL,
					    .executor = t->executor ? executor : NULL,
					    .share = t->share,
					    .is_late = turn->jvm->how == CAUGHT_LATE,
					    .since_ns = turn->jvm->looked_ns,
					    .time_ns = turn->time_ns };
	turn->visit(turn->process, &out, turn->ctx);
}

/*
 * When to look again, from what the looks cost. At random, because programs may also do their work
 * every so many milliseconds.
 */
static void plan(struct watched *jvm, u64 cost_ns, u64 now_ns)
{
	jvm->cost_ns = jvm->cost_ns ? jvm->cost_ns - jvm->cost_ns / 4 + cost_ns / 4 : cost_ns;
	u64 interval_ns = jvm->cost_ns * CPU_SHARE;
	interval_ns = interval_ns < LOOK_LEAST_NS  ? LOOK_LEAST_NS
		      : interval_ns > LOOK_MOST_NS ? LOOK_MOST_NS
						   : interval_ns;
	if (interval_ns < jvm->cost_ns * CPU_SHARE_MOST)
		interval_ns = jvm->cost_ns * CPU_SHARE_MOST;
	jvm->next_ns = now_ns + interval_ns / 2 + (u64)(drand48() * (double)interval_ns);
}

/* Has BPF read the states of the next look, once that is due. */
static void plan_states(struct virtual_waits *w, struct watched *jvm, struct virtual_threads *v)
{
	bool is_used[VIRTUAL_PLACES] = { false };

	jvm->is_planned = false;
	if (!jvm->has_threads)
		return;
	if (!w->has_tried)
		virtual_states_open(&w->states);
	w->has_tried = true;
	vec_each(other, &w->jvms)
		if (other->place >= 0)
			is_used[other->place] = true;
	for (int i = 0; i < VIRTUAL_PLACES && jvm->place < 0; i++)
		jvm->place = is_used[i] ? -1 : i;
	if (!w->states || jvm->place < 0)
		return;
	struct virtual_place *place = virtual_states_place(w->states, (u32)jvm->place);
	place->is_armed = place->is_taken = 0;
	place->pid = (u32)jvm->id.pid;
	jvm->is_planned = virtual_threads_plan(v, THREADS, place);
}

/* Whether the next look at the JVM is due. */
static void catch (struct virtual_waits *w, struct watched *jvm, u64 now)
{
	const struct virtual_place *p =
		jvm->is_planned ? virtual_states_place(w->states, (u32)jvm->place) : NULL;
	bool has_expired = p && !__atomic_load_n(&p->is_armed, __ATOMIC_SEQ_CST);

	if (p && has_expired && p->is_taken) {
		jvm->how = CAUGHT_RUNNING;
	} else if (p) {
		int err = virtual_states_take(w->states, (u32)jvm->place);
		jvm->how = !err ? CAUGHT_ELSEWHERE : err == -ESRCH ? CAUGHT_STILL : CAUGHT_LATE;
	} else {
		jvm->how = CAUGHT_LATE;
	}
	jvm->caught_ns = now;
}

void virtual_waits_catch(struct virtual_waits *w, bool is_last)
{
	u64 now = time_mono_ns();

	vec_each(jvm, &w->jvms) {
		jvm->caught_ns = 0;
		if (is_last || now >= jvm->next_ns)
			catch (w, jvm, now);
	}
}

static void look(struct turn *turn, struct hotspot *h, struct virtual_threads *v, bool locks)
{
	struct watched *jvm = turn->jvm;
	const bool is_caught =
		jvm->is_planned && (jvm->how == CAUGHT_RUNNING || jvm->how == CAUGHT_ELSEWHERE);
	const struct virtual_look wanted = {
		.most = THREADS,
		.locks = locks,
		.seen = is_caught ? virtual_states_place(turn->w->states, (u32)jvm->place) : NULL,
		.visit = take_thread,
		.ctx = turn,
	};
	static const char *const names[] = { "late", "by the timer", "on another CPU",
					     "of a JVM that stood still" };
	struct virtual_counts counts;
	u64 worked_ns = time_worked_ns() + mem_readers_worked_ns();

	turn->time_ns = jvm->caught_ns ?: time_mono_ns();
	turn->unloads = hotspot_unloads(h);
	int err = virtual_threads_look(v, h, &wanted, &counts);
	u64 cost_ns = time_worked_ns() + mem_readers_worked_ns() - worked_ns;
	jvm->has_threads = !err && counts.nr_read;
	/* The first look also reads code and names, which are kept. */
	plan(jvm, jvm->nr_looks++ ? cost_ns : 0, turn->time_ns);
	plan_states(turn->w, jvm, v);
	if (err)
		return;
	double unmounted = 0;
	for (int state = VIRTUAL_RUNNABLE; state < NR_VIRTUAL_STATES; state++)
		unmounted += counts.nr[state];
	log_debug("JVM %d: looked at %llu virtual threads in %.2f ms, %llu changed, %llu objects "
		  "left out, states %s, next in %.0f ms, %.0f without a carrier for %.2f ms",
		  (int)jvm->id.pid, (unsigned long long)counts.nr_read, (double)cost_ns / NS_PER_MS,
		  (unsigned long long)counts.nr_changed, (unsigned long long)counts.nr_left_out,
		  is_caught && counts.nr_late ? "partly late" : names[jvm->how],
		  (double)(jvm->next_ns - turn->time_ns) / NS_PER_MS, unmounted,
		  (double)(turn->time_ns - jvm->looked_ns) / NS_PER_MS);
	jvm->looked_ns = turn->time_ns;
}

static void look_at_process(struct process *p, void *ctx)
{
	struct turn *turn = ctx;

	if (!p->is_jvm || p->exit_ns || !process_is_whole_jvm(p))
		return;
	struct hotspot *h = jvm_registry_find(turn->jvms, p->id);
	struct virtual_threads *v = jvm_registry_virtual(turn->jvms, p->id);
	enum virtual_wants wants = h && v ? turn->wants(p, turn->ctx) : VIRTUAL_WANTS_NONE;
	if (wants == VIRTUAL_WANTS_NONE)
		return;
	turn->process = p;
	turn->jvm = watched_of(turn->w, p->id);
	turn->jvm->turn = turn->w->turn;
	if (turn->is_last || turn->jvm->caught_ns || !turn->jvm->next_ns)
		look(turn, h, v, wants == VIRTUAL_WANTS_LOCKS);
}

static void forget_others(struct virtual_waits *w)
{
	size_t kept = 0;

	vec_each(jvm, &w->jvms) {
		if (jvm->turn == w->turn)
			w->jvms.at[kept++] = *jvm;
		else
			dict_fini(&jvm->names);
	}
	w->jvms.nr = kept;
}

void virtual_waits_turn(struct virtual_waits *w, struct processes *all, struct jvm_registry *jvms,
			bool is_last, virtual_wanted_fn wants, virtual_sample_fn take, void *ctx)
{
	struct turn turn = {
		.w = w, .jvms = jvms, .wants = wants, .visit = take, .ctx = ctx, .is_last = is_last
	};
	u64 now = time_mono_ns();

	w->before_ns = w->turned_ns;
	w->turned_ns = now;
	w->turn++;
	processes_each(all, look_at_process, &turn);
	forget_others(w);
}
