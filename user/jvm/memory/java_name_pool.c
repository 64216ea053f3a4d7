/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of Java names. Part of jvm/memory/java_frame.h. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dict.h"
#include "base/str.h"
#include "jvm/memory/java_frame.h"

#define CLASS_HEX_MIN 8 /* digits in a hidden class's address */

struct name {
	struct name *next; /* with the same hash */
	size_t len;
	bool is_kept; /* at the next sweep */
	char text[];
};

struct java_names {
	struct dict by_hash; /* -> struct name * */
	struct str scratch;
	size_t bytes;
};

struct java_names *java_names_new(void)
{
	return xcalloc(1, sizeof(struct java_names));
}

void java_names_free(struct java_names *pool)
{
	if (!pool)
		return;
	dict_each(slot, &pool->by_hash)
		for (struct name *n = (struct name *)(uintptr_t)slot->value, *next; n; n = next) {
			next = n->next;
			free(n);
		}
	dict_fini(&pool->by_hash);
	str_fini(&pool->scratch);
	free(pool);
}

size_t java_names_bytes(const struct java_names *pool)
{
	return pool->bytes + pool->by_hash.cap * sizeof(struct dict_slot);
}

void java_names_keep(const char *text)
{
	struct name *n = (struct name *)(uintptr_t)(text - offsetof(struct name, text));

	n->is_kept = true;
}

/* Returns the rest of the list. */
static struct name *sweep_list(struct java_names *pool, struct name *list)
{
	struct name *kept = NULL;

	for (struct name *n = list, *next; n; n = next) {
		next = n->next;
		if (n->is_kept) {
			n->is_kept = false;
			n->next = kept;
			kept = n;
			continue;
		}
		pool->bytes -= sizeof(*n) + n->len + 1;
		free(n);
	}
	return kept;
}

void java_names_sweep(struct java_names *pool)
{
	struct dict kept = { 0 };

	dict_each(slot, &pool->by_hash) {
		struct name *list = sweep_list(pool, (struct name *)(uintptr_t)slot->value);
		if (list)
			*dict_add(&kept, slot->key) = (u64)(uintptr_t)list;
	}
	dict_fini(&pool->by_hash);
	pool->by_hash = kept;
}

static const char *intern(struct java_names *pool, const char *text, size_t len)
{
	u64 *place = dict_add(&pool->by_hash, hash_keyed(text, len));

	for (struct name *n = (struct name *)(uintptr_t)*place; n; n = n->next)
		if (n->len == len && !memcmp(n->text, text, len))
			return n->text;

	struct name *n = xmalloc(sizeof(*n) + len + 1);
	n->next = (struct name *)(uintptr_t)*place;
	n->len = len;
	n->is_kept = false;
	memcpy(n->text, text, len);
	n->text[len] = '\0';
	*place = (u64)(uintptr_t)n;
	pool->bytes += sizeof(*n) + len + 1;
	return n->text;
}

/* The code unit of a three-byte sequence ED xx xx, 0 if it is not such a sequence. */
static u32 surrogate(const char *s, size_t len)
{
	const u8 *b = (const u8 *)s;

	if (len < 3 || b[0] != 0xed || (b[1] & 0xe0) != 0xa0 || (b[2] & 0xc0) != 0x80)
		return 0;
	return 0xd000u | (b[1] & 0x3fu) << 6 | (b[2] & 0x3fu);
}

/* Modified UTF-8 encodes a supplementary character as two surrogates of three bytes each. */
void java_name_decode(struct str *out, const char *s, size_t len)
{
	for (size_t i = 0; i < len;) {
		u32 high = surrogate(s + i, len - i);
		u32 low = high >= 0xd800 && high < 0xdc00 ? surrogate(s + i + 3, len - i - 3) : 0;

		if (low >= 0xdc00 && low < 0xe000) {
			u32 c = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
			const char bytes[] = { (char)(0xf0 | c >> 18),
					       (char)(0x80 | (c >> 12 & 0x3f)),
					       (char)(0x80 | (c >> 6 & 0x3f)),
					       (char)(0x80 | (c & 0x3f)) };
			str_add_bytes(out, bytes, sizeof(bytes));
			i += 6;
		} else {
			/* NUL is C0 80 here; a plain 0 must not end the string either. */
			str_add_char(out, s[i] ? s[i] : '?');
			i++;
		}
	}
}

static const char *intern_clean(struct java_names *pool, const char *text, size_t len)
{
	struct str utf8 = { 0 };

	str_clear(&pool->scratch);
	java_name_decode(&utf8, text, len);
	utf8_clean(&pool->scratch, utf8.at ? utf8.at : "", 65535);
	str_fini(&utf8);
	return intern(pool, pool->scratch.at, pool->scratch.len);
}

static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return true;
}

const char *java_names_intern(struct java_names *pool, const char *mutf8, size_t len)
{
	return is_plain(mutf8, len) ? intern(pool, mutf8, len) : intern_clean(pool, mutf8, len);
}

/*
 * The Symbol of a hidden class (JEP 371) is NAME+0xADDRESS; JVMTI and the JDK's own texts have a
 * '.' or '/' instead of the '+'. The address differs between runs.
 */
static size_t without_address(const char *name, size_t len)
{
	size_t digits = 0;

	while (digits < len && strchr("0123456789abcdef", name[len - digits - 1]) &&
	       name[len - digits - 1])
		digits++;
	if (digits < CLASS_HEX_MIN || len < digits + 4)
		return len;

	const char *mark = name + len - digits - 3;
	return mark[1] == '0' && mark[2] == 'x' && strchr("+./", mark[0]) && mark[0]
		       ? (size_t)(mark - name)
		       : len;
}

const char *java_names_intern_class(struct java_names *pool, const char *mutf8, size_t len)
{
	size_t shown = without_address(mutf8, len);
	char *dotted = xmemdup(mutf8, shown);

	for (size_t i = 0; i < shown; i++)
		if (dotted[i] == '/')
			dotted[i] = '.';
	const char *out = java_names_intern(pool, dotted, shown);
	free(dotted);
	return out;
}

static const char *primitive(char letter)
{
	switch (letter) {
	case 'B':
		return "byte";
	case 'C':
		return "char";
	case 'D':
		return "double";
	case 'F':
		return "float";
	case 'I':
		return "int";
	case 'J':
		return "long";
	case 'S':
		return "short";
	case 'Z':
		return "boolean";
	}
	return NULL;
}

const char *java_names_intern_type(struct java_names *pool, const char *mutf8, size_t len)
{
	auto_str struct str name = { 0 };
	size_t dims = 0;

	while (dims < len && mutf8[dims] == '[')
		dims++;
	mutf8 += dims;
	len -= dims;
	const char *letter = dims && len == 1 ? primitive(*mutf8) : NULL;
	if (!letter && len > 2 && *mutf8 == 'L' && mutf8[len - 1] == ';') {
		mutf8++;
		len -= 2;
	}
	if (!dims)
		return java_names_intern_class(pool, mutf8, len);
	str_add(&name, letter ? letter : java_names_intern_class(pool, mutf8, len));
	for (; dims; dims--)
		str_add(&name, "[]");
	return intern(pool, name.at, name.len);
}
