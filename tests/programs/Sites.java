// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;

// All waits for a monitor are alike, from one of five places chosen at random with a fixed seed. Disagreement between
// clocks is then the same share of each. For every line "ROUNDS" two threads take the monitor in turns that often.
// Prints the time waited at each place: "PLACE NS".
public class Sites {
	static final String[] NAMES = { "first", "second", "third", "fourth", "fifth" };
	static final int[] TICKETS = { 1, 2, 3, 4, 6 };
	static final AtomicLongArray WAITED = new AtomicLongArray(NAMES.length);
	static final Object monitor = new Object();

	static void take(int i) {
		long since = System.nanoTime();
		synchronized (monitor) {
			long waited = System.nanoTime() - since;
			if (waited > 20_000)
				WAITED.addAndGet(i, waited);
			LockSupport.parkNanos(200_000);
		}
	}

	static void first() {
		take(0);
	}

	static void second() {
		take(1);
	}

	static void third() {
		take(2);
	}

	static void fourth() {
		take(3);
	}

	static void fifth() {
		take(4);
	}

	static int draw(Random random) {
		int ticket = random.nextInt(16), i = 0;
		while (ticket >= TICKETS[i])
			ticket -= TICKETS[i++];
		return i;
	}

	static void run(int rounds, long seed) {
		Random random = new Random(seed);
		for (; rounds > 0; rounds--) {
			switch (draw(random)) {
			case 0: first(); break;
			case 1: second(); break;
			case 2: third(); break;
			case 3: fourth(); break;
			default: fifth(); break;
			}
			Thread.yield();
		}
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));

		System.out.println("ready");
		for (String line; (line = in.readLine()) != null;) {
			int rounds = Integer.parseInt(line);
			Thread other = new Thread(() -> run(rounds, 1));
			other.start();
			run(rounds, 2);
			other.join();
			for (int i = 0; i < NAMES.length; i++)
				System.out.println(NAMES[i] + " " + WAITED.get(i));
			System.out.println("done");
		}
	}
}
