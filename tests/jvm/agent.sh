# SPDX-License-Identifier: Apache-2.0
# Attaches to real JVMs and checks the state afterwards. Source it after tap.sh.
. "$ROOT/tests/lib/hooks.sh"

start_java() {
	start "${JAVA:-java}" "$@" -cp "$PROGRAMS" Split >out 2>err
	runs_compiled "$PID"
}

# runs_compiled PID: waits until Split is ready and compiled, which takes longer on a busy machine.
runs_compiled() {
	wait_for 60 grep -q ready out
	wait_for 60 has_compiled "$1"
}

has_compiled() {
	"$SYSFLAME" debug jvm --code "$1" | grep -q ' [1-4] Split[.]work('
}

# start_in UNSHARE-OPTIONS SETUP: starts a JVM in its own namespaces, after the shell commands of SETUP. These
# may mount over the folder of its classes; the JVM therefore reads the classes through descriptor 9. AS: a
# command that changes its user.
start_in() {
	local setup=$2
	start unshare $1 --kill-child -f --mount-proc -p -m sh -c "$setup
		cd / && exec ${AS-} java -cp /proc/self/fd/9 Split" >out 2>err 9<"$PROGRAMS"
	wait_for 60 grep -q ready out
	PID=$(cat "/proc/$PID/task/$PID/children")
	PID=${PID% }
	echo "$PID" >>"$TAP_PIDS" # another user's does not die with its parent
	runs_compiled "$PID"
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

# delivered PID: the files of attaches since the start of the test, and the files that are mounted for an
# attach.
delivered() {
	local inner
	inner=$(awk '$1 == "NSpid:" { print $NF }' "/proc/$1/status")
	find "/proc/$1/root/tmp/" -maxdepth 1 \( -name '.jvmmap-*' -newer "$TAP_SKIP" \) -o -name ".attach_pid$inner"
	awk '$5 ~ /\/\.jvmmap-[0-9a-f]+\.so/ { print "mount:" $5 }' "/proc/$1/mountinfo"
}

# nothing_left PID [SESSION...]: neither these sessions, nor the session of `agent`, nor a file or mount
# remains. Other processes may attach to the same JVM at the same time: what they have there also goes away.
nothing_left() {
	local pid=$1 session file
	shift
	for session in $(sed -n 's/.*; session \([0-9a-f]*\)$/\1/p' said 2>/dev/null) "$@"; do
		wait_for 30 sh -c "! ls -l /proc/$pid/fd | grep -qF $session"
	done
	for file in $(delivered "$pid"); do
		wait_for 30 is_not_delivered "$pid" "$file"
	done
}

is_not_delivered() {
	! delivered "$1" | grep -qxF "$2"
}

# plant_socket PATH: makes a socket without a listener. It replaces the JVM's own, which exists if others have
# attached.
plant_socket() {
	python3 -c "import os, socket; os.umask(0o77); socket.socket(socket.AF_UNIX).bind('$1.planted')"
	mv -f "$1.planted" "$1"
}

# has_no_session READER JVM: the session has ended.
has_no_session() {
	! reads "$1" "$2"
}

# refused PATTERN PID: the attach is refused with that reason, and the process is unharmed.
refused() {
	assert 'the status is 1' [ "$(status_of agent "$2")" = 1 ]
	assert_grep "^sysflame: $2 refused: .*$1" said
	assert 'the process lives' kill -0 "$2"
	nothing_left "$2"
}

# no_listener: the JVM has no attach listener, unless another recorder of the node has attached its agent.
no_listener() {
	[ ! -e "/tmp/.java_pid$PID" ] || wait_for 10 grep -q jvmmap "/proc/$PID/maps"
}

not_disturbed() {
	sleep 0.2
	assert_no_grep 'thread dump' out
	assert 'the process lives' kill -0 "$PID"
}
