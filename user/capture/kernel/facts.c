/* SPDX-License-Identifier: Apache-2.0 */
/* Provides jvm/attach/task_facts.h with iterators over all threads. */
#include "capture/kernel/facts.h"

#include <errno.h>

#include "base/auto.h"
#include "base/log.h"
#include "capture/kernel/node_programs.h"
#include "capture/kernel/privilege.h"
#include "jvm/attach/task_facts.h"

static int open_iterator(void)
{
	/* Loaded once and kept to the end. */
	static struct node_programs *loaded;
	const struct node_programs_options options = { .tables = { 2, 1, 1 },
						       .ring_bytes = 4096,
						       .only_facts = true };
	int err = loaded ? 0 : privilege_check() ?: node_programs_load(&options, &loaded);

	if (err)
		return err;
	int fd = node_programs_facts(loaded);
	if (fd < 0)
		log_debug("the facts of threads: error %d", -fd);
	return fd;
}

void facts_provide(void)
{
	task_facts_use(open_iterator);
}
