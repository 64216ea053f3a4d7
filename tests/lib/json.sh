# SPDX-License-Identifier: Apache-2.0
# Values of JSON in tests. Source it after tap.sh.

# field EXPRESSION: reads JSON from standard input and prints the value of a JavaScript expression on it, `d`.
field() {
	local json status=1 value='the answer is missing' fd
	json=$(cat)
	json_begin || return 1
	exec {fd}<>"/dev/tcp/127.0.0.1/$(<"$TMP/.json")"
	printf '%s\0%s\0' "$1" "$json" >&"$fd"
	IFS= read -rd '' status <&"$fd" || :
	IFS= read -rd '' value <&"$fd" || :
	exec {fd}>&-
	if [ "$status" = 0 ]; then
		printf '%s\n' "$value"
	else
		echo "$value" >&2
		return 1
	fi
}

# Starts the process that evaluates expressions, once for each test. It ends with the test.
json_begin() {
	local tries
	[ ! -s "$TMP/.json" ] || return 0
	node "$ROOT/tests/lib/json.js" "$TMP/.json" </dev/null >/dev/null 2>&1 &
	for ((tries = 0; tries < 1000; tries++)); do
		[ ! -s "$TMP/.json" ] || return 0
		pause_for 0.05
	done
	echo 'node does not start' >&2
	return 1
}
