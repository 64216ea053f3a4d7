# SPDX-License-Identifier: Apache-2.0
# Waits for recorders and for the processes that they record. Source it after tap.sh.

# recording PID: waits until that recorder has its events. The node has three links, and each event has one or more.
recording() {
	wait_for 60 has_events "$1"
}

has_events() {
	local files links
	files=$(readlink "/proc/$1/fd/"*) || true # some are closed meanwhile
	links=${files//bpf_link/}
	[[ $files == *perf_event* ]] && [ $((${#files} - ${#links})) -ge $((4 * 8)) ]
}

# settled PID: waits until that recorder has opened no descriptor for a second. Nothing else shows when the last of a
# process's probes is placed.
settled() {
	wait_for 60 has_settled "$1"
}

has_settled() {
	local before=("/proc/$1/fd/"*) now
	for _ in 1 2 3 4; do
		pause_for 0.25
		now=("/proc/$1/fd/"*)
		[ ${#before[@]} = ${#now[@]} ] || return 1
	done
}

# Mounts tracefs, if it is not mounted: usual hosts have it, and a second mount there may fail.
TRACEFS='{ [ -e /sys/kernel/tracing/events ] || mount -t tracefs none /sys/kernel/tracing 2>/dev/null; }'

# with_tracefs COMMAND..: runs the command with tracefs mounted; skips the test if that is
# impossible.
with_tracefs() {
	unshare -m sh -c "$TRACEFS" || skip "tracefs cannot be mounted"
	unshare -m sh -c "$TRACEFS"' && exec "$@"' - "$@"
}

# reads READER JVM: the reader has a session there that has reported the code compiled so far and
# reports new code: word `state` of its buffer (jvmmap/wire.h). Other readers may have sessions
# there too.
reads() {
	local buffer fd
	while read -r fd buffer; do
		! grep -qF "${buffer% (deleted)}" "/proc/$1/maps" ||
			[ "$(od -An -tu4 -j72 -N4 "$fd" | tr -d ' ')" != 1 ] || return 0
	done < <(find "/proc/$2/fd" -lname '/memfd:jvmmap-*' -printf '%p %l\n')
	return 1
}

# runs PID: waits until the process has used another 0.3 s of CPU time, however busy the machine is.
runs() {
	read_ticks "$1"
	wait_for 60 has_run "$1" $((TICKS + 30))
}

has_run() { # PID TICKS
	read_ticks "$1" && [ "$TICKS" -ge "$2" ]
}

# read_ticks PID: sets TICKS to the CPU time that the process has used; fails if it has ended.
read_ticks() {
	local stat
	read -r stat <"/proc/$1/stat" || return 1
	set -- ${stat##*) }
	TICKS=$((${12} + ${13}))
}

ticks_of() {
	read_ticks "$1"
	echo "$TICKS"
}

# with_pid PID COMMAND..: runs the command under that PID, which was freed just now; sets PID. Fails if another thread
# of the node took the number meanwhile.
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
	[ -d "/proc/$wanted" ] || fail "never got PID $wanted"
	return 1
}

# take_over PID COMMAND..: kills that process and runs the command under its PID; sets PID. Fails as with_pid does.
take_over() {
	kill -9 "$1"
	wait "$1" 2>/dev/null || true
	with_pid "$@"
}

# child_named PID NAME: sets CHILD to the child of that process with that name; fails while there is
# none. It starts no process, because some children live for a few milliseconds.
child_named() {
	local pids name
	read -r -a pids 2>/dev/null <"/proc/$1/task/$1/children" || true
	for CHILD in "${pids[@]}"; do
		! read -r name 2>/dev/null <"/proc/$CHILD/comm" || [ "$name" != "$2" ] || return 0
	done
	return 1
}

# attaching PID: sets CHILD to a child that attaches for that recorder, once there is one.
attaching() {
	child_named "$1" sysflame-attach && child_named "$CHILD" sysflame-inject
}

# lost_by_recorder SUMMARY: the lost samples, without those for which no program ran: a busy host pauses a virtual
# machine, and other tests load BPF programs.
lost_by_recorder() {
	awk '{ gsub(",", "") }
		/^lost / { lost = $2 }
		/timer was late|running another BPF program/ {
			for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+$/) { lost -= $i; break }
		}
		END { print lost + 0 }' "$1"
}
