/* SPDX-License-Identifier: Apache-2.0 */
/* The label sets of a profile in the order of the format. */
#include "export/format/labelset.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "export/format/traces.h"
#include "export/format/varint.h"

/* A label set of the profile as text, and the ranks of its texts within their dimensions. */
struct labelset_entry {
	char *text[NR_DIMS];
	u32 value[NR_DIMS];
	labels_id id;
};

struct entries {
	struct labelset_entry *at;
	size_t nr;
};

static char *name_and_number(const char *name, u32 number)
{
	return number ? xasprintf("%s-%u", *name ? name : "?", number) : xstrdup(name);
}

static bool is_known(const struct labels *l)
{
	for (int i = 0; i < NR_LABELS; i++)
		if (*l->text[i])
			return true;
	return l->pid || l->tid;
}

/*
 * The label sets that a weight has, as bytes by labels_id. Others may be left of samples that were
 * taken out, and must not reach a file. The caller frees the array.
 */
static u8 *find_used(const struct profile *p)
{
	u8 *used = xcalloc(p->labels.nr + 1, 1);

	vec_each(w, &p->weights)
		used[w->labels] |= w->value > 0;
	return used;
}

static bool any_known(const struct profile *p, const u8 *used)
{
	vec_each(l, &p->labels)
		if (used[l - p->labels.at] && is_known(l))
			return true;
	return false;
}

/* A label that no sample has does not become a dimension. */
static void choose_dims(const struct profile *p, const u8 *used, struct labelsets *sets)
{
	sets->nr_dims = 0;
	for (enum label i = 0; i < NR_LABELS; i++) {
		bool is_used = i < LABEL_FIRST_EXTRA;
		vec_each(l, &p->labels)
			is_used |= used[l - p->labels.at] && *l->text[i];
		if (is_used)
			sets->dims[sets->nr_dims++] = i;
	}
}

const char *labelsets_dim_name(enum label label)
{
	return label == LABEL_COMM ? "process" : label_names[label].key;
}

int labelsets_dim_find(const char *name)
{
	for (enum label i = 0; i < NR_LABELS; i++)
		if (!strcmp(labelsets_dim_name(i), name))
			return (int)i;
	return -1;
}

char *labelsets_text(const struct labels *l, enum label label)
{
	return name_and_number(l->text[label], label == LABEL_COMM     ? l->pid
					       : label == LABEL_THREAD ? l->tid
								       : 0);
}

char *labelsets_shown(const struct labels *l, enum label label)
{
	if (label != LABEL_COMM || !*l->jvm)
		return labelsets_text(l, label);
	return l->pid ? xasprintf("%s - %u", l->jvm, l->pid) : xstrdup(l->jvm);
}

static bool ends_with_number(const char *text)
{
	const char *dash = strrchr(text, '-');
	return dash && dash[1] && dash[1 + strspn(dash + 1, "0123456789")] == '\0';
}

/*
 * The text in the file. A thread "exec-7" without a number becomes "exec-7-0", which shows that 7
 * is not its number.
 */
static char *stored_text(const struct labels *l, enum label label, bool has_trace)
{
	if (!has_trace && (label == LABEL_TRACE || label == LABEL_SPAN))
		return xstrdup("");
	char *text = labelsets_text(l, label);
	u32 number = label == LABEL_COMM ? l->pid : label == LABEL_THREAD ? l->tid : 1;
	if (number || !ends_with_number(text))
		return text;
	char *marked = xasprintf("%s-0", text);
	free(text);
	return marked;
}

static int by_text(const void *a, const void *b, void *dim)
{
	return strcmp((*(struct labelset_entry *const *)a)->text[*(int *)dim],
		      (*(struct labelset_entry *const *)b)->text[*(int *)dim]);
}

/* Ranks the texts of one dimension and appends each distinct one, ascending. */
static void add_dimension(struct entries *all, struct labelset_entry **order, int dim,
			  struct str *section)
{
	struct str values = { 0 };
	u32 nr = 0;

	qsort_r(order, all->nr, sizeof(order[0]), by_text, &dim);
	for (size_t i = 0; i < all->nr; i++) {
		const char *text = order[i]->text[dim];
		if (i == 0 || strcmp(order[i - 1]->text[dim], text)) {
			varint_add(&values, strlen(text));
			str_add(&values, text);
			nr++;
		}
		order[i]->value[dim] = nr - 1;
	}
	varint_add(section, nr);
	str_add_bytes(section, values.at, values.len);
	str_fini(&values);
}

static int by_values(const void *a, const void *b)
{
	const struct labelset_entry *x = *(struct labelset_entry *const *)a,
				    *y = *(struct labelset_entry *const *)b;

	for (int dim = 0; dim < NR_DIMS; dim++)
		if (x->value[dim] != y->value[dim])
			return x->value[dim] < y->value[dim] ? -1 : 1;
	return 0;
}

/* Numbers the distinct sets in ascending order and appends one column per dimension. */
static void add_sets(struct entries *all, struct labelset_entry **order, struct labelsets *sets,
		     struct str *section)
{
	struct str columns[NR_DIMS] = { 0 };

	qsort(order, all->nr, sizeof(order[0]), by_values);
	for (size_t i = 0; i < all->nr; i++) {
		if (i == 0 || by_values(&order[i - 1], &order[i])) {
			for (int dim = 0; dim < sets->nr_dims; dim++)
				varint_add(&columns[dim], order[i]->value[dim]);
			sets->nr++;
		}
		sets->set_of[order[i]->id] = sets->nr - 1;
	}
	varint_add(section, sets->nr);
	for (int dim = 0; dim < sets->nr_dims; dim++) {
		str_add_bytes(section, columns[dim].at, columns[dim].len);
		str_fini(&columns[dim]);
	}
}

void labelsets_make(const struct profile *p, struct labelsets *sets, struct str *section)
{
	auto_free u8 *used = find_used(p), *is_out = xcalloc(p->labels.nr + 1, 1);

	sets->nr = 0;
	sets->nr_traces_out = traces_limit(p, used, TRACES_MAX_BYTES, is_out);
	choose_dims(p, used, sets);
	sets->set_of = xcalloc(p->labels.nr + 1, sizeof(sets->set_of[0]));
	if (!any_known(p, used))
		return;

	struct entries all = { xcalloc(p->labels.nr, sizeof(struct labelset_entry)), 0 };
	struct labelset_entry **order = xcalloc(p->labels.nr, sizeof(order[0]));
	for (size_t i = 0; i < p->labels.nr; i++) {
		if (!used[i])
			continue;
		struct labelset_entry *e = order[all.nr] = &all.at[all.nr];
		all.nr++;
		e->id = (labels_id)i;
		for (int dim = 0; dim < sets->nr_dims; dim++)
			e->text[dim] = stored_text(&p->labels.at[i], sets->dims[dim], !is_out[i]);
	}

	varint_add(section, (u64)sets->nr_dims);
	for (int dim = 0; dim < sets->nr_dims; dim++)
		add_dimension(&all, order, dim, section);
	add_sets(&all, order, sets, section);

	for (size_t i = 0; i < all.nr; i++)
		for (int dim = 0; dim < NR_DIMS; dim++)
			free(all.at[i].text[dim]);
	free(all.at);
	free(order);
}

void labelsets_free(struct labelsets *sets)
{
	free(sets->set_of);
}
