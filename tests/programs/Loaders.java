// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.function.IntUnaryOperator;

// 100 class loaders, or as many as the argument says, have a class Step each. Every line of standard input calls each class's method 7 times.
public class Loaders {
	public static final class Step implements IntUnaryOperator {
		@Override
		public int applyAsInt(int n) {
			return n * 31 + 7;
		}
	}

	static final class Loader extends ClassLoader {
		Class<?> define(byte[] file) {
			return defineClass("Loaders$Step", file, 0, file.length);
		}
	}

	static byte[] read_class() throws IOException {
		ByteArrayOutputStream out = new ByteArrayOutputStream();

		try (InputStream in = Loaders.class.getResourceAsStream("Loaders$Step.class")) {
			for (int b; (b = in.read()) >= 0;)
				out.write(b);
		}
		return out.toByteArray();
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		int nr = args.length > 0 ? Integer.parseInt(args[0]) : 100;
		IntUnaryOperator[] steps = new IntUnaryOperator[nr];
		byte[] file = read_class();

		for (int i = 0; i < nr; i++)
			steps[i] = (IntUnaryOperator)new Loader().define(file).getDeclaredConstructor().newInstance();
		System.out.println("ready");
		for (int n = 1; in.readLine() != null; System.out.println("done " + n))
			for (int i = 0; i < 7 * nr; i++)
				n = steps[i % nr].applyAsInt(n);
	}
}
