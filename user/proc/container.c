/* SPDX-License-Identifier: Apache-2.0 */
/* The containers of the node. */
#include "proc/container.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/file.h"
#include "base/str.h"
#include "base/time.h"
#include "proc/open_request.h"
#include "proc/runtime.h"

#define JSON_MAX     (4 << 20)
#define PROC_MAX     (64u << 10)
#define NAME_MAX_LEN 253 /* the limit for a pod's name; other names are shorter */

static void set(char **field, const char *text, size_t len)
{
	auto_free char *raw = xstrndup(text, len);
	auto_str struct str clean = { 0 };

	if (**field || !len)
		return;
	utf8_clean(&clean, raw, NAME_MAX_LEN);
	free(*field);
	*field = str_take(&clean);
}

/* "POD_NAMESPACE_CONTAINER-ID.log"; the three names contain no underscore. */
static void take_log_name(struct container *c, const char *file_name)
{
	const char *first = strchr(file_name, '_');
	const char *second = first ? strchr(first + 1, '_') : NULL;
	const char *dash = second ? strrchr(second, '-') : NULL;

	if (!dash || strncmp(dash + 1, c->id, strlen(c->id)))
		return;
	set(&c->pod, file_name, (size_t)(first - file_name));
	set(&c->namespace, first + 1, (size_t)(second - first - 1));
	set(&c->name, second + 1, (size_t)(dash - second - 1));
}

/* The functions names_of_ fill the empty names of `c`, and set is_denied. */
static void names_of_logs(struct container *c, const char *root,
			  const struct runtime_config *config)
{
	auto_free char *path = xasprintf("%s/var/log/containers", root);
	auto_closedir DIR *folder = opendir(path);

	for (struct dirent *e; folder && (e = readdir(folder));)
		if (strstr(e->d_name, c->id))
			take_log_name(c, e->d_name);
}

static void take_text(char **field, const json_t *object, const char *key)
{
	const json_t *text = json_object_get(object, key);

	if (json_is_string(text))
		set(field, json_string_value(text), json_string_length(text));
}

/* CRI-O and Docker's shim keep the pod's annotations as a JSON text, or with a prefix. */
static bool denies(const json_t *notes)
{
	static const char *const nested[] = { "io.kubernetes.cri-o.Annotations",
					      "io.kubernetes.cri-o.Labels" };
	const char *direct = json_string_value(json_object_get(notes, CONTAINER_DENY));
	const char *prefixed =
		json_string_value(json_object_get(notes, "annotation." CONTAINER_DENY));
	bool is_denied =
		(direct && !strcmp(direct, "deny")) || (prefixed && !strcmp(prefixed, "deny"));

	for (size_t i = 0; i < ARRAY_SIZE(nested) && !is_denied; i++) {
		const json_t *text = json_object_get(notes, nested[i]);
		json_t *inner =
			json_is_string(text) ? json_loads(json_string_value(text), 0, NULL) : NULL;
		const char *value = json_string_value(json_object_get(inner, CONTAINER_DENY));
		is_denied = value && !strcmp(value, "deny");
		json_decref(inner);
	}
	return is_denied;
}

/*
 * Reads the configuration of an OCI bundle, with annotations of containerd and CRI-O, or an answer
 * of Docker or CRI-O about a container.
 */
static void take_json(struct container *c, const char *text, size_t len)
{
	json_t *all = json_loadb(text, len, JSON_DISABLE_EOF_CHECK, NULL);
	const json_t *notes = json_object_get(all, "annotations");
	const json_t *labels = json_object_get(json_object_get(all, "Config"), "Labels");
	const char *name = json_string_value(json_object_get(all, "Name"));

	c->is_denied |= denies(notes) || denies(labels);
	take_text(&c->pod, notes, "io.kubernetes.cri.sandbox-name");
	take_text(&c->namespace, notes, "io.kubernetes.cri.sandbox-namespace");
	take_text(&c->name, notes, "io.kubernetes.cri.container-name");
	take_text(&c->pod, notes, "io.kubernetes.pod.name");
	take_text(&c->namespace, notes, "io.kubernetes.pod.namespace");
	take_text(&c->name, notes, "io.kubernetes.container.name");
	take_text(&c->pod, labels, "io.kubernetes.pod.name");
	take_text(&c->namespace, labels, "io.kubernetes.pod.namespace");
	take_text(&c->name, labels, "io.kubernetes.container.name");
	take_text(&c->name, all, "name");
	if (name)
		set(&c->name, name + (*name == '/'), strlen(name) - (*name == '/'));
	json_decref(all);
}

struct place {
	const char *before, *behind; /* the text before and after the id */
};

static void read_bundle(struct container *c, const char *path)
{
	auto_free char *text = NULL;
	size_t len;

	if (!file_read(path, JSON_MAX, &text, &len))
		take_json(c, text, len);
}

static void names_of_bundle(struct container *c, const char *root,
			    const struct runtime_config *config)
{
	static const struct place places[] = {
		{ "run/containerd/io.containerd.runtime.v2.task/k8s.io/", "/config.json" },
		{ "run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/", "/config.json" },
	};

	for (const struct place *p = places; p < places + ARRAY_SIZE(places); p++) {
		auto_free char *path = xasprintf("%s/%s%s%s", root, p->before, c->id, p->behind);
		read_bundle(c, path);
	}
	auto_free char *podman = xasprintf("%s%s/%s-containers/%s/userdata/config.json", root,
					   config->podman_run, config->podman_driver, c->id);
	read_bundle(c, podman);
	for (char *const *docker = config->docker_roots; *docker; docker++) {
		auto_free char *path =
			xasprintf("%s%s/containers/%s/config.v2.json", root, *docker, c->id);
		read_bundle(c, path);
	}
}

/* One file for all containers: [{"id": .., "names": [..]}, ..]. */
static void names_of_podman(struct container *c, const char *root,
			    const struct runtime_config *config)
{
	auto_free char *path = xasprintf("%s%s/%s-containers/containers.json", root,
					 config->podman_root, config->podman_driver);
	auto_free char *text = NULL;
	size_t len, i;
	const json_t *one;

	if (file_read(path, JSON_MAX, &text, &len))
		return;
	json_t *all = json_loadb(text, len, 0, NULL);
	json_array_foreach(all, i, one)
	{
		const char *id = json_string_value(json_object_get(one, "id"));
		const json_t *name = json_array_get(json_object_get(one, "names"), 0);
		if (id && !strcmp(id, c->id) && json_is_string(name))
			set(&c->name, json_string_value(name), json_string_length(name));
	}
	json_decref(all);
}

static const char *word_behind(const char *text, size_t len, const char *option)
{
	for (const char *word = text, *next; word < text + len; word = next) {
		next = word + strlen(word) + 1;
		if (!strcmp(word, option))
			return next < text + len ? next : NULL;
	}
	return NULL;
}

/* Every user can start a process with any arguments. The monitor is a parent in the container. */
static bool has_child_in(const char *root, const char *pid, const char *id)
{
	auto_free char *path = xasprintf("%s/proc/%s/task/%s/children", root, pid, pid);
	auto_free char *text = NULL;
	size_t len;

	if (file_read(path, PROC_MAX, &text, &len))
		return false;
	for (char *rest = text, *child; (child = strsep(&rest, " \n"));) {
		auto_free char *group = xasprintf("%s/proc/%s/cgroup", root, child);
		auto_free char *groups = NULL;
		if (*child && !file_read(group, PROC_MAX, &groups, &len) && strstr(groups, id))
			return true;
	}
	return false;
}

static void take_monitor(struct container *c, const char *root, const char *pid, bool of_root)
{
	auto_free char *folder = xasprintf("%s/proc/%s", root, pid);
	auto_free char *comm_path = xasprintf("%s/comm", folder);
	auto_free char *cmdline_path = xasprintf("%s/cmdline", folder);
	auto_free char *comm = NULL, *words = NULL;
	size_t len;

	if (file_read(comm_path, PROC_MAX, &comm, &len) || strcmp(comm, "conmon\n") ||
	    runtime_is_trusted(folder) != of_root ||
	    file_read(cmdline_path, PROC_MAX, &words, &len))
		return;
	const char *id = word_behind(words, len, "-c"), *name = word_behind(words, len, "-n");
	const char *bundle = word_behind(words, len, "-b");
	if (!id || strcmp(id, c->id) || !has_child_in(root, pid, id))
		return;
	if (of_root && bundle && *bundle == '/') {
		auto_free char *path = xasprintf("%s%s/config.json", root, bundle);
		read_bundle(c, path);
	}
	if (name)
		set(&c->name, name, strlen(name));
}

/*
 * conmon watches each container of Podman, wherever its files are: below --root, or in the home of
 * a user. Root's comes first, because the other users choose their arguments.
 */
static void names_of_monitor(struct container *c, const char *root,
			     const struct runtime_config *config)
{
	for (int of_root = 1; of_root >= 0 && !*c->name; of_root--) {
		auto_free char *path = xasprintf("%s/proc", root);
		auto_closedir DIR *folder = opendir(path);
		for (struct dirent *e; folder && (e = readdir(folder));)
			if (isdigit((unsigned char)e->d_name[0]))
				take_monitor(c, root, e->d_name, of_root);
	}
}

/* A recorder may not connect, but its opener may. */
static int ask_opener(const char *id, enum runtime_socket which, struct str *out)
{
	auto_close int fd = open_request_answer(which, id);
	auto_free char *text = NULL;
	size_t len;
	int err = fd < 0 ? fd : file_read_fd(fd, RUNTIME_ANSWER_MAX, &text, &len);

	if (!err)
		str_add_bytes(out, text, len);
	return err;
}

/*
 * Fills the empty names of `c` from a runtime's answer; -EAGAIN if it takes longer than 0.2 s. The
 * opener asks for a recorder. Returns an error of runtime_socket_ask or open_request_answer.
 */
static int names_of_socket(struct container *c, const char *root,
			   const struct runtime_config *config, enum runtime_socket which)
{
	auto_free char *path = NULL;
	auto_str struct str text = { 0 };
	int err = runtime_socket_find(root, config, which, &path);

	if (err)
		return err;
	err = open_requests_are_used() ? ask_opener(c->id, which, &text)
				       : runtime_socket_ask(root, config, which, c->id, &text);
	if (!err && text.len)
		take_json(c, text.at, text.len);
	return err;
}

/* A keyed hash, because whoever creates a control group chooses its id. */
#define HASH_FUNCTION(id, len, hash) ((hash) = (unsigned)hash_keyed(id, len))
#include <uthash.h>

#define TEXT_MAX         65536
#define NAMES_HEAP_BYTES 72                /* three texts: their ends, and what malloc adds */
#define ID_DIGITS        6                 /* the fewest digits of an id that identify it */
#define ASK_FOR_NS       (15 * NS_PER_SEC) /* after all runtimes have answered */
#define ASK_EACH_NS      NS_PER_SEC

/*
 * If a runtime does not answer about one container, that container is asked about again later. If
 * it fails to answer several in a row, the runtime is left alone. SOCKET_RESTS_NS is shorter than
 * ENTRY_RESTS_NS, so other containers get their turn first.
 */
#define ENTRY_RESTS_NS  (30 * NS_PER_SEC)
#define SOCKET_RESTS_NS (10 * NS_PER_SEC)
#define UNANSWERED_MOST 3

/*
 * Limits the time spent on requests to this share. At one time requests take at most the credit
 * plus one request. Whoever may create control groups can create thousands that look like
 * containers.
 */
#define ASK_SHARE       10
#define ASK_CREDIT_NS   (200 * (s64)NS_PER_MS)
#define FIRST_CREDIT_NS (s64) NS_PER_SEC

struct container_entry {
	struct container c; /* keyed by its id */
	u64 asked_ns;
	u64 rests_until_ns; /* set after a runtime did not answer */
	bool is_kept;       /* in the next sweep */
	u64 told_ns;        /* when all runtimes had answered or refused; 0: some have not yet */
	UT_hash_handle hh;
};

struct containers {
	struct container_entry *by_id;
	char *root;
	struct runtime_config config;
	s64 credit_ns; /* time left for requests at credited_ns */
	u64 credited_ns;
	u64 rests_until_ns[NR_RUNTIME_SOCKETS];
	u32 nr_unanswered[NR_RUNTIME_SOCKETS]; /* in a row, per runtime */
	int refused_err;                       /* why we may not connect to a runtime; 0: we may */
};

struct containers *containers_new(const char *root)
{
	struct containers *all = xcalloc(1, sizeof(*all));

	all->root = xstrdup(root);
	runtime_config_read(root, &all->config);
	all->credit_ns = FIRST_CREDIT_NS;
	all->credited_ns = time_mono_ns();
	return all;
}

static void drop(struct containers *all, struct container_entry *e)
{
	HASH_DEL(all->by_id, e);
	free(e->c.name);
	free(e->c.pod);
	free(e->c.namespace);
	free(e);
}

void containers_keep(const struct container *c)
{
	if (c)
		((struct container_entry *)c)->is_kept = true;
}

void containers_sweep(struct containers *all)
{
	struct container_entry *e, *next;

	HASH_ITER(hh, all->by_id, e, next) {
		if (e->is_kept)
			e->is_kept = false;
		else
			drop(all, e);
	}
}

size_t containers_nr(const struct containers *all)
{
	return HASH_COUNT(all->by_id);
}

size_t containers_bytes(const struct containers *all)
{
	size_t bytes = 0;

	for (const struct container_entry *e = all->by_id; e; e = e->hh.next)
		bytes += sizeof(*e) + strlen(e->c.name) + strlen(e->c.pod) +
			 strlen(e->c.namespace) + NAMES_HEAP_BYTES;
	return bytes;
}

void containers_free(struct containers *all)
{
	struct container_entry *e, *next;

	if (!all)
		return;
	HASH_ITER(hh, all->by_id, e, next)
		drop(all, e);
	runtime_config_fini(&all->config);
	free(all->root);
	free(all);
}

/* Whether all names are known. A container of a pod also needs the pod's name. */
static bool is_known(const struct container *c)
{
	return *c->name && (*c->pod || !*c->pod_uid);
}

static void note_silence(struct containers *all, struct container_entry *e, enum runtime_socket i)
{
	u64 now = time_mono_ns();

	e->rests_until_ns = now + ENTRY_RESTS_NS;
	if (++all->nr_unanswered[i] < UNANSWERED_MOST)
		return;
	all->rests_until_ns[i] = now + SOCKET_RESTS_NS;
	all->nr_unanswered[i] = 0;
}

/* Whether the runtime has answered, does not exist or cannot be asked. */
static bool ask_socket(struct containers *all, struct container_entry *e, enum runtime_socket i)
{
	int err = names_of_socket(&e->c, all->root, &all->config, i);

	switch (err) {
	case -EPERM:
	case -EACCES:
		all->refused_err = err;
		return true; /* asking again would not help */
	case -EAGAIN:        /* silent */
	case -EBUSY:         /* the opener could not be started, or has ended */
	case -EPIPE:
	case -EPROTO:
		return false;
	}
	return true;
}

/* Asks the sockets of all runtimes. */
static bool ask_sockets(struct containers *all, struct container_entry *e)
{
	bool are_all = true;

	for (enum runtime_socket i = 0; i < NR_RUNTIME_SOCKETS && !is_known(&e->c); i++) {
		bool rests = time_mono_ns() < all->rests_until_ns[i];
		if (!rests && ask_socket(all, e, i)) {
			all->nr_unanswered[i] = 0;
			continue;
		}
		are_all = false;
		if (!rests)
			note_silence(all, e, i);
	}
	return are_all;
}

/* Whether the file of names that opt out has the container. */
static bool is_listed(const struct containers *all, const struct container *c)
{
	auto_free char *path = xasprintf("%s" DENY_PATH, all->root), *text = NULL;
	bool is_found = false;
	size_t len;

	if (file_read(path, TEXT_MAX, &text, &len))
		return false;
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		line[strcspn(line, "# \t\r")] = '\0';
		size_t end = strlen(line);
		if (!end)
			continue;
		is_found |= container_matches(c, line) || container_matches_pod(c, line) ||
			    (line[end - 1] == '/' && strlen(c->namespace) == end - 1 &&
			     !strncmp(c->namespace, line, end - 1));
	}
	return is_found;
}

static void ask(struct containers *all, struct container_entry *e)
{
	static void (*const ways[])(struct container *, const char *,
				    const struct runtime_config *) = {
		names_of_logs,
		names_of_bundle,
		names_of_podman,
		names_of_monitor,
	};

	/* Bundles have the annotations that opt out, too. */
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if (!is_known(&e->c) || ways[i] == names_of_bundle)
			ways[i](&e->c, all->root, &all->config);
	if (ask_sockets(all, e) && !e->told_ns)
		e->told_ns = time_mono_ns();
	/*
	 * This check comes last, because a container whose names are known is not looked up again.
	 */
	e->c.is_denied |= is_listed(all, &e->c);
}

/* Containers that were never asked about come first. */
static bool has_credit(struct containers *all, u64 now, bool is_first)
{
	s64 credit_ns = all->credit_ns + (s64)((now - all->credited_ns) / ASK_SHARE);

	if (all->credit_ns < ASK_CREDIT_NS)
		all->credit_ns = credit_ns < ASK_CREDIT_NS ? credit_ns : ASK_CREDIT_NS;
	all->credited_ns = now;
	return all->credit_ns > (is_first ? 0 : ASK_CREDIT_NS / 2);
}

static bool is_due(const struct container_entry *e, u64 now)
{
	if (is_known(&e->c) || now < e->rests_until_ns)
		return false;
	if (e->told_ns && now - e->told_ns >= ASK_FOR_NS)
		return false;
	return !e->asked_ns || now - e->asked_ns >= ASK_EACH_NS;
}

static struct container_entry *add(struct containers *all, const char *id)
{
	struct container_entry *e = xcalloc(1, sizeof(*e));

	copy_text(e->c.id, sizeof(e->c.id), id);
	e->c.name = xstrdup("");
	e->c.pod = xstrdup("");
	e->c.namespace = xstrdup("");
	HASH_ADD_STR(all->by_id, c.id, e);
	return e;
}

const struct container *containers_find(struct containers *all, const char *id, const char *pod_uid)
{
	u64 now = time_mono_ns();
	struct container_entry *e;

	HASH_FIND_STR(all->by_id, id, e);
	if (!e && HASH_COUNT(all->by_id) >= CONTAINERS_MAX)
		return NULL;
	if (!e)
		e = add(all, id);
	if (pod_uid)
		copy_text(e->c.pod_uid, sizeof(e->c.pod_uid), pod_uid);
	if (is_due(e, now) && has_credit(all, now, !e->asked_ns)) {
		e->asked_ns = now;
		ask(all, e);
		all->credit_ns -= (s64)(time_mono_ns() - now);
	}
	return &e->c;
}

const struct container *containers_known(const struct containers *all, const char *id)
{
	const struct container_entry *e;

	HASH_FIND_STR(all->by_id, id, e);
	return e ? &e->c : NULL;
}

void containers_set_credit(struct containers *all, u64 ns)
{
	all->credit_ns = (s64)ns;
}

int containers_refused(const struct containers *all)
{
	return all->refused_err;
}

bool containers_are_reported(const struct containers *all)
{
	for (const struct container_entry *e = all->by_id; e; e = e->hh.next)
		if (!is_known(&e->c) && (!e->told_ns || all->refused_err))
			return false;
	return true;
}

int containers_of(struct containers *all, pid_t pid, const struct container **out)
{
	auto_free char *path = xasprintf("%s/proc/%d/cgroup", all->root, (int)pid);
	char id[CONTAINER_ID_LEN + 1], uid[POD_UID_LEN + 1];
	auto_free char *text = NULL;
	size_t len;

	if (file_read(path, TEXT_MAX, &text, &len) || !len)
		return -ESRCH;
	*out = cgroup_container_parse(text, id)
		       ? containers_find(all, id, cgroup_pod_parse(text, uid) ? uid : NULL)
		       : NULL;
	return 0;
}

bool container_matches(const struct container *c, const char *text)
{
	size_t len = strlen(text);

	return !strcmp(c->name, text) || (len >= ID_DIGITS && !strncmp(c->id, text, len));
}

bool container_matches_pod(const struct container *c, const char *text)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : 0;

	if (slash && (strlen(c->namespace) != len || strncmp(c->namespace, text, len)))
		return false;
	return !strcmp(c->pod, slash ? slash + 1 : text) || !strcmp(c->pod_uid, text);
}
