# SPDX-License-Identifier: Apache-2.0
# Medians for the benchmarks. Source it.
build=${O:-build}

# median NUMBER..: "MEDIAN (MIN..MAX)"
median() {
	printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END {
		m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
		printf "%.4g (%.4g..%.4g)", m, v[1], v[NR] }'
}

# quartiles NUMBER..: "MEDIAN (LOWER..UPPER QUARTILE)", for many values with a wide spread
quartiles() {
	printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 }
		function at(q) { i = 1 + q * (NR - 1); k = int(i); return v[k] + (i - k) * (v[k < NR ? k + 1 : k] - v[k]) }
		END { printf "%.4g (%.4g..%.4g)", at(0.5), at(0.25), at(0.75) }'
}

# row WHAT FIGURE UNIT [BAR]
row() {
	printf '%-52s %-28s %-10s %s\n' "$1" "$2" "$3" "${4:+bar: $4}"
}
