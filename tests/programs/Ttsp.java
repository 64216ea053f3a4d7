// SPDX-License-Identifier: Apache-2.0
/**
 * Requests a safepoint all the time while one thread counts without a poll. Run it with
 * -XX:-UseCountedLoopSafepoints -XX:+UseSerialGC. Runs until it is killed.
 */
public final class Ttsp {
	private static volatile long sink;

	private static long countWithoutPoll(long x) {
		for (int i = 0; i < 20_000_000; i++)
			x = x * 6364136223846793005L + 1442695040888963407L ^ x >>> 29;
		return x;
	}

	private static long polls(long x) {
		for (int i = 0; i < 1000; i++)
			x += Long.bitCount(x + i);
		return x;
	}

	public static void main(String[] args) throws Exception {
		Thread counter = new Thread(() -> {
			for (;;)
				sink = countWithoutPoll(sink);
		});
		Thread poller = new Thread(() -> {
			for (;;)
				sink = polls(sink);
		});
		counter.start();
		poller.start();
		System.out.println("ready");
		for (;;) {
			System.gc();
			Thread.sleep(3);
		}
	}
}
