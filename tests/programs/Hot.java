// SPDX-License-Identifier: Apache-2.0
// Four threads call work() all the time. Prints the exception that ends one of them.
public class Hot {
	static volatile int sink;

	static void work(int i) {
		sink += i;
	}

	// In a class of its own: a class whose method loops is not changed.
	static class Caller {
		static void run() {
			try {
				for (int i = 0;; i++) {
					work(i);
					if (i % 1000 == 0)
						Thread.sleep(1);
				}
			} catch (Throwable e) {
				System.out.println("died of " + e);
			}
		}
	}

	public static void main(String[] args) {
		for (int i = 0; i < 4; i++)
			new Thread(Caller::run).start();
		System.out.println("ready");
	}
}
