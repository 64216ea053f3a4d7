/* SPDX-License-Identifier: Apache-2.0 */
/* Stores in directories of their own. */
#pragma once

#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/time.h"
#include "store/store.h"

#define HOUR_NS  (3600 * NS_PER_SEC)
#define DAY_NS   (24 * HOUR_NS)
#define START_NS (1763640000 * NS_PER_SEC) /* a full hour */

static const struct store_limits no_limits;

struct place {
	char path[64];
	int dir;
};

static inline struct place new_place(void)
{
	struct place p = { .path = "/tmp/test_store.XXXXXX" };

	assert_non_null(mkdtemp(p.path));
	p.dir = open(p.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p.dir >= 0);
	return p;
}

static inline void remove_place(struct place *p)
{
	auto_free char *command = xasprintf("rm -rf '%s'", p->path);

	close(p->dir);
	assert_int_equal(system(command), 0);
}

static inline struct store *open_with(const struct place *p, const struct store_limits *limits)
{
	auto_str struct str why = { 0 };
	struct store *s = NULL;

	if (store_open(p->dir, limits, &s, &why))
		fail_msg("%s", why.at);
	return s;
}

static inline struct store *open_store(const struct place *p)
{
	return open_with(p, &no_limits);
}

static inline struct stored facts_of(u64 id)
{
	return (struct stored){ .id = id,
				.name = "a recording",
				.events = "cpu,alloc",
				.target = "checkout/7 prod",
				.source = "recording",
				.unit = "ns",
				.start_ns = START_NS,
				.duration_ns = 30 * NS_PER_SEC,
				.samples = 1009,
				.rate_hz = 99 };
}

static inline u64 add_profile(struct store *s, const char *bytes)
{
	u64 id = store_new_id(s);
	struct stored facts = facts_of(id);

	assert_int_equal(store_add(s, &facts, bytes, strlen(bytes)), 0);
	return id;
}

static inline char *content_of(int fd)
{
	struct str bytes = { 0 };
	char chunk[4096];
	ssize_t got;

	assert_true(fd >= 0);
	str_add(&bytes, "");
	while ((got = read(fd, chunk, sizeof(chunk))) > 0)
		str_add_bytes(&bytes, chunk, (size_t)got);
	close(fd);
	return str_take(&bytes);
}

static inline void assert_content(int fd, const char *expected)
{
	auto_free char *bytes = content_of(fd);

	assert_string_equal(bytes, expected);
}

static inline u64 nr_listed(struct store *s, const char *words)
{
	struct stored_list list;

	assert_int_equal(store_list(s, words, 0, 1000000, &list), 0);
	u64 nr = list.nr_all;
	assert_int_equal(nr, list.list.nr);
	stored_list_fini(&list);
	return nr;
}
