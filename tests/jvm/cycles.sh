# SPDX-License-Identifier: Apache-2.0
# Attaches the agent repeatedly to a service under load. Source it after tap.sh.

# serve NAME [JDK]: starts a service that reports to NAME.out; its PID is in $JVM.
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

# ask NAME: requests one more report.
ask() {
	local nr
	nr=$(wc -l <"$1.out")
	printf x >"$1.in"
	wait_for 60 sh -c "[ \$(wc -l <'$1.out') -gt $nr ]"
}

# figure NAME WORD: the number after WORD in the last report.
figure() {
	tail -1 "$1.out" | sed -nE "s/.*\b$2 ([0-9]+).*/\1/p"
}

# remains PID: prints the files in its /tmp that attaches have made, and a trigger of an attach to it.
remains() {
	local inner
	inner=$(awk '$1 == "NSpid:" { print $NF }' "/proc/$1/status")
	ls -A "/proc/$1/root/tmp" | grep -xE "[.]jvmmap-.*|[.]attach_pid$inner" || true
}

# holdings PID: open and mapped objects of the process that an agent could leave behind, a line each. Other
# processes may attach to it and to other JVMs meanwhile; their files do not count, or go away.
holdings() {
	local inode
	inode=$(stat -c %i "$BUILD/libjvmmap.so")
	echo "descriptors $(ls "/proc/$1/fd" | wc -l)"
	echo "threads $(ls "/proc/$1/task" | wc -l)"
	echo "mappings $(wc -l <"/proc/$1/maps")"
	echo "agents $(awk -v inode="$inode" '$5 == inode && $2 == "r-xp"' "/proc/$1/maps" | wc -l)"
	echo "rings $(grep -c memfd:jvmmap "/proc/$1/maps")"
	echo "files $(remains "$1" | wc -l)"
	echo "mounts $(grep -c '/[.]jvmmap-' "/proc/$1/mountinfo")"
}

# cycle PID [WAY]: attaches, reads the reports, detaches.
cycle() {
	"$SYSFLAME" debug agent -q ${2:+--delivery $2} "$1" 2>>said || fail "$1: $(tail -1 said)"
}

held() {
	awk -v what="$2" '$1 == what { print $2 }' "$1"
}

# holds_no_more NAME PID: no more of the agents' objects than before; its holdings go to NAME.after.
holds_no_more() {
	local what
	holdings "$2" >"$1.after"
	for what in agents rings files mounts; do
		[ "$(held "$1.after" $what)" -le "$(held "$1.before" $what)" ] || return 1
	done
}

# cycles NAME PID NUMBER [OTHER]: runs that many cycles; fails if anything is left behind or lost. OTHER is a
# service without an agent: its latency shows how busy the machine was.
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
	wait_for 60 holds_no_more "$name" "$pid"
	# The JVM's own numbers vary; a leak per cycle would exceed the limit.
	for what in descriptors threads mappings; do
		assert "$what as before ($(held "$name.before" $what), $(held "$name.after" $what))" \
			[ "$(held "$name.after" $what)" -lt $(($(held "$name.before" $what) + 5 + nr / 5)) ]
	done
	[ "$(figure "$name" heap)" -lt $((heap + 4096)) ] || fail "heap: $heap KB, then $(figure "$name" heap) KB"
	[ -z "$other" ] || ask "$other"
	echo "# $name: $nr cycles, $(figure "$name" sent) requests; p99 $p99 us before, $(figure "$name" p99) us" \
		"during${other:+, of $other at that time $(figure "$other" p99) us}; heap $heap KB, $(figure "$name" heap) KB; $(paste -sd' ' "$name.before"); $(paste -sd' ' "$name.after")"
}

# churn JDK SECONDS HZ: compares names of code that is compiled, unloaded and replaced with the program's
# report, without and with the agent. No name may be wrong. In a long run at most 0.5 % may be unnamed:
# samples just before their class was unloaded, which are more frequent on a slow machine.
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
