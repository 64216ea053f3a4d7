/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked with a fuzz target instead of libFuzzer: the target gets each file of its corpus, and RUNS
 * inputs made of them by changes drawn with a fixed seed, fewer if these take more than 4 s.
 * Every check can afford that, with any compiler; `make fuzz` looks for new paths.
 *
 * usage: PROGRAM CORPUS RUNS INPUT; the file INPUT gets the input that ended the program.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/types.h"

#define MAX_SIZE      16384
#define MAX_SEEDS     512
#define HANGS_AFTER_S 20
#define ENDS_AFTER_S  4

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
void __sanitizer_set_death_callback(void (*callback)(void));

struct bytes {
	u8 at[MAX_SIZE];
	size_t len;
};

static struct bytes seeds[MAX_SEEDS];
static size_t nr_seeds;
static struct bytes input;
static const char *input_path;
static u64 state = 1;

/* xorshift64, Marsaglia 2003. */
static u64 draw(u64 below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static void keep_input(void)
{
	FILE *file = fopen(input_path, "w");

	if (!file)
		return;
	fwrite(input.at, 1, input.len, file);
	fclose(file);
}

static void ended(int signal_nr)
{
	keep_input();
	_exit(128 + signal_nr);
}

static void read_seeds(const char *folder)
{
	struct dirent **names;
	int nr = scandir(folder, &names, NULL, alphasort);

	for (int i = 0; i < nr && nr_seeds < MAX_SEEDS; i++) {
		char path[4096];
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
		file = names[i]->d_type == DT_DIR ? NULL : fopen(path, "r");
		if (file) {
			seeds[nr_seeds].len = fread(seeds[nr_seeds].at, 1, MAX_SIZE, file);
			nr_seeds++;
			fclose(file);
		}
		free(names[i]);
	}
	if (nr >= 0)
		free(names);
	if (!nr_seeds)
		nr_seeds = 1; /* an empty input */
}

/* Moves the end of the input from `at` to `to`, as far as there is room. */
static void move_tail(size_t at, size_t to)
{
	size_t len = input.len - at;

	if (to + len > MAX_SIZE)
		len = MAX_SIZE - to;
	memmove(input.at + to, input.at + at, len);
	input.len = to + len;
}

static void mutate(void)
{
	static const u8 extremes[] = { 0, 1, 0x7f, 0x80, 0xff };
	const struct bytes *other = &seeds[draw(nr_seeds)];
	size_t at = input.len ? draw(input.len) : 0, len = 1 + draw(8);

	if (len > input.len - at)
		len = input.len - at;
	switch (draw(7)) {
	case 0:
		if (input.len)
			input.at[at] ^= 1 << draw(8);
		break;
	case 1:
		memset(input.at + at, extremes[draw(sizeof(extremes))], len);
		break;
	case 2:
		for (size_t i = 0; i < len; i++)
			input.at[at + i] = draw(256);
		break;
	case 3:
		input.len = at;
		break;
	case 4:
		move_tail(at + len, at);
		break;
	case 5:
		move_tail(at, at + len);
		break;
	default:
		if (at < other->len) {
			memcpy(input.at + at, other->at + at, other->len - at);
			input.len = other->len;
		}
	}
}

/* A copy of the exact size, so that ASan sees a read beyond its end. */
static void try_input(void)
{
	u8 *copy = malloc(input.len ? input.len : 1);

	memcpy(copy, input.at, input.len);
	alarm(HANGS_AFTER_S);
	LLVMFuzzerTestOneInput(copy, input.len);
	free(copy);
}

static long seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

int main(int argc, char **argv)
{
	long end = seconds() + ENDS_AFTER_S;

	if (argc != 4) {
		fprintf(stderr, "usage: %s CORPUS RUNS INPUT\n", argv[0]);
		return 2;
	}
	input_path = argv[3];
	__sanitizer_set_death_callback(keep_input);
	signal(SIGABRT, ended);
	signal(SIGALRM, ended);
	read_seeds(argv[1]);
	for (size_t i = 0; i < nr_seeds; i++) {
		input = seeds[i];
		try_input();
	}
	for (long runs = atol(argv[2]); runs > 0 && seconds() < end; runs--) {
		input = seeds[draw(nr_seeds)];
		for (u64 n = 1 + draw(4); n; n--)
			mutate();
		try_input();
	}
	return 0;
}
