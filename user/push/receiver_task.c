/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the answers of receivers, in the process that sends. Part of push/receiver.h. */
#include <ctype.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "export/interchange/pb.h"
#include "push/receiver.h"

#include "push.pb-c.h"

#define SAID_MAX 160 /* most bytes of a receiver's message */

/* The receiver's words, on one line. */
static void add_said(struct str *why, const char *text)
{
	auto_free char *line = xstrdup(text);
	auto_str struct str clean = { 0 };

	for (char *c = line; *c; c++)
		if (isspace((unsigned char)*c))
			*c = ' ';
	utf8_clean(&clean, line, SAID_MAX);
	if (clean.len)
		str_addf(why, ": %s", clean.at);
}

void receiver_judge(struct http_finding *f, const char *bytes, size_t len)
{
	auto_str struct str why = { 0 };

	if (f->status / 100 == 2)
		return;
	str_addf(&why, "it answers %u", f->status);
	add_said(&why, bytes);
	copy_text(f->why, sizeof(f->why), why.at);
}

/* A receiver may accept a request and yet refuse some of its profiles. */
void receiver_judge_otlp(struct http_finding *f, const char *bytes, size_t len)
{
	auto_pb Push__OtlpAnswer *answer = push__otlp_answer__unpack(NULL, len, (const u8 *)bytes);
	auto_str struct str why = { 0 };

	receiver_judge(f, bytes, len);
	if (f->status / 100 != 2 || !answer || !answer->partial_success ||
	    answer->partial_success->rejected <= 0)
		return;
	f->value = (u64)answer->partial_success->rejected;
	str_add(&why, "it rejected profiles");
	add_said(&why, answer->partial_success->why ?: "");
	copy_text(f->why, sizeof(f->why), why.at);
}
