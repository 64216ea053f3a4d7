# SPDX-License-Identifier: Apache-2.0
# Waiting for recorders and for what they record. Source it after tap.sh.

# recording PID: waits until that recorder has its events.
recording() {
	wait_for 60 sh -c "ls -l /proc/$1/fd | grep -q perf_event"
}

# runs PID: waits until the process has had 0.3 s more of a CPU, however busy the machine is.
runs() {
	local ticks
	ticks=$(($(ticks_of "$1") + 30))
	wait_for 60 sh -c "[ \$(awk '{ print \$14 + \$15 }' /proc/$1/stat) -ge $ticks ]"
}

ticks_of() {
	awk '{ print $14 + $15 }' "/proc/$1/stat"
}

# with_pid PID COMMAND..: runs the command under that PID, which must be free; sets PID.
with_pid() {
	local wanted=$1 _
	shift
	for _ in $(seq 200); do
		echo $((wanted - 1)) >/proc/sys/kernel/ns_last_pid
		start "$@"
		[ "$PID" != "$wanted" ] || return 0
		kill -9 $PID
		wait $PID 2>/dev/null || true
	done
	fail "never got PID $wanted"
}
