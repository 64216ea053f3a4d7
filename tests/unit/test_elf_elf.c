/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "elf/elf.h"

static void *own_file(size_t *len)
{
	char *data;

	assert_int_equal(file_read("/proc/self/exe", 256u << 20, &data, len), 0);
	return data;
}

static void a_real_file_has_its_sections_and_segments(void **state)
{
	auto_close int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	auto_elf struct elf *e = NULL;
	size_t nr, nr_load = 0;

	assert_int_equal(elf_open_fd(fd, &e), 0);
	assert_true(elf_is_64(e));
	const struct elf_segment *segments = elf_segments(e, &nr);
	for (size_t i = 0; i < nr; i++)
		nr_load += segments[i].type == PT_LOAD;
	assert_true(nr_load >= 2);
	assert_non_null(elf_section_find(e, ".text"));
	assert_null(elf_section_find(e, ".no_such_section"));
	assert_int_equal(elf_section_find(e, ".symtab")->type, SHT_SYMTAB);
}

static void a_section_is_read_whole_or_not_at_all(void **state)
{
	auto_close int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	auto_elf struct elf *e = NULL;
	auto_free void *data = NULL;
	size_t len = 7;

	assert_int_equal(elf_open_fd(fd, &e), 0);
	const struct elf_section *interp = elf_section_find(e, ".interp");
	assert_int_equal(elf_section_read(e, interp, interp->size - 1, &data, &len), -EFBIG);
	assert_null(data);
	assert_int_equal(len, 7);
	assert_int_equal(elf_section_read(e, interp, interp->size, &data, &len), 0);
	assert_int_equal(len, interp->size);
	assert_int_equal(((char *)data)[0], '/');

	const struct elf_section *bss = elf_section_find(e, ".bss");
	void *none;
	assert_int_equal(elf_section_read(e, bss, SIZE_MAX, &none, &len), -ENODATA);
}

static int first_module(struct dl_phdr_info *info, size_t size, void *bias)
{
	*(u64 *)bias = info->dlpi_addr;
	return 1;
}

/* The first module that the dynamic linker reports is the program. */
static void the_bias_equals_the_dynamic_linkers(void **state)
{
	auto_close int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	auto_fclose FILE *maps = fopen("/proc/self/maps", "re");
	auto_elf struct elf *e = NULL;
	unsigned long start, end, off;
	u64 bias, want;
	char perms[8], line[4096];

	assert_int_equal(elf_open_fd(fd, &e), 0);
	dl_iterate_phdr(first_module, &want);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %7s %lx", &start, &end, perms, &off) != 4 ||
		    perms[2] != 'x')
			continue;
		assert_int_equal(elf_bias(e, start, off, &bias), 0);
		assert_int_equal(bias, want);
		/* A mapping split by mprotect has the same bias in its later part. */
		assert_int_equal(elf_bias(e, start + 4096, off + 4096, &bias), 0);
		assert_int_equal(bias, want);
		break;
	}
	assert_int_equal(elf_bias(e, 0x10000, 1ull << 40, &bias), -ENOENT);
}

static void the_vdso_is_read_from_memory(void **state)
{
	auto_elf struct elf *e = NULL;
	u8 id[ELF_BUILD_ID_MAX];
	size_t len;

	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	assert_int_equal(elf_open_memory(vdso, 4096, &e), 0);
	assert_int_equal(elf_build_id(e, id, &len), 0);
	assert_int_equal(len, 20);
}

/*
 * Each of `nr` sections of notes refers to the same 64 KB, except the last one, which has the id.
 */
static int build_id_behind(u16 nr)
{
	const struct {
		Elf64_Nhdr h;
		char name[4];
		u8 id[4];
	} note = { { 4, 4, NT_GNU_BUILD_ID }, "GNU", { 2, 3, 5, 7 } };
	const size_t notes_off = sizeof(Elf64_Ehdr) + 64 * sizeof(Elf64_Shdr);
	auto_free u8 *file = xcalloc(1, notes_off + sizeof(note) + (64 << 10));
	Elf64_Ehdr *h = (Elf64_Ehdr *)file;
	Elf64_Shdr *s = (Elf64_Shdr *)(h + 1);
	auto_elf struct elf *e = NULL;
	u8 id[ELF_BUILD_ID_MAX];
	size_t len;

	*h = (Elf64_Ehdr){ .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			   .e_shoff = sizeof(*h),
			   .e_shentsize = sizeof(*s),
			   .e_shnum = nr };
	for (u16 i = 0; i < nr; i++)
		s[i] = (Elf64_Shdr){ .sh_type = SHT_NOTE,
				     .sh_offset = notes_off + sizeof(note),
				     .sh_size = 64 << 10 };
	s[nr - 1].sh_offset = notes_off;
	s[nr - 1].sh_size = sizeof(note);
	memcpy(file + notes_off, &note, sizeof(note));
	assert_int_equal(elf_open_memory(file, notes_off + sizeof(note) + (64 << 10), &e), 0);
	return elf_build_id(e, id, &len);
}

static void a_build_id_is_searched_in_at_most_a_megabyte(void **state)
{
	assert_int_equal(build_id_behind(16), 0);
	assert_int_equal(build_id_behind(17), -ENOENT);
}

/* A minimal file: the header, a section table of three, names, and one section's bytes. */
static size_t make_file(u8 *to, const void *bytes, size_t len, u64 flags)
{
	static const char names[] = "\0.data\0.shstrtab";
	Elf64_Ehdr h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			 .e_shoff = sizeof(h),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 3,
			 .e_shstrndx = 2 };
	Elf64_Shdr s[3] = { { 0 }, { .sh_type = SHT_PROGBITS }, { .sh_type = SHT_STRTAB } };

	s[1].sh_name = 1;
	s[1].sh_flags = flags;
	s[1].sh_offset = sizeof(h) + sizeof(s) + sizeof(names);
	s[1].sh_size = len;
	s[2].sh_name = 7;
	s[2].sh_offset = sizeof(h) + sizeof(s);
	s[2].sh_size = sizeof(names);
	memcpy(to, &h, sizeof(h));
	memcpy(to + sizeof(h), s, sizeof(s));
	memcpy(to + s[2].sh_offset, names, sizeof(names));
	memcpy(to + s[1].sh_offset, bytes, len);
	return s[1].sh_offset + len;
}

static int read_compressed(u32 type, u64 claimed, size_t max, void **out, size_t *len)
{
	const char text[] = "the text that was compressed, the text that was compressed";
	u8 packed[256] = { 0 }, file[1024];
	Elf64_Chdr c = { .ch_type = type, .ch_size = claimed ? claimed : sizeof(text) };
	uLongf packed_len = sizeof(packed) - sizeof(c);
	auto_elf struct elf *e = NULL;

	memcpy(packed, &c, sizeof(c));
	compress(packed + sizeof(c), &packed_len, (const Bytef *)text, sizeof(text));
	size_t size = make_file(file, packed, sizeof(c) + packed_len, SHF_COMPRESSED);
	assert_int_equal(elf_open_memory(file, size, &e), 0);
	return elf_section_read(e, elf_section_find(e, ".data"), max, out, len);
}

static void a_compressed_section_is_decompressed_up_to_the_limit(void **state)
{
	auto_free void *data = NULL;
	size_t len;

	assert_int_equal(read_compressed(ELFCOMPRESS_ZLIB, 0, 4096, &data, &len), 0);
	assert_int_equal(len, 59);
	assert_string_equal(data, "the text that was compressed, the text that was compressed");

	void *none;
	assert_int_equal(read_compressed(ELFCOMPRESS_ZLIB, 8192, 4096, &none, &len), -EFBIG);
	assert_int_equal(read_compressed(ELFCOMPRESS_ZLIB, 11, 4096, &none, &len), -EBADMSG);
	assert_int_equal(read_compressed(ELFCOMPRESS_ZLIB, 997, 4096, &none, &len), -EBADMSG);
	assert_int_equal(read_compressed(2, 0, 4096, &none, &len), -ENOTSUP);
}

static void a_file_that_is_not_elf_is_refused(void **state)
{
	struct elf *e;
	auto_close int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	auto_close int script = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(elf_open_fd(pipes[0], &e), -ENOEXEC);
	assert_int_equal(elf_open_fd(null, &e), -ENOEXEC);
	assert_int_equal(elf_open_fd(script, &e), -ENOEXEC);
	assert_int_equal(elf_open_fd(-1, &e), -EBADF);
	assert_int_equal(elf_open_memory("\177ELF", 4, &e), -ENOEXEC);
	close(pipes[0]);
	close(pipes[1]);
}

/* Calls every function of the reader. Sections have a small limit to keep the many rounds fast. */
static void use_all(const void *data, size_t len)
{
	auto_elf struct elf *e = NULL;
	u8 id[ELF_BUILD_ID_MAX];
	size_t nr, got;
	u64 bias;

	if (elf_open_memory(data, len, &e))
		return;
	elf_build_id(e, id, &got);
	elf_bias(e, 0x7f0000001000, 0x1000, &bias);
	const struct elf_section *sections = elf_sections(e, &nr);
	for (size_t i = 0; i < nr; i++) {
		void *bytes;
		assert_in_range(strlen(sections[i].name), 0, len);
		if (!elf_section_read(e, &sections[i], 8192, &bytes, &got))
			free(bytes);
	}
}

static void a_truncated_file_gives_a_clean_error(void **state)
{
	size_t len;
	auto_free u8 *data = own_file(&len);

	/* Truncation matters most within the header and within the section table at the end. */
	for (size_t cut = 0; cut < len; cut += cut < 8192 || len - cut < 8192 ? 97 : 9700) {
		auto_free u8 *copy = xmemdup(data, cut + 1);
		use_all(copy, cut);
	}
}

static void a_file_with_flipped_bits_does_no_harm(void **state)
{
	size_t len;
	auto_free u8 *data = own_file(&len);
	Elf64_Ehdr h;

	memcpy(&h, data, sizeof(h));
	srand(7);
	for (int round = 0; round < 2003; round++) {
		size_t tables[] = { 0, h.e_shoff, 4096 };
		size_t at = tables[round % 3] + (size_t)rand() % 2048;
		if (at >= len)
			continue;
		u8 old = data[at];
		data[at] ^= (u8)(1 << rand() % 8);
		use_all(data, len);
		data[at] = round % 2 ? old : data[at]; /* damage accumulates */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_real_file_has_its_sections_and_segments),
		cmocka_unit_test(a_section_is_read_whole_or_not_at_all),
		cmocka_unit_test(the_bias_equals_the_dynamic_linkers),
		cmocka_unit_test(the_vdso_is_read_from_memory),
		cmocka_unit_test(a_build_id_is_searched_in_at_most_a_megabyte),
		cmocka_unit_test(a_compressed_section_is_decompressed_up_to_the_limit),
		cmocka_unit_test(a_file_that_is_not_elf_is_refused),
		cmocka_unit_test(a_truncated_file_gives_a_clean_error),
		cmocka_unit_test(a_file_with_flipped_bits_does_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
