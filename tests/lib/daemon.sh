# SPDX-License-Identifier: Apache-2.0
# Starts the daemon and asks its API. Source it after tap.sh.
. "$ROOT/tests/lib/json.sh"
NEEDS+=' node'

# start_daemon OPTION..: sets DAEMON to the supervisor and URL to the address.
start_daemon() {
	start "$SYSFLAME" serve --dir "$TMP/d" --listen 127.0.0.1:0 "$@" 2>>serve.err
	DAEMON=$PID
	await_daemon
}

await_daemon() {
	wait_for 10 test -s d/address
	URL=$(cat d/address)
	TOKEN=$(cat d/token)
	wait_for 10 curl -fsS "$URL/healthz"
}

# child NAME: prints the PID of the daemon's process of that name.
child() {
	pgrep -P "$DAEMON" -x "$1"
}

# api PATH [CURL OPTION..]: prints the answer of the API to an operator.
api() {
	curl -sS -m 60 -H "Authorization: Bearer $TOKEN" "$URL/$1" "${@:2}"
}

# code PATH [CURL OPTION..]: prints the status of the answer only.
code() {
	api "$1" -o answer -w '%{http_code}' "${@:2}"
}

# record SECONDS [EVENTS [KIND TEXT]]: starts a recording; sets ID.
record() {
	ID=$(api api/v1/sessions -d "{\"events\":\"${2:-cpu}\",\"duration_s\":$1,\"rate_hz\":199,
		\"target\":{\"kind\":\"${3:-node}\",\"text\":\"${4:-}\"}}" | field d.id)
	[ "$ID" -gt 0 ] || fail "no recording: $ID"
}

is_kept() { # ID
	[ "$(code "api/v1/profiles/$1")" = 200 ]
}

has_parts() { # ID
	[ "$(api api/v1/sessions | field "d.find(s => s.id == $1).parts")" -ge 1 ]
}

status_field() { # PID NAME
	sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"
}

# descendants PID: prints all of its descendants.
descendants() {
	local child
	for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
		echo "$child"
		descendants "$child"
	done
}
