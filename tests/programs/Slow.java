// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;

// Methods that are slow at times. A line "N METHOD" of standard input calls the method N times, "N virtual" calls order()
// in N virtual threads. Each line "METHOD LEAST MOST LEAST_NS MOST_NS" gives the bounds of its calls that lasted 50 ms or
// more, and of their durations: measured in the method around its sleep, and by the caller around the call.
public class Slow {
	static final long MIN_NS = 50_000_000;

	static final class Sums {
		long least, most, leastNs, mostNs;

		synchronized void add(int calls, long insideNs, long outsideNs) {
			if (insideNs >= MIN_NS) {
				least += calls;
				leastNs += calls * insideNs;
			}
			if (outsideNs >= MIN_NS) {
				most += calls;
				mostNs += calls * outsideNs;
			}
		}
	}

	static final ThreadLocal<Long> slept = new ThreadLocal<>();

	static void sleep(long ms) {
		long begin = System.nanoTime();
		try {
			Thread.sleep(ms);
		} catch (InterruptedException e) {
			throw new RuntimeException(e);
		}
		slept.set(System.nanoTime() - begin);
	}

	// Every tenth call is slow.
	static int order(int n) {
		if (n % 10 == 9)
			sleep(80);
		else
			sleep(5);
		return n;
	}

	static void failing(int n) {
		sleep(60);
		if (n >= 0)
			throw new IllegalStateException();
	}

	static synchronized String caught(int n) {
		try {
			failing(n);
			return "never";
		} catch (IllegalStateException e) {
			return "caught";
		} finally {
			n++;
		}
	}

	static int recurse(int n) {
		if (n == 0) {
			sleep(60);
			return 0;
		}
		return 1 + recurse(n - 1);
	}

	static final class Built {
		final long made;

		Built(int n) {
			sleep(60);
			if (n < 0)
				throw new IllegalStateException();
			made = System.nanoTime();
		}
	}

	static final class Name {
		final String text;

		Name(int n) {
			this(n, n % 2 == 0 ? "even" : "odd");
		}

		private Name(int n, String text) {
			sleep(60);
			this.text = text;
		}
	}

	// The caller of a method, and how many calls one of this caller makes.
	static int call(String method, int n) {
		switch (method) {
		case "order": return order(n) == n ? 1 : 0;
		case "caught": return caught(n).equals("caught") ? 1 : 0;
		case "recurse": return recurse(4) + 1;
		case "built": return new Built(n).made != 0 ? 1 : 0;
		case "named": return new Name(n).text != null ? 2 : 0;
		default:
			try {
				failing(n);
				return 0;
			} catch (IllegalStateException e) {
				return 1;
			}
		}
	}

	static void measure(String method, int n, Sums sums) {
		slept.set(0L);
		long begin = System.nanoTime();
		int calls = call(method, n);
		sums.add(calls, slept.get(), System.nanoTime() - begin);
	}

	// A constructor that fails is no sample.
	static void fail(int n) {
		try {
			new Built(-1);
		} catch (IllegalStateException e) {
			return;
		}
	}

	static void inVirtualThreads(int nr, Sums sums) throws Exception {
		CountDownLatch ended = new CountDownLatch(nr);

		for (int i = 0; i < nr; i++) {
			int n = 10 * i + 9;
			Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) () -> {
				measure("order", n, sums);
				ended.countDown();
			});
		}
		ended.await();
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));

		call("built", 1);
		call("named", 1);
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null;) {
			String[] words = line.split(" ");
			int nr = Integer.parseInt(words[0]);
			Sums sums = new Sums();
			if (words[1].equals("virtual"))
				inVirtualThreads(nr, sums);
			for (int i = 0; i < nr && !words[1].equals("virtual"); i++)
				if (words[1].equals("fail"))
					fail(i);
				else
					measure(words[1], i, sums);
			System.out.println(words[1] + " " + sums.least + " " + sums.most + " " + sums.leastNs + " " + sums.mostNs);
		}
	}
}
