/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal of `sysflame top`. */
#include "cmd/top_screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"

/* term.h defines short names of capabilities as macros. */
#undef lines
#undef columns

#define MESSAGES_MAX 65536
#define ESCAPE       27
#define ESCAPE_MS    50 /* from Escape to the rest of a key's sequence */

/* A handler of fatal signals needs the state, so it is static. There is one terminal. */
struct screen {
	bool is_open, is_utf8, has_colours;
	struct termios before;
	char leave[256]; /* what shows the cursor and the former screen */
	size_t leave_len;
	int stderr_fd, messages_fd; /* the real standard error, and what replaces it; or -1 */
	off_t messages_seen;
};

static struct screen screen = { .stderr_fd = -1, .messages_fd = -1 };

static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS };

/* Calls only what a signal handler may call. */
static void restore_and_die(int signal)
{
	if (write(STDOUT_FILENO, screen.leave, screen.leave_len) < 0)
		_exit(128 + signal);
	tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
	raise(signal); /* SA_RESETHAND */
}

static bool has_text(const char *capability)
{
	const char *text = tigetstr(capability);

	return text && text != (char *)-1;
}

static void add_leave(const char *name)
{
	const char *text = tigetstr(name);

	if (!text || text == (char *)-1 || strlen(text) > sizeof(screen.leave) - screen.leave_len)
		return;
	memcpy(screen.leave + screen.leave_len, text, strlen(text));
	screen.leave_len += strlen(text);
}

static void catch_fatal(void)
{
	struct sigaction action = { .sa_handler = restore_and_die, .sa_flags = SA_RESETHAND };

	screen.leave_len = 0;
	add_leave("sgr0");
	add_leave("cnorm");
	add_leave("rmcup");
	for (size_t i = 0; i < ARRAY_SIZE(fatal); i++)
		sigaction(fatal[i], &action, NULL);
}

static void keep_messages(void)
{
	if (!isatty(STDERR_FILENO))
		return;
	screen.messages_fd = memfile_new("messages");
	screen.stderr_fd = screen.messages_fd < 0 ? -1 : dup(STDERR_FILENO);
	if (screen.stderr_fd >= 0)
		dup2(screen.messages_fd, STDERR_FILENO);
}

static void print_messages(void)
{
	char text[MESSAGES_MAX];

	if (screen.stderr_fd < 0)
		return;
	dup2(screen.stderr_fd, STDERR_FILENO);
	close(screen.stderr_fd);
	ssize_t len = pread(screen.messages_fd, text, sizeof(text), 0);
	close(screen.messages_fd);
	screen.stderr_fd = screen.messages_fd = -1;
	if (len > 0 && write(STDERR_FILENO, text, (size_t)len) < 0)
		return;
}

void screen_message(struct str *out)
{
	char text[1024];
	struct stat now;

	if (screen.messages_fd < 0 || fstat(screen.messages_fd, &now) ||
	    now.st_size == screen.messages_seen)
		return;
	screen.messages_seen = now.st_size;
	off_t at = now.st_size > (off_t)sizeof(text) ? now.st_size - (off_t)sizeof(text) : 0;
	ssize_t len = pread(screen.messages_fd, text, sizeof(text), at);
	while (len > 0 && text[len - 1] == '\n')
		len--;
	if (len <= 0)
		return;
	const char *line = memrchr(text, '\n', (size_t)len);
	line = line ? line + 1 : text;
	str_add_bytes(out, line, (size_t)(text + len - line));
}

static void choose_colours(void)
{
	const char *none = getenv("NO_COLOR");

	screen.has_colours = !(none && *none) && has_colors();
	if (!screen.has_colours)
		return;
	start_color();
	use_default_colors();
	init_pair(LINE_HEAD, COLOR_CYAN, -1);
	init_pair(LINE_JAVA, COLOR_GREEN, -1);
	init_pair(LINE_WARNING, COLOR_YELLOW, -1);
}

int screen_open(struct str *why)
{
	int err;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		str_add(why, "standard input and output are not both a terminal");
		return -ENOTTY;
	}
	if (setupterm(NULL, STDOUT_FILENO, &err) == ERR || !has_text("cup")) {
		str_addf(why, "the terminal type %s (TERM) is unknown or cannot show a screen",
			 getenv("TERM") ?: "\"\"");
		return -ENOTTY;
	}
	tcgetattr(STDIN_FILENO, &screen.before);
	setlocale(LC_CTYPE, "");
	screen.is_utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	set_escdelay(ESCAPE_MS);
	if (!initscr()) {
		str_add(why, "the terminal cannot be opened");
		return -ENOTTY;
	}
	screen.is_open = true;
	catch_fatal();
	keep_messages();
	choose_colours();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	return 0;
}

void screen_close(void)
{
	if (!screen.is_open)
		return;
	screen.is_open = false;
	endwin();
	for (size_t i = 0; i < ARRAY_SIZE(fatal); i++)
		signal(fatal[i], SIG_DFL);
	print_messages();
}

void screen_size(size_t *rows, size_t *columns)
{
	*rows = (size_t)getmaxy(stdscr);
	*columns = (size_t)getmaxx(stdscr);
}

static chtype attributes(enum line_style style)
{
	static const chtype plain[NR_LINE_STYLES] = {
		[LINE_HEAD] = A_BOLD, [LINE_TITLES] = A_REVERSE, [LINE_SELECTED] = A_REVERSE,
		[LINE_DIM] = A_DIM,   [LINE_WARNING] = A_BOLD,
	};
	bool has_pair = style == LINE_HEAD || style == LINE_JAVA || style == LINE_WARNING;

	return plain[style] | (screen.has_colours && has_pair ? COLOR_PAIR(style) : 0);
}

/* Without UTF-8 on the terminal, its bytes could be controls there. */
static void put(int row, const char *text, enum line_style style)
{
	auto_str struct str line = { 0 };
	int columns = getmaxx(stdscr);

	for (const char *at = text; *at; at++)
		if (screen.is_utf8 || (unsigned char)*at < 0x80)
			str_add_char(&line, *at);
		else if (((unsigned char)*at & 0xc0) != 0x80)
			str_add_char(&line, '?');
	str_add(&line, "");
	attrset((int)attributes(style));
	mvaddstr(row, 0, line.at);
	if (style == LINE_TITLES || style == LINE_SELECTED)
		for (int at = getcurx(stdscr); getcury(stdscr) == row && at < columns; at++)
			addch(' ');
	attrset(A_NORMAL);
}

void screen_draw(const struct view *v, const char *status, enum line_style status_style)
{
	int rows = getmaxy(stdscr);

	erase();
	for (size_t i = 0; i < v->lines.nr && (int)i < rows - 1; i++)
		put((int)i, v->lines.at[i].text, v->lines.at[i].style);
	put(rows - 1, status, status_style);
	refresh();
}

int screen_key(void)
{
	int key = getch();

	switch (key) {
	case ERR:
		return SCREEN_NONE;
	case KEY_UP:
		return SCREEN_UP;
	case KEY_DOWN:
		return SCREEN_DOWN;
	case KEY_PPAGE:
		return SCREEN_PAGE_UP;
	case KEY_NPAGE:
		return SCREEN_PAGE_DOWN;
	case KEY_HOME:
		return SCREEN_HOME;
	case KEY_END:
		return SCREEN_END;
	case KEY_ENTER:
	case '\r':
	case '\n':
		return SCREEN_ENTER;
	case ESCAPE:
		return SCREEN_ESCAPE;
	case KEY_BACKSPACE:
	case '\b':
	case 0x7f:
		return SCREEN_BACKSPACE;
	case KEY_RESIZE:
		return SCREEN_RESIZED;
	default:
		return key > 0 && key < 0x100 ? key : SCREEN_NONE;
	}
}
