# SPDX-License-Identifier: Apache-2.0
# The agent's hooks in a JVM. Source it after tap.sh.

# hook_byte PID HOOK: its first byte there: 0f without a probe, nothing without the agent.
hook_byte() {
	local start off hook
	read -r start off < <(awk -v inode="$(stat -c %i "$BUILD/libjvmmap.so")" \
		'$5 == inode && $2 == "r-xp" { sub("-.*", "", $1); print $1, $3; exit }' "/proc/$1/maps") || return 0
	hook=$(nm -D "$BUILD/libjvmmap.so" | awk -v name="jvmmap_hook_$2" '$3 == name { print $1 }')
	dd if="/proc/$1/mem" bs=1 count=1 iflag=skip_bytes skip=$((0x$start - 0x$off + 0x$hook)) 2>/dev/null |
		od -An -tx1 | tr -d ' '
}

# has_probe PID HOOK
has_probe() {
	case $(hook_byte "$1" "$2") in '' | 0f) return 1 ;; esac
}

has_no_probe() {
	[ "$(hook_byte "$1" "$2")" = 0f ]
}
