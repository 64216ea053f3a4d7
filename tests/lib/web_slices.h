/* SPDX-License-Identifier: Apache-2.0 */
/* Slices that the test's recorder hands over to a web process. */
#pragma once

#include <errno.h>
#include <unistd.h>

#include "export/slices/slice_writer.h"
#include "profile/profile.h"
#include "web_world.h"

/* Hands over a slice of [begin, end) with `value` ns of CPU time in "main" of a pod's process. */
static inline void send_slice_of(struct world *w, struct slice_writer *writer, const char *pod,
				 u64 begin, u64 end, u64 value)
{
	struct control_message *m = xcalloc(1, sizeof(*m));
	struct profile *p = profile_new();
	auto_str struct str record = { 0 };
	bool begins;

	profile_add_type(p, "cpu", "ns");
	node_id node = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "main", ""));
	const struct labels labels = { .pid = 7, .pod = pod };
	profile_add(p, node, profile_intern_labels(p, &labels), 0, value);
	assert_int_equal(slice_writer_add(writer, p, begin, end, &record, &begins), 0);
	profile_free(p);
	auto_close int fd = channel_file(record.at, record.len);
	m->kind = CONTROL_SLICE;
	m->slice.begin_wall_ns = begin;
	m->slice.end_wall_ns = end;
	m->slice.bytes = record.len;
	m->slice.nr_events = m->slice.nr = 1;
	copy_text(m->slice.events[0], sizeof(m->slice.events[0]), "cpu");
	copy_text(m->slice.services[0].name, sizeof(m->slice.services[0].name), "main");
	m->slice.services[0].values[0] = value;
	int err;
	while ((err = channel_send(w->recorder, m, fd)) == -EAGAIN)
		usleep(1000); /* the web process reads one after the other */
	assert_int_equal(err, 0);
	free(m);
}

/* As send_slice_of, but of a process outside pods. */
static inline void send_slice(struct world *w, struct slice_writer *writer, u64 begin, u64 end,
			      u64 value)
{
	send_slice_of(w, writer, "", begin, end, value);
}
