/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Does small units of work of one kind on all CPUs, and counts them. For each line of its input it
 * prints the number of units so far, and its CPU time in ns. usage: Work KIND
 */
public class Work {
	interface Unit {
		long run(long seed) throws Exception;
	}

	static final int STRIDE = 16; // counters in cache lines of their own
	static final ReentrantLock LOCK = new ReentrantLock();
	static long sum;

	static long mix(long x) {
		for (int i = 0; i < 40; i++) {
			x = x * 6364136223846793005L + 1442695040888963407L;
			x ^= x >>> 29;
		}
		return x;
	}

	static long recurse(int depth, long x) {
		return depth == 0 ? mix(x) : recurse(depth - 1, x + depth) + 1;
	}

	/** 200 frames that stay for many units, as in a parser of deeply nested input. */
	static long deep(int depth, long x) {
		if (depth > 0)
			return deep(depth - 1, x + depth) + 1;
		for (int i = 0; i < 200; i++)
			x = mix(x);
		return x;
	}

	static long inlined(long x) {
		return a(x) + a(x + 1);
	}

	static long a(long x) {
		return b(x) ^ b(x + 3);
	}

	static long b(long x) {
		return c(x) + c(x * 5);
	}

	static long c(long x) {
		return mix(x) - (x >> 3);
	}

	static long ordinary(long x) {
		TreeMap<String, Integer> words = new TreeMap<>();
		for (int i = 0; i < 20; i++)
			words.merge("word" + (mix(x + i) & 15), 1, Integer::sum);
		StringBuilder text = new StringBuilder();
		words.forEach((word, nr) -> text.append(word).append('=').append(nr).append(','));
		long hash = 0;
		for (String part : text.toString().split(","))
			hash = hash * 31 + part.hashCode();
		return hash;
	}

	static long allocate(long x) {
		List<long[]> kept = new ArrayList<>();
		for (int i = 0; i < 50; i++)
			kept.add(new long[(int) (mix(x + i) & 63) + 1]);
		return kept.size();
	}

	static long locked(long x) {
		LOCK.lock();
		try {
			sum += mix(x);
		} finally {
			LOCK.unlock();
		}
		return mix(mix(x));
	}

	public static class Fresh {
		public static long run(long x) {
			long y = x;
			for (int i = 0; i < 100; i++)
				y = y * 31 + (y >>> 7);
			return y;
		}
	}

	static final class Loader extends ClassLoader {
		Class<?> define(byte[] bytes) {
			return defineClass("Work$Fresh", bytes, 0, bytes.length);
		}
	}

	static Unit classes() throws Exception {
		byte[] bytes = Work.class.getResourceAsStream("Work$Fresh.class").readAllBytes();
		return x -> (Long) new Loader().define(bytes).getMethod("run", long.class).invoke(null, x);
	}

	static Unit calls() throws Exception {
		FileOutputStream out = new FileOutputStream("/dev/null");
		byte[] bytes = new byte[512];
		return x -> {
			out.write(bytes);
			return mix(x);
		};
	}

	static Unit unit(String kind) throws Exception {
		switch (kind) {
		case "recursion": return x -> deep(200, x);
		case "threads": return x -> recurse(30, x);
		case "inlined": return Work::inlined;
		case "ordinary": return Work::ordinary;
		case "allocation": return Work::allocate;
		case "locks": return Work::locked;
		case "classes": return classes();
		case "calls": return calls();
		default: throw new IllegalArgumentException(kind);
		}
	}

	public static void main(String[] args) throws Exception {
		int nr = args[0].equals("threads") ? 64 : Runtime.getRuntime().availableProcessors();
		AtomicLongArray done = new AtomicLongArray(nr * STRIDE);
		Unit unit = unit(args[0]);
		for (int i = 0; i < nr; i++) {
			int mine = i * STRIDE;
			Thread t = new Thread(() -> {
				try {
					for (long n = 1, x = mine;; n++) {
						x = unit.run(x);
						done.lazySet(mine, n);
					}
				} catch (Exception e) {
					e.printStackTrace();
					System.exit(1);
				}
			});
			t.setDaemon(true);
			t.start();
		}
		var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		while (in.readLine() != null) {
			long all = 0;
			for (int i = 0; i < nr; i++)
				all += done.get(i * STRIDE);
			System.out.println(all + " " + system.getProcessCpuTime());
		}
	}
}
