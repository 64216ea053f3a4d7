/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and checks separate debug files. */
#include "elf/debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"

#define MAX_EMBEDDED_XZ (16u << 20)
#define MAX_EMBEDDED    (64u << 20)
#define MAX_XZ_MEMORY   (72u << 20) /* memory that files of `xz -9` need for decompression */
#define MAX_CHECKED     (256u << 20)
#define MAX_LINK        4096

bool debugfile_is_trusted(int fd, uid_t owner)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	       (st.st_uid == 0 || st.st_uid == geteuid() || st.st_uid == owner);
}

/* Whether the path has the form ".build-id/ab/cdef.debug", which cannot lead out of the folder. */
static bool is_by_build_id(const char *path)
{
	static const char start[] = ".build-id/", end[] = ".debug";
	size_t len = strlen(path);

	if (len < sizeof(start) + sizeof(end) || memcmp(path, start, sizeof(start) - 1) ||
	    strcmp(path + len - (sizeof(end) - 1), end))
		return false;
	len -= sizeof(start) + sizeof(end) - 2;
	return strspn(path + sizeof(start) - 1, "0123456789abcdef/") == len;
}

int debugfile_open_host(const char *root, enum debug_place place, const char *path)
{
	auto_close int host = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (host < 0 || place == DEBUG_IN_PROCESS ||
	    (place == DEBUG_BY_BUILD_ID && !is_by_build_id(path)))
		return -ENOENT;
	auto_close int fd = place == DEBUG_BY_LINK ? file_open_below(host, path)
						   : file_open_regular(host, path, 0);
	if (fd < 0)
		return fd;
	return debugfile_is_trusted(fd, 0) ? take_fd(fd) : -EPERM;
}

static bool has_build_id(int fd, const u8 *id, size_t len)
{
	auto_elf struct elf *e = NULL;
	u8 other[ELF_BUILD_ID_MAX];
	size_t other_len;

	return !elf_open_fd(fd, &e) && !elf_build_id(e, other, &other_len) && other_len == len &&
	       !memcmp(id, other, len);
}

static int open_by_build_id(const struct elf *module, const struct debug_places *in,
			    enum debug_place place)
{
	static const char digits[] = "0123456789abcdef";
	u8 id[ELF_BUILD_ID_MAX];
	char hex[2 * ELF_BUILD_ID_MAX + 1] = { 0 };
	size_t len;

	if (elf_build_id(module, id, &len) || len < 2)
		return -ENOENT;
	for (size_t i = 0; i < len; i++) {
		hex[2 * i] = digits[id[i] >> 4];
		hex[2 * i + 1] = digits[id[i] & 15];
	}
	auto_free char *path =
		xasprintf("%s.build-id/%.2s/%s.debug",
			  place == DEBUG_IN_PROCESS ? DEBUG_ROOT "/" : "", hex, hex + 2);
	auto_close int fd = in->open(place, path, in->ctx);
	if (fd < 0)
		return fd == -ENOTDIR ? -ENOENT : fd;
	if (!has_build_id(fd, id, len))
		return -ESTALE;
	return take_fd(fd);
}

/* .gnu_debuglink: a file name, a NUL, padding to 4 bytes, the CRC-32 of the file. */
static int read_link(const struct elf *module, char **name, u32 *crc)
{
	const struct elf_section *s = elf_section_find(module, ".gnu_debuglink");
	auto_free char *data = NULL;
	size_t len;

	if (!s)
		return -ENOENT;
	int err = elf_section_read(module, s, MAX_LINK, (void **)&data, &len);
	if (err)
		return err;
	size_t name_len = strnlen(data, len), crc_at = (name_len + 1 + 3) & ~(size_t)3;
	if (len < sizeof(*crc) || crc_at > len - sizeof(*crc))
		return -EBADMSG;
	if (!name_len || strchr(data, '/') || !strcmp(data, ".") || !strcmp(data, ".."))
		return -EBADMSG;
	memcpy(crc, data + crc_at, sizeof(*crc));
	*name = take(data);
	return 0;
}

static int check_crc(int fd, u32 want)
{
	auto_free u8 *buf = xmalloc(1 << 20);
	uLong crc = crc32(0, NULL, 0);
	size_t total = 0;
	ssize_t got;

	while ((got = pread(fd, buf, 1 << 20, (off_t)total)) > 0) {
		crc = crc32(crc, buf, (uInt)got);
		total += (size_t)got;
		if (total > MAX_CHECKED)
			return -EFBIG;
	}
	return got < 0 ? -errno : crc == want ? 0 : -ESTALE;
}

static int open_linked(const struct elf *module, const struct debug_places *in,
		       enum debug_place place, const char *path, u32 crc)
{
	u8 id[ELF_BUILD_ID_MAX];
	size_t len;

	auto_close int fd = in->open(place, path, in->ctx);
	if (fd < 0)
		return fd;
	if (!elf_build_id(module, id, &len)) {
		if (!has_build_id(fd, id, len))
			return -ESTALE;
	} else {
		int err = check_crc(fd, crc);
		if (err)
			return err;
	}
	return take_fd(fd);
}

static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return xstrndup(path, slash ? (size_t)(slash - path) : 0);
}

static int open_by_link(const struct elf *module, const struct debug_places *in,
			enum debug_place place)
{
	static const char *const folders[] = { "", "/.debug" };
	auto_free char *name = NULL, *dir = folder_of(in->path);
	int worst = -ENOENT;
	u32 crc;

	int err = read_link(module, &name, &crc);
	if (err)
		return err;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		auto_free char *path = xasprintf("%s%s/%s", dir, folders[i], name);
		int fd = open_linked(module, in, place, path, crc);
		if (fd >= 0)
			return fd;
		if (fd != -ENOENT && fd != -ENOTDIR)
			worst = fd;
	}
	return worst;
}

int debugfile_find(const struct elf *module, const struct debug_places *in)
{
	int fd = open_by_build_id(module, in, DEBUG_BY_BUILD_ID);

	if (fd < 0)
		fd = open_by_link(module, in, DEBUG_BY_LINK);
	if (fd < 0)
		fd = open_by_build_id(module, in, DEBUG_IN_PROCESS);
	return fd >= 0 ? fd : open_by_link(module, in, DEBUG_IN_PROCESS);
}

static int unpack(lzma_stream *xz, void **out, size_t *len)
{
	size_t cap = 1 << 20;
	auto_free u8 *data = xmalloc(cap);
	lzma_ret status = LZMA_OK;

	xz->next_out = data;
	xz->avail_out = cap;
	while ((status = lzma_code(xz, LZMA_FINISH)) == LZMA_OK && !xz->avail_out) {
		if (cap >= MAX_EMBEDDED)
			return -EFBIG;
		data = xreallocarray(data, cap * 2, 1);
		xz->next_out = data + cap;
		xz->avail_out = cap;
		cap *= 2;
	}
	if (status != LZMA_STREAM_END)
		return status == LZMA_MEMLIMIT_ERROR ? -EFBIG : -EBADMSG;
	*len = cap - xz->avail_out;
	*out = take(data);
	return 0;
}

int debugfile_embedded(const struct elf *module, void **out, size_t *len)
{
	const struct elf_section *s = elf_section_find(module, ".gnu_debugdata");
	lzma_stream xz = LZMA_STREAM_INIT;
	auto_free void *packed = NULL;
	size_t packed_len;

	if (!s)
		return -ENOENT;
	int err = elf_section_read(module, s, MAX_EMBEDDED_XZ, &packed, &packed_len);
	if (err)
		return err;
	if (lzma_stream_decoder(&xz, MAX_XZ_MEMORY, 0) != LZMA_OK)
		return -ENOMEM;
	xz.next_in = packed;
	xz.avail_in = packed_len;
	err = unpack(&xz, out, len);
	lzma_end(&xz);
	return err;
}
