/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes N different stacks of an imaginary JVM as collapsed text, the same ones each time. A stack
 * is an earlier one, cut at its leaf end and extended along fixed lists of callees. That gives
 * about ten nodes per stack and few branches, as in real profiles. Names have the kind suffixes of
 * async-profiler; a method may occur in several tiers.
 * usage: gen_stacks N [GROWN]
 * GROWN: the maximum number of new frames of an ordinary stack; fewer give fewer nodes per stack.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR_METHODS  40000
#define DEPTH_MIN   20
#define DEPTH_MAX   200
#define REMEMBERED  16384
#define NR_PREAMBLE 9

static const char *const preamble[NR_PREAMBLE] = {
	"java-20811",
	"clone3",
	"start_thread",
	"thread_native_entry",
	"Thread::call_run",
	"JavaThread::thread_main_inner",
	"JavaCalls::call_helper",
	"call_stub",
	"java/lang/Thread.run_[0]",
};

static const char *const packages[] = {
	"java/util/concurrent",
	"java/util",
	"io/netty/channel",
	"com/example/shop/cart",
	"org/apache/lucene/search",
	"clojure/lang",
	"java/io",
	"com/fasterxml/jackson/databind",
};
static const char *const nouns[] = { "HashMap",   "Order", "Session", "Channel",
				     "Future",    "Query", "Segment", "Parser",
				     "Buffer",    "Cart",  "Index",   "LazySeq",
				     "Scheduler", "Codec", "Stream",  "Ledger" };
static const char *const verbs[] = { "get",  "put",   "run",    "read",  "merge",   "apply",
				     "next", "score", "encode", "flush", "resolve", "hash" };
static const char *const jvm[] = { "CompileBroker::compile_method",
				   "ObjectSynchronizer::enter",
				   "G1CollectedHeap::attempt_allocation",
				   "InterpreterRuntime::resolve",
				   "PhaseChaitin::Split",
				   "SharedRuntime::resolve_helper" };
static const char *const libc[] = { "__memmove_avx_unaligned", "pthread_cond_wait", "malloc",
				    "__GI___libc_write",       "epoll_wait",        "free" };
static const char *const kernel[] = { "do_syscall_64_[k]",     "futex_wait_[k]",
				      "schedule_[k]",          "tcp_sendmsg_[k]",
				      "copy_user_generic_[k]", "try_to_wake_up_[k]" };

struct stack {
	uint32_t frames[DEPTH_MAX];
	int depth;
};

static uint64_t seed = 88172645463325252ull;
static uint32_t grown = 15; /* maximum number of new frames of a stack */

static uint32_t pick(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)((seed >> 32) % below);
}

static uint32_t mix(uint32_t a, uint32_t b)
{
	uint64_t x = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(x >> 33 ^ x >> 50);
}

#define OF(list, n) list[(n) % (sizeof(list) / sizeof(list[0]))]

/* Only the last frames leave Java; the method's number decides for which kind. */
static void print_frame(uint32_t method, uint32_t caller, int from_end)
{
	uint32_t h = mix(method, 7);

	switch (from_end < 3 ? method & 15 : 0) {
	case 15:
		fputs(OF(kernel, h), stdout);
		return;
	case 14:
		fputs(OF(jvm, h), stdout);
		return;
	case 13:
		fputs(OF(libc, h), stdout);
		return;
	}
	char tier = "jjjjjji10jjiii1j"[h >> 9 & 15];
	if (mix(method, caller) % 24 == 0)
		tier = "01"[caller & 1];
	printf("%s/%s%u.%s_[%c]", OF(packages, h >> 3), OF(nouns, h >> 6), method / 64,
	       OF(verbs, h >> 11), tier);
}

static void print_stack(const struct stack *s)
{
	for (int i = 0; i < NR_PREAMBLE; i++)
		printf("%s%s", i ? ";" : "", preamble[i]);
	for (int i = 0; i < s->depth; i++) {
		putchar_unlocked(';');
		print_frame(s->frames[i], i ? s->frames[i - 1] : 0, s->depth - 1 - i);
	}
	printf(" %u\n", 1 + pick(pick(8) ? 3 : 30));
}

/* A method has few callees, and calls the first ones most. */
static uint32_t callee(uint32_t method)
{
	uint32_t a = pick(4), b = pick(4);

	/* Some methods are called from everywhere: numbers are denser near 0. */
	uint64_t x = mix(method, a < b ? a : b) & 0xffff;
	return (uint32_t)(x * x * x * NR_METHODS >> 48);
}

static void grow(struct stack *s)
{
	int cut = (int)pick(pick(2 * grown) ? grown : 190) + 2, more = (int)pick(grown) + 2;

	s->depth = s->depth > cut + DEPTH_MIN ? s->depth - cut : s->depth < 4 ? s->depth : 4;
	if (s->depth < DEPTH_MIN)
		more += DEPTH_MIN + (int)pick(60);
	for (; more > 0 && s->depth < DEPTH_MAX - NR_PREAMBLE; more--, s->depth++)
		s->frames[s->depth] = callee(s->depth ? s->frames[s->depth - 1] : 0);
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? atol(argv[1]) : 0;
	struct stack *known = calloc(REMEMBERED, sizeof(*known));

	if (nr < 1 || !known) {
		fprintf(stderr, "usage: gen_stacks N [GROWN]\n");
		return 2;
	}
	if (argc > 2)
		grown = (uint32_t)atoi(argv[2]) ?: 1;
	for (long i = 0; i < nr; i++) {
		struct stack s = known[i ? pick(i < REMEMBERED ? (uint32_t)i : REMEMBERED) : 0];
		grow(&s);
		print_stack(&s);
		known[i % REMEMBERED] = s;
	}
	free(known);
	return fflush(stdout) ? 1 : 0;
}
