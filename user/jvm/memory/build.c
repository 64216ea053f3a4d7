/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of objects in one build of libjvm, from its tables. */
#include "jvm/memory/build.h"

#include <string.h>

#include "hotspot_abi.h"

struct field_name {
	enum jvm_slot slot;
	const char *type, *field, *text;
};

#define X(slot, type, field) { slot, type, field, type "::" field " is not exported" },
static const struct field_name field_names[] = { JVM_FIELDS(X) };
static const struct field_name aliases[] = { JVM_ALIASES(X) };
#undef X

#define X(slot, type) [slot] = type,
static const char *const size_names[] = { JVM_SIZES(X) };
#undef X

#define X(name) [JVM_FLAG_##name] = #name,
static const char *const flag_names[] = { JVM_FLAGS(X) };
#undef X

/* The integer types of these fields in JDK 8..28. Any type with a '*' has 8 bytes. */
struct width {
	const char *name;
	u8 width;
	bool is_signed;
};

static const struct width widths[] = {
	{ "int", 4, true },
	{ "jint", 4, true },
	{ "int32_t", 4, true },
	{ "uint", 4, false },
	{ "u4", 4, false },
	{ "uint32_t", 4, false },
	{ "unsigned int", 4, false },
	{ "juint", 4, false },
	{ "OSThread::thread_id_t", 4, true },
	{ "pid_t", 4, true },
	{ "short", 2, true },
	{ "int16_t", 2, true },
	{ "jshort", 2, true },
	{ "u2", 2, false },
	{ "uint16_t", 2, false },
	{ "unsigned short", 2, false },
	{ "jushort", 2, false },
	{ "char", 1, true },
	{ "int8_t", 1, true },
	{ "jbyte", 1, true },
	{ "signed char", 1, true },
	{ "u1", 1, false },
	{ "uint8_t", 1, false },
	{ "bool", 1, false },
	{ "unsigned char", 1, false },
	{ "JVMFlag::Flags", 4, false },
	{ "CodeBlobKind", 1, false },
	{ "CompLevel", 1, false },
	{ "long", 8, true },
	{ "jlong", 8, true },
	{ "intx", 8, true },
	{ "intptr_t", 8, true },
	{ "int64_t", 8, true },
	{ "size_t", 8, false },
	{ "uintx", 8, false },
	{ "uint64_t", 8, false },
	{ "julong", 8, false },
	{ "uintptr_t", 8, false },
	{ "address", 8, false },
	{ "u8", 8, false },
	{ "AccessFlags", 2, false },
	{ "JavaThreadState", 4, true },
};

static struct jvm_field field_of(const struct vmfield *f, u64 bias)
{
	struct jvm_field out = { f->is_static ? f->at - bias : f->at, 8, false };
	const char *type = f->type_string;

	if (strchr(type, '*'))
		return out;
	if (!strncmp(type, "const ", 6))
		type += 6;
	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		if (strcmp(widths[i].name, type) != 0)
			continue;
		out.width = widths[i].width;
		out.is_signed = widths[i].is_signed;
	}
	return out; /* an embedded object: only its offset is used */
}

static void add_fields(const struct vmstructs *tables, u64 bias, const struct field_name *names,
		       size_t nr, struct jvm_build *out)
{
	for (size_t i = 0; i < nr; i++) {
		struct jvm_field *to = &out->fields[names[i].slot];
		const struct vmfield *f =
			to->width ? NULL : vmstructs_field(tables, names[i].type, names[i].field);

		if (f && (f->is_static || f->at < 65536))
			*to = field_of(f, bias);
	}
}

static void add_kinds(const struct vmstructs *tables, struct jvm_build *out)
{
	static const struct {
		const char *name;
		enum hotspot_class class;
	} kinds[] = {
		{ "Nmethod", HOTSPOT_CLASS_NMETHOD },     { "Adapter", HOTSPOT_CLASS_BARE },
		{ "Vtable", HOTSPOT_CLASS_BARE },         { "MHAdapter", HOTSPOT_CLASS_BARE },
		{ "Buffer", HOTSPOT_CLASS_STUB },         { "RuntimeStub", HOTSPOT_CLASS_STUB },
		{ "Deoptimization", HOTSPOT_CLASS_STUB }, { "Safepoint", HOTSPOT_CLASS_STUB },
		{ "Exception", HOTSPOT_CLASS_STUB },      { "UncommonTrap", HOTSPOT_CLASS_STUB },
		{ "Upcall", HOTSPOT_CLASS_STUB },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		char name[64] = "CodeBlobKind::";
		s64 value;

		strcat(name, kinds[i].name);
		if (vmstructs_constant(tables, name, &value) && value >= 0 && value < JVM_NR_KINDS)
			out->kinds[value] = (u8)kinds[i].class;
	}
}

void jvm_build_of_tables(const struct vmstructs *tables, u64 bias, struct jvm_build *out)
{
	s64 bit;
	u64 size;

	memset(out, 0, sizeof(*out));
	add_fields(tables, bias, field_names, ARRAY_SIZE(field_names), out);
	add_fields(tables, bias, aliases, ARRAY_SIZE(aliases), out);
	for (size_t i = 0; i < NR_JVM_SIZES; i++)
		if (vmstructs_type_size(tables, size_names[i], &size) && size < 65536)
			out->sizes[i] = (u32)size;
	add_kinds(tables, out);
	out->has_line_table = 1;
	if (vmstructs_constant(tables, "ConstMethodFlags::_misc_has_linenumber_table", &bit) ||
	    vmstructs_constant(tables, "ConstMethod::_has_linenumber_table", &bit))
		out->has_line_table = (u32)bit;
	out->nr_fields = (u32)vmstructs_nr(tables);
	out->is_cut = vmstructs_is_cut(tables);
}

s64 jvm_get(const struct jvm_build *b, enum jvm_slot slot, const void *object, size_t len)
{
	const struct jvm_field *f = &b->fields[slot];
	u64 value = 0;

	if (!f->width || f->width > len || f->at > len - f->width)
		return 0;
	memcpy(&value, (const u8 *)object + f->at, f->width);
	if (f->is_signed && f->width < 8) {
		unsigned shift = 64 - 8u * f->width;
		return (s64)(value << shift) >> shift;
	}
	return (s64)value;
}

const char *jvm_slot_missing(enum jvm_slot slot)
{
	return slot < NR_JVM_SLOTS ? field_names[slot].text : "?";
}

const char *jvm_flag_name(enum jvm_flag flag)
{
	return flag < NR_JVM_FLAGS ? flag_names[flag] : "?";
}
