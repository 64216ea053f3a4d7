/* SPDX-License-Identifier: Apache-2.0 */
/* The priority of the recording thread. */
#include "capture/kernel/priority.h"

#include <sched.h>
#include <sys/resource.h>

#define RAISED 10 /* of niceness */

void priority_init(struct priority *p)
{
	struct sched_param param;
	int policy = sched_getscheduler(0);

	*p = (struct priority){ .niceness = getpriority(PRIO_PROCESS, 0) };
	if (policy >= 0 && !sched_getparam(0, &param))
		sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &param);
}

void priority_raise(struct priority *p, bool is_raised)
{
	if (is_raised != p->is_raised)
		setpriority(PRIO_PROCESS, 0, p->niceness - (is_raised ? RAISED : 0));
	p->is_raised = is_raised;
}
