/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the JVM to attach to next. */
#include "jvm/agent/turns.h"

#include "base/time.h"
#include "jvm/agent/agents_entry.h"

#define PLACES      16
#define USER_PLACES (PLACES / 4)
/* places for processes without a VM, of all users; each user but root gets one of them */
#define NOVM_PLACES (PLACES / 4)

/*
 * A user's attaches without success may take this long, and a tenth of the time afterwards. Root is
 * exempt: root can hold up the recorder without an attach, too.
 */
#define CREDIT_NS  (30 * NS_PER_SEC)
#define CREDIT_DIV 10

#define WAITING_MAX 8 /* most processes left waiting for memory, of a user other than root */

void turns_charge(struct agents *a, const struct agents_entry *e, u64 took_ns)
{
	users_find(a, e->uid)->failed_ns += took_ns;
}

void turns_leave(struct agents *a, const struct agents_entry *e, pid_t pid)
{
	struct proc_status status;

	if (e->uid && pid > 0 && !proc_status_read(pid, &status))
		vec_push(&users_find(a, e->uid)->waiting, proc_status_id(&status));
}

bool turns_wait_for_memory(struct agents *a, const struct agents_entry *e)
{
	struct agents_user *u = users_find(a, e->uid);
	size_t kept = 0;

	if (u->waiting.nr < WAITING_MAX)
		return false;
	vec_each(id, &u->waiting)
		if (!agents_process_has_ended(*id))
			u->waiting.at[kept++] = *id;
	u->waiting.nr = kept;
	return kept >= WAITING_MAX;
}

/* Returns the number of places in use; *nr_novm gets the number used by processes without a VM. */
static u32 count_running(struct agents *a, u32 *nr_novm)
{
	u32 nr = 0;

	*nr_novm = 0;
	vec_each(u, &a->users)
		u->running = u->running_novm = 0;
	vec_each(e, &a->entries) {
		if (!e->injection)
			continue;
		struct agents_user *u = users_find(a, e->uid);
		bool is_novm = e->has_no_vm && e->order.command == INJECT_START;
		u->running++;
		u->running_novm += is_novm;
		*nr_novm += is_novm;
		nr++;
	}
	return nr;
}

static bool is_over_credit(const struct agents *a, const struct agents_user *u, u64 now_ns)
{
	return u->uid && u->failed_ns > CREDIT_NS + (now_ns - a->began_ns) / CREDIT_DIV;
}

static bool may_run(struct agents *a, const struct agents_entry *e, u32 nr_novm, u64 now_ns)
{
	const struct agents_user *u = users_find(a, e->uid);

	/* A user who has used up the credit still gets each process tried once. */
	if (is_over_credit(a, u, now_ns))
		return !u->running && !e->tries && !e->has_no_vm;
	if (e->has_no_vm)
		return (!u->uid || !u->running_novm) && u->running < USER_PLACES &&
		       nr_novm < NOVM_PLACES;
	return u->running < USER_PLACES;
}

/* Whether `e` comes before `other`: VMs first, then processes with fewer failures, then by age. */
static bool is_before(const struct agents_entry *e, const struct agents_entry *other)
{
	if (!other || e->has_no_vm != other->has_no_vm)
		return !other || !e->has_no_vm;
	return e->failures < other->failures;
}

struct agents_entry *turns_next(struct agents *a, u64 now_ns)
{
	struct agents_entry *next = NULL;
	u32 nr_novm;

	if (count_running(a, &nr_novm) >= PLACES)
		return NULL;
	vec_each(e, &a->entries)
		if (e->state == AGENT_PENDING && !e->injection && now_ns >= e->next_ns &&
		    is_before(e, next) && may_run(a, e, nr_novm, now_ns))
			next = e;
	return next;
}
