/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about compiled methods that agents do not report. Part of jvm/agent/codemap.h. */
#include <string.h>

#include "base/alloc.h"
#include "jvm/agent/codemap_state.h"

size_t codemap_take_new(struct codemap *map, u64 **out)
{
	size_t nr = map->new_methods.nr;

	*out = map->new_methods.at;
	map->new_methods = (typeof(map->new_methods)){ 0 };
	return nr;
}

static bool is_unread(const struct codemap *map, const struct code *c)
{
	return c->maker == MAKER_UNREAD && c->unload_ns == LIVE && !code_is_stub(map, c->name);
}

size_t codemap_take_unread(struct codemap *map, u64 **out)
{
	VEC(u64) unread = { 0 };

	vec_each(c, &map->code) {
		if (!is_unread(map, c))
			continue;
		c->maker = MAKER_UNKNOWN;
		vec_push(&unread, c->start);
	}
	*out = unread.at;
	return unread.nr;
}

/* Hidden classes have a suffix that begins with "/0x" in JVMTI and with "+0x" in the tables. */
static bool is_same_class(const char *a, const char *b)
{
	const char *hidden = strstr(a, "0x");
	size_t len = hidden ? (size_t)(hidden - a) : 0;

	if (!strcmp(a, b))
		return true;
	return len && !strncmp(a, b, len - 1) && b[len - 1] && !strcmp(b + len, hidden);
}

static bool is_same_name(const struct name *name, const struct code_facts *facts)
{
	if (!is_same_class(name->class_name, facts->class_name))
		return false;
	/* JVMTI has one jmethodID, and thus one name, for all intrinsics of this class. */
	if (!strcmp(name->class_name, "java.lang.invoke.MethodHandle"))
		return true;
	return !strcmp(name->method, facts->method) && !strcmp(name->signature, facts->signature);
}

void codemap_report(struct codemap *map, u64 addr, const struct code_facts *facts)
{
	struct code *c = codemap_live_method(map, addr);
	const struct name *name = c ? &map->names.at[c->name] : NULL;

	if (!c)
		return;
	if (!is_same_name(name, facts)) {
		c->other_id = facts->compile_id & CODEMAP_COMPILE_ID_MASK;
		return;
	}
	c->maker = facts->level > 3 ? MAKER_C2 : facts->level > 0 ? MAKER_C1 : MAKER_WRAPPER;
	c->compile_id = facts->compile_id & CODEMAP_COMPILE_ID_MASK;
}

u64 codemap_take_unread_at(struct codemap *map, u64 pc, u64 time_ns, u32 compile_id)
{
	struct code *c = codemap_code_at(map, pc, time_ns, compile_id & CODEMAP_COMPILE_ID_MASK);

	if (!c || !is_unread(map, c))
		return 0;
	c->maker = MAKER_UNKNOWN;
	return c->start;
}
