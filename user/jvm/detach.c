/* SPDX-License-Identifier: Apache-2.0 */
/* Ends what agents report from a JVM to anyone. */
#include "jvm/detach.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/agent_file.h"
#include "jvm/inject.h"
#include "jvm/memfds.h"

#define NEXT_EVENT_NS NS_PER_SEC /* they come every few ms while code is compiled */

static bool await_end_of_sessions(pid_t pid)
{
	for (u64 end = time_mono_ns() + NEXT_EVENT_NS; memfds_any(pid); usleep(10000))
		if (time_mono_ns() > end)
			return false;
	return true;
}

char *detach_all(const char *path, pid_t pid, u64 start_ns, bool *is_pending)
{
	auto_free char *file = agent_file_find(path);
	struct inject_order stop = {
		.command = INJECT_STOP_ALL, .pid = pid, .start_ns = start_ns, .agent_path = file
	};
	struct inject_result result = { .outcome = INJECT_REFUSED };
	struct injection *injection = NULL;

	inject_nonce(stop.nonce);
	if (!file)
		strcpy(result.reason, NO_AGENT_FILE);
	else if (inject_start(&stop, &injection))
		strcpy(result.reason, "no process can be made for it");
	while (injection && inject_poll(injection, &result) == INJECT_RUNNING)
		usleep(1000);
	inject_free(injection);
	if (result.outcome != INJECT_DONE)
		return xstrdup(result.reason);
	*is_pending = !await_end_of_sessions(pid);
	return NULL;
}
