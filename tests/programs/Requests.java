/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.*;

/*
 * java Requests LIBRARY platform|virtual: threads that serve four routes by turns, for 100 us each, and publish each
 * request by requests_jni.c. Virtual threads change carriers between requests. Prints a line once it has published.
 */
public class Requests {
	static volatile long sink;

	static native void publish();
	static native void begin(int route, long number);
	static native void end();

	static void hold() {
		for (long end = System.nanoTime() + 100_000; System.nanoTime() < end;)
			sink++;
	}

	static void route_0() { hold(); sink++; }
	static void route_1() { hold(); sink++; }
	static void route_2() { hold(); sink++; }
	static void route_3() { hold(); sink++; }

	static void serve(int route) {
		switch (route) {
		case 0: route_0(); break;
		case 1: route_1(); break;
		case 2: route_2(); break;
		default: route_3();
		}
	}

	static void serveAll(boolean yields) {
		for (long number = 1;; number++) {
			int route = ThreadLocalRandom.current().nextInt(4);
			begin(route, number);
			serve(route);
			end();
			if (yields)
				Thread.yield();
		}
	}

	public static void main(String[] args) throws Exception {
		boolean isVirtual = args[1].equals("virtual");
		System.load(args[0]);
		publish();
		ExecutorService pool = isVirtual
			? (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null)
			: Executors.newCachedThreadPool();
		for (int i = 0; i < 8; i++)
			pool.submit(() -> serveAll(isVirtual));
		System.out.println("published");
		Thread.sleep(1_000_000);
	}
}
