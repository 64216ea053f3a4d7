# SPDX-License-Identifier: Apache-2.0
# Attaches the agent to a service under load again and again. Source it after tap.sh.

# serve NAME [JDK]: a service whose reports go to NAME.out; its PID is in $JVM.
serve() {
	local name=$1
	mkfifo "$name.in"
	if [ "${2:-host}" = host ]; then
		start sh -c "exec java -Xmx128m -cp '$PROGRAMS' Service <>'$name.in'" >"$name.out" 2>"$name.err"
		JVM=$PID
	else
		start sh -c "exec '$ROOT/tests/jvm/jdks' run $2 '$PROGRAMS' -Xmx128m -cp . Service <>'$name.in'" \
			>"$name.out" 2>"$name.err"
		wait_for 60 grep -q ready "$name.out"
		JVM=$("$ROOT/tests/jvm/jdks" pid "$PID")
		echo "$JVM" >>"$TAP_PIDS"
	fi
	wait_for 60 grep -q ready "$name.out"
}

# ask NAME: one more report.
ask() {
	local nr
	nr=$(wc -l <"$1.out")
	printf x >"$1.in"
	wait_for 60 sh -c "[ \$(wc -l <'$1.out') -gt $nr ]"
}

# figure NAME WORD: of its last report.
figure() {
	tail -1 "$1.out" | sed -nE "s/.*\b$2 ([0-9]+).*/\1/p"
}

# holdings PID: what it has open and mapped that an agent could have left, a line each.
holdings() {
	echo "descriptors $(ls "/proc/$1/fd" | wc -l)"
	echo "threads $(ls "/proc/$1/task" | wc -l)"
	echo "mappings $(wc -l <"/proc/$1/maps")"
	echo "agents $(grep -cE ' r-xp .*(jvmmap|/$| /$)' "/proc/$1/maps")"
	echo "rings $(grep -c memfd:jvmmap "/proc/$1/maps")"
	echo "files $(ls -A "/proc/$1/root/tmp" | grep -cE 'jvmmap|attach')"
	echo "mounts $(grep -c jvmmap "/proc/$1/mountinfo")"
}

# cycle PID [WAY]: attaches, reads what is there, detaches.
cycle() {
	"$SYSFLAME" debug agent -q ${2:+--delivery $2} "$1" 2>>said || fail "$1: $(tail -1 said)"
}

held() {
	awk -v what="$2" '$1 == what { print $2 }' "$1"
}

# cycles NAME PID NUMBER [OTHER]: that many cycles; fails if anything is left or lost. OTHER is a
# service that is left alone: its latency says how busy the machine was.
cycles() {
	local name=$1 pid=$2 nr=$3 other=$4 i what
	cycle "$pid"
	ask "$name"
	ask "$name" # warm; its heap and its latency are those before
	sleep 3
	ask "$name"
	[ -z "$other" ] || ask "$other"
	local heap p99
	heap=$(figure "$name" heap) p99=$(figure "$name" p99)
	holdings "$pid" >"$name.before"
	for i in $(seq "$nr"); do
		cycle "$pid"
	done
	ask "$name"
	assert 'no request is lost' [ "$(figure "$name" sent)" = "$(figure "$name" answered)" ]
	assert 'there were requests' [ "$(figure "$name" sent)" -gt 100 ]
	holdings "$pid" >"$name.after"
	for what in agents rings files mounts; do
		assert "$what as before" [ "$(held "$name.after" $what)" = "$(held "$name.before" $what)" ]
	done
	# The JVM's own come and go; a leak per cycle would show.
	for what in descriptors threads mappings; do
		assert "$what as before ($(held "$name.before" $what), $(held "$name.after" $what))" \
			[ "$(held "$name.after" $what)" -lt $(($(held "$name.before" $what) + 5 + nr / 5)) ]
	done
	[ "$(figure "$name" heap)" -lt $((heap + 4096)) ] || fail "heap: $heap KB, then $(figure "$name" heap) KB"
	[ -z "$other" ] || ask "$other"
	echo "# $name: $nr cycles, $(figure "$name" sent) requests; p99 $p99 us before, $(figure "$name" p99) us" \
		"during${other:+, of $other at that time $(figure "$other" p99) us}; heap $heap KB, $(figure "$name" heap) KB; $(paste -sd' ' "$name.before"); $(paste -sd' ' "$name.after")"
}

# churn JDK SECONDS HZ: code that is compiled, unloaded and replaced, held against what the program
# says, without the agent and with it; no name may be wrong. Of a long run at most 0.5 % may be missing:
# what was sampled just before its class was unloaded, more of that where the machine is slow.
churn() {
	local jvm agent
	if [ "$1" = host ]; then
		start java -Xmx256m -XX:ReservedCodeCacheSize=16m -cp "$PROGRAMS" Generations >out 2>err
		jvm=$PID
	else
		start "$ROOT/tests/jvm/jdks" run "$1" "$PROGRAMS" -Xmx256m -XX:ReservedCodeCacheSize=16m -cp . \
			Generations >out 2>err
		wait_for 60 grep -q ready out
		jvm=$("$ROOT/tests/jvm/jdks" pid "$PID")
		echo "$jvm" >>"$TAP_PIDS"
	fi
	wait_for 60 grep -q ready out
	sleep 2
	for agent in never always; do
		churn_recording "$1" "$2" "$3" "$jvm" "$agent"
	done
	kill -9 "$jvm" 2>/dev/null || true
}

# churn_recording JDK SECONDS HZ PID AGENT
churn_recording() {
	local said samples wrong unnamed
	"$SYSFLAME" record -q -d "$2" -F "$3" -p "$4" --agent "$5" -o churn.pb.gz
	"$ROOT/tests/jvm/truth" churn.pb.gz >truth
	said=$(tail -1 truth)
	echo "# JDK $1, $2 s, agent $5: $said"
	read -r _ samples _ wrong _ unnamed <<<"$said"
	[ "$samples" -gt 20 ] || fail "few samples: $said"
	[ "$wrong" = 0 ] || fail "$(head -3 truth)"
	[ $((unnamed * ($2 < 30 ? 2 : 200))) -le "$samples" ] || fail "unnamed: $said"
}
