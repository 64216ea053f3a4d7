// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

// Does what each line of standard input orders and answers with a line, by the JVM's own count: "DONE NUMBER".
//   allocate N   allocates N arrays of 10,007 bytes; the bytes that its thread has allocated meanwhile
//   start N      starts N threads that allocate as much each, and then wait to end; the bytes that they allocated
//   end          ends them; 0
//   block N      starts N threads that wait for a monitor that main holds; N once all of them wait
//   park N       starts N threads that are parked; N once all of them are
//   collect N    collects garbage N times; the number of collections since the start
//   spin         starts a thread that uses the CPU in Watched.spins; 0
public class Watched {
	static final com.sun.management.ThreadMXBean THREADS =
		(com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
	static final Object MONITOR = new Object();
	static volatile Object sink;
	static volatile long spun;
	static CountDownLatch ends;

	static long allocates(int arrays) {
		long thread = Thread.currentThread().getId(), before = THREADS.getThreadAllocatedBytes(thread);
		for (int i = 0; i < arrays; i++)
			sink = new byte[10007];
		return THREADS.getThreadAllocatedBytes(thread) - before;
	}

	static long starts(int threads) throws InterruptedException {
		final long[] bytes = new long[threads];
		final CountDownLatch allocated = new CountDownLatch(threads), latch = new CountDownLatch(1);
		ends = latch;
		for (int i = 0; i < threads; i++) {
			final int at = i;
			new Thread(() -> {
				bytes[at] = allocates(1009);
				allocated.countDown();
				try {
					latch.await();
				} catch (InterruptedException e) {
					throw new IllegalStateException(e);
				}
			}).start();
		}
		allocated.await();
		long sum = 0;
		for (long one : bytes)
			sum += one;
		return sum;
	}

	static long collections() {
		long sum = 0;
		for (GarbageCollectorMXBean one : ManagementFactory.getGarbageCollectorMXBeans())
			sum += one.getCollectionCount();
		return sum;
	}

	static void spins() {
		for (;;)
			spun++;
	}

	static void daemons(int nr, Thread.State wanted, Runnable work) throws InterruptedException {
		for (int i = 0; i < nr; i++) {
			Thread t = new Thread(work);
			t.setDaemon(true);
			t.start();
			while (wanted != null && t.getState() != wanted)
				Thread.sleep(1);
		}
	}

	static long does(String order, int nr) throws InterruptedException {
		switch (order) {
		case "allocate":
			return allocates(nr);
		case "start":
			return starts(nr);
		case "end":
			ends.countDown();
			return 0;
		case "block":
			daemons(nr, Thread.State.BLOCKED, () -> { synchronized (MONITOR) { sink = MONITOR; } });
			return nr;
		case "park":
			daemons(nr, Thread.State.WAITING, () -> { for (;;) LockSupport.park(); });
			return nr;
		case "collect":
			for (int i = 0; i < nr; i++)
				System.gc();
			return collections();
		default:
			daemons(1, null, Watched::spins);
			return 0;
		}
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));

		System.out.println("ready");
		synchronized (MONITOR) {
			for (String line; (line = in.readLine()) != null;) {
				String[] words = line.split(" ");
				System.out.println("done " + does(words[0], words.length > 1 ? Integer.parseInt(words[1]) : 0));
			}
		}
	}
}
