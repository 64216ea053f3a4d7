/* SPDX-License-Identifier: Apache-2.0 */
/* The user whose browser opens a page, and the environment that it gets. */
#include "cmd/page_user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/vec.h"
#include "proc/rights.h"

/* A decimal id other than root's; 0 if the variable has none. */
static u32 id_in(const char *variable)
{
	const char *text = getenv(variable);
	char *end;

	if (!text || !*text || strspn(text, "0123456789") != strlen(text))
		return 0;
	errno = 0;
	unsigned long long id = strtoull(text, &end, 10);
	return errno || id >= UINT32_MAX ? 0 : (u32)id;
}

int page_user_find(struct page_user *out, struct str *why)
{
	*out = (struct page_user){ .uid = getuid(), .gid = getgid() };
	if (geteuid() && getuid())
		return 0;
	out->uid = id_in("SUDO_UID");
	out->gid = id_in("SUDO_GID");
	const struct passwd *p = out->uid && out->gid ? getpwuid(out->uid) : NULL;
	if (!p) {
		str_addf(why, "sysflame runs as root and not by sudo, and root's browser is not "
			      "used");
		return -EPERM;
	}
	out->name = xstrdup(p->pw_name);
	out->home = xstrdup(p->pw_dir);
	return 0;
}

void page_user_fini(struct page_user *u)
{
	free(u->name);
	free(u->home);
	*u = (struct page_user){ 0 };
}

typedef VEC(char *) words;

static void keep(words *w, const char *variable)
{
	const char *value = getenv(variable);

	if (value)
		vec_push(w, xasprintf("%s=%s", variable, value));
}

/* The user's session, where it has one. sudo does not pass its address on. */
static void add_session(words *w, uid_t uid)
{
	auto_free char *dir = xasprintf("/run/user/%u", uid);
	auto_free char *bus = xasprintf("%s/bus", dir);
	struct stat st;

	if (lstat(dir, &st) || !S_ISDIR(st.st_mode) || st.st_uid != uid)
		return;
	vec_push(w, xasprintf("XDG_RUNTIME_DIR=%s", dir));
	if (!lstat(bus, &st) && S_ISSOCK(st.st_mode))
		vec_push(w, xasprintf("DBUS_SESSION_BUS_ADDRESS=unix:path=%s", bus));
}

char **page_user_environment(const struct page_user *u)
{
	static const char *const kept[] = {
		"DISPLAY",       "WAYLAND_DISPLAY", "XAUTHORITY",       "LANG",
		"LC_ALL",        "LC_MESSAGES",     "XDG_SESSION_TYPE", "XDG_CURRENT_DESKTOP",
		"XDG_DATA_DIRS", "DESKTOP_SESSION",
	};
	words w = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		keep(&w, kept[i]);
	vec_push(&w, xstrdup("PATH=/usr/local/bin:/usr/bin:/bin"));
	if (u->name) {
		vec_push(&w, xasprintf("HOME=%s", u->home));
		vec_push(&w, xasprintf("USER=%s", u->name));
		vec_push(&w, xasprintf("LOGNAME=%s", u->name));
		add_session(&w, u->uid);
	} else {
		static const char *const own[] = { "HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR",
						   "DBUS_SESSION_BUS_ADDRESS" };
		for (size_t i = 0; i < ARRAY_SIZE(own); i++)
			keep(&w, own[i]);
	}
	vec_push(&w, NULL);
	return w.at;
}

/* Whether nothing of another user is left. */
static bool is_only(const struct page_user *u)
{
	uid_t real, effective, saved;
	gid_t real_group, effective_group, saved_group;

	return !getresuid(&real, &effective, &saved) && real == u->uid && effective == u->uid &&
	       saved == u->uid && !getresgid(&real_group, &effective_group, &saved_group) &&
	       real_group == u->gid && effective_group == u->gid && saved_group == u->gid &&
	       !capabilities_read() && setuid(0) && seteuid(0);
}

int page_user_become(const struct page_user *u)
{
	if (u->name && (initgroups(u->name, u->gid) || setresgid(u->gid, u->gid, u->gid) ||
			setresuid(u->uid, u->uid, u->uid)))
		return -errno;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	int err = capabilities_keep(0);
	return err ?: is_only(u) ? 0 : -EPERM;
}
