// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

// Waits for known times for locks of three kinds. For every line "ROUNDS" of standard input, two threads per lock
// take it in turns that often and hold it for some time. Prints the time waited for each lock: "LOCK NS WAITS".
public class Locks {
	static final class Brief {
	}

	static final class Guarded {
	}

	static final String[] NAMES = { "monitor", "reentrant", "semaphore", "brief" };
	static final long[] HOLD_NS = { 6_000_000, 4_000_000, 2_000_000, 200_000 };
	static final AtomicLong[] WAITED = new AtomicLong[NAMES.length], WAITS = new AtomicLong[NAMES.length];
	static final Object monitor = new Guarded(), brief = new Brief();
	static final ReentrantLock lock = new ReentrantLock(true);
	static final Semaphore semaphore = new Semaphore(1, true);
	static Object scratch;

	static void hold(int i) {
		long end = System.nanoTime() + HOLD_NS[i];
		scratch = new byte[4096];
		while (System.nanoTime() < end)
			java.util.concurrent.locks.LockSupport.parkNanos(HOLD_NS[i] / 2);
	}

	static void got(int i, long since) {
		long waited = System.nanoTime() - since;
		if (waited > 20_000) {
			WAITED[i].addAndGet(waited);
			WAITS[i].incrementAndGet();
		}
		hold(i);
	}

	static void monitor(int i, Object o) {
		long since = System.nanoTime();
		synchronized (o) {
			got(i, since);
		}
	}

	static void reentrant(int i) {
		long since = System.nanoTime();
		lock.lock();
		try {
			got(i, since);
		} finally {
			lock.unlock();
		}
	}

	static void semaphore(int i) {
		long since = System.nanoTime();
		semaphore.acquireUninterruptibly();
		try {
			got(i, since);
		} finally {
			semaphore.release();
		}
	}

	static void rounds(int i, int rounds, CountDownLatch done) {
		for (; rounds > 0; rounds--) {
			switch (i) {
			case 0: monitor(i, monitor); break;
			case 1: reentrant(i); break;
			case 2: semaphore(i); break;
			default: monitor(i, brief); break;
			}
			Thread.yield();
		}
		done.countDown();
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		LinkedBlockingQueue<String> never = new LinkedBlockingQueue<>();
		Thread idle = new Thread(() -> {
			try {
				never.take();
			} catch (InterruptedException e) {
			}
		});

		idle.setDaemon(true);
		idle.start();
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null;) {
			int rounds = Integer.parseInt(line);
			CountDownLatch done = new CountDownLatch(2 * NAMES.length);
			for (int i = 0; i < NAMES.length; i++) {
				int which = i;
				WAITED[i] = new AtomicLong();
				WAITS[i] = new AtomicLong();
				for (int k = 0; k < 2; k++)
					new Thread(() -> rounds(which, which == 3 ? 10 * rounds : rounds, done)).start();
			}
			done.await();
			for (int i = 0; i < NAMES.length; i++)
				System.out.println(NAMES[i] + " " + WAITED[i] + " " + WAITS[i]);
			System.out.println("done");
		}
	}
}
