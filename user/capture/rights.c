/* SPDX-License-Identifier: Apache-2.0 */
/* Limits the rights of a recording. */
#include "capture/rights.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "capture/programs/kernel_types.h"
#include "jvm/attach/helper.h"
#include "proc/open_request.h"
#include "sandbox/rights.h"

struct rights {
	struct helper *helper; /* NULL: it did not start */
	bool has_warned;
};

static int start_opener(void *helper, int sock, u64 *number)
{
	return helper_open(helper, sock, number);
}

static void end_opener(void *helper, u64 number)
{
	helper_kill(helper, number);
}

static void warn_of_missing_helper(int err)
{
	log_warn("agents cannot be attached, and files of other users may stay closed: no process "
		 "for it can be started: %s",
		 strerror(-err));
}

static void start_helper(struct rights *r, const char *agent_path)
{
	int err = helper_start(agent_path, &r->helper);

	if (err) {
		warn_of_missing_helper(err);
		return;
	}
	const struct open_requests_ops ops = { start_opener, end_opener, r->helper };
	inject_use_helper(r->helper);
	open_requests_begin(&ops);
}

/*
 * Kernels of Debian and Ubuntu have levels of perf_event_paranoid above 2, at which CAP_PERFMON
 * does not suffice. 3 is Debian's default, 4 is Ubuntu's.
 */
static bool is_paranoid(void)
{
	auto_free char *text = NULL;
	size_t len;

	return !file_read("/proc/sys/kernel/perf_event_paranoid", 16, &text, &len) &&
	       atoi(text) > 2;
}

/*
 * Kernels before 6.10 have no links for several uprobes, or these report only the main thread
 * (programs.c).
 */
u32 rights_of_kernel(void)
{
	return (kernel_is_from(6, 10) ? 0 : PRIVILEGE_UPROBES) |
	       (is_paranoid() ? PRIVILEGE_PARANOID : 0);
}

static u32 reasons_of(const struct node_options *o)
{
	return rights_of_kernel() | (o->measure ? PRIVILEGE_MEASURE : 0) |
	       (o->keeps_output_rights ? PRIVILEGE_OUTPUT : 0);
}

struct rights *rights_limit(const struct node_options *options)
{
	struct rights *r = xcalloc(1, sizeof(*r));

	start_helper(r, options->agent_path);
	int err = privileges_keep(PRIVILEGED_RECORDER, reasons_of(options))
			  ?: call_filter_load(PRIVILEGED_RECORDER);
	if (err)
		log_warn("the recorder keeps rights that it does not need: %s; see whether the "
			 "kernel has CONFIG_SECCOMP_FILTER",
			 strerror(-err));
	return r;
}

static void end_helper(struct rights *r)
{
	open_requests_end();
	inject_use_helper(NULL);
	helper_free(take(r->helper));
}

void rights_await(struct rights *r)
{
	int err = r && r->helper ? helper_await(r->helper) : 0;

	if (!err)
		return;
	warn_of_missing_helper(err);
	end_helper(r);
}

bool rights_are_lost(const struct rights *r)
{
	return r && r->helper && helper_has_ended(r->helper);
}

void rights_watch(struct rights *r)
{
	if (!rights_are_lost(r) || r->has_warned)
		return;
	r->has_warned = true;
	log_warn("the process that attaches (sysflame-attach) was killed: agents cannot be "
		 "attached, and files are opened with our own user's rights; record again");
}

void rights_free(struct rights *r)
{
	if (!r)
		return;
	end_helper(r);
	free(r);
}
