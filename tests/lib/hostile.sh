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
	mkdir theirs
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
