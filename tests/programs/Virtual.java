/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual threads (JDK 21 and later) whose stacks are moved all the time. Each argument starts some:
 *   yield  yields at the end of a short stack
 *   park   parks for a moment
 *   deep   yields below 400 calls: each return thaws a frame or two
 *   args   the same, with arguments that are passed on the stack
 *   lock   waits for a monitor that another thread holds
 *   hand   passes things to another thread
 *   sleep  sleeps for an hour
 *   pin    yields in a class initializer, which cannot be moved
 *   serve  parks and works three times below 41 calls of request
 * Prints "ready" once all have started.
 */
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.LockSupport;

public class Virtual {
	static volatile long sink;
	static final Object monitor = new Object();
	static final SynchronousQueue<Integer> queue = new SynchronousQueue<>();

	static int fib(int n) {
		return n < 2 ? n : fib(n - 1) + fib(n - 2);
	}

	static void work() {
		sink += fib(12);
	}

	static long deep(int n) {
		if (n == 0) {
			work();
			Thread.yield();
			return sink;
		}
		return deep(n - 1) + n;
	}

	static long args(int n, long a, long b, long c, long d, long e, long f, long g, long h) {
		if (n == 0) {
			work();
			Thread.yield();
			return sink + a + b + c + d;
		}
		return args(n - 1, b, c, d, e, f, g, h, a) + e + f + g + h;
	}

	static void lock() {
		synchronized (monitor) {
			work();
		}
		Thread.yield();
	}

	static void hand(boolean gives) {
		try {
			if (gives)
				queue.put(1);
			else
				queue.take();
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
		work();
	}

	static void park() {
		work();
		LockSupport.parkNanos(20_000);
	}

	static void sleep() {
		LockSupport.parkNanos(3600_000_000_000L);
	}

	static void serve() {
		LockSupport.parkNanos(1_000_000);
		for (int i = 0; i < 200; i++)
			work();
	}

	static long request(int n) {
		if (n > 0)
			return request(n - 1) + n;
		for (int i = 0; i < 3; i++)
			serve();
		return sink;
	}

	static void yield_() {
		work();
		Thread.yield();
	}

	static class Pinned {
		static {
			repeat(() -> deep(20));
		}
		static void touch() {}
	}

	static void repeat(Runnable what) {
		for (long i = 0; i >= 0; i++)
			what.run();
	}

	static void start(int nr, Runnable what) throws Exception {
		for (int i = 0; i < nr; i++)
			Thread.class.getMethod("startVirtualThread", Runnable.class)
				.invoke(null, (Runnable)() -> repeat(what));
	}

	public static void main(String[] modes) throws Exception {
		for (String mode : modes)
			switch (mode) {
			case "yield": start(5, Virtual::yield_); break;
			case "park": start(5, Virtual::park); break;
			case "deep": start(3, () -> sink += deep(400)); break;
			case "args": start(3, () -> sink += args(100, 1, 2, 3, 4, 5, 6, 7, 8)); break;
			case "lock": start(5, Virtual::lock); break;
			case "hand": start(1, () -> hand(true)); start(1, () -> hand(false)); break;
			case "sleep": start(7, Virtual::sleep); break;
			case "serve": start(16, () -> sink += request(40)); break;
			case "pin": start(1, Pinned::touch); break;
			default: throw new IllegalArgumentException(mode);
			}
		System.out.println("ready");
		Thread.sleep(3600_000);
	}
}
