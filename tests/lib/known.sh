# SPDX-License-Identifier: Apache-2.0
# Records a program from before its start. Source it after tap.sh. The program waits for SIGUSR1 and
# then calls started(). A uprobe there shows that all events are attached.

# vaddr PROGRAM FUNCTION
vaddr() {
	echo $((0x$(nm "$1" | awk -v name="$2" '$3 == name { print $1 }')))
}

# is_trapped PID VADDR: whether the process's memory has a breakpoint there.
is_trapped() {
	[ "$(byte_at "$@")" = cc ]
}

is_not_trapped() {
	[ "$(byte_at "$@")" != cc ]
}

byte_at() {
	local base
	base=$(awk -v exe="$(readlink "/proc/$1/exe")" '$6 == exe { sub("-.*", ""); print; exit }' \
		"/proc/$1/maps")
	dd if="/proc/$1/mem" bs=1 count=1 iflag=skip_bytes skip=$((0x$base + $2)) 2>/dev/null |
		od -An -tx1 | tr -d ' '
}

# The addresses of malloc, by file.
declare -A MALLOCS

# read_malloc PID: sets BYTE to the first byte of malloc in the process's libc; "" if it has none.
read_malloc() {
	local base libc
	BYTE=
	read -r base libc < <(awk '/libc\.so\.6$/ { sub("-.*", "", $1); print $1, $6; exit }' "/proc/$1/maps") || return 0
	[ -n "${MALLOCS[$libc]:-}" ] || MALLOCS[$libc]=$(nm -D "$libc" | awk '$3 ~ /^malloc@/ { print $1 }')
	BYTE=$(dd if="/proc/$1/mem" bs=1 count=1 iflag=skip_bytes skip=$((0x$base + 0x${MALLOCS[$libc]})) 2>/dev/null |
		od -An -tx1)
	BYTE=${BYTE# }
}

libc_is_trapped() {
	read_malloc "$1"
	[ "$BYTE" = cc ]
}

libc_is_whole() {
	read_malloc "$1"
	[ "$BYTE" != cc ]
}

# Programs with a thousand samples per millisecond may run while the recorder gets no CPU.
ROOMY="--ring 65536"

# record_known EVENTS [OPTION..] -- PROGRAM [ARG..]: writes out.txt, and the program's output to
# `said`.
record_known() {
	local events=$1 options=() program
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	start "$@" >said
	program=$PID
	start "$SYSFLAME" record -qv $ROOMY -e "$events,uprobe:$1:started" "${options[@]}" -o out.txt \
		-p $program 2>recorder.err
	wait_for 60 is_trapped $program "$(vaddr "$1" started)"
	wait_for 60 grep -q 'the window of the recording begins' recorder.err
	kill -USR1 $program
	wait $PID
}
