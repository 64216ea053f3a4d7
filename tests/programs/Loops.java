// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;

// A class of each kind: a loop that never returns next to the method that it calls; the same, with the loop in another
// class; a loop that only waits; a loop that runs from the line "begin" of standard input to the line "end". Every other
// line asks for the speed: "KIND CALLS-PER-SECOND".
public class Loops {
	static final int STEPS = 1000;

	static final class Inside {
		static volatile long calls;

		static int step(int n) {
			return n * 31 + 7;
		}

		static int other(int n) {
			return n ^ n >>> 3;
		}

		static void loop() {
			for (int n = 1;; calls += STEPS)
				for (int i = 0; i < STEPS; i++)
					n = step(n) ^ i;
		}
	}

	static final class Outside {
		static int step(int n) {
			return n * 31 + 7;
		}

		// Called all the time, with a loop, but each call ends.
		static int many(int n) {
			for (int i = 0; i < STEPS; i++)
				n = step(n) ^ i;
			return n;
		}
	}

	static final class Caller {
		static volatile long calls;

		static void loop() {
			for (int n = 1;; calls += STEPS)
				n = Outside.many(n);
		}
	}

	static final class Waiting {
		static final CountDownLatch never = new CountDownLatch(1);

		static int step(int n) {
			return n * 31 + 7;
		}

		static void loop() {
			for (;;) {
				try {
					never.await();
				} catch (InterruptedException e) {
					return;
				}
			}
		}
	}

	static final class Late {
		static volatile long calls;
		static volatile boolean goes_on;

		static int step(int n) {
			return n * 31 + 7;
		}

		static int rare(int n) {
			return n + 1;
		}

		static void loop() {
			for (int n = 1; goes_on; calls += STEPS) {
				n = rare(n);
				for (int i = 0; i < STEPS; i++)
					n = step(n) ^ i;
			}
		}
	}

	static void start(Runnable loop) {
		Thread thread = new Thread(loop);
		thread.setDaemon(true);
		thread.start();
	}

	static long speed(long before, long after, long ns) {
		return (after - before) * 1000000000L / ns;
	}

	static void report_speed() throws InterruptedException {
		long inside = Inside.calls, outside = Caller.calls, late = Late.calls, begin = System.nanoTime();
		Thread.sleep(1000);
		long ns = System.nanoTime() - begin;
		System.out.println("inside " + speed(inside, Inside.calls, ns));
		System.out.println("outside " + speed(outside, Caller.calls, ns));
		System.out.println("late " + speed(late, Late.calls, ns));
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));

		start(Inside::loop);
		start(Caller::loop);
		start(Waiting::loop);
		Waiting.step(1);
		Late.rare(1);
		Thread.sleep(2000);
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null; System.out.println("done")) {
			Late.goes_on = line.equals("begin") || Late.goes_on && !line.equals("end");
			if (line.equals("begin"))
				start(Late::loop);
			else
				report_speed();
		}
	}
}
