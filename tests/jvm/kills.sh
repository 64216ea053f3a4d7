# SPDX-License-Identifier: Apache-2.0
# Recorders and their children that are killed at random moments. Source it after tap.sh, daemon.sh,
# cycles.sh, hooks.sh and new_java.sh.

# reader NUMBER JVM NEW: starts one of the readers in turn, of the JVM $READ. NEW is the JVM whose methods are
# recorded, or empty.
reader() {
	READ=$2
	[ $(($1 % 4)) != 3 ] || READ=${3:-$2}
	case $(($1 % 4)) in
	0) set -- record -q -e cpu,alloc,lock,nativemem --live --alloc-interval 16k -p "$2" -o x.pb.gz ;;
	1) set -- debug agent -q -d 600 --delivery mount "$2" ;;
	2) set -- debug agent -q -d 600 --delivery copy "$2" ;;
	3) set -- record -q -e cpu,java:Hot.work -p "$READ" -o x.pb.gz ;;
	esac
	start "$SYSFLAME" "$@" 2>reader.err
}

# kill_one READER: kills it after at most 1.5 s, every third time a random descendant before.
kill_one() {
	local helper
	sleep "$((RANDOM % 2)).$((RANDOM % 500 + 100))"
	if [ $((RANDOM % 3)) = 0 ]; then
		helper=$(descendants "$1" | shuf -n 1 --random-source=<(yes $RANDOM))
		[ -z "$helper" ] || kill -9 "$helper" 2>/dev/null || true
		sleep "0.$((RANDOM % 300))"
	fi
	{ kill -9 "$1" && wait "$1"; } 2>/dev/null || true
}

# A new reader gets a session.
takes_a_reader() {
	"$SYSFLAME" debug agent -q "$1" 2>>said
}

# Milliseconds since boot.
now_ms() {
	awk '{ print int(1000 * $1) }' /proc/uptime
}

# is_clean JVM: nothing of any reader is in it, and no child of ours runs.
is_clean() {
	takes_a_reader "$1" || return 1
	jcmd "$1" Thread.print >/dev/null 2>&1 # an event: it starts a thread or compiles something
	holdings "$1" >held
	[ "$(grep -c memfd:jvmmap "/proc/$1/maps")" = 0 ] && [ "$(held held files)" = 0 ] &&
		[ "$(held held mounts)" = 0 ] && has_no_probe "$1" alloc && has_no_probe "$1" lock &&
		has_no_probe "$1" method
}

# becomes_clean JVM: waits for that, or shows what is left.
becomes_clean() {
	(wait_for 60 is_clean "$1") || {
		sed 's/^/# held: /' held
		remains "$1" | sed 's/^/# file: /'
		grep memfd:jvmmap "/proc/$1/maps" | sed 's/^/# mapped: /'
		grep -v '^attached' said | tail -2 | sed 's/^/# said: /'
		for event in alloc lock method; do
			has_no_probe "$1" $event || echo "# a probe: $event"
		done
		exit 1
	}
}

has_children() {
	tap_processes | xargs -r -n1 -I{} cat /proc/{}/comm 2>/dev/null | grep -q '^sysflame'
}

# groups: prints the control groups of this node, except sysflame-NAME-PID, which tests make.
groups() {
	find /sys/fs/cgroup -type d -name '*sysflame*' 2>/dev/null | grep -vE '/sysflame-[a-z]+-[0-9]+' | sort
}

# is_changed_back: no class of the new JVM is changed any more.
is_changed_back() {
	[ $(($(grep -cF 'redefined name=Hot,' redefined 2>/dev/null) % 2)) = 0 ]
}

# percentile PERCENT: of the numbers in the file `times`.
percentile() {
	sort -n times | awk -v at="$1" '{ all[NR] = $1 } END { print all[int((NR * at + 99) / 100)] }'
}

# kill_cycles NUMBER: reports how long it took until a new reader had a session.
kill_cycles() {
	local nr=$1 i jvm new= begin took longest=0 late=0 groups threads
	RANDOM=${SEED:-$$}
	echo "# SEED=${SEED:-$$}"
	groups=$(groups)
	if [ -n "$(new_java)" ]; then
		exec 9</dev/null
		start_new_java Hot -Xlog:redefine+class*=info:file=redefined
		wait_for 60 grep -qa ready java.out
		new=$JVM
		wait_for 60 takes_a_reader "$new" # young JVMs are left alone
	fi
	serve service
	jvm=$JVM
	wait_for 60 takes_a_reader "$jvm"
	threads=$(ls "/proc/$jvm/task" | wc -l)
	for i in $(seq "$nr"); do
		reader "$i" "$jvm" "$new"
		kill_one "$PID"
		begin=$(now_ms)
		wait_for 5 takes_a_reader "$READ"
		took=$(($(now_ms) - begin))
		echo $took >>times
		[ $took -le $longest ] || longest=$took
		if [ $took -gt 5000 ]; then
			late=$((late + 1))
			echo "# cycle $i, reader $((i % 4)): $took ms: $(grep -v '^attached' said | tail -2 | paste -sd' ' | cut -c1-300)"
		fi
		: >said
		[ $((i % 20)) != 0 ] || echo "# $i cycles: at most $longest ms, $late times more than 5 s"
		assert "the service lives after $i cycles" kill -0 "$jvm"
		[ -z "$new" ] || assert "the other JVM lives after $i cycles" kill -0 "$new"
	done
	echo "# $nr cycles: a new reader had its session after $(percentile 50) ms in the median, 99 %" \
		"within $(percentile 99) ms, all within $longest ms; $late times after more than 5 s"
	becomes_clean "$jvm"
	if [ -n "$new" ]; then
		wait_for 30 is_changed_back
		becomes_clean "$new"
	fi
	! has_children || fail "left: $(tap_processes | paste -sd' ')"
	assert 'no control group is left' [ "$(groups)" = "$groups" ]
	assert 'no thread is left' [ "$(ls "/proc/$jvm/task" | wc -l)" -lt $((threads + 10)) ]
	ask service
	assert 'no request is lost' [ "$(figure service sent)" = "$(figure service answered)" ]
	assert_no_grep 'hs_err|SIGSEGV|Exception|FATAL' service.err
}
