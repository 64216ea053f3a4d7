// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.locks.ReentrantLock;

// One thread waits for a monitor and one for a lock. Lines of standard input: "wait" starts the waits, "release" ends
// them, "gc" collects garbage.
public class Held {
	static final class Guarded {
	}

	static final Object monitor = new Guarded();
	static final ReentrantLock lock = new ReentrantLock();
	static BufferedReader in;

	static void enter() {
		synchronized (monitor) {
		}
	}

	static void lock() {
		lock.lock();
		lock.unlock();
	}

	static void hold() throws Exception {
		Thread enters = new Thread(Held::enter), locks = new Thread(Held::lock);

		lock.lock();
		synchronized (monitor) {
			enters.start();
			locks.start();
			while (in.readLine().equals("gc"))
				System.gc();
		}
		lock.unlock();
		enters.join();
		locks.join();
	}

	public static void main(String[] args) throws Exception {
		in = new BufferedReader(new InputStreamReader(System.in));
		System.out.println("ready");
		while (in.readLine() != null) {
			hold();
			System.out.println("done");
		}
	}
}
