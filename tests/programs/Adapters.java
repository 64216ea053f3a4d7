// SPDX-License-Identifier: Apache-2.0

// Calls between interpreted and compiled methods, with few and many arguments, and type checks that C1 leaves to a
// stub. The methods named interpreted... must be excluded from compilation.
public class Adapters {
	interface A {
	}

	interface B {
	}

	interface C {
	}

	static class First implements A, B, C {
		int interpretedVirtual(int a) {
			return a + 1;
		}

		int compiledVirtual(int a) {
			return a + 2;
		}
	}

	static class Second extends First {
		int interpretedVirtual(int a) {
			return a + 3;
		}

		int compiledVirtual(int a) {
			return a + 4;
		}
	}

	static class Third extends First {
		int interpretedVirtual(int a) {
			return a + 5;
		}

		int compiledVirtual(int a) {
			return a + 6;
		}
	}

	static final First[] objects = { new First(), new Second(), new Third() };
	static final Object[][] arrays = { new A[2], new B[2], new C[2] };
	static int n;

	static int interpretedNone() {
		return n + 1;
	}

	static int interpretedFew(int a, long b, Object c) {
		return a + (int) b;
	}

	static int interpretedMany(int a, long b, Object c, double d, float e, int f, int g, long h, int i, int j, int k,
							   int l) {
		return compiledMany(l, h, c, d, e, k, j, b, i, g, f, a);
	}

	static int compiledNone() {
		return n + 2;
	}

	static int compiledFew(int a, long b, Object c) {
		return a ^ (int) b;
	}

	static int compiledMany(int a, long b, Object c, double d, float e, int f, int g, long h, int i, int j, int k,
							int l) {
		return a + (int) b + (int) d + f + g + i + j + k + l;
	}

	static void interpretedCalls(int x) {
		n += compiledNone() + compiledFew(x, x, "c") + compiledMany(x, 1, "", 2., 3f, 4, 5, 6, 7, 8, 9, 10);
		First p = objects[(x & 0xffff) % 3];
		n += p.compiledVirtual(x) + p.interpretedVirtual(x);
	}

	static void compiledCalls(int x) {
		n += interpretedNone() + interpretedFew(x, x, "c") + interpretedMany(x, 1, "", 2., 3f, 4, 5, 6, 7, 8, 9, 10);
		n += objects[(x & 0xffff) % 3].interpretedVirtual(x);
		interpretedCalls(x);
		interpretedCalls(x + 1);
	}

	static void check(Object o) {
		if (o instanceof A)
			n++;
		if (o instanceof Comparable)
			n++;
		if (o instanceof C)
			n++;
	}

	static void checks(int x) {
		Object o = objects[x % 3];
		check(o);
		arrays[x % 3][x & 1] = o;
		n += ((C) o).hashCode();
	}

	static void calls() {
		for (int i = 0; i < 10_000; i++)
			compiledCalls(i);
	}

	static void types() {
		for (int i = 0; i < 10_000; i++)
			checks(i);
	}

	static void repeat(Runnable r, String name) {
		Thread t = new Thread(() -> {
			for (;;)
				r.run();
		}, name);
		t.setDaemon(true);
		t.start();
	}

	public static void main(String[] args) throws Exception {
		for (int i = 0; i < 20; i++) {
			calls();
			types();
		}
		repeat(Adapters::calls, "calls");
		repeat(Adapters::types, "types");
		System.out.println("ready");
		Thread.sleep(1_000_000);
	}
}
