// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

// For every line of standard input: fills more of the Java heap, starts threads, and leaks a known number of bytes
// outside the heap. Prints "leaked BYTES", then "done".
public class Reserves {
	static final int LEAK = 8 * 12503, LEAKS = 61, THREADS = 7, MEGABYTES = 48;
	static final List<byte[]> kept = new ArrayList<>();
	static final List<ByteBuffer> leaked = new ArrayList<>();

	static void leak() {
		for (int i = 0; i < LEAKS; i++)
			leaked.add(ByteBuffer.allocateDirect(LEAK));
	}

	static void sleep() {
		try {
			Thread.sleep(1000000);
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
	}

	static void round() {
		for (int i = 0; i < MEGABYTES; i++)
			kept.add(new byte[1 << 20]);
		for (int i = 0; i < THREADS; i++) {
			Thread t = new Thread(Reserves::sleep);
			t.setDaemon(true);
			t.start();
		}
		leak();
		System.out.println("leaked " + LEAKS * LEAK);
		System.out.println("done");
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));

		System.out.println("ready");
		while (in.readLine() != null)
			round();
	}
}
