/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a simulated JVM: an ELF image with gHotSpotVM tables, a code heap with one nmethod
 * in which leaf() is inlined into root(), and the data for their names. Tests may change every
 * byte.
 */
#pragma once

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/types.h"
#include "jvm/hotspot/hotspot_private.h"
#include "proc/mem.h"

#define FAKE_BASE       0x7f0000000000ull
#define FAKE_SIZE       0x20000u
#define FAKE_HEAP       0x10000u /* code heap: 32 KB of 64 KB are committed */
#define FAKE_HEAP_USED  0x8000u
#define FAKE_SHIFT      7
#define FAKE_BLOB       (FAKE_HEAP + 16)
#define FAKE_CODE       (FAKE_BLOB + 256)
#define FAKE_CODE_SIZE  0x100u
#define FAKE_COMPILE_ID 77u
#define FAKE_CALL       0x20 /* pc offset of the call with a descriptor */

struct fake_jvm {
	u8 bytes[FAKE_SIZE];
	u32 free; /* the next free byte of the data area */
	u32 nr_symbols, symbols, strings, strings_len;
	struct mem_segment segment;
	u32 tables, method, unloads; /* their offsets, for tests that damage them */
	u32 segmap, call_stub; /* for tests that add blobs and stubs; call_stub is 0 at first */
};

static inline u64 fake_addr(u32 off)
{
	return FAKE_BASE + off;
}

static inline void fake_put(struct fake_jvm *f, u32 off, u64 value, u32 width)
{
	memcpy(f->bytes + off, &value, width);
}

static inline u32 fake_alloc(struct fake_jvm *f, u32 size)
{
	u32 at = f->free;

	f->free += (size + 15) & ~15u;
	return at;
}

static inline u64 fake_text(struct fake_jvm *f, const char *text)
{
	u32 at = fake_alloc(f, (u32)strlen(text) + 1);

	strcpy((char *)f->bytes + at, text);
	return fake_addr(at);
}

/* Adds a dynamic symbol of a variable that holds `value`. */
static inline void fake_variable(struct fake_jvm *f, const char *name, u64 value)
{
	u32 at = fake_alloc(f, 8);
	Elf64_Sym sym = { .st_name = f->strings_len, .st_shndx = 1, .st_value = at };

	fake_put(f, at, value, 8);
	strcpy((char *)f->bytes + f->strings + f->strings_len, name);
	f->strings_len += (u32)strlen(name) + 1;
	memcpy(f->bytes + f->symbols + f->nr_symbols++ * sizeof(sym), &sym, sizeof(sym));
}

struct fake_field {
	const char *type, *name, *type_string;
	bool is_static;
	u64 value;
};

static inline void fake_describe(struct fake_jvm *f, const char *entry, const char *column,
				 u64 value)
{
	char name[96];

	snprintf(name, sizeof(name), "%s%s", entry, column);
	fake_variable(f, name, value);
}

static inline void fake_fields(struct fake_jvm *f, const struct fake_field *fields, size_t nr)
{
	const char *entry = "gHotSpotVMStructEntry";
	u32 table = fake_alloc(f, (u32)(nr + 1) * 48);

	f->tables = table;
	for (u32 i = 0; i < nr; i++, table += 48) {
		fake_put(f, table, fake_text(f, fields[i].type), 8);
		fake_put(f, table + 8, fake_text(f, fields[i].name), 8);
		fake_put(f, table + 16, fake_text(f, fields[i].type_string), 8);
		fake_put(f, table + 24, fields[i].is_static, 4);
		fake_put(f, table + (fields[i].is_static ? 40 : 32), fields[i].value, 8);
	}
	fake_variable(f, "gHotSpotVMStructs", fake_addr(f->tables));
	fake_describe(f, entry, "ArrayStride", 48);
	fake_describe(f, entry, "TypeNameOffset", 0);
	fake_describe(f, entry, "FieldNameOffset", 8);
	fake_describe(f, entry, "TypeStringOffset", 16);
	fake_describe(f, entry, "IsStaticOffset", 24);
	fake_describe(f, entry, "OffsetOffset", 32);
	fake_describe(f, entry, "AddressOffset", 40);
}

/* Adds a table of names and numbers: types with sizes, or constants. */
static inline void fake_numbers(struct fake_jvm *f, const char *base, const char *entry,
				const char *name_column, const char *value_column,
				const struct fake_field *numbers, size_t nr)
{
	u32 start = fake_alloc(f, (u32)(nr + 1) * 16), table = start;

	for (u32 i = 0; i < nr; i++, table += 16) {
		fake_put(f, table, fake_text(f, numbers[i].type), 8);
		fake_put(f, table + 8, numbers[i].value, 8);
	}
	fake_variable(f, base, fake_addr(start));
	fake_describe(f, entry, "ArrayStride", 16);
	fake_describe(f, entry, name_column, 0);
	fake_describe(f, entry, value_column, 8);
}

static inline u64 fake_symbol(struct fake_jvm *f, const char *text)
{
	u32 at = fake_alloc(f, 6 + (u32)strlen(text));

	fake_put(f, at + 4, strlen(text), 2);
	memcpy(f->bytes + at + 6, text, strlen(text));
	return fake_addr(at);
}

/* Method -> ConstMethod -> ConstantPool -> Symbols, with two bytes of bytecode of source line 7. */
static inline u32 fake_method(struct fake_jvm *f, const char *class, const char *name)
{
	u32 method = fake_alloc(f, 16), cm = fake_alloc(f, 96), pool = fake_alloc(f, 72 + 5 * 8);
	u32 tags = fake_alloc(f, 16), klass = fake_alloc(f, 16);

	fake_put(f, method + 8, fake_addr(cm), 8);
	fake_put(f, cm + 8, fake_addr(pool), 8);
	fake_put(f, cm + 24, 12, 4); /* words */
	fake_put(f, cm + 28, 1, 2);  /* has a line table */
	fake_put(f, cm + 32, 2, 2);  /* bytes of bytecode */
	fake_put(f, cm + 34, 1, 2);
	fake_put(f, cm + 36, 2, 2);
	fake_put(f, cm + 50, 7, 1); /* bci + 0, line + 7 */
	fake_put(f, pool + 8, fake_addr(tags), 8);
	fake_put(f, pool + 24, fake_addr(klass), 8);
	fake_put(f, pool + 54, 3, 2);
	fake_put(f, pool + 60, 5, 4);
	fake_put(f, pool + 72 + 8, fake_symbol(f, name), 8);
	fake_put(f, pool + 72 + 16, fake_symbol(f, "(I)V"), 8);
	fake_put(f, pool + 72 + 24, fake_symbol(f, "Fake.java"), 8);
	fake_put(f, tags, 5, 4);
	memset(f->bytes + tags + 5, 1, 4);
	fake_put(f, klass + 8, fake_symbol(f, class), 8);
	return method;
}

/* The code heap: one nmethod of 1 KB, then free memory. */
static inline u64 fake_heaps(struct fake_jvm *f)
{
	u32 array = fake_alloc(f, 16), list = fake_alloc(f, 8), heap = fake_alloc(f, 144);
	u32 segmap = fake_alloc(f, FAKE_HEAP_USED >> FAKE_SHIFT);

	fake_put(f, array, 1, 4);
	fake_put(f, array + 8, fake_addr(list), 8);
	fake_put(f, list, fake_addr(heap), 8);
	fake_put(f, heap, fake_addr(FAKE_HEAP), 8);
	fake_put(f, heap + 8, fake_addr(FAKE_SIZE), 8);
	fake_put(f, heap + 16, fake_addr(FAKE_HEAP), 8);
	fake_put(f, heap + 24, fake_addr(FAKE_HEAP + FAKE_HEAP_USED), 8);
	fake_put(f, heap + 64 + 16, fake_addr(segmap), 8);
	fake_put(f, heap + 64 + 24, fake_addr(segmap + (FAKE_HEAP_USED >> FAKE_SHIFT)), 8);
	fake_put(f, heap + 128, FAKE_SHIFT, 4);
	f->segmap = segmap;
	memset(f->bytes + segmap, 0xff, FAKE_HEAP_USED >> FAKE_SHIFT);
	for (u8 i = 0; i < 8; i++)
		f->bytes[segmap + i] = i;
	return fake_addr(array);
}

static inline void fake_nmethod(struct fake_jvm *f, u32 root, u32 leaf)
{
	const u32 b = FAKE_BLOB, metadata = 0x280, scopes = 0x2c0, descs = 0x300;
	const struct {
		s32 pc, scope, object, flags;
	} table[] = { { -1, 0, 0, 0 }, { FAKE_CALL, 4, 0, 0 }, { 0x7fffffff, 0, 0, 0 } };

	fake_put(f, FAKE_HEAP, 8, 8);
	fake_put(f, FAKE_HEAP + 8, 1, 1);
	fake_put(f, b + 8, fake_text(f, "nmethod"), 8);
	fake_put(f, b + 16, 0x3f0, 4);
	fake_put(f, b + 20, 6, 4);
	fake_put(f, b + 24, 0x10, 4);
	fake_put(f, b + 32, fake_addr(FAKE_CODE), 8);
	fake_put(f, b + 40, fake_addr(FAKE_CODE + FAKE_CODE_SIZE), 8);
	fake_put(f, b + 56, fake_addr(root), 8);
	fake_put(f, b + 64, FAKE_COMPILE_ID, 4);
	fake_put(f, b + 68, 4, 4);
	fake_put(f, b + 72, metadata, 4);
	fake_put(f, b + 76, descs, 4);
	fake_put(f, b + 80, descs + sizeof(table), 4);
	fake_put(f, b + 88, fake_addr(b + scopes), 8);
	fake_put(f, b + metadata, fake_addr(root), 8);
	fake_put(f, b + metadata + 8, fake_addr(leaf), 8);
	/* at 1: root, bci 0; at 4: leaf, bci 0, called from 1 */
	memcpy(f->bytes + b + scopes, "\0\0\1\1\1\2\1", 7);
	memcpy(f->bytes + b + descs, table, sizeof(table));
}

static inline void fake_elf(struct fake_jvm *f)
{
	u32 dynamic = fake_alloc(f, 5 * sizeof(Elf64_Dyn));
	u32 hash = fake_alloc(f, 4 * (3 + f->nr_symbols));
	const Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
				  .e_phoff = sizeof(head),
				  .e_phentsize = sizeof(Elf64_Phdr),
				  .e_phnum = 2 };
	const Elf64_Phdr phdrs[] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_memsz = FAKE_HEAP },
		{ .p_type = PT_DYNAMIC, .p_vaddr = dynamic, .p_memsz = 5 * sizeof(Elf64_Dyn) }
	};
	const Elf64_Dyn entries[] = { { DT_SYMTAB, { fake_addr(f->symbols) } },
				      { DT_STRTAB, { fake_addr(f->strings) } },
				      { DT_STRSZ, { f->strings_len } },
				      { DT_HASH, { fake_addr(hash) } } };

	memcpy(f->bytes, &head, sizeof(head));
	memcpy(f->bytes + sizeof(head), phdrs, sizeof(phdrs));
	memcpy(f->bytes + dynamic, entries, sizeof(entries));
	fake_put(f, hash, 1, 4);
	fake_put(f, hash + 4, f->nr_symbols, 4);
	fake_put(f, hash + 8, 1, 4); /* one bucket: the chain contains every symbol */
	for (u32 i = 1; i + 1 < f->nr_symbols; i++)
		fake_put(f, hash + 12 + 4 * i, i + 1, 4);
}

/*
 * Adds counters with one entry (PerfDataPrologue, PerfDataEntry). Returns the address of their
 * variable.
 */
static inline u64 fake_counters(struct fake_jvm *f)
{
	static const char name[] = "java.cls.unloadedClasses";
	const u8 prologue[32] = { 0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1, [24] = 32, [28] = 1 };
	const u8 entry[20] = { 56, [4] = 20, [12] = 'J', [16] = 48 };
	u32 variable = fake_alloc(f, 8), at = fake_alloc(f, 32 + 56);

	memcpy(f->bytes + at, prologue, sizeof(prologue));
	memcpy(f->bytes + at + 32, entry, sizeof(entry));
	memcpy(f->bytes + at + 52, name, sizeof(name));
	f->unloads = at + 32 + 48;
	fake_put(f, variable, fake_addr(at), 8);
	return fake_addr(variable);
}

static inline void fake_sizes(struct fake_jvm *f)
{
	const struct fake_field sizes[] = { { .type = "HeapBlock", .value = 16 },
					    { .type = "ConstMethod", .value = 48 },
					    { .type = "ConstantPool", .value = 72 } };
	const struct fake_field constants[] = { { .type = "InvocationEntryBci",
						  .value = (u64)-1 } };

	fake_numbers(f, "gHotSpotVMTypes", "gHotSpotVMTypeEntry", "TypeNameOffset", "SizeOffset",
		     sizes, ARRAY_SIZE(sizes));
	fake_numbers(f, "gHotSpotVMIntConstants", "gHotSpotVMIntConstantEntry", "NameOffset",
		     "ValueOffset", constants, ARRAY_SIZE(constants));
}

static inline void fake_tables(struct fake_jvm *f, u64 heaps)
{
	u32 heaps_var = fake_alloc(f, 8), version = fake_alloc(f, 8);

	f->call_stub = fake_alloc(f, 8);
	const struct fake_field fields[] = {
		{ "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", true, fake_addr(heaps_var) },
		{ "JDK_Version", "_current", "JDK_Version", true, fake_addr(version) },
		{ "PerfMemory", "_start", "char*", true, fake_counters(f) },
		{ "StubRoutines", "_call_stub_return_address", "address", true,
		  fake_addr(f->call_stub) },
		{ "GrowableArrayBase", "_len", "int", false, 0 },
		{ "GrowableArray<int>", "_data", "int*", false, 8 },
		{ "CodeHeap", "_memory", "VirtualSpace", false, 0 },
		{ "CodeHeap", "_segmap", "VirtualSpace", false, 64 },
		{ "CodeHeap", "_log2_segment_size", "int", false, 128 },
		{ "VirtualSpace", "_low_boundary", "char*", false, 0 },
		{ "VirtualSpace", "_high_boundary", "char*", false, 8 },
		{ "VirtualSpace", "_low", "char*", false, 16 },
		{ "VirtualSpace", "_high", "char*", false, 24 },
		{ "HeapBlock::Header", "_length", "size_t", false, 0 },
		{ "HeapBlock::Header", "_used", "bool", false, 8 },
		{ "CodeBlob", "_name", "const char*", false, 8 },
		{ "CodeBlob", "_size", "int", false, 16 },
		{ "CodeBlob", "_frame_size", "int", false, 20 },
		{ "CodeBlob", "_frame_complete_offset", "int", false, 24 },
		{ "CodeBlob", "_code_begin", "address", false, 32 },
		{ "CodeBlob", "_code_end", "address", false, 40 },
		{ "CodeBlob", "_oop_maps", "ImmutableOopMapSet*", false, 48 },
		{ "ImmutableOopMapSet", "_count", "int", false, 0 },
		{ "CompiledMethod", "_method", "Method*", false, 56 },
		{ "nmethod", "_compile_id", "int", false, 64 },
		{ "nmethod", "_comp_level", "int", false, 68 },
		{ "nmethod", "_metadata_offset", "int", false, 72 },
		{ "nmethod", "_scopes_pcs_offset", "int", false, 76 },
		{ "nmethod", "_dependencies_offset", "int", false, 80 },
		{ "CompiledMethod", "_scopes_data_begin", "address", false, 88 },
		{ "Method", "_constMethod", "ConstMethod*", false, 8 },
		{ "ConstMethod", "_constants", "ConstantPool*", false, 8 },
		{ "ConstMethod", "_constMethod_size", "int", false, 24 },
		{ "ConstMethod", "_flags", "u2", false, 28 },
		{ "ConstMethod", "_code_size", "u2", false, 32 },
		{ "ConstMethod", "_name_index", "u2", false, 34 },
		{ "ConstMethod", "_signature_index", "u2", false, 36 },
		{ "ConstantPool", "_tags", "Array<u1>*", false, 8 },
		{ "ConstantPool", "_pool_holder", "InstanceKlass*", false, 24 },
		{ "ConstantPool", "_length", "int", false, 60 },
		{ "ConstantPool", "_source_file_name_index", "u2", false, 54 },
		{ "Klass", "_name", "Symbol*", false, 8 },
		{ "Symbol", "_length", "u2", false, 4 },
		{ "Symbol", "_body", "", false, 6 },
	};

	fake_put(f, heaps_var, heaps, 8);
	fake_put(f, version, 17, 1);
	fake_fields(f, fields, ARRAY_SIZE(fields));
	fake_sizes(f);
}

static inline void fake_jvm_make(struct fake_jvm *f)
{
	memset(f, 0, sizeof(*f));
	f->free = 256; /* after the ELF headers */
	f->nr_symbols = 1;
	f->symbols = fake_alloc(f, 64 * sizeof(Elf64_Sym));
	f->strings = fake_alloc(f, 4096);
	f->strings_len = 1;
	f->method = fake_method(f, "pkg/Root", "root");
	fake_nmethod(f, f->method, fake_method(f, "pkg/Leaf", "leaf"));
	fake_tables(f, fake_heaps(f));
	fake_elf(f);
	f->segment = (struct mem_segment){ FAKE_BASE, f->bytes, FAKE_SIZE };
}

static inline int fake_jvm_open(struct fake_jvm *f, struct hotspot **out)
{
	return hotspot_of_memory(mem_of_segments(&f->segment, 1), FAKE_BASE, out);
}
