/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of virtual threads as a JVM has them, and as a hostile process forges them. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "jvm/memory/java_locks.h"
#include "proc/mem.h"

#define BASE  0x100000u
#define WORDS 0x4000u
#define AT(i) (BASE + 8ull * (i))

/* The process: words at BASE. Classes and objects have their class at 8, references have 8 bytes.
 */
static u64 words[WORDS];

/* Places of things, in words. */
enum {
	CLASS_CLASS = 0x10, /* Klass of java.lang.Class; a Klass: super at 0, mirror at 16 */
	SYNCHRONIZER = 0x20,
	STAMPED = 0x30,
	MUTEX = 0x40, /* a subclass of SYNCHRONIZER */
	OTHER = 0x50,
	MIRROR_HANDLE = 0x60, /* -> MIRROR */
	MIRROR = 0x68,        /* an object of java.lang.Class */
	LOCK = 0x70,          /* an object; its owner at 16 */
	THREAD = 0x80,        /* an object; its name at 16, its number at 24 */
	THREAD_HANDLE = 0x88, /* -> THREAD */
	WAITER = 0x90,
	MONITOR = 0xa0,       /* _object at 0, _owner at 8 */
	OBJECT_HANDLE = 0xb0, /* -> LOCK */
	JAVA_THREAD = 0xc0,   /* its id as owner at 0, the Thread that it runs at 8 */
	TEXT_CLASS = 0xd0,
	STRING = 0xe0, /* value at 16, coder at 24 */
	TEXT = 0xf0,   /* length at 8, bytes from 12 on */
	FORGED = 0x400,
};

static const struct java_objects objects = {
	.reference_bytes = 8, .class_off = 8, .class_bytes = 8, .array_length = 8, .array_data = 12
};
static const struct lock_layout layout = { 16, AT(SYNCHRONIZER), AT(STAMPED), AT(CLASS_CLASS) };

static struct vm_memory memory(void)
{
	static const struct mem_segment segment = { BASE, words, sizeof(words) };
	struct vm_memory j = { .mem = mem_of_segments(&segment, 1) };
	struct jvm_field *f = j.build.fields;

	f[KLASS_SUPER] = (struct jvm_field){ 0, 8, false };
	f[KLASS_MIRROR] = (struct jvm_field){ 16, 8, false };
	f[MONITOR_OBJECT] = (struct jvm_field){ 0, 8, false };
	f[MONITOR_OWNER] = (struct jvm_field){ 8, 8, true };
	f[THREAD_OWNER_ID] = (struct jvm_field){ 0, 8, true };
	f[THREAD_RUNS] = (struct jvm_field){ 8, 8, false };
	return j;
}

static void put_klass(size_t i, u64 super)
{
	words[i] = super;
	words[i + 2] = AT(MIRROR_HANDLE);
}

static int build(void **state)
{
	memset(words, 0, sizeof(words));
	put_klass(CLASS_CLASS, 0);
	put_klass(SYNCHRONIZER, 0);
	put_klass(STAMPED, 0);
	put_klass(MUTEX, AT(SYNCHRONIZER));
	put_klass(OTHER, 0);
	words[MIRROR_HANDLE] = AT(MIRROR);
	words[MIRROR + 1] = AT(CLASS_CLASS);
	words[LOCK + 1] = AT(MUTEX);
	words[LOCK + 2] = AT(THREAD);
	words[THREAD + 2] = AT(STRING);
	words[THREAD + 3] = 41;
	words[THREAD_HANDLE] = AT(THREAD);
	words[WAITER + 3] = AT(THREAD_HANDLE);
	words[WAITER + 4] = AT(MONITOR);
	words[MONITOR] = AT(OBJECT_HANDLE);
	words[MONITOR + 1] = 41;
	words[OBJECT_HANDLE] = AT(LOCK);
	words[JAVA_THREAD] = 41;
	words[JAVA_THREAD + 1] = AT(THREAD_HANDLE);
	words[STRING + 1] = AT(TEXT_CLASS);
	words[STRING + 2] = AT(TEXT);
	words[TEXT + 1] = 5 | (u64)'o' << 32 | (u64)'w' << 40 | (u64)'n' << 48 | (u64)'e' << 56;
	words[TEXT + 2] = 'r';
	return 0;
}

/* Reads the lock of one thread; *left_out may be NULL. */
static struct lock_wait find(struct lock_wait w, u64 *left_out)
{
	struct vm_memory j = memory();
	struct lock_classes classes = { 0 };
	u64 nr = 0;

	lock_classes_begin(&classes, true);
	assert_int_equal(java_locks_read(&j, &objects, &layout, &classes, &w, 1, &nr), 0);
	lock_classes_fini(&classes);
	mem_free(j.mem);
	if (left_out)
		*left_out = nr;
	return w;
}

static char *owner_of(struct lock_wait w, const struct dict *names)
{
	const u64 java_thread = AT(JAVA_THREAD);
	const struct owner_layout l = {
		16, 24, 100, { AT(TEXT_CLASS), 16, 24 }, names,
	};
	struct vm_memory j = memory();
	char *out = NULL;

	assert_int_equal(java_owners_read(&j, &objects, &l, &java_thread, 1, &w, 1, &out), 0);
	mem_free(j.mem);
	return out;
}

static void assert_owner(struct lock_wait w, const char *name)
{
	const struct dict none = { 0 };
	char *owner = owner_of(w, &none);

	if (name)
		assert_string_equal(owner, name);
	else
		assert_null(owner);
	free(owner);
}

static void a_synchronizer_has_class_and_owner(void **state)
{
	struct lock_wait w = find((struct lock_wait){ AT(THREAD), AT(LOCK) }, NULL);

	assert_int_equal(w.klass, AT(MUTEX));
	assert_int_equal(w.owner, AT(THREAD));
	assert_owner(w, "owner");
}

static void a_thread_without_a_name_has_its_number(void **state)
{
	words[TEXT + 1] = 0;
	assert_owner(find((struct lock_wait){ AT(THREAD), AT(LOCK) }, NULL), "VirtualThread-41");
}

static void a_lock_that_nobody_has_has_no_owner(void **state)
{
	words[LOCK + 2] = 0;
	struct lock_wait w = find((struct lock_wait){ AT(THREAD), AT(LOCK) }, NULL);
	assert_int_equal(w.klass, AT(MUTEX));
	assert_owner(w, NULL);
}

static void a_stamped_lock_has_no_owner(void **state)
{
	words[LOCK + 1] = AT(STAMPED);
	struct lock_wait w = find((struct lock_wait){ AT(THREAD), AT(LOCK) }, NULL);
	assert_int_equal(w.klass, AT(STAMPED));
	assert_int_equal(w.owner, 0);
}

static void other_blockers_are_no_locks(void **state)
{
	words[LOCK + 1] = AT(OTHER);
	assert_int_equal(find((struct lock_wait){ AT(THREAD), AT(LOCK) }, NULL).klass, 0);
}

static void a_monitor_has_class_and_owner(void **state)
{
	words[LOCK + 1] = AT(OTHER);
	struct lock_wait w =
		find((struct lock_wait){ AT(THREAD), .waiters = { 0, AT(WAITER) } }, NULL);
	assert_int_equal(w.klass, AT(OTHER));
	assert_int_equal(w.owner_id, 41);
	assert_owner(w, "owner");
	words[JAVA_THREAD] = 7; /* it is mounted nowhere */
	assert_owner(w, "VirtualThread-41");
	struct dict names = { 0 };
	*dict_add(&names, 41) = (u64)(uintptr_t) "known";
	char *owner = owner_of(w, &names);
	assert_string_equal(owner, "known");
	free(owner);
	dict_fini(&names);
}

static void owners_without_a_number_are_unknown(void **state)
{
	for (u64 owner = 0; owner <= 2; owner++) {
		words[MONITOR + 1] = owner;
		struct lock_wait w =
			find((struct lock_wait){ AT(THREAD), .waiters = { AT(WAITER) } }, NULL);
		assert_int_equal(w.klass, AT(MUTEX));
		assert_owner(w, NULL);
	}
}

static void a_waiter_of_another_thread_is_left(void **state)
{
	words[THREAD_HANDLE] = AT(LOCK);
	struct lock_wait w =
		find((struct lock_wait){ AT(THREAD), .waiters = { AT(WAITER) } }, NULL);
	assert_int_equal(w.klass, 0);
	assert_int_equal(w.owner_id, 0);
}

static void superclasses_in_a_circle_end(void **state)
{
	words[MUTEX] = AT(OTHER);
	words[OTHER] = AT(MUTEX);
	assert_int_equal(find((struct lock_wait){ AT(THREAD), AT(LOCK) }, NULL).klass, 0);
}

/* Whatever the words are, nothing but a Klass with a mirror is taken for a class. */
static void wild_references_are_left(void **state)
{
	const u64 wild[] = { 1, BASE - 8, AT(WORDS), AT(WORDS) - 4, ~0ull, 1ull << 63, AT(FORGED) };

	for (size_t a = 0; a < ARRAY_SIZE(wild); a++)
		for (size_t b = 0; b < ARRAY_SIZE(wild); b++) {
			build(state);
			words[LOCK + 1] = wild[a];
			words[LOCK + 2] = wild[b];
			words[WAITER + 4] = wild[b];
			struct lock_wait w = find((struct lock_wait){ AT(THREAD), AT(LOCK) }, NULL);
			assert_int_equal(w.klass, 0);
			w = find((struct lock_wait){ AT(THREAD), wild[a], { wild[b], wild[a] } },
				 NULL);
			assert_int_equal(w.klass, 0);
			w = find((struct lock_wait){ AT(THREAD), .waiters = { AT(WAITER) } }, NULL);
			assert_int_equal(w.klass, 0);
			words[LOCK + 1] = AT(MUTEX); /* a lock with a wild owner */
			w = find((struct lock_wait){ AT(THREAD), AT(LOCK) }, NULL);
			free(owner_of(w, &(struct dict){ 0 }));
		}
}

/* A JVM that forges a class for each object makes each look read a few of them only. */
static void classes_have_a_limit_and_are_counted(void **state)
{
	struct vm_memory j = memory();
	struct lock_classes classes = { 0 };
	struct lock_wait waits[500] = { 0 };
	u64 left_out = 0;

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		size_t klass = FORGED + 16 * i, object = klass + 8;
		put_klass(klass, AT(SYNCHRONIZER));
		words[object + 1] = AT(klass);
		waits[i] = (struct lock_wait){ AT(THREAD), AT(object) };
	}
	lock_classes_begin(&classes, true);
	assert_int_equal(java_locks_read(&j, &objects, &layout, &classes, waits, ARRAY_SIZE(waits),
					 &left_out),
			 0);
	size_t found = 0;
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		found += waits[i].klass != 0;
	assert_int_equal(found + left_out, ARRAY_SIZE(waits));
	assert_true(found > 0 && found <= 64);
	assert_true(mem_counts(j.mem).calls < 1000);
	lock_classes_fini(&classes);
	mem_free(j.mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_synchronizer_has_class_and_owner, build),
		cmocka_unit_test_setup(a_thread_without_a_name_has_its_number, build),
		cmocka_unit_test_setup(a_lock_that_nobody_has_has_no_owner, build),
		cmocka_unit_test_setup(a_stamped_lock_has_no_owner, build),
		cmocka_unit_test_setup(other_blockers_are_no_locks, build),
		cmocka_unit_test_setup(a_monitor_has_class_and_owner, build),
		cmocka_unit_test_setup(owners_without_a_number_are_unknown, build),
		cmocka_unit_test_setup(a_waiter_of_another_thread_is_left, build),
		cmocka_unit_test_setup(superclasses_in_a_circle_end, build),
		cmocka_unit_test_setup(wild_references_are_left, build),
		cmocka_unit_test_setup(classes_have_a_limit_and_are_counted, build),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
