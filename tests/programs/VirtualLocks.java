/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.ReentrantLock;

/* A lock of its own class, which is nobody's inner class. */
class Mutex extends AbstractQueuedSynchronizer {
	@Override protected boolean tryAcquire(int n) {
		if (!compareAndSetState(0, 1))
			return false;
		setExclusiveOwnerThread(Thread.currentThread());
		return true;
	}

	@Override protected boolean tryRelease(int n) {
		setExclusiveOwnerThread(null);
		setState(0);
		return true;
	}
}

/*
 * Virtual threads that wait for locks which known threads hold: java VirtualLocks PAIRS SECONDS
 * [LOCK..]. PAIRS locks of each kind have a holder and a virtual thread that waits for it, releases
 * it at once, and sleeps a little. Of each 480 ms the threads holder-reentrant-N hold their locks for
 * 336 ms, the virtual threads holder-monitor-N for 96 ms, and holder-mutex-N for 48 ms. Every 100 ms the program prints a line
 * "NANOTIME REENTRANT MONITOR MUTEX": the time of System.nanoTime, and the nanoseconds that they
 * waited so far. LOCK: only these of reentrant, monitor and mutex.
 */
public class VirtualLocks {
	static class Guard {}

	static final String[] KINDS = { "reentrant", "monitor", "mutex" };
	static final int[] HOLDS_MS = { 336, 96, 48 };

	/* The locks of a pair, and its waits in ns, with the begin of the one under way; 0: none. */
	static class Pair {
		final ReentrantLock lock = new ReentrantLock();
		final Guard guard = new Guard();
		final Mutex mutex = new Mutex();
		volatile long waited, since;

		void took() {
			waited += System.nanoTime() - since;
			since = 0;
		}
	}

	interface Work {
		void run() throws Exception;
	}

	static void reentrant(Pair w, Pair locks, Work work) throws Exception {
		locks.lock.lock();
		try {
			w.took();
			work.run();
		} finally {
			locks.lock.unlock();
		}
	}

	static void monitor(Pair w, Pair locks, Work work) throws Exception {
		synchronized (locks.guard) {
			w.took();
			work.run();
		}
	}

	static void mutex(Pair w, Pair locks, Work work) throws Exception {
		locks.mutex.acquire(1);
		try {
			w.took();
			work.run();
		} finally {
			locks.mutex.release(1);
		}
	}

	static void use(int kind, Pair w, Pair locks, Work work) throws Exception {
		w.since = System.nanoTime();
		switch (kind) {
		case 0: reentrant(w, locks, work); break;
		case 1: monitor(w, locks, work); break;
		default: mutex(w, locks, work);
		}
	}

	static void hold(int kind, Pair locks) {
		try {
			Thread.sleep(ThreadLocalRandom.current().nextInt(480));
			for (Pair own = new Pair();; Thread.sleep(480 - HOLDS_MS[kind]))
				use(kind, own, locks, () -> Thread.sleep(HOLDS_MS[kind]));
		} catch (Exception e) {
			e.printStackTrace();
		}
	}

	static void work(int kind, Pair w) {
		try {
			for (;; Thread.sleep(ThreadLocalRandom.current().nextInt(1, 9)))
				use(kind, w, w, () -> {});
		} catch (Exception e) {
			e.printStackTrace();
		}
	}

	/* By reflection, because this is compiled for JDK 8. */
	static void startVirtual(String name, Runnable run) throws Exception {
		Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
		Class<?> type = Class.forName("java.lang.Thread$Builder$OfVirtual");
		if (name != null)
			builder = type.getMethod("name", String.class).invoke(builder, name);
		type.getMethod("start", Runnable.class).invoke(builder, run);
	}

	static void startHolder(int kind, int n, Pair locks) throws Exception {
		String name = "holder-" + KINDS[kind] + "-" + n;
		if (kind == 1) {
			startVirtual(name, () -> hold(kind, locks));
			return;
		}
		Thread t = new Thread(() -> hold(kind, locks), name);
		t.setDaemon(true);
		t.start();
	}

	static boolean isWanted(String kind, String[] args) {
		for (int i = 2; i < args.length; i++)
			if (args[i].equals(kind))
				return true;
		return args.length == 2;
	}

	static long waited(Pair[] all) {
		long now = System.nanoTime(), sum = 0;
		for (Pair w : all) {
			long waited = w.waited, since = w.since;
			sum += waited + (since != 0 ? now - since : 0);
		}
		return sum;
	}

	public static void main(String[] args) throws Exception {
		int pairs = Integer.parseInt(args[0]);
		long end = System.nanoTime() + Long.parseLong(args[1]) * 1_000_000_000L;
		Pair[][] waiters = new Pair[KINDS.length][pairs];
		for (int k = 0; k < KINDS.length; k++) {
			int kind = k;
			for (int i = 0; i < pairs; i++) {
				Pair w = waiters[k][i] = new Pair();
				if (!isWanted(KINDS[k], args))
					continue;
				startHolder(k, i, w);
				startVirtual(null, () -> work(kind, w));
			}
		}
		System.out.println("ready");
		while (System.nanoTime() < end) {
			Thread.sleep(100);
			System.out.println(System.nanoTime() + " " + waited(waiters[0]) + " " + waited(waiters[1]) +
					   " " + waited(waiters[2]));
		}
		System.exit(0);
	}
}
