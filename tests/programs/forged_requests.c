/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forged_requests HOW [FILE]: maps the file, works, and publishes contexts of its thread that are
 * damaged or meant to do harm (OpenTelemetry's OTEP 4947). Prints a line once it has published.
 */
/* BUILD-FLAGS: -rdynamic */
#include <fcntl.h>

#include "publish.h"

__thread const void *otel_thread_ctx_v1;

struct record {
	unsigned char trace[16], span[8], valid, flags;
	uint16_t attributes_bytes;
	unsigned char attributes[65536];
} __attribute__((packed, aligned(2)));

static struct record record = { .trace = { 1 }, .span = { 1 }, .valid = 1 };
static volatile unsigned sum;

__attribute__((noinline)) static void work(void)
{
	for (unsigned i = 0; i < 100000; i++)
		sum += i;
}

static void add_attribute(int key, const void *value, size_t len)
{
	unsigned char *at = record.attributes + record.attributes_bytes;

	at[0] = (unsigned char)key;
	at[1] = (unsigned char)len;
	memcpy(at + 2, value, len);
	record.attributes_bytes = (uint16_t)(record.attributes_bytes + 2 + len);
}

static void set_route(const char *route)
{
	record.valid = 0;
	record.attributes_bytes = 0;
	add_attribute(0, route, strlen(route));
	record.valid = 1;
}

/* The last bytes of a page, behind which nothing is mapped. */
static unsigned char *end_of_memory(void)
{
	size_t page = (size_t)getpagesize();
	unsigned char *at =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(at + page, page);
	return at + page;
}

static const void *damaged_pointer(const char *how)
{
	unsigned char *end;

	if (!strcmp(how, "wild"))
		return (const void *)0xdead00000000;
	if (!strcmp(how, "kernel"))
		return (const void *)0xffffffff81000000;
	if (!strcmp(how, "one"))
		return (const void *)1;
	if (!strcmp(how, "itself"))
		return &otel_thread_ctx_v1;
	if (!strcmp(how, "edge")) { /* the head is there, its attributes are not */
		end = end_of_memory() - 28;
		memcpy(end, &record, 28);
		return end;
	}
	if (!strcmp(how, "half")) {
		end = end_of_memory() - 9;
		memcpy(end, &record, 9);
		return end;
	}
	if (!strcmp(how, "zeros"))
		return mmap(NULL, 65536, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return &record;
}

/* What differs from call to call. */
static void change(const char *how, unsigned number)
{
	char text[240];

	if (!strcmp(how, "values")) {
		memset(text, 'v', sizeof(text));
		snprintf(text + 200, 40, "%u", number);
		set_route(text);
	} else if (!strcmp(how, "bytes")) { /* random content */
		record.valid = 0;
		for (int i = 0; i < 600; i++)
			record.attributes[i] = (unsigned char)(rand() % 3 ? rand() % 4 : rand());
		record.attributes_bytes = (uint16_t)(rand() % 613);
		record.valid = 1;
	}
}

int main(int argc, char **argv)
{
	static const char *const keys[] = { "http.route", "user" };
	static const char *const others[] = { "user", "http.route" };
	static struct otel_bytes payload, again;
	int fd = argc > 2 ? open(argv[2], O_RDONLY) : -1;
	struct otel_header *h = otel_map("memfd");

	if (argc < 2 || !h)
		return 1;
	otel_text(&payload, 2, "threadlocal.schema_version",
		  strcmp(argv[1], "schema") ? "tlsdesc_v1_dev" : "of_tomorrow");
	otel_texts(&payload, 2, "threadlocal.attribute_key_map", keys, 2);
	set_route("/forged");
	if (!strcmp(argv[1], "sizes")) /* 65,535 bytes: 21,845 attributes */
		record.attributes_bytes = 0xffff;
	else if (!strcmp(argv[1], "cut"))
		record.attributes[1] = 200;
	else if (!strcmp(argv[1], "unknown"))
		record.attributes[0] = 77;
	else if (!strcmp(argv[1], "markup"))
		set_route("</script><b>x");
	else if (!strcmp(argv[1], "invalid"))
		record.valid = 2;
	if (fd >= 0) /* below the program */
		mmap((void *)0x10000000, (size_t)lseek(fd, 0, SEEK_END), PROT_READ, MAP_PRIVATE, fd,
		     0);
	otel_thread_ctx_v1 = damaged_pointer(argv[1]);
	otel_publish(h, payload.at, (uint32_t)payload.len);
	puts("published");
	fflush(stdout);
	for (unsigned number = 0;; number++) {
		work();
		change(argv[1], number);
		if (strcmp(argv[1], "keys") || number % 1000)
			continue;
		again.len = 0;
		otel_text(&again, 2, "threadlocal.schema_version", "tlsdesc_v1_dev");
		otel_texts(&again, 2, "threadlocal.attribute_key_map",
			   number / 1000 % 2 ? others : keys, 2);
		otel_publish(h, again.at, (uint32_t)again.len);
	}
}
