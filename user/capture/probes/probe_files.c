/* SPDX-License-Identifier: Apache-2.0 */
/* The files that may get an event's probes. */
#include "capture/probes/probe_files.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dict.h"
#include "base/file.h"
#include "base/log.h"
#include "proc/target_file.h"

#define SEARCHING_MAX 64
/* a user's share of the searches at a time, and of the files with probes */
#define USER_SHARE 4
/* most files remembered as having no probes; others are searched again */
#define WITHOUT_MAX 0x20000

struct file {
	u64 key;
	struct stat stat;          /* when it was searched */
	uid_t user;                /* of the process for which it is searched */
	struct work *work;         /* NULL: `found` is valid */
	struct places_query query; /* of `work` */
	struct places found;
	bool has_number;
	u32 number;
	u32 used_turn;
};

struct probe_files {
	struct workers *workers;
	const struct probe_placing *placing;
	void *ctx;
	struct dict by_key;  /* struct file * */
	struct aged without; /* keys of files that get no probes */
	struct dict nr_of;   /* owner -> number of files with probes */
	VEC(struct file *) searching;
	u32 nr_numbers, turn;
	bool has_news, has_warned;
};

struct probe_files *probe_files_new(struct workers *workers, const struct probe_placing *placing,
				    void *ctx)
{
	struct probe_files *all = xcalloc(1, sizeof(*all));

	all->workers = workers;
	all->placing = placing;
	all->ctx = ctx;
	return all;
}

static void free_file(struct file *f)
{
	work_free(f->work);
	places_fini(&f->found);
	free(f);
}

void probe_files_free(struct probe_files *all)
{
	if (!all)
		return;
	dict_each(slot, &all->by_key)
		free_file((struct file *)(uintptr_t)slot->value);
	dict_fini(&all->by_key);
	aged_fini(&all->without);
	dict_fini(&all->nr_of);
	vec_fini(&all->searching);
	free(all);
}

u64 probe_files_key(const struct mapping *m)
{
	return hash_u64(m->inode ^ hash_u64((u64)m->dev_major << 32 | m->dev_minor));
}

static struct file *find_file(const struct probe_files *all, u64 key)
{
	const u64 *found = dict_find(&all->by_key, key);
	struct file *f = found ? (struct file *)(uintptr_t)*found : NULL;

	if (f)
		f->used_turn = all->turn;
	return f;
}

static void end_search(struct probe_files *all, struct file *f)
{
	size_t kept = 0;

	vec_each(other, &all->searching)
		if (*other != f)
			all->searching.at[kept++] = *other;
	all->searching.nr = kept;
	work_free(take(f->work));
}

static void forget_file(struct probe_files *all, struct file *f)
{
	end_search(all, f);
	dict_remove(&all->by_key, f->key);
	free_file(f);
}

/* The file gets no probes. */
static void leave_out(struct probe_files *all, u64 key)
{
	struct file *f = find_file(all, key);

	if (aged_nr(&all->without) >= WITHOUT_MAX)
		aged_turn(&all->without);
	aged_add(&all->without, key);
	if (f)
		forget_file(all, f);
}

void probe_files_turn(struct probe_files *all)
{
	VEC(struct file *) unused = { 0 };

	aged_turn(&all->without);
	dict_each(slot, &all->by_key) {
		struct file *f = (struct file *)(uintptr_t)slot->value;
		if (!f->has_number && !f->work && all->turn - f->used_turn > 1)
			vec_push(&unused, f);
	}
	vec_each(f, &unused)
		forget_file(all, *f);
	vec_fini(&unused);
	all->turn++;
}

void probe_files_stop(struct probe_files *all)
{
	while (all->searching.nr)
		leave_out(all, all->searching.at[0]->key);
}

static bool may_search(const struct probe_files *all, uid_t user)
{
	u32 nr = 0;

	vec_each(f, &all->searching)
		nr += (*f)->user == user;
	return all->searching.nr < SEARCHING_MAX && (!user || nr < SEARCHING_MAX / USER_SHARE);
}

/* Whether the file is unchanged, so that its functions are still at the known places. */
static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Asks where the probes go. The file may be known, but have changed. */
static enum probe_state search(struct probe_files *all, u64 key, int fd, uid_t user, pid_t pid)
{
	const struct probe_file opened = { .fd = fd, .pid = pid };
	struct file *f = find_file(all, key);
	struct places_query query = { 0 };
	struct work *work = NULL;
	struct stat st;

	if (file_status(fd, &st) || !all->placing->ask(all->placing, &opened, &query, all->ctx) ||
	    places_search(all->workers, fd, &query, &work)) {
		leave_out(all, key);
		return PROBES_NONE;
	}
	if (!f) {
		f = xcalloc(1, sizeof(*f));
		f->used_turn = all->turn;
		*dict_add(&all->by_key, key) = (u64)(uintptr_t)f;
	}
	places_fini(&f->found);
	f->key = key;
	f->stat = st;
	f->user = user;
	f->query = query;
	f->work = work;
	vec_push(&all->searching, f);
	return PROBES_WAITING;
}

bool probe_files_begin(struct probe_files *all, const struct process *process,
		       const struct mapping *m, pid_t pid)
{
	u64 key = probe_files_key(m);

	if (!m->inode || aged_find(&all->without, key) || find_file(all, key))
		return true;
	if (!may_search(all, process->uid))
		return false;
	auto_close int fd = mapped_file_open(process->id.pid, m);
	if (fd >= 0) /* otherwise another process that maps it may have more luck */
		search(all, key, fd, process->uid, pid);
	return true;
}

static bool has_any(const struct places *found)
{
	for (u32 i = 0; i < found->nr; i++)
		if (found->at[i].file_off)
			return true;
	return false;
}

/* Takes the result of a search if it has ended. */
static enum probe_state take_result(struct probe_files *all, struct file *f)
{
	int err = f->work ? places_result(f->work, &f->query, &f->found) : 0;

	if (err == -EAGAIN)
		return PROBES_WAITING;
	if (!f->work)
		return PROBES_KNOWN;
	all->has_news = true;
	end_search(all, f);
	if ((!err || err == -ENOENT) && (has_any(&f->found) || all->placing->reports_missing))
		return PROBES_KNOWN;
	leave_out(all, f->key);
	return PROBES_NONE;
}

/* Whether another file of this owner may have probes. It gets the next free number. */
static bool has_room(struct probe_files *all, uid_t owner)
{
	u32 max = all->placing->nr_files_max;
	const u64 *nr = dict_find(&all->nr_of, owner);

	if (all->nr_numbers < max && (!owner || !nr || *nr < max / USER_SHARE))
		return true;
	if (!all->has_warned)
		log_warn("%s: more files of user %u, and maybe of others, have no probes: a user "
			 "may have %u of them, all users %u",
			 all->placing->name, owner, owner ? max / USER_SHARE : max, max);
	all->has_warned = true;
	return false;
}

static enum probe_state place(struct probe_files *all, struct file *f, int fd, pid_t pid,
			      probe_links *out)
{
	uid_t owner = f->stat.st_uid;
	const struct probe_file opened = {
		.fd = fd,
		.number = f->has_number ? f->number : all->nr_numbers,
		.pid = pid,
	};

	if ((!f->has_number && !has_room(all, owner)) ||
	    !all->placing->place(all->placing, &opened, &f->found, out, all->ctx)) {
		leave_out(all, f->key);
		return PROBES_NONE;
	}
	if (!f->has_number) {
		++*dict_add(&all->nr_of, owner);
		f->has_number = true;
		f->number = all->nr_numbers++;
	}
	return PROBES_KNOWN;
}

enum probe_state probe_files_place(struct probe_files *all, const struct process *process,
				   const struct mapping *m, pid_t pid, probe_links *out)
{
	struct file *f = find_file(all, probe_files_key(m));
	enum probe_state state = f ? take_result(all, f) : PROBES_NONE;
	struct stat st;

	if (state != PROBES_KNOWN)
		return state;
	auto_close int fd = mapped_file_open(process->id.pid, m);
	if (fd < 0 || file_status(fd, &st))
		return PROBES_NONE;
	if (is_same_file(&st, &f->stat))
		return place(all, f, fd, pid, out);
	return may_search(all, process->uid) ? search(all, f->key, fd, process->uid, pid)
					     : PROBES_WAITING;
}

bool probe_files_take_news(struct probe_files *all)
{
	for (size_t i = all->searching.nr; i-- > 0;) /* take_result removes it */
		take_result(all, all->searching.at[i]);
	bool has_news = all->has_news;
	all->has_news = false;
	return has_news;
}

u32 probe_files_nr_searching(const struct probe_files *all)
{
	return (u32)all->searching.nr;
}

u32 probe_files_nr(const struct probe_files *all)
{
	return all->nr_numbers;
}

bool probe_files_number(const struct probe_files *all, u64 key, u32 *number)
{
	const struct file *f = find_file(all, key);

	if (!f || !f->has_number)
		return false;
	*number = f->number;
	return true;
}
