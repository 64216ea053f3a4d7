/* SPDX-License-Identifier: Apache-2.0 */
/* Reads names of containers from files and sockets of container runtimes. */
#include "proc/container_names.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"
#include "base/utf8.h"
#include "proc/open_request.h"

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

void container_names_of_logs(struct container *c, const char *root,
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

void container_names_of_bundle(struct container *c, const char *root,
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
void container_names_of_podman(struct container *c, const char *root,
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
void container_names_of_monitor(struct container *c, const char *root,
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

int container_names_of_socket(struct container *c, const char *root,
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
