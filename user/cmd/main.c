/* SPDX-License-Identifier: Apache-2.0 */
/* The sysflame command: finds the subcommand and runs it. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/build.h"
#include "base/log.h"
#include "base/types.h"
#include "cmd/cmd.h"
#include "elf/instruction.h"

static const struct cmd cmds[] = {
	{ "record", "profile the node, some processes or a command", record_main },
	{ "events", "what this node can record, and why not the rest", events_main },
	{ "report", "read profiles of any format, merge and convert them", report_main },
	{ "serve", "profile this node all the time, with a web page", serve_main },
	{ "fleet", "profile many nodes at once", fleet_main },
	{ "jvms", "list the JVMs of this node", jvms_main },
	{ "top", "watch the JVMs of this node: CPU, allocation, GC, hot methods", top_main },
	{ "doctor", "what this node allows, and the remedy for the rest", doctor_main },
	{ "diff", "compare two profiles", diff_main },
	{ "debug", "look into what sysflame sees, for its developers", debug_main },
};

static void usage(void)
{
	puts("usage: sysflame COMMAND [OPTION..]; sysflame COMMAND --help shows its options\n");
	for (const struct cmd *c = cmds; c < cmds + ARRAY_SIZE(cmds); c++)
		printf("  %-10s %s\n", c->name, c->help);
	puts("  --version  print the version");
}

/*
 * Opens /dev/null in place of each standard stream that the caller has closed. Otherwise a socket
 * would get its number, and our text. The mode is the opposite one, so reading and writing fail.
 */
static bool replace_closed_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) {
			log_error("/dev/null, in place of a closed standard stream: %s",
				  strerror(errno));
			return false;
		}
	return true;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "--help";

	build_limit_nss();
	/* Symbol tables are short-lived: return large blocks to the system at once. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	/* A closed pipe (output_finish) and a file above the limit are write errors, not signals.
	 */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (!replace_closed_streams())
		return EXIT_FAILED;

	for (const struct cmd *c = cmds; c < cmds + ARRAY_SIZE(cmds); c++)
		if (!strcmp(name, c->name))
			return c->main(argc - 1, argv + 1) ?: output_finish();
	if (!strcmp(name, "--version")) {
		puts("sysflame " SYSFLAME_VERSION);
		if (build_limitation())
			puts(build_limitation());
		if (instruction_missing())
			puts(instruction_missing());
		if (build_is_static())
			puts("static: no TLS for serve (--tls-key), and no fleet over NATS "
			     "(--fleet)");
		return output_finish();
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		usage();
		return argc > 1 ? output_finish() : EXIT_USAGE;
	}
	return cmd_unknown("sysflame", name, cmds, ARRAY_SIZE(cmds));
}
