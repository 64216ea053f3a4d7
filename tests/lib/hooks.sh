# SPDX-License-Identifier: Apache-2.0
# The agent's hooks in a JVM. Source it after tap.sh.

# agent_code PID: prints "BEGIN-END OFFSET" for each mapping of code of this build's agent. In a container the agent
# is a copy of the file.
agent_code() {
	local range offset
	awk '$2 == "r-xp" && ($6 == "/" || $6 ~ /jvmmap/) { print $1, $3 }' "/proc/$1/maps" |
		while read -r range offset; do
			! cmp -s "/proc/$1/map_files/$range" "$BUILD/libjvmmap.so" || echo "$range $offset"
		done
}

# The addresses of hooks in the agent's file, by name.
declare -A HOOKS

# read_hook PID HOOK: sets BYTE to the first byte of the hook: 0f without a probe, "" without the agent.
read_hook() {
	local range offset
	BYTE=
	read -r range offset < <(agent_code "$1") || return 0
	[ -n "${HOOKS[$2]:-}" ] ||
		HOOKS[$2]=$(nm -D "$BUILD/libjvmmap.so" | awk -v name="jvmmap_hook_$2" '$3 == name { print $1 }')
	BYTE=$(dd if="/proc/$1/mem" bs=1 count=1 iflag=skip_bytes \
		skip=$((0x${range%-*} - 0x$offset + 0x${HOOKS[$2]})) 2>/dev/null | od -An -tx1)
	BYTE=${BYTE# }
}

# loads PID: prints how often this build's agent is mapped there. Other builds' agents do not count.
loads() {
	agent_code "$1" | wc -l
}

# has_probe PID HOOK
has_probe() {
	read_hook "$1" "$2"
	case $BYTE in '' | 0f) return 1 ;; esac
}

# hook_is_settled RECORDER JVM HOOK: the agent reports, or `err` says that it cannot. On a busy
# machine recording begins before that. Requires recording.sh.
hook_is_settled() {
	grep -qE 'because the agent cannot report events|are not recorded: ' err || { reads "$1" "$2" && has_probe "$2" "$3"; }
}

# own_allocations: skips the test if another profiler's agent was in the JVM first, because only one
# can have the allocations.
own_allocations() {
	! grep -q 'another agent has them' err ||
		skip "another profiler's agent has this JVM's allocations"
}

has_no_probe() {
	read_hook "$1" "$2"
	[ "$BYTE" = 0f ]
}
