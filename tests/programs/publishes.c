/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publishes SERVICE KIND [FORGERY]: works, and publishes a process context in a mapping of that
 * kind (publish.h). At SIGUSR1 it publishes the service SERVICE-again. FORGERY is a damaged
 * context. Prints a line once it has published, or that the
 * kernel cannot name such a mapping.
 */
#include <signal.h>

#include "publish.h"

static volatile sig_atomic_t is_asked;

static void ask(int signal)
{
	is_asked = signal;
}

static volatile unsigned sum;

__attribute__((noinline)) static void work(void)
{
	for (unsigned i = 0; i < 100000; i++)
		sum += i;
}

/* Damages the header or the payload. */
static void forge(struct otel_header *h, struct otel_bytes *payload, const char *how)
{
	if (!strcmp(how, "huge"))
		otel_publish(h, payload->at, 0xffffffff);
	else if (!strcmp(how, "long"))
		otel_publish(h, payload->at, 65536); /* more than is mapped behind it */
	else if (!strcmp(how, "wild"))
		h->payload = 0xdead00000000;
	else if (!strcmp(how, "torn"))
		atomic_store(&h->published_ns, 0);
	else if (!strcmp(how, "version"))
		h->version = 3;
	else if (!strcmp(how, "lengths"))
		memset(payload->at + 1, 0xff, payload->len - 1);
	else if (!strcmp(how, "deep")) /* messages in messages */
		for (size_t i = 0; i + 1 < sizeof(payload->at); i += 2)
			payload->at[i] = 0x0a, payload->at[i + 1] = 0x7f;
	else if (!strcmp(how, "signature"))
		h->signature[0] = 'X';
}

int main(int argc, char **argv)
{
	static struct otel_bytes first, second;
	char again[128];

	if (argc < 3)
		return 2;
	struct otel_header *h = otel_map(argv[2]);
	if (!h) {
		puts("impossible");
		return 1;
	}
	signal(SIGUSR1, ask);
	otel_service(&first, argv[1], "1.2.3");
	otel_publish(h, first.at, (uint32_t)first.len);
	if (argc > 3)
		forge(h, &first, argv[3]);
	puts("published");
	fflush(stdout);
	for (;;) {
		work();
		if (!is_asked)
			continue;
		is_asked = 0;
		snprintf(again, sizeof(again), "%s-again", argv[1]);
		otel_service(&second, again, "1.2.4");
		otel_publish(h, second.at, (uint32_t)second.len);
		puts("published again");
		fflush(stdout);
	}
}
