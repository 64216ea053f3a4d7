/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a JVM as the `java` launcher reads it (JDK: java.base/share/native/libjli).
 */
#include "jvm/process/java_args.h"

#include <string.h>

const char *java_args_next(const char *cmdline, size_t len, const char *arg)
{
	if (arg)
		arg += strnlen(arg, (size_t)(cmdline + len - arg)) + 1;
	else
		arg = cmdline;
	return arg < cmdline + len ? arg : NULL;
}

/* Options whose value is the next word. With '=' they are one word. */
static bool takes_next_word(const char *arg)
{
	static const char *const options[] = {
		"-cp",
		"-classpath",
		"--class-path",
		"-p",
		"--module-path",
		"--upgrade-module-path",
		"--add-modules",
		"--enable-native-access",
		"--limit-modules",
		"--add-exports",
		"--add-opens",
		"--add-reads",
		"--patch-module",
		"--source",
		"-d",
		"--describe-module",
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (!strcmp(arg, options[i]))
			return true;
	return false;
}

void java_args_parse(const char *cmdline, size_t len, struct java_args *out)
{
	struct java_args a = { .main = "" };
	const char *arg = java_args_next(cmdline, len, NULL);
	size_t i = 0;

	while (arg && (arg = java_args_next(cmdline, len, arg))) {
		i++;
		if (*arg == '@') {
			a.nr_argfiles++;
			continue;
		}
		bool is_main = *arg != '-';
		if (!strcmp(arg, "-jar") || !strcmp(arg, "-m") || !strcmp(arg, "--module")) {
			arg = java_args_next(cmdline, len, arg);
			i++;
			is_main = arg != NULL;
		} else if (!strncmp(arg, "--module=", 9)) {
			arg += 9;
			is_main = true;
		} else if (takes_next_word(arg)) {
			arg = java_args_next(cmdline, len, arg);
			i++;
		}
		if (is_main) {
			a.main = arg;
			break;
		}
	}
	a.main_at = *a.main ? i : i + 1;
	*out = a;
}
