/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame fleet record`: census, request, recordings, results, merge, profile.
 * Part of cmd/cmd.h.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/profile_file.h"
#include "export/writers/amount.h"
#include "export/writers/text.h"
#include "fleet/cli/request.h"
#include "fleet/cli/resume.h"
#include "fleet/controller/parts.h"
#include "fleet/node/node_agent.h"

#define METHODS         30 /* with an interval */
#define METHODS_PRINTED 10

struct options {
	struct connection_options connection;
	struct request_options request;
	const char *select, *output, *format, *resume;
	bool force, help;
	const struct format *to;
};

static void note_methods(const struct requests *a, struct profile *p)
{
	const struct controller_state s = controller_view(a->controllers[0]);
	struct parts methods;

	if (!s.is_estimate)
		return;
	parts_make(p, &s, PARTS_METHODS, METHODS, &methods);
	if (methods.has_nodes)
		parts_note(&methods, p);
	parts_fini(&methods);
}

static u64 value_of(const struct profile *p, const char *key)
{
	const struct note *n = profile_find_note(p, key);

	return n ? n->value : 0;
}

static void print_methods(const struct profile *p)
{
	auto_tree struct tree t = { 0 };

	if (!p->types.nr)
		return;
	tree_make(p, 0, &t);
	if (t.nodes.at[0].total)
		text_top(p, 0, &t, METHODS_PRINTED, terminal_width(STDERR_FILENO), stderr);
}

/*
 * The summary, as `sysflame record` prints it. Nodes count their samples, losses and frames in
 * notes, which the merge adds up.
 */
static void print_summary(const struct profile *p, const char *path, u64 size_bytes)
{
	u64 samples = value_of(p, "samples"), frames = value_of(p, "frames");
	char number[GROUPED_BYTES];

	if (samples) {
		log_info("samples    %s", grouped(samples, number));
		log_info("lost       %s", grouped(value_of(p, "lost"), number));
		log_info("truncated  %s (%.2f %%)", grouped(value_of(p, "truncated"), number),
			 percent(value_of(p, "truncated"), samples));
	}
	if (frames)
		log_info("named      %.2f %% of %s frames",
			 100 - percent(value_of(p, "unnamed"), frames), grouped(frames, number));
	print_methods(p);
	if (strcmp(path, "-") != 0)
		log_info("wrote      %s, %s bytes", path, grouped(size_bytes, number));
}

static int ask(const struct options *o, struct requests *a)
{
	struct controller_order order = requests_order(a, WANT_RECORDING, o->select);

	if (o->resume)
		return resume_add(a);
	request_options_apply(&o->request, &order);
	return requests_add(a, &order);
}

/*
 * Ends the request. If the profile was not written, another command can fetch the results that the
 * nodes still hold.
 */
static void end(struct requests *a, bool is_written)
{
	if (is_written)
		resume_forget(a);
	else if (a->kept_at)
		log_info("nodes keep their results for %d min: --resume last fetches them",
			 NODE_AGENT_RESULT_S / 60);
	requests_end(a);
}

static int record(const struct options *o)
{
	auto_profile struct profile *p = profile_new();
	struct requests a = { .stopped = fleet_signals_count(),
			      .names_silent = !o->resume,
			      .is_kept = !o->connection.http };
	int status = o->resume ? resume_find(&a, o->connection.dir, o->resume) : 0;

	status = status ?: requests_begin(&a, &o->connection, true);
	status = status ?: ask(o, &a);
	status = status ?: requests_run(&a, CONTROLLER_ENDED);
	if (!status) {
		requests_log_reasons(controller_view(a.controllers[0]).nodes);
		requests_log_coverage(a.controllers[0]);
		requests_log_silent(&a);
		status = requests_profile(a.controllers[0], p);
	}
	if (!status)
		note_methods(&a, p);
	u64 size_bytes;
	if (!status && profile_file_write(p, o->output, o->to, o->force, &size_bytes))
		status = EXIT_FAILED;
	if (!status)
		print_summary(p, o->output, size_bytes);
	bool is_written = !status;
	status = status ?: requests_coverage_status(&a);
	end(&a, is_written);
	return status;
}

static int check(struct options *o)
{
	int status = requests_check_selector(o->select);

	if (status)
		return status;
	if (!o->output)
		return requests_usage_error("record", "needs -o FILE");
	if (o->resume && (*o->select || o->connection.http || !o->connection.dir))
		return requests_usage_error(
			"record", "--resume takes --nats, --fleet-dir and -o; what was asked is "
				  "known");
	o->to = profile_file_format(o->format, o->output);
	if (!o->to)
		return EXIT_USAGE;
	status = request_options_check(&o->request, "record");
	return status ?: profile_file_try(o->output, o->force) ? EXIT_FAILED : 0;
}

int fleet_record_main(int argc, char **argv)
{
	struct options o = { .connection = { .wait_s = 2 },
			     .request = REQUEST_DEFAULTS,
			     .select = "" };
	const struct opt opts[] = {
		FLEET_OPTS(&o.connection),
		HTTP_OPT(&o.connection),
		SELECT_OPT(&o.select),
		REQUEST_OPTS(&o.request),
		{ 0, "resume", OPT_STRING, &o.resume, "ID",
		  "go on with a request whose command ended: an id of fleet status, or `last`" },
		OUTPUT_OPT(&o.output),
		FORMAT_OPT(&o.format),
		FORCE_OPT(&o.force),
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this help" },
	};
	int status = requests_parse(
		"record", opts, ARRAY_SIZE(opts), argc, argv, &o.help,
		"usage: sysflame fleet record --nats URL --fleet-dir DIR -o FILE [OPTION..]\n"
		"       sysflame fleet record --http FILE -o FILE [OPTION..]\n\n"
		"Records on many nodes at once and merges the profiles into one. Values of a\n"
		"share of the nodes are estimates for all; the raw counts are kept. The exit\n"
		"status is 3 if the result lacks a node that was chosen.\n");

	return status >= 0 ? status : check(&o) ?: record(&o);
}
