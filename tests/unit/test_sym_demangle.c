/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "sym/files/demangle.h"

static void assert_demangled(const char *symbol, const char *want)
{
	auto_str struct str out = { 0 };

	demangle(&out, symbol);
	assert_string_equal(out.at, want);
	assert_int_equal(out.len, strlen(want));
}

static void a_c_symbol_is_not_changed(void **state)
{
	assert_demangled("malloc", "malloc");
	assert_demangled("_start", "_start");
	assert_demangled("", "");
	assert_demangled("@", "@");
	assert_demangled("_Z", "_Z");
	assert_demangled("_ZN", "_ZN");
}

static void cxx_names_lose_parameters_and_keep_template_arguments(void **state)
{
	assert_demangled("_ZN10JavaThread3runEv", "JavaThread::run");
	assert_demangled("_ZNKSt6vectorIiSaIiEE4sizeEv",
			 "std::vector<int, std::allocator<int> >::size");
	assert_demangled("_Z3maxIiET_S0_S0_", "max<int>");
	assert_demangled("_ZN12_GLOBAL__N_14workEi", "(anonymous namespace)::work");
	assert_demangled("_ZN3FooD1Ev", "Foo::~Foo");
	assert_demangled("_ZlsRSoRK3Foo", "operator<<");
	assert_demangled("_ZTVN3foo3BarE", "vtable for foo::Bar");
}

static void both_rust_manglings_are_demangled(void **state)
{
	assert_demangled("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
			 "core::fmt::Formatter::pad");
	assert_demangled("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$"
			 "$GT$3bar17h930b740aa94f1d3aE",
			 "<Test + 'static as foo::Bar<Test>>::bar");
	assert_demangled("_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example");
	assert_demangled("_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>");
}

static void versions_and_copies_are_dropped_and_the_plt_stays(void **state)
{
	assert_demangled("memcpy@@GLIBC_2.14", "memcpy");
	assert_demangled("memcpy@GLIBC_2.2.5", "memcpy");
	assert_demangled("memcpy@plt", "memcpy@plt");
	assert_demangled("_ZN10JavaThread3runEv@plt", "JavaThread::run@plt");
	assert_demangled("work.constprop.0.isra.0", "work");
	assert_demangled("_ZN10JavaThread3runEv.cold", "JavaThread::run");
	assert_demangled("_ZN10JavaThread3runEv.part.0.cold", "JavaThread::run");
	assert_demangled("runtime.gopark", "runtime.gopark");
	assert_demangled(".cold", ".cold");
}

static void long_template_arguments_become_dots(void **state)
{
	struct str symbol = { 0 };

	str_add(&symbol, "_ZN3fooI");
	for (int i = 0; i < 60; i++)
		str_add(&symbol, "3Bar");
	str_add(&symbol, "E6methodEv");
	assert_demangled(symbol.at, "foo<...>::method");
	str_clear(&symbol);
	str_add(&symbol, "_ZlsI");
	for (int i = 0; i < 60; i++)
		str_add(&symbol, "3Bar");
	str_add(&symbol, "Evv");
	assert_demangled(symbol.at, "operator<< <...>");
	str_fini(&symbol);
}

static void a_name_that_is_too_long_is_cut_between_characters(void **state)
{
	auto_str struct str out = { 0 };
	char symbol[8192];

	for (size_t i = 0; i + 3 < sizeof(symbol); i += 3)
		memcpy(symbol + i, "\xe2\x82\xac", 4);
	demangle(&out, symbol);
	assert_in_range(out.len, DEMANGLE_MAX - 3, DEMANGLE_MAX);
	assert_memory_equal(out.at + out.len - 6, "\xe2\x82\xac...", 6);
}

/* Each std::pair consists of two of the previous one: 2^20 names when expanded. */
static void a_name_that_grows_exponentially_is_not_demangled(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	auto_str struct str out = { 0 }, symbol = { 0 };

	str_add(&symbol, "_Z1fISt4pairIiiE");
	for (int i = 1; i < 21; i++)
		str_addf(&symbol, "S0_IS%c_S%c_E", digits[i], digits[i]);
	str_add(&symbol, "Evv");
	demangle(&out, symbol.at);
	assert_string_equal(out.at, symbol.at);
}

static void deep_nesting_and_random_bytes_do_no_harm(void **state)
{
	static const char alphabet[] = "_ZRNKStICESE0123456789ahv$.@LTGTuPFDpNvXB";
	auto_str struct str out = { 0 };
	char symbol[4000];

	memset(symbol, 'P', sizeof(symbol));
	memcpy(symbol, "_Z1f", 4);
	symbol[sizeof(symbol) - 1] = '\0';
	demangle(&out, symbol);
	memset(symbol + 2, 'N', sizeof(symbol) - 3);
	memcpy(symbol, "_R", 2);
	demangle(&out, symbol);

	srand(13);
	for (int round = 0; round < 30011; round++) {
		size_t len = (size_t)rand() % 80;
		for (size_t i = 0; i < len; i++)
			symbol[i] = round % 5 ? alphabet[(size_t)rand() % (sizeof(alphabet) - 1)]
					      : (char)(rand() % 255 + 1);
		memcpy(symbol, round % 2 ? "_ZN" : "_RN", 3);
		symbol[len < 3 ? 3 : len] = '\0';
		demangle(&out, symbol);
		assert_in_range(out.len, 0, DEMANGLE_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_c_symbol_is_not_changed),
		cmocka_unit_test(cxx_names_lose_parameters_and_keep_template_arguments),
		cmocka_unit_test(both_rust_manglings_are_demangled),
		cmocka_unit_test(versions_and_copies_are_dropped_and_the_plt_stays),
		cmocka_unit_test(long_template_arguments_become_dots),
		cmocka_unit_test(a_name_that_is_too_long_is_cut_between_characters),
		cmocka_unit_test(a_name_that_grows_exponentially_is_not_demangled),
		cmocka_unit_test(deep_nesting_and_random_bytes_do_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
