/* SPDX-License-Identifier: Apache-2.0 */
/* The main class of a JVM. */
#include "jvm/process/main_class.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "jvm/process/java_args.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && !strcmp(text + len - end_len, end);
}

/*
 * Whether `main` names a file, whose folder is left out. The '/' in MODULE/CLASS is not part of a
 * path.
 */
static bool is_file(const char *main)
{
	return ends_with(main, ".jar") || ends_with(main, ".war") || ends_with(main, ".java");
}

/* `java FILE.java` runs these (JEP 330; the second since JDK 22), and the file is their argument.
 */
static bool runs_source(const char *main)
{
	return !strcmp(main, "jdk.compiler/com.sun.tools.javac.launcher.Main") ||
	       !strcmp(main, "jdk.compiler/com.sun.tools.javac.launcher.SourceLauncher");
}

static char *first_word(const char *command)
{
	return xstrndup(command, strcspn(command, " "));
}

/*
 * The launcher joins its words by spaces, which may also be in a jar's path. The command line shows
 * where the path ends, unless it is in a file of arguments.
 */
static char *in_command(const char *command, const struct java_args *args)
{
	size_t len = strlen(args->main);
	bool is_same = len && !strncmp(command, args->main, len) && strchr(" ", command[len]);
	char *main = is_same ? xstrdup(args->main) : first_word(command);
	const char *next = command + strlen(main);

	if (runs_source(main) && *next == ' ') {
		free(main);
		bool is_source = len && !strncmp(next + 1, args->main, len);
		main = is_source ? xstrdup(args->main) : first_word(next + 1);
	}
	return main;
}

/* The class is the first word that is neither an option nor the value of one. */
static const char *in_jsvc_args(const struct words *w)
{
	static const char *const take_next[] = { "-cp",        "-classpath", "-jvm",     "-home",
						 "-java-home", "-user",      "-cwd",     "-wait",
						 "-restarts",  "-umask",     "-pidfile", "-outfile",
						 "-errfile",   "-procname" };
	const char *arg = java_args_next(w->args, w->args_len, NULL);

	while (arg && (arg = java_args_next(w->args, w->args_len, arg)) && *arg == '-')
		for (size_t i = 0; i < ARRAY_SIZE(take_next); i++)
			if (!strcmp(arg, take_next[i])) {
				arg = java_args_next(w->args, w->args_len, arg);
				break;
			}
	return arg ?: "";
}

/* Whether the program is jsvc; its process that runs the JVM is called jsvc.exec. */
static bool is_jsvc(const char *program)
{
	return !strcmp(program, "jsvc") || !strcmp(program, "jsvc.exec");
}

char *main_class(const char *command, const struct words *w)
{
	struct java_args args = { .main = "" };
	const char *program = w->args ? base_name(w->args) : "";
	auto_free char *said = NULL;
	const char *main = "";

	if (!strcmp(program, "java"))
		java_args_parse(w->args, w->args_len, &args);
	if (command && *command)
		main = said = in_command(command, &args);
	else if (is_jsvc(program))
		main = in_jsvc_args(w);
	else if (!command && !args.nr_argfiles)
		main = args.main;
	if (is_file(main))
		main = base_name(main);
	return *main ? words_clean(main) : NULL;
}
