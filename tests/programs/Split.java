/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Burns one CPU in burn70, burn20 and burn10, which share it as their names say, until it is
 * killed or for the seconds given; prints "ready" once all three are compiled.
 */
public class Split {
	interface Work {
		long run(long rounds);
	}

	static final class Seventy implements Work {
		public long run(long rounds) {
			return burn70(rounds * 7);
		}
	}

	static final class Twenty implements Work {
		public long run(long rounds) {
			return burn20(rounds * 2);
		}
	}

	static final class Ten implements Work {
		public long run(long rounds) {
			return burn10(rounds);
		}
	}

	static long burn70(long rounds) {
		long x = rounds;
		for (long i = 0; i < rounds; i++)
			x = x * 6364136223846793005L + 1442695040888963407L ^ x >>> 17;
		return x;
	}

	static long burn20(long rounds) {
		long x = ~rounds;
		for (long i = 0; i < rounds; i++)
			x = x * 6364136223846793005L + 1442695040888963407L ^ x >>> 17;
		return x;
	}

	static long burn10(long rounds) {
		long x = rounds + 1;
		for (long i = 0; i < rounds; i++)
			x = x * 6364136223846793005L + 1442695040888963407L ^ x >>> 17;
		return x;
	}

	static volatile long sink;

	public static void main(String[] args) {
		Work[] all = { new Seventy(), new Twenty(), new Ten() };
		long end = args.length > 0 ? System.nanoTime() + Long.parseLong(args[0]) * 1000000000L
			: Long.MAX_VALUE;

		for (int i = 0; i < 20000; i++)
			for (Work w : all)
				sink += w.run(100);
		System.out.println("ready");
		while (System.nanoTime() < end)
			for (Work w : all)
				sink += w.run(100000);
	}
}
