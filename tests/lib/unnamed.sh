# SPDX-License-Identifier: Apache-2.0
# A stripped library whose functions are known. Source it after tap.sh and recording.sh.

# make_library: two exported functions of libhot.so.1.2 call one local one each, in the program `busy`. The address of
# hidden is in $HIDDEN, the build id in $BUILD_ID; full.so has all symbols.
make_library() {
	cat >hot.c <<-C
		static volatile unsigned long sink;
		static __attribute__((noinline)) void hidden(void)
		{ for (int i = 0; i < 100000; i++) { sink += i * 3; sink ^= i; sink -= i / 7; } }
		static __attribute__((noinline)) void other(void)
		{ for (int i = 0; i < 100000; i++) { sink += i * 5; sink ^= i; sink -= i / 3; } }
		void hot_exported(void) { hidden(); sink++; }
		void hot_second(void) { other(); sink++; }
	C
	cat >main.c <<-C
		void hot_exported(void), hot_second(void);
		int main(void) { for (;;) { hot_exported(); hot_second(); } }
	C
	gcc -O1 -g -shared -fPIC -Wl,--build-id=sha1 -o libhot.so.1.2 hot.c
	gcc -O1 -o busy main.c ./libhot.so.1.2
	HIDDEN=$(nm libhot.so.1.2 | sed -n 's/^0*\(.*\) t hidden$/\1/p')
	BUILD_ID=$(readelf -n libhot.so.1.2 | sed -n 's/.*Build ID: //p')
	cp libhot.so.1.2 full.so
	strip -s libhot.so.1.2
}

# record_busy FILE OPTION..: records the program for three seconds; the messages are in err.
record_busy() {
	start ./busy
	"$SYSFLAME" record -F 499 -o "$1" -p $PID "${@:2}" 2>err &
	local recorder=$!
	recording $recorder
	runs $PID
	runs $PID
	runs $PID
	kill -INT $recorder
	wait $recorder || fail "$(cat err)"
	kill -9 $PID
}

# by_build_id FOLDER: puts the symbols of the library where debuggers look for them.
by_build_id() {
	mkdir -p "$1/.build-id/${BUILD_ID:0:2}"
	objcopy --only-keep-debug full.so "$1/.build-id/${BUILD_ID:0:2}/${BUILD_ID:2}.debug"
}

# stacks_of FILE: prints the different stacks of a collapsed file that end in the library, from main on.
stacks_of() {
	sed -nE 's/^.*;(main;hot_[^; ]*;(hidden|other|\[libhot[^;]*)) [0-9]+$/\1/p' "$1" | sort -u
}
