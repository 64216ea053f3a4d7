# SPDX-License-Identifier: Apache-2.0
# Shell tests in TAP. Source it, write functions named like sentences, end with: run_tests NAME...
# Each test runs in a shell of its own with a fresh $TMP as the current folder; it fails by any
# command that fails (set -e) or by `fail TEXT`. What it started with `start` is killed after it.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
case ${O:-build} in /*) BUILD=$O ;; *) BUILD=$ROOT/${O:-build} ;; esac
SYSFLAME=$BUILD/sysflame
PROGRAMS=$BUILD/tests/programs
export ROOT BUILD SYSFLAME PROGRAMS

fail() {
	echo "# $*"
	exit 1
}

# Says why the test cannot run here and ends it.
skip() {
	echo "$*" >"$TAP_SKIP"
	exit 0
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

# share FILE PATTERN: the percentage of a collapsed file's samples whose stack matches.
share() {
	awk -v pattern="$2" '{ all += $NF; if ($0 ~ pattern) hit += $NF }
		END { printf "%d\n", all ? 100 * hit / all + 0.5 : 0 }' "$1"
}

# share_is PERCENT FILE PATTERN: within 3 points, or 5 standard deviations if so few were sampled.
share_is() {
	awk -v wanted="$1" -v pattern="$3" '{ all += $NF; if ($0 ~ pattern) hit += $NF }
		END {
			p = wanted / 100; off = all ? hit / all - p : 1; if (off < 0) off = -off
			exit !(all >= 50 && (off <= 0.03 || off <= 5 * sqrt(p * (1 - p) / all)))
		}' "$2" || fail "$3: $(share "$2" "$3") % of $(awk '{ n += $NF } END { print n + 0 }' "$2"), not $1"
}

# chi_square: of lines "SEEN TRUTH VARIANCE" on stdin, the sum of squares of how many standard
# deviations each is off. With 5 lines right figures are above 40 once in 6 million times.
chi_square() {
	awk '{ all += ($1 - $2) ^ 2 / $3 } END { printf "%d\n", all + 0.5 }'
}

# sites_are_right TRUTH FILE UNIT: waits for the same from first() to fifth(), each a sample of UNIT
# ns by the chance that it has. Clocks may disagree about the sum: the shares count.
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

# split_is_right FILE PREFIX: what the programs split.c and Split.java do.
split_is_right() {
	share_is 70 "$1" "$2seventy"
	share_is 20 "$1" "$2twenty"
	share_is 10 "$1" "$2ten"
}

# within LOW HIGH VALUE WHAT
within() {
	[ "$3" -ge "$1" ] && [ "$3" -le "$2" ] || fail "$4: $3, not $1..$2"
}

# Starts a program in the background; its PID is in $PID; it is killed when the test ends.
start() {
	"$@" &
	PID=$!
	echo $PID >>"$TAP_PIDS"
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || fail "timed out waiting for: $*"
		sleep 0.05
	done
}

# Prints the exit status of a command, whose own output goes to the file `out`.
status_of() {
	local status=0
	"$@" >out || status=$?
	echo $status
}

tap_cleanup() {
	local pid
	while read -r pid; do
		kill -CONT "$pid" 2>/dev/null
		kill -9 "$pid" 2>/dev/null
		rm -f "/tmp/.java_pid$pid" # the attach socket of a JVM
	done <"$TAP_PIDS"
}

run_tests() {
	local name number=0 bad=0
	echo "1..$#"
	for name in "$@"; do
		number=$((number + 1))
		TMP=$(mktemp -d)
		chmod 755 "$TMP"
		TAP_PIDS=$TMP.pids TAP_SKIP=$TMP.skip
		export TMP TAP_PIDS TAP_SKIP
		: >"$TAP_PIDS"
		# Not as the condition of an `if`: within one `set -e` does nothing.
		(set -e; cd "$TMP"; "$name")
		if [ $? = 0 ]; then
			if [ -s "$TAP_SKIP" ]; then
				echo "ok $number - ${name//_/ } # SKIP $(cat "$TAP_SKIP")"
			else
				echo "ok $number - ${name//_/ }"
			fi
		else
			echo "not ok $number - ${name//_/ }"
			bad=1
		fi
		tap_cleanup 2>/dev/null
		rm -rf "$TMP" "$TAP_PIDS" "$TAP_SKIP"
	done
	return $bad
}
