/* SPDX-License-Identifier: Apache-2.0 */
/* `sysflame top` on a terminal. */
#include "cmd/top_live.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/profile_file.h"
#include "cmd/top_screen.h"
#include "profile/names.h"
#include "top/view.h"

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
static bool wait(struct live *l, u64 until_ns)
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

static void run(struct live *l)
{
	u64 next_ns = time_mono_ns() + l->options->interval_ns / 4; /* for the first numbers */

	read_board(l);
	draw(l);
	while (!l->is_over) {
		bool is_new = wait(l, next_ns);
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

int top_live(struct watch *w, const struct live_options *options)
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
	run(&l);
	screen_close();
	board_fini(&l.board);
	str_fini(&l.message);
	return 0;
}
