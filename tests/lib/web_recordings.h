/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads and recordings of a web process whose recorder is the test. */
#pragma once

#include "test.h"

#include <sched.h>
#include <sys/mount.h>

#include "web_world.h"

static inline json_int_t upload(struct world *w, const char *text)
{
	auto_answer struct answer a = { 0 };

	ask_with(w, "POST /api/v1/profiles?name=seventeen", BEARER, text, strlen(text), &a);
	if (a.status != 201)
		fail_msg("upload: %s", a.body);
	return number_in(&a, "id");
}

/* Uploads stacks, and downloads them as .sflm: what the recorder's parts look like. */
static inline struct answer part_with(struct world *w, const char *stacks)
{
	struct answer a = { 0 };
	auto_free char *what =
		xasprintf("GET /p/%lld/download?format=sflm", (long long)upload(w, stacks));

	ask(w, what, BEARER, &a);
	assert_int_equal(a.status, 200);
	return a;
}

static inline struct answer part_of(struct world *w)
{
	return part_with(w, COLLAPSED);
}

static inline void send_state(struct world *w, u32 id, u32 state, u64 samples)
{
	struct control_message *m = xcalloc(1, sizeof(*m));

	m->kind = CONTROL_STATE;
	m->state = (struct control_state){ .id = id, .state = state, .samples = samples };
	assert_int_equal(channel_send(w->recorder, m, -1), 0);
	free(m);
}

static inline void send_part(struct world *w, u32 id, const struct answer *part)
{
	struct control_message *m = xcalloc(1, sizeof(*m));
	auto_close int fd = channel_file(part->body, part->len);
	u64 now = time_wall_ns();

	assert_true(fd >= 0);
	m->kind = CONTROL_PART;
	m->part = (struct control_part){ id, now - NS_PER_SEC, now, part->len, 23, 1 };
	assert_int_equal(channel_send(w->recorder, m, fd), 0);
	free(m);
}

static inline void send_ended(struct world *w, u32 id, s32 err, const char *why)
{
	struct control_message *m = xcalloc(1, sizeof(*m));

	m->kind = CONTROL_ENDED;
	m->ended.id = id;
	m->ended.err = err;
	channel_text(m->ended.why, sizeof(m->ended.why), why);
	assert_int_equal(channel_send(w->recorder, m, -1), 0);
	free(m);
}

/* Starts a recording; *number is the recorder's. */
static inline json_int_t start(struct world *w, u32 *number)
{
	static const char json[] = "{\"events\":\"cpu\",\"rate_hz\":97,\"duration_s\":60,"
				   "\"target\":{\"kind\":\"comm\",\"text\":\"java\"}}";
	auto_close int fd = connect_to(w);
	auto_answer struct answer a = { 0 };

	send_request(fd, w, "POST /api/v1/sessions", BEARER, json, strlen(json));
	struct control_message *m = await(w, CONTROL_START);
	assert_int_equal(m->start.rate_hz, 97);
	assert_int_equal(m->start.target, CONTROL_TARGET_COMM);
	assert_string_equal(m->start.target_text, "java");
	*number = m->start.id;
	free(m);
	send_state(w, *number, CONTROL_RUNS, 0);
	read_answer(fd, &a);
	assert_int_equal(a.status, 201);
	return number_in(&a, "id");
}

/* Starts the web process anew on a file system of 4 MB. False: this takes root. */
static inline bool use_small_disk(struct world *w)
{
	auto_answer struct answer a = { 0 };

	if (geteuid() || unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("test_web", w->folder, "tmpfs", 0, "size=4m"))
		return false;
	assert_int_equal(stop_web(w), 0);
	close(w->dir);
	w->dir = open(w->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	start_web(w, "");
	send_recorder(w);
	await_text(w, "GET /api/v1/events", "CPU time", &a);
	return true;
}

/* Leaves no free byte on it. */
static inline void fill_disk(struct world *w)
{
	static const char zeros[4096];
	auto_close int fd = openat(w->dir, "filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
}

static inline void leave_small_disk(struct world *w)
{
	assert_int_equal(umount2(w->folder, MNT_DETACH), 0);
}
