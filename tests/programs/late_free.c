/* SPDX-License-Identifier: Apache-2.0 */
/* BUILD-FLAGS: -fno-inline -fno-optimize-sibling-calls */
/*
 * Allocates 101 blocks. At the next SIGUSR1 it allocates very many others and keeps them, which
 * fills the ring of a stopped recorder. Then it frees the 101 blocks and waits. A second thread
 * only waits.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "known.h"

#define BLOCKS 101
#define BLOCK  4001
#define OTHERS 20011

static char *blocks[BLOCKS];
static char *volatile kept;

static void freed_late(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BLOCK);
		blocks[i][0] = 1;
	}
}

static void keep_many(void)
{
	for (int i = 0; i < OTHERS; i++) {
		kept = malloc(BLOCK);
		kept[0] = 1;
	}
}

static void *stay(void *arg)
{
	pause();
	return NULL;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, stay, NULL))
		return 1;
	await_signal();
	started();
	freed_late();
	puts("allocated");
	fflush(stdout);
	await_signal();
	keep_many();
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	puts("freed");
	fflush(stdout);
	pause();
	return 0;
}
