/* SPDX-License-Identifier: Apache-2.0 */
/* How a page holds its profile: one block of text that is never executed. */
#pragma once

/* The first bytes of every page of sysflame (user/ui/page/page.html). */
#define PAGE_START                                      \
	"<!doctype html>\n<html lang=\"en\">\n<head>\n" \
	"<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\""

/* The block begins after this text and ends at the next "<". */
#define PAGE_DATA_START "<script type=\"text/plain\" id=\"profile\">"
