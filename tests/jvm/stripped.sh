# SPDX-License-Identifier: Apache-2.0
# Makes a JDK whose libjvm has no symbols, like most builds. java and the files by which it finds its home are
# copies. `unstripped` is the libjvm.so with symbols. Source it after tap.sh.
make_stripped_jdk() {
	local home
	home=$(dirname "$(dirname "$(realpath "$(command -v java)")")")
	cp -rs "$home" jdk 2>/dev/null
	local file
	for file in bin/java lib/libjli.so lib/jvm.cfg lib/server/libjvm.so; do
		cp --remove-destination "$(realpath "$home/$file")" "jdk/$file"
	done
	cp jdk/lib/server/libjvm.so unstripped
	strip -s jdk/lib/server/libjvm.so
}
