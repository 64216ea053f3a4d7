# SPDX-License-Identifier: Apache-2.0
# A fleet for tests: a nats-server and daemons on loopback. Source it after tap.sh.
. "$ROOT/tests/lib/json.sh"

# free_port: prints a port that nobody listens on. It is below those that the kernel gives to clients: one of
# many that reconnect would get the port of a server that is away, and connect to itself.
free_port() {
	local low port
	read -r low _ </proc/sys/net/ipv4/ip_local_port_range
	while port=$((1024 + RANDOM % (low - 1024))); [ -n "$(ss -Hltn "sport = :$port")" ]; do :; done
	echo $port
}

# start_nats: sets NATS to its PID, URL to its address and MONITOR to its second port; a second one gets
# the port of the first. $NATS_CONF is a file with more settings.
start_nats() {
	needs nats-server
	: >nats.err
	start nats-server ${NATS_CONF:+-c "$NATS_CONF"} -a 127.0.0.1 -p "${PORT:-$(free_port)}" -m -1 2>>nats.err
	NATS=$PID
	wait_for 10 grep -q 'Server is ready' nats.err
	PORT=$(sed -n 's/.*client connections on 127.0.0.1:\([0-9]*\)$/\1/p' nats.err)
	MONITOR=$(sed -n 's/.*http monitor on 127.0.0.1:\([0-9]*\)$/\1/p' nats.err)
	URL=nats://127.0.0.1:$PORT
}

# start_jetstream: a server with streams, and without keys and rights.
start_jetstream() {
	printf 'jetstream { store_dir: "%s" }\n' "$TMP/js" >js.conf
	NATS_CONF=js.conf start_nats
}

# make_keys: an operator's key in anna/, and the nodes' file of keys in nodes/.
make_keys() {
	"$SYSFLAME" fleet init --dir anna --person anna 2>/dev/null >/dev/null
	mkdir nodes
	cp anna/keys nodes/keys
}

# expect_nodes NODE..: a census with a long --wait ends when these have answered, as if they had done so before.
expect_nodes() {
	printf '%s\n' "$@" >anna/census
}

# The processes that hold network namespaces, and those of links, by name; the daemons by node.
declare -A NETWORKS LINKS DAEMONS

# start_network NAME: a network namespace with nothing but loopback. Processes of a node of that name
# run in it.
start_network() {
	start unshare --net sh -c 'ip link set lo up && echo up >"$0" && exec sleep 100000' "$1.up"
	NETWORKS[$1]=$PID
	wait_for 10 test -s "$1.up"
}

# inside NAME: prints the words that run a command in the namespace of that name, if there is one.
inside() {
	[ -z "${NETWORKS[${1:--}]}" ] || echo nsenter "--net=/proc/${NETWORKS[$1]}/ns/net"
}

# start_link FROM TO PORT [OPTION..]: PORT of loopback in FROM leads to that of TO (relay.c).
start_link() {
	start "$PROGRAMS/relay" "${@:4}" "/proc/${NETWORKS[$1]}/ns/net" "127.0.0.1:$3" \
		"/proc/${NETWORKS[$2]}/ns/net" "127.0.0.1:$3" >"link-$1.out"
	LINKS[$1]=$PID
	wait_for 10 grep -q ready "link-$1.out"
}

# kill_nats: kills the server. Its port is free when this returns: it is closed after the connections.
kill_nats() {
	kill -KILL "$NATS"
	wait "$NATS" 2>/dev/null || true
}

# launch_node NAME OPTION..: a daemon in dNAME, which serves when this returns.
launch_node() {
	start $(inside "$1") "$SYSFLAME" serve --dir "$TMP/d$1" --listen 127.0.0.1:0 --fleet "$URL" \
		--fleet-dir "$TMP/nodes" --node "$1" "${@:2}" 2>>"node-$1.err"
	DAEMONS[$1]=$PID
	wait_for 10 test -s "d$1/address"
	wait_for 10 $(inside "$1") curl -fsS "$(cat "d$1/address")/healthz"
}

# start_node NAME OPTION..: the same, connected when this returns.
start_node() {
	launch_node "$@"
	wait_for 10 grep -q 'fleet: connected' "node-$1.err"
}

# set_clock SECONDS NAME: puts a node's clock off by so much. The file is mapped: it must not become shorter.
set_clock() {
	python3 -c 'import os, struct, sys
fd = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT)
os.pwrite(fd, struct.pack("<q", int(sys.argv[1])), 0)' "$1" "shift.$2"
}

# start_node_at SECONDS NAME OPTION..: a daemon whose clock is off by so much.
start_node_at() {
	set_clock "$1" "$2"
	CLOCK_SHIFT=$TMP/shift.$2 LD_PRELOAD=$PROGRAMS/shifted_clock start_node "${@:2}"
}

# api NAME PATH [CURL OPTION..]: prints the answer of a node's API.
api() {
	$(inside "$1") curl -sS -m 60 -H "Authorization: Bearer $(cat "d$1/token")" \
		"$(cat "d$1/address")/$2" "${@:3}"
}

# stored NODE: the only profile of the node as collapsed stacks.
stored() {
	local id
	api "$1" api/v1/profiles >list.json
	[ "$(field d.nr <list.json)" = 1 ] || fail "$1 stored $(cat list.json)"
	id=$(field 'd.profiles[0].id' <list.json)
	api "$1" "p/$id/download?format=collapsed"
}

# slices NODE: all its slices as collapsed stacks.
slices() {
	local now id
	now=$(date +%s)000
	id=$(api "$1" api/v1/ranges -d "{\"from_ms\":$((now - 3600000)),\"to_ms\":$now}" | field d.id)
	wait_for 20 $(inside "$1") curl -fsS -H "Authorization: Bearer $(cat "d$1/token")" \
		"$(cat "d$1/address")/p/$id/download?format=collapsed" -o "slices-$1.txt"
	cat "slices-$1.txt"
}

# has_slices NODE: they have a second of the busy program, and with it each of its functions.
has_slices() {
	[ "$(api "$1" api/v1/slices | field 'd.series.some(s => s.service == "busy" && s.total > 1000)')" = true ]
}

# start_busy [GROUP]: a program with a name of its own, "busy", that spends its time in known functions; in
# a control group.
start_busy() {
	cp -f "$PROGRAMS/split" busy
	start sh -c '[ -z "$0" ] || echo $$ >"$0/cgroup.procs"; exec ./busy' "$1" >/dev/null
}

# add_stacks PATTERN FILE..: adds up the stacks of all files that match, without digits, which name
# processes and generated classes.
add_stacks() {
	awk -v pattern="$1" '$0 ~ pattern { n = $NF; $NF = ""; gsub(/[0-9]+/, ""); all[$0] += n }
		END { for (s in all) printf "%s%.0f\n", s, all[s] }' "${@:2}" | sort
}

total() { # [FILE..]
	awk '{ n += $NF } END { printf "%.0f\n", n }' "$@"
}

# samples NODE: its recorder has more perf events open than the one for each CPU that shows it processes.
samples() {
	local recorder
	recorder=$(pgrep -P "${DAEMONS[$1]}" -x sysflame-rec) || return 1
	[ "$(ls -l "/proc/$recorder/fd" 2>/dev/null | grep -c perf_event)" -gt "$(nproc)" ]
}

# missing_is_fine COMMAND..: succeeds also if only nodes are missing: status 3. STATUS has the status.
missing_is_fine() {
	STATUS=0
	"$@" || STATUS=$?
	[ $STATUS = 3 ] || return $STATUS
}

# ask COMMAND OPTION..: runs sysflame fleet with the key in $KEYS, in the namespace $ASKER; ask.out and
# ask.err have its output. Missing nodes are no failure.
ask() {
	missing_is_fine $(inside "${ASKER:-}") "$SYSFLAME" fleet "$1" --nats "$URL" --fleet-dir "${KEYS:-anna}" \
		"${@:2}" >ask.out 2>ask.err
}

# start_simulated NODES [OPTION..] PROFILE..: nodes of tests/programs/nodes.c, all connected; sets SIM.
start_simulated() {
	: >sim.out
	start "$PROGRAMS/nodes" -p "$PORT" -n "$@" >sim.out 2>sim.err
	SIM=$PID
	wait_for 60 grep -q '^ready' sim.out
}

# count NAME: ends the simulator if it runs, and prints its counter.
count() {
	kill -TERM "$SIM" 2>/dev/null || true
	wait_for 10 grep -q '^errors' sim.out
	awk -v name="$1" '$1 == name { print $2 }' sim.out
}

# varz NAME: prints a figure of the server.
varz() {
	curl -sS -m 10 "http://127.0.0.1:$MONITOR/varz" | field "d.$1"
}
