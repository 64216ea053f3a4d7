/* SPDX-License-Identifier: Apache-2.0 */
/* Ends the sessions of agents in a JVM. */
#include "jvm/attach/detach.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/attach/agent_file.h"
#include "jvm/attach/inject.h"
#include "jvm/process/memfds.h"

#define NEXT_EVENT_NS NS_PER_SEC /* while code is compiled, there is an event every few ms */

static bool await_end_of_sessions(pid_t pid)
{
	for (u64 end = time_mono_ns() + NEXT_EVENT_NS; memfds_any(pid) > 0; usleep(10000))
		if (time_mono_ns() > end)
			return false;
	return true;
}

char *detach_all(const char *path, struct process_id id, bool *is_pending)
{
	auto_free char *file = agent_file_find(path);
	struct inject_order stop = { .command = INJECT_STOP_ALL, .id = id, .agent_path = file };
	struct inject_result result = { .outcome = INJECT_REFUSED };
	struct injection *injection = NULL;

	inject_nonce(stop.nonce);
	if (!file)
		strcpy(result.reason, agent_file_missing(path));
	else if (inject_start(&stop, &injection))
		strcpy(result.reason, "cannot start a process for the command");
	while (injection && inject_poll(injection, &result) == INJECT_RUNNING)
		usleep(1000);
	inject_free(injection);
	if (result.outcome != INJECT_DONE)
		return xstrdup(result.reason);
	*is_pending = !await_end_of_sessions(id.pid);
	return NULL;
}
