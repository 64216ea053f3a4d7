/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a JVM may be asked for calls of Java methods. */
#include "jvm/agent/method_calls.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "jvm/agent/entry_state.h"
#include "jvm/attach/code_dependencies.h"

#define DROPS_CODE                                                                               \
	"it would drop all its compiled code if calls of a method were reported; use JDK 23 or " \
	"newer, or start it with an agent that may change classes (a -javaagent with "           \
	"Can-Retransform-Classes)"
#define MAY_DROP_CODE                                                                           \
	"it would drop all its compiled code if calls of a method were reported, unless an "    \
	"agent that may change classes was there from its start, which its libjvm.so does not " \
	"show (%s); use JDK 23 or newer"

static void refuse(struct agents_entry *e)
{
	auto_free char *why = NULL;

	if (e->search_err)
		why = xasprintf(MAY_DROP_CODE, e->search_err == -ENOENT ? "it has no symbol table"
									: strerror(-e->search_err));
	e->drops_code = true;
	entry_set_reason(e, why ?: DROPS_CODE);
}

void method_calls_note(struct agents *a, struct agents_entry *e, const struct inject_result *result)
{
	e->drops_code = false;
	entry_set_reason(e, "");
	if (!result->drops_code)
		return;
	if (!e->dependencies && !e->search && result->libjvm)
		e->search_err =
			code_dependencies_search(a->workers, e->id.pid, result->libjvm, &e->search);
	if (!e->search)
		refuse(e);
}

void method_calls_poll(struct agents_entry *e)
{
	if (!e->search)
		return;
	int err = code_dependencies_result(e->search, &e->dependencies);
	if (err == -EAGAIN)
		return;
	work_free(take(e->search));
	e->search_err = err;
	if (err)
		refuse(e);
	else
		hook_requests_repeat(&e->hooks);
}
