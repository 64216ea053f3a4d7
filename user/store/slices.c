/* SPDX-License-Identifier: Apache-2.0 */
/* The files of slices. Part of store/store.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "base/auto.h"
#include "export/slices/slice_pack.h"
#include "export/slices/slice_record.h"
#include "store/files.h"
#include "store/names.h"
#include "store/store.h"
#include "store/store_state.h"

#define SYNC_NS    (60 * NS_PER_SEC)
#define HOUR_MAX   (256u << 20) /* bytes of an hour's file */
#define SEARCH_MAX (1u << 30)   /* bytes to read while searching for a record */

void slices_sync(struct store *s)
{
	if (s->hour_fd < 0 || !s->is_unsynced)
		return;
	fdatasync(s->hour_fd);
	s->is_unsynced = false;
	s->synced_ns = time_mono_ns();
}

void slices_close(struct store *s)
{
	slices_sync(s);
	if (s->hour_fd >= 0)
		close(s->hour_fd);
	s->hour_fd = -1;
}

/* Opens the file of an hour for appending. */
static int use_hour(struct store *s, u64 hour)
{
	char name[FILE_NAME_BYTES];
	struct stat st;

	/* Somebody may have removed the file. */
	if (s->hour_fd >= 0 && (s->hour != hour || fstat(s->hour_fd, &st) || !st.st_nlink))
		slices_close(s);
	if (s->hour_fd >= 0)
		return 0;
	hour_file_name(hour, name);
	s->hour_fd =
		openat(s->slices, name,
		       O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (s->hour_fd < 0)
		return -errno;
	s->hour = hour;
	return 0;
}

/* Appends all bytes or none. */
static int append(struct store *s, const void *bytes, size_t nr)
{
	struct stat st;

	if (fstat(s->hour_fd, &st))
		return -errno;
	if ((u64)st.st_size + nr > HOUR_MAX)
		return -EFBIG;
	ssize_t done = pwrite(s->hour_fd, bytes, nr, st.st_size);
	if (done == (ssize_t)nr)
		return 0;
	int err = done < 0 ? -errno : -ENOSPC;
	if (ftruncate(s->hour_fd, st.st_size))
		return err; /* readers skip the incomplete record */
	return err;
}

static int add_use(struct store *s, u64 time_ns, const struct store_use *use)
{
	int err = index_run(s->db, "INSERT OR IGNORE INTO services (name) VALUES (?)", "t",
			    use->service);

	if (err)
		return err;
	return index_run(s->db,
			 "INSERT INTO uses (time_ns, event, service, value)"
			 " SELECT ?, ?, id, ? FROM services WHERE name = ?"
			 " ON CONFLICT DO UPDATE SET value = value + excluded.value",
			 "itit", time_ns, use->event, use->value, use->service);
}

/* The changes of the index for a slice, which belong to one transaction. */
static int note_slice(struct store *s, size_t nr, const struct slice_head *head,
		      const struct store_use *uses, size_t nr_uses)
{
	u64 begin_ns = head->begin_wall_ns;
	int err = index_run(
		s->db,
		"INSERT INTO hours (hour, size_bytes, first_ns, is_sealed)"
		" VALUES (?, ?, ?, 0) ON CONFLICT DO UPDATE SET is_sealed = 0, step_ns = 0,"
		" size_bytes = size_bytes + excluded.size_bytes,"
		" first_ns = min(first_ns, excluded.first_ns)",
		"iii", begin_ns / HOUR_NS, (u64)nr, begin_ns);

	err = err ?: covered_add(s, begin_ns, head->end_wall_ns);
	for (size_t i = 0; i < nr_uses && !err; i++)
		if (uses[i].value)
			err = add_use(s, begin_ns, &uses[i]);
	return err;
}

int store_add_slice(struct store *s, const void *bytes, size_t nr, u64 begin_ns, u64 end_ns,
		    const struct store_use *uses, size_t nr_uses)
{
	struct slice_head head;

	if (slice_head_read(bytes, nr, &head) || head.len != nr || head.begin_wall_ns != begin_ns ||
	    head.end_wall_ns != end_ns || begin_ns > INT64_MAX || begin_ns < HOUR_NS)
		return -EINVAL;
	int err = use_hour(s, begin_ns / HOUR_NS);
	if (!err)
		err = index_run(s->db, "BEGIN", "");
	if (err)
		return err;
	err = note_slice(s, nr, &head, uses, nr_uses);
	if (!err)
		err = append(s, bytes, nr);
	if (!err) {
		s->is_unsynced = true;
		err = index_run(s->db, "COMMIT", "");
	}
	if (err)
		index_run(s->db, "ROLLBACK", "");
	if (time_mono_ns() - s->synced_ns >= SYNC_NS)
		slices_sync(s);
	return err;
}

int slices_forget(struct store *s, u64 hour)
{
	int err = index_run(s->db, "DELETE FROM uses WHERE time_ns >= ? AND time_ns < ?", "ii",
			    hour * HOUR_NS, (hour + 1) * HOUR_NS);

	err = err ?: covered_forget(s, hour * HOUR_NS, (hour + 1) * HOUR_NS);
	return err ?: index_run(s->db, "DELETE FROM hours WHERE hour = ?", "i", hour);
}

int store_open_slices(struct store *s, u64 *from_ns, u64 to_ns)
{
	char name[FILE_NAME_BYTES];

	for (;;) {
		u64 hour = index_number(
			s->db, "SELECT min(hour) FROM hours WHERE hour >= ? AND hour <= ?", "ii",
			*from_ns / HOUR_NS, (to_ns ? to_ns - 1 : 0) / HOUR_NS);
		if (!hour || *from_ns >= to_ns)
			return -ENOENT;
		*from_ns = (hour + 1) * HOUR_NS;
		hour_file_name(hour, name);
		int fd = file_get(s->slices, name);
		if (fd != -ENOENT)
			return fd;
		/* Somebody removed the file. */
		if (slices_forget(s, hour))
			return -ENOENT;
	}
}

/* The bytes that compressed frames take at the begin of a file. */
static size_t sealed_bytes(const u8 *at, size_t len)
{
	size_t nr = 0;

	while (nr < len) {
		size_t frame = ZSTD_findFrameCompressedSize(at + nr, len - nr);
		if (ZSTD_isError(frame) || !frame)
			break;
		nr += frame;
	}
	return nr;
}

/* The end of the last undamaged record. */
static size_t records_end(const u8 *at, size_t len)
{
	struct slice_head head;
	u64 budget = SEARCH_MAX;
	size_t end = 0;

	for (size_t i = 0; i < len;) {
		if (!slice_head_read(at + i, len - i, &head)) {
			end = i += head.len;
			continue;
		}
		i++;
		i += slice_find(at + i, len - i, &budget);
	}
	return end;
}

int slices_cut_tail(struct store *s, u64 hour, bool *is_sealed)
{
	auto_free char *bytes = NULL;
	char name[FILE_NAME_BYTES];
	size_t len;

	hour_file_name(hour, name);
	auto_close int fd = file_get(s->slices, name);
	int err = fd < 0 ? fd : file_load(fd, HOUR_MAX, &bytes, &len);
	if (err)
		return err;
	size_t sealed = sealed_bytes((u8 *)bytes, len);
	size_t plain = records_end((u8 *)bytes + sealed, len - sealed);
	*is_sealed = sealed > 0 && !plain;
	if (sealed + plain == len)
		return 0;
	auto_close int out = openat(s->slices, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	return out < 0 || ftruncate(out, (off_t)(sealed + plain)) ? -errno : 0;
}

static int mark_sealed(struct store *s, u64 hour, u64 size_bytes)
{
	return index_run(s->db, "UPDATE hours SET is_sealed = 1, size_bytes = ? WHERE hour = ?",
			 "ii", size_bytes, hour);
}

int slices_seal(struct store *s, u64 hour)
{
	auto_free char *bytes = NULL;
	auto_str struct str packed = { 0 };
	char name[FILE_NAME_BYTES];
	size_t len = 0;

	if (s->hour == hour)
		slices_close(s);
	hour_file_name(hour, name);
	auto_close int fd = file_get(s->slices, name);
	int err = fd < 0 ? fd : file_load(fd, HOUR_MAX, &bytes, &len);
	if (err)
		return err;
	size_t sealed = sealed_bytes((u8 *)bytes, len);
	if (sealed == len)
		return mark_sealed(s, hour, len);
	str_add_bytes(&packed, bytes, sealed);
	err = slices_pack(bytes + sealed, len - sealed, &packed);
	if (!err)
		err = file_put(s->slices, name, packed.at, packed.len, true);
	return err ? err : mark_sealed(s, hour, packed.len);
}

int slices_remove(struct store *s, u64 hour)
{
	char name[FILE_NAME_BYTES];

	if (s->hour == hour)
		slices_close(s);
	hour_file_name(hour, name);
	if (unlinkat(s->slices, name, 0) && errno != ENOENT)
		return -errno;
	return slices_forget(s, hour);
}
