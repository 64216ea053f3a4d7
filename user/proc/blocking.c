/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that blocked a recorder of the daemon, and users whose processes keep it waiting. */
#include "proc/blocking.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "proc/status.h"

static const struct excluded_list *refused;
static s32 *shown;
static pid_t owner; /* children inherit `shown`, but do not write it */

bool excluded_runs(const struct excluded *e)
{
	struct proc_status status;

	return !proc_status_read(e->id.pid, &status) &&
	       process_id_same(proc_status_id(&status), e->id);
}

static void drop(struct excluded_list *list, u32 i)
{
	list->nr--;
	memmove(&list->at[i], &list->at[i + 1], (list->nr - i) * sizeof(list->at[0]));
}

int excluded_add(struct excluded_list *list, pid_t pid)
{
	struct proc_status status;
	int err = pid > 0 ? proc_status_read(pid, &status) : -ESRCH;

	if (err)
		return err;
	for (u32 i = 0; i < list->nr;) {
		if (list->at[i].id.pid == pid || !excluded_runs(&list->at[i]))
			drop(list, i);
		else
			i++;
	}
	if (list->nr == EXCLUDED_MAX)
		drop(list, 0);
	struct excluded *e = &list->at[list->nr++];
	e->id = proc_status_id(&status);
	memcpy(e->comm, status.comm, sizeof(e->comm));
	return 0;
}

void excluded_begin(const struct excluded_list *list, s32 *target)
{
	refused = list;
	shown = target;
	owner = getpid();
	excluded_rest();
}

static void show(pid_t pid)
{
	if (shown && getpid() == owner)
		__atomic_store_n(shown, pid, __ATOMIC_RELAXED);
}

int excluded_touch(pid_t pid)
{
	for (u32 i = 0; refused && i < refused->nr; i++)
		if (refused->at[i].id.pid == pid && excluded_runs(&refused->at[i]))
			return -EBUSY;
	show(pid);
	return 0;
}

void excluded_rest(void)
{
	show(0);
}

#define USERS_MAX  256
#define WAIT_NS    NS_PER_SEC /* budget of a user .. */
#define WAIT_SHARE 20         /* .. and in addition 1/20 of the time */

static struct slow_user *find(const struct slow_users *s, uid_t user)
{
	vec_each(u, &s->all)
		if (u->user == user)
			return u;
	return NULL;
}

bool slow_users_is_over(const struct slow_users *s, uid_t user)
{
	const struct slow_user *u = find(s, user);

	return u && u->waited_ns > WAIT_NS + (time_mono_ns() - u->since_ns) / WAIT_SHARE;
}

void slow_users_charge(struct slow_users *s, uid_t user, u64 ns)
{
	struct slow_user *u = find(s, user);

	if (!u && s->all.nr == USERS_MAX) {
		u = &s->all.at[0];
		vec_each(other, &s->all)
			u = other->waited_ns < u->waited_ns ? other : u;
		*u = (struct slow_user){ user, time_mono_ns(), 0 };
	} else if (!u) {
		vec_push(&s->all, ((struct slow_user){ user, time_mono_ns(), 0 }));
		u = &s->all.at[s->all.nr - 1];
	}
	u->waited_ns += ns;
}

void slow_users_fini(struct slow_users *s)
{
	vec_fini(&s->all);
}
