// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.locks.ReentrantLock;

// Two threads that wait for each other's monitor forever, and two for each other's lock.
public class Deadlock {
	static final CyclicBarrier all = new CyclicBarrier(5);

	static void meet() {
		try {
			all.await();
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}

	static void monitors(Object first, Object second) {
		synchronized (first) {
			meet();
			synchronized (second) {
			}
		}
	}

	static void locks(ReentrantLock first, ReentrantLock second) {
		first.lock();
		meet();
		second.lock();
	}

	public static void main(String[] args) {
		Object a = new Object(), b = new Object();
		ReentrantLock c = new ReentrantLock(), d = new ReentrantLock();
		new Thread(() -> monitors(a, b)).start();
		new Thread(() -> monitors(b, a)).start();
		new Thread(() -> locks(c, d)).start();
		new Thread(() -> locks(d, c)).start();
		meet();
		System.out.println("ready");
	}
}
