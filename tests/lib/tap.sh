# SPDX-License-Identifier: Apache-2.0
# Shell tests in TAP. Source it, write functions whose names are sentences, and end with: run_tests
# NAME... Each test runs in its own shell with a new $TMP as the current folder. It fails if any
# command fails (set -e) or by `fail TEXT`. Afterwards, also after a failure or a signal, its
# processes are killed, the mounts below $TMP are unmounted, and the groups of `remove_later` are
# removed.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
case ${O:-build} in /*) BUILD=$O ;; *) BUILD=$ROOT/${O:-build} ;; esac
SYSFLAME=$BUILD/sysflame
PROGRAMS=$BUILD/tests/programs
export ROOT BUILD SYSFLAME PROGRAMS
# Nobody writes to it.
exec {TAP_QUIET}<> <(:)

fail() {
	echo "# $*"
	exit 1
}

# skip REASON: ends a test that cannot run here.
skip() {
	echo "$*" >"$TAP_SKIP"
	exit 0
}

# needs COMMAND..: ends a test that cannot run without one of these.
needs() {
	local lacking
	lacking=$(lacking "$@")
	[ -z "$lacking" ] || skip "$lacking is not installed"
}
# A file all of whose tests need a command adds it to $NEEDS.
NEEDS=
lacking() { # COMMAND..
	local command
	for command in "$@"; do
		command -v "$command" >/dev/null || { echo "$command" && return; }
	done
}

# assert TEXT COMMAND...: the command must succeed.
assert() {
	local text=$1
	shift
	"$@" || fail "$text: $*"
}

# assert_grep PATTERN FILE, assert_no_grep PATTERN FILE (extended regular expressions)
assert_grep() {
	grep -qE -- "$1" "$2" || { sed 's/^/# | /' "$2" | tail -20; fail "no line matches '$1' in $2"; }
}
assert_no_grep() {
	! grep -E -- "$1" "$2" | sed 's/^/# | /' | head -5 | grep . || fail "a line matches '$1' in $2"
}

# share FILE PATTERN: prints the percentage of a collapsed file's samples whose stack matches.
share() {
	awk -v pattern="$2" '{ all += $NF; if ($0 ~ pattern) hit += $NF }
		END { printf "%d\n", all ? 100 * hit / all + 0.5 : 0 }' "$1"
}

# share_is PERCENT FILE PATTERN: within 3 points, or 5 standard deviations if there are few samples.
share_is() {
	awk -v wanted="$1" -v pattern="$3" '{ all += $NF; if ($0 ~ pattern) hit += $NF }
		END {
			p = wanted / 100; off = all ? hit / all - p : 1; if (off < 0) off = -off
			exit !(all >= 20 && (off <= 0.03 || off <= 5 * sqrt(p * (1 - p) / all)))
		}' "$2" || fail "$3: $(share "$2" "$3") % of $(awk '{ n += $NF } END { print n + 0 }' "$2"), not $1"
}

# chi_square: reads lines "SEEN TRUTH VARIANCE" and prints the sum of squared deviations in units of
# the standard deviation. With 5 lines correct figures exceed 40 once in 6 million times.
chi_square() {
	awk '{ all += ($1 - $2) ^ 2 / $3 } END { printf "%d\n", all + 0.5 }'
}

# sites_are_right TRUTH FILE UNIT: checks the same waits from first() to fifth(); each sample of
# UNIT ns was taken with its probability. Clocks may disagree about the sum, so it compares shares.
sites_are_right() {
	local sites
	sites=$(awk -v unit="$3" '
		BEGIN { split("first second third fourth fifth", sites) }
		FILENAME == ARGV[1] { truth[$1] = $2; next }
		{ for (i in sites) if ($0 ~ "[;.]" sites[i] ";") { seen[i] += $NF; all += $NF } }
		END {
			for (i in sites)
				said += truth[sites[i]]
			for (i in sites) {
				wanted = truth[sites[i]] * all / said
				printf "%.0f %.0f %.0f\n", seen[i], wanted, wanted * unit
			}
			exit all < 200 * unit
		}' "$1" "$2") || fail "too few: $sites"
	within 0 40 "$(chi_square <<<"$sites")" "chi-square of $sites"
}

# split_is_right FILE PREFIX [PERCENT]: checks the shares of the programs split.c and Split.java among their samples, which
# are at least PERCENT of the file's (60): on a busy machine the start of a JVM takes some.
split_is_right() {
	grep -E "$2(seventy|twenty|ten)" "$1" >"$TMP/split" || fail "no samples of $2seventy"
	within "${3:-60}" 100 "$(share "$1" "$2(seventy|twenty|ten)")" "samples of the program's functions"
	share_is 70 "$TMP/split" "$2seventy"
	share_is 20 "$TMP/split" "$2twenty"
	share_is 10 "$TMP/split" "$2ten"
}

# within LOW HIGH VALUE WHAT
within() {
	[ "$3" -ge "$1" ] && [ "$3" -le "$2" ] || fail "$4: $3, not $1..$2"
}

# start COMMAND..: starts a program in the background and sets PID. It is killed when the test ends. Without the
# redirection, bash gives it /dev/null even where the caller redirects its input.
start() {
	"$@" <&0 &
	PID=$!
	echo "$PID $(start_of $PID)" >>"$TAP_PIDS"
}

# start_of PID: prints the start time of the process, which distinguishes it from a later process
# with that PID.
start_of() {
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
	set -- ${stat##*) }
	echo "${20}"
}

# wait_for SECONDS COMMAND...: waits until the command succeeds. SECONDS suffice on an idle machine;
# on a busy one it may take TEST_PATIENCE seconds.
wait_for() {
	local patience=${TEST_PATIENCE:-300} end pause=0.05 tries=0
	end=$((SECONDS + ($1 > patience ? $1 : patience)))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || fail "timed out waiting for: $*"
		pause_for $pause
		case $((tries += 1)) in 5) pause=0.2 ;; 25) pause=0.5 ;; esac
	done
}

# pause_for SECONDS: sleeps without a process. A command costs 12 ms of CPU time on some machines, and tests wait a lot.
# What wait_for asks again and again therefore starts as few processes as possible.
pause_for() {
	read -rt "$1" -u "$TAP_QUIET" || true
}

# status_of COMMAND..: prints the exit status of a command, whose output goes to the file `out`.
status_of() {
	local status=0
	"$@" >out || status=$?
	echo $status
}

# remove_later GROUP: removes a control group and the groups below it after the test.
remove_later() {
	echo "$1" >>"$TAP_GROUPS"
}

# limited MB: makes a control group with that memory limit; its path is in $GROUP.
limited() {
	GROUP=/sys/fs/cgroup/memory/sysflame-test-$$
	local limit=memory.limit_in_bytes
	[ -e /sys/fs/cgroup/cgroup.controllers ] && GROUP=/sys/fs/cgroup/sysflame-test-$$ limit=memory.max
	mkdir "$GROUP" 2>/dev/null || skip "no control groups can be made"
	remove_later "$GROUP"
	[ -e "$GROUP/$limit" ] || skip "control groups here have no memory limit"
	echo $(($1 << 20)) >"$GROUP/$limit"
}

# Prints the PIDs that the test left running: those of `start`, and every process that inherited
# $TMP in its environment. A PID with another start time belongs to another process. A subshell, so that
# the programs that it starts do not have $TMP.
tap_processes() (
	while read -r pid began; do
		[ -z "$began" ] || [ "$(start_of "$pid")" != "$began" ] || echo "$pid"
	done <"$TAP_PIDS"
	wanted=TMP=$TMP
	unset TMP
	grep -lzxs "$wanted" /proc/[0-9]*/environ | cut -d/ -f3
)

# tap_forget PID COMMAND..: removes a JVM's attach socket and its recorded refusals, if the command succeeds.
tap_forget() {
	local left
	for left in "/tmp/.java_pid$1" "/run/sysflame/refused/$1-"*; do
		[ ! -e "$left" ] || ! "${@:2}" || rm -f "$left"
	done
}

tap_has_ended() { # PID
	! readlink "/proc/$1/exe"
}

# Kills in several rounds, because processes may start others meanwhile.
tap_kill() {
	local pid pids
	for _ in 1 2 3 4 5; do
		pids=$(tap_processes)
		[ -n "$pids" ] || break
		for pid in $pids; do
			kill -CONT "$pid"
			kill -9 "$pid"
			tap_forget "$pid" true
		done
	done
	while read -r pid _; do
		tap_forget "$pid" tap_has_ended "$pid"
	done <"$TAP_PIDS"
}

# A group can only be removed after its processes are reaped.
tap_remove_group() {
	for _ in $(seq 100); do
		find "$1" -depth -type d -exec rmdir {} +
		[ -e "$1" ] || return
		sleep 0.1
	done
}

# tap_unmount CONDITION: unmounts file systems below $TMP. Groups are removed through theirs.
tap_unmount() {
	local mount mounts
	read -rd '' mounts </proc/self/mounts
	[[ $mounts == *" $TMP/"* ]] || return 0
	for mount in $(awk -v dir="$TMP/" "index(\$2, dir) == 1 && $1 { print \$2 }" /proc/self/mounts | tac); do
		fsfreeze -u "$mount"
		umount -l "$mount"
	done
}

tap_cleanup() {
	local group
	while read -r group; do
		echo THAWED >"$group/freezer.state"
		echo 0 >"$group/cgroup.freeze"
	done <"$TAP_GROUPS"
	tap_unmount '$3 !~ /^cgroup/'
	tap_kill
	while read -r group; do
		tap_remove_group "$group"
	done <"$TAP_GROUPS"
	tap_unmount 1
	rm -rf "$TMP" "$TAP_PIDS" "$TAP_SKIP" "$TAP_GROUPS"
}

# Shows what the programs of a failed test said and which still run.
tap_explain() {
	local file
	for file in $(find "$TMP" -maxdepth 1 -type f -size +0 \( -name '*err' -o -name 'hs_err*' \)); do
		echo "# --- ${file#"$TMP"/}"
		tail -25 "$file" | cut -c1-300 | sed 's/^/# /'
	done
	tap_processes | xargs -r ps -o pid,stat,etime,time,args -p 2>/dev/null | cut -c1-160 | sed 's/^/# /'
}

tap_interrupted() {
	tap_cleanup >/dev/null 2>&1
	exit 1
}

# more_tests NAME..: names those tests that only `make check-more` runs; before run_tests.
MORE_TESTS=' '
more_tests() {
	[ "${MORE:-0}" != 0 ] || MORE_TESTS=" $* "
}

run_tests() {
	local name chosen=()
	for name in "$@"; do
		[[ $MORE_TESTS == *" $name "* ]] || chosen+=("$name")
	done
	set -- "${chosen[@]}"
	local number=0 bad=0 lacking begun
	lacking=$(lacking $NEEDS)
	echo "1..$#"
	for name in "$@"; do
		number=$((number + 1))
		[ -z "$lacking" ] || { echo "ok $number - ${name//_/ } # SKIP $lacking is not installed"; continue; }
		TMP=$(mktemp -d)
		chmod 755 "$TMP"
		TAP_PIDS=$TMP.pids TAP_SKIP=$TMP.skip TAP_GROUPS=$TMP.groups
		export TMP TAP_PIDS TAP_SKIP TAP_GROUPS
		: >"$TAP_PIDS" >"$TAP_SKIP" >"$TAP_GROUPS"
		trap tap_interrupted HUP INT TERM
		begun=$SECONDS
		# Not as the condition of an `if`, where `set -e` has no effect.
		(set -e; cd "$TMP"; "$name")
		if [ $? = 0 ]; then
			if [ -s "$TAP_SKIP" ]; then
				echo "ok $number - ${name//_/ } # SKIP $(cat "$TAP_SKIP")"
			else
				echo "ok $number - ${name//_/ }"
			fi
		else
			echo "not ok $number - ${name//_/ }"
			tap_explain
			bad=1
		fi
		tap_cleanup >/dev/null 2>&1
		trap - HUP INT TERM
		echo "# $((SECONDS - begun)) s"
	done
	return $bad
}
