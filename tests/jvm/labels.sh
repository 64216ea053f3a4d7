# SPDX-License-Identifier: Apache-2.0
# Labels of ThreadLocals against the methods of tests/programs/ThreadLocals.java. Source it after tap.sh.

# take OPTION..: records the process $PID to recorded.pb.gz; what it says goes to err.
take() {
	"$SYSFLAME" record --force -o recorded.pb.gz -p "$PID" "$@" 2>err || fail "$(cat err)"
}

# by LABEL: counts the samples below the methods ThreadLocals.routeN: those with the label that fits, another, none.
# Samples in these methods themselves do not count: that frame may be the one of the next safepoint.
by() {
	"$SYSFLAME" report -q recorded.pb.gz --by "label:$1" --format collapsed -o by.txt
	awk -v label="$1" 'match($0, /ThreadLocals\.route[0-7];ThreadLocals\.work/) {
			mine = substr($0, RSTART + 18, 1)
			split($0, level, ";")
			wanted = label == "kind" ? (mine % 2 ? "WRITE" : "READ") : label == "number" ? mine : "/routes/" mine
			right += level[1] == wanted ? $NF : 0
			missing += level[1] == "(none)" ? $NF : 0
			all += $NF
		}
		END { print right + 0, all - right - missing, missing + 0 }' by.txt
}

# fit PERCENT LABEL..: each has at least that share of the samples in a route, and no sample of another one.
fit() {
	local label right wrong missing percent=$1
	shift
	for label in "$@"; do
		read -r right wrong missing < <(by "$label")
		echo "# $label: $right right, $wrong wrong, $missing missing"
		[ "$wrong" = 0 ] && [ "$right" -ge 50 ] && [ $((100 * right)) -ge $((percent * (right + missing))) ] ||
			fail "$label: $right right, $wrong wrong, $missing missing"
	done
}

# all_fit LABEL..: also those of the first moments, unless this runs beside other tests: until the classes are
# found, half a second may pass then.
all_fit() {
	fit $((${MORE:-0} ? 99 : 90)) "$@"
}

# refusal LABEL PATTERN: what the recording says of the label.
refusal() {
	take -d 1 --label "a=$1"
	assert_grep "--label a: no sample has it: $2" err
}
