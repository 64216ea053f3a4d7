/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind rows in the form that BPF searches. */
#include "capture/unwind/packed.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/dict.h"
#include "base/vec.h"

/* A rule that was found lately: a file has thousands, but most of its rows use a few hundred. */
struct recent_rule {
	u64 key; /* 0: none */
	u16 number;
};

#define RECENT_BITS 9

struct rules {
	VEC(struct unwind_rule) at;
	struct dict index; /* by key: 1 + the index in `at` */
	struct recent_rule recent[1 << RECENT_BITS];
	u16 *of_row; /* the numbers of the rows' rules */
};

static struct unwind_rule rule_of(const struct unwind_row *row)
{
	return (struct unwind_rule){ row->cfa_off, row->kind, row->fp_off };
}

static u64 key_of(struct unwind_rule rule)
{
	return 1ull << 32 | (u32)rule.cfa_off << 16 | (u32)rule.kind << 8 | (u8)rule.fp_off;
}

static u64 number_of(struct rules *all, struct unwind_rule rule, u64 key)
{
	u64 *place = dict_add(&all->index, key);

	if (!*place) {
		vec_push(&all->at, rule);
		*place = all->at.nr;
	}
	return *place - 1;
}

/* Numbers the rows' rules. Returns whether a row can hold each number. */
static bool learn_rules(const struct rows *rows, struct rules *all)
{
	for (u32 i = 0; i < rows->nr; i++) {
		struct unwind_rule rule = rule_of(&rows->at[i]);
		u64 key = key_of(rule);
		struct recent_rule *r = &all->recent[hash_u64(key) >> (64 - RECENT_BITS)];
		if (r->key != key) {
			u64 number = number_of(all, rule, key);
			if (number > UINT16_MAX)
				return false;
			*r = (struct recent_rule){ key, (u16)number };
		}
		all->of_row[i] = r->number;
	}
	return true;
}

static void write_words(const struct rows *rows, const struct rules *rules, struct packed *p)
{
	union unwind_word *page = p->words + p->nr_rules, *out = page + p->nr_pages + 1;
	u32 row = 0;

	for (u32 i = 0; i < p->nr_rules; i++)
		page[-1 - (s64)i].rule = rules->at.at[i];
	for (u32 i = 0; i <= p->nr_pages; i++) {
		while (row < rows->nr && rows->at[row].pc >> UNWIND_PAGE_SHIFT < i)
			row++;
		page[i].first_row = row;
	}
	for (u32 i = 0; i < rows->nr; i++)
		out[i].row = (struct unwind_packed_row){
			.pc = (u16)(rows->at[i].pc & (UNWIND_PAGE_BYTES - 1)),
			.rule = rules->of_row[i],
		};
}

int packed_new(const struct rows *rows, u32 most_pages, struct packed *out)
{
	struct rules rules = { 0 };
	u32 nr_pages = rows->nr ? (rows->at[rows->nr - 1].pc >> UNWIND_PAGE_SHIFT) + 1 : 0;

	if (nr_pages > most_pages && nr_pages > rows->nr)
		return -EFBIG;
	rules.of_row = xreallocarray(NULL, rows->nr + 1, sizeof(*rules.of_row));
	bool fits = learn_rules(rows, &rules);
	if (fits) {
		*out = (struct packed){ .nr_rules = (u32)rules.at.nr, .nr_pages = nr_pages };
		out->nr = out->nr_rules + out->nr_pages + 1 + rows->nr;
		out->words = xcalloc(out->nr, sizeof(*out->words));
		write_words(rows, &rules, out);
	}
	vec_fini(&rules.at);
	dict_fini(&rules.index);
	free(rules.of_row);
	return fits ? 0 : -EFBIG;
}

void packed_fini(struct packed *p)
{
	free(p->words);
	*p = (struct packed){ 0 };
}
