/* SPDX-License-Identifier: Apache-2.0 */
/* Checks, sends and receives control messages. */
#include "daemon/channel/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/packet.h"
#include "base/str.h"

#define SEALS       (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define MAX_PPM     (1000000ull * 1000000) /* a million CPUs */
#define MAX_TIME_NS (1ull << 62)

/* The bytes of a message of each kind, and whether a descriptor belongs to it. */
#define SIZE(field) \
	(offsetof(struct control_message, field) + sizeof(((struct control_message *)0)->field))
struct message_form {
	size_t size;
	bool has_fd;
};

static const struct message_form forms[NR_CONTROL_KINDS] = {
	[CONTROL_HELLO] = { SIZE(hello), false },     [CONTROL_CAPS] = { SIZE(caps), false },
	[CONTROL_EVENT] = { SIZE(event), false },     [CONTROL_NODE] = { SIZE(node), false },
	[CONTROL_JVMS] = { SIZE(jvms), false },       [CONTROL_STATE] = { SIZE(state), false },
	[CONTROL_PART] = { SIZE(part), true },        [CONTROL_ENDED] = { SIZE(ended), false },
	[CONTROL_FIRED] = { SIZE(fired), false },     [CONTROL_SLICE] = { SIZE(slice), true },
	[CONTROL_START] = { SIZE(start), false },     [CONTROL_STOP] = { SIZE(id), false },
	[CONTROL_DISCARD] = { SIZE(id), false },      [CONTROL_BOOK] = { SIZE(id), false },
	[CONTROL_WATCH] = { SIZE(id), false },        [CONTROL_READING] = { SIZE(reading), false },
	[CONTROL_RESTART] = { SIZE(restart), false }, [CONTROL_CRASHED] = { SIZE(crashed), false },
};

#define IS_TEXT(field) utf8_is_clean(field, sizeof(field) - 1)

static bool is_span(u64 begin_ns, u64 end_ns)
{
	return begin_ns <= end_ns && end_ns <= MAX_TIME_NS;
}

static bool caches_are_valid(const struct control_node *n)
{
	if (n->nr_caches > CONTROL_CACHES_MAX)
		return false;
	for (u32 i = 0; i < n->nr_caches; i++) {
		const struct control_cache *c = &n->caches[i];
		size_t len = strnlen(c->name, sizeof(c->name));
		if (!len || len == sizeof(c->name) ||
		    strspn(c->name, "abcdefghijklmnopqrstuvwxyz_") != len || c->nr > INT64_MAX ||
		    c->bytes > INT64_MAX || c->budget_bytes > INT64_MAX)
			return false;
	}
	return true;
}

static bool node_is_valid(const struct control_node *n)
{
	if (!IS_TEXT(n->continuous_why) || n->cpu_ppm > MAX_PPM ||
	    n->continuous_since_wall_ns > MAX_TIME_NS || n->nr_excluded > CONTROL_EXCLUDED_MAX)
		return false;
	for (u32 i = 0; i < n->nr_excluded; i++)
		if (n->excluded[i].pid <= 0 || !IS_TEXT(n->excluded[i].comm))
			return false;
	return caches_are_valid(n);
}

static bool jvms_are_valid(const struct control_jvms *j)
{
	if (j->nr > CONTROL_JVMS_MAX || j->first > 1 || j->last > 1)
		return false;
	for (u32 i = 0; i < j->nr; i++) {
		const struct control_jvm *at = &j->at[i];
		if (at->pid <= 0 || at->cpu_ppm > MAX_PPM || !IS_TEXT(at->main) ||
		    !IS_TEXT(at->service) || !IS_TEXT(at->jdk) || !IS_TEXT(at->container) ||
		    !IS_TEXT(at->container_name))
			return false;
	}
	return true;
}

/* Whether the number is a share of CPUs, or CONTROL_UNKNOWN. */
static bool is_share(u64 ppm)
{
	return ppm == CONTROL_UNKNOWN || ppm <= MAX_PPM;
}

static bool is_amount(u64 value)
{
	return value == CONTROL_UNKNOWN || value <= INT64_MAX;
}

static bool methods_are_valid(const struct control_reading_jvm *j)
{
	if (j->nr_methods > CONTROL_READING_METHODS)
		return false;
	for (u32 i = 0; i < j->nr_methods; i++) {
		const struct control_method *m = &j->methods[i];
		if (!IS_TEXT(m->name) || m->is_java > 1 || m->self > INT64_MAX ||
		    m->total > INT64_MAX)
			return false;
	}
	return true;
}

static bool reading_of_jvm_is_valid(const struct control_reading_jvm *j)
{
	return j->pid > 0 && j->alloc_is_least <= 1 && j->start_ns <= INT64_MAX &&
	       IS_TEXT(j->name) && IS_TEXT(j->container) && IS_TEXT(j->jdk) &&
	       IS_TEXT(j->collector) && IS_TEXT(j->gap) && is_share(j->cpu_ppm) &&
	       is_share(j->gc_ppm) && is_share(j->jit_ppm) && is_amount(j->alloc_rate) &&
	       j->allocated_bytes <= INT64_MAX && j->partial_threads <= INT64_MAX &&
	       is_amount(j->heap_used) && is_amount(j->heap_committed) &&
	       is_amount(j->collections) && j->samples <= INT64_MAX && methods_are_valid(j);
}

static bool reading_is_valid(const struct control_reading *r)
{
	if (r->nr > CONTROL_READING_JVMS || r->first > 1 || r->last > 1 ||
	    r->wall_ns > MAX_TIME_NS || r->passed_ns > MAX_TIME_NS || !is_share(r->busy_ppm) ||
	    !is_share(r->stolen_ppm) || !is_share(r->other_ppm) || !is_share(r->own_ppm))
		return false;
	for (u32 i = 0; i < r->nr; i++)
		if (!reading_of_jvm_is_valid(&r->at[i]))
			return false;
	return true;
}

static bool service_is_valid(const struct control_service *s)
{
	for (u32 event = 0; event < CONTROL_SLICE_EVENTS; event++)
		if (s->values[event] > MAX_TIME_NS)
			return false;
	return IS_TEXT(s->name);
}

static bool slice_is_valid(const struct control_slice *s)
{
	if (s->nr > CONTROL_SERVICES || s->nr_events > CONTROL_SLICE_EVENTS || s->begins_book > 1 ||
	    !is_span(s->begin_wall_ns, s->end_wall_ns) || !s->bytes || s->bytes > CONTROL_PART_MAX)
		return false;
	for (u32 i = 0; i < s->nr_events; i++)
		if (!IS_TEXT(s->events[i]))
			return false;
	for (u32 i = 0; i < s->nr; i++)
		if (!service_is_valid(&s->services[i]))
			return false;
	return true;
}

static bool is_from_recorder(const struct control_message *m)
{
	switch (m->kind) {
	case CONTROL_CAPS:
		return IS_TEXT(m->caps.kernel);
	case CONTROL_EVENT:
		return IS_TEXT(m->event.name) && IS_TEXT(m->event.unit) && IS_TEXT(m->event.help) &&
		       IS_TEXT(m->event.why_not);
	case CONTROL_NODE:
		return node_is_valid(&m->node);
	case CONTROL_JVMS:
		return jvms_are_valid(&m->jvms);
	case CONTROL_STATE:
		return m->state.state < NR_CONTROL_STATES && IS_TEXT(m->state.event) &&
		       IS_TEXT(m->state.refusals) && m->state.elapsed_ns <= MAX_TIME_NS;
	case CONTROL_PART:
		return is_span(m->part.begin_wall_ns, m->part.end_wall_ns) && m->part.bytes &&
		       m->part.bytes <= CONTROL_PART_MAX;
	case CONTROL_ENDED:
		return m->ended.err <= 0 && m->ended.is_cut <= 1 && IS_TEXT(m->ended.why);
	case CONTROL_FIRED:
		return m->fired.target < NR_CONTROL_TARGETS && m->fired.duration_s &&
		       m->fired.duration_s <= 3600 && m->fired.before_s <= 3600 &&
		       IS_TEXT(m->fired.name) && IS_TEXT(m->fired.why) &&
		       IS_TEXT(m->fired.events) && IS_TEXT(m->fired.target_text) &&
		       IS_TEXT(m->fired.container);
	case CONTROL_SLICE:
		return slice_is_valid(&m->slice);
	case CONTROL_READING:
		return reading_is_valid(&m->reading);
	case CONTROL_RESTART:
		return m->restart.helper < NR_CONTROL_HELPERS && *m->restart.why &&
		       IS_TEXT(m->restart.why);
	case CONTROL_CRASHED:
		return m->crashed.pid > 0 && IS_TEXT(m->crashed.service) &&
		       IS_TEXT(m->crashed.container) && IS_TEXT(m->crashed.container_name) &&
		       IS_TEXT(m->crashed.pod) && IS_TEXT(m->crashed.pod_uid) &&
		       IS_TEXT(m->crashed.namespace);
	default:
		return true;
	}
}

bool channel_check(const struct control_message *m, size_t len, bool has_fd)
{
	if (len < sizeof(m->kind) || !m->kind || m->kind >= NR_CONTROL_KINDS)
		return false;
	if (len != forms[m->kind].size || has_fd != forms[m->kind].has_fd)
		return false;
	if (m->kind == CONTROL_START)
		return m->start.target < NR_CONTROL_TARGETS && IS_TEXT(m->start.events) &&
		       IS_TEXT(m->start.target_text);
	return is_from_recorder(m);
}

int channel_send(int sock, const struct control_message *m, int fd)
{
	return packet_send(sock, m, forms[m->kind].size, &fd, fd >= 0);
}

int channel_receive(int sock, struct control_message *m, int *fd)
{
	int fds[PACKET_FDS_MAX];
	size_t len, nr;
	int err = packet_receive(sock, m, sizeof(*m), &len, fds, &nr);

	*fd = -1;
	if (err)
		return err;
	if (nr <= 1 && channel_check(m, len, nr == 1) &&
	    (!nr ||
	     channel_file_is(fds[0], m->kind == CONTROL_PART ? m->part.bytes : m->slice.bytes))) {
		if (nr)
			*fd = fds[0];
		return 0;
	}
	for (size_t i = 0; i < nr; i++)
		close(fds[i]);
	return -EPROTO;
}

void channel_text(char *field, size_t size, const char *text)
{
	auto_str struct str clean = { 0 };

	utf8_clean(&clean, text, size - 1);
	memset(field, 0, size);
	memcpy(field, clean.at, clean.len);
}

int channel_file(const void *bytes, size_t nr)
{
	auto_close int fd = memfile_new("sysflame-part");

	if (fd < 0)
		return fd;
	for (size_t at = 0; at < nr;) {
		ssize_t n = write(fd, (const char *)bytes + at, nr - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		at += (size_t)n;
	}
	if (lseek(fd, 0, SEEK_SET) || fcntl(fd, F_ADD_SEALS, SEALS))
		return -errno;
	return take_fd(fd);
}

bool channel_file_is(int fd, u64 bytes)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & SEALS) == SEALS && !fstat(fd, &st) &&
	       (u64)st.st_size == bytes;
}
