# SPDX-License-Identifier: Apache-2.0
# Compares stacks of tests/programs/Shapes.java with the truth.
# usage: awk -v shape=NAME -f oracle.awk STACKS, collapsed stacks of `sysflame debug unwind`
# Prints "SHAPE stacks=N complete=N equal=N deep=N", "WRONG ..." for stacks that differ, and "CUT ..." for
# cut ones.
# A thread may be stopped anywhere: its stack must be a prefix of the shape's chain; `deep` stacks reach its
# end. Inlined frames at a leaf may be guessed (marked ~): the comparison ends at the first guessed frame that
# does not match. Only frames of Shapes are compared, because JDK code may stand between them.
function chain(text,   part, i, n, times) {
	n = split("run l0 l1 l2 l3 " text, part, " ")
	for (i = 1; i <= n; i++) {
		times = 1
		if (split(part[i], rep, "*") == 2) { part[i] = rep[1]; times = rep[2] }
		while (times-- > 0) expected[++nr] = part[i]
	}
}
BEGIN {
	shapes["calls"] = "Small.apply"
	shapes["recurse"] = "recurse*62 spin work"
	shapes["deep"] = "recurse*901 spin work"
	shapes["throw"] = "catcher thrower*8"
	shapes["locked"] = "locked spin work"
	shapes["mega"] = "mega [ABCD].area work"
	shapes["osr"] = "osr"
	shapes["intrinsics"] = "intrinsics"
	shapes["natives"] = "natives"
	shapes["allocate"] = "allocate"
	shapes["streams"] = "streams lambda.streams.[0-9]+ work"
	shapes["deopt"] = "deopt spin work"
	shapes["reflect"] = "target spin work"
	shapes["handle"] = "target spin work"
	shapes["jni"] = "callBack calledBack spin work"
	shapes["unload"] = "unload Unloaded.(apply|<init>) spin work"
	shapes["storm"] = "storm storm[AB] spin work"
	shapes["virtual"] = "recurse*31 spin work"
	mutual = ""
	for (i = 0; i < 23; i++) mutual = mutual " even odd"
	shapes["mutual"] = mutual " even spin work"
	chain(shapes[shape])
}
{
	sub(/ 1$/, "")
	n = split($0, frame, ";")
	stacks++
	if (frame[1] == "complete") complete++; else print "CUT " shape " " $0
	at = 0
	bad = ""
	for (i = 2; i <= n; i++) {
		name = frame[i]
		if (name !~ /^Shapes[.$].*_\[(compiled|interpreted|wrapper)~?\]$/) continue
		guessed = name ~ /~\]$/
		sub(/_\[[a-z]*~?\]$/, "", name)
		if (name ~ /^Shapes\$(\$Lambda|Loader)/ || name ~ /\.lambda\$main\$/) continue
		sub(/^Shapes[.$]/, "", name)
		at++
		if (at > nr || name !~ ("^" expected[at] "$")) {
			if (!guessed) bad = at " " name
			break
		}
	}
	if (frame[1] == "complete" && at == 0) bad = "no frame of the program"
	if (bad != "") { wrong++; print "WRONG " bad ": " $0 }
	else if (frame[1] == "complete") equal++
	if (at >= nr - 1) deep++
}
END {
	printf "%s stacks=%d complete=%d equal=%d deep=%d\n", shape, stacks, complete, equal, deep
}
