/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events at places in programs: functions (uprobes), and probes built into a program (USDT).
 * Part of capture/events/event_kind.h.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "capture/events/event_kind.h"
#include "capture/probes/library.h"
#include "capture/targets/targets.h"
#include "sandbox/rights.h"
#include "sym/files/places.h"

#define UPROBE_PREFIX "uprobe:"
#define USDT_PREFIX   "usdt:"
#define UPROBE_PMU    "/sys/bus/event_source/devices/uprobe"

#define NEAR_NAMES 3

/* Describes an error of a file to the user. */
static const char *text_of(int err)
{
	static const struct {
		int err;
		const char *text;
	} texts[] = {
		{ -ENOEXEC, "it is not an ELF file" },
		{ -EFBIG, "its symbol table is too large" },
		{ -ETIMEDOUT, "reading it takes too long" },
		{ -EPIPE, "reading it takes too much memory, or ended the process that reads it" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].err == err)
			return texts[i].text;
	return strerror(-err);
}

static void report_missing(const struct event *e, const char *prefix, const char *thing, int err,
			   const struct places *found, struct str *why)
{
	str_addf(why, "%s%s: ", prefix, e->place);
	if (err == -ENOENT)
		str_addf(why, "it has no %s %s", thing, e->what);
	else
		str_add(why, text_of(err));
	for (size_t i = 0; found->near[i]; i++)
		str_addf(why, "%s%s", i ? ", " : "; near names: ", found->near[i]);
}

static int check_file(const struct event *e, const char *prefix, struct str *why)
{
	if (!file_access(e->place, R_OK))
		return 0;
	int err = -errno;
	str_addf(why, "%s%s: %s", prefix, e->place,
		 strchr(e->place, '/') ? strerror(-err)
				       : "there is no such file, library or program");
	return err;
}

/*
 * Resolves the name of a library or program, or a path that a target has mapped, unless such a file
 * exists here.
 */
static void find_file(struct event *e, const struct event_options *o)
{
	char *found = NULL;
	pid_t pid;

	if (!*e->place || !access(e->place, F_OK))
		return;
	for (size_t i = 0; !found && o->targets && (pid = targets_pid(o->targets, i)); i++)
		library_find_mapped(pid, e->place, &found);
	if (!found && (strchr(e->place, '/') || library_find(LIBRARY_CACHE, e->place, &found)))
		return;
	free(e->place);
	e->place = found;
	e->was_found = true;
}

/*
 * Looks e->what up in the file e->place: a function, or a USDT probe. Sets the file offsets at
 * which the event's probe goes. If the file has no such name, `why` lists similar names it has.
 */
static int find_places(struct event *e, const struct event_options *o, enum places_kind kind,
		       struct str *why)
{
	const char *prefix = kind == PLACES_USDT ? USDT_PREFIX : UPROBE_PREFIX;
	const char *thing = kind == PLACES_USDT ? "probe" : "function";
	const struct places_query query = {
		.kind = kind,
		.names = { e->what },
		.nr_names = 1,
		.nr_near = NEAR_NAMES,
	};
	auto_places struct places found = { 0 };

	int err = check_file(e, prefix, why);
	if (err)
		return err;
	err = places_search_now(o->workers, e->place, &query, &found);
	if (err) {
		report_missing(e, prefix, thing, err, &found, why);
		return err;
	}
	e->nr_places = found.nr;
	e->places = take(found.at);
	return 0;
}

/* A trap at any other place than the begin of an instruction breaks the program. */
static int check_place(const struct event *e, const struct event_options *o, u64 offset,
		       const char *text, struct str *why)
{
	const struct probe_place *at = &e->places[0];
	const struct places_query query = { .kind = PLACES_INSTRUCTION, .file_off = at->file_off };
	auto_places struct places none = { 0 };
	static const struct {
		int err;
		const char *text;
	} reasons[] = {
		{ -ERANGE, "the function ends before that offset" },
		{ -EILSEQ, "no instruction begins there" },
		{ -ENODATA, "no function is known there, so its instructions cannot be located" },
		{ -ENOTSUP, "only a build with libcapstone knows where instructions begin" },
	};
	int err = at->size && offset >= at->size
			  ? -ERANGE
			  : places_search_now(o->workers, e->place, &query, &none);
	const char *reason = text_of(err);

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].err == err)
			reason = reasons[i].text;
	if (err)
		str_addf(why, "%s%s:%s: %s", UPROBE_PREFIX, e->place, text, reason);
	return err;
}

/* SYMBOL, SYMBOL+OFFSET, or 0xOFFSET in the file. */
static int read_place(struct event *e, const struct event_options *o, const char *text,
		      struct str *why)
{
	const char *plus = strrchr(text, '+');
	const char *number = isdigit((unsigned char)text[0]) ? text : plus ? plus + 1 : NULL;
	char *end = NULL;
	u64 offset = number ? strtoull(number, &end, 0) : 0;

	if (!*text || plus == text || (number && (!*number || *end))) {
		str_addf(why, "%s%s:%s: takes SYMBOL, SYMBOL+OFFSET or an offset in the file",
			 UPROBE_PREFIX, e->place, text);
		return -EINVAL;
	}
	if (number != text) {
		e->what = plus ? xstrndup(text, (size_t)(plus - text)) : xstrdup(text);
		int err = find_places(e, o, PLACES_FUNCTIONS, why);
		if (err)
			return err;
	} else {
		e->places = xcalloc(1, sizeof(*e->places));
		e->nr_places = 1;
	}
	e->places[0].file_off += offset;
	return offset || number == text ? check_place(e, o, offset, text, why) : 0;
}

/* The last colon that is not half of C++'s "::"; NULL if there is none. */
static const char *find_separator(const char *path)
{
	for (const char *c = path + strlen(path); c-- > path + 1;)
		if (*c == ':' && c[-1] != ':' && c[1] != ':')
			return c;
	return NULL;
}

static int parse_uprobe(const char *text, const struct event_options *o, struct event *e,
			struct str *why)
{
	if (strncmp(text, UPROBE_PREFIX, strlen(UPROBE_PREFIX)))
		return -ENOENT;

	const char *path = text + strlen(UPROBE_PREFIX), *colon = find_separator(path);
	if (!colon) {
		str_addf(why, "-e %s: takes uprobe:FILE:SYMBOL[+OFFSET]", text);
		return -EINVAL;
	}
	e->place = xstrndup(path, (size_t)(colon - path));
	find_file(e, o);
	return read_place(e, o, colon + 1, why);
}

/* The second last colon, which ends the path. */
static const char *find_probe(const char *path)
{
	const char *last = strrchr(path, ':');

	for (const char *c = last; c && c-- > path + 1;)
		if (*c == ':')
			return c;
	return NULL;
}

static int parse_usdt(const char *text, const struct event_options *o, struct event *e,
		      struct str *why)
{
	if (strncmp(text, USDT_PREFIX, strlen(USDT_PREFIX)))
		return -ENOENT;
	const char *path = text + strlen(USDT_PREFIX), *colon = find_probe(path);
	if (!colon || !colon[1] || colon[strlen(colon) - 1] == ':') {
		str_addf(why, "-e %s: takes usdt:FILE:PROVIDER:NAME", text);
		return -EINVAL;
	}
	e->place = xstrndup(path, (size_t)(colon - path));
	find_file(e, o);
	e->what = xstrdup(colon + 1);
	return find_places(e, o, PLACES_USDT, why);
}

/* An event whose places in its file are known. */
struct known_places {
	struct sources *sources;
	const struct event *event;
	u32 number;
	bool has_failed;
};

static int attach(const struct known_places *k, size_t i, pid_t pid, struct bpf_link **out)
{
	const struct probe_place *at = &k->event->places[i];

	return programs_attach_program(sources_bpf(k->sources),
				       &(struct programs_uprobe){
					       .program = PROGRAM_UPROBE_HIT,
					       .path = k->event->place,
					       .file_off = at->file_off,
					       .semaphore_off = at->semaphore_off,
					       .cookie = k->number,
					       .pid = pid,
				       },
				       out);
}

static int attach_everywhere(const struct known_places *k)
{
	int err = 0;

	for (size_t i = 0; !err && i < k->event->nr_places; i++) {
		struct bpf_link *link;
		err = attach(k, i, -1, &link);
		err = sources_take_link(k->sources, k->event, err, link);
	}
	return err;
}

static void place(pid_t pid, probe_links *out, void *known)
{
	struct known_places *k = known;
	int err = 0;

	for (size_t i = 0; !err && i < k->event->nr_places; i++) {
		struct bpf_link *link;
		err = attach(k, i, pid, &link);
		if (!err)
			vec_push(out, link);
	}
	if (err == -ESRCH)
		sources_count_gone(k->sources);
	else if (err && !k->has_failed) {
		k->has_failed = true;
		log_warn("%s cannot be attached in process %d, and maybe in others: %s",
			 k->event->name, (int)pid, strerror(-err));
	}
}

/* Attaches only in the recorded processes, to spare the others the traps. */
static int start_probe(struct sources *s, const struct event *e, u32 number)
{
	struct known_places *k = xcalloc(1, sizeof(*k));

	*k = (struct known_places){ .sources = s, .event = e, .number = number };
	if (sources_options(s)->only_targets) {
		sources_add_probes(s, number, probes_new_known(place, k));
		return 0;
	}
	int err = attach_everywhere(k);
	free(k);
	return err;
}

char *why_not_uprobe(void)
{
	if (!capability_has(CAP_SYS_ADMIN) && !programs_can_attach_without_admin())
		return xstrdup(
			"uprobes need CAP_SYS_ADMIN before Linux 6.6; run as root, or give the "
			"sysflame binary cap_sys_admin");
	if (!access(UPROBE_PMU, F_OK))
		return NULL;
	return xstrdup("the kernel has no uprobes (" UPROBE_PMU "): it needs "
		       "CONFIG_UPROBE_EVENTS");
}

const struct event_kind event_kind_uprobe = {
	.name = "uprobe:FILE:SYMBOL[+OFFSET]",
	.unit = "hits",
	.value = EVENT_VALUE_HIT,
	.help = "hits of a place in a program or library: a path, or libc",
	.programs = PROGRAM_BIT(UPROBE_HIT),
	.nr_slots = NR_SLOTS,
	.sparser = "larger --period",
	.has_period = true,
	.parse = parse_uprobe,
	.configure = configure_trace,
	.open = open_nothing,
	.start = start_probe,
	.why_not = why_not_uprobe,
};

const struct event_kind event_kind_usdt = {
	.name = "usdt:FILE:PROVIDER:NAME",
	.unit = "hits",
	.value = EVENT_VALUE_HIT,
	.help = "hits of a probe that is built into a program or library",
	.programs = PROGRAM_BIT(UPROBE_HIT),
	.nr_slots = NR_SLOTS,
	.sparser = "larger --period",
	.has_period = true,
	.parse = parse_usdt,
	.configure = configure_trace,
	.open = open_nothing,
	.start = start_probe,
	.why_not = why_not_uprobe,
};
