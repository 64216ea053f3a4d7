# SPDX-License-Identifier: Apache-2.0
# What the daemon's slices of continuous profiling say. Source it after tap.sh and daemon.sh.

has_service() { # NAME
	local now
	now=$(date +%s)
	[ "$(api "api/v1/slices?from_ms=$(((now - 60) * 1000))&to_ms=$((now * 1000))&steps=6" |
		field "d.series.some(s => s.service == '$1')")" = true ]
}

# at_border: waits for a time at which a slice ends, and prints it.
at_border() {
	sleep $((10 - $(date +%s) % 10))
	echo $(($(date +%s) / 10 * 10))
}

# sum_of_slices FROM TO EVENT PID: prints what the slices of the process have of an event.
sum_of_slices() {
	[ "$(code "s/${1}000-${2}000/page?event=$3&pid=$4")" = 200 ] || fail "$3: $(head -c 300 answer)"
	cp answer "$3.html"
	"$SYSFLAME" report "$3.html" --event "$3" -o "$3.collapsed"
	awk '{ n += $NF } END { printf "%.0f\n", n }' "$3.collapsed"
}

has_slices_until() { # TIME
	api "s/$(($1 - 10))000-${1}000/page" -o /dev/null -f
}

# agree A B PERCENT
agree() {
	awk -v a="$1" -v b="$2" -v p="$3" 'BEGIN { exit !(a > 0 && a > b * (1 - p / 100) && a < b * (1 + p / 100)) }'
}
