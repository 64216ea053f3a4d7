/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame fleet serve`: the page of a fleet, with the key of one person.
 * Part of cmd/cmd.h.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/build.h"
#include "base/log.h"
#include "base/opt.h"
#include "cmd/cmd.h"
#include "cmd/login_link.h"
#include "daemon/channel/handover.h"
#include "daemon/supervisor/home.h"
#include "daemon/supervisor/listen.h"
#include "daemon/supervisor/tls.h"
#include "fleet/cli/request.h"
#include "fleet/controller/merge.h"
#include "push/credentials.h"
#include "push/receiver.h"
#include "web/fleet/fleet_requests.h"
#include "web/web.h"

#define DISK_MIN (16u << 20)

struct options {
	const char *url, *fleet_dir, *dir, *listen, *prefix, *hosts, *max_disk, *tls_cert, *tls_key;
	const char *history, *history_auth;
	struct receiver store; /* of `history` */
	bool link, help;
	u64 disk_bytes;
	char *own_dir; /* FLEET_DIR/page, if there is no --dir */
};

static int check_history(struct options *o)
{
	auto_str struct str why = { 0 };

	if (!o->history && o->history_auth)
		return requests_usage_error("serve", "--history-auth needs --history KIND=URL");
	if (!o->history)
		return 0;
	if (build_is_static())
		return requests_usage_error("serve", "--history: this static binary has no "
						     "libcurl; install sysflame with its "
						     "libraries");
	int err = receiver_parse(o->history, &o->store, &why);
	if (!err && o->store.kind != RECEIVER_PYROSCOPE) {
		str_add(&why, "takes pyroscope=URL: history is read from Pyroscope only");
		err = -EINVAL;
	}
	if (err)
		log_error("fleet serve: --history: %s", why.at);
	else
		receiver_warn_of_plain_text(&o->store, "fleet serve: --history");
	return err ? EXIT_USAGE : 0;
}

static int check(struct options *o)
{
	auto_str struct str why = { 0 };
	size_t len = strlen(o->prefix);

	if (!o->fleet_dir)
		return requests_usage_error(
			"serve", "needs --fleet-dir DIR, the folder with the file `key`");
	if (!o->dir)
		o->dir = o->own_dir = xasprintf("%s/page", o->fleet_dir);
	if (o->link)
		return 0;
	if (!o->url)
		return requests_usage_error("serve", "needs --nats URL");
	if (listen_check(o->listen, &why)) {
		log_error("fleet serve: --listen %s", why.at);
		return EXIT_USAGE;
	}
	if (!o->tls_cert != !o->tls_key)
		return requests_usage_error("serve",
					    "--tls-cert and --tls-key: each needs the other");
	if (len && (o->prefix[0] != '/' || o->prefix[len - 1] == '/'))
		return requests_usage_error(
			"serve", "--prefix: takes a path as /fleet, without a slash at the end");
	if (!bytes_parse(o->max_disk, &o->disk_bytes) || o->disk_bytes < DISK_MIN)
		return requests_usage_error(
			"serve", "--max-disk: takes bytes, as in 500m or 2g, at least 16m");
	return check_history(o);
}

struct serving {
	struct home home;
	struct listening socket;
	struct tls tls;
	u8 private_key[FLEET_KEY_LEN];
	struct credentials credentials; /* of the store of history */
	int control[2];                 /* web_run waits for certificates at the first one */
};

static int open_all(const struct options *o, struct serving *s)
{
	auto_str struct str why = { 0 }, address = { 0 };
	int status = requests_read_key(o->fleet_dir, s->private_key);

	if (status)
		return status;
	if (o->history_auth &&
	    credentials_read(o->history_auth, &o->store, 1, &s->credentials, &why)) {
		log_error("fleet serve: --history-auth %s: %s", o->history_auth, why.at);
		return EXIT_FAILED;
	}
	int err = o->tls_key ? tls_read(o->tls_cert, o->tls_key, &s->tls, &why) : 0;
	err = err ?: home_open(o->dir, geteuid(), getegid(), &s->home, &why)
			     ?: listen_on(o->listen, &s->socket, &why);
	if (!err &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, s->control)) {
		str_add(&why, "there are no sockets left");
		err = -1;
	}
	if (err) {
		log_error("fleet serve: %s", why.at);
		return EXIT_FAILED;
	}
	if (o->tls_key)
		listening_set_https(&s->socket);
	listening_address(&s->socket, o->prefix, "\n", &address);
	if (home_set_address(&s->home, address.at)) {
		log_error("fleet serve: %s/address cannot be written", o->dir);
		return EXIT_FAILED;
	}
	return 0;
}

static int run_web(const struct options *o, struct serving *s)
{
	struct web_asks asks = {
		.url = o->url,
		.dir = o->fleet_dir,
		.kept = o->dir,
		.private_key = s->private_key,
		.history = o->history ? &o->store : NULL,
		.history_credentials = &s->credentials,
	};
	struct web_options options = {
		.site = { .listen_fd = s->socket.fd,
			  .prefix = o->prefix,
			  .operator_token = s->home.operator_token,
			  .viewer_token = s->home.viewer_token,
			  .allowed_hosts = o->hosts,
			  .tls_cert = s->tls.cert,
			  .tls_key = s->tls.key },
		.control_fd = s->control[0],
		.dir = s->home.dir,
		.limits = { .max_disk_bytes = o->disk_bytes },
		.asks = &asks,
	};

	/* Both functions fork, which is forbidden once web_run runs. */
	if (merge_start_workers(&asks.workers) || web_start_workers(&options)) {
		log_error("fleet serve: the processes that read profiles cannot be started");
		return EXIT_FAILED;
	}
	log_info("the page of the fleet is at %s%s%s", s->socket.url, o->prefix,
		 s->socket.is_loopback ? "" : "; it can be reached from other machines");
	log_info("the login address: sysflame fleet serve --link --fleet-dir %s%s%s", o->fleet_dir,
		 o->own_dir ? "" : " --dir ", o->own_dir ? "" : o->dir);
	return web_run(&options);
}

/*
 * Reads certificate and key and sends them to the web process. That process checks whether they
 * belong together, and logs a mismatch.
 */
static void renew_tls(const struct options *o, const struct serving *s)
{
	auto_str struct str why = { 0 };
	struct tls tls = { 0 };

	if (!o->tls_key)
		return;
	int err = tls_read(o->tls_cert, o->tls_key, &tls, &why);
	if (err)
		log_error("HTTPS keeps its certificate: %s", why.at);
	else if (handover_send_tls(s->control[1], tls.cert, tls.key))
		log_error("HTTPS keeps its certificate: it cannot be handed over");
	tls_fini(&tls);
}

/* Returns the web process's exit status. */
static int supervise(pid_t web, const sigset_t *signals, const struct options *o,
		     const struct serving *s)
{
	int number, state = 0;

	while (waitpid(web, &state, WNOHANG) != web) {
		if (sigwait(signals, &number) || number == SIGCHLD)
			continue;
		if (number == SIGHUP)
			renew_tls(o, s);
		else
			kill(web, number);
	}
	return WIFEXITED(state) ? WEXITSTATUS(state) : EXIT_FAILED;
}

/* The web process may read no files: another one reads the certificate at SIGHUP. */
static int run(const struct options *o, struct serving *s)
{
	sigset_t signals, before;

	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &before);
	pid_t parent = getpid(), web = fork();
	if (web < 0) {
		log_error("fleet serve: %m");
		return EXIT_FAILED;
	}
	if (web) {
		credentials_wipe(&s->credentials); /* only the web process needs them */
		return supervise(web, &signals, o, s);
	}
	close(take_fd(s->control[1]));
	signal(SIGHUP, SIG_IGN);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent)
		return EXIT_FAILED;
	return run_web(o, s);
}

static int serve(const struct options *o)
{
	struct serving s = { .home = { .dir = -1, .lock = -1 },
			     .socket.fd = -1,
			     .control = { -1, -1 } };
	int status = open_all(o, &s) ?: run(o, &s);

	if (s.home.dir >= 0)
		home_set_address(&s.home, "");
	home_close(&s.home);
	if (s.socket.fd >= 0)
		close(s.socket.fd);
	for (int i = 0; i < 2; i++)
		if (s.control[i] >= 0)
			close(s.control[i]);
	tls_fini(&s.tls);
	explicit_bzero(s.private_key, sizeof(s.private_key));
	credentials_wipe(&s.credentials);
	return status;
}

int fleet_serve_main(int argc, char **argv)
{
	struct options o = { .listen = "127.0.0.1:7071", .prefix = "", .max_disk = "2g" };
	const struct opt opts[] = {
		{ 0, "nats", OPT_STRING, &o.url, "URL", "nats://HOST:PORT,.. or tls://.." },
		{ 0, "fleet-dir", OPT_STRING, &o.fleet_dir, "DIR",
		  "the folder with the file `key`" },
		{ 0, "dir", OPT_STRING, &o.dir, "DIR", "keep profiles here (FLEET-DIR/page)" },
		{ 0, "listen", OPT_STRING, &o.listen, "ADDR",
		  "HOST:PORT or unix:PATH (127.0.0.1:7071); port 0 takes a free one" },
		{ 0, "tls-cert", OPT_STRING, &o.tls_cert, "FILE",
		  "serve HTTPS with this certificate and those above it (PEM)" },
		{ 0, "tls-key", OPT_STRING, &o.tls_key, "FILE", "its private key (PEM)" },
		{ 0, "prefix", OPT_STRING, &o.prefix, "PATH",
		  "serve below this path, for a proxy in front" },
		{ 0, "allow-host", OPT_STRING, &o.hosts, "HOST,..",
		  "further names by which people reach it, as in their browser's address" },
		{ 0, "max-disk", OPT_STRING, &o.max_disk, "BYTES",
		  "delete the oldest profiles beyond this (2g)" },
		{ 0, "history", OPT_STRING, &o.history, "KIND=URL",
		  "the store that the nodes push to: pyroscope=https://host:4040" },
		{ 0, "history-auth", OPT_STRING, &o.history_auth, "FILE",
		  "its credentials, as those of serve --push-auth" },
		{ 0, "link", OPT_BOOL, &o.link, NULL,
		  "print the login address of the page that is served" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this help" },
	};
	int status = requests_parse(
		"serve", opts, ARRAY_SIZE(opts), argc, argv, &o.help,
		"usage: sysflame fleet serve --nats URL --fleet-dir DIR [OPTION..]\n\n"
		"Serves a page on which people choose a service, record its nodes and read the\n"
		"merged profiles. Requests are signed by the key in DIR, whoever logs in.\n");

	if (status >= 0)
		return status;
	status = check(&o);
	status = status ?: o.link ? login_link_print("fleet serve", o.dir, NULL) : serve(&o);
	free(o.own_dir);
	return status;
}
