/* SPDX-License-Identifier: Apache-2.0 */
/* Files of settings: lines `key = value`, which only their owner may change. */
#include "base/settings.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"

#define BLANKS " \t\r"

char *settings_trim(char *text)
{
	text += strspn(text, BLANKS);
	for (size_t len = strlen(text); len && strchr(BLANKS, text[len - 1]); len--)
		text[len - 1] = '\0';
	return text;
}

int settings_each_line(char *text, settings_line_fn fn, void *ctx, struct str *why)
{
	u32 nr = 0;

	for (char *line = strsep(&text, "\n"); line; line = strsep(&text, "\n")) {
		auto_str struct str fault = { 0 };

		nr++;
		if (fn(ctx, line, &fault)) {
			str_addf(why, "line %u: %s", nr, fault.at);
			return -EINVAL;
		}
	}
	return 0;
}

int settings_check_owner(int fd, mode_t forbidden, const char *fault, struct str *why)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode)) {
		str_add(why, "it is no regular file");
		return -EPERM;
	}
	if ((st.st_uid && st.st_uid != geteuid()) || (st.st_mode & forbidden)) {
		str_addf(why, "%s; run: chown root FILE; chmod %o FILE", fault,
			 0644 & ~(unsigned)forbidden);
		return -EPERM;
	}
	return 0;
}
