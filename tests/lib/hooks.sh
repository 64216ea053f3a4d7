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

# hook_byte PID HOOK: prints the first byte of the hook: 0f without a probe, nothing without the
# agent.
hook_byte() {
	local range offset hook
	read -r range offset < <(agent_code "$1") || return 0
	hook=$(nm -D "$BUILD/libjvmmap.so" | awk -v name="jvmmap_hook_$2" '$3 == name { print $1 }')
	dd if="/proc/$1/mem" bs=1 count=1 iflag=skip_bytes skip=$((0x${range%-*} - 0x$offset + 0x$hook)) 2>/dev/null |
		od -An -tx1 | tr -d ' '
}

# loads PID: prints how often this build's agent is mapped there. Other builds' agents do not count.
loads() {
	agent_code "$1" | wc -l
}

# has_probe PID HOOK
has_probe() {
	case $(hook_byte "$1" "$2") in '' | 0f) return 1 ;; esac
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
	[ "$(hook_byte "$1" "$2")" = 0f ]
}
