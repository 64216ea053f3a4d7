/* SPDX-License-Identifier: Apache-2.0 */
/* Makes compilers' symbols readable: libiberty's demanglers, with limits and shorter results. */
#include "sym/files/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#include "base/types.h"

/* libiberty itself rejects C++ names of more than 1024 bytes, half of its limit of recursion. */
#define MAX_MANGLED 4096

/* Substitutions let a short name grow exponentially. Nobody reads a longer one than this. */
#define MAX_DEMANGLED 131072

/* From this length on template arguments hide the function. */
#define LONG_NAME 160

struct output {
	struct str *text;
	jmp_buf too_long;
};

/*
 * Leaves the demangler by a jump: its callback cannot stop it, and it may run for hours. The
 * callback versions keep their data on the stack, except a small buffer while they print a
 * non-ASCII Rust identifier.
 */
static void print(const char *text, size_t len, void *arg)
{
	struct output *out = arg;

	if (out->text->len + len > MAX_DEMANGLED)
		longjmp(out->too_long, 1);
	str_add_bytes(out->text, text, len);
}

static bool demangle_whole(struct str *text, const char *symbol)
{
	struct output out = { .text = text };
	int options = DMGL_ANSI; /* without DMGL_PARAMS; the recursion stays limited */

	if (setjmp(out.too_long))
		return false;
	str_clear(text);
	/* Rust first: its old form is a C++ name that ends in a hash. */
	if (rust_demangle_callback(symbol, options, print, &out) && text->len)
		return true;
	str_clear(text);
	return !strncmp(symbol, "_Z", 2) &&
	       cplus_demangle_v3_callback(symbol, options, print, &out) && text->len;
}

/* The offset of the first mark such as ".isra.0" or ".cold"; `len` if there is none. */
static size_t end_of_name(const char *symbol, size_t len)
{
	static const char *const marks[] = { ".isra.",     ".constprop.", ".part.",     ".cold",
					     ".lto_priv.", ".llvm.",      ".localalias" };

	for (size_t i = 1; i < len; i++)
		for (size_t k = 0; symbol[i] == '.' && k < ARRAY_SIZE(marks); k++)
			if (!strncmp(symbol + i, marks[k], strlen(marks[k])))
				return i;
	return len;
}

/* The length of an operator's name with angle brackets at `at`; 0 if there is none. */
static size_t operator_at(const char *text, const char *at)
{
	static const char word[] = "operator";
	size_t len = strlen(word);
	bool is_word = strncmp(at, word, len) == 0 && (at == text || strchr(": ", at[-1]));

	if (!is_word || !at[len] || !strchr("<>-", at[len]) ||
	    (at[len] == '-' && at[len + 1] != '>'))
		return 0;
	return len + strspn(at + len, "<>-=*");
}

/* Replaces the text in angle brackets by dots. A leading "<" is Rust's `<T as Trait>::f`. */
static void drop_arguments(struct str *text)
{
	struct str kept = { 0 };
	size_t depth = 0;

	for (const char *at = text->at; *at;) {
		size_t len = operator_at(text->at, at);
		bool is_arrow = *at == '-' && at[1] == '>';
		if (!len)
			len = is_arrow ? 2 : 1;
		bool opens = len == 1 && *at == '<' && at > text->at;
		bool closes = len == 1 && *at == '>' && depth;
		if (opens && depth++ == 0)
			str_add(&kept, "<...>");
		else if (!depth)
			str_add_bytes(&kept, at, len);
		depth -= closes;
		at += len;
	}
	str_fini(text);
	*text = kept;
}

/* Cuts between two characters. */
static void cut(struct str *text, size_t max)
{
	static const char dots[] = "...";

	if (text->len <= max)
		return;
	size_t len = max - strlen(dots);
	while (len && ((u8)text->at[len] & 0xc0) == 0x80)
		len--;
	text->len = len;
	str_add(text, dots);
}

void demangle(struct str *out, const char *symbol)
{
	char plain[MAX_MANGLED + 1];
	size_t len = strnlen(symbol, MAX_MANGLED + 1);
	const char *version = memchr(symbol, '@', len);
	bool is_plt = version && !strcmp(version, "@plt");

	if (version && version > symbol)
		len = (size_t)(version - symbol);
	if (len > MAX_MANGLED)
		len = MAX_MANGLED;
	len = end_of_name(symbol, len);
	memcpy(plain, symbol, len);
	plain[len] = '\0';
	if (!demangle_whole(out, plain)) {
		str_clear(out);
		str_add(out, plain);
	}
	if (out->len > LONG_NAME)
		drop_arguments(out);
	cut(out, is_plt ? DEMANGLE_MAX - 4 : DEMANGLE_MAX);
	if (is_plt)
		str_add(out, "@plt");
}
