// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.locks.LockSupport;

// Twenty pairs of threads take turns with one monitor per pair, held for 5 ms: one thread of a pair waits nearly all
// the time.
public class Queue {
	static void take(Object monitor) {
		for (;;) {
			synchronized (monitor) {
				LockSupport.parkNanos(5_000_000);
			}
			LockSupport.parkNanos(500_000); // or it takes the monitor again before the other one wakes up
		}
	}

	public static void main(String[] args) {
		for (int i = 0; i < 20; i++) {
			Object monitor = new Object();
			new Thread(() -> take(monitor)).start();
			new Thread(() -> take(monitor)).start();
		}
		System.out.println("ready");
	}
}
