# SPDX-License-Identifier: Apache-2.0
# A fleet for tests: a nats-server and daemons on loopback. Source it after tap.sh.

# start_nats: sets NATS to its PID and URL to its address; a second one gets the port of the first.
start_nats() {
	: >nats.err
	start nats-server -a 127.0.0.1 -p "${PORT:--1}" 2>>nats.err
	NATS=$PID
	wait_for 10 grep -q 'Server is ready' nats.err
	PORT=$(sed -n 's/.*client connections on 127.0.0.1:\([0-9]*\)$/\1/p' nats.err)
	URL=nats://127.0.0.1:$PORT
}

# make_keys: an operator's key in anna/, and the nodes' file of keys in nodes/.
make_keys() {
	"$SYSFLAME" fleet init --dir anna --person anna 2>/dev/null >/dev/null
	mkdir nodes
	cp anna/keys nodes/keys
}

# start_node NAME OPTION..: a daemon in dNAME, which is connected when this returns.
start_node() {
	start "$SYSFLAME" serve --dir "$TMP/d$1" --listen 127.0.0.1:0 --fleet "$URL" \
		--fleet-dir "$TMP/nodes" --node "$1" "${@:2}" 2>>"node-$1.err"
	wait_for 10 test -s "d$1/address"
	wait_for 10 curl -fsS "$(cat "d$1/address")/healthz"
	wait_for 10 grep -q 'fleet: connected' "node-$1.err"
}

# api NAME PATH [CURL OPTION..]: prints the answer of a node's API.
api() {
	curl -sS -m 60 -H "Authorization: Bearer $(cat "d$1/token")" "$(cat "d$1/address")/$2" "${@:3}"
}

# field EXPRESSION: reads JSON from standard input and prints the value of a JavaScript expression.
field() {
	node -e "const d = JSON.parse(require('fs').readFileSync(0)); console.log($1)"
}

# ask COMMAND OPTION..: runs sysflame fleet with the key in $KEYS; ask.out and ask.err are what it said.
ask() {
	"$SYSFLAME" fleet "$1" --nats "$URL" --fleet-dir "${KEYS:-anna}" "${@:2}" >ask.out 2>ask.err
}
