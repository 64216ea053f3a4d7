# SPDX-License-Identifier: Apache-2.0
# Files of an unprivileged user that take long to parse, in the folder `theirs`.

# The program that has the files of `theirs` mapped as code, and runs.
maps_all='import glob, mmap, os
keep = []
for name in glob.glob("*.so"):
    fd = os.open(name, os.O_RDONLY)
    keep.append(mmap.mmap(fd, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
print("ready", flush=True)
while True: pass'

# many_unwind_tables NUMBER: makes so many files in `theirs` with 250,000 functions each. Their
# compressed tables grow to 15 times their size.
many_unwind_tables() {
	mkdir -p theirs
	cat >many.s <<-'END'
		.cfi_sections .debug_frame
		.rept 250000
		.cfi_startproc
		nop
		.cfi_def_cfa_offset 24
		nop
		.cfi_def_cfa_offset 32
		nop
		.cfi_endproc
		.endr
	END
	gcc -shared -nostdlib many.s -o many.so
	/usr/bin/python3 -c 'import sys
data = bytearray(open("many.so", "rb").read())
at = data.index(bytes([0x41, 0x0e, 24])) # DW_CFA_advance_loc 1, DW_CFA_def_cfa_offset 24
for i in range(int(sys.argv[1])):
    data[at + 2] = 25 + i # each file needs rows of its own
    open(f"theirs/{i}.so", "wb").write(data)' "$1"
	for file in theirs/*.so; do
		objcopy --compress-debug-sections "$file"
	done
	chown -R 65534:65534 theirs
}

# many_symbol_tables NUMBER: makes so many files in `theirs`, each with 2.5 million functions. Their
# compressed tables of 60 MB take 60 KB.
many_symbol_tables() {
	mkdir -p theirs
	/usr/bin/python3 - "$1" <<-'END'
		import struct, sys, zlib
		def section(name, kind, flags, vaddr, off, size, link, entsize):
		    return struct.pack('<IIQQQQIIQQ', name, kind, flags, vaddr, off, size, link, 0, 8, entsize)
		symbol = struct.pack('<IBBHQQ', 1, 2, 0, 1, 0, 16) # a function called mallod
		names, section_names = b'\0mallod\0', b'\0.symtab\0.strtab\0.shstrtab\0'
		table = symbol * 2500000
		packed = struct.pack('<IIQQ', 1, 0, len(table), 8) + zlib.compress(table, 9)
		for i in range(int(sys.argv[1])):
		    body = b'\x90' * 4096 + struct.pack('<I', i) # each is another file
		    at, parts = [], [packed, names, section_names]
		    for part in parts:
		        at.append(len(body))
		        body += part
		    sections = [section(0, 0, 0, 0, 0, 0, 0, 0),
		                section(1, 2, 0x800, 0, at[0], len(packed), 2, 24),
		                section(9, 3, 0, 0, at[1], len(names), 0, 0),
		                section(17, 3, 0, 0, at[2], len(section_names), 0, 0)]
		    head = b'\x7fELF\x02\x01\x01' + bytes(9) + struct.pack('<HHIQQQIHHHHHH', 3, 62, 1, 0, 64,
		        len(body), 0, 64, 56, 1, 64, len(sections), 3)
		    load = struct.pack('<IIQQQQQQ', 1, 5, 0, 0, 0, 4096, 4096, 4096)
		    start = head + load
		    open(f'theirs/{i}.so', 'wb').write(start + body[len(start):] + b''.join(sections))
	END
	chown -R 65534:65534 theirs
}

# absurd_notes FILE: makes a file whose notes of USDT probes claim lengths of up to 4 GB, or have
# names of megabytes.
absurd_notes() {
	/usr/bin/python3 - "$1" <<-'END'
		import struct, sys
		def section(name, kind, off, size):
		    return struct.pack('<IIQQQQIIQQ', name, kind, 0, 0, off, size, 0, 0, 4, 0)
		def note(name_len, desc_len, body):
		    return struct.pack('<III', name_len, desc_len, 3) + body
		owner, names = b'stapsdt\0', b'\0.note.stapsdt\0.shstrtab\0'
		long = bytes(24) + b'p' * 7000000 + b'\0' + b'n' * 7000000 + b'\0\0\0'
		long += bytes(-len(long) % 4)
		notes = note(8, len(long), owner + long)
		notes += note(8, 0xffffffff, owner) + note(0xfffffffd, 16, owner) + note(8, 8, owner + bytes(8))
		off = 4096
		sections = section(0, 0, 0, 0) + section(1, 7, off, len(notes)) + \
		    section(15, 3, off + len(notes), len(names))
		head = b'\x7fELF\x02\x01\x01' + bytes(9) + struct.pack('<HHIQQQIHHHHHH', 3, 62, 1, 0, 64,
		    off + len(notes) + len(names), 0, 64, 56, 1, 64, 3, 2)
		load = struct.pack('<IIQQQQQQ', 1, 5, 0, 0, 0, 4096, 4096, 4096)
		open(sys.argv[1], 'wb').write((head + load).ljust(off, b'\x90') + notes + names + sections)
	END
}
