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
