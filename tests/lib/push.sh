# SPDX-License-Identifier: Apache-2.0
# A store with slices of the past, and receivers of what a daemon pushes from it. Source it after daemon.sh.

# make_fixture: records some slices, once for all tests of a file; sets FIXTURE to their store.
make_fixture() {
	FIXTURE=$(mktemp -d)
	trap 'rm -rf "$FIXTURE"' EXIT
	chmod 755 "$FIXTURE"
	(
		TMP=$FIXTURE
		cd "$FIXTURE"
		"$PROGRAMS/hot" &
		hot=$!
		"$SYSFLAME" serve --dir "$FIXTURE/d" --listen 127.0.0.1:0 --continuous cpu,offcpu 2>serve.err &
		daemon=$!
		# Two slices of 10 s, the first of which may be short; then the last part.
		until [ "$(cat d/slices/*.sfls 2>/dev/null | grep -ao SFLS | wc -l)" -ge 2 ] || ! kill -0 $daemon; do
			sleep 0.2
		done
		kill $hot $daemon
		wait
	) 2>/dev/null
}

# use_fixture: a store in d/ whose slices lie in the minute MINUTE, three minutes ago, and are not sent.
use_fixture() {
	MINUTE=$(($(date +%s) / 60 - 3))
	cp -a "$FIXTURE/d" d
	"$ROOT/tests/lib/shift-slices" d $MINUTE
	mkdir d/push
	printf '%020d\n' $MINUTE >d/push/next
	chown -R --reference=d/slices d/push
}

# start_receiver FOLDER [PORT [CERTIFICATE KEY]]: sets PID, and PORT to its port.
start_receiver() {
	mkdir -p "$1"
	rm -f "$1/port"
	start python3 "$ROOT/tests/lib/receiver.py" "$1" "${2:-0}" "${@:3}"
	wait_for 10 test -s "$1/port"
	PORT=$(cat "$1/port")
}

# pushed FOLDER: prints the number of requests that a receiver got.
pushed() {
	find "$1" -name '*.body' | wc -l
}

# push_field EXPRESSION: of the first receiver in the daemon's API.
push_field() {
	api api/v1/node | field "d.push[0].$1"
}

# push_is EXPRESSION: whether the expression on the first receiver `p` is true.
push_is() {
	[ "$(api api/v1/node | field "(p => $1)(d.push[0])")" = true ]
}

# all_sent: whether something was sent and nothing waits.
all_sent() {
	push_is 'p.sent > 0 && p.waiting === 0'
}
