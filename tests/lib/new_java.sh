# SPDX-License-Identifier: Apache-2.0
# A JVM whose classes may be changed: JDK 23 or newer. Source it after tap.sh.

# new_java: prints a java of JDK 23 or newer that is installed here.
new_java() {
	ls -d /usr/lib/jvm/*/bin/java | grep -E '[-/](2[3-9]|[3-9][0-9])[-/]' | head -1
}

# start_new_java CLASS OPTION..: starts it in the current folder, from one that is installed or from
# tests/jvm/jdks. Its input is descriptor 9, its output goes to java.out and java.err, its PID to
# $JVM. Skips the test if there is none.
start_new_java() {
	local java class=$1 n
	shift
	cp "$PROGRAMS/$class"*.class .
	java=$(new_java)
	if [ -n "$java" ]; then
		start sh -c 'exec "$@" <&9' - "$java" "$@" -cp . "$class" >java.out 2>java.err
		JVM=$PID
		return
	fi
	for n in 25 26 27 28; do
		"$ROOT/tests/jvm/jdks" has $n || continue
		start sh -c 'exec "$@" <&9' - "$ROOT/tests/jvm/jdks" run $n "$PWD" "$@" -cp . "$class" >java.out 2>java.err
		wait_for 60 "$ROOT/tests/jvm/jdks" pid "$PID"
		JVM=$("$ROOT/tests/jvm/jdks" pid "$PID")
		echo "$JVM $(start_of "$JVM")" >>"$TAP_PIDS"
		return
	done
	skip 'no JDK from 23 on is here: tests/jvm/jdks ensure 25'
}
