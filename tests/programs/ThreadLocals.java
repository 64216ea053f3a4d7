// SPDX-License-Identifier: Apache-2.0
/*
 * Threads of a pool that serve requests of eight routes, about 100 us each. ThreadLocals say which
 * one, and a method of its own for each route shows on the stack: the label of a sample has to fit
 * its method. -Dvirtual=true: on virtual threads; -Dchurn=true: they make garbage.
 */
import java.lang.reflect.Method;
import java.util.concurrent.ThreadFactory;

public class ThreadLocals {
	enum Kind { READ, WRITE }

	static final ThreadLocal<ThreadLocals> CURRENT = new ThreadLocal<>();
	static final ThreadLocal<String> ROUTE = new ThreadLocal<>();
	static final InheritableThreadLocal<Integer> NUMBER = new InheritableThreadLocal<>();
	static final String NOTHING = "";

	final String route;
	final long tenant;
	final Kind kind;
	final ThreadLocals inner;
	static volatile long sum;
	static volatile byte[] garbage;

	ThreadLocals(int number, ThreadLocals inner) {
		route = "/routes/" + number;
		tenant = -1000000000000L - number;
		kind = Kind.values()[number % 2];
		this.inner = inner;
	}

	static void work(long ns) {
		long end = System.nanoTime() + ns, own = 0;
		while (System.nanoTime() < end)
			own = own * 31 + 7;
		sum += own;
	}

	static void route0() { work(200000); }
	static void route1() { work(150000); }
	static void route2() { work(100000); }
	static void route3() { work(100000); }
	static void route4() { work(100000); }
	static void route5() { work(100000); }
	static void route6() { work(50000); }
	static void route7() { work(50000); }

	public static void serve(int number) {
		switch (number) {
		case 0: route0(); break;
		case 1: route1(); break;
		case 2: route2(); break;
		case 3: route3(); break;
		case 4: route4(); break;
		case 5: route5(); break;
		case 6: route6(); break;
		default: route7();
		}
	}

	static void pool(int first, boolean churns) {
		for (int number = first;; number = (number + 3) % 8) {
			CURRENT.set(new ThreadLocals(number, new ThreadLocals(number, null)));
			ROUTE.set("/routes/" + number);
			NUMBER.set(number);
			serve(number);
			CURRENT.remove();
			ROUTE.set(null);
			NUMBER.remove();
			if (churns)
				garbage = new byte[10000 + number];
			if (Thread.interrupted())
				return;
		}
	}

	/* Other ThreadLocals fill the threads' tables. */
	static void fill() {
		for (int i = 0; i < 20; i++)
			ThreadLocal.withInitial(() -> "other").get();
	}

	static Thread start(boolean isVirtual, Runnable run) throws Exception {
		if (!isVirtual) {
			Thread t = new Thread(run);
			t.start();
			return t;
		}
		Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
		return (Thread) start.invoke(null, run);
	}

	public static void main(String[] args) throws Exception {
		boolean isVirtual = Boolean.getBoolean("virtual"), churns = Boolean.getBoolean("churn");
		for (int i = 0; i < 3; i++) {
			int first = i;
			start(isVirtual, () -> {
				fill();
				pool(first, churns);
			});
		}
		System.out.println("ready");
		Thread.sleep(Long.MAX_VALUE);
	}
}
