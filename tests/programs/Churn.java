// SPDX-License-Identifier: Apache-2.0
// Loads, compiles and unloads classes endlessly; their memory is reused.
// Class Ck has the method mk and no other of that form: any other pair is a wrong name.
import java.io.InputStream;
import java.util.function.IntUnaryOperator;

public class Churn {
	static volatile int sink;

	public static class C0 implements IntUnaryOperator {
		static int m0(int x) { return x * 3 + 1; }
		public int applyAsInt(int x) { return m0(x); }
	}
	public static class C1 implements IntUnaryOperator {
		static int unused;
		static int m1(int x) { unused += x; return x ^ unused; }
		public int applyAsInt(int x) { return m1(x) + m1(x + 1); }
	}
	public static class C2 implements IntUnaryOperator {
		static int m2(int x) { return x < 9 ? m2(x + 2) : x; }
		public int applyAsInt(int x) { return m2(x & 7); }
	}
	public static class C3 implements IntUnaryOperator {
		final int[] values = new int[5];
		int m3(int x) { return values[x % 5]++; }
		public int applyAsInt(int x) { return m3(x); }
	}

	static class Loader extends ClassLoader {
		Loader() { super(Churn.class.getClassLoader()); }

		IntUnaryOperator make(int k) throws Exception {
			byte[] bytes = new byte[65536];
			int len = 0;
			try (InputStream in = Churn.class.getResourceAsStream("Churn$C" + k + ".class")) {
				for (int n; (n = in.read(bytes, len, bytes.length - len)) > 0; )
					len += n;
			}
			return (IntUnaryOperator) defineClass("Churn$C" + k, bytes, 0, len)
				.getDeclaredConstructor().newInstance();
		}
	}

	public static void main(String[] args) throws Exception {
		System.out.println("ready");
		for (int round = 0; ; round++) {
			IntUnaryOperator op = new Loader().make(round % 4);
			for (int i = 0; i < 4000; i++)
				sink += op.applyAsInt(i);
			if (round % 97 == 0)
				System.gc();
		}
	}
}
