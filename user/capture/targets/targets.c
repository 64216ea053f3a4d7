/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the processes that are sampled, and finds the control groups that selectors refer to. */
#include "capture/targets/targets.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "base/vec.h"
#include "capture/kernel/task.h"
#include "capture/programs/programs.h"
#include "knobs.h"
#include "proc/container.h"
#include "proc/process.h"
#include "proc/status.h"

struct selector {
	enum target_kind kind;
	bool excludes;
	char *text;     /* owned */
	u32 number;     /* the pid or uid */
	int pidfd;      /* of the process; -1: not open */
	bool has_ended; /* the process has ended; others may have its PID */
	u32 mask;       /* enum select */
	bool is_absent; /* a selected group did not exist when last checked */
	bool was_found; /* it existed at some time */
};

struct selectors {
	VEC(struct selector) all;
};

/* Of selectors that include, and of those that exclude. */
#define BOTH(bit)    ((u32)(bit) | (u32)(bit) << SELECT_EXCLUDE_SHIFT)
#define NO_SUBSYSTEM (CGROUP_UNIFIED - 1) /* a hierarchy without controllers: systemd's own */

/*
 * Checking control groups takes at most one part in LOOK_SHARE of the time. Whoever may create them
 * can create very many.
 */
#define LOOK_SHARE 10

#define FIRST_LOOK_NS (5 * NS_PER_SEC) /* for names of containers, before recording begins */

struct group {
	struct cgroup_key key;
	u32 mask;
};

struct group_list {
	VEC(struct group) all;
};

struct target_groups {
	struct containers *containers;
	struct cgroup_mounts mounts;
	VEC(u32) subsystems;      /* by mount: cgroup_key.subsys */
	struct group_list in_map; /* the groups that BPF knows */
	bool has_looked, has_too_many;
	u64 rests_until_ns;
	u32 nr_hierarchies, hierarchies[KNOBS_HIERARCHIES]; /* of the knobs */
};

/*
 * `name` is for example "memory_cgrp_id". Groups of hierarchies with the controller can be looked
 * up in BPF.
 */
static void take_subsystem(const char *name, s32 value, void *ctx)
{
	struct target_groups *g = ctx;
	const char *end = strstr(name, "_cgrp_id");
	bool is_io = !strcmp(name, "io_cgrp_id"); /* version 1 calls it blkio */
	auto_free char *option = xasprintf(",%.*s,", is_io ? 5 : (int)(end ? end - name : 0),
					   is_io ? "blkio" : name);

	for (size_t i = 0; end && i < g->mounts.all.nr; i++)
		if (!g->mounts.all.at[i].is_unified && strstr(g->mounts.all.at[i].options, option))
			g->subsystems.at[i] = (u32)value;
}

/* `containers` must outlive it. */
static struct target_groups *target_groups_new(struct containers *containers)
{
	struct target_groups *g = xcalloc(1, sizeof(*g));

	g->containers = containers;
	/* Without mounts no group is ever found; each one is then logged as missing. */
	cgroup_mounts_read(&g->mounts);
	vec_each(m, &g->mounts.all)
		vec_push(&g->subsystems, m->is_unified ? CGROUP_UNIFIED : NO_SUBSYSTEM);
	if (g->mounts.all.nr && !g->mounts.all.at[g->mounts.all.nr - 1].is_unified)
		programs_kernel_enumerators("cgroup_subsys_id", take_subsystem, g);
	return g;
}

static void target_groups_free(struct target_groups *g)
{
	if (!g)
		return;
	cgroup_mounts_fini(&g->mounts);
	vec_fini(&g->subsystems);
	vec_fini(&g->in_map.all);
	free(g);
}

static struct group *find(struct group_list *list, const struct cgroup_key *key)
{
	vec_each(one, &list->all)
		if (one->key.id == key->id && one->key.subsys == key->subsys)
			return one;
	return NULL;
}

static void add(struct group_list *list, u64 id, u32 subsys, u32 mask)
{
	struct group new = { { .id = id, .subsys = subsys }, mask };
	struct group *old = find(list, &new.key);

	if (old)
		old->mask |= mask;
	else if (list->all.nr < TARGET_CGROUPS_MAX)
		vec_push(&list->all, new);
}

static bool add_path(const struct target_groups *g, const struct selector *s,
		     struct group_list *out)
{
	u64 id;
	const struct cgroup_mount *m = cgroup_find(&g->mounts, s->text, &id);
	u32 subsys = m ? g->subsystems.at[m - g->mounts.all.at] : NO_SUBSYSTEM;

	if (subsys != NO_SUBSYSTEM)
		add(out, id, subsys, s->mask);
	return subsys != NO_SUBSYSTEM;
}

/* A walk through the control groups of one hierarchy, for containers. */
struct group_search {
	struct target_groups *groups;
	struct selectors *selectors;
	struct group_list *found;
	char pod_uid[POD_UID_LEN + 1]; /* uid of the pod whose group the walk is in */
	int pod_depth;
	u32 subsys;
};

static bool selects(const struct selector *s, const struct container *c)
{
	return (s->kind == TARGET_CONTAINER && container_matches(c, s->text)) ||
	       (s->kind == TARGET_POD && container_matches_pod(c, s->text));
}

static void look_at(const char *name, int depth, u64 id, void *ctx)
{
	struct group_search *search = ctx;
	char container_id[CONTAINER_ID_LEN + 1];

	if (depth <= search->pod_depth)
		search->pod_uid[0] = '\0';
	if (cgroup_pod_parse(name, search->pod_uid))
		search->pod_depth = depth;
	if (!cgroup_container_parse(name, container_id))
		return;
	const struct container *c =
		containers_find(search->groups->containers, container_id, search->pod_uid);
	if (!c) {
		search->groups->has_too_many = true;
		return;
	}
	vec_each(s, &search->selectors->all) {
		if (!selects(s, c))
			continue;
		add(search->found, id, search->subsys, s->mask);
		s->is_absent = false;
	}
}

static bool is_about_containers(const struct selector *s)
{
	return s->kind == TARGET_CONTAINER || s->kind == TARGET_POD;
}

/* Searches hierarchies of version 1 only for containers that version 2 does not have. */
static void look_for_containers(struct target_groups *g, struct selectors *selectors,
				struct group_list *out)
{
	for (size_t i = 0; i < g->mounts.all.nr; i++) {
		struct group_search search = { g, selectors, out, "", 0, g->subsystems.at[i] };
		bool is_any_absent = false;
		vec_each(s, &selectors->all)
			is_any_absent |= is_about_containers(s) && s->is_absent;
		if (is_any_absent && search.subsys != NO_SUBSYSTEM)
			cgroup_each(&g->mounts.all.at[i], look_at, &search);
	}
}

/* Whether the names of all containers are known. Call it after target_groups_configure. */
static bool target_groups_are_known(const struct target_groups *g)
{
	return containers_are_reported(g->containers);
}

/* "container", "pod" or "control group", for people. */
static const char *target_groups_kind(const struct selector *s)
{
	return s->kind == TARGET_POD         ? "pod"
	       : s->kind == TARGET_CONTAINER ? "container"
					     : "control group";
}

static void warn_if_absent(const struct target_groups *g, const struct selector *s, bool was_absent)
{
	bool is_first = !g->has_looked;

	if (s->is_absent && is_first && is_about_containers(s) &&
	    !containers_are_reported(g->containers))
		log_warn("no %s %s is known yet, because some names of containers are missing; it "
			 "counts once it is known",
			 target_groups_kind(s), s->text);
	else if (s->is_absent && is_first)
		log_warn("there is no %s %s; it counts once there is", target_groups_kind(s),
			 s->text);
	else if (s->is_absent && !was_absent)
		log_warn("the %s %s is gone; it counts again once it is back",
			 target_groups_kind(s), s->text);
	else if (was_absent && !s->is_absent && !is_first)
		log_info("the %s %s is there", target_groups_kind(s), s->text);
}

static void look(struct target_groups *g, struct selectors *selectors, struct group_list *out)
{
	vec_each(s, &selectors->all) {
		if (s->kind == TARGET_CGROUP || s->kind == TARGET_WITHIN)
			s->is_absent = !add_path(g, s, out);
		else
			s->is_absent = is_about_containers(s);
	}
	look_for_containers(g, selectors, out);
	vec_each(s, &selectors->all)
		s->was_found |= !s->is_absent;
}

static void use_hierarchy(struct knobs *knobs, u32 subsys)
{
	for (u32 i = 0; i < knobs->nr_hierarchies; i++)
		if (knobs->hierarchies[i] == subsys)
			return;
	if (subsys != NO_SUBSYSTEM && knobs->nr_hierarchies < KNOBS_HIERARCHIES)
		knobs->hierarchies[knobs->nr_hierarchies++] = subsys;
}

/* Sets the hierarchies of `knobs` that hold the selected groups, or may come to hold them. */
static void target_groups_configure(struct target_groups *g, struct selectors *selectors,
				    struct knobs *knobs)
{
	struct group_list found = { 0 };
	bool is_any_absent = false;
	containers_set_credit(g->containers, FIRST_LOOK_NS);
	look(g, selectors, &found);
	containers_set_credit(g->containers, 0);
	vec_each(one, &found.all)
		use_hierarchy(knobs, one->key.subsys);
	vec_fini(&found.all);
	vec_each(s, &selectors->all)
		is_any_absent |= s->is_absent;
	if (is_any_absent)
		vec_each(subsys, &g->subsystems)
			use_hierarchy(knobs, *subsys);
	g->nr_hierarchies = knobs->nr_hierarchies;
	memcpy(g->hierarchies, knobs->hierarchies, sizeof(g->hierarchies));
}

/* As bits, by index in knobs.hierarchies. */
static u32 hierarchies_of(const struct target_groups *g)
{
	u32 mask = 0;

	vec_each(one, &g->in_map.all)
		for (u32 i = 0; i < g->nr_hierarchies; i++)
			mask |= g->hierarchies[i] == one->key.subsys ? 1u << i : 0;
	return mask;
}

static void update_map(struct target_groups *g, struct group_list *now, int fd)
{
	vec_each(old, &g->in_map.all)
		if (!find(now, &old->key))
			bpf_map_delete_elem(fd, &old->key);
	vec_each(one, &now->all) {
		const struct group *old = find(&g->in_map, &one->key);
		if (!old || old->mask != one->mask)
			bpf_map_update_elem(fd, &one->key, &one->mask, BPF_ANY);
	}
	vec_fini(&g->in_map.all);
	g->in_map = *now;
}

/*
 * Updates the map of control groups. Logs missing groups, and groups that appear or disappear.
 * Returns which of the knobs' hierarchies have groups in the map, as bits.
 */
static u32 target_groups_follow(struct target_groups *g, struct selectors *selectors, int map_fd)
{
	struct group_list now = { 0 };
	auto_free bool *were_absent = xcalloc(selectors->all.nr + 1, sizeof(bool));
	bool had_too_many = g->has_too_many;
	u64 began_ns = time_mono_ns();

	if (began_ns < g->rests_until_ns)
		return hierarchies_of(g);
	for (size_t i = 0; i < selectors->all.nr; i++)
		were_absent[i] = selectors->all.at[i].is_absent;
	look(g, selectors, &now);
	for (size_t i = 0; i < selectors->all.nr; i++)
		warn_if_absent(g, &selectors->all.at[i], were_absent[i]);
	g->has_looked = true;
	g->has_too_many |= now.all.nr == TARGET_CGROUPS_MAX;
	if (g->has_too_many && !had_too_many)
		log_warn("there are too many control groups that look like containers: not all are "
			 "checked");
	update_map(g, &now, map_fd);
	g->rests_until_ns = time_mono_ns() + LOOK_SHARE * (time_mono_ns() - began_ns);
	return hierarchies_of(g);
}

struct targets {
	struct selectors selectors;
	struct str text;
	char wait_for[ABI_COMM_LEN];  /* "" if not given */
	bool has_begun;               /* an awaited program was executed */
	bool has_matched;             /* a process has been a target */
	bool requires_groups;         /* they must exist at the start */
	u32 include, exclude;         /* all masks of the selectors */
	struct target_groups *groups; /* NULL if no selector refers to control groups */
	struct programs *bpf;
	struct targets_fds fds;
	struct dict admitted; /* process_id_hash -> 0 */
};

/* Length of a command line in the title; one more word may follow. */
#define COMMAND_TEXT_MAX 100

struct kind {
	const char *name;
	u32 bit;
};

static const struct kind kinds[NR_TARGET_KINDS] = {
	[TARGET_PID] = { "pid", SELECT_PID },
	[TARGET_COMM] = { "comm", SELECT_COMM },
	[TARGET_USER] = { "user", SELECT_USER },
	[TARGET_JVM] = { "jvms", SELECT_JVM },
	[TARGET_CGROUP] = { "cgroup", SELECT_CGROUP },
	[TARGET_CONTAINER] = { "container", SELECT_CONTAINER },
	[TARGET_POD] = { "pod", SELECT_POD },
	[TARGET_SERVICE] = { "service", SELECT_SERVICE },
	[TARGET_WITHIN] = { "within", SELECT_WITHIN },
};

struct targets *targets_new(void)
{
	return xcalloc(1, sizeof(struct targets));
}

void targets_free(struct targets *t)
{
	if (!t)
		return;
	vec_each(s, &t->selectors.all) {
		free(s->text);
		if (s->pidfd >= 0)
			close(s->pidfd);
	}
	vec_fini(&t->selectors.all);
	target_groups_free(t->groups);
	str_fini(&t->text);
	dict_fini(&t->admitted);
	free(t);
}

static int parse_number(const char *text, u32 max, u32 *out)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || number > max)
		return -EINVAL;
	*out = (u32)number;
	return 0;
}

static int parse_user(const char *text, u32 *uid)
{
	const struct passwd *user;

	if (!parse_number(text, UINT_MAX - 1, uid))
		return 0;
	user = getpwnam(text);
	if (!user)
		return -EINVAL;
	*uid = user->pw_uid;
	return 0;
}

static int parse(struct selector *s, struct str *why)
{
	switch (s->kind) {
	case TARGET_PID:
		if (!parse_number(s->text, INT_MAX, &s->number) && s->number)
			return 0;
		str_addf(why, "'%s' is not a PID: takes PIDs separated by commas", s->text);
		return -EINVAL;
	case TARGET_USER:
		if (!parse_user(s->text, &s->number))
			return 0;
		str_addf(why, "there is no user '%s'; a number is accepted without a check",
			 s->text);
		return -EINVAL;
	default:
		if (*s->text || s->kind == TARGET_JVM)
			return 0;
		str_addf(why, "an empty name selects nothing");
		return -EINVAL;
	}
}

static void add_selector(struct targets *t, const struct selector *s)
{
	*(s->excludes ? &t->exclude : &t->include) |= s->mask;
	str_addf(&t->text, "%s%s%s%s%s", t->text.len ? " " : "", s->excludes ? "--exclude " : "--",
		 kinds[s->kind].name,
		 s->kind == TARGET_JVM ? ""
		 : s->excludes         ? "="
				       : " ",
		 s->text);
	vec_push(&t->selectors.all, *s);
}

/* Whether commas separate several values. The path of a control group may contain commas. */
static bool is_list(enum target_kind kind)
{
	return kind != TARGET_CGROUP && kind != TARGET_WITHIN && kind != TARGET_JVM;
}

int targets_add(struct targets *t, enum target_kind kind, bool excludes, const char *text,
		struct str *why)
{
	for (;;) {
		size_t len = is_list(kind) ? strcspn(text, ",") : strlen(text);
		struct selector s = {
			.kind = kind,
			.excludes = excludes,
			.pidfd = -1,
			.text = xstrndup(text, len),
			.mask = kinds[kind].bit << (excludes ? SELECT_EXCLUDE_SHIFT : 0),
		};
		int err = parse(&s, why);
		if (err) {
			free(s.text);
			return err;
		}
		add_selector(t, &s);
		text += len;
		if (!*text++)
			return 0;
	}
}

void targets_bound(struct targets *t, const char *cgroup)
{
	auto_str struct str why = { 0 };

	if (!(t->include & SELECT_WITHIN))
		targets_add(t, TARGET_WITHIN, false, cgroup, &why);
}

void targets_add_command(struct targets *t, pid_t pid, char *const *command)
{
	const struct selector s = {
		.kind = TARGET_PID,
		.number = (u32)pid,
		.pidfd = -1,
		.mask = kinds[TARGET_PID].bit,
	};

	t->include |= s.mask;
	vec_push(&t->selectors.all, s);
	for (; *command && t->text.len < COMMAND_TEXT_MAX; command++)
		str_addf(&t->text, "%s%s", t->text.len ? " " : "", *command);
}

int targets_wait_for(struct targets *t, const char *comm, struct str *why)
{
	if (!*comm || strlen(comm) >= sizeof(t->wait_for) || strchr(comm, '/')) {
		str_addf(why, "takes a file's name without its folder, of 1 to %zu bytes",
			 sizeof(t->wait_for) - 1);
		return -EINVAL;
	}
	memcpy(t->wait_for, comm, strlen(comm));
	t->include |= SELECT_PID;
	str_addf(&t->text, "%s--wait-for %s", t->text.len ? " " : "", comm);
	return 0;
}

bool targets_are_waited_for(const struct targets *t)
{
	return t->wait_for[0] && !t->has_begun;
}

/*
 * A pidfd becomes readable when the last thread has ended, also of a zombie, and even if its PID
 * was reused. Without a free descriptor, kill(pid, 0) has to do.
 */
static bool is_gone(struct selector *s)
{
	if (s->has_ended)
		return true;
	if (s->pidfd < 0)
		s->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)s->number, 0);
	struct pollfd p = { .fd = s->pidfd, .events = POLLIN };
	s->has_ended =
		s->pidfd < 0 ? kill((pid_t)s->number, 0) && errno == ESRCH : poll(&p, 1, 0) == 1;
	if (s->has_ended && s->pidfd >= 0) {
		close(s->pidfd);
		s->pidfd = -1;
	}
	return s->has_ended;
}

/* Once the pidfd is open, no other process can be mistaken for this one. */
static void follow(struct targets *t, struct process_id id)
{
	struct selector s = { .kind = TARGET_PID, .number = (u32)id.pid, .pidfd = -1 };
	struct proc_status status;

	if (is_gone(&s))
		return;
	if (proc_status_read(id.pid, &status) || !process_id_same(proc_status_id(&status), id)) {
		if (s.pidfd >= 0)
			close(s.pidfd);
		return;
	}
	vec_push(&t->selectors.all, s);
}

bool targets_begin(struct targets *t, struct process_id id)
{
	bool is_first = targets_are_waited_for(t);
	size_t kept = 0;

	if (!t->wait_for[0])
		return false;
	t->has_begun = true;
	for (size_t i = 0; i < t->selectors.all.nr; i++) {
		struct selector *s = &t->selectors.all.at[i];
		bool is_followed = s->kind == TARGET_PID && !s->excludes && !s->text;
		bool is_same =
			is_followed && s->number == (u32)id.pid; /* it executes another program */
		if (is_same && s->pidfd >= 0)
			close(s->pidfd);
		if (!is_same && !(is_followed && is_gone(s)))
			t->selectors.all.at[kept++] = *s;
	}
	t->selectors.all.nr = kept;
	follow(t, id);
	return is_first;
}

bool targets_surely_select_jvm(const struct targets *t, pid_t pid)
{
	if (t->exclude || t->include & ~(u32)(SELECT_PID | SELECT_JVM))
		return false;
	if (!(t->include & SELECT_PID))
		return true;
	vec_each(s, &t->selectors.all)
		if (s->kind == TARGET_PID && s->number == (u32)pid)
			return true;
	return false;
}

int targets_exclude(struct targets *t, const char *text, struct str *why)
{
	size_t len = strcspn(text, "=");

	for (enum target_kind kind = 0; kind < TARGET_WITHIN; kind++) {
		bool has_value = kind != TARGET_JVM;
		if (strlen(kinds[kind].name) == len && !strncmp(text, kinds[kind].name, len) &&
		    has_value == (text[len] == '='))
			return targets_add(t, kind, true, text + len + has_value, why);
	}
	str_addf(why,
		 "takes KIND=VALUE with pid, comm, user, cgroup, container, pod or service for "
		 "KIND, or jvms");
	return -EINVAL;
}

bool targets_select(const struct targets *t)
{
	return t->include || t->exclude;
}

const char *targets_text(const struct targets *t)
{
	return t->text.at ?: "";
}

static int check_pid(struct selector *s, struct str *why)
{
	struct proc_status status;
	pid_t pid = (pid_t)s->number;

	if (!s->excludes && is_gone(s))
		str_addf(why, "there is no process %d", (int)pid);
	else if (!proc_status_read(pid, &status) && status.tgid != pid)
		str_addf(why,
			 "%d is a thread of process %d: select the process, and the thread "
			 "by --thread-name NAME",
			 (int)pid, (int)status.tgid);
	else
		return 0;
	return -ESRCH;
}

int targets_check_pids(const struct targets *t, struct str *why)
{
	int err = 0;

	vec_each(s, &t->selectors.all)
		if (!err && s->kind == TARGET_PID)
			err = check_pid(s, why);
	return err;
}

pid_t targets_pid(const struct targets *t, size_t i)
{
	vec_each(s, &t->selectors.all)
		if (s->kind == TARGET_PID && !s->excludes && !i--)
			return (pid_t)s->number;
	return 0;
}

bool targets_have_ended(const struct targets *t)
{
	if (!(t->include & SELECT_PID) || targets_are_waited_for(t))
		return false;
	vec_each(s, &t->selectors.all)
		if (s->kind == TARGET_PID && !s->excludes && !is_gone(s))
			return false;
	return true;
}

void targets_configure(struct targets *t, struct containers *containers,
		       struct programs_options *options)
{
	memcpy(options->knobs.wait_for, t->wait_for, sizeof(t->wait_for));
	options->knobs.include = t->include;
	options->knobs.exclude = t->exclude;
	if (!((t->include | t->exclude) &
	      BOTH(SELECT_CGROUP | SELECT_CONTAINER | SELECT_POD | SELECT_WITHIN)))
		return;
	t->groups = target_groups_new(containers);
	target_groups_configure(t->groups, &t->selectors, &options->knobs);
}

static int add_mask(int fd, const void *key, u32 mask)
{
	u32 all = 0;

	bpf_map_lookup_elem(fd, key, &all);
	all |= mask;
	return bpf_map_update_elem(fd, key, &all, BPF_ANY) ? -errno : 0;
}

static int add_to_map(const struct targets *t, const struct selector *s)
{
	struct comm_key name = { 0 };

	switch (s->kind) {
	case TARGET_PID:
		return add_mask(t->fds.pids, &s->number, s->mask);
	case TARGET_COMM:
		strncpy(name.comm, s->text, sizeof(name.comm) - 1);
		return add_mask(t->fds.comms, &name, s->mask);
	case TARGET_USER:
		return add_mask(t->fds.users, &s->number, s->mask);
	default:
		return 0;
	}
}

void targets_require_groups(struct targets *t)
{
	t->requires_groups = true;
}

/* A selector of that kind if selectors of the kind are given and none of their groups exists. */
static const struct selector *find_absent(const struct targets *t, enum target_kind kind)
{
	const struct selector *absent = NULL;

	vec_each(s, &t->selectors.all) {
		if (s->kind != kind || s->excludes)
			continue;
		if (!s->is_absent)
			return NULL;
		absent = absent ?: s;
	}
	return absent;
}

static int check_groups(const struct targets *t)
{
	if (!t->groups || !t->requires_groups || !target_groups_are_known(t->groups))
		return 0;
	for (enum target_kind kind = 0; kind < NR_TARGET_KINDS; kind++) {
		const struct selector *s = find_absent(t, kind);
		if (!s)
			continue;
		log_error("there is no %s %s; without -d sysflame waits for it",
			  target_groups_kind(s), s->text);
		return -ENOENT;
	}
	return 0;
}

/* A process that sysflame started has no text. */
static void log_refused(const struct selector *s, int err)
{
	auto_free char *number = s->text ? NULL : xasprintf("%u", s->number);

	log_error("the kernel rejects --%s %s: %s", kinds[s->kind].name, s->text ?: number,
		  strerror(-err));
}

int targets_fill(struct targets *t, const struct targets_fds *fds)
{
	t->fds = *fds;
	vec_each(s, &t->selectors.all) {
		int err = add_to_map(t, s);
		if (err) {
			log_refused(s, err);
			return err;
		}
	}
	return 0;
}

int targets_open(struct targets *t, struct programs *bpf)
{
	const struct targets_fds fds = programs_targets(bpf);
	int err = check_groups(t);

	if (err)
		return err;
	t->bpf = bpf;
	err = targets_fill(t, &fds);
	if (err)
		return err;
	targets_follow(t);
	return 0;
}

int targets_select_children(const struct targets *t)
{
	if (!((t->include | t->exclude) & BOTH(SELECT_PID)))
		return 0;
	int err = programs_select_children(t->bpf);
	if (err)
		log_error("the children of the selected processes cannot be listed: %s",
			  strerror(-err));
	return err;
}

void targets_follow(struct targets *t)
{
	if (t->groups)
		programs_use_hierarchies(
			t->bpf, target_groups_follow(t->groups, &t->selectors, t->fds.cgroups));
}

void targets_add_missing(const struct targets *t, struct str *out)
{
	if (targets_are_waited_for(t)) {
		str_addf(out, "no program %s has started", t->wait_for);
		return;
	}
	vec_each(s, &t->selectors.all)
		if (t->groups && !s->excludes && s->is_absent && !s->was_found) {
			str_addf(out, "there was no %s %s", target_groups_kind(s), s->text);
			return;
		}
}

/* Replaces the bits of `bits` by `new`. Returns whether that has changed the mask. */
static bool set_bits(struct targets *t, pid_t pid, u32 bits, u32 new)
{
	u32 key = (u32)pid, old = 0;

	bpf_map_lookup_elem(t->fds.pids, &key, &old);
	u32 mask = (old & ~bits) | new;
	return mask != old && !bpf_map_update_elem(t->fds.pids, &key, &mask, BPF_ANY);
}

bool targets_set_jvm(struct targets *t, pid_t pid, bool is_jvm)
{
	return (t->include | t->exclude) & BOTH(SELECT_JVM) &&
	       set_bits(t, pid, BOTH(SELECT_JVM), is_jvm ? BOTH(SELECT_JVM) : 0);
}

bool targets_need_services(const struct targets *t)
{
	return (t->include | t->exclude) & BOTH(SELECT_SERVICE);
}

bool targets_set_service(struct targets *t, pid_t pid, const char *service)
{
	u32 mask = 0;

	vec_each(s, &t->selectors.all)
		if (s->kind == TARGET_SERVICE && service && !strcmp(s->text, service))
			mask |= s->mask;
	return targets_need_services(t) && set_bits(t, pid, BOTH(SELECT_SERVICE), mask);
}

bool targets_hold(const struct targets *t, const struct process *p)
{
	return !targets_select(t) || dict_find(&t->admitted, process_id_hash(p->id));
}

bool targets_have_matched(const struct targets *t)
{
	return t->has_matched;
}

void targets_admit(struct targets *t, const struct process *p)
{
	t->has_matched = true;
	if (targets_select(t))
		dict_add(&t->admitted, process_id_hash(p->id));
}

void targets_drop(struct targets *t, const struct process *p)
{
	dict_remove(&t->admitted, process_id_hash(p->id));
}

struct target_search {
	struct targets *targets;
	struct processes *all;
	process_fn selected;
	void *ctx;
	int nr;
};

static void mark_jvm(struct process *p, void *ctx)
{
	struct target_search *s = ctx;

	if (p->is_jvm && !p->exit_ns)
		targets_set_jvm(s->targets, p->id.pid, true);
}

static void visit_target(const struct task_id *id, void *ctx)
{
	struct target_search *s = ctx;
	struct process *p = processes_find(s->all, task_process(id));

	s->nr++;
	s->targets->has_matched = true;
	if (p && !p->exit_ns && !targets_hold(s->targets, p))
		s->selected(p, s->ctx);
}

int targets_find_new(struct targets *t, struct processes *all, process_fn selected, void *ctx)
{
	struct target_search s = { t, all, selected, ctx, 0 };

	processes_each(all, mark_jvm, &s);
	int err = programs_each_target(t->bpf, visit_target, &s);
	if (err)
		log_error("the processes cannot be listed: %s", strerror(-err));
	return err ?: s.nr;
}

bool targets_may_change(const struct targets *t)
{
	return (t->include | t->exclude) & ~BOTH(SELECT_PID | SELECT_JVM | SELECT_SERVICE);
}
