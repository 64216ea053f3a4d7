// SPDX-License-Identifier: Apache-2.0
/** Spends 70, 20 and 10 percent of its time in three methods; runs until it is killed. */
public final class Split {
	private static volatile long sink;

	private static long work(long seed, int rounds) {
		long x = seed;
		for (int i = 0; i < rounds; i++)
			x = x * 6364136223846793005L + 1442695040888963407L ^ x >>> 29;
		return x;
	}

	private static void seventy() {
		sink += work(sink, 700_000);
	}

	private static void twenty() {
		sink += work(sink, 200_000);
	}

	private static void ten() {
		sink += work(sink, 100_000);
	}

	public static void main(String[] args) {
		System.out.println("ready");
		for (;;) {
			seventy();
			twenty();
			ten();
		}
	}
}
