/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame fleet top`: the hottest services and methods of a fleet, from slices.
 * Part of cmd/cmd.h.
 */
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/top_screen.h"
#include "export/writers/amount.h"
#include "export/writers/text.h"
#include "fleet/cli/request.h"
#include "fleet/controller/controller.h"
#include "fleet/controller/parts.h"
#include "profile/tree.h"

#define INTERVAL_MIN_S 5
#define INTERVAL_MAX_S 3600
#define ROWS_MAX       1000
#define WINDOW_MAX_S   3600
#define AGO_S          15 /* nodes hand over a slice every 10 s */
#define STEP_MS        100
#define NAME_BYTES     1000
#define SERVICE_WIDTH  40

struct fleet_hot {
	const struct profile *profile;
	const char *unit;
	u64 total, window_ns;
	u64 until_wall_ns;
	size_t nr_matched, nr_delivered;
	bool is_estimate;
	struct parts services;
	struct tree tree;
	struct hot_methods methods;
};

/* Reads the first type of the profile, which must outlive *out. fleet_hot_fini frees it. */
static void fleet_hot_make(const struct profile *p, const struct controller_state *s,
			   const struct controller_order *o, struct fleet_hot *out)
{
	*out = (struct fleet_hot){ .profile = p,
				   .unit = p->types.nr ? p->types.at[0].unit : "",
				   .total = p->types.nr ? profile_total(p, 0) : 0,
				   .window_ns = o->duration_s * NS_PER_SEC,
				   .until_wall_ns = time_wall_ns() - o->ago_s * NS_PER_SEC,
				   .nr_matched = s->nr_matched,
				   .nr_delivered = gather_count(s->nodes, GATHER_DELIVERED),
				   .is_estimate = s->is_estimate };
	parts_make(p, s, PARTS_SERVICES, ROWS_MAX, &out->services);
	if (!p->types.nr)
		return;
	tree_make(p, 0, &out->tree);
	hot_methods_make(p, &out->tree, &out->methods);
}

static void fleet_hot_fini(struct fleet_hot *h)
{
	parts_fini(&h->services);
	hot_methods_fini(&h->methods);
	tree_fini(&h->tree);
}

/* CPU time as CPUs, other values for each second. */
static void add_rate(struct str *out, const struct fleet_hot *h, u64 value)
{
	double seconds = (double)h->window_ns / NS_PER_SEC;

	if (!strcmp(h->unit, "ns"))
		str_addf(out, "%.2f", (double)value / (double)h->window_ns);
	else
		amount_add(out, (u64)((double)value / seconds), h->unit);
}

static void print_head(const struct fleet_hot *h, FILE *out)
{
	auto_str struct str rate = { 0 };
	time_t until = (time_t)(h->until_wall_ns / NS_PER_SEC);
	char clock[16] = "?";
	struct tm local;
	bool is_time = !strcmp(h->unit, "ns");

	if (localtime_r(&until, &local))
		strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	add_rate(&rate, h, h->total);
	fprintf(out, "%zu of %zu matching nodes; %llu s until %s; %s %s%s\n", h->nr_delivered,
		h->nr_matched, (unsigned long long)(h->window_ns / NS_PER_SEC), clock, rate.at,
		is_time ? "CPUs" : h->unit,
		h->is_estimate ? " (estimate for all that match)"
		: is_time      ? ""
			       : " a second");
}

/* The interval as text: "+-3 %", or "-" for an estimate without an interval. */
static const char *interval_text(const struct estimate *e, struct str *out)
{
	if (!e->has_interval || !(e->total > 0))
		return "-";
	str_addf(out, "+-%.0f %%", 100 * fmax(e->high - e->total, e->total - e->low) / e->total);
	return out->at;
}

static void print_services(const struct fleet_hot *h, size_t nr, FILE *out)
{
	bool is_doubted = h->is_estimate && h->services.has_nodes;
	size_t nr_all = h->services.all.nr + h->services.nr_more;

	fprintf(out, "%10s %9s%s %6s  %s\n", strcmp(h->unit, "ns") ? "A SECOND" : "CPUS", "SHARE",
		is_doubted ? "     95 %" : "", "NODES", "SERVICE");
	for (size_t i = 0; i < nr && i < h->services.all.nr; i++) {
		const struct part *s = &h->services.all.at[i];
		auto_str struct str rate = { 0 }, share = { 0 }, name = { 0 }, doubt = { 0 };
		auto_str struct str clean = { 0 };
		auto_free char *nodes = s->nr_nodes ? xasprintf("%u", s->nr_nodes) : xstrdup("-");
		add_rate(&rate, h, s->value);
		share_add(&share, s->value, h->total);
		utf8_clean(&clean, s->name, NAME_BYTES);
		short_name_add(&name, clean.at, false, SERVICE_WIDTH);
		fprintf(out, "%10s %9s", rate.at, share.at);
		if (is_doubted)
			fprintf(out, " %9s", interval_text(&s->estimate, &doubt));
		fprintf(out, " %6s  %s\n", nodes, name.at);
	}
	if (nr_all > nr)
		fprintf(out, "%zu more services\n", nr_all - nr);
}

/* Text whose lines have at most `width` characters, or a line of JSON. */
static void fleet_hot_print(const struct fleet_hot *h, size_t nr_services, size_t nr_methods,
			    size_t width, FILE *out)
{
	print_head(h, out);
	print_services(h, nr_services, out);
	if (nr_methods && h->profile->types.nr)
		text_top(h->profile, 0, &h->tree, nr_methods, width, out);
}

static json_t *services_json(const struct fleet_hot *h, size_t nr)
{
	json_t *list = json_array();

	for (size_t i = 0; i < nr && i < h->services.all.nr; i++) {
		const struct part *s = &h->services.all.at[i];
		const struct estimate *e = &s->estimate;
		auto_str struct str name = { 0 };
		utf8_clean(&name, s->name, NAME_BYTES);
		json_array_append_new(
			list,
			json_pack("{s:s,s:I,s:o,s:o,s:o}", "name", name.at, "value",
				  (json_int_t)s->value, "nodes",
				  s->nr_nodes ? json_integer(s->nr_nodes) : json_null(), "low",
				  e->has_interval ? json_real(e->low) : json_null(), "high",
				  e->has_interval ? json_real(e->high) : json_null()));
	}
	return list;
}

static json_t *methods_json(const struct fleet_hot *h, size_t nr)
{
	json_t *list = json_array();

	for (size_t i = 0; i < nr && i < h->methods.all.nr; i++) {
		const struct hot_method *m = &h->methods.all.at[i];
		auto_str struct str name = { 0 };
		utf8_clean(&name, frames_get(h->profile->frames, m->frame)->name, NAME_BYTES);
		json_array_append_new(list, json_pack("{s:s,s:I,s:I}", "name", name.at ?: "",
						      "self", (json_int_t)m->self, "total",
						      (json_int_t)m->total));
	}
	return list;
}

static void fleet_hot_print_json(const struct fleet_hot *h, size_t nr_services, size_t nr_methods,
				 FILE *out)
{
	auto_str struct str unit = { 0 };

	utf8_clean(&unit, h->unit, NAME_BYTES);
	json_t *line = json_pack(
		"{s:I,s:I,s:s,s:I,s:b,s:I,s:I,s:o,s:o}", "until_ms",
		(json_int_t)(h->until_wall_ns / NS_PER_MS), "window_s",
		(json_int_t)(h->window_ns / NS_PER_SEC), "unit", unit.at ?: "", "total",
		(json_int_t)h->total, "is_estimate", h->is_estimate, "matched",
		(json_int_t)h->nr_matched, "delivered", (json_int_t)h->nr_delivered, "services",
		services_json(h, nr_services), "methods", methods_json(h, nr_methods));
	json_dumpf(line, out, JSON_COMPACT);
	fputc('\n', out);
	json_decref(line);
}

struct options {
	struct connection_options connection;
	struct fleet_choice choice;
	const char *select, *event;
	int window_s, interval_s, nr_readings, nr_services, nr_methods;
	bool is_batch, is_once, is_json, help;
};

struct top {
	const struct options *o;
	struct requests requests;
	struct controller_order order;
	bool has_screen, is_over;
	struct view view;
};

static bool is_titles(const char *line, u32 number)
{
	static const char end[] = "   METHOD";
	size_t len = strlen(line);

	return number == 1 || (len >= sizeof(end) && !strcmp(line + len - strlen(end), end));
}

/* The text becomes the lines of the screen. */
static void fill_view(struct top *t, char *text)
{
	char *line;

	view_fini(&t->view);
	for (u32 i = 0; (line = strsep(&text, "\n")); i++) {
		enum line_style style =
			i ? is_titles(line, i) ? LINE_TITLES : LINE_PLAIN : LINE_HEAD;
		vec_push(&t->view.lines, (struct view_line){ xstrdup(line), style });
	}
}

static void draw(struct top *t, const char *status)
{
	screen_draw(&t->view, status, LINE_DIM);
}

static void show_on_screen(struct top *t, const struct fleet_hot *h)
{
	char *text = NULL;
	size_t len, rows, columns;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	screen_size(&rows, &columns);
	size_t services = rows > 12 ? (rows - 6) / 3 : 3;
	size_t used = services < h->services.all.nr ? services + 1 : h->services.all.nr;
	fleet_hot_print(h, services, rows > used + 5 ? rows - used - 5 : 1, columns, f);
	fclose(f);
	fill_view(t, text);
	free(text);
}

static void show(struct top *t, const struct fleet_hot *h)
{
	const struct options *o = t->o;
	size_t services = (size_t)o->nr_services, methods = (size_t)o->nr_methods;

	if (t->has_screen)
		show_on_screen(t, h);
	else if (o->is_json)
		fleet_hot_print_json(h, services, methods, stdout);
	else
		fleet_hot_print(h, services, methods, terminal_width(STDOUT_FILENO), stdout);
	if (!t->has_screen && !o->is_json && o->nr_readings != 1)
		puts("");
	fflush(stdout);
}

/* Returns an exit status. */
static int take_reading(struct top *t)
{
	struct requests *a = &t->requests;
	auto_profile struct profile *p = profile_new();
	int status = requests_add(a, &t->order) ?: requests_run(a, CONTROLLER_ENDED);

	status = status ?: requests_profile(a->controllers[0], p);
	if (!status) {
		const struct controller_state s = controller_view(a->controllers[0]);
		struct fleet_hot h;
		if (!t->has_screen)
			requests_log_reasons(s.nodes);
		fleet_hot_make(p, &s, &t->order, &h);
		show(t, &h);
		fleet_hot_fini(&h);
	}
	requests_drop(a);
	return status;
}

static void take_keys(struct top *t)
{
	for (int key; (key = screen_key()) != SCREEN_NONE;) {
		t->is_over |= key == 'q' || key == SCREEN_GONE;
		if (key == SCREEN_RESIZED)
			draw(t, "resized; the next reading fits   q quit");
	}
}

static bool is_stopped(const struct top *t)
{
	return *t->requests.stopped || t->is_over;
}

static void wait_until(struct top *t, u64 until_ns)
{
	while (!is_stopped(t) && time_mono_ns() < until_ns) {
		struct pollfd polled = { t->has_screen ? STDIN_FILENO : -1, POLLIN, 0 };
		poll(&polled, 1, STEP_MS);
		if (t->has_screen)
			take_keys(t);
		else if (file_has_no_reader(STDOUT_FILENO))
			t->is_over = true;
	}
}

static void say_state(struct top *t, int status)
{
	auto_str struct str message = { 0 };
	auto_free char *text = NULL;

	if (!t->has_screen)
		return;
	screen_message(&message);
	text = status && message.len ? xasprintf("%s   q quit", message.at)
				     : xasprintf("every %d s   q quit", t->o->interval_s);
	draw(t, text);
}

/* Takes all readings. A failed reading makes the command fail only if it was the last one. */
static int read_all(struct top *t)
{
	int status = 0;

	for (int i = 0; !is_stopped(t) && (!t->o->nr_readings || i < t->o->nr_readings); i++) {
		u64 next_ns = time_mono_ns() + (u64)t->o->interval_s * NS_PER_SEC;
		if (t->has_screen)
			draw(t, "asking the nodes ..   q quit");
		status = take_reading(t);
		if (t->has_screen)
			take_keys(t);
		say_state(t, status);
		if (i + 1 != t->o->nr_readings)
			wait_until(t, next_ns);
	}
	return is_stopped(t) ? 0 : status;
}

static int open_terminal(struct top *t)
{
	auto_str struct str why = { 0 };

	if (t->o->is_batch)
		return 0;
	if (screen_open(&why)) {
		log_error("%s; --batch prints without one", why.at);
		return EXIT_USAGE;
	}
	t->has_screen = true;
	return 0;
}

static int top(const struct options *o)
{
	struct top t = { .o = o,
			 .requests = { .stopped = fleet_signals_count(), .is_silent = true } };
	int status = requests_begin(&t.requests, &o->connection, true);

	t.order = requests_order(&t.requests, WANT_SLICES, o->select);
	t.order.duration_s = (u32)o->window_s;
	t.order.ago_s = AGO_S;
	copy_text(t.order.events, sizeof(t.order.events), o->event);
	copy_text(t.order.reason, sizeof(t.order.reason), "fleet top");
	fleet_choice_apply(&o->choice, &t.order);
	status = status ?: open_terminal(&t) ?: read_all(&t);
	if (t.has_screen)
		screen_close();
	view_fini(&t.view);
	requests_end(&t.requests);
	return status ?: o->is_batch ? output_finish() : 0;
}

static int check(struct options *o)
{
	int status = requests_check_selector(o->select);

	if (status)
		return status;
	if (o->interval_s < INTERVAL_MIN_S || o->interval_s > INTERVAL_MAX_S)
		return requests_usage_error("top", "--interval: takes 5 to 3600 s");
	if (o->window_s < 10 || o->window_s > WINDOW_MAX_S)
		return requests_usage_error("top", "-d: takes 10 to 3600 s");
	if (o->nr_readings < 0 || o->nr_methods < 0 || o->nr_methods > ROWS_MAX ||
	    o->nr_services < 0 || o->nr_services > ROWS_MAX)
		return requests_usage_error(
			"top", "-n, --methods and --services take numbers from 0; rows at "
			       "most 1000");
	if (!*o->event || strchr(o->event, ',') || strlen(o->event) > 31)
		return requests_usage_error("top", "-e: takes one event, of at most 31 bytes");
	if (o->is_once)
		o->nr_readings = 1;
	o->is_batch |= o->is_once || o->is_json || o->nr_readings;
	return fleet_choice_parse(&o->choice, "top");
}

int fleet_top_main(int argc, char **argv)
{
	struct options o = { .connection = { .wait_s = 2 },
			     .select = "",
			     .event = "cpu",
			     .window_s = 60,
			     .interval_s = 30,
			     .nr_services = 10,
			     .nr_methods = 20 };
	const struct opt opts[] = {
		FLEET_OPTS(&o.connection),
		HTTP_OPT(&o.connection),
		SELECT_OPT(&o.select),
		FLEET_CHOICE_OPTS(&o.choice),
		{ 'e', "event", OPT_STRING, &o.event, "EVENT", "an event of --continuous (cpu)" },
		{ 'd', "duration", OPT_INT, &o.window_s, "S", "of the last S seconds (60)" },
		{ 'i', "interval", OPT_INT, &o.interval_s, "S",
		  "seconds from one reading to the next (30)" },
		{ 'm', "methods", OPT_INT, &o.nr_methods, "N", "methods in batch mode (20)" },
		{ 0, "services", OPT_INT, &o.nr_services, "N", "services in batch mode (10)" },
		{ 'b', "batch", OPT_BOOL, &o.is_batch, NULL, "print readings, without a screen" },
		{ 'n', "readings", OPT_INT, &o.nr_readings, "N", "end after N readings" },
		{ 0, "once", OPT_BOOL, &o.is_once, NULL, "end after one reading" },
		{ 0, "json", OPT_BOOL, &o.is_json, NULL, "print a line of JSON for each reading" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this help" },
	};
	int status = requests_parse(
		"top", opts, ARRAY_SIZE(opts), argc, argv, &o.help,
		"usage: sysflame fleet top --nats URL --fleet-dir DIR [OPTION..]\n\n"
		"Shows the hottest services and methods of the fleet, again and again. They\n"
		"come from slices of continuous profiling: nothing is recorded. Each reading "
		"is\n"
		"an entry of the audit list of every node.\n");

	return status >= 0 ? status : check(&o) ?: top(&o);
}
