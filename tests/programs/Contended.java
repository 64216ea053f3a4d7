// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Collections;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;

// Four threads compete for two locks, which are held for about a microsecond. For every line "ROUNDS" of standard
// input each thread takes both that often.
public class Contended {
	static final int THREADS = 4;
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

	// The threads stay alive, because the CPU time of ended threads belongs to no thread any more.
	static void all(ExecutorService threads, int rounds) throws Exception {
		threads.invokeAll(Collections.nCopies(THREADS, Executors.callable(() -> compete(rounds))));
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		ExecutorService threads = Executors.newFixedThreadPool(THREADS);

		all(threads, 100000);
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null;) {
			all(threads, Integer.parseInt(line));
			System.out.println("done");
		}
		threads.shutdown();
	}
}
