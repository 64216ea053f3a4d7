/* SPDX-License-Identifier: Apache-2.0 */
/* Results over a simulated line: a rate, a delay and lost messages. */
#include "test.h"

#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "fleet/controller/pull.h"
#include "fleet/wire/key.h"

#define NODES   40
#define SIZE    350000
#define TICK_NS (20 * NS_PER_MS)
#define PAUSE_S 100

/* A chunk, or the question for one, that is on its way. */
struct message {
	u64 due_ns, offset;
	u32 node;
	char subject[160];
};

struct line {
	struct pulls_host host;
	struct pulls pulls;
	struct pull results[NODES];
	VEC(struct message) chunks;
	u64 now_ns, delay_ns, rate, free_ns; /* when the line has sent all that it was given */
	u32 lost_pct, seed, nr_delivered, nr_lost, most;
	u32 nr_sent, first_dead, nr_dead; /* of the nodes */
	const char *why;
};

static u8 bytes[SIZE];

static bool is_lost(struct line *l)
{
	l->seed = l->seed * 1103515245 + 12345;
	return (l->seed >> 16) % 100 < l->lost_pct;
}

/* The node's chunk waits until the line is free. */
static void publish(void *ctx, const char *subject, const char *reply, const void *at, size_t len)
{
	struct line *l = ctx;
	struct fleet_message m;
	struct message chunk = { 0 };

	assert_int_equal(message_decode(at, len, &m), 0);
	chunk.offset = m.get.offset;
	chunk.node = (u32)m.get.instance;
	message_fini(&m);
	if (is_lost(l) || chunk.node - l->first_dead < l->nr_dead)
		return;
	u64 from = l->now_ns + l->delay_ns, left = SIZE - chunk.offset;
	l->free_ns = l->free_ns > from ? l->free_ns : from;
	l->free_ns += (left < FLEET_CHUNK_MAX ? left : FLEET_CHUNK_MAX) * NS_PER_SEC / l->rate;
	l->nr_sent++;
	if (is_lost(l))
		return;
	chunk.due_ns = l->free_ns + l->delay_ns;
	copy_text(chunk.subject, sizeof(chunk.subject), reply);
	vec_push(&l->chunks, chunk);
}

static void done(void *ctx, struct pull *p, const char *why)
{
	struct line *l = ctx;

	l->nr_delivered += !why;
	l->nr_lost += why != NULL;
	l->why = why ?: l->why;
	if (!why)
		assert_memory_equal(p->bytes, bytes, SIZE);
	free(take(p->bytes));
}

static void arrive(struct line *l)
{
	for (size_t i = 0; i < l->chunks.nr; i++) {
		struct message *m = &l->chunks.at[i];
		struct fleet_chunk c = { .offset = m->offset, .data = bytes + m->offset };
		if (m->due_ns > l->now_ns)
			continue;
		c.instance = m->node;
		c.len = SIZE - m->offset < FLEET_CHUNK_MAX ? (u32)(SIZE - m->offset)
							   : FLEET_CHUNK_MAX;
		struct message taken = *m;
		l->chunks.at[i--] = l->chunks.at[--l->chunks.nr];
		pulls_take(&l->pulls, &l->results[taken.node], taken.subject, &c);
	}
}

static void begin(struct line *l, u64 rate, u64 delay_ms, u32 lost_pct)
{
	const u8 secret[FLEET_ID_LEN] = { 1 };

	*l = (struct line){ .host = { l, publish, done },
			    .now_ns = NS_PER_SEC,
			    .rate = rate,
			    .delay_ns = delay_ms * NS_PER_MS,
			    .lost_pct = lost_pct };
	for (u32 i = 0; i < SIZE; i++)
		bytes[i] = (u8)(i * 31 >> 3);
	pulls_init(&l->pulls, &l->host, secret, "_INBOX.o.x");
	for (u32 i = 0; i < NODES; i++) {
		struct pull *p = &l->results[i];
		p->instance = i;
		p->size = SIZE;
		snprintf(p->name, sizeof(p->name), "n%u", i);
		digest(bytes, SIZE, p->sha256);
		pulls_add(&l->pulls, p);
	}
}

/* Until all results have arrived or are lost; at most so long. Returns the seconds. */
static u64 run(struct line *l, u64 most_s)
{
	u64 from = l->now_ns;

	while (l->nr_delivered + l->nr_lost < NODES && l->now_ns - from < most_s * NS_PER_SEC) {
		l->now_ns += TICK_NS;
		pulls_tick(&l->pulls, l->now_ns);
		arrive(l);
		l->most = l->pulls.window > l->most ? l->pulls.window : l->most;
	}
	return (l->now_ns - from) / NS_PER_SEC;
}

static void end(struct line *l)
{
	pulls_fini(&l->pulls);
	vec_fini(&l->chunks);
}

/* 200 KB/s carry them within 70 s. */
static void a_slow_far_line_with_losses_delivers_all(void **state)
{
	struct line l;

	for (u32 seed = 1; seed <= 20; seed++) {
		begin(&l, 200000, 2000, 5);
		l.seed = seed;
		u64 took_s = run(&l, 1000);
		if (l.nr_delivered != NODES || took_s > 200)
			fail_msg("%u of %d results in %llu s", l.nr_delivered, NODES,
				 (unsigned long long)took_s);
		end(&l);
	}
}

/* Few chunks cross the line twice. */
static void a_slow_line_is_not_flooded(void **state)
{
	static const u64 rates[] = { 50000, 200000, 500000 };
	struct line l;

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		begin(&l, rates[i], 50, 0);
		run(&l, 1000);
		assert_int_equal(l.nr_delivered, NODES);
		assert_in_range(l.nr_sent, 3 * NODES, 3 * NODES + 12);
		assert_in_range(l.most, 4, 24);
		end(&l);
	}
}

static void a_fast_line_gets_the_whole_window(void **state)
{
	struct line l;

	begin(&l, 100000000, 10, 0);
	assert_in_range(run(&l, 100), 0, 2);
	assert_int_equal(l.nr_delivered, NODES);
	assert_int_equal(l.nr_sent, 3 * NODES);
	assert_int_equal(l.most, PULL_WINDOW);
	end(&l);
}

/* As a zone whose line is cut after its nodes were done. */
static void nodes_that_are_gone_hold_up_nobody(void **state)
{
	struct line l;

	begin(&l, 1000000, 50, 0);
	l.nr_dead = 12;
	assert_in_range(run(&l, 1000), 15, 45);
	assert_int_equal(l.nr_delivered, NODES - 12);
	assert_int_equal(l.nr_lost, 12);
	assert_string_equal(l.why, "It did not hand out its result.");
	end(&l);
}

/* Merging may take longer than any node is waited for. */
static void a_pause_is_no_silence(void **state)
{
	struct line l;

	begin(&l, 1000000, 50, 0);
	run(&l, 1);
	l.pulls.is_paused = true;
	l.first_dead = 0;
	l.nr_dead = NODES; /* chunks that were on their way are lost */
	run(&l, PAUSE_S);
	assert_int_equal(l.nr_lost, 0);
	l.pulls.is_paused = false;
	l.nr_dead = 0;
	run(&l, 100);
	assert_int_equal(l.nr_delivered, NODES);
	end(&l);
}

static void a_node_that_hands_out_single_bytes_is_left_out(void **state)
{
	struct fleet_chunk c = { .data = bytes, .len = 1 };
	struct line l;

	begin(&l, 1000000, 50, 0);
	pulls_tick(&l.pulls, l.now_ns);
	pulls_take(&l.pulls, &l.results[0], "_INBOX.o.x.chunk.n0.0", &c);
	assert_int_equal(l.nr_lost, 1);
	assert_string_equal(l.why, "It handed out another part of its result than was asked for.");
	end(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_far_line_with_losses_delivers_all),
		cmocka_unit_test(a_slow_line_is_not_flooded),
		cmocka_unit_test(a_fast_line_gets_the_whole_window),
		cmocka_unit_test(nodes_that_are_gone_hold_up_nobody),
		cmocka_unit_test(a_pause_is_no_silence),
		cmocka_unit_test(a_node_that_hands_out_single_bytes_is_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
