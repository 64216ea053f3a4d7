// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.locks.ReentrantLock;

// Four threads compete for two locks, which are held for a microsecond or so. For every line of standard input
// "ROUNDS" each takes both so often.
public class Contended {
	static final Object monitor = new Object();
	static final ReentrantLock lock = new ReentrantLock();
	static long count;

	static void work() {
		for (int i = 0; i < 300; i++)
			count = count * 31 + i;
	}

	static void compete(int rounds) {
		for (; rounds > 0; rounds--) {
			synchronized (monitor) {
				work();
			}
			lock.lock();
			try {
				work();
			} finally {
				lock.unlock();
			}
		}
	}

	static void all(int rounds) throws InterruptedException {
		Thread[] threads = new Thread[4];
		for (int i = 0; i < threads.length; i++) {
			threads[i] = new Thread(() -> compete(rounds));
			threads[i].start();
		}
		for (Thread t : threads)
			t.join();
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));

		all(100000);
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null;) {
			all(Integer.parseInt(line));
			System.out.println("done");
		}
	}
}
