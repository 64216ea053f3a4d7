/* SPDX-License-Identifier: Apache-2.0 */
/* Classes in JFR recordings. */
#include "export/interchange/jfr.h"

#include <string.h>

static const char *const primitives[] = { "Bbyte", "Cchar", "Ddouble", "Ffloat",
					  "Iint",  "Jlong", "Sshort",  "Zboolean" };

bool jfr_class_is_lock(const char *name)
{
	static const char *const locks[] = { "java.util.concurrent.locks.Reentrant",
					     "java.util.concurrent.locks.StampedLock",
					     "java.util.concurrent.Semaphore" };

	for (size_t i = 0; i < ARRAY_SIZE(locks); i++) {
		const char *lock = locks[i], *at = name;
		while (*lock && (*lock == *at || (*lock == '.' && *at == '/')))
			lock++, at++;
		if (!*lock)
			return true;
	}
	return false;
}

void jfr_add_descriptor(struct str *out, const char *name)
{
	size_t len = strlen(name), nr_dims = 0;

	while (len > 2 && !strncmp(name + len - 2, "[]", 2)) {
		len -= 2;
		nr_dims++;
	}
	if (!nr_dims || memchr(name, ';', len) || memchr(name, '[', len)) {
		str_add(out, name);
		return;
	}
	for (; nr_dims; nr_dims--)
		str_add_char(out, '[');
	for (size_t i = 0; i < ARRAY_SIZE(primitives); i++)
		if (len == strlen(primitives[i] + 1) && !strncmp(primitives[i] + 1, name, len)) {
			str_add_char(out, *primitives[i]);
			return;
		}
	str_add_char(out, 'L');
	str_add_bytes(out, name, len);
	str_add_char(out, ';');
}

void jfr_add_class_name(struct str *out, const char *descriptor)
{
	size_t nr_dims = strspn(descriptor, "[");
	const char *element = descriptor + nr_dims, *primitive = NULL;
	size_t len = strlen(element);

	for (size_t i = 0; len == 1 && i < ARRAY_SIZE(primitives); i++)
		if (*element == *primitives[i])
			primitive = primitives[i] + 1;
	bool is_class = len > 2 && *element == 'L' && element[len - 1] == ';';
	if (!nr_dims || (!is_class && !primitive)) {
		str_add(out, descriptor);
		return;
	}
	if (primitive)
		str_add(out, primitive);
	else
		str_add_bytes(out, element + 1, len - 2);
	for (; nr_dims; nr_dims--)
		str_add(out, "[]");
}
