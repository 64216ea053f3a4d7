// SPDX-License-Identifier: Apache-2.0
import java.io.File;

// At the bottom of a recursion of 200 frames, a loop calls three small methods that are inlined into it; divide() is
// the most expensive. Starts when the file given as argument exists.
public class Inlined {
	static final int DEPTH = 200;
	static final int[] data = new int[4096];
	static long sum;

	static long mix(long x) {
		x ^= x << 13;
		x ^= x >>> 7;
		return x ^ x << 17;
	}

	static long divide(long x, int i) {
		return x / (i | 1);
	}

	static long load(long x, int i) {
		return x + data[(int) (x ^ i) & 4095];
	}

	static long step(long x, int i) {
		return load(divide(mix(x), i), i);
	}

	static long bottom(long x) {
		for (int i = 0; i < 1000; i++)
			x = step(x + 1, i);
		return x;
	}

	static long descend(int depth, long x) {
		if (depth == 0)
			return bottom(x);
		return mix(descend(depth - 1, x + depth)) + depth;
	}

	public static void main(String[] args) throws Exception {
		System.out.println("ready");
		while (!new File(args[0]).exists())
			Thread.sleep(10);
		for (;;)
			sum += descend(DEPTH, sum);
	}
}
