/* SPDX-License-Identifier: Apache-2.0 */
/* Saves requests, so that another command can continue them. */
#include "fleet/cli/resume.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "fleet/node/node_agent.h"
#include "fleet/wire/key.h"

#define KEPT_END   ".request"
#define KEPT_S     (NODE_AGENT_RESULT_S + 300)
#define KEPT_BYTES (64u << 20)

static char *kept_path(const char *dir, const u8 *id)
{
	char text[2 * FLEET_ID_LEN + 1];

	hex_print(id, FLEET_ID_LEN, text);
	return xasprintf("%s/%s" KEPT_END, dir, text);
}

/* Nodes have dropped the results of requests that are older. */
static void drop_old(const char *dir)
{
	auto_free char *pattern = xasprintf("%s/*" KEPT_END, dir);
	glob_t found;
	struct stat st;

	if (glob(pattern, GLOB_NOSORT, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (!stat(found.gl_pathv[i], &st) && st.st_mtime + KEPT_S < time(NULL))
			unlink(found.gl_pathv[i]);
	globfree(&found);
}

/* Called after each step of the request, so that another process can continue from there. */
void resume_keep(struct requests *a)
{
	const struct controller *c = a->controllers[0];
	const struct controller_state s = controller_view(c);
	u32 at = s.wave << 8 | s.phase;
	auto_str struct str bytes = { 0 };
	struct outfile *f;

	if (!a->is_kept || at == a->kept_at || s.phase < CONTROLLER_RECORDS ||
	    s.phase >= CONTROLLER_ENDED)
		return;
	if (!a->kept_at)
		drop_old(a->o->dir);
	a->kept_at = at;
	auto_free char *path = kept_path(a->o->dir, s.nodes->id);
	controller_save(c, &bytes);
	if (outfile_open(path, false, &f)) {
		log_debug("fleet: %s cannot be written: nobody can go on with this request", path);
	} else {
		fwrite(bytes.at, 1, bytes.len, f->f);
		outfile_commit(f, NULL);
	}
	explicit_bzero(bytes.at, bytes.len);
}

void resume_forget(const struct requests *a)
{
	if (!a->is_kept || !a->nr)
		return;
	auto_free char *path = kept_path(a->o->dir, controller_view(a->controllers[0]).nodes->id);
	unlink(path);
}

/* The newest file; NULL. The caller frees it. */
static char *last_kept(const char *dir)
{
	auto_free char *pattern = xasprintf("%s/*" KEPT_END, dir);
	char *path = NULL;
	time_t newest = 0;
	glob_t found;
	struct stat st;

	if (glob(pattern, 0, NULL, &found))
		return NULL;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		if (stat(found.gl_pathv[i], &st) || (path && st.st_mtime <= newest))
			continue;
		free(path);
		path = xstrdup(found.gl_pathv[i]);
		newest = st.st_mtime;
	}
	globfree(&found);
	return path;
}

int resume_find(struct requests *a, const char *dir, const char *id)
{
	u8 bytes[FLEET_ID_LEN];
	auto_free char *path = NULL, *text = NULL;
	size_t len = 0;

	drop_old(dir);
	if (!strcmp(id, "last"))
		path = last_kept(dir);
	else if (strlen(id) == 2 * sizeof(bytes) && hex_parse(id, bytes, sizeof(bytes)))
		path = kept_path(dir, bytes);
	if (!path || file_read(path, KEPT_BYTES, &text, &len)) {
		log_error("fleet record: --resume %s: %s has no such request; those that have not "
			  "ended are kept for %d min",
			  id, dir, KEPT_S / 60);
		return EXIT_FAILED;
	}
	if (!controller_saved(text, len, a->inbox)) {
		log_error("fleet record: %s is damaged, or of another build of sysflame", path);
		return EXIT_FAILED;
	}
	str_add_bytes(&a->resumed, text, len);
	explicit_bzero(text, len);
	return 0;
}

int resume_add(struct requests *a)
{
	if (controller_resume(a->resumed.at, a->resumed.len, &a->host, &a->controllers[a->nr])) {
		log_error("fleet record: --resume: the file of the request is damaged");
		return EXIT_FAILED;
	}
	a->nr++;
	return 0;
}
