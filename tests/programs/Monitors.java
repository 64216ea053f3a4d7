// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

// Virtual threads (JDK 21 and later) that wait for monitors. For every line "THREADS ROUNDS" of standard input, that
// many threads take each of two monitors in turns that often and hold it for some time. Prints the time waited for
// each: "MONITOR NS WAITS".
public class Monitors {
	static final class Slow {
	}

	static final class Quick {
	}

	static final String[] NAMES = { "slow", "quick" };
	static final long[] HOLD_NS = { 4_000_000, 2_000_000 };
	static final AtomicLong[] WAITED = new AtomicLong[2], WAITS = new AtomicLong[2];
	static final Object slow = new Slow(), quick = new Quick();

	static void hold(int i) {
		long end = System.nanoTime() + HOLD_NS[i];
		for (long left; (left = end - System.nanoTime()) > 0;)
			LockSupport.parkNanos(left);
	}

	static void got(int i, long since) {
		long waited = System.nanoTime() - since;
		if (waited > 20_000) {
			WAITED[i].addAndGet(waited);
			WAITS[i].incrementAndGet();
		}
		hold(i);
	}

	static void slow() {
		long since = System.nanoTime();
		synchronized (slow) {
			got(0, since);
		}
	}

	static void quick() {
		long since = System.nanoTime();
		synchronized (quick) {
			got(1, since);
		}
	}

	static void rounds(int i, int rounds, CountDownLatch done) {
		for (; rounds > 0; rounds--) {
			if (i == 0)
				slow();
			else
				quick();
			Thread.yield();
		}
		done.countDown();
	}

	static void start(Runnable what) throws Exception {
		Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, what);
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));

		System.out.println("ready");
		for (String line; (line = in.readLine()) != null;) {
			String[] words = line.split(" ");
			int threads = Integer.parseInt(words[0]), rounds = Integer.parseInt(words[1]);
			CountDownLatch done = new CountDownLatch(2 * threads);
			for (int i = 0; i < 2; i++) {
				WAITED[i] = new AtomicLong();
				WAITS[i] = new AtomicLong();
			}
			for (int k = 0; k < 2 * threads; k++) {
				int i = k % 2;
				start(() -> rounds(i, rounds, done));
			}
			done.await();
			for (int i = 0; i < 2; i++)
				System.out.println(NAMES[i] + " " + WAITED[i] + " " + WAITS[i]);
			System.out.println("done");
		}
	}
}
