/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.locks.ReentrantLock;

/*
 * Virtual threads that wait for each other: java ContendedLocks SECONDS HOLD_MICROSECONDS. Of 16
 * threads 8 share a monitor and 8 a ReentrantLock. Each one holds its lock for that time, works a
 * little, and sleeps for some milliseconds. It computes while it holds the lock for less than 5 ms,
 * and sleeps otherwise. Every 100 ms the program prints a line "NANOTIME MONITOR LOCK": the time of
 * System.nanoTime, and the nanoseconds that the threads waited so far.
 */
public class ContendedLocks {
	static class Guard {}

	static final Guard GUARD = new Guard();
	static final ReentrantLock LOCK = new ReentrantLock();
	static long holdNanos;

	/* The waits of a thread in ns, and the begin of the one under way; 0: none. */
	static class Waits {
		volatile long waited, since;
		volatile Object sink;

		void took() {
			waited += System.nanoTime() - since;
			since = 0;
		}

		long sum(long now) {
			long sum = waited, begin = since;
			return begin != 0 ? sum + now - begin : sum;
		}
	}

	static void hold() throws Exception {
		if (holdNanos >= 5_000_000) {
			Thread.sleep(holdNanos / 1_000_000);
			return;
		}
		for (long end = System.nanoTime() + holdNanos; System.nanoTime() < end;)
			;
	}

	static void viaMonitor(Waits w) throws Exception {
		w.since = System.nanoTime();
		synchronized (GUARD) {
			w.took();
			hold();
		}
	}

	static void viaLock(Waits w) throws Exception {
		w.since = System.nanoTime();
		LOCK.lock();
		try {
			w.took();
			hold();
		} finally {
			LOCK.unlock();
		}
	}

	static void work(Waits w, boolean isMonitor) {
		try {
			for (;; Thread.sleep(1 + holdNanos * 5 / 1_000_000)) {
				if (isMonitor)
					viaMonitor(w);
				else
					viaLock(w);
				for (int i = 0; i < 50; i++)
					w.sink = new byte[2000];
			}
		} catch (Exception e) {
			e.printStackTrace();
		}
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
		holdNanos = Long.parseLong(args[1]) * 1000;
		Waits[] all = new Waits[16];
		for (int i = 0; i < all.length; i++) {
			Waits w = all[i] = new Waits();
			boolean isMonitor = i % 2 == 0;
			/* By reflection, because this is compiled for JDK 8. */
			Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
			Class.forName("java.lang.Thread$Builder$OfVirtual").getMethod("start", Runnable.class)
				.invoke(builder, (Runnable)() -> work(w, isMonitor));
		}
		System.out.println("ready");
		while (System.nanoTime() < end) {
			Thread.sleep(100);
			long now = System.nanoTime();
			long[] sums = new long[2];
			for (int i = 0; i < all.length; i++)
				sums[i % 2] += all[i].sum(now);
			System.out.println(now + " " + sums[0] + " " + sums[1]);
		}
		System.exit(0);
	}
}
