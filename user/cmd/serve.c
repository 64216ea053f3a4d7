/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame serve`: the daemon of a node.
 * Part of cmd/cmd.h.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/build.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/time.h"
#include "capture/features.h"
#include "cmd/cmd.h"
#include "cmd/login_link.h"
#include "daemon/channel/handover.h"
#include "daemon/recorder/conf.h"
#include "daemon/recorder/continuous.h"
#include "daemon/recorder/recorder.h"
#include "daemon/recorder/redaction.h"
#include "daemon/supervisor/home.h"
#include "daemon/supervisor/listen.h"
#include "daemon/supervisor/rendezvous.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/supervisor/tls.h"
#include "fleet/wire/message.h"
#include "fleet/wire/selector.h"
#include "jvm/labels/thread_local.h"
#include "proc/cgroup.h"
#include "push/bodies.h"
#include "web/fleet/fleet.h"
#include "web/recordings/push.h"
#include "web/web.h"

/* The options --push.. */
struct push_options {
	struct opt_list receivers; /* --push */
	const char *auth, *spool, *share;
	int age_min;
};

#define PUSH_OPTS(o)                                                                               \
	{ 0,          "push",                                                                      \
	  OPT_LIST,   &(o)->receivers,                                                             \
	  "KIND=URL", "send slices to a receiver: otlp, pyroscope, parca; may be repeated" },      \
		{ 0,          "push-auth",                                                         \
		  OPT_STRING, &(o)->auth,                                                          \
		  "FILE",     "credentials and CA for receivers, by address; root's, mode 0600" }, \
		{ 0,                                                                               \
		  "push-spool",                                                                    \
		  OPT_STRING,                                                                      \
		  &(o)->spool,                                                                     \
		  "BYTES",                                                                         \
		  "keep this much for each receiver that takes nothing at the moment (64m)" },     \
		{ 0,                                                                               \
		  "push-share",                                                                    \
		  OPT_STRING,                                                                      \
		  &(o)->share,                                                                     \
		  "1/N[@CPUS]",                                                                    \
		  "send one minute in N, with N times the values; busy nodes send more often" },   \
	{                                                                                          \
		0, "push-age", OPT_INT, &(o)->age_min, "MINUTES",                                  \
			"give up what could not be sent for that long (60)"                        \
	}

#define SPOOL_MIN    (1u << 20)
#define PUSH_AGE_MAX (7 * 24 * 60)

static int wrong(const char *text)
{
	log_error("serve: %s", text);
	return EXIT_USAGE;
}

/* Checks the options and sets `out` but for its credentials. Logs errors; an exit status. */
static int push_options_check(const struct push_options *o, struct web_push *out)
{
	auto_str struct str why_share = { 0 };
	u64 spool_bytes;

	if (o->receivers.nr && build_is_static())
		return wrong("--push: this static binary has no libcurl; install sysflame with its "
			     "libraries");
	if (!o->receivers.nr && o->auth)
		return wrong("--push-auth needs --push KIND=URL");
	if (o->receivers.nr > RECEIVERS_MAX)
		return wrong("--push: there may be at most 4 receivers");
	if (!bytes_parse(o->spool, &spool_bytes) || spool_bytes < SPOOL_MIN)
		return wrong("--push-spool: takes 1m or more, as in 64m");
	if (o->age_min < 1 || o->age_min > PUSH_AGE_MAX)
		return wrong("--push-age: takes 1 to 10080 minutes");
	if (o->share && !o->receivers.nr)
		return wrong("--push-share needs --push KIND=URL");
	if (push_share_parse(o->share ?: "1/1", &out->share, &why_share)) {
		log_error("serve: --push-share: %s", why_share.at);
		return EXIT_USAGE;
	}
	out->limits = (struct backlog_limits){ spool_bytes, (u64)o->age_min };
	for (size_t i = 0; i < o->receivers.nr; i++) {
		auto_str struct str why = { 0 };
		struct receiver *r = &out->receivers[i];
		if (receiver_parse(o->receivers.at[i], r, &why)) {
			log_error("serve: --push: %s", why.at);
			return EXIT_USAGE;
		}
		for (size_t k = 0; k < i; k++)
			if (r->kind == out->receivers[k].kind &&
			    !strcmp(r->url, out->receivers[k].url))
				return wrong("--push: a receiver is given twice");
		receiver_warn_of_plain_text(r, "serve: --push");
		out->nr++;
	}
	return 0;
}

/* Reads the credentials of each receiver, as root. Logs errors; negative errno. */
static int push_options_read(const struct push_options *o, const struct web_push *push,
			     struct credentials *out)
{
	auto_str struct str why = { 0 };
	int err = o->auth ? credentials_read(o->auth, push->receivers, push->nr, out, &why) : 0;

	if (err)
		log_error("serve: --push-auth %s: %s", o->auth, why.at);
	return err;
}

#define WEB_USER    "sysflame"
#define WEB_UID     0x7fffff80u /* if it is missing; workers have lower ones (sandbox/sandbox.c) */
#define PERCENT_PPM 10000
#define DISK_MIN    (16u << 20)
#define DAY_NS      (24 * 3600 * NS_PER_SEC)

struct serve {
	const char *dir, *listen, *prefix, *hosts, *continuous, *conf, *user, *agent_path, *agent;
	const char *max_disk, *tls_cert, *tls_key, *within, *role, *channel, *tokens, *node;
	double max_cpu;
	int max_samples;
	bool link, behind_tls, verbose, help;
	uid_t uid; /* of the web process */
	gid_t gid;
	u64 disk_bytes;
	struct home home;
	struct listening socket;
	struct rendezvous *rendezvous; /* with --role */
	struct pulse *pulse;
	struct web_fleet fleet; /* without url: in no fleet */
	struct opt_list redact;
	struct push_options push_options;
	struct web_push push; /* nr 0: to nowhere */
	struct opt_list label_words, thread_label_words;
	struct thread_local_spec thread_labels[JAVA_LABELS];
	u32 nr_thread_labels;
	/* The labels and " node=HOST" have at most 255 bytes together. */
	char labels[184], fleet_node[64];
	struct excluded_list excluded;
};

/* The options of a fleet, of a struct serve. */
#define FLEET_OPTS(s)                                                                            \
	{ 0,          "fleet",                                                                   \
	  OPT_STRING, &(s)->fleet.url,                                                           \
	  "URL",      "answer requests of a fleet over NATS: nats://HOST:PORT,.. or tls://.." }, \
		{ 0,                                                                             \
		  "fleet-dir",                                                                   \
		  OPT_STRING,                                                                    \
		  &(s)->fleet.dir,                                                               \
		  "DIR",                                                                         \
		  "read the file `keys`, and nats.creds and ca.pem if they exist, from DIR" },   \
	{                                                                                        \
		0, "page-url", OPT_STRING, &(s)->fleet.page_url, "URL", "its address, for links" \
	}

static int usage_error(const char *text)
{
	log_error("serve: %s", text);
	return EXIT_USAGE;
}

static int run_recorder(int control_fd, u64 nr_before, void *ctx)
{
	const struct serve *s = ctx;
	const struct recorder_options options = {
		.control_fd = control_fd,
		.pulse = s->pulse,
		.excluded = &s->excluded,
		.conf = s->conf ?: CONF_PATH,
		.needs_conf = s->conf,
		.continuous = strcmp(s->continuous, "off") ? s->continuous : NULL,
		.limits = { .cpu_ppm = (u64)(s->max_cpu * PERCENT_PPM),
			    .samples_s = (u64)s->max_samples },
		.within = s->within,
		.agent_path = s->agent_path,
		.has_agents = strcmp(s->agent, "never") != 0,
		.labels = s->thread_labels,
		.nr_labels = s->nr_thread_labels,
		.redact = s->redact.at,
		.nr_redact = s->redact.nr,
	};

	close(s->home.dir);
	close(s->home.lock);
	close(s->socket.fd);
	return recorder_run(&options);
}

/* A file with capabilities gives none beyond the bounding set. Another user could not empty it. */
static void empty_bounding_set(void)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		prctl(PR_CAPBSET_DROP, cap);
}

/* The change of ids clears the signal for the parent's end. */
static int become_web_user(const struct serve *s)
{
	if (s->uid == geteuid())
		return 0;
	empty_bounding_set();
	if (setgroups(0, NULL) || setresgid(s->gid, s->gid, s->gid) ||
	    setresuid(s->uid, s->uid, s->uid))
		return -errno;
	return prctl(PR_SET_PDEATHSIG, SIGKILL) ? -errno : 0;
}

/* Each web process reads them anew. No other process keeps the key. Logs `failure` and why. */
static int read_tls(const struct serve *s, const char *failure, struct tls *out)
{
	auto_str struct str why = { 0 };
	int err = s->tls_key ? tls_read(s->tls_cert, s->tls_key, out, &why) : 0;

	if (err)
		log_error("%s: %s", failure, why.at);
	return err;
}

/* At SIGHUP. The web process checks whether the two belong together. */
static void renew_tls(int sock, void *ctx)
{
	static const char failure[] = "HTTPS keeps its certificate";
	struct tls tls = { 0 };

	if (read_tls(ctx, failure, &tls) || !tls.key)
		return;
	int err = handover_send_tls(sock, tls.cert, tls.key);
	if (err)
		log_error("%s: %s", failure, strerror(-err));
	tls_fini(&tls);
}

static int run_web(int control_fd, u64 nr_before, void *ctx)
{
	const struct serve *s = ctx;
	struct credentials credentials[RECEIVERS_MAX] = { 0 };
	struct web_push push = s->push;
	struct tls tls = { 0 }; /* until the process ends */
	struct web_options options = {
		.site = { .listen_fd = s->socket.fd,
			  .prefix = s->prefix,
			  .operator_token = s->home.operator_token,
			  .viewer_token = s->home.viewer_token,
			  .allowed_hosts = s->hosts,
			  .is_behind_tls = s->behind_tls },
		.control_fd = control_fd,
		.nr_restarts = nr_before,
		.dir = s->home.dir,
		.limits = { .max_disk_bytes = s->disk_bytes,
			    .keep_10s_ns = 2 * DAY_NS,
			    .keep_1min_ns = 7 * DAY_NS,
			    .keep_10min_ns = 30 * DAY_NS },
		.node = s->node,
		.fleet = s->fleet.url ? &s->fleet : NULL,
		.push = push.nr ? &push : NULL,
	};

	/* Who can write there can have the recorder killed, and name a process to exclude. */
	pulse_free(s->pulse);
	close(s->home.lock);
	push.credentials = credentials;
	if (read_tls(s, "serve", &tls) ||
	    push_options_read(&s->push_options, &s->push, credentials))
		return EXIT_FAILED;
	options.site.tls_cert = tls.cert;
	options.site.tls_key = tls.key;
	/* While this process may still take another user: the workers become users of their own. */
	int err = web_start_workers(&options) ?: become_web_user(s);
	if (err) {
		log_error("the web process cannot be started: %s", strerror(-err));
		return EXIT_FAILED;
	}
	return web_run(&options);
}

static bool is_role(const struct serve *s, const char *role)
{
	return s->role && !strcmp(s->role, role);
}

static void say_ready(void *ctx)
{
	const struct serve *s = ctx;
	auto_str struct str address = { 0 };

	if (is_role(s, "recorder")) {
		log_info("the recorder waits for the web process on %s", s->channel);
		return;
	}
	listening_address(&s->socket, s->prefix, " below ", &address);
	if (s->uid == WEB_UID)
		log_info("there is no user " WEB_USER ": the web process runs as the user %u",
			 s->uid);
	log_info("sysflame serves %s%s", address.at,
		 s->socket.is_loopback ? "" : "; it can be reached from other machines");
	log_info("the login address: sysflame serve --link --dir %s", s->dir);
}

static int check_role(const struct serve *s)
{
	if (is_role(s, "store"))
		return s->channel ? usage_error("--role store: has no --socket") : 0;
	if (!s->role != !s->channel)
		return usage_error("--role and --socket: each needs the other");
	if (s->role && !is_role(s, "recorder") && !is_role(s, "web"))
		return usage_error("--role: takes recorder, web or store");
	return 0;
}

/*
 * Parses "65532:65532" or "65532". A container made from nothing has no list of users in which a
 * name could be looked up.
 */
static bool parse_user(struct serve *s)
{
	unsigned uid, gid;
	char end;
	int nr = s->user ? sscanf(s->user, "%u:%u%c", &uid, &gid, &end) : 0;

	if (nr < 1 || nr > 2 || strspn(s->user, "0123456789:") != strlen(s->user))
		return false;
	s->uid = uid;
	s->gid = nr == 2 ? gid : uid;
	return true;
}

/* Whether this user namespace has a user and a group of that number. */
static bool is_mapped(const char *path, u32 id)
{
	unsigned first, outside, nr;
	bool is_found = false;
	auto_fclose FILE *f = fopen(path, "re");

	if (!f)
		return true;
	while (!is_found && fscanf(f, "%u %u %u", &first, &outside, &nr) == 3)
		is_found = id >= first && id - first < nr;
	return is_found;
}

/*
 * A user that no other process has. "nobody" is what services run as that have none, and those
 * could read and stop the web process.
 */
static int take_own_user(struct serve *s)
{
	if (!is_mapped("/proc/self/uid_map", WEB_UID) ||
	    !is_mapped("/proc/self/gid_map", WEB_UID)) {
		log_error("serve: there is no user " WEB_USER " for the web process: run useradd "
			  "--system --user-group " WEB_USER ", or choose one by --web-user USER");
		return EXIT_USAGE;
	}
	s->uid = s->gid = WEB_UID;
	return 0;
}

static int find_user(struct serve *s)
{
	struct passwd *found;

	s->uid = geteuid();
	s->gid = getegid();
	if (s->uid) {
		if (s->user)
			return usage_error("--web-user: only root can start a process of "
					   "another user");
		return 0;
	}
	if (parse_user(s))
		return s->uid ? 0 : usage_error("--web-user: the web process must not be root");
	found = getpwnam(s->user ?: WEB_USER);
	if (!found && !s->user)
		return take_own_user(s);
	if (!found) {
		log_error("serve: --web-user %s: there is no such user", s->user);
		return EXIT_USAGE;
	}
	if (!found->pw_uid)
		return usage_error("--web-user: the web process must not be root");
	s->uid = found->pw_uid;
	s->gid = found->pw_gid;
	return 0;
}

static int parse_disk(struct serve *s)
{
	if (!bytes_parse(s->max_disk, &s->disk_bytes))
		return usage_error("--max-disk: takes bytes, as in 500m or 2g");
	if (s->disk_bytes < DISK_MIN)
		return usage_error("--max-disk: takes 16m or more");
	return 0;
}

static int add_labels(struct serve *s)
{
	for (size_t i = 0; i < s->label_words.nr; i++) {
		if (!labels_add(s->labels, sizeof(s->labels), s->label_words.at[i]))
			continue;
		log_error(
			"serve: --label %s: takes KEY=VALUE, as in zone=a, each key once; node is "
			"the name of --node; service, container, pod and namespace belong to "
			"processes; all labels have 183 bytes at most",
			s->label_words.at[i]);
		return EXIT_USAGE;
	}
	auto_str struct str why = { 0 };
	if (s->push_options.receivers.nr && push_labels_check(s->labels, &why)) {
		log_error("serve: --label %s", why.at);
		return EXIT_USAGE;
	}
	s->fleet.labels = s->push.labels = s->labels;
	return 0;
}

static int add_thread_labels(struct serve *s)
{
	for (size_t i = 0; i < s->thread_label_words.nr; i++) {
		auto_str struct str why = { 0 };
		const char *text = s->thread_label_words.at[i];
		if (!thread_locals_add(text, false, s->thread_labels, &s->nr_thread_labels, &why))
			continue;
		log_error("serve: --thread-label %s: %s", text, why.at);
		return EXIT_USAGE;
	}
	return 0;
}

/*
 * The name of a node of Kubernetes may have dots, which part the subjects of NATS: there they are
 * underscores, which no such name has.
 */
static int check_node(struct serve *s)
{
	if (s->node && strlen(s->node) < sizeof(s->fleet_node))
		copy_text(s->fleet_node, sizeof(s->fleet_node), s->node);
	else if (!s->node && !gethostname(s->fleet_node, sizeof(s->fleet_node) - 1))
		s->fleet_node[strcspn(s->fleet_node, ".")] = '\0';
	for (char *c = s->fleet_node; *c; c++)
		*c = *c == '.' ? '_' : *c;
	s->fleet.node = s->fleet_node;
	if ((s->node || s->fleet.url) && !node_name_is_valid(s->fleet_node))
		return usage_error("--node: takes 1 to 63 letters, digits, -, _ and dots");
	return 0;
}

static int check_fleet(struct serve *s)
{
	if (!s->fleet.url)
		return s->fleet.dir || s->fleet.page_url
			       ? usage_error("--page-url and --fleet-dir need --fleet URL")
		       : s->label_words.nr && !s->push_options.receivers.nr
			       ? usage_error("--label needs --fleet URL or --push KIND=URL")
			       : add_labels(s);
	if (build_is_static())
		return usage_error("--fleet: this static binary has no client of NATS; install "
				   "sysflame with its libraries");
	if (!s->fleet.dir)
		return usage_error("--fleet: needs --fleet-dir, the folder with the file `keys`; "
				   "see sysflame fleet init --help");
	if (s->fleet.page_url && !message_url_is_valid(s->fleet.page_url))
		return usage_error("--page-url: takes an address as https://n1.example:7070, "
				   "without a slash at the end, of at most 127 bytes");
	return add_labels(s);
}

static int check_bound(const struct serve *s)
{
	if (!s->within)
		return 0;
	struct cgroup_bound *b = cgroup_bound_new(s->within);
	bool exists = cgroup_bound_exists(b);
	cgroup_bound_free(b);
	if (exists)
		return 0;
	log_error("serve: --within %s: there is no such control group with a controller; takes its "
		  "folder, as in /sys/fs/cgroup/..",
		  s->within);
	return EXIT_USAGE;
}

static int check_redact(const struct serve *s)
{
	if (s->redact.nr > REDACTION_MAX)
		return usage_error("--redact: there may be at most 64 patterns");
	for (size_t i = 0; i < s->redact.nr; i++) {
		auto_str struct str why = { 0 };
		if (!redaction_check(s->redact.at[i], &why))
			continue;
		log_error("serve: --redact '%s': %s", s->redact.at[i], why.at);
		return EXIT_USAGE;
	}
	return 0;
}

static int check_listen(const struct serve *s)
{
	auto_str struct str why = { 0 };

	if (s->tls_key && !strncmp(s->listen, "unix:", 5))
		return usage_error("--tls-key: a unix socket is served without TLS");
	if (!listen_check(s->listen, &why))
		return 0;
	log_error("serve: --listen %s", why.at);
	return EXIT_USAGE;
}

static int check(struct serve *s)
{
	bool is_path = !*s->prefix || (*s->prefix == '/' && s->prefix[1] &&
				       s->prefix[strlen(s->prefix) - 1] != '/');

	if (!strcmp(s->continuous, "on"))
		s->continuous = "cpu";
	if (strcmp(s->continuous, "off") && !continuous_events_are_valid(s->continuous))
		return usage_error("--continuous: takes off, or some of " CONTINUOUS_EVENTS
				   ", each once, as in cpu,offcpu");
	if (strcmp(s->agent, "auto") && strcmp(s->agent, "never"))
		return usage_error("--agent: takes auto or never");
	if (!(s->max_cpu > 0) || s->max_cpu > 100)
		return usage_error("--max-cpu: takes more than 0, up to 100 percent of one CPU");
	if (s->max_samples < 1)
		return usage_error("--max-samples: takes 1 or more per second");
	if (!is_path || strspn(s->prefix, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					  "0123456789-_./") != strlen(s->prefix))
		return usage_error("--prefix: takes a path as /profiles, without a slash at the "
				   "end");
	if (!s->tls_cert != !s->tls_key)
		return usage_error("--tls-cert and --tls-key: each needs the other");
	if (s->tls_key && build_is_static())
		return usage_error(
			"--tls-key: this static binary has no TLS; put a proxy in front, or "
			"install sysflame with its libraries");
	return check_listen(s) ?: check_node(s) ?: parse_disk(s) ?: check_role(s) ?: check_bound(s) ?: add_thread_labels(s) ?: check_fleet(s) ?: push_options_check(&s->push_options, &s->push) ?: check_redact(s) ?: find_user(s);
}

static int open_rendezvous(struct serve *s)
{
	auto_str struct str why = { 0 };
	int err = is_role(s, "recorder")
			  ? rendezvous_listen(s->channel, s->uid, &s->rendezvous, &why)
			  : rendezvous_new(s->channel, &s->rendezvous, &why);

	if (err)
		log_error("serve: --socket %s: %s", s->channel, why.at);
	return err;
}

static int open_all(struct serve *s)
{
	auto_str struct str why = { 0 }, address = { 0 };
	struct credentials credentials[RECEIVERS_MAX] = { 0 };
	struct tls tls = { 0 };
	int err = is_role(s, "web") ? 0 : features_check_host_pids();

	if (!err && s->role)
		err = open_rendezvous(s);
	if (err || is_role(s, "recorder"))
		return err;
	err = read_tls(s, "serve", &tls)
		      ?: push_options_read(&s->push_options, &s->push, credentials);

	tls_fini(&tls);
	for (u32 i = 0; i < RECEIVERS_MAX; i++)
		credentials_wipe(&credentials[i]);
	if (err)
		return err;
	err = home_open(s->dir, s->uid, s->gid, &s->home, &why);
	if (!err && s->tokens)
		err = home_read_tokens(s->tokens, &s->home, &why);
	err = err ?: listen_on(s->listen, &s->socket, &why);
	if (err) {
		log_error("serve: %s", why.at);
		return err;
	}
	if (s->tls_key)
		listening_set_https(&s->socket);
	listening_address(&s->socket, s->prefix, "\n", &address);
	err = home_set_address(&s->home, address.at);
	if (err)
		log_error("serve: %s/address: %s", s->dir, strerror(-err));
	return err;
}

/* The web process of a pod is not root, and a directory of the host is root's at first. */
static int give_store(const struct serve *s)
{
	auto_str struct str why = { 0 };

	if (!home_give(s->dir, s->uid, s->gid, &why))
		return 0;
	log_error("serve: --role store: %s", why.at);
	return EXIT_FAILED;
}

static int serve(struct serve *s)
{
	if (is_role(s, "store"))
		return give_store(s);
	s->home.dir = s->home.lock = s->socket.fd = -1;
	s->pulse = pulse_new();
	int status = EXIT_FAILED;
	if (!s->pulse)
		log_error("serve: there is no memory left");
	else if (!open_all(s)) {
		const struct supervisor_options options = {
			.recorder = { "sysflame-rec", is_role(s, "web") ? NULL : run_recorder, s },
			.web = { "sysflame-web", is_role(s, "recorder") ? NULL : run_web, s },
			.rendezvous = s->rendezvous,
			.pulse = s->pulse,
			.excluded = &s->excluded,
			.ready = say_ready,
			.renew = renew_tls,
			.ctx = s,
		};
		status = supervisor_run(&options);
		if (!is_role(s, "recorder"))
			home_set_address(&s->home, "");
	}
	rendezvous_free(s->rendezvous);
	home_close(&s->home);
	pulse_free(s->pulse);
	if (s->socket.fd >= 0)
		close(s->socket.fd);
	return status;
}

static int print_help(const struct opt *opts, size_t nr)
{
	puts("usage: sysflame serve [OPTION..]\n\n"
	     "Runs on a node all the time: a page to start and compare profiles, an API,\n"
	     "and continuous profiling of all processes.\n");
	opt_help(opts, nr);
	return 0;
}

static int parse_words(struct serve *s, const struct opt *opts, size_t nr, int argc, char **argv)
{
	int next = opt_parse(opts, nr, argc, argv);

	if (next < 0)
		return EXIT_USAGE;
	if (s->help)
		return print_help(opts, nr);
	if (next < argc) {
		log_error("serve: %s: unexpected", argv[next]);
		return EXIT_USAGE;
	}
	return 0;
}

static int parse(struct serve *s, int argc, char **argv)
{
	const struct opt opts[] = {
		OPT_GROUP_OF("Page"),
		{ 0, "listen", OPT_STRING, &s->listen, "ADDR",
		  "HOST:PORT or unix:PATH (127.0.0.1:7070); port 0 takes a free one" },
		{ 0, "tls-cert", OPT_STRING, &s->tls_cert, "FILE",
		  "serve HTTPS with this certificate and those above it (PEM)" },
		{ 0, "tls-key", OPT_STRING, &s->tls_key, "FILE", "its private key (PEM)" },
		{ 0, "prefix", OPT_STRING, &s->prefix, "PATH", "serve below this path of a proxy" },
		{ 0, "allow-host", OPT_STRING, &s->hosts, "HOST,..",
		  "further names by which people reach it, as in their browser's address" },
		{ 0, "behind-tls", OPT_BOOL, &s->behind_tls, NULL, "a proxy in front has HTTPS" },
		{ 0, "token-dir", OPT_STRING, &s->tokens, "DIR",
		  "take the files `token` and `token.viewer` that are here instead of one's own" },
		{ 0, "link", OPT_BOOL, &s->link, NULL,
		  "print the login address of the daemon that runs on DIR" },
		OPT_GROUP_OF("Continuous profiling"),
		{ 0, "continuous", OPT_STRING, &s->continuous, "EVENT,..",
		  "profile the whole node all the time: cpu, offcpu, alloc, lock; or off (cpu)" },
		{ 0, "within", OPT_STRING, &s->within, "CGROUP",
		  "see and sample only the processes of a control group and those below it" },
		{ 0, "max-cpu", OPT_DOUBLE, &s->max_cpu, "PERCENT",
		  "continuous: stay below this share of one CPU, for every four CPUs (1)" },
		{ 0, "max-samples", OPT_INT, &s->max_samples, "N",
		  "continuous: take at most N samples per second, for every four CPUs (100)" },
		{ 0, "agent", OPT_STRING, &s->agent, "WHEN",
		  "attach the agent to JVMs for events that need it: auto, never" },
		{ 0, "agent-path", OPT_STRING, &s->agent_path, "FILE", "path of libjvmmap.so" },
		{ 0, "redact", OPT_LIST, &s->redact, "PATTERN",
		  "keep out names with this text or /expression/; may be repeated" },
		{ 0, "node", OPT_STRING, &s->node, "NAME",
		  "the node's name in the fleet, on the page and for receivers (its host's)" },
		{ 0, "label", OPT_LIST, &s->label_words, "KEY=VALUE",
		  "a label of this node, for selectors and pushed profiles; may be repeated" },
		{ 0, "thread-label", OPT_LIST, &s->thread_label_words, "NAME=CLASS.FIELD[.field..]",
		  "a label of samples: the value of a JVM's ThreadLocal, as record --label" },
		OPT_GROUP_OF("Store"),
		{ 0, "dir", OPT_STRING, &s->dir, "DIR", "keep profiles here (" SERVE_DIR ")" },
		{ 0, "max-disk", OPT_STRING, &s->max_disk, "BYTES",
		  "delete the oldest slices and profiles beyond this (2g)" },
		OPT_GROUP_OF("Processes and rights"),
		{ 0, "conf", OPT_STRING, &s->conf, "FILE", "what may be recorded (" CONF_PATH ")" },
		{ 0, "web-user", OPT_STRING, &s->user, "USER",
		  "run the web process as USER (" WEB_USER ", else a number of its own)" },
		{ 0, "role", OPT_STRING, &s->role, "ROLE",
		  "run only recorder or web; store: give DIR to --web-user and end" },
		{ 0, "socket", OPT_STRING, &s->channel, "PATH",
		  "--role: their socket; the recorder accepts --web-user's USER and its own user" },
		OPT_GROUP_OF("Fleet"),
		FLEET_OPTS(s),
		OPT_GROUP_OF("Push"),
		PUSH_OPTS(&s->push_options),
		OPT_GROUP_OF("Messages"),
		{ 'v', "verbose", OPT_BOOL, &s->verbose, NULL, "log more" },
		{ 'h', "help", OPT_BOOL, &s->help, NULL, "show this help" },
	};

	return parse_words(s, opts, ARRAY_SIZE(opts), argc, argv);
}

int serve_main(int argc, char **argv)
{
	struct serve s = { .dir = SERVE_DIR,
			   .listen = "127.0.0.1:7070",
			   .prefix = "",
			   .continuous = "cpu",
			   .max_disk = "2g",
			   .agent = "auto",
			   .push_options = { .spool = "64m", .age_min = 60 },
			   .max_cpu = 1,
			   .max_samples = 100 };

	int status = parse(&s, argc, argv);
	if (status || s.help)
		return status;
	if (s.link)
		return login_link_print("serve", s.dir, s.tokens);
	if (s.verbose)
		log_set_level(LOG_DEBUG);
	status = check(&s) ?: serve(&s);
	vec_fini(&s.label_words);
	vec_fini(&s.thread_label_words);
	vec_fini(&s.push_options.receivers);
	vec_fini(&s.redact);
	return status;
}
