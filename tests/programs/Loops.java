// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CountDownLatch;

// A class of each kind: a loop that never returns next to the method that it calls; the same, with the loop in another
// class; a loop that only waits; a loop that runs from the line "begin" of standard input to the line "end". Every other
// line asks for the speed: "KIND CALLS-PER-SECOND", of CPU time.
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

	static final ThreadMXBean bean = ManagementFactory.getThreadMXBean();

	static Thread start(Runnable loop) {
		Thread thread = new Thread(loop);
		thread.setDaemon(true);
		thread.start();
		return thread;
	}

	static long cpu_ns(Thread thread) {
		return thread == null ? 0 : bean.getThreadCpuTime(thread.getId());
	}

	static void report_speed(Thread... loops) throws InterruptedException {
		String[] kinds = { "inside", "outside", "late" };
		long[] calls = { Inside.calls, Caller.calls, Late.calls }, ns = new long[3];

		for (int i = 0; i < 3; i++)
			ns[i] = cpu_ns(loops[i]);
		// On a busy machine a loop may get little time.
		for (int i = 0; i < 10; i++) {
			Thread.sleep(500);
			if (cpu_ns(loops[0]) - ns[0] > 100000000 && cpu_ns(loops[1]) - ns[1] > 100000000)
				break;
		}
		long[] later = { Inside.calls, Caller.calls, Late.calls };
		for (int i = 0; i < 3; i++) {
			long used = cpu_ns(loops[i]) - ns[i];
			System.out.println(kinds[i] + " " + (used > 0 ? (later[i] - calls[i]) * 1000000000L / used : 0));
		}
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));

		Thread inside = start(Inside::loop), outside = start(Caller::loop), late = null;
		start(Waiting::loop);
		Waiting.step(1);
		Late.rare(1);
		Thread.sleep(2000);
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null; System.out.println("done")) {
			Late.goes_on = line.equals("begin") || Late.goes_on && !line.equals("end");
			if (line.equals("begin"))
				late = start(Late::loop);
			else
				report_speed(inside, outside, late);
		}
	}
}
