/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of web/jobs/jobs.h. It runs in workers, which may read descriptors and allocate memory.
 * Part of web/jobs/jobs.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/opt.h"
#include "base/time.h"
#include "export/export.h"
#include "export/format/sflm.h"
#include "export/interchange/named_label.h"
#include "export/read.h"
#include "export/slices/slice_reader.h"
#include "export/slices/slice_thin.h"
#include "profile/count.h"
#include "profile/diff.h"
#include "profile/names.h"
#include "profile/selection.h"
#include "profile/transform.h"
#include "profile/view.h"
#include "push/bodies.h"
#include "store/store_slices.h"
#include "web/jobs/jobs.h"
#include "web/jobs/summarize.h"

#define SLICE_NS      (10 * NS_PER_SEC)
#define SLOTS_MAX     120 /* most slots of a range in the page's strip of time */
#define INPUTS_MAX    10000
#define SLICES_MAX    (256u << 20) /* bytes of a file of slices */
#define SLICE_FILES   10000
#define CPU_NS        (30 * NS_PER_SEC) /* of a task */
#define WALL_NS       (60 * NS_PER_SEC)
#define MEMORY_BYTES  (1ull << 30)
#define TRANSFORMS_NS (CPU_NS / 2)
#define UNREADABLE    "The profile cannot be read: "
#define RAW_CONTAINER "sflm"
#define MISSING_TIME  NOTE_INCOMPLETE "time"

/* A file read by pread, so that others may share the descriptor's offset. */
struct source {
	int fd;
	off_t at;
};

static ssize_t source_read(void *cookie, char *buf, size_t len)
{
	struct source *s = cookie;
	ssize_t got = pread(s->fd, buf, len, s->at);

	if (got > 0)
		s->at += got;
	return got;
}

/* fdopen would call fcntl, which workers may not. */
static FILE *source_open(struct source *s)
{
	return fopencookie(s, "r", (cookie_io_functions_t){ .read = source_read });
}

/* Adds the profile in `fd` to `p`. An error has a sentence in `why`. */
static int read_profile(int fd, struct profile *p, struct str *why)
{
	struct source source = { .fd = fd };
	auto_str struct str fault = { 0 };
	auto_fclose FILE *f = source_open(&source);

	if (!f)
		return -ENOMEM;
	int err = profile_read(f, p, &fault);
	if (err)
		str_addf(why, UNREADABLE "%s", fault.at);
	return err;
}

static bool is_text(const char *field, size_t size)
{
	return memchr(field, '\0', size) != NULL;
}

/* The parameters are not aligned in a request. */
static int take_params(const void *bytes, size_t len, struct web_params *out)
{
	if (len != sizeof(*out))
		return -EINVAL;
	memcpy(out, bytes, len);
	return is_text(out->format, sizeof(out->format)) &&
			       is_text(out->title, sizeof(out->title)) &&
			       is_text(out->transforms, sizeof(out->transforms)) &&
			       is_text(out->event, sizeof(out->event)) &&
			       is_text(out->service, sizeof(out->service)) &&
			       is_text(out->container, sizeof(out->container)) &&
			       is_text(out->pod, sizeof(out->pod)) &&
			       is_text(out->namespace, sizeof(out->namespace)) &&
			       is_text(out->comm, sizeof(out->comm)) &&
			       is_text(out->with, sizeof(out->with)) &&
			       (!*out->with || named_label_is_choice(out->with)) &&
			       is_text(out->host, sizeof(out->host)) &&
			       is_text(out->labels, sizeof(out->labels))
		       ? 0
		       : -EINVAL;
}

static bool is_raw(const struct web_params *params)
{
	return !strcmp(params->format, RAW_CONTAINER);
}

static const struct format *find_format(const char *name)
{
	auto_free char *path = xasprintf("x.%s", name);

	return format_by_name(name) ?: format_by_path(path);
}

static int check_format(const struct web_params *params, struct str *why)
{
	if (is_raw(params) || find_format(params->format))
		return 0;
	str_addf(why, "There is no format of the name \"%s\".", params->format);
	return -EINVAL;
}

static int parse_transforms(const struct web_params *params, struct transforms *out,
			    struct str *why)
{
	auto_free char *lines = xstrdup(params->transforms);
	auto_str struct str fault = { 0 };
	char *rest = lines, *line;

	while ((line = strsep(&rest, "\n"))) {
		int err =
			*line ? transforms_parse(line, out, &fault) ?: transforms_check(out, &fault)
			      : 0;
		if (err) {
			str_addf(why, "The transform \"%s\" is invalid: %s", line, fault.at);
			return err;
		}
	}
	return 0;
}

/* A page gets the list and applies it itself, so that the reader can change it there. */
static int transform(const struct web_params *params, struct profile *p, struct str *why)
{
	auto_transforms struct transforms list = { 0 };
	auto_str struct str fault = { 0 };
	const struct format *f = is_raw(params) ? NULL : find_format(params->format);
	int err = parse_transforms(params, &list, why);

	if (err || !list.all.nr)
		return err;
	if (f && f->has_view) {
		view_set_transforms(p, &list);
		return 0;
	}
	err = transforms_apply(&list, p, TRANSFORMS_NS, &fault);
	if (err)
		str_addf(why, "The transforms cannot be applied: %s", fault.at);
	return err;
}

static int write_formatted(const struct profile *p, const struct format *format, struct str *out)
{
	FILE *f = open_memstream(&out->at, &out->len);

	if (!f)
		return -ENOMEM;
	int err = format->write(p, f);
	if (!err && ferror(f))
		err = -EIO;
	return fclose(f) && !err ? -ENOMEM : err;
}

static int write_profile(const struct profile *p, const char *format, struct str *out,
			 struct str *why)
{
	int err = !strcmp(format, RAW_CONTAINER) ? sflm_write(p, out)
						 : write_formatted(p, find_format(format), out);

	if (err == -EOVERFLOW)
		str_add(why, "The weights of the profile add up to more than 2^53 - 1.");
	else if (err == -E2BIG)
		str_add(why, "A stack of the profile is too deep for this format.");
	return err;
}

/* The first type of a file may be 0 everywhere: a heap in which nothing is in use, say. */
static void show_weighed_first(struct profile *p)
{
	u32 weighed;

	if (p->types.nr && !profile_is_diff(p) && !profile_total(p, 0) &&
	    count_find_weighed(p, &weighed))
		profile_move_type_first(p, weighed);
}

static void set_title(struct profile *p, const char *title)
{
	if (!*title)
		return;
	free(p->title);
	p->title = xstrdup(title);
}

/* Gives the profile the form that people see, and writes it. */
static int finish(const struct web_params *params, struct profile *p, struct str *out,
		  struct str *why)
{
	show_weighed_first(p);
	set_title(p, params->title);
	return transform(params, p, why) ?: write_profile(p, params->format, out, why);
}

/* Sends the result, or the reason for its absence. */
static int answer(struct worker_io *io, int err, const struct str *out, const struct str *why)
{
	bool is_refused = err && why->len;
	const u8 first = is_refused ? WEB_RESULT_REFUSED : WEB_RESULT_OK;
	const struct str *rest = is_refused ? why : out;

	if (err && !is_refused)
		return err;
	return worker_put(io, &first, 1) ?: worker_put(io, rest->at, rest->len);
}

/* Reads the inputs after the first one, which the web process opens on request. */
static int read_others(struct worker_io *io, u32 nr, struct profile *p, struct str *why)
{
	for (u32 i = 1; i < nr; i++) {
		auto_free char *path = xasprintf("%u", i);
		auto_close int fd = worker_open(io, WEB_PLACE_PROFILE, path);
		int err = fd < 0 ? fd : read_profile(fd, p, why);
		if (err)
			return err;
	}
	return 0;
}

static bool is_wanted(const char *wanted, const char *text)
{
	return !*wanted || !strcmp(wanted, text);
}

static bool has_wanted(const struct labels *l, const void *ctx)
{
	const struct web_params *params = ctx;
	const char *with = params->with;

	return is_wanted(params->service, l->service) && is_wanted(params->pod, l->pod) &&
	       is_wanted(params->namespace, l->namespace) &&
	       (is_wanted(params->container, l->container) ||
		is_wanted(params->container, l->container_id)) &&
	       (!*params->with || named_labels_match(l, &(struct opt_list){ &with, 1, 1 }));
}

/* Leaves out samples with other labels than those that the parameters name. */
static int keep_wanted(const struct web_params *params, struct profile *p, struct str *why)
{
	if (!*params->service && !*params->container && !*params->pod && !*params->namespace &&
	    !*params->with)
		return 0;
	profile_select(p, has_wanted, params);
	if (p->weights.nr || params->may_be_empty)
		return 0;
	str_add(why, *params->with ? "There are no samples with these labels."
				   : "There are no samples of the selected processes.");
	return -ENODATA;
}

static int convert(struct worker_io *io, const int *fds, const void *bytes, size_t len)
{
	auto_profile struct profile *p = profile_new();
	auto_str struct str out = { 0 }, why = { 0 };
	struct web_params params;

	if (take_params(bytes, len, &params) || !params.nr_inputs || params.nr_inputs > INPUTS_MAX)
		return -EINVAL;
	int err = check_format(&params, &why)
			  ?: read_profile(fds[0], p, &why)
				     ?: read_others(io, params.nr_inputs, p, &why);
	err = err ?: keep_wanted(&params, p, &why);
	if (!err) {
		profile_name_frames(p, is_raw(&params) ? NAMES_RAW : NAMES_SHOWN);
		err = finish(&params, p, &out, &why);
	}
	return answer(io, err, &out, &why);
}

/* "A to B", from the titles; the profile's view would be that of one side. */
static void name_diff(const struct profile *before, const struct profile *after, struct profile *p)
{
	if (!*before->title || !*after->title)
		return;
	free(p->title);
	p->title = xasprintf("%s to %s", before->title, after->title);
}

/* The time of the range without slices, in whole seconds. */
static u64 missing_s(const struct profile *p)
{
	const struct note *n = profile_find_note(p, MISSING_TIME);

	return n ? n->value : 0;
}

/*
 * Scales the values of a side to its whole range if some of its time has no slices. Otherwise, of
 * two sides of equal length, the one with a gap would seem to use less.
 */
static void scale_to_range(const struct profile *side, struct profile *p, u32 type)
{
	u64 all = side->duration_ns / NS_PER_SEC, missing = missing_s(side);

	if (!missing || missing >= all)
		return;
	vec_each(w, &p->weights)
		if (w->type == type)
			w->value = (u64)((__uint128_t)w->value * all / (all - missing));
}

static int compare(struct profile *before, struct profile *after, struct profile *p,
		   struct str *why)
{
	auto_str struct str fault = { 0 }, others = { 0 };
	struct diff_types types;

	profile_name_frames(before, NAMES_WITHOUT_IDS);
	profile_name_frames(after, NAMES_WITHOUT_IDS);
	int err = diff_choose(before, after, NULL, &types, &others, &fault);
	if (err) {
		str_addf(why, "The two cannot be compared: %s", fault.at);
		return err;
	}
	profile_diff(before, after, &types, p);
	scale_to_range(after, p, 0);
	scale_to_range(before, p, 1);
	name_diff(before, after, p);
	return 0;
}

static int diff(struct worker_io *io, const int *fds, const void *bytes, size_t len)
{
	auto_profile struct profile *p = profile_new(), *before = profile_new(),
				    *after = profile_new();
	auto_str struct str out = { 0 }, why = { 0 };
	struct web_params params;

	if (take_params(bytes, len, &params))
		return -EINVAL;
	int err = check_format(&params, &why)
			  ?: read_profile(fds[0], before, &why)
				     ?: read_profile(fds[1], after, &why)
						?: compare(before, after, p, &why)
							   ?: finish(&params, p, &out, &why);
	return answer(io, err, &out, &why);
}

static int import(struct worker_io *io, const int *fds, const void *bytes, size_t len)
{
	auto_profile struct profile *p = profile_new();
	auto_str struct str out = { 0 }, why = { 0 };
	struct web_params params;

	if (take_params(bytes, len, &params))
		return -EINVAL;
	int err = read_profile(fds[0], p, &why);
	if (!err && !p->weights.nr) {
		str_add(&why, UNREADABLE "it has no samples.");
		err = -ENODATA;
	}
	if (!err) {
		show_weighed_first(p);
		set_title(p, params.title);
		err = write_profile(p, RAW_CONTAINER, &out, &why);
	}
	return answer(io, err, &out, &why);
}

static int summary(struct worker_io *io, const int *fds, const void *bytes, size_t len)
{
	auto_profile struct profile *p = profile_new();
	auto_str struct str out = { 0 }, why = { 0 };
	int err = read_profile(fds[0], p, &why);

	if (!err) {
		profile_name_frames(p, NAMES_SHOWN);
		show_weighed_first(p);
		summarize(p, &out);
	}
	return answer(io, err, &out, &why);
}

static int read_all(int fd, struct str *out)
{
	auto_free char *chunk = xmalloc(1 << 16);
	struct source source = { .fd = fd };
	ssize_t got;

	while ((got = source_read(&source, chunk, 1 << 16)) > 0) {
		if (out->len + (size_t)got > SLICES_MAX)
			return -EFBIG;
		str_add_bytes(out, chunk, (size_t)got);
	}
	return got < 0 ? -errno : 0;
}

static const char *wanted(const char *text)
{
	return *text ? text : NULL;
}

static struct slice_query query_of(const struct web_params *params)
{
	return (struct slice_query){
		.from_wall_ns = params->from_wall_ns,
		.to_wall_ns = params->to_wall_ns,
		.event = wanted(params->event),
		.service = wanted(params->service),
		.container = wanted(params->container),
		.pod = wanted(params->pod),
		.comm = wanted(params->comm),
		.pid = (u32)params->pid,
	};
}

/*
 * The width of a slot: a whole number of slices, so that every slot has the same number of slices.
 */
static u64 slot_of(const struct web_params *params)
{
	u64 nr_slices = (params->to_wall_ns - params->from_wall_ns) / SLICE_NS;

	return (nr_slices / SLOTS_MAX + 1) * SLICE_NS;
}

/* Reads the slices of every file. A file that is damaged or cannot be read is left out. */
static int read_slices(struct worker_io *io, const struct web_params *params, struct profile *p,
		       struct str *why)
{
	const struct slice_query query = query_of(params);
	u64 nr_damaged = 0;

	for (u32 i = 0; i < SLICE_FILES; i++) {
		auto_free char *path = xasprintf("%u", i);
		auto_close int fd = worker_open(io, WEB_PLACE_SLICES, path);
		auto_str struct str bytes = { 0 }, fault = { 0 };
		if (fd == -ENOENT)
			break;
		int err = fd < 0 ? fd : read_all(fd, &bytes);
		if (err && !file_is_unreadable(err))
			return err;
		if (!err)
			err = slices_read((u8 *)bytes.at, bytes.len, &query, p, &fault);
		if (err == -E2BIG || err == -EOVERFLOW) {
			str_addf(why, "The time range cannot be read: %s.", fault.at);
			return err;
		}
		nr_damaged += err != 0;
	}
	if (nr_damaged)
		profile_note(p, NOTE_INCOMPLETE "slices",
			     "damaged or unreadable files of slices left out", nr_damaged);
	if (p->weights.nr || (!nr_damaged && params->may_be_empty))
		return 0;
	str_add(why, nr_damaged ? "The files of this time are damaged or cannot be read."
				: "There are no samples in this time.");
	return -ENODATA;
}

/* Says how much of the range has no slices. The newest ones are not there yet. */
static void note_missing_time(const struct web_params *params, struct profile *p)
{
	u64 written_ns = time_wall_ns() - STORE_LATE_NS, end_ns = p->start_wall_ns + p->duration_ns;
	u64 to_ns = params->to_wall_ns < written_ns ? params->to_wall_ns : written_ns;

	to_ns = to_ns > end_ns ? to_ns : end_ns;
	u64 all_ns = to_ns - params->from_wall_ns;
	u64 missing = all_ns > p->covered_ns ? all_ns - p->covered_ns : 0;
	u64 least_ns = all_ns / 500 > STORE_GAP_NS ? all_ns / 500 : STORE_GAP_NS;
	p->duration_ns = all_ns;
	if (missing < least_ns)
		return;
	auto_free char *text = xasprintf(
		"s of %llu s have no slices: sums are those of the rest; comparisons scale them",
		(unsigned long long)((all_ns + NS_PER_SEC / 2) / NS_PER_SEC));
	profile_note(p, MISSING_TIME, text, (missing + NS_PER_SEC / 2) / NS_PER_SEC);
}

static int drop_large_types(struct profile *p, struct str *why)
{
	if (!slices_drop_large_types(p) || p->weights.nr)
		return 0;
	str_add(why, "The values add up to more than 2^53 - 1; choose a shorter time.");
	return -ENODATA;
}

static int range(struct worker_io *io, const int *fds, const void *bytes, size_t len)
{
	auto_profile struct profile *p = profile_new();
	auto_str struct str out = { 0 }, why = { 0 };
	struct web_params params;

	if (take_params(bytes, len, &params) || params.pid > UINT32_MAX ||
	    params.from_wall_ns >= params.to_wall_ns)
		return -EINVAL;
	p->slot_ns = slot_of(&params);
	int err = check_format(&params, &why)
			  ?: read_slices(io, &params, p, &why)
				     ?: keep_wanted(&params, p, &why) ?: drop_large_types(p, &why);
	if (!err) {
		note_missing_time(&params, p);
		profile_name_frames(p, is_raw(&params) ? NAMES_RAW : NAMES_SHOWN);
		err = finish(&params, p, &out, &why);
	}
	return answer(io, err, &out, &why);
}

static int push(struct worker_io *io, const int *fds, const void *bytes, size_t len)
{
	auto_profile struct profile *p = profile_new();
	auto_str struct str out = { 0 }, why = { 0 };
	struct web_params params;

	if (take_params(bytes, len, &params) || params.from_wall_ns >= params.to_wall_ns)
		return -EINVAL;
	int err = read_slices(io, &params, p, &why);
	u32 weight = push_share_weight(&params.share, p, params.to_wall_ns - params.from_wall_ns);
	bool is_sent = push_share_draws(weight, params.host, params.labels, params.from_wall_ns);
	if (!err && is_sent) {
		push_share_scale(p, weight);
		profile_name_frames(p, NAMES_SHOWN);
		free(p->node_labels);
		p->node_labels = xstrdup(params.labels);
		err = push_bodies(p, params.kinds, params.host, &out);
	}
	if (err == -ENODATA && !profile_find_note(p, NOTE_INCOMPLETE "slices"))
		err = 0; /* a minute without samples has no requests */
	return answer(io, err, &out, &why);
}

static int thin(struct worker_io *io, const int *fds, const void *bytes, size_t len)
{
	auto_str struct str slices = { 0 }, out = { 0 }, why = { 0 };
	struct web_params params;

	if (take_params(bytes, len, &params) || !params.step_ns)
		return -EINVAL;
	int err = read_all(fds[0], &slices)
			  ?: slices_thin((u8 *)slices.at, slices.len, params.step_ns, &out, &why);
	return answer(io, err, &out, &why);
}

const worker_fn web_tasks[WEB_TASKS] = {
	[WEB_CONVERT] = convert, [WEB_DIFF] = diff, [WEB_IMPORT] = import, [WEB_SUMMARY] = summary,
	[WEB_RANGE] = range,     [WEB_THIN] = thin, [WEB_PUSH] = push,
};

static const struct worker_kind kind = {
	.tasks = web_tasks,
	.nr_tasks = WEB_TASKS,
	.memory_bytes = MEMORY_BYTES,
	.cpu_ns = CPU_NS,
	.wall_ns = WALL_NS,
	.ends_after_task = true, /* so a hostile upload cannot affect other profiles */
};

int web_workers_new(struct workers **out)
{
	return profile_read_prepare() ?: workers_new(&kind, out);
}
