/* SPDX-License-Identifier: Apache-2.0 */
/* JVMs grouped by what doctor found about them. */
#include "cmd/jvm_groups.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/wrap.h"

#define MEMBERS_SHOWN 5
#define INDENT        9 /* of lines below a verdict */

static char *without_numbers(const char *text)
{
	struct str out = { 0 };

	for (; *text; text++)
		if (!isdigit((unsigned char)*text))
			str_add_bytes(&out, text, 1);
		else if (!isdigit((unsigned char)text[1]))
			str_add(&out, "N");
	return str_take(&out);
}

/* The group of this finding; a new group takes ownership of it. */
static struct jvm_group *find(struct jvm_groups *g, struct str *finding,
			      const struct jvm_support *s)
{
	auto_free char *key = without_numbers(finding->at);

	vec_each(one, &g->all)
		if (!strcmp(one->key, key)) {
			one->is_varied |= strcmp(one->finding, finding->at) != 0;
			return one;
		}
	struct jvm_group new = {
		.key = take(key),
		.finding = str_take(finding),
		.verdict = s->no_names   ? "missing"
			   : s->no_agent ? "partly"
					 : "OK",
	};
	vec_push(&g->all, new);
	return &g->all.at[g->all.nr - 1];
}

void jvm_groups_add(struct jvm_groups *g, const struct javaproc *j, const struct jvm_support *s)
{
	auto_str struct str finding = { 0 };

	str_addf(&finding, "%s\n", jvm_support_phrase(s));
	if (s->no_names)
		str_addf(&finding, "no names: %s\n", s->no_names);
	if (s->no_agent)
		str_addf(&finding, "no agent: %s\n", s->no_agent);
	struct jvm_group *group = find(g, &finding, s);
	if (group->nr++ < MEMBERS_SHOWN)
		str_addf(&group->members, "%s%d %s", group->nr > 1 ? ", " : "", (int)j->id.pid,
			 s->main);
}

/* A line below the verdict. */
static void print_below(const char *text, size_t len)
{
	auto_free char *one = xstrndup(text, len);
	auto_str struct str line = { 0 };

	str_addf(&line, "%*s", INDENT, "");
	wrap_add(&line, one, INDENT, INDENT, wrap_columns(STDOUT_FILENO));
	puts(line.at);
}

/* The phrase behind the verdict, and the reasons below it. */
static void print_finding(const char *finding)
{
	size_t len = strcspn(finding, "\n");

	printf("%.*s\n", (int)len, finding);
	for (finding += len; *finding == '\n' && finding[1]; finding += len) {
		len = strcspn(++finding, "\n");
		print_below(finding, len);
	}
}

void jvm_groups_print(const struct jvm_groups *g)
{
	vec_each(one, &g->all) {
		if (one->nr == 1) {
			printf("%-8s JVM %s: ", one->verdict, one->members.at);
			print_finding(one->finding);
			continue;
		}
		auto_str struct str members = { 0 };
		str_add(&members, one->members.at);
		if (one->nr > MEMBERS_SHOWN)
			str_addf(&members, ", .. and %zu more; --json lists each",
				 one->nr - MEMBERS_SHOWN);
		printf("%-8s %zu JVMs: ", one->verdict, one->nr);
		print_finding(one->is_varied ? one->key : one->finding);
		print_below(members.at, members.len);
	}
}

void jvm_groups_fini(struct jvm_groups *g)
{
	vec_each(one, &g->all) {
		free(one->key);
		free(one->finding);
		str_fini(&one->members);
	}
	vec_fini(&g->all);
}
