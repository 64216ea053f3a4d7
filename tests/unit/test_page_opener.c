/* SPDX-License-Identifier: Apache-2.0 */
/* The process that opens pages: the names that it refuses. xdg-open is never reached here. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "cmd/record/page_opener.h"

#define NOBODY "65534"

static char dir[] = "/tmp/sysflame-page-XXXXXX";

static char *in_dir(const char *name)
{
	return xasprintf("%s/%s", dir, name);
}

/* Asks to open the file, and expects a reason with that text. */
static void assert_refused(const char *name, const char *reason)
{
	auto_free char *page = in_dir("page.html"), *path = in_dir(name);
	auto_str struct str why = { 0 };
	struct page_opener p = { 0 };

	assert_int_equal(page_opener_start(page, &p), 0);
	assert_int_not_equal(page_opener_open(&p, path, &why), 0);
	page_opener_fini(&p);
	if (!why.len || !strstr(why.at, reason))
		fail_msg("%s: %s", name, why.len ? why.at : "no reason");
}

static uid_t owner_of(const char *name)
{
	auto_free char *path = in_dir(name);
	struct stat st;

	return stat(path, &st) ? (uid_t)-1 : st.st_uid;
}

static void make(const char *name, mode_t mode)
{
	auto_free char *path = in_dir(name);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
}

static void as_sudo(void)
{
	setenv("SUDO_UID", NOBODY, 1);
	setenv("SUDO_GID", NOBODY, 1);
	setenv("DISPLAY", ":7", 1);
}

static void only_names_of_pages_are_taken(void **state)
{
	as_sudo();
	assert_refused("page.txt", "it is no page");
	assert_refused(".html", "it is no page");
	assert_refused("missing.html", "No such file");
}

/* A recorder that was taken over could name other files; root would give them away. */
static void only_a_new_page_of_ours_changes_its_owner(void **state)
{
	auto_free char *target = in_dir("target"), *hard = in_dir("hard.html"),
		       *soft = in_dir("soft.html"), *folder = in_dir("folder.html"),
		       *pipe = in_dir("pipe.html");

	if (geteuid())
		skip_because("not root");
	as_sudo();
	make("target", 0600);
	make("open.html", 0644);
	assert_int_equal(link(target, hard), 0);
	assert_int_equal(symlink(target, soft), 0);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	assert_refused("hard.html", "cannot be given to nobody");
	assert_refused("soft.html", "cannot be given to nobody");
	assert_refused("folder.html", "cannot be given to nobody");
	assert_refused("pipe.html", "cannot be given to nobody");
	assert_refused("open.html", "cannot be given to nobody");
	assert_int_equal(owner_of("target"), 0);
	assert_int_equal(owner_of("open.html"), 0);
}

static void a_wrong_id_of_sudo_is_no_user(void **state)
{
	static const char *const ids[] = {
		"", "0", "-1", "65534x", " 65534", "4294967295", "99999999999999999999"
	};

	if (geteuid())
		skip_because("not root");
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		auto_str struct str why = { 0 };
		struct page_user u;
		as_sudo();
		setenv(i % 2 ? "SUDO_GID" : "SUDO_UID", ids[i], 1);
		if (page_user_find(&u, &why) != -EPERM)
			fail_msg("'%s' is a user", ids[i]);
		page_user_fini(&u);
	}
}

static int set_up(void **state)
{
	return !mkdtemp(dir);
}

static int tear_down(void **state)
{
	static const char *const names[] = { "target",    "open.html", "hard.html",
					     "soft.html", "pipe.html", "folder.html" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *path = in_dir(names[i]);
		remove(path);
	}
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_names_of_pages_are_taken),
		cmocka_unit_test(only_a_new_page_of_ours_changes_its_owner),
		cmocka_unit_test(a_wrong_id_of_sudo_is_no_user),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
