// SPDX-License-Identifier: Apache-2.0
// Sleeping threads with names of every kind. For each byte of input another thread renames one of
// them, one renames itself, and a new one starts, is busy for some 50 ms and ends.
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.SynchronousQueue;

public class Threads {
	static Thread start(String name, CountDownLatch latch) {
		Thread t = new Thread(() -> {
			latch.countDown();
			try {
				Thread.sleep(3600_000);
			} catch (InterruptedException e) {
				return;
			}
		}, name);
		t.setDaemon(true);
		t.start();
		return t;
	}

	static volatile int random;

	static void beBusy() {
		for (int i = 0; i < 30_000_000; i++)
			random = random * 1103515245 + 12345;
	}

	public static void main(String[] args) throws Exception {
		CountDownLatch latch = new CountDownLatch(5);
		StringBuilder endless = new StringBuilder("endless-");
		for (int i = 0; i < 2000; i++)
			endless.append((char) ('a' + i % 26));
		start("a-name-that-is-longer-than-the-kernel-keeps-0001", latch);
		start("caf\u00e9-bar-\u00fcber", latch);
		start("\u7dda\u7a0b-\ud83d\ude80-\u0001", latch);
		start(endless.toString(), latch);
		Thread renamed = start("renamed-0", latch);
		SynchronousQueue<String> names = new SynchronousQueue<>();
		Thread self = new Thread(() -> {
			try {
				for (;;) {
					Thread.currentThread().setName(names.take());
					names.put("done");
				}
			} catch (InterruptedException e) {
				return;
			}
		}, "self-0-with-a-long-name");
		self.setDaemon(true);
		self.start();
		latch.await();
		if (args.length > 0)
			System.gc();
		System.out.println("ready");
		for (int i = 1; System.in.read() >= 0; i++) {
			renamed.setName("renamed-for-the-" + i + "th-time");
			names.put("self-" + i + "-with-a-long-name");
			names.take();
			Thread brief = new Thread(Threads::beBusy, "a-thread-that-ends-at-once-number-" + i);
			brief.start();
			brief.join();
			System.out.println("renamed");
		}
	}
}
