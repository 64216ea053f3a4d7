// SPDX-License-Identifier: Apache-2.0
// Loads and unloads classes with names of their own endlessly: class T00000000, T00000001, .. has the
// method m. Every fifth is also defined as a hidden class where the JDK can do that.
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.function.IntUnaryOperator;

public class Hides {
	static volatile int sink;

	static class Loader extends ClassLoader {
		Loader() { super(Hides.class.getClassLoader()); }

		Class<?> define(byte[] bytes) { return defineClass(null, bytes, 0, bytes.length); }
	}

	static byte[] read() throws Exception {
		byte[] bytes = new byte[65536];
		int len = 0;
		try (InputStream in = Hides.class.getResourceAsStream("T00000000.class")) {
			for (int n; (n = in.read(bytes, len, bytes.length - len)) > 0; )
				len += n;
		}
		return java.util.Arrays.copyOf(bytes, len);
	}

	// The names have the same length, so that the class file stays valid.
	static byte[] rename(byte[] template, int nr) {
		byte[] out = template.clone(), from = "T00000000".getBytes(StandardCharsets.US_ASCII),
			to = String.format("T%08d", nr).getBytes(StandardCharsets.US_ASCII);
		for (int i = 0; i + from.length <= out.length; i++) {
			int k = 0;
			while (k < from.length && out[i + k] == from[k])
				k++;
			if (k == from.length)
				System.arraycopy(to, 0, out, i, to.length);
		}
		return out;
	}

	static Class<?> hide(byte[] bytes) {
		try {
			for (Method m : MethodHandles.Lookup.class.getMethods())
				if (m.getName().equals("defineHiddenClass"))
					return ((MethodHandles.Lookup) m.invoke(MethodHandles.lookup(), bytes, false,
						java.lang.reflect.Array.newInstance(m.getParameterTypes()[2]
							.getComponentType(), 0))).lookupClass();
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
		return null;
	}

	static void use(Class<?> c) throws Exception {
		Constructor<?> make = c.getDeclaredConstructor();
		make.setAccessible(true);
		IntUnaryOperator op = (IntUnaryOperator) make.newInstance();
		for (int i = 0; i < 4000; i++)
			sink += op.applyAsInt(i);
	}

	public static void main(String[] args) throws Exception {
		byte[] template = read();
		int pause = args.length > 0 ? Integer.parseInt(args[0]) : 0;
		System.out.println("ready");
		for (int round = 1; ; round = round % 99999999 + 1) {
			byte[] bytes = rename(template, round);
			use(new Loader().define(bytes));
			Class<?> hidden = round % 5 == 0 ? hide(bytes) : null;
			if (hidden != null)
				use(hidden);
			if (round % 97 == 0)
				System.gc();
			if (pause > 0)
				Thread.sleep(pause);
		}
	}
}

class T00000000 implements IntUnaryOperator {
	T00000000() { }
	int n;

	int m(int x) {
		for (int i = 0; i < 20; i++)
			n += x ^ i;
		return n;
	}

	public int applyAsInt(int x) { return m(x); }
}
