/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes are sampled. */
#include "capture/targets.h"

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
#include "capture/bpf.h"
#include "capture/target_groups.h"
#include "proc/process.h"
#include "proc/status.h"

struct targets {
	struct selectors selectors;
	struct str text;
	char wait_for[ABI_COMM_LEN];  /* "" for none */
	bool has_begun;               /* what is waited for */
	u32 include, exclude;         /* all their masks */
	struct target_groups *groups; /* NULL if no selector is about them */
	struct bpf *bpf;
	struct targets_fds fds;
};

/* Of a command line, for the title; a word more may follow. */
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
		str_addf(why, "'%s' is no PID: it takes PIDs separated by commas", s->text);
		return -EINVAL;
	case TARGET_USER:
		if (!parse_user(s->text, &s->number))
			return 0;
		str_addf(why, "there is no user '%s'; a number is taken as it is", s->text);
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

/* Whether commas separate several; in the path of a control group they may be its own. */
static bool is_list(enum target_kind kind)
{
	return kind != TARGET_CGROUP && kind != TARGET_JVM;
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
	if (!*comm || strlen(comm) >= sizeof(t->wait_for)) {
		str_addf(why, "takes the name of a program's file, of 1 to %zu bytes",
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
 * A pidfd tells it also of one that nobody waits for, and whose PID is another's; not before the
 * last thread has ended. Without descriptors to spare a signal must do.
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

/* Once its descriptor is open nobody else can be taken for it. */
static void follow(struct targets *t, pid_t pid, u64 start_ns)
{
	struct selector s = { .kind = TARGET_PID, .number = (u32)pid, .pidfd = -1 };
	struct proc_status status;

	if (is_gone(&s))
		return;
	if (proc_status_read(pid, &status) || !proc_same_start(status.start_ns, start_ns)) {
		if (s.pidfd >= 0)
			close(s.pidfd);
		return;
	}
	vec_push(&t->selectors.all, s);
}

bool targets_begin(struct targets *t, pid_t pid, u64 start_ns)
{
	bool is_first = targets_are_waited_for(t);
	size_t kept = 0;

	if (!t->wait_for[0])
		return false;
	t->has_begun = true;
	for (size_t i = 0; i < t->selectors.all.nr; i++) {
		struct selector *s = &t->selectors.all.at[i];
		bool is_followed = s->kind == TARGET_PID && !s->excludes && !s->text;
		bool is_same = is_followed && s->number == (u32)pid; /* it executes once more */
		if (is_same && s->pidfd >= 0)
			close(s->pidfd);
		if (!is_same && !(is_followed && is_gone(s)))
			t->selectors.all.at[kept++] = *s;
	}
	t->selectors.all.nr = kept;
	follow(t, pid, start_ns);
	return is_first;
}

int targets_exclude(struct targets *t, const char *text, struct str *why)
{
	size_t len = strcspn(text, "=");

	for (enum target_kind kind = 0; kind < NR_TARGET_KINDS; kind++) {
		bool has_value = kind != TARGET_JVM;
		if (strlen(kinds[kind].name) == len && !strncmp(text, kinds[kind].name, len) &&
		    has_value == (text[len] == '='))
			return targets_add(t, kind, true, text + len + has_value, why);
	}
	str_addf(why,
		 "takes KIND=VALUE with pid, comm, user, cgroup, container or pod for KIND, or "
		 "jvms");
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
			 "%d is a thread of process %d: give that one, and the thread's name "
			 "by --thread",
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
		       struct bpf_options *options)
{
	const u32 by_group = SELECT_CGROUP | SELECT_CONTAINER | SELECT_POD;

	memcpy(options->knobs.wait_for, t->wait_for, sizeof(t->wait_for));
	options->knobs.include = t->include;
	options->knobs.exclude = t->exclude;
	if (!((t->include | t->exclude >> SELECT_EXCLUDE_SHIFT) & by_group))
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

int targets_open(struct targets *t, struct bpf *bpf)
{
	t->bpf = bpf;
	t->fds = bpf_targets(bpf);
	vec_each(s, &t->selectors.all) {
		int err = add_to_map(t, s);
		if (err) {
			log_error("the kernel does not take --%s %s: %s", kinds[s->kind].name,
				  s->text, strerror(-err));
			return err;
		}
	}
	targets_follow(t);
	return 0;
}

void targets_follow(struct targets *t)
{
	if (t->groups)
		bpf_use_hierarchies(t->bpf,
				    target_groups_follow(t->groups, &t->selectors, t->fds.cgroups));
}

bool targets_set_jvm(struct targets *t, pid_t pid, bool is_jvm)
{
	const u32 bits = SELECT_JVM | SELECT_JVM << SELECT_EXCLUDE_SHIFT;
	u32 key = (u32)pid, old = 0;

	if (!((t->include | t->exclude) & bits))
		return false;
	bpf_map_lookup_elem(t->fds.pids, &key, &old);
	u32 mask = is_jvm ? old | bits : old & ~bits;
	if (mask != old)
		bpf_map_update_elem(t->fds.pids, &key, &mask, BPF_ANY);
	return mask != old;
}

struct marking {
	struct targets *targets;
	struct processes *all;
	process_fn begins;
	void *ctx;
	int nr;
};

static void mark_jvm(struct process *p, void *ctx)
{
	struct marking *m = ctx;

	if (p->is_jvm && !p->exit_ns)
		targets_set_jvm(m->targets, p->pid, true);
}

static void mark(const struct task_id *id, void *ctx)
{
	struct marking *m = ctx;
	struct process *p = processes_find(m->all, (pid_t)id->pid, id->start_ns);

	m->nr++;
	if (!p || p->is_target || p->exit_ns)
		return;
	p->is_target = true;
	if (m->begins)
		m->begins(p, m->ctx);
}

int targets_mark(struct targets *t, struct processes *all, process_fn begins, void *ctx)
{
	struct marking m = { t, all, begins, ctx, 0 };

	processes_each(all, mark_jvm, &m);
	int err = bpf_each_target(t->bpf, mark, &m);
	if (err)
		log_error("the processes cannot be listed: %s", strerror(-err));
	return err ?: m.nr;
}

bool targets_may_change(const struct targets *t)
{
	const u32 told = SELECT_PID | SELECT_JVM;

	return (t->include | t->exclude >> SELECT_EXCLUDE_SHIFT) & ~told;
}
