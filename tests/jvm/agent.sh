# SPDX-License-Identifier: Apache-2.0
# Attaching to real JVMs, and what must hold after it. Source it after tap.sh.

start_java() {
	start "${JAVA:-java}" "$@" -cp "$PROGRAMS" Split >out 2>err
	wait_for 60 grep -q ready out
}

# start_in UNSHARE-OPTIONS SETUP: a JVM in namespaces of its own, after the shell commands of SETUP.
start_in() {
	local setup=$2
	start unshare $1 --kill-child -f --mount-proc -p -m sh -c "$setup
		cd / && exec java -cp '$PROGRAMS' Split" >out 2>err
	wait_for 60 grep -q ready out
	PID=$(cat "/proc/$PID/task/$PID/children")
	PID=${PID% }
}

agent() {
	"$SYSFLAME" debug agent "$@" >map 2>said
}

named() {
	assert_grep ' c[12] Split\.work\(JI\)J$' map
	assert_grep ' interpreted Interpreter$' map
	assert_grep '^attached in ' said
}

sessions() {
	ls -l "/proc/$1/fd" | grep -oE 'jvmmap-[0-9]+-[0-9a-f]+' | sort
}

# nothing_left PID [SESSION...]: neither those sessions, nor the one that `agent` had; others may
# profile this node at the same time, with an agent file of their own which our command does not
# reach: that is why a session, file or mount is given a moment to go.
nothing_left() {
	local pid=$1 session inner
	shift
	for session in $(sed -n 's/.*; session \([0-9a-f]*\)$/\1/p' said 2>/dev/null) "$@"; do
		wait_for 30 sh -c "! ls -l /proc/$pid/fd | grep -qF $session"
	done
	inner=$(awk '$1 == "NSpid:" { print $NF }' "/proc/$pid/status")
	wait_for 10 sh -c "! ls -A /proc/$pid/root/tmp | grep -qE 'jvmmap|attach_pid$inner\$'"
	wait_for 10 sh -c "! grep -q jvmmap /proc/$pid/mountinfo"
}

# refused PATTERN PID: with that reason, and nobody noticed.
refused() {
	assert 'the status is 1' [ "$(status_of agent "$2")" = 1 ]
	assert_grep "^sysflame: $2 refused: .*$1" said
	assert 'the process lives' kill -0 "$2"
	nothing_left "$2"
}

not_disturbed() {
	sleep 0.2
	assert_no_grep 'thread dump' out
	assert 'the process lives' kill -0 "$PID"
}
