/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions of this JVM and the agent's lock. */
#include "jvmmap/sessions.h"

#include "jvmmap/sys.h"

struct sessions {
	struct sys_lock lock; /* protects all fields below */
	struct session *all[SESSIONS_MAX];
	struct session *used;
	int replay_tid;
	uint64_t missed; /* events that could not take the lock */
	void (*settle)(void);
};

static struct sessions sessions;

void sessions_on_close(void (*settle)(void))
{
	sessions.settle = settle;
}

static void close_place(int i)
{
	session_close(sessions.all[i]);
	sessions.all[i] = NULL;
}

static void close_abandoned(uint64_t now_ns)
{
	int nr_closed = 0;

	for (int i = 0; i < SESSIONS_MAX; i++) {
		struct session *s = sessions.all[i];
		if (!s || s == sessions.used || s->pid != sys_getpid() ||
		    session_is_wanted(s, now_ns))
			continue;
		close_place(i);
		nr_closed++;
	}
	if (nr_closed && sessions.settle)
		sessions.settle();
}

void sessions_close_abandoned(void)
{
	close_abandoned(sys_mono_ns());
}

int sessions_begin(struct session *out[SESSIONS_MAX], uint64_t *time_ns)
{
	uint64_t now = sys_mono_ns();
	int nr = 0;

	if (!sys_lock(&sessions.lock)) {
		__atomic_fetch_add(&sessions.missed, 1, __ATOMIC_RELAXED);
		return 0;
	}
	int is_replay = sessions.replay_tid && sys_gettid() == sessions.replay_tid;
	uint64_t missed = __atomic_exchange_n(&sessions.missed, 0, __ATOMIC_RELAXED);
	if (!is_replay)
		close_abandoned(now);
	for (int i = 0; i < SESSIONS_MAX; i++) {
		struct session *s = sessions.all[i];
		if (!s || (is_replay && s != sessions.used) || !session_is_wanted(s, now))
			continue;
		if (missed)
			session_lose(s, missed);
		out[nr++] = s;
	}
	*time_ns = is_replay ? 0 : now;
	if (!nr)
		sys_unlock(&sessions.lock);
	return nr;
}

void sessions_end(void)
{
	sys_unlock(&sessions.lock);
}

void sessions_lock(void)
{
	while (!sys_lock(&sessions.lock))
		;
}

void sessions_unlock(void)
{
	sys_unlock(&sessions.lock);
}

struct session *const *sessions_all(void)
{
	return sessions.all;
}

struct session *sessions_find(const char *nonce)
{
	for (int i = 0; i < SESSIONS_MAX; i++) {
		int k = 0;
		if (!sessions.all[i])
			continue;
		while (k < WIRE_NONCE_LEN && sessions.all[i]->nonce[k] == nonce[k])
			k++;
		if (k == WIRE_NONCE_LEN)
			return sessions.all[i];
	}
	return NULL;
}

static struct session **free_place(void)
{
	for (int i = 0; i < SESSIONS_MAX; i++)
		if (!sessions.all[i])
			return &sessions.all[i];
	return NULL;
}

static void check_all(void (*prepare)(struct session *s))
{
	for (int i = 0; i < SESSIONS_MAX; i++)
		if (sessions.all[i])
			prepare(sessions.all[i]);
	sessions_close_abandoned();
}

struct session *sessions_open(const char *nonce)
{
	check_all(session_suspect);
	if (!free_place())
		check_all(session_press);
	struct session **place = free_place();
	return place ? (*place = session_open(nonce)) : NULL;
}

void sessions_close(struct session *s)
{
	for (int i = 0; i < SESSIONS_MAX; i++)
		if (s && sessions.all[i] == s)
			close_place(i);
}

void sessions_use(struct session *s)
{
	sessions.used = s;
}

struct session *sessions_used(void)
{
	return sessions.used;
}

void sessions_replay(int tid)
{
	sessions.replay_tid = tid;
}
