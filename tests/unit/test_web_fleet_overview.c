/* SPDX-License-Identifier: Apache-2.0 */
/* The services on the page of a fleet. A fake controller answers the requests for slices. */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "fleet/controller/parts.h"

#define NODES     80
#define MINUTE_NS (60 * NS_PER_SEC)

static struct gather_node nodes[NODES];
static struct gather_node *node_list[NODES];
static struct merge_total totals[NODES];
static struct gather gather;
static struct controller_order asked;
static u32 nr_asked;
static const char *fault;
static u32 nr_services; /* "s0", "s1", .. besides "plain" and "heavy" */
static double amount;   /* CPUs of "plain" on each node */

static int fake_start(const struct controller_order *o, const struct controller_host *host,
		      struct controller **out)
{
	asked = *o;
	nr_asked++;
	*out = (struct controller *)&asked;
	return 0;
}

static void fake_step(struct controller *c)
{
}

static void fake_free(struct controller *c)
{
}

static void fake_message(struct controller *c, const char *subject, const void *bytes, size_t len)
{
}

static struct controller_state fake_view(const struct controller *c)
{
	return (struct controller_state){ .phase = CONTROLLER_ENDED,
					  .error = fault,
					  .nr_matched = NODES,
					  .nodes = &gather,
					  .totals = totals,
					  .nr_totals = NODES };
}

static struct gather_node *fake_find(const struct gather *g, const char *name)
{
	return &nodes[atoi(name + 1)];
}

static size_t fake_count(const struct gather *g, enum gather_state state)
{
	return NODES;
}

static void add_part(struct parts *out, const char *name, double even, double odd)
{
	struct part part = { .name = xstrdup(name), .nr_nodes = NODES };

	part.values = xcalloc(NODES, sizeof(double));
	for (u32 i = 0; i < NODES; i++) {
		/* a little noise, or no interval has a width */
		part.values[i] = (i % 2 ? odd : even) * (1 + 0.1 * sin(i)) * (double)MINUTE_NS;
		part.value += (u64)part.values[i];
	}
	vec_push(&out->all, part);
}

static void fake_parts(const struct controller_state *s, const struct value_type *type, size_t max,
		       struct parts *out)
{
	*out = (struct parts){ .has_nodes = true, .nr_totals = NODES };
	out->totals = xcalloc(NODES, sizeof(u32));
	for (u32 i = 0; i < NODES; i++)
		out->totals[i] = i;
	add_part(out, "plain", amount, amount);
	add_part(out, "heavy", 1, 2);
	add_part(out, "sysflame-recorder", 5, 5);
	for (u32 i = 0; i < nr_services; i++) {
		auto_free char *name = xasprintf("s%u", i);
		add_part(out, name, 0.001 + i * 1e-6, 0.001 + i * 1e-6);
	}
}

#define controller_start   fake_start
#define controller_step    fake_step
#define controller_free    fake_free
#define controller_message fake_message
#define controller_view    fake_view
#define gather_find        fake_find
#define gather_count       fake_count
#define parts_of_nodes     fake_parts
#include "web/fleet/fleet_overview.c"

static const struct controller_host host;

static int make_fleet(void **state)
{
	gather = (struct gather){ 0 };
	for (int i = 0; i < NODES; i++) {
		struct gather_node *n = &nodes[i];
		snprintf(n->name, sizeof(n->name), "n%d", i);
		n->labels =
			xasprintf("node=n%d,version=%d,zone=z%d,id=%d", i, 1 + i % 2, i / 40, i);
		n->services = "plain\nheavy";
		snprintf(totals[i].node, sizeof(totals[i].node), "n%d", i);
		node_list[i] = n;
	}
	gather.nodes.at = node_list;
	gather.nodes.nr = NODES;
	amount = 0.5;
	nr_asked = nr_services = 0;
	fault = NULL;
	return 0;
}

static int free_fleet(void **state)
{
	for (int i = 0; i < NODES; i++)
		free(nodes[i].labels);
	return 0;
}

/* Lets all readings that are due happen; the number of those. */
static u32 read_all(struct fleet_overview *v, u64 wall_ms)
{
	u32 before = nr_asked;

	while (fleet_overview_step(v, &host, true, wall_ms))
		;
	return nr_asked - before;
}

static const json_t *service_of(const json_t *o, const char *name)
{
	size_t i;
	json_t *s;

	json_array_foreach(
		json_object_get(o, "services"), i,
		s) if (!strcmp(json_string_value(json_object_get(s, "name")), name)) return s;
	return NULL;
}

static double number_of(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

#define NOW_MINUTE 29000003ull
#define NOW_MS     (NOW_MINUTE * MINUTE_MS + 20000) /* slices of the minute before are there */

static void the_newest_minute_is_read_first_and_every_fifth_before_it(void **state)
{
	struct fleet_overview *v = fleet_overview_new();

	assert_false(fleet_overview_step(v, &host, false, NOW_MS));
	assert_int_equal(nr_asked, 0);
	assert_true(fleet_overview_step(v, &host, true, NOW_MS));
	assert_int_equal(asked.want, WANT_SLICES);
	assert_int_equal(asked.duration_s, 60);
	assert_int_equal(asked.ago_s, 20);
	assert_true(fleet_overview_step(v, &host, true, NOW_MS));
	assert_int_equal(asked.ago_s, 20 + 120); /* minute 29000000 */
	assert_int_equal(read_all(v, NOW_MS), 11);
	assert_int_equal(read_all(v, NOW_MS + 30000), 0);
	/* A minute whose slices are not all there is not read yet. */
	assert_int_equal(read_all(v, NOW_MS + 50000), 0);
	assert_int_equal(read_all(v, NOW_MS + 60000), 1);
	fleet_overview_free(v);
}

static void services_have_their_use_by_minute(void **state)
{
	struct fleet_overview *v = fleet_overview_new();

	read_all(v, NOW_MS);
	amount = 1;
	read_all(v, NOW_MS + 60000);
	json_t *o = fleet_overview_json(v, &gather);
	const json_t *plain = service_of(o, "plain"), *strip = json_object_get(plain, "strip");
	assert_null(service_of(o, "sysflame-recorder"));
	assert_true(fabs(number_of(plain, "now") - NODES) < 0.02 * NODES);
	assert_true(fabs(number_of(plain, "cpus") - NODES * (0.5 * 13 + 1) / 14) < 0.02 * NODES);
	assert_int_equal(json_array_size(strip), OVERVIEW_MINUTES);
	size_t i, known = 0;
	json_t *cpus;
	json_array_foreach(strip, i, cpus) known += json_is_real(cpus);
	assert_int_equal(known, 14);
	assert_int_equal(number_of(json_object_get(plain, "labels"), "version=1"), NODES / 2);
	assert_int_equal(number_of(plain, "nodes"), NODES);
	json_decref(o);
	fleet_overview_free(v);
}

static void versions_that_differ_by_more_than_chance_are_named(void **state)
{
	struct fleet_overview *v = fleet_overview_new();

	read_all(v, NOW_MS);
	json_t *o = fleet_overview_json(v, &gather);
	assert_int_equal(json_array_size(json_object_get(service_of(o, "plain"), "differences")),
			 0);
	const json_t *list = json_object_get(service_of(o, "heavy"), "differences");
	assert_int_equal(json_array_size(list), 1); /* zones are equal; an id has too many values */
	const json_t *d = json_array_get(list, 0);
	assert_string_equal(json_string_value(json_object_get(d, "key")), "version");
	assert_string_equal(json_string_value(json_object_get(d, "b")), "2");
	assert_true(fabs(number_of(d, "change") - 1) < 0.05);
	json_decref(o);
	fleet_overview_free(v);
}

static void a_minute_that_failed_is_asked_again_later_and_says_why(void **state)
{
	struct fleet_overview *v = fleet_overview_new();

	fault = "no node answered";
	assert_int_equal(read_all(v, NOW_MS), 13);
	assert_int_equal(read_all(v, NOW_MS + 30000), 0);
	json_t *o = fleet_overview_json(v, NULL);
	assert_string_equal(json_string_value(json_object_get(o, "error")), fault);
	assert_int_equal(number_of(o, "until_ms"), 0);
	assert_int_equal(json_array_size(json_object_get(o, "services")), 0);
	json_decref(o);
	/* After a minute the newest one is new, and all others are tried for the second time. */
	assert_int_equal(read_all(v, NOW_MS + MINUTE_MS), 1 + 13);
	assert_int_equal(read_all(v, NOW_MS + 2 * MINUTE_MS), 1 + 1);
	fault = NULL;
	/* Those of the first look had a pause of 2 minutes; one is older than an hour. */
	assert_int_equal(read_all(v, NOW_MS + 3 * MINUTE_MS), 1 + 1 + 12);
	assert_int_equal(read_all(v, NOW_MS + 4 * MINUTE_MS), 1 + 1);
	o = fleet_overview_json(v, NULL);
	size_t i, known = 0;
	json_t *cpus;
	json_array_foreach(json_object_get(service_of(o, "plain"), "strip"), i, cpus) known +=
		json_is_real(cpus);
	assert_int_equal(known, 16);
	assert_string_equal(json_string_value(json_object_get(o, "error")), "");
	json_decref(o);
	fleet_overview_free(v);
}

static void services_that_ended_are_forgotten_after_an_hour(void **state)
{
	struct fleet_overview *v = fleet_overview_new();

	nr_services = 3;
	read_all(v, NOW_MS);
	nr_services = 0;
	read_all(v, NOW_MS + 61 * MINUTE_MS);
	json_t *o = fleet_overview_json(v, NULL);
	assert_non_null(service_of(o, "plain"));
	assert_null(service_of(o, "s0"));
	json_decref(o);
	fleet_overview_free(v);
}

static void services_without_number_are_bounded(void **state)
{
	struct fleet_overview *v = fleet_overview_new();

	nr_services = 5000;
	read_all(v, NOW_MS);
	json_t *o = fleet_overview_json(v, NULL);
	assert_true(json_array_size(json_object_get(o, "services")) < OVERVIEW_SERVICES);
	assert_non_null(service_of(o, "heavy"));
	assert_non_null(service_of(o, "s4999")); /* those that used least are left out */
	assert_null(service_of(o, "s0"));
	json_decref(o);
	fleet_overview_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_newest_minute_is_read_first_and_every_fifth_before_it, make_fleet,
			free_fleet),
		cmocka_unit_test_setup_teardown(services_have_their_use_by_minute, make_fleet,
						free_fleet),
		cmocka_unit_test_setup_teardown(versions_that_differ_by_more_than_chance_are_named,
						make_fleet, free_fleet),
		cmocka_unit_test_setup_teardown(
			a_minute_that_failed_is_asked_again_later_and_says_why, make_fleet,
			free_fleet),
		cmocka_unit_test_setup_teardown(services_that_ended_are_forgotten_after_an_hour,
						make_fleet, free_fleet),
		cmocka_unit_test_setup_teardown(services_without_number_are_bounded, make_fleet,
						free_fleet),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
