/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reading as lines of text, for a terminal and for a file. Names come from other processes: the
 * lines hold no control characters and no marks of text direction.
 */
#pragma once

#include "base/str.h"
#include "top/board.h"
#include "top/hot.h"

enum line_style {
	LINE_PLAIN,
	LINE_HEAD,     /* the node */
	LINE_TITLES,   /* of columns */
	LINE_SELECTED, /* the row */
	LINE_JAVA,     /* a Java method */
	LINE_DIM,
	LINE_WARNING,
	NR_LINE_STYLES,
};

struct view_line {
	char *text; /* owned */
	enum line_style style;
};

struct view {
	VEC(struct view_line) lines;
};

void view_fini(struct view *v);

/* The user's choice of columns, order and filter. */
struct view_choice {
	enum board_key key;
	const char *filter;         /* "" for all JVMs */
	struct process_id selected; /* pid 0: none */
	bool is_paused;
	const char *host, *time; /* "14:02:33" */
	const char *no_methods;  /* NULL if there are methods */
	bool has_pids;           /* the board has the chosen processes only */
};

/* Two lines on the node. */
void view_add_node(struct view *v, const struct board *b, const struct view_choice *c,
		   size_t width);

/* The titles, and the rows [first, first + nr) of those that match the filter. */
void view_add_rows(struct view *v, const struct board *b, const struct view_choice *c, size_t first,
		   size_t nr, size_t width);

/* A title and at most `nr` methods of the JVM. */
void view_add_methods(struct view *v, const struct jvm_row *row, const struct hot_list *methods,
		      const struct view_choice *c, size_t nr, size_t width);

/* The number of rows that match the filter, and the i-th of them. */
size_t view_nr_rows(const struct board *b, const struct view_choice *c);
const struct jvm_row *view_row(const struct board *b, const struct view_choice *c, size_t i);

/* The help of the keys. */
void view_add_help(struct view *v);
