/* SPDX-License-Identifier: Apache-2.0 */
/* java:CLASS.METHOD, which is known in order to be refused with the reason. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "capture/event_kind.h"

#define METHOD_PREFIX "java:"

/*
 * JVMTI's MethodEntry and Breakpoint can only be asked for when a JVM starts. The capability to
 * retransform classes can be had later, but flushes all compiled code (JDK-8324241). A trap at the
 * entry of compiled code sees neither interpreted nor inlined calls, and HotSpot patches that very
 * instruction when it replaces the code.
 */
char *why_not_method(void)
{
	return xstrdup(
		"a running JVM tells of a method's entry only after dropping all its compiled "
		"code; -e cpu or wall shows where the method's time goes");
}

int parse_method(const char *text, const struct event_options *o, struct event *e, struct str *why)
{
	return strncmp(text, METHOD_PREFIX, strlen(METHOD_PREFIX)) ? -ENOENT : 0;
}
