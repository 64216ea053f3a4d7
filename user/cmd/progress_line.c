/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line of a long command. A thread draws it while the caller reads a file. */
#include "cmd/progress_line.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "cmd/cmd.h"

#define FIRST_NS (1 * NS_PER_SEC)
#define EVERY_NS (200 * NS_PER_MS)

struct progress_line {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_on, is_ending, is_drawn;
	u64 began_ns;
	const char *verb;
	char name[128];
	int fd;
};

static struct progress_line line = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

/* How much of a regular file has been read, in percent; -1 if that is unknown. */
static int percent_of(int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0)
		return -1;
	off_t at = lseek(fd, 0, SEEK_CUR);
	return at < 0 ? -1 : at >= st.st_size ? 100 : (int)(100 * at / st.st_size);
}

static void draw(void)
{
	auto_str struct str text = { 0 };
	int percent = percent_of(line.fd);
	size_t width = terminal_width(STDERR_FILENO);

	str_addf(&text, "%s%s%s", line.verb, *line.name ? " " : "", line.name);
	if (percent >= 0)
		str_addf(&text, ", %d %%", percent);
	str_addf(&text, ", %llu s",
		 (unsigned long long)((time_mono_ns() - line.began_ns) / NS_PER_SEC));
	size_t len = text.len < width ? text.len : width - 1;
	fprintf(stderr, "\r%.*s\033[K", (int)len, text.at);
	fflush(stderr);
	line.is_drawn = true;
}

static void erase(void)
{
	if (line.is_drawn)
		fputs("\r\033[K", stderr);
	fflush(stderr);
	line.is_drawn = false;
}

static void erase_for_message(void)
{
	pthread_mutex_lock(&line.lock);
	erase();
	pthread_mutex_unlock(&line.lock);
}

static void *run(void *unused)
{
	u64 next_ns = line.began_ns + FIRST_NS;

	pthread_mutex_lock(&line.lock);
	while (!line.is_ending) {
		const struct timespec at = { (time_t)(next_ns / NS_PER_SEC),
					     (long)(next_ns % NS_PER_SEC) };
		if (pthread_cond_timedwait(&line.changed, &line.lock, &at) != ETIMEDOUT)
			continue;
		if (line.verb)
			draw();
		next_ns = time_mono_ns() + EVERY_NS;
	}
	pthread_mutex_unlock(&line.lock);
	return NULL;
}

void progress_line_begin(bool is_quiet)
{
	pthread_condattr_t monotonic;

	if (is_quiet || line.is_on || !isatty(STDERR_FILENO))
		return;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&line.changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	line.began_ns = time_mono_ns();
	line.is_ending = false;
	line.is_on = !pthread_create(&line.thread, NULL, run, NULL);
	if (line.is_on)
		log_before_lines(erase_for_message);
}

void progress_line_step(const char *verb, const char *path, int fd)
{
	if (!line.is_on)
		return;
	pthread_mutex_lock(&line.lock);
	line.verb = verb;
	line.fd = fd;
	snprintf(line.name, sizeof(line.name), "%s",
		 !path               ? ""
		 : strcmp(path, "-") ? path
				     : "standard input or output");
	for (char *c = line.name; *c; c++)
		*c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
	pthread_mutex_unlock(&line.lock);
}

void progress_line_end(void)
{
	if (!line.is_on)
		return;
	pthread_mutex_lock(&line.lock);
	line.is_ending = true;
	pthread_cond_signal(&line.changed);
	pthread_mutex_unlock(&line.lock);
	pthread_join(line.thread, NULL);
	log_before_lines(NULL);
	erase();
	line.is_on = false;
	pthread_cond_destroy(&line.changed);
}
