/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "profile/frames/java_name.h"
#include "profile/names.h"

static void is_shown(const char *name, const char *wanted)
{
	auto_str struct str shown = { 0 }, again = { 0 };

	java_name_show(name, &shown);
	assert_string_equal(shown.at, wanted);
	java_name_show(shown.at, &again);
	assert_string_equal(again.at, wanted);
}

static void is_without_ids(const char *name, const char *wanted)
{
	auto_str struct str out = { 0 };

	java_name_drop_ids(name, &out);
	assert_string_equal(out.at, wanted);
}

static void p1_classes_have_dots(void **state)
{
	is_shown("java/lang/Thread.run", "java.lang.Thread.run");
	is_shown("io/aleph/dirigiste/Executor$Worker$1.run",
		 "io.aleph.dirigiste.Executor$Worker$1.run");
	is_shown("clojure/lang/PersistentVector$TransientVector.<init>",
		 "clojure.lang.PersistentVector$TransientVector.<init>");
	is_shown("java.lang.Thread.run", "java.lang.Thread.run");
	is_shown("Lcom/acme/Foo;::bar", "com.acme.Foo.bar");
	is_shown("a.B.c(java.lang.String, int)", "a.B.c(java.lang.String, int)");
	is_shown("a.B.c (stale)", "a.B.c (stale)");
	is_shown("main", "main");
	is_shown("", "");
	is_shown(".", ".");
	is_shown("[unknown_Java]", "[unknown_Java]");
}

/* The forms of jcmd's Compiler.perfmap and perf-map-agent, also after stackcollapse-perf.pl. */
static void names_of_perf_maps_equal_those_of_recordings(void **state)
{
	is_shown("void Spin.main(java.lang.String[])", "Spin.main");
	is_shown("void Spin.main", "Spin.main");
	is_shown("Spin$Order Spin.parse(java.lang.String)", "Spin.parse");
	is_shown("java.lang.Object[] java.util.ArrayList.grow(int, byte[])",
		 "java.util.ArrayList.grow");
	is_shown("java.lang.Object[] java.util.ArrayList.grow", "java.util.ArrayList.grow");
	is_shown("void java.lang.Object.<init>()", "java.lang.Object.<init>");
	is_shown("void a.B.<clinit>()", "a.B.<clinit>");
	is_shown("void Foo$$Lambda+0x7f.run()", "Foo$$Lambda.run");
	is_shown("Foo$$Lambda+0x7f.run()", "Foo$$Lambda.run");
	is_shown("void a.Foo$$Lambda$14/0x00007f8b5c001200.run()", "a.Foo$$Lambda.run");
	is_shown("java.lang.Object a.app$fn__12.invoke(java.lang.Object)", "a.app/fn--12");
	is_shown("a.App$$Lambda+0x7f a.B.make(a.App$$Lambda+0x7f)", "a.B.make");
	is_shown("Lio/netty/channel/Loop;::run", "io.netty.channel.Loop.run");
	is_shown("Lio/netty/channel/Loop;.run", "io.netty.channel.Loop.run");
	is_shown("Lio/netty/Loop;::run(Ljava/lang/String;I)V", "io.netty.Loop.run");
	is_shown("LSpin$$Lambda+0x00007f8b5c001200;::run", "Spin$$Lambda.run");
	is_shown("LSpin;::<init>", "Spin.<init>");
	is_shown("io/netty/channel/Loop:::run", "io.netty.channel.Loop.run");
	is_shown("Lio/netty/channel/Loop:::run", "io.netty.channel.Loop.run");
	is_shown("org/mozilla/MemberBox:.init", "org.mozilla.MemberBox.init");
	is_shown("LSpin:::main", "Spin.main");
	is_shown("Lcom/acme/A;::one(I)V", "com.acme.A.one");
	is_shown("Lcom/acme/A;.four()V", "com.acme.A.four");
	is_shown("com/acme/A.one(I)V", "com.acme.A.one");
	is_shown("com.acme.A.one(I)V", "com.acme.A.one");
	is_shown("com.acme.A::one(I)V", "com.acme.A.one");
	is_shown("com/acme/A.f(Ljava/lang/String|[BI)Ljava/util/Map|", "com.acme.A.f");
	is_shown("com/acme/A$$Lambda+0x00007f8b5c001200.f(J)V", "com.acme.A$$Lambda.f");
	is_shown("clojure/core$map.invoke(Ljava/lang/Object;)Ljava/lang/Object;",
		 "clojure.core/map");
	is_shown("[Lcom/acme/A;::clone", "com.acme.A[].clone");
}

static void names_of_other_runtimes_stay_unchanged(void **state)
{
	static const char *const names[] = {
		"JS:*spin /app/dir/n.js:2:14",
		"LazyCompile:~a.b /app/x.js:1:2",
		"Function:^emit node:events:466:44",
		"Builtin:ArrayPrototypeToSpliced",
		"BytecodeHandler:LdaConstant.ExtraWide",
		"RegExp:a.b(c)",
		"Eval:~ /app/n.js:1:1",
		"void [System.Private.CoreLib] System.Threading.Thread::Start()[Tier0]",
		"py::f:/app/dir/x.py",
		"void std::sort<a.b>(int*)",
		"net/http.(*Client).Do",
		"operator new(unsigned long)",
		"I2C/C2I adapters",
		"StubRoutines (1)",
		"throw_div0_exception Runtime1 stub",
		"thread pool.3",
		"a:::",
		"L;::",
		"void a.b.",
		"a::b(I)V",
		"lib.so::f",
		"a.b(I)",
		"a.b(La/C)V",
		"[a::b",
		"void (int)",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		is_shown(names[i], names[i]);
}

static void p2_clojure_functions_are_as_in_source(void **state)
{
	is_shown("clojure/core$filter.invoke", "clojure.core/filter");
	is_shown("clojure.core$filter.invokeStatic", "clojure.core/filter");
	is_shown("x$fn__1$fn__2.invoke", "x/fn--1/fn--2");
	is_shown("manifold/deferred/Deferred$fn__10121$fn__10122.invoke",
		 "manifold.deferred.Deferred/fn--10121/fn--10122");
	is_shown("manifold/deferred$eval10275$chain_SINGLEQUOTE____10296.invoke",
		 "manifold.deferred/eval10275/chain'---10296");
	is_shown("manifold/deferred$success_BANG_.doInvoke", "manifold.deferred/success!");
	is_shown("myapp/widget/upstream$widget__GT_upstream_widget_STAR_.invoke",
		 "myapp.widget.upstream/widget->upstream-widget*");
	is_shown("user$eval3454$time_STAR___3455.invokePrim", "user/eval3454/time*--3455");
	is_shown("myapp/api$f__10858__auto____28351.invoke", "myapp.api/f--10858--auto----28351");
	is_shown("clojure/lang/Reflector.invokeMatchingMethod",
		 "clojure.lang.Reflector.invokeMatchingMethod");
	is_shown("clojure/lang/AFn$x.invoke", "clojure.lang.AFn$x.invoke");
}

static node_id add_stack(struct profile *p, u64 value, const char *const *names)
{
	labels_id none = profile_intern_labels(p, &(struct labels){ .comm = "", .thread = "" });
	node_id node = 0;

	for (; *names; names++)
		node = profile_child(p, node, frames_intern(p->frames, FRAME_C2, *names, ""));
	profile_add(p, node, none, 0, value);
	return node;
}

#define STACK(p, value, ...) add_stack(p, value, (const char *const[]){ __VA_ARGS__, NULL })

/* The path of the only weight, separated by spaces. */
static char *only_stack(const struct profile *p, u64 value)
{
	struct str text = { 0 };

	assert_int_equal(p->weights.nr, 1);
	assert_int_equal(p->weights.at[0].value, value);
	str_add(&text, "");
	for (node_id n = p->weights.at[0].node; n; n = p->nodes.at[n].parent)
		str_addf(&text, "%s%s", text.len ? " " : "",
			 frames_get(p->frames, p->nodes.at[n].frame)->name);
	return str_take(&text);
}

static void becomes(struct profile *p, enum name_style style, u64 value, const char *wanted)
{
	profile_name_frames(p, style);
	char *stack = only_stack(p, value);
	assert_string_equal(stack, wanted);
	free(stack);
	profile_free(p);
}

static struct profile *new_profile(void)
{
	struct profile *p = profile_new();

	profile_add_type(p, "cpu", "samples");
	return p;
}

static void p3_the_method_that_only_calls_the_code_is_the_same_frame(void **state)
{
	struct profile *p = new_profile();

	STACK(p, 3, "a$f.invoke", "a$f.invokeStatic", "a$g.invokeStatic", "a$g.invokeStatic",
	      "b/C.m");
	becomes(p, NAMES_SHOWN, 3, "b.C.m a/g a/g a/f");
	p = new_profile();
	STACK(p, 3, "a$f.invokeStatic", "a$f.invoke", "a$f.invokePrim");
	becomes(p, NAMES_SHOWN, 3, "a/f a/f");
}

static void p4_equal_stacks_are_summed(void **state)
{
	struct profile *p = new_profile();

	STACK(p, 3, "a$f.invoke", "a$f.invokeStatic", "b/C.m");
	STACK(p, 4, "a$f.invokeStatic", "b.C.m");
	STACK(p, 5, "a/f", "b.C.m");
	becomes(p, NAMES_SHOWN, 12, "b.C.m a/f");
}

static void p5_numbers_of_compilations_are_dropped_for_comparing(void **state)
{
	is_without_ids("eval", "eval");
	is_without_ids("eval1234", "eval");
	is_without_ids("a/fn--1234/b", "a/fn--/b");
	is_without_ids("fn__1234", "fn__");
	is_without_ids("foo.bar.Lambda$123.45678.invoke", "foo.bar.Lambda$..invoke");
	is_without_ids("legal1234.invoke", "legal1234.invoke");
	is_without_ids("Foo$1.run", "Foo$.run");
	struct profile *p = new_profile();
	STACK(p, 3, "a$fn__12.invoke");
	STACK(p, 4, "a$fn__13.invoke");
	becomes(p, NAMES_WITHOUT_IDS, 7, "a/fn--");
}

static void q1_a_prefix_of_invoke_is_a_method_of_its_own(void **state)
{
	is_shown("com/acme/Obf.i", "com.acme.Obf.i");
	is_shown("com/acme/obf$x.in", "com.acme.obf$x.in");
	is_shown("com/acme/obf$x.do", "com.acme.obf$x.do");
	is_shown("com/acme/obf$x.invokes", "com.acme.obf$x.invokes");
}

static void q2_kotlin_reflection_and_libraries_are_not_clojure(void **state)
{
	is_shown("com/acme/Kt$main$1.invoke", "com.acme.Kt$main$1.invoke");
	is_shown("com/acme/Outer$Inner.invoke", "com.acme.Outer$Inner.invoke");
	is_shown("com/acme/app$main$1.invoke", "com.acme.app$main$1.invoke");
	is_shown("java/lang/reflect/Method.invoke", "java.lang.reflect.Method.invoke");
	is_shown("sun/reflect/NativeMethodAccessorImpl.invoke0",
		 "sun.reflect.NativeMethodAccessorImpl.invoke0");
	is_shown("/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libc.so.6");
	struct profile *p = new_profile();
	labels_id none = profile_intern_labels(p, &(struct labels){ .comm = "", .thread = "" });
	frame_id library = frames_intern(p->frames, FRAME_NATIVE, "lib/libc.so.6", "");
	profile_add(p, profile_child(p, 0, library), none, 0, 5);
	becomes(p, NAMES_WITHOUT_IDS, 5, "lib/libc.so.6");
}

static void q4_hidden_classes_lose_their_address(void **state)
{
	is_shown("App$$Lambda/0x00007f8b5c001200.run", "App$$Lambda.run");
	is_shown("com/acme/App$$Lambda+0x00007f8b5c001200.run", "com.acme.App$$Lambda.run");
	is_shown("com.acme.App$$Lambda$14/0x0000000800c03000.run", "com.acme.App$$Lambda.run");
	is_shown("com.acme.App$$Lambda$14.1234567.run", "com.acme.App$$Lambda.run");
	is_shown("com/acme/App$$Lambda$14/1234567.run", "com.acme.App$$Lambda.run");
	is_shown("com/acme/App$$Lambda$92+0x00007fa7bc007a08/1172131546.run",
		 "com.acme.App$$Lambda.run");
	is_shown("com.acme.App$$Lambda$92+0x00007fa7bc007a08.1172131546.run",
		 "com.acme.App$$Lambda.run");
	is_shown("java/lang/invoke/LambdaForm$MH/0x00007f8b5c001200.invoke",
		 "java.lang.invoke.LambdaForm$MH.invoke");
	is_shown("java/lang/invoke/LambdaForm$DMH+0x00007f8b5c001200.invokeStatic",
		 "java.lang.invoke.LambdaForm$DMH.invokeStatic");
	is_shown("com/acme/C/deadbeef.m", "com.acme.C.deadbeef.m");
}

static void generated_classes_lose_their_numbers(void **state)
{
	is_shown("jdk/proxy2/$Proxy33.get", "jdk.proxy.$Proxy.get");
	is_shown("com.sun.proxy.$Proxy7.get", "com.sun.proxy.$Proxy.get");
	is_shown("com.acme.$Proxy7Factory.get", "com.acme.$Proxy7Factory.get");
	is_shown("jdk/internal/reflect/GeneratedMethodAccessor12.invoke",
		 "jdk.internal.reflect.GeneratedMethodAccessor.invoke");
	is_shown("sun.reflect.GeneratedConstructorAccessor1.newInstance",
		 "sun.reflect.GeneratedConstructorAccessor.newInstance");
	is_shown("a.S$$EnhancerBySpringCGLIB$$1a2b3c4d.get", "a.S$$EnhancerBySpringCGLIB.get");
	is_shown("a.S$$FastClassBySpringCGLIB$$9e8f.invoke", "a.S$$FastClassBySpringCGLIB.invoke");
	is_shown("a.S$MockitoMock$1234567.get", "a.S$MockitoMock.get");
	is_shown("a.S$HibernateProxy$aB3dE.get", "a.S$HibernateProxy.get");
	is_shown("a.S_$$_jvst4a_0.get", "a.S_$$_jvst.get");
}

static void a_class_is_shown_like(const char *name, const char *wanted)
{
	auto_str struct str shown = { 0 };

	java_class_show(name, &shown);
	assert_string_equal(shown.at, wanted);
}

static void classes_of_objects_are_named_alike(void **state)
{
	a_class_is_shown_like("byte[]", "byte[]");
	a_class_is_shown_like("java/lang/Object[][]", "java.lang.Object[][]");
	a_class_is_shown_like("a.App$$Lambda/0x00007f8b5c001200", "a.App$$Lambda");
	a_class_is_shown_like("a/App$$Lambda$14+0x00007f8b5c001200[]", "a.App$$Lambda[]");
	a_class_is_shown_like("jdk.proxy2.$Proxy33", "jdk.proxy.$Proxy");
	a_class_is_shown_like("", "");
}

static void a_stub_routine_has_the_same_name_on_every_jdk(void **state)
{
	static const char *const names[] = { "dlog", "Stub Generator dlog_stub",
					     "dlog_stub (stub gen)" };
	struct profile *p = new_profile();
	labels_id none = profile_intern_labels(p, &(struct labels){ .comm = "", .thread = "" });

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		frame_id f = frames_intern(p->frames, FRAME_STUB, names[i], "");
		profile_add(p, profile_child(p, 0, f), none, 0, 2);
	}
	becomes(p, NAMES_SHOWN, 6, "dlog");
}

static void other_stubs_keep_their_names(void **state)
{
	static const char *const names[] = { "Stub Generator ", "_stub (stub gen)", "vtable stub",
					     "new_array_blob (C2 runtime)" };
	static const char *const shown[] = { "?", "_stub", "vtable stub",
					     "new_array_blob (C2 runtime)" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct profile *p = new_profile();
		labels_id none =
			profile_intern_labels(p, &(struct labels){ .comm = "", .thread = "" });
		frame_id f = frames_intern(p->frames, FRAME_STUB, names[i], "");
		profile_add(p, profile_child(p, 0, f), none, 0, 2);
		becomes(p, NAMES_SHOWN, 2, shown[i]);
	}
}

static void a_line_stays_with_its_frame(void **state)
{
	struct profile *p = profile_new();
	struct source_line source = { "core.clj", 12 };

	frames_keep_lines(p->frames);
	frames_intern_line(p->frames, FRAME_C2, "clojure/core$filter.invoke", "", source);
	profile_name_frames(p, NAMES_WITHOUT_IDS);
	const struct frame *f = frames_get(p->frames, 0);
	assert_string_equal(f->name, "clojure.core/filter:12");
	assert_string_equal(f->file, "core.clj");
	assert_int_equal(f->line, 12);
	profile_free(p);
}

static void raw_names_stay(void **state)
{
	struct profile *p = new_profile();

	STACK(p, 3, "a$f.invoke", "a$f.invokeStatic", "b/C$$Lambda$3/0x00007f8b5c001200.m");
	becomes(p, NAMES_RAW, 3, "b/C$$Lambda$3/0x00007f8b5c001200.m a$f.invokeStatic a$f.invoke");
}

static void any_text_becomes_a_name(void **state)
{
	static const char letters[] = "aA1_$./+x0fL;:()- <>[],";
	char name[24];

	srand(5);
	for (int i = 0; i < 100003; i++) {
		auto_str struct str shown = { 0 }, plain = { 0 };
		size_t len = (size_t)rand() % (sizeof(name) - 1);
		for (size_t k = 0; k < len; k++)
			name[k] = letters[(size_t)rand() % (sizeof(letters) - 1)];
		name[len] = '\0';
		java_name_show(name, &shown);
		java_name_drop_ids(shown.at, &plain);
		assert_true(plain.len <= shown.len);
		java_class_show(name, &shown);
	}
}

static void operators_of_scala_are_as_in_the_source(void **state)
{
	is_shown("scala/collection/immutable/$colon$colon.$plus$plus",
		 "scala.collection.immutable.::.++");
	is_shown("scala/Predef$$less$colon$less.apply", "scala.Predef$<:<.apply");
	is_shown("a/Box.x_$eq", "a.Box.x_=");
	is_shown("a/Box.unary_$bang", "a.Box.unary_!");
	is_shown("a/Box.$anonfun$$plus$plus$1", "a.Box.$anonfun$++$1");
	is_shown("a/Box.$tilde$eq$less$greater$bang$hash$percent$up$amp$bar$times$div$plus$minus"
		 "$colon$bslash$qmark$at",
		 "a.Box.~=<>!#%^&|*/+-:\\?@");
	a_class_is_shown_like("scala.collection.immutable.$colon$colon",
			      "scala.collection.immutable.::");
	/* A name that was decoded before stays. */
	is_shown("scala.collection.immutable.::.++", "scala.collection.immutable.::.++");
	is_shown("a.List.:::", "a.List.:::");
}

static void dollars_of_other_languages_are_no_operators(void **state)
{
	is_shown("a/B.lambda$times$0", "a.B.lambda$times$0");
	is_shown("a/BKt.main$bar", "a.BKt.main$bar");
	is_shown("a/B$Inner.access$000", "a.B$Inner.access$000");
	is_shown("a/B$$EnhancerBySpringCGLIB$$atlas.run", "a.B$$EnhancerBySpringCGLIB$$atlas.run");
	is_shown("a/B.$equals", "a.B.$equals");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operators_of_scala_are_as_in_the_source),
		cmocka_unit_test(dollars_of_other_languages_are_no_operators),
		cmocka_unit_test(p1_classes_have_dots),
		cmocka_unit_test(names_of_perf_maps_equal_those_of_recordings),
		cmocka_unit_test(names_of_other_runtimes_stay_unchanged),
		cmocka_unit_test(p2_clojure_functions_are_as_in_source),
		cmocka_unit_test(p3_the_method_that_only_calls_the_code_is_the_same_frame),
		cmocka_unit_test(p4_equal_stacks_are_summed),
		cmocka_unit_test(p5_numbers_of_compilations_are_dropped_for_comparing),
		cmocka_unit_test(q1_a_prefix_of_invoke_is_a_method_of_its_own),
		cmocka_unit_test(q2_kotlin_reflection_and_libraries_are_not_clojure),
		cmocka_unit_test(q4_hidden_classes_lose_their_address),
		cmocka_unit_test(generated_classes_lose_their_numbers),
		cmocka_unit_test(classes_of_objects_are_named_alike),
		cmocka_unit_test(a_stub_routine_has_the_same_name_on_every_jdk),
		cmocka_unit_test(other_stubs_keep_their_names),
		cmocka_unit_test(a_line_stays_with_its_frame),
		cmocka_unit_test(raw_names_stay),
		cmocka_unit_test(any_text_becomes_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
