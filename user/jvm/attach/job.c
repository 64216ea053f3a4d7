/* SPDX-License-Identifier: Apache-2.0 */
/* One command to one JVM: its result. */
#include "jvm/attach/job.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"

int job_conclude(struct job *j, enum inject_outcome outcome, const char *why)
{
	struct str text = { 0 };

	utf8_clean(&text, why, sizeof(j->result.reason) - 1);
	memcpy(j->result.reason, text.at, text.len + 1);
	j->result.outcome = outcome;
	str_fini(&text);
	return -1;
}

int job_explain(struct job *j, int err)
{
	process_root_explain(j->order->id.pid, err, &j->why);
	return job_conclude(j, INJECT_REFUSED, j->why.at);
}

void job_read_facts(struct job *j)
{
	if (j->facts_fd < 0)
		return;
	task_facts_read(j->facts_fd, j->t.status.pid, &j->facts);
	close(take_fd(j->facts_fd));
}

bool job_has_ended(const struct job *j)
{
	struct pollfd p = { .fd = j->t.pidfd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

bool job_is_orphan(const struct job *j)
{
	struct pollfd p = { .fd = j->fd };

	return poll(&p, 1, 0) > 0;
}
