/* SPDX-License-Identifier: Apache-2.0 */
/* Pushing: addresses, credentials, the backlog, and the split of a profile by service. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "export/export.h"
#include "push/backlog.h"
#include "push/bodies.h"
#include "push/credentials.h"
#include "push/receiver.h"
#include "push/share.h"
#include "push/split.h"
#include "stores.h"

static struct http_answer fake_answer;
static http_answer_fn fake_done;
static void *fake_ctx;
static bool has_answer;

static int fake_add(struct http_client *c, const struct http_request *r, http_answer_fn done,
		    void *ctx)
{
	fake_answer = (struct http_answer){ .bytes = "" };
	fake_done = done;
	fake_ctx = ctx;
	return 0;
}

static int fake_step(struct http_client *c)
{
	if (has_answer)
		fake_done(fake_ctx, &fake_answer);
	has_answer = false;
	return 0;
}

#define http_client_add  fake_add
#define http_client_step fake_step
#include "push/delivery.c"

static struct receiver receiver_of(const char *text)
{
	auto_str struct str why = { 0 };
	struct receiver r;

	if (receiver_parse(text, &r, &why))
		fail_msg("%s", why.at);
	return r;
}

static void addresses_get_the_path_of_their_protocol(void **state)
{
	assert_string_equal(receiver_of("otlp=https://host:4318/").request,
			    "https://host:4318/v1development/profiles");
	assert_string_equal(receiver_of("pyroscope=http://[::1]:4040/team").request,
			    "http://[::1]:4040/team/push.v1.PusherService/Push");
	assert_string_equal(receiver_of("parca=http://host:7070").request,
			    "http://host:7070/profiles/writeraw");
}

static void wrong_addresses_are_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"otlp",
		"otlp=",
		"zipkin=http://host",
		"otlp=host:1",
		"otlp=https://",
		"otlp=https://:4318",
		"otlp=https://host:",
		"otlp=file:///etc/passwd",
		"otlp=https://user:word@host",
		"otlp=https://h\"/",
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		auto_str struct str why = { 0 };
		struct receiver r;
		if (receiver_parse(wrong[i], &r, &why) != -EINVAL || !why.len)
			fail_msg("%s", wrong[i]);
	}
}

static int read_file(const char *text, mode_t mode, const char *url, struct credentials *out,
		     struct str *why)
{
	const struct receiver r = receiver_of(url);
	char path[] = "/tmp/test_push.XXXXXX";
	int fd = mkstemp(path);

	*out = (struct credentials){ 0 };
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	int err = credentials_read(path, &r, 1, out, why);
	unlink(path);
	return err;
}

static void a_section_is_for_its_own_address_only(void **state)
{
	static const char file[] = "[https://host]\nbearer = abc\nheader = X-Scope-OrgID: a\n"
				   "[https://host:4318]\nbasic = me:word\n";
	auto_str struct str why = { 0 };
	struct credentials c;

	assert_int_equal(read_file(file, 0600, "otlp=https://host/x", &c, &why), 0);
	assert_string_equal(c.bearer, "abc");
	assert_string_equal(c.headers[0], "X-Scope-OrgID: a");
	assert_null(c.basic);
	credentials_wipe(&c);
	assert_int_equal(read_file(file, 0600, "otlp=https://host:4318", &c, &why), 0);
	assert_null(c.bearer);
	assert_string_equal(c.basic, "me:word");
	credentials_wipe(&c);
	assert_int_equal(read_file(file, 0600, "otlp=https://host.evil", &c, &why), 0);
	assert_null(c.bearer);
	assert_int_equal(read_file(file, 0600, "otlp=http://host", &c, &why), 0);
	assert_null(c.bearer);
}

static void wrong_credentials_are_refused_without_showing_them(void **state)
{
	static const char *const wrong[] = {
		"bearer = geheim\n",
		"[https://host]\ngeheim\n",
		"[https://host]\ntoken = geheim\n",
		"[https://host]\nbearer = geheim\nbearer = geheim\n",
		"[https://host]\nbearer = geheim\nbasic = a:geheim\n",
		"[https://host]\nbearer = ge\x01heim\n",
		"[https://host]\nheader = geheim\n",
		"[https://host\nbearer = geheim\n",
		"[https://host]\nbearer =\n",
		"[https://host]\nca = /nonexistent\n",
	};
	struct credentials c;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		auto_str struct str why = { 0 };
		if (!read_file(wrong[i], 0600, "otlp=https://host", &c, &why) || !why.len)
			fail_msg("%s", wrong[i]);
		assert_null(strstr(why.at, "geheim"));
	}
	auto_str struct str why = { 0 };
	assert_int_equal(read_file("", 0644, "otlp=https://host", &c, &why), -EPERM);
	assert_int_equal(read_file("", 0640, "otlp=https://host", &c, &why), 0);
}

static struct backlog open_backlog(const struct place *at, u64 max_bytes, u64 next)
{
	const struct backlog_limits limits = { max_bytes, 60 };
	struct backlog b;

	assert_int_equal(backlog_open(at->dir, "otlp-1", &limits, next, &b), 0);
	return b;
}

static void add_request(struct backlog *b, u64 minute, u32 number, size_t bytes)
{
	struct waiting w = {
		.minute = minute, .number = number, .bytes = bytes, .service = "shop/42 \"x\""
	};
	auto_free char *body = xcalloc(1, bytes);

	assert_int_equal(backlog_add(b, &w, body, false), 0);
}

static void requests_survive_a_restart_in_their_order(void **state)
{
	struct place at = new_place();
	struct backlog b = open_backlog(&at, 1000, 0);

	add_request(&b, 12, 1, 10);
	add_request(&b, 12, 2, 20);
	add_request(&b, 13, 0, 30);
	backlog_close(&b);
	b = open_backlog(&at, 1000, 14);
	assert_int_equal(b.waiting.nr, 3);
	assert_int_equal(b.bytes, 60);
	assert_int_equal(b.waiting.at[0].number, 1);
	assert_int_equal(b.waiting.at[2].minute, 13);
	backlog_close(&b);
	/* Those of the minute that was not finished are made again. */
	b = open_backlog(&at, 1000, 13);
	assert_int_equal(b.waiting.nr, 2);
	backlog_close(&b);
	remove_place(&at);
}

static void the_oldest_requests_make_room(void **state)
{
	struct place at = new_place();
	struct backlog b = open_backlog(&at, 100, 0);
	struct waiting large = { .minute = 14, .bytes = 101 };

	add_request(&b, 12, 0, 40);
	add_request(&b, 12, 1, 40);
	add_request(&b, 13, 0, 50);
	assert_int_equal(b.nr_full, 1);
	assert_int_equal(b.bytes, 90);
	assert_int_equal(b.waiting.at[0].number, 1);
	assert_int_equal(backlog_add(&b, &large, "", false), -EFBIG);
	/* The one that is being sent stays. */
	struct waiting next = { .minute = 14, .bytes = 30 };
	assert_int_equal(backlog_add(&b, &next, "012345678901234567890123456789", true), 0);
	assert_int_equal(b.waiting.at[0].number, 1);
	assert_int_equal(b.nr_full, 2);
	backlog_close(&b);
	remove_place(&at);
}

static void old_requests_are_given_up(void **state)
{
	struct place at = new_place();
	struct backlog b = open_backlog(&at, 1000, 0);

	add_request(&b, 12, 0, 40);
	add_request(&b, 13, 0, 40);
	backlog_expire(&b, 72, false);
	assert_int_equal(b.nr_old, 0);
	backlog_expire(&b, 73, true);
	assert_int_equal(b.nr_old, 0);
	backlog_expire(&b, 73, false);
	assert_int_equal(b.nr_old, 1);
	assert_int_equal(b.waiting.at[0].minute, 13);
	backlog_close(&b);
	remove_place(&at);
}

/* The clock was set back: minutes that are to come again must not hold up the others. */
static void requests_of_the_future_are_given_up(void **state)
{
	struct place at = new_place();
	struct backlog b = open_backlog(&at, 1000, 0);

	add_request(&b, 100, 0, 40);
	add_request(&b, 101, 0, 40);
	assert_int_equal(backlog_undo(&b, 50, true), 1);
	assert_int_equal(b.waiting.nr, 1);
	assert_int_equal(b.waiting.at[0].minute, 100);
	assert_int_equal(backlog_undo(&b, 50, false), 1);
	assert_int_equal(b.bytes, 0);
	assert_int_equal(backlog_undo(&b, 50, true), 0);
	add_request(&b, 49, 0, 40);
	assert_int_equal(b.waiting.at[0].minute, 49);
	backlog_close(&b);
	remove_place(&at);
}

static void requests_of_another_receiver_are_removed(void **state)
{
	const char kept[1][RECEIVER_FOLDER_BYTES] = { "otlp-2" };
	struct place at = new_place();
	struct backlog b = open_backlog(&at, 1000, 0);

	add_request(&b, 12, 0, 40);
	backlog_close(&b);
	assert_int_equal(backlog_write_next(at.dir, 17), 0);
	assert_int_equal(backlog_remove_others(at.dir, kept, 1), 1);
	assert_int_equal(backlog_read_next(at.dir), 17);
	b = open_backlog(&at, 1000, 0);
	assert_int_equal(b.waiting.nr, 0);
	backlog_close(&b);
	remove_place(&at);
}

/* The receiver always has a fault with the request 0 of a minute, and takes the others. */
static void answer(struct delivery *d, u64 *now_ns, bool takes_others)
{
	*now_ns += 61 * NS_PER_SEC;
	delivery_tick(d, *now_ns, UINT64_MAX);
	if (!d->is_sending)
		return;
	bool is_bad = !d->backlog.waiting.at[0].number || !takes_others;
	fake_answer.found.status = is_bad ? 500 : 200;
	copy_text(fake_answer.found.why, sizeof(fake_answer.found.why), is_bad ? "500" : "");
	has_answer = true;
	delivery_tick(d, *now_ns += NS_PER_MS, 0);
}

static void a_request_that_always_fails_does_not_block_the_others(void **state)
{
	const struct backlog_limits limits = { 1 << 20, 60 };
	struct place p = new_place();
	struct delivery d = { 0 };
	u64 now_ns = 1000 * NS_PER_SEC;

	assert_int_equal(backlog_open(p.dir, "r", &limits, 100, &d.backlog), 0);
	for (u64 minute = 1; minute <= 3; minute++)
		for (u32 i = 0; i < 3; i++)
			add_request(&d.backlog, minute, i, 10);
	for (int i = 0; i < 20; i++)
		answer(&d, &now_ns, false);
	assert_int_equal(d.backlog.waiting.nr, 9); /* the receiver is down: nothing is lost */
	assert_false(delivery_is_ok(&d, now_ns));
	for (int i = 0; i < 60; i++)
		answer(&d, &now_ns, true);
	assert_int_equal(d.counts.sent, 6);
	assert_true(d.backlog.waiting.nr <= 3);
	for (int i = 0; i < 60; i++) {
		if (i % 10 == 0)
			add_request(&d.backlog, 4 + (u64)i, 1, 10);
		answer(&d, &now_ns, true);
	}
	assert_int_equal(d.counts.sent, 12);
	assert_int_equal(d.counts.refused, 3);
	assert_int_equal(d.backlog.waiting.nr, 0);
	assert_false(d.nr_failures);
	assert_true(delivery_is_ok(&d, now_ns + DELIVERY_LOSS_NS + 1));
	backlog_close(&d.backlog);
	remove_place(&p);
}

static void add_weight(struct profile *p, const char *service, const char *leaf, u32 tid, u64 value)
{
	const struct labels l = { .pid = tid, .tid = tid, .service = service, .pod = "pod" };
	node_id at = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, leaf, ""));

	profile_add(p, at, profile_intern_labels(p, &l), profile_find_type(p, "cpu", "ns"), value);
}

static void threads_and_processes_are_added_up(void **state)
{
	auto_profile struct profile *p = profile_new();

	p->rate_hz = 19;
	add_weight(p, "shop", "work", 1, 52631578);
	add_weight(p, "shop", "work", 2, 3 * 52631578ull);
	add_weight(p, "mail", "rest", 3, 52631578);
	struct split *s = split_new(p, 10, 100);
	assert_int_equal(split_nr(s), 2);
	assert_string_equal(split_name(s, 0), "shop");
	auto_profile struct profile *q = split_service(s, 0, false);
	assert_int_equal(q->weights.nr, 1);
	assert_int_equal(q->weights.at[0].value, 4);
	assert_string_equal(q->types.at[0].unit, "samples");
	assert_int_equal(frames_nr(q->frames), 1);
	assert_string_equal(q->labels.at[0].pod, "pod");
	assert_int_equal(q->labels.at[0].pid, 0);
	split_free(s);
}

static void times_stay_exact_when_the_rate_changed(void **state)
{
	auto_profile struct profile *p = profile_new();

	p->rate_hz = 19;
	add_weight(p, "shop", "work", 1, 52631578);
	add_weight(p, "shop", "rest", 1, 90909090);
	struct split *s = split_new(p, 10, 100);
	auto_profile struct profile *q = split_service(s, 0, false);
	u64 period_ns = (u64)(1e9 / q->rate_hz + 0.5);
	assert_int_equal(profile_total(q, 0) * period_ns, 52631578 + 90909090);
	split_free(s);
}

static void short_commands_are_one_series(void **state)
{
	auto_profile struct profile *p = profile_new();
	node_id at = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "main", ""));

	/* It waits far longer than all others run. */
	const struct labels waiting = { .pid = 100, .service = "idle", .comm = "idle" };
	profile_add(p, at, profile_intern_labels(p, &waiting), profile_find_type(p, "offcpu", "ns"),
		    1000000);
	for (u32 i = 0; i < 50; i++) {
		auto_free char *name = xasprintf("cc%u", i);
		const struct labels l = { .pid = i, .tid = i, .service = name, .comm = name };
		profile_add(p, at, profile_intern_labels(p, &l), profile_find_type(p, "cpu", "ns"),
			    i == 7 ? 5000 : 10);
	}
	add_weight(p, "tiny", "work", 99, 10); /* of a pod */
	struct split *s = split_new(p, 100, 100);
	assert_int_equal(split_nr(s), 4);
	assert_string_equal(split_name(s, 0), "idle");
	assert_string_equal(split_name(s, 1), "cc7");
	assert_string_equal(split_name(s, 2), "other");
	assert_string_equal(split_name(s, 3), "tiny");
	auto_profile struct profile *q = split_service(s, 2, false);
	assert_int_equal((u64)(profile_total(q, 0) * (1e9 / q->rate_hz) + 0.5), 490);
	split_free(s);
}

static void too_many_stacks_and_services_are_joined(void **state)
{
	auto_profile struct profile *p = profile_new();

	for (u32 i = 0; i < 20; i++) {
		auto_free char *service = xasprintf("s%u", i), *leaf = xasprintf("f%u", i);
		add_weight(p, service, "work", i, 1000 - i);
		add_weight(p, "s0", leaf, i, 1000 - i);
	}
	struct split *s = split_new(p, 3, 5);
	assert_int_equal(split_nr(s), 3);
	assert_string_equal(split_name(s, 0), "s0");
	assert_string_equal(split_name(s, 2), "other");
	u64 sum = 0;
	for (u32 i = 0; i < 3; i++) {
		auto_profile struct profile *q = split_service(s, i, true);
		assert_true(q->weights.nr <= 5);
		sum += profile_total(q, 0) * (u64)(1e9 / q->rate_hz + 0.5);
	}
	assert_int_equal(sum, profile_total(p, 0));
	split_free(s);
}

static void labels_that_a_receiver_would_get_twice_are_refused(void **state)
{
	static const char *const wrong[] = {
		"zone=a,team.name=x,team-name=y",
		"instance=a",
		"service-name=a",
		"9a=x,_a=y",
		"host.name=a",
		"k8s.pod.name=a",
		"container.id=a",
		"process.pid=1",
		"sysflame.x=1",
	};
	auto_str struct str why = { 0 };

	assert_int_equal(push_labels_check("", &why), 0);
	assert_int_equal(push_labels_check("zone=a,team.name=x,9a=y,pid=7", &why), 0);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(push_labels_check(wrong[i], &why), -EEXIST);
	assert_non_null(strstr(why.at, "team-name: receivers get another label of this name"));
}

static void labels_of_the_node_repeat_no_attribute_of_otlp(void **state)
{
	auto_profile struct profile *p = profile_new();
	char *bytes = NULL;
	size_t len = 0;

	add_weight(p, "shop", "work", 1, 7);
	free(p->node_labels);
	p->node_labels = xstrdup("zone=east,k8s.pod.name=other,sysflame.title=mine");
	FILE *f = open_memstream(&bytes, &len);
	format_by_name("otlp")->write(p, f);
	fclose(f);
	assert_non_null(memmem(bytes, len, "east", 4));
	assert_null(memmem(bytes, len, "other", 5));
	assert_null(memmem(bytes, len, "mine", 4));
	free(bytes);
}

static struct profile *minute_of(u64 cpu_ns, const char *host)
{
	struct profile *p = profile_new();
	node_id at = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "work", ""));

	free(p->host);
	p->host = xstrdup(host);
	if (cpu_ns)
		profile_add(p, at, profile_intern_labels(p, &(struct labels){ 0 }),
			    profile_find_type(p, "cpu", "ns"), cpu_ns);
	return p;
}

static struct push_share share_of(const char *text)
{
	auto_str struct str why = { 0 };
	struct push_share share;

	if (push_share_parse(text, &share, &why))
		fail_msg("%s", why.at);
	return share;
}

/* Nodes differ a hundredfold, and each varies from minute to minute. */
static void sums_of_a_share_are_those_of_all_minutes(void **state)
{
	const struct push_share share = share_of("1/20@0.1");
	const u64 length_ns = 60 * NS_PER_SEC;
	double all = 0, sent = 0, variance = 0, nr_sent = 0;

	for (int node = 0; node < 200; node++)
		for (u64 minute = 0; minute < 60; minute++) {
			auto_free char *host = xasprintf("n%d", node);
			u64 value = length_ns / 1000 * (1 + (u64)(node * node) / 160) *
				    (5 + minute * 7 % 11) / 10;
			auto_profile struct profile *p = minute_of(value, host);
			u32 weight = push_share_weight(&share, p, length_ns);
			all += (double)value;
			variance += (double)value * (double)value * (weight - 1);
			if (!push_share_draws(weight, host, "zone=a", minute * length_ns))
				continue;
			push_share_scale(p, weight);
			nr_sent++;
			sent += (double)profile_total(p, 0);
		}
	assert_true((sent - all) * (sent - all) < 9 * variance);
	assert_true(nr_sent > 300 && nr_sent < 1200); /* of 12,000; one in 20 of the mean */
}

static void the_chance_of_a_minute_has_bounds(void **state)
{
	const struct push_share share = share_of("1/20@2");
	const u64 length_ns = 60 * NS_PER_SEC;
	const struct {
		u64 cpu_ns;
		u32 weight;
	} cases[] = {
		{ 0, 20 }, /* no CPU time was recorded */
		{ 1, 200 },
		{ 12 * NS_PER_SEC, 200 },
		{ 120 * NS_PER_SEC, 20 },
		{ 480 * NS_PER_SEC, 5 },
		{ 4800 * NS_PER_SEC, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_profile struct profile *p = minute_of(cases[i].cpu_ns, "n");
		assert_int_equal(push_share_weight(&share, p, length_ns), cases[i].weight);
	}
	auto_profile struct profile *p = minute_of(1, "n");
	const struct push_share all = share_of("1/1");
	assert_int_equal(push_share_weight(&all, p, length_ns), 1);
	assert_true(push_share_draws(1, "n", "", length_ns));
}

static void wrong_shares_are_refused(void **state)
{
	static const char *const texts[] = { "",         "20",       "1/",       "1/0",
					     "1/-1",     "1/10001",  "2/3",      "1/20@",
					     "1/20@0",   "1/20@-1",  "1/20@x",   "1/20@1x",
					     "1/20@nan", "1/20@inf", "1/20@1e30" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		auto_str struct str why = { 0 };
		struct push_share share;
		if (push_share_parse(texts[i], &share, &why) != -EINVAL || !why.len)
			fail_msg("\"%s\" is taken", texts[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_of_a_share_are_those_of_all_minutes),
		cmocka_unit_test(the_chance_of_a_minute_has_bounds),
		cmocka_unit_test(wrong_shares_are_refused),
		cmocka_unit_test(addresses_get_the_path_of_their_protocol),
		cmocka_unit_test(wrong_addresses_are_refused),
		cmocka_unit_test(a_section_is_for_its_own_address_only),
		cmocka_unit_test(wrong_credentials_are_refused_without_showing_them),
		cmocka_unit_test(requests_survive_a_restart_in_their_order),
		cmocka_unit_test(the_oldest_requests_make_room),
		cmocka_unit_test(old_requests_are_given_up),
		cmocka_unit_test(requests_of_the_future_are_given_up),
		cmocka_unit_test(requests_of_another_receiver_are_removed),
		cmocka_unit_test(a_request_that_always_fails_does_not_block_the_others),
		cmocka_unit_test(labels_that_a_receiver_would_get_twice_are_refused),
		cmocka_unit_test(labels_of_the_node_repeat_no_attribute_of_otlp),
		cmocka_unit_test(short_commands_are_one_series),
		cmocka_unit_test(threads_and_processes_are_added_up),
		cmocka_unit_test(times_stay_exact_when_the_rate_changed),
		cmocka_unit_test(too_many_stacks_and_services_are_joined),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
