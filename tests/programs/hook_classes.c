/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the agent's hooks to all methods of class files.
 *
 *	hook_classes entered|lasted|both CLASS_OF_HOOK < NAMES
 *
 * Changes the files whose names it reads, line by line. Writes the class of the hooks to
 * CLASS_OF_HOOK. No call lasts long enough for its native method. Prints the number of classes, of
 * methods with code, and of those without hooks.
 */
/* BUILD-FLAGS: -I. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jvmmap/bytecode.c"
#include "jvmmap/classedit.c"
#include "jvmmap/classfile.c"
#include "jvmmap/codehook.c"

#define METHODS_MAX 8192
#define FILE_MAX    (16 << 20)
#define HOOK        "java/lang/Sysflame"

static unsigned long nr_classes, nr_methods, nr_left;

static size_t read_all(const char *path, uint8_t *out)
{
	FILE *f = fopen(path, "rb");
	size_t len = f ? fread(out, 1, FILE_MAX, f) : 0;

	if (f)
		fclose(f);
	return len;
}

static void write_all(const char *path, const uint8_t *bytes, size_t len)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(bytes, 1, len, f) != len || fclose(f)) {
		perror(path);
		exit(1);
	}
}

/* Collects the names of methods with code, each once. Returns their number. */
static int find_methods(struct editor *e, uint32_t wants, struct class_method *out)
{
	int nr = 0;

	for (int is_method = 0; is_method < 2; is_method++) {
		uint32_t nr_members = take_u16(&e->in);
		for (uint32_t i = 0; i < nr_members; i++) {
			take_u16(&e->in);
			struct input name = text_of(e, take_u16(&e->in));
			take_u16(&e->in);
			int has_code = 0, k = 0;
			for (uint32_t left = take_u16(&e->in); left; left--) {
				has_code |= IS_TEXT(e, take_u16(&e->in), "Code");
				take_part(&e->in, take_u32(&e->in));
			}
			size_t len = (size_t)(name.end - name.at);
			if (!is_method || !has_code ||
			    (len == 8 && !memcmp(name.at, "<clinit>", 8)))
				continue;
			while (k < nr && (out[k].len != len || memcmp(out[k].name, name.at, len)))
				k++;
			if (k == nr && nr < METHODS_MAX)
				out[nr++] = (struct class_method){ .name = (const char *)name.at,
								   .len = len,
								   .number = (uint32_t)nr + 1,
								   .wants = wants,
								   .min_ns = INT64_MAX };
		}
	}
	return nr;
}

static void hook_file(const char *path, uint32_t wants)
{
	static uint8_t file[FILE_MAX], out[FILE_MAX];
	static uint32_t work[65536 + 32768 + 65536];
	static struct class_method methods[METHODS_MAX];
	size_t len = read_all(path, file);
	struct class_hook none = { HOOK, methods, 0 }, hook = none;
	struct editor e = { { file, file + len, 0 }, .file = file, .places = work, .hook = &none };

	if (!class_work(file, len)) {
		fprintf(stderr, "%s: no class file\n", path);
		exit(1);
	}
	take_u32(&e.in);
	take_u32(&e.in);
	find_constants(&e, take_u16(&e.in));
	take_part(&e.in, 6);
	take_part(&e.in, 2 * (size_t)take_u16(&e.in));
	hook.nr = find_methods(&e, wants, methods);
	size_t counted = class_hook(file, len, &hook, work, NULL, 0);
	if (counted > FILE_MAX || class_hook(file, len, &hook, work, out, counted) != counted) {
		fprintf(stderr, "%s: %zu bytes\n", path, counted);
		exit(1);
	}
	nr_classes++;
	nr_methods += (unsigned long)hook.nr;
	for (int i = 0; i < hook.nr; i++)
		if (methods[i].hooked != wants) {
			printf("left %s %.*s\n", path, (int)methods[i].len, methods[i].name);
			nr_left++;
		}
	if (counted)
		write_all(path, out, counted);
}

int main(int argc, char **argv)
{
	static char line[4096];
	uint8_t class[CLASS_BYTES];

	if (argc != 3)
		return 2;
	uint32_t wants = !strcmp(argv[1], "entered")  ? CLASS_ENTERED
			 : !strcmp(argv[1], "lasted") ? CLASS_LASTED
						      : CLASS_ENTERED | CLASS_LASTED;
	write_all(argv[2], class, class_of_hook(HOOK, class));
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		hook_file(line, wants);
	}
	printf("classes %lu\nmethods %lu\nleft %lu\n", nr_classes, nr_methods, nr_left);
	return 0;
}
