/* SPDX-License-Identifier: Apache-2.0 */
/* Headers, sections, notes and the load bias of ELF files. */
#include "elf/elf.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/alloc.h"

/*
 * Limits, far above the numbers that linkers write. A section table of the largest size takes 4 MB.
 */
#define MAX_SEGMENTS 256
#define MAX_SECTIONS 65536
#define MAX_NAMES    (4u << 20)
#define MAX_NOTES    (64u << 10) /* bytes of one section */
#define MAX_ALL      (1u << 20)  /* bytes of notes that are searched for the build id */

struct elf {
	int fd; /* -1: `data` holds the file */
	const u8 *data;
	u64 size;
	Elf64_Ehdr header; /* widened if the file is 32-bit */
	bool is_64;
	struct elf_segment *segments;
	size_t nr_segments;
	struct elf_section *sections;
	size_t nr_sections;
	char *names; /* section names; ends in a NUL */
	size_t names_len;
};

int elf_read_at(const struct elf *e, u64 off, void *buf, size_t len)
{
	if (off > e->size || len > e->size - off)
		return -EBADMSG;
	if (e->fd < 0) {
		if (len)
			memcpy(buf, e->data + off, len);
		return 0;
	}
	for (size_t nr = 0; nr < len;) {
		ssize_t got = pread(e->fd, (char *)buf + nr, len - nr, (off_t)(off + nr));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -EBADMSG;
		nr += (size_t)got;
	}
	return 0;
}

static void widen_header(Elf64_Ehdr *to, const Elf32_Ehdr *from)
{
	memcpy(to->e_ident, from->e_ident, EI_NIDENT);
	to->e_type = from->e_type;
	to->e_machine = from->e_machine;
	to->e_phoff = from->e_phoff;
	to->e_shoff = from->e_shoff;
	to->e_phentsize = from->e_phentsize;
	to->e_phnum = from->e_phnum;
	to->e_shentsize = from->e_shentsize;
	to->e_shnum = from->e_shnum;
	to->e_shstrndx = from->e_shstrndx;
}

static int read_header(struct elf *e)
{
	u8 ident[EI_NIDENT];

	if (elf_read_at(e, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG) ||
	    ident[EI_DATA] != ELFDATA2LSB || ident[EI_VERSION] != EV_CURRENT)
		return -ENOEXEC;
	if (ident[EI_CLASS] == ELFCLASS64) {
		e->is_64 = true;
		return elf_read_at(e, 0, &e->header, sizeof(e->header));
	}
	if (ident[EI_CLASS] != ELFCLASS32)
		return -ENOEXEC;

	Elf32_Ehdr narrow;
	int err = elf_read_at(e, 0, &narrow, sizeof(narrow));
	if (!err)
		widen_header(&e->header, &narrow);
	return err;
}

static struct elf_segment segment_of(const struct elf *e, const void *raw)
{
	if (e->is_64) {
		Elf64_Phdr p;
		memcpy(&p, raw, sizeof(p));
		return (struct elf_segment){ p.p_type,  p.p_flags,  p.p_offset,
					     p.p_vaddr, p.p_filesz, p.p_memsz };
	}
	Elf32_Phdr p;
	memcpy(&p, raw, sizeof(p));
	return (struct elf_segment){ p.p_type,  p.p_flags,  p.p_offset,
				     p.p_vaddr, p.p_filesz, p.p_memsz };
}

static struct elf_section section_of(const struct elf *e, const void *raw, u32 *name)
{
	if (e->is_64) {
		Elf64_Shdr s;
		memcpy(&s, raw, sizeof(s));
		*name = s.sh_name;
		return (struct elf_section){ "",           s.sh_type,   s.sh_flags,
					     s.sh_addr,    s.sh_offset, s.sh_size,
					     s.sh_entsize, s.sh_link,   s.sh_info };
	}
	Elf32_Shdr s;
	memcpy(&s, raw, sizeof(s));
	*name = s.sh_name;
	return (struct elf_section){ "",        s.sh_type,    s.sh_flags, s.sh_addr, s.sh_offset,
				     s.sh_size, s.sh_entsize, s.sh_link,  s.sh_info };
}

/* The first section header holds counts that do not fit into the file's header. */
static void read_large_counts(const struct elf *e, u64 *nr_segments, u64 *nr_sections, u32 *strndx)
{
	u8 raw[sizeof(Elf64_Shdr)];
	size_t entsize = e->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	u32 name;

	*nr_segments = e->header.e_phnum;
	*nr_sections = e->header.e_shnum;
	*strndx = e->header.e_shstrndx;
	if (!e->header.e_shoff || elf_read_at(e, e->header.e_shoff, raw, entsize))
		return;

	struct elf_section first = section_of(e, raw, &name);
	if (*nr_segments == PN_XNUM)
		*nr_segments = first.info;
	if (*nr_sections == 0)
		*nr_sections = first.size;
	if (*strndx == SHN_XINDEX)
		*strndx = first.link;
}

static int read_segments(struct elf *e, u64 nr)
{
	size_t entsize = e->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);

	if (!nr || !e->header.e_phoff)
		return 0;
	if (nr > MAX_SEGMENTS)
		return -EFBIG;
	if (e->header.e_phentsize != entsize)
		return -EBADMSG;

	auto_free u8 *raw = xmalloc(nr * entsize);
	int err = elf_read_at(e, e->header.e_phoff, raw, nr * entsize);
	if (err)
		return err;
	e->segments = xcalloc(nr, sizeof(e->segments[0]));
	e->nr_segments = nr;
	for (size_t i = 0; i < nr; i++)
		e->segments[i] = segment_of(e, raw + i * entsize);
	return 0;
}

static void read_names(struct elf *e, u32 strndx, const u32 *names)
{
	if (strndx >= e->nr_sections)
		return;

	const struct elf_section *s = &e->sections[strndx];
	if (s->type != SHT_STRTAB || s->size > MAX_NAMES)
		return;

	auto_free char *text = xmalloc(s->size + 1);
	if (elf_read_at(e, s->file_off, text, s->size))
		return;
	text[s->size] = '\0';
	e->names_len = s->size;
	e->names = take(text);
	for (size_t i = 0; i < e->nr_sections; i++)
		if (names[i] < e->names_len)
			e->sections[i].name = e->names + names[i];
}

/* A missing or unusable section table is not an error: such a file still runs. */
static void read_sections(struct elf *e, u64 nr, u32 strndx)
{
	size_t entsize = e->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);

	if (!nr || nr > MAX_SECTIONS || !e->header.e_shoff || e->header.e_shentsize != entsize)
		return;

	auto_free u8 *raw = xmalloc(nr * entsize);
	if (elf_read_at(e, e->header.e_shoff, raw, nr * entsize))
		return;

	auto_free u32 *names = xcalloc(nr, sizeof(names[0]));
	e->sections = xcalloc(nr, sizeof(e->sections[0]));
	e->nr_sections = nr;
	for (size_t i = 0; i < nr; i++)
		e->sections[i] = section_of(e, raw + i * entsize, &names[i]);
	read_names(e, strndx, names);
}

/* Takes ownership of `opened`. */
static int read_all(struct elf *opened, struct elf **out)
{
	auto_elf struct elf *e = opened;
	u64 nr_segments, nr_sections;
	u32 strndx;

	int err = read_header(e);
	if (err)
		return err;
	read_large_counts(e, &nr_segments, &nr_sections, &strndx);
	err = read_segments(e, nr_segments);
	if (err)
		return err;
	read_sections(e, nr_sections, strndx);
	*out = take(e);
	return 0;
}

int elf_open_fd(int fd, struct elf **out)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;

	struct elf *e = xcalloc(1, sizeof(*e));
	e->fd = fd;
	e->size = st.st_size > 0 ? (u64)st.st_size : 0;
	return read_all(e, out);
}

int elf_open_memory(const void *data, size_t len, struct elf **out)
{
	struct elf *e = xcalloc(1, sizeof(*e));

	e->fd = -1;
	e->data = data;
	e->size = len;
	return read_all(e, out);
}

void elf_free(struct elf *e)
{
	if (!e)
		return;
	free(e->segments);
	free(e->sections);
	free(e->names);
	free(e);
}

u16 elf_machine(const struct elf *e)
{
	return e->header.e_machine;
}

u64 elf_entry(const struct elf *e)
{
	return e->header.e_entry;
}

bool elf_is_64(const struct elf *e)
{
	return e->is_64;
}

const struct elf_segment *elf_segments(const struct elf *e, size_t *nr)
{
	*nr = e->nr_segments;
	return e->segments;
}

const struct elf_segment *elf_segment_of(const struct elf *e, u64 vaddr, u64 *left)
{
	for (size_t i = 0; i < e->nr_segments; i++) {
		const struct elf_segment *s = &e->segments[i];
		if (s->type == PT_LOAD && vaddr >= s->vaddr && vaddr - s->vaddr < s->filesz) {
			*left = s->filesz - (vaddr - s->vaddr);
			return s;
		}
	}
	return NULL;
}

int elf_read_vaddr(const struct elf *e, u64 vaddr, void *buf, size_t len)
{
	u64 left;
	const struct elf_segment *s = elf_segment_of(e, vaddr, &left);

	if (!s || len > left)
		return -EBADMSG;
	return elf_read_at(e, s->file_off + (vaddr - s->vaddr), buf, len);
}

const struct elf_section *elf_sections(const struct elf *e, size_t *nr)
{
	*nr = e->nr_sections;
	return e->sections;
}

const struct elf_section *elf_section_find(const struct elf *e, const char *name)
{
	for (size_t i = 1; i < e->nr_sections; i++)
		if (!strcmp(e->sections[i].name, name))
			return &e->sections[i];
	return NULL;
}

static int inflate_all(const u8 *from, size_t from_len, u8 *to, size_t to_len)
{
	z_stream z = { .next_in = (u8 *)from, .next_out = to };

	/* zlib counts in 32 bits; all limits of callers are far below that. */
	if (from_len > UINT32_MAX || to_len > UINT32_MAX)
		return -EFBIG;
	z.avail_in = (u32)from_len;
	z.avail_out = (u32)to_len;
	if (inflateInit(&z) != Z_OK)
		return -EBADMSG;
	int status = inflate(&z, Z_FINISH);
	bool is_whole = status == Z_STREAM_END && z.avail_out == 0;
	inflateEnd(&z);
	return is_whole ? 0 : -EBADMSG;
}

static int decompress(const struct elf *e, const u8 *raw, size_t raw_len, size_t max, void **out,
		      size_t *len)
{
	size_t header = e->is_64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	u32 type;
	u64 size;

	if (raw_len < header)
		return -EBADMSG;
	if (e->is_64) {
		Elf64_Chdr c;
		memcpy(&c, raw, sizeof(c));
		type = c.ch_type;
		size = c.ch_size;
	} else {
		Elf32_Chdr c;
		memcpy(&c, raw, sizeof(c));
		type = c.ch_type;
		size = c.ch_size;
	}
	if (type != ELFCOMPRESS_ZLIB)
		return -ENOTSUP;
	if (size > max)
		return -EFBIG;

	auto_free u8 *to = xmalloc(size ? size : 1);
	int err = inflate_all(raw + header, raw_len - header, to, size);
	if (err)
		return err;
	*len = size;
	*out = take(to);
	return 0;
}

int elf_section_read(const struct elf *e, const struct elf_section *s, size_t max, void **out,
		     size_t *len)
{
	if (s->type == SHT_NOBITS)
		return -ENODATA;
	if (s->size > max)
		return -EFBIG;
	if (s->file_off > e->size || s->size > e->size - s->file_off)
		return -EBADMSG;

	auto_free u8 *raw = xmalloc(s->size ? s->size : 1);
	int err = elf_read_at(e, s->file_off, raw, s->size);
	if (err)
		return err;
	if (s->flags & SHF_COMPRESSED)
		return decompress(e, raw, s->size, max, out, len);
	*len = s->size;
	*out = take(raw);
	return 0;
}

/* Searches a block of notes. Names and descriptions are padded to 4 bytes. */
static int find_build_id(const u8 *notes, size_t size, u8 out[ELF_BUILD_ID_MAX], size_t *len)
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);

		u64 name_len = ((u64)note.n_namesz + 3) & ~3ull;
		u64 desc_len = ((u64)note.n_descsz + 3) & ~3ull;
		if (name_len > size - at || note.n_descsz > size - at - name_len)
			return -ENOENT;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(notes + at, "GNU", 4) && note.n_descsz &&
		    note.n_descsz <= ELF_BUILD_ID_MAX) {
			memcpy(out, notes + at + name_len, note.n_descsz);
			*len = note.n_descsz;
			return 0;
		}
		if (desc_len > size - at - name_len)
			return -ENOENT;
		at += name_len + desc_len;
	}
	return -ENOENT;
}

/*
 * `left` is the rest of the reading budget: 65,536 sections of a hostile file may all refer to the
 * same bytes.
 */
static int build_id_at(const struct elf *e, u64 off, u64 size, size_t *left,
		       u8 out[ELF_BUILD_ID_MAX], size_t *len)
{
	if (size > MAX_NOTES || size > *left)
		return -ENOENT;
	*left -= size;

	auto_free u8 *notes = xmalloc(size ? size : 1);
	if (elf_read_at(e, off, notes, size))
		return -ENOENT;
	return find_build_id(notes, size, out, len);
}

int elf_build_id(const struct elf *e, u8 out[ELF_BUILD_ID_MAX], size_t *len)
{
	size_t left = MAX_ALL;

	/* Sections first: in a separate debug file the offsets of segments are meaningless. */
	for (size_t i = 0; i < e->nr_sections; i++) {
		const struct elf_section *s = &e->sections[i];
		if (s->type == SHT_NOTE && !build_id_at(e, s->file_off, s->size, &left, out, len))
			return 0;
	}
	for (size_t i = 0; i < e->nr_segments; i++) {
		const struct elf_segment *p = &e->segments[i];
		if (p->type == PT_NOTE && !build_id_at(e, p->file_off, p->filesz, &left, out, len))
			return 0;
	}
	return -ENOENT;
}

/*
 * How well a segment matches a mapping; 0 if not at all. Adjacent segments may share a page of the
 * file.
 */
static int bias_score(const struct elf_segment *p, u64 map_file_off, u64 page)
{
	u64 start = p->file_off & ~(page - 1);

	if (p->type != PT_LOAD || map_file_off < start ||
	    map_file_off - start >= p->filesz + (p->file_off - start))
		return 0;
	return 1 + 2 * (p->flags & PF_X ? 1 : 0) + (map_file_off == start ? 1 : 0);
}

int elf_bias_of(const struct elf_segment *segments, size_t nr, u64 map_start, u64 map_file_off,
		u64 *out)
{
	u64 page = (u64)sysconf(_SC_PAGESIZE);
	int best = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct elf_segment *p = &segments[i];
		int score = bias_score(p, map_file_off, page);
		if (score > best) {
			best = score;
			*out = map_start - (p->vaddr + map_file_off - p->file_off);
		}
	}
	return best ? 0 : -ENOENT;
}

int elf_bias(const struct elf *e, u64 map_start, u64 map_file_off, u64 *out)
{
	return elf_bias_of(e->segments, e->nr_segments, map_start, map_file_off, out);
}
