/* SPDX-License-Identifier: Apache-2.0 */
/* JVMs that refused the agent. */
#include "capture/refused.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/time.h"
#include "base/utf8.h"
#include "capture/recording_state.h"

#define NOTES_MAX 20

struct refused_visit {
	const struct recording *recording;
	refused_fn visit;
	void *ctx;
};

/* Whether the refusal was noted, for a JVM that the recording has sampled; NULL for others. */
static u64 *find_mark(const struct recording *r, pid_t pid)
{
	const struct process *p = processes_newest(r->node->processes, pid);

	return p ? dict_find(&r->jvms_seen, process_id_hash(p->id)) : NULL;
}

static void visit_agent(pid_t pid, enum agent_state state, const char *reason, void *ctx)
{
	const struct refused_visit *v = ctx;
	const struct process *p = processes_newest(v->recording->node->processes, pid);
	auto_str struct str comm = { 0 };

	if (state != AGENT_REFUSED || !find_mark(v->recording, pid))
		return;
	utf8_clean(&comm, p->comm, PROCESS_COMM_LEN * 3);
	v->visit(pid, comm.at ?: "java", reason, v->ctx);
}

void recording_each_refused(const struct recording *r, refused_fn visit, void *ctx)
{
	struct refused_visit v = { r, visit, ctx };

	if (r->needs_hooks)
		agents_each(r->node->agents, visit_agent, &v);
}

struct noting {
	struct recording *recording;
	struct profile *profile;
	u32 nr;
};

/* The second in the key keeps recordings of the same process apart when they are merged. */
static void note(pid_t pid, const char *comm, const char *reason, void *ctx)
{
	struct noting *n = ctx;
	u64 *is_noted = find_mark(n->recording, pid);

	if (*is_noted || n->nr++ >= NOTES_MAX)
		return;
	*is_noted = 1;
	auto_free char *key =
		xasprintf(NOTE_INCOMPLETE "refused-%d-%llu", (int)pid,
			  (unsigned long long)(n->profile->start_wall_ns / NS_PER_SEC));
	auto_free char *text =
		xasprintf("JVM without the agent, %s-%d: %s", comm, (int)pid, reason);
	profile_note(n->profile, key, text, 1);
}

void refused_note(struct recording *r, struct cut *c)
{
	struct noting n = { r, c->profile, 0 };

	recording_each_refused(r, note, &n);
}
