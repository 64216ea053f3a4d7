/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests [THREADS [SECONDS [silent]]]: threads that serve eight routes by turns, for 100 us each,
 *and publish each request as OpenTelemetry's OTEP 4947 describes, independent of sysflame's reader.
 * The functions route_0 to route_7 serve the routes; each uses CPU time, waits and allocates in
 * planted shares. Prints a line once it has published, and at SIGUSR1 or the end the truth: "ROUTE
 * CPU_NS WAIT_NS BYTES" for each route. A silent one writes its records, but publishes nothing.
 *
 * The variable is in the program. Other variants are built from this file, too:
 *	-DSLOT		only the variable and request_slot(), as a library
 *	-DELSEWHERE	without the variable: from a linked library, or from the one in $SLOT, which
 *			is loaded after $SLOT_MS
 */
/* BUILD-FLAGS: -rdynamic -ldl */
#ifdef SLOT

__thread const void *otel_thread_ctx_v1;

const void **request_slot(void)
{
	return &otel_thread_ctx_v1;
}

#else

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include "request_record.h"

#ifdef ELSEWHERE
extern const void **request_slot(void) __attribute__((weak));
static const void **(*slot)(void) = request_slot;
#else
__thread const void *otel_thread_ctx_v1;

static const void **own_slot(void)
{
	return &otel_thread_ctx_v1;
}

static const void **(*slot)(void) = own_slot;
#endif

#define ROUTES      8
#define THREADS_MAX 64
#define US          1000L

/* Shares of 100, and by route: how long it waits at a time, how much it allocates. */
static const int turns[ROUTES] = { 3, 5, 7, 11, 13, 17, 19, 25 };
static const int wait_us[ROUTES] = { 0, 0, 100, 0, 200, 0, 0, 50 };
static const int kilobytes[ROUTES] = { 64, 0, 0, 16, 0, 0, 8, 0 };

struct truth {
	uint64_t cpu_ns, wait_ns, bytes;
};

static struct truth truths[THREADS_MAX][ROUTES];
static _Atomic int is_over;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void begin_request(struct record *r, const char *route, uint64_t number, uint64_t thread)
{
	fill_record(r, route, number, thread);
	*(const void *volatile *)slot() = r;
}

static void end_request(void)
{
	*(const void *volatile *)slot() = NULL;
}

static inline __attribute__((always_inline)) void serve(int route, struct truth *t)
{
	uint64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns < 100 * US)
		;
	if (kilobytes[route]) {
		void *volatile bytes = malloc((size_t)kilobytes[route] << 10);
		free(bytes);
		t->bytes += (uint64_t)kilobytes[route] << 10;
	}
	t->cpu_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	if (wait_us[route]) {
		struct timespec pause = { 0, wait_us[route] * US };
		uint64_t begin_ns = now_ns(CLOCK_MONOTONIC);
		nanosleep(&pause, NULL);
		t->wait_ns += now_ns(CLOCK_MONOTONIC) - begin_ns;
	}
}

#define ROUTE(n)                                                         \
	__attribute__((noinline)) static void route_##n(struct truth *t) \
	{                                                                \
		serve(n, t);                                             \
		__asm__ volatile("");                                    \
	}
ROUTE(0)
ROUTE(1)
ROUTE(2)
ROUTE(3)
ROUTE(4)
ROUTE(5)
ROUTE(6)
ROUTE(7)

static void (*const serves[ROUTES])(struct truth *t) = { route_0, route_1, route_2, route_3,
							 route_4, route_5, route_6, route_7 };

static void *serve_all(void *number)
{
	uint64_t thread = (uint64_t)(uintptr_t)number, nr = 0;
	struct record record = { .flags = 1 };
	unsigned seed = (unsigned)thread + 1;
	char text[32];

	while (!is_over) {
		int turn = rand_r(&seed) % 100, route = 0;
		while (turn >= turns[route])
			turn -= turns[route++];
		snprintf(text, sizeof(text), "/r%d", route);
		begin_request(&record, text, ++nr, thread);
		serves[route](&truths[thread][route]);
		end_request();
	}
	return NULL;
}

/* One more thread, whose request never ends. */
static void *wait_for_ever(void *unused)
{
	static struct record record;

	begin_request(&record, "/waits", 1, THREADS_MAX);
	for (;;)
		pause();
	return unused;
}

static void print_truth(void)
{
	for (int r = 0; r < ROUTES; r++) {
		struct truth sum = { 0 };
		for (int i = 0; i < THREADS_MAX; i++) {
			sum.cpu_ns += truths[i][r].cpu_ns;
			sum.wait_ns += truths[i][r].wait_ns;
			sum.bytes += truths[i][r].bytes;
		}
		printf("/r%d %llu %llu %llu\n", r, (unsigned long long)sum.cpu_ns,
		       (unsigned long long)sum.wait_ns, (unsigned long long)sum.bytes);
	}
	fflush(stdout);
}

/* A library that is loaded late, as a runtime loads it. */
static int load_slot(void)
{
#ifdef ELSEWHERE
	const char *file = getenv("SLOT"), *ms = getenv("SLOT_MS");

	if (!file)
		return slot ? 0 : -1;
	usleep((unsigned)atoi(ms ? ms : "0") * 1000);
	void *library = dlopen(file, RTLD_NOW);
	slot = library ? (const void **(*)(void))dlsym(library, "request_slot") : NULL;
	return slot ? 0 : -1;
#endif
	return 0;
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 4, seconds = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t threads[THREADS_MAX], waiting;
	sigset_t asked;

	sigemptyset(&asked);
	sigaddset(&asked, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &asked, NULL);
	if (nr < 1 || nr > THREADS_MAX || (argc < 4 && publish_keys()))
		return 1;
	if (load_slot())
		return 1;
	for (int i = 0; i < nr; i++)
		pthread_create(&threads[i], NULL, serve_all, (void *)(uintptr_t)i);
	pthread_create(&waiting, NULL, wait_for_ever, NULL);
	puts("published");
	fflush(stdout);
	struct timespec left = { seconds ? seconds : 1000000, 0 };
	sigtimedwait(&asked, NULL, &left);
	is_over = 1;
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	print_truth();
	return 0;
}

#endif
