// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;

// Allocates known numbers of bytes at known places. For every line "ROUNDS" of standard input it does that many
// rounds. It prints the bytes that each place has allocated in them, by the JVM's own count: "PLACE BYTES".
public class Alloc {
	static final class Small {
		long a, b;
		Small next;
	}

	static final String[] PLACES = { "small", "strings", "arrays", "large" };
	static final long[] BYTES = new long[PLACES.length];
	static final com.sun.management.ThreadMXBean THREADS =
		(com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
	static Object sink;

	static void small() {
		Small last = null;
		for (int i = 0; i < 5000; i++) {
			Small s = new Small();
			s.next = last;
			last = i % 100 == 0 ? null : s;
		}
		sink = last;
	}

	static void strings() {
		for (int i = 0; i < 200; i++)
			sink = "string number ".concat(PLACES[i & 3]);
	}

	static void arrays() {
		for (int i = 0; i < 100; i++)
			sink = new byte[3000];
	}

	static void large() {
		sink = new long[25000];
	}

	static long allocated(long thread) {
		return THREADS.getThreadAllocatedBytes(thread);
	}

	static void round(long thread) {
		for (int place = 0; place < PLACES.length; place++) {
			long before = allocated(thread);
			switch (place) {
			case 0: small(); break;
			case 1: strings(); break;
			case 2: arrays(); break;
			default: large(); break;
			}
			BYTES[place] += allocated(thread) - before;
		}
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		long thread = Thread.currentThread().getId();

		for (int i = 0; i < 2000; i++)
			round(thread);
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null;) {
			java.util.Arrays.fill(BYTES, 0);
			for (int i = Integer.parseInt(line); i > 0; i--)
				round(thread);
			for (int i = 0; i < PLACES.length; i++)
				System.out.println(PLACES[i] + " " + BYTES[i]);
			System.out.println("done");
		}
	}
}
