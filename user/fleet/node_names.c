/* SPDX-License-Identifier: Apache-2.0 */
/* Names of nodes. */
#include "fleet/node_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"

bool node_names_have(const struct node_names *n, const char *name)
{
	vec_each(one, &n->all)
		if (!strcmp(*one, name))
			return true;
	return false;
}

void node_names_add(struct node_names *n, const char *name)
{
	if (n->all.nr < NODE_NAMES_MAX && !node_names_have(n, name))
		vec_push(&n->all, xstrdup(name));
}

char *node_names_text(const struct node_names *n)
{
	struct str s = { 0 };

	str_add(&s, "");
	for (size_t i = 0; i < n->all.nr && i < NODE_NAMES_SHOWN; i++)
		str_addf(&s, "%s%s", i ? ", " : "", n->all.at[i]);
	if (n->all.nr > NODE_NAMES_SHOWN)
		str_addf(&s, " and %zu more", n->all.nr - NODE_NAMES_SHOWN);
	return str_take(&s);
}

void node_names_fini(struct node_names *n)
{
	vec_each(one, &n->all)
		free(*one);
	vec_fini(&n->all);
}
