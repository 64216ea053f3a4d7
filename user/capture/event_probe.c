/* SPDX-License-Identifier: Apache-2.0 */
/* Places in programs: functions (uprobes), and those that were built to be observed (USDT). */
#include <ctype.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "capture/event_kind.h"
#include "capture/privilege.h"
#include "elf/functions.h"
#include "elf/instruction.h"
#include "elf/usdt.h"

#define UPROBE_PREFIX "uprobe:"
#define USDT_PREFIX   "usdt:"
#define UPROBE_PMU    "/sys/bus/event_source/devices/uprobe"

#define NEAR_NAMES 3

static void tell_missing(const struct event *e, const char *prefix, const char *thing, int err,
			 const struct near *near, struct str *why)
{
	str_addf(why, "%s%s: ", prefix, e->place);
	if (err == -ENOENT)
		str_addf(why, "it has no %s %s", thing, e->what);
	else
		str_add(why, err == -ENOEXEC ? "it is no ELF file" : strerror(-err));
	for (size_t i = 0; i < near->max && near->names[i]; i++)
		str_addf(why, "%s%s", i ? ", " : "; near names: ", near->names[i]);
}

static int check_file(const struct event *e, const char *prefix, struct str *why)
{
	if (!access(e->place, R_OK))
		return 0;
	str_addf(why, "%s%s: %s", prefix, e->place, strerror(errno));
	return -errno;
}

/* A symbol's place in the file, or a sentence on what there is instead. */
static int find_symbol(const struct event *e, struct function *out, struct str *why)
{
	struct near near = { .wanted = e->what, .max = NEAR_NAMES };
	int err = check_file(e, UPROBE_PREFIX, why);

	if (err)
		return err;
	err = functions_find(e->place, e->what, out, &near);
	if (err)
		tell_missing(e, UPROBE_PREFIX, "function", err, &near, why);
	near_fini(&near);
	return err;
}

/* A trap elsewhere than where an instruction begins breaks the program. */
static int check_place(const struct event *e, const struct function *at, const char *text,
		       struct str *why)
{
	static const struct {
		int err;
		const char *text;
	} reasons[] = {
		{ -ERANGE, "the function ends before" },
		{ -EILSEQ, "no instruction begins there" },
		{ -ENODATA, "no function is known there, so neither is where instructions begin" },
		{ -ENOTSUP, "where instructions begin only a build with libcapstone knows" },
	};
	u64 offset = e->file_off - at->file_off;
	int err = at->size && offset >= at->size ? -ERANGE
						 : instruction_begins(e->place, e->file_off);
	const char *reason = strerror(-err);

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].err == err)
			reason = reasons[i].text;
	if (err)
		str_addf(why, "%s%s:%s: %s", UPROBE_PREFIX, e->place, text, reason);
	return err;
}

/* SYMBOL, SYMBOL+OFFSET, or 0xOFFSET in the file. */
static int read_place(struct event *e, const char *text, struct str *why)
{
	const char *plus = strrchr(text, '+');
	const char *number = isdigit((unsigned char)text[0]) ? text : plus ? plus + 1 : NULL;
	char *end = NULL;
	u64 offset = number ? strtoull(number, &end, 0) : 0;
	struct function at = { 0 };

	if (!*text || plus == text || (number && (!*number || *end))) {
		str_addf(why, "%s%s:%s: takes SYMBOL, SYMBOL+OFFSET or an offset in the file",
			 UPROBE_PREFIX, e->place, text);
		return -EINVAL;
	}
	if (number != text) {
		e->what = plus ? xstrndup(text, (size_t)(plus - text)) : xstrdup(text);
		int err = find_symbol(e, &at, why);
		if (err)
			return err;
	}
	e->file_off = at.file_off + offset;
	return offset || number == text ? check_place(e, &at, text, why) : 0;
}

/* The last colon that is not half of C++'s "::"; NULL if there is none. */
static const char *find_separator(const char *path)
{
	for (const char *c = path + strlen(path); c-- > path + 1;)
		if (*c == ':' && c[-1] != ':' && c[1] != ':')
			return c;
	return NULL;
}

int parse_uprobe(const char *text, const struct event_options *o, struct event *e, struct str *why)
{
	if (strncmp(text, UPROBE_PREFIX, strlen(UPROBE_PREFIX)))
		return -ENOENT;

	const char *path = text + strlen(UPROBE_PREFIX), *colon = find_separator(path);
	if (!colon) {
		str_addf(why, "-e %s: takes uprobe:PATH:SYMBOL[+OFFSET]", text);
		return -EINVAL;
	}
	e->place = xstrndup(path, (size_t)(colon - path));
	return read_place(e, colon + 1, why);
}

/* The last colon but one, which ends the path. */
static const char *find_probe(const char *path)
{
	const char *last = strrchr(path, ':');

	for (const char *c = last; c && c-- > path + 1;)
		if (*c == ':')
			return c;
	return NULL;
}

int parse_usdt(const char *text, const struct event_options *o, struct event *e, struct str *why)
{
	struct usdt_place places[USDT_PLACES_MAX];
	size_t nr;

	if (strncmp(text, USDT_PREFIX, strlen(USDT_PREFIX)))
		return -ENOENT;
	const char *path = text + strlen(USDT_PREFIX), *colon = find_probe(path);
	if (!colon || !colon[1] || colon[strlen(colon) - 1] == ':') {
		str_addf(why, "-e %s: takes usdt:PATH:PROVIDER:NAME", text);
		return -EINVAL;
	}
	e->place = xstrndup(path, (size_t)(colon - path));
	e->what = xstrdup(colon + 1);
	int err = check_file(e, USDT_PREFIX, why);
	if (err)
		return err;
	struct near near = { .wanted = e->what, .max = NEAR_NAMES };
	err = usdt_find(e->place, e->what, places, &nr, &near);
	if (err)
		tell_missing(e, USDT_PREFIX, "probe", err, &near, why);
	near_fini(&near);
	return err;
}

/* The places of an event in its file. */
struct known_places {
	struct sources *sources;
	const struct event *event;
	u32 number;
	bool has_failed;
	size_t nr;
	struct usdt_place at[];
};

static int attach(const struct known_places *k, size_t i, pid_t pid, struct bpf_link **out)
{
	return bpf_attach_program(sources_bpf(k->sources),
				  &(struct bpf_uprobe){
					  .program = "uprobe_hit",
					  .path = k->event->place,
					  .file_off = k->at[i].file_off,
					  .semaphore_off = k->at[i].semaphore_off,
					  .cookie = k->number,
					  .pid = pid,
				  },
				  out);
}

static int attach_everywhere(const struct known_places *k)
{
	int err = 0;

	for (size_t i = 0; !err && i < k->nr; i++) {
		struct bpf_link *link;
		err = attach(k, i, -1, &link);
		err = sources_take_link(k->sources, k->event, err, link);
	}
	return err;
}

static bool place(int fd, u32 file, pid_t pid, probe_links *out, void *known)
{
	struct known_places *k = known;
	int err = 0;

	for (size_t i = 0; !err && i < k->nr; i++) {
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
	return true;
}

/* Processes that are not recorded do not pay for traps. */
static int start_at(struct sources *s, const struct event *e, u32 number,
		    const struct usdt_place *places, size_t nr)
{
	struct known_places *k = xcalloc(1, sizeof(*k) + nr * sizeof(k->at[0]));

	*k = (struct known_places){ .sources = s, .event = e, .number = number, .nr = nr };
	memcpy(k->at, places, nr * sizeof(k->at[0]));
	if (sources_options(s)->only_targets) {
		sources_add_probes(s, number, probes_new_known(place, k));
		return 0;
	}
	int err = attach_everywhere(k);
	free(k);
	return err;
}

int start_uprobe(struct sources *s, const struct event *e, u32 number)
{
	return start_at(s, e, number, &(struct usdt_place){ .file_off = e->file_off }, 1);
}

int start_usdt(struct sources *s, const struct event *e, u32 number)
{
	struct usdt_place places[USDT_PLACES_MAX];
	struct near near = { .wanted = e->what };
	size_t nr = 0;
	int err = usdt_find(e->place, e->what, places, &nr, &near);

	return err ?: start_at(s, e, number, places, nr);
}

char *why_not_uprobe(void)
{
	if (!privilege_has(CAP_SYS_ADMIN) && !bpf_can_attach_without_admin())
		return xstrdup(
			"uprobes take CAP_SYS_ADMIN before Linux 6.6; run as root, or give the "
			"sysflame binary cap_sys_admin");
	if (!access(UPROBE_PMU, F_OK))
		return NULL;
	return xstrdup("the kernel has no uprobes (" UPROBE_PMU "): it needs "
		       "CONFIG_UPROBE_EVENTS");
}
