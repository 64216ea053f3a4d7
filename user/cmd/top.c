/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame top`: the subcommand.
 * Part of cmd/cmd.h.
 */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/profile_file.h"
#include "cmd/top_screen.h"
#include "daemon/supervisor/home.h"
#include "proc/status.h"
#include "profile/names.h"
#include "top/view.h"
#include "top/watch.h"

struct live_options {
	enum board_key key;
	const char *filter; /* "" for all */
	bool has_pids;      /* as in struct view_choice */
	u64 interval_ns;
	int signal_fd; /* readable when the program is to end */
};

#define RECORD_NS     (10 * NS_PER_SEC)
#define RECORD_OUTPUT "flame.html"
#define FILTER_MAX    64
#define HEAD_LINES    4 /* of the node, titles, status */
#define MESSAGE_NS    (8 * NS_PER_SEC)

struct live {
	struct watch *watch;
	const struct live_options *options;
	struct board board;
	struct view_choice choice;
	char filter[FILTER_MAX + 1], host[65], time[16];
	bool edits_filter, shows_help, is_over;
	size_t first; /* row on the screen */
	struct str message;
	u64 message_ns; /* when it came */
};

static void say(struct live *l, const char *text)
{
	str_clear(&l->message);
	str_add(&l->message, text);
	l->message_ns = time_mono_ns();
}

static void read_board(struct live *l)
{
	time_t now = time(NULL);
	struct tm local;

	localtime_r(&now, &local);
	strftime(l->time, sizeof(l->time), "%H:%M:%S", &local);
	watch_read(l->watch, &l->board);
	l->choice.no_methods = watch_no_methods(l->watch);
	board_sort(&l->board, l->choice.key);
}

/* The index of the selected row among those shown; the first one if it is gone. */
static size_t selected_index(struct live *l)
{
	const struct jvm_row *row;

	for (size_t i = 0; (row = view_row(&l->board, &l->choice, i)); i++)
		if (process_id_same(row->id, l->choice.selected))
			return i;
	row = view_row(&l->board, &l->choice, 0);
	l->choice.selected = row ? row->id : (struct process_id){ 0 };
	return 0;
}

static void move(struct live *l, long by)
{
	size_t nr = view_nr_rows(&l->board, &l->choice);
	long at = (long)selected_index(l) + by;

	if (!nr)
		return;
	at = at < 0 ? 0 : at >= (long)nr ? (long)nr - 1 : at;
	l->choice.selected = view_row(&l->board, &l->choice, (size_t)at)->id;
}

static void add_methods(struct live *l, struct view *v, const struct jvm_row *row, size_t nr,
			size_t width)
{
	struct hot_list methods = { 0 };

	watch_methods(l->watch, row->id.pid, &methods);
	view_add_methods(v, row, &methods, &l->choice, nr, width);
	hot_list_fini(&methods);
}

static void make_view(struct live *l, struct view *v, size_t rows, size_t width)
{
	size_t room = rows > HEAD_LINES ? rows - HEAD_LINES : 1;
	size_t nr = view_nr_rows(&l->board, &l->choice), most = room > 5 ? room / 2 : room;
	size_t at = selected_index(l), shown = nr < most ? nr : most;
	const struct jvm_row *row = view_row(&l->board, &l->choice, at);

	if (at < l->first)
		l->first = at;
	if (shown && at >= l->first + shown)
		l->first = at - shown + 1;
	if (l->first + shown > nr)
		l->first = nr - shown;
	view_add_node(v, &l->board, &l->choice, width);
	view_add_rows(v, &l->board, &l->choice, l->first, shown, width);
	if (row && room > shown + 1)
		add_methods(l, v, row, room - shown - 1, width);
}

static void add_status(struct live *l, struct str *out, enum line_style *style)
{
	u64 elapsed_ns;
	pid_t recorded = watch_recorded(l->watch, &elapsed_ns);
	auto_str struct str message = { 0 };

	screen_message(&message);
	if (message.len)
		say(l, message.at);
	*style = LINE_WARNING;
	if (l->edits_filter) {
		str_addf(out, "filter: %s_  Enter keeps it, Esc removes it", l->filter);
	} else if (recorded) {
		str_addf(out, "recording %d: %llu of %llu s", (int)recorded,
			 (unsigned long long)(elapsed_ns / NS_PER_SEC), RECORD_NS / NS_PER_SEC);
	} else if (l->message.len && time_mono_ns() - l->message_ns < MESSAGE_NS) {
		str_add(out, l->message.at);
	} else {
		*style = LINE_DIM;
		str_add(out, "? help   / filter   s sort   p pause   Enter record   q quit");
	}
}

static void draw(struct live *l)
{
	auto_str struct str status = { 0 };
	struct view v = { 0 };
	enum line_style style;
	size_t rows, columns;

	screen_size(&rows, &columns);
	if (l->shows_help)
		view_add_help(&v);
	else
		make_view(l, &v, rows, columns);
	add_status(l, &status, &style);
	screen_draw(&v, status.at, style);
	view_fini(&v);
}

static void start_recording(struct live *l)
{
	if (!l->choice.selected.pid)
		return;
	int err = watch_record(l->watch, l->choice.selected.pid, RECORD_NS);
	if (err == -EBUSY)
		say(l, "a recording is running already");
	else if (err == -ENOTSUP)
		say(l, l->choice.no_methods
			       ? "nothing can be recorded: see the line above the methods"
			       : "the daemon's page records; sysflame serve --link prints its "
				 "address");
}

static void write_recording(struct live *l)
{
	const struct format *format = profile_file_format(NULL, RECORD_OUTPUT);
	auto_str struct str text = { 0 };
	auto_free char *path = NULL;
	struct cut *cut = watch_take(l->watch);
	u64 size_bytes = 0;

	if (!cut)
		return;
	if (!cut->profile->weights.nr) {
		say(l, "no samples: the JVM used no CPU time");
	} else {
		profile_name_frames(cut->profile, NAMES_SHOWN);
		if (!profile_file_write_new(cut->profile, RECORD_OUTPUT, format, &path,
					    &size_bytes)) {
			str_addf(&text, "wrote %s, %llu bytes", path,
				 (unsigned long long)size_bytes);
			say(l, text.at);
		}
	}
	cut_free(cut);
}

static void edit_filter(struct live *l, int key)
{
	size_t len = strlen(l->filter);

	if (key == SCREEN_ENTER) {
		l->edits_filter = false;
	} else if (key == SCREEN_ESCAPE) {
		l->filter[0] = '\0';
		l->edits_filter = false;
	} else if (key == SCREEN_BACKSPACE && len) {
		l->filter[len - 1] = '\0';
	} else if (key >= ' ' && key < 0x7f && len < FILTER_MAX) {
		l->filter[len] = (char)key;
		l->filter[len + 1] = '\0';
	}
}

static void sort_by(struct live *l, enum board_key key)
{
	l->choice.key = key;
	board_sort(&l->board, key);
}

static bool choose_key(struct live *l, int key)
{
	static const char letters[NR_BOARD_KEYS + 1] = "cagimtbPn";
	const char *at = key > 0 && key < 0x80 ? strchr(letters, key) : NULL;

	if (at)
		sort_by(l, (enum board_key)(at - letters));
	return at;
}

static void handle_key(struct live *l, int key)
{
	static const struct {
		int key, alias, by;
	} moves[] = {
		{ SCREEN_UP, 'k', -1 },          { SCREEN_DOWN, 'j', 1 },
		{ SCREEN_PAGE_UP, 0, -10 },      { SCREEN_PAGE_DOWN, 0, 10 },
		{ SCREEN_HOME, 0, -1000000000 }, { SCREEN_END, 'G', 1000000000 },
	};

	if (l->edits_filter) {
		edit_filter(l, key);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(moves); i++)
		if (key == moves[i].key || (moves[i].alias && key == moves[i].alias))
			move(l, moves[i].by);
	if (l->shows_help && key != SCREEN_RESIZED)
		l->shows_help = false;
	else if (key == '?' || key == 'h')
		l->shows_help = true;
	else if (key == '/')
		l->edits_filter = true;
	else if (key == SCREEN_ESCAPE)
		l->filter[0] = '\0';
	else if (key == 'p' || key == ' ')
		l->choice.is_paused = !l->choice.is_paused;
	else if (key == 's')
		sort_by(l, (l->choice.key + 1) % NR_BOARD_KEYS);
	else if (key == SCREEN_ENTER)
		start_recording(l);
	else if (key == 'q')
		l->is_over = true;
	else
		choose_key(l, key);
}

/* Returns whether something is to be drawn. */
static bool handle_keys(struct live *l)
{
	int key;
	bool any = false;

	while (!l->is_over && (key = screen_key()) != SCREEN_NONE) {
		handle_key(l, key);
		any = true;
	}
	return any;
}

/* Waits for a key, the node, the end, or `until_ns`. Returns whether something is to be drawn. */
static bool live_wait(struct live *l, u64 until_ns)
{
	struct pollfd fds[] = {
		{ .fd = l->options->signal_fd, .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = watch_fd(l->watch), .events = POLLIN },
	};
	u64 now_ns = time_mono_ns();
	int tick_ms = watch_tick_ms(l->watch);
	int left_ms = until_ns > now_ns ? (int)((until_ns - now_ns) / NS_PER_MS) + 1 : 0;

	poll(fds, ARRAY_SIZE(fds), tick_ms >= 0 && tick_ms < left_ms ? tick_ms : left_ms);
	if (fds[2].revents)
		watch_woken(l->watch);
	watch_tick(l->watch);
	if (fds[0].revents || fds[1].revents & (POLLHUP | POLLERR | POLLNVAL))
		l->is_over = true;
	/* Also without input: a new size of the terminal is a key, and interrupts poll. */
	return !l->is_over && handle_keys(l);
}

static void live_run(struct live *l)
{
	u64 next_ns = time_mono_ns() + l->options->interval_ns / 4; /* for the first numbers */

	read_board(l);
	draw(l);
	while (!l->is_over) {
		bool is_new = live_wait(l, next_ns);
		u64 now_ns = time_mono_ns();
		write_recording(l);
		if (now_ns >= next_ns) {
			next_ns = now_ns + l->options->interval_ns;
			if (!l->choice.is_paused)
				read_board(l);
			is_new = true;
		}
		if (is_new && !l->is_over)
			draw(l);
	}
}

/* Shows readings until the user quits, or the program is to end. Returns the exit status. */
static int show_live(struct watch *w, const struct live_options *options)
{
	auto_str struct str why = { 0 };
	struct live l = { .watch = w, .options = options };

	copy_text(l.filter, sizeof(l.filter), options->filter);
	if (gethostname(l.host, sizeof(l.host) - 1))
		copy_text(l.host, sizeof(l.host), "?");
	l.choice = (struct view_choice){ .key = options->key,
					 .filter = l.filter,
					 .host = l.host,
					 .time = l.time,
					 .no_methods = watch_no_methods(w),
					 .has_pids = options->has_pids };
	if (screen_open(&why)) {
		log_error("%s; --batch prints without one", why.at);
		return EXIT_USAGE;
	}
	live_run(&l);
	screen_close();
	board_fini(&l.board);
	str_fini(&l.message);
	return 0;
}

static void print_methods(const struct watch *w, const struct board *b, const struct view_choice *c,
			  struct view *v, size_t nr, size_t width)
{
	struct hot_list methods = { 0 };
	const struct jvm_row *row;

	for (size_t i = 0; (row = view_row(b, c, i)); i++) {
		watch_methods(w, row->id.pid, &methods);
		if (methods.nr_samples)
			view_add_methods(v, row, &methods, c, nr, width);
	}
	hot_list_fini(&methods);
}

/* As text; of each JVM with samples at most `nr_methods` methods. */
static void print_text(const struct watch *w, const struct board *b, const struct view_choice *c,
		       size_t nr_methods, size_t width)
{
	struct view v = { 0 };

	view_add_node(&v, b, c, width);
	view_add_rows(&v, b, c, 0, b->rows.nr, width);
	if (nr_methods)
		print_methods(w, b, c, &v, nr_methods, width);
	vec_each(line, &v.lines)
		puts(line->text);
	putchar('\n');
	view_fini(&v);
}

/* CPUs in percent of one; null if unknown. */
static json_t *percent(double cpus)
{
	return cpus < 0 ? json_null() : json_real(cpus * 100);
}

static json_t *gauge(u64 value)
{
	return value == GAUGE_UNKNOWN ? json_null() : json_integer((json_int_t)value);
}

static json_t *text_or_null(const char *text)
{
	return text && *text ? json_string(text) : json_null();
}

static json_t *methods_json(const struct hot_list *methods, size_t nr)
{
	json_t *list = json_array();

	for (size_t i = 0; i < nr && i < methods->all.nr; i++) {
		const struct hot_method_share *m = &methods->all.at[i];
		json_array_append_new(list, json_pack("{ss sI sI}", "name", m->name, "self",
						      (json_int_t)m->self, "total",
						      (json_int_t)m->total));
	}
	return list;
}

static json_t *threads_json(const struct jvm_row *row)
{
	const u32 *t = row->threads;

	if (!row->nr_threads)
		return json_null();
	return json_pack("{si si si si}", "running", (int)t[JAVA_THREAD_RUNS], "native",
			 (int)t[JAVA_THREAD_NATIVE], "blocked", (int)t[JAVA_THREAD_BLOCKED],
			 "waiting", (int)t[JAVA_THREAD_WAITS]);
}

static json_t *virtual_json(const struct virtual_totals *v)
{
	return json_pack("{sI sI sI sI}", "all", (json_int_t)v->all, "run", (json_int_t)v->run,
			 "wait", (json_int_t)v->wait, "pinned", (json_int_t)v->pinned);
}

static json_t *jvm_json(const struct jvm_row *row, const struct hot_list *methods, size_t nr)
{
	json_t *j =
		json_pack("{si ss so so so so}", "pid", (int)row->id.pid, "name", row->name,
			  "container", text_or_null(row->container), "jdk", text_or_null(row->jdk),
			  "collector", text_or_null(row->collector), "gap", text_or_null(row->gap));

	json_object_set_new(j, "cpu_percent", percent(row->cpu));
	json_object_set_new(j, "gc_percent", percent(row->gc));
	json_object_set_new(j, "jit_percent", percent(row->jit));
	json_object_set_new(j, "alloc_bytes_per_s",
			    row->alloc < 0 ? json_null() : json_real(row->alloc));
	json_object_set_new(j, "alloc_bytes", json_integer((json_int_t)row->allocated_bytes));
	json_object_set_new(j, "alloc_partial_threads",
			    json_integer((json_int_t)row->partial_threads));
	json_object_set_new(j, "threads", threads_json(row));
	json_object_set_new(j, "virtual_threads", virtual_json(&row->virtual));
	json_object_set_new(j, "heap_used_bytes", gauge(row->heap_used));
	json_object_set_new(j, "heap_committed_bytes", gauge(row->heap_committed));
	json_object_set_new(j, "collections", gauge(row->collections));
	json_object_set_new(j, "samples", json_integer((json_int_t)methods->nr_samples));
	json_object_set_new(j, "methods", methods_json(methods, nr));
	return j;
}

/* As one line of JSON (docs/operations.md). */
static void print_json(const struct watch *w, const struct board *b, const struct view_choice *c,
		       size_t nr_methods)
{
	json_t *all = json_array(), *node;
	struct hot_list methods = { 0 };
	const struct jvm_row *row;

	for (size_t i = 0; (row = view_row(b, c, i)); i++) {
		watch_methods(w, row->id.pid, &methods);
		json_array_append_new(all, jvm_json(row, &methods, nr_methods));
	}
	node = json_pack("{ss si so so so so s[fff]}", "host", c->host, "cpus", b->load.nr_cpus,
			 "busy_percent", percent(b->load.busy), "stolen_percent",
			 percent(b->load.stolen), "other_percent", percent(b->other),
			 "sysflame_percent", percent(b->own), "load", b->load.load[0],
			 b->load.load[1], b->load.load[2]);
	json_t *line = json_pack("{sf sf so so so}", "time", (double)time_wall_ns() / 1e9,
				 "interval_s", (double)b->passed_ns / 1e9, "node", node,
				 "no_methods", text_or_null(c->no_methods), "jvms", all);
	json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(13));
	putchar('\n');
	json_decref(line);
	hot_list_fini(&methods);
}

#define INTERVAL_MIN_S 0.1
#define INTERVAL_MAX_S 3600
#define METHODS_MAX    1000
#define SETTLE_NS      (3 * NS_PER_SEC) /* a sample waits that long for a file's names */
#define SETTLE_STEP_NS (20 * NS_PER_MS)

struct options {
	double interval_s;
	int nr_readings, nr_methods;
	bool is_batch, is_once, is_json, uses_daemon, help;
	const char *dir;
	const char *sort, *filter;
	struct opt_list pid_texts;
	VEC(pid_t) pids;
	enum board_key key;
};

/* SIGINT and its like end the program through the loop, which restores the terminal. */
static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Ticks until `until_ns`; returns whether a signal ends the program before. */
static bool wait(struct watch *w, int signal_fd, u64 until_ns)
{
	for (u64 now_ns; (now_ns = time_mono_ns()) < until_ns;) {
		struct pollfd fds[] = { { .fd = signal_fd, .events = POLLIN },
					{ .fd = watch_fd(w), .events = POLLIN } };
		int left_ms = (int)((until_ns - now_ns) / NS_PER_MS) + 1;
		int tick_ms = watch_tick_ms(w);

		poll(fds, ARRAY_SIZE(fds), tick_ms >= 0 && tick_ms < left_ms ? tick_ms : left_ms);
		if (fds[0].revents)
			return true;
		if (fds[1].revents)
			watch_woken(w);
		watch_tick(w);
	}
	return false;
}

/* Waits for the names of the last samples. */
static void settle(struct watch *w, int signal_fd)
{
	u64 limit_ns = time_mono_ns() + SETTLE_NS;

	while (watch_is_behind(w) && time_mono_ns() < limit_ns)
		if (wait(w, signal_fd, time_mono_ns() + SETTLE_STEP_NS))
			return;
}

static void print(const struct watch *w, struct board *b, const struct options *o)
{
	char host[65] = "?", clock[16];
	time_t now = time(NULL);
	struct tm local;

	if (gethostname(host, sizeof(host) - 1))
		copy_text(host, sizeof(host), "?");
	localtime_r(&now, &local);
	strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	const struct view_choice c = { .key = o->key,
				       .filter = o->filter,
				       .host = host,
				       .time = clock,
				       .no_methods = watch_no_methods(w),
				       .has_pids = o->pids.nr > 0 };
	board_sort(b, o->key);
	if (o->is_json)
		print_json(w, b, &c, (size_t)o->nr_methods);
	else
		print_text(w, b, &c, (size_t)o->nr_methods, terminal_width(STDOUT_FILENO));
	fflush(stdout);
}

/* Returns the exit status. */
static int batch(struct watch *w, int signal_fd, const struct options *o)
{
	u64 interval_ns = (u64)(o->interval_s * 1e9), next_ns = time_mono_ns();
	struct board board = { 0 };
	int err = watch_read(w, &board), nr = 0;

	while ((!err || err == -EAGAIN) && (!o->nr_readings || nr < o->nr_readings)) {
		next_ns += interval_ns;
		if (wait(w, signal_fd, next_ns))
			break;
		err = watch_read(w, &board);
		if (err) /* -EAGAIN: the daemon's recorder is started again */
			continue;
		nr++;
		settle(w, signal_fd);
		print(w, &board, o);
		if (ferror(stdout) || file_has_no_reader(STDOUT_FILENO))
			break;
	}
	bool is_none = o->is_once && o->pids.nr && !board.rows.nr;
	board_fini(&board);
	if (is_none && o->is_json)
		log_error("none of the processes of -p is a JVM that can be seen");
	if (!err || err == -EAGAIN)
		return output_finish() ?: is_none ? EXIT_FAILED : 0;
	log_error("the load cannot be read: %s", watch_why(w));
	return EXIT_FAILED;
}

static int parse_pids(struct options *o)
{
	for (size_t i = 0; i < o->pid_texts.nr; i++) {
		const char *text = o->pid_texts.at[i];
		pid_t pid = proc_pid_parse(text);

		if (!pid) {
			log_error("-p %s: not a PID; see --help", text);
			return EXIT_USAGE;
		}
		if (kill(pid, 0) && errno == ESRCH) {
			log_error("-p %s: there is no such process", text);
			return EXIT_FAILED;
		}
		vec_push(&o->pids, pid);
	}
	return 0;
}

static int check(struct options *o)
{
	if (!(o->interval_s >= INTERVAL_MIN_S && o->interval_s <= INTERVAL_MAX_S)) {
		log_error("--interval %g: takes %g to %d seconds", o->interval_s, INTERVAL_MIN_S,
			  INTERVAL_MAX_S);
		return EXIT_USAGE;
	}
	if (o->nr_readings < 0 || o->nr_methods < 0 || o->nr_methods > METHODS_MAX) {
		log_error("-n and --methods take numbers from 0; --methods at most %d",
			  METHODS_MAX);
		return EXIT_USAGE;
	}
	if (board_key_parse(o->sort, &o->key)) {
		log_error("--sort %s: unknown; takes cpu, alloc, gc, jit, heap, threads, blocked, "
			  "pid or name",
			  o->sort);
		return EXIT_USAGE;
	}
	if (o->dir && !o->uses_daemon) {
		log_error("--dir %s: it is the daemon's; add --daemon", o->dir);
		return EXIT_USAGE;
	}
	if (o->is_once && o->nr_readings) {
		log_error("--once: it is -n 1; leave out -n %d", o->nr_readings);
		return EXIT_USAGE;
	}
	if (o->is_once)
		o->nr_readings = 1;
	o->is_batch |= o->is_once || o->is_json || o->nr_readings;
	return parse_pids(o);
}

/* The address and token of the daemon. */
static int find_daemon(const struct options *o, struct str *url, char token[TOKEN_LEN + 1])
{
	auto_str struct str why = { 0 };

	if (!o->uses_daemon || !home_read_link(o->dir ?: SERVE_DIR, url, token, &why))
		return 0;
	log_error("%s", why.at);
	return EXIT_FAILED;
}

static int run(const struct options *o)
{
	auto_str struct str url = { 0 };
	char token[TOKEN_LEN + 1] = "";
	int status = find_daemon(o, &url, token);
	const struct watch_options options = {
		.daemon_url = o->uses_daemon ? url.at : NULL,
		.daemon_token = token,
		.without_methods = !o->nr_methods,
		.keeps_output_rights = !o->is_batch && output_needs_rights("flame.html", false),
		.pids = o->pids.at,
		.nr_pids = o->pids.nr,
	};

	if (status)
		return status;
	if (!o->is_batch && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))) {
		log_error("standard input and output are not both a terminal; --batch prints "
			  "without one");
		return EXIT_USAGE;
	}
	auto_close int signal_fd = open_signals();
	struct watch *w = watch_new(&options);
	explicit_bzero(token, sizeof(token));
	if (!w)
		return EXIT_FAILED;
	const struct live_options live = { .key = o->key,
					   .filter = o->filter,
					   .has_pids = o->pids.nr > 0,
					   .interval_ns = (u64)(o->interval_s * 1e9),
					   .signal_fd = signal_fd };
	status = o->is_batch ? batch(w, signal_fd, o) : show_live(w, &live);
	watch_free(w);
	return status;
}

static void help(const struct opt *opts, size_t nr)
{
	puts("usage: sysflame top [OPTION..]\n\n"
	     "Shows what the JVMs of this node are doing: CPU time, allocation, garbage\n"
	     "collection, compilation, threads, heap, and the hottest methods. Changes nothing\n"
	     "in them and loads no agent. On a terminal, ? shows the keys and the columns.\n");
	opt_help(opts, nr);
	puts("\nCPU%, GC% and JIT% are percent of one CPU. ALLOC/s is the sum of the threads'\n"
	     "own counters; + : threads ended meanwhile, their last bytes are missing.\n"
	     "R/N/B/W: threads that run, are in native code, are blocked by a monitor, wait.\n"
	     "Columns and JSON: docs/operations.md.");
}

int top_main(int argc, char **argv)
{
	struct options o = { .interval_s = 1, .nr_methods = 10, .sort = "cpu", .filter = "" };
	const struct opt opts[] = {
		{ 'i', "interval", OPT_DOUBLE, &o.interval_s, "S",
		  "seconds from one reading to the next (default 1)" },
		{ 'p', "pid", OPT_LIST, &o.pid_texts, "PID", "only this JVM; may be repeated" },
		{ 's', "sort", OPT_STRING, &o.sort, "KEY",
		  "cpu, alloc, gc, jit, heap, threads, blocked, pid or name" },
		{ 'f', "filter", OPT_STRING, &o.filter, "TEXT",
		  "only JVMs with TEXT in name, container or PID" },
		{ 'm', "methods", OPT_INT, &o.nr_methods, "N",
		  "methods of each JVM in batch mode (default 10); 0: do not sample" },
		{ 'b', "batch", OPT_BOOL, &o.is_batch, NULL, "print readings, without a screen" },
		{ 'n', "readings", OPT_INT, &o.nr_readings, "N", "end after N readings" },
		{ 0, "once", OPT_BOOL, &o.is_once, NULL, "end after one reading" },
		{ 0, "json", OPT_BOOL, &o.is_json, NULL, "print a line of JSON for each reading" },
		{ 'd', "daemon", OPT_BOOL, &o.uses_daemon, NULL,
		  "show the readings of the daemon (sysflame serve) instead of own ones" },
		{ 0, "dir", OPT_STRING, &o.dir, "DIR",
		  "the daemon's directory (default " SERVE_DIR ")" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this help" },
	};
	int next = opt_parse(opts, ARRAY_SIZE(opts), argc, argv), status = EXIT_USAGE;

	if (next >= 0 && o.help) {
		help(opts, ARRAY_SIZE(opts));
		status = 0;
	} else if (next >= 0 && next < argc) {
		log_error("%s: top takes options only; see --help", argv[next]);
	} else if (next >= 0) {
		status = check(&o) ?: run(&o);
	}
	vec_fini(&o.pid_texts);
	vec_fini(&o.pids);
	return status;
}
