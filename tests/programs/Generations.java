// SPDX-License-Identifier: Apache-2.0
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Compiles and unloads code and reuses its memory. Every 20 ms there is a new class Gen000001,
 * Gen000002, ... whose methods call each other until they are compiled. Every 25 classes a collection
 * unloads them. While a class is made or runs, its thread has the class's name: the truth of each sample.
 * usage: Generations [NUMBER-OF-CLASSES [keep]]; sleeps after that many. With `keep` all classes stay,
 * and each runs only until its methods are compiled.
 */
public final class Generations {
	private static final String TEMPLATE = "Gen000000";

	private static final class Loader extends ClassLoader {
		Loader() {
			super(Generations.class.getClassLoader());
		}

		Runnable make(byte[] template, int number) throws Exception {
			String name = String.format("Gen%06d", number);
			byte[] from = TEMPLATE.getBytes(StandardCharsets.US_ASCII);
			byte[] to = name.getBytes(StandardCharsets.US_ASCII);
			byte[] bytes = template.clone();
			for (int i = 0; i + from.length <= bytes.length; i++) {
				int k = 0;
				while (k < from.length && bytes[i + k] == from[k])
					k++;
				if (k == from.length)
					System.arraycopy(to, 0, bytes, i, to.length);
			}
			Class<?> made = defineClass(name, bytes, 0, bytes.length);
			java.lang.reflect.Constructor<?> constructor = made.getDeclaredConstructor();
			constructor.setAccessible(true);
			return (Runnable) constructor.newInstance();
		}
	}

	private static byte[] read(String resource) throws IOException {
		try (InputStream in = Generations.class.getResourceAsStream(resource)) {
			ByteArrayOutputStream out = new ByteArrayOutputStream();
			byte[] buffer = new byte[4096];
			for (int n; (n = in.read(buffer)) > 0;)
				out.write(buffer, 0, n);
			return out.toByteArray();
		}
	}

	public static void main(String[] args) throws Exception {
		// The kernel does not get the name of the first thread.
		Thread t = new Thread(() -> {
			try {
				generate(args);
			} catch (Exception e) {
				throw new RuntimeException(e);
			}
		}, "generations");
		t.start();
		t.join();
	}

	private static void generate(String[] args) throws Exception {
		byte[] template = read(TEMPLATE + ".class");
		int most = args.length > 0 ? Integer.parseInt(args[0]) : Integer.MAX_VALUE;
		boolean keep = args.length > 1;
		List<Runnable> kept = new ArrayList<>();

		if (!keep)
			System.out.println("ready");
		for (int number = 1; number <= most; number++) {
			Thread.currentThread().setName(String.format("Gen%06d", number));
			Runnable made = new Loader().make(template, number);
			long end = System.nanoTime() + 20_000_000;
			if (keep)
				kept.add(made);
			for (int i = 0; keep ? i < 3 : System.nanoTime() < end; i++)
				made.run();
			if (number % 25 == 0 && !keep)
				System.gc();
		}
		System.out.println(keep ? "ready" : "done");
		Thread.sleep(3600_000);
		System.out.println(kept.size());
	}
}

/** 60 methods; the name is replaced in the bytes of the class file. */
class Gen000000 implements Runnable {
	static long x = 1;

	public Gen000000() {}

	public void run() {
		for (int i = 0; i < 400; i++) {
			a0(i);
			b0(i);
			c0(i);
			d0(i);
			e0(i);
			f0(i);
		}
	}

	static void step(int i) { for (int k = 0; k < 9; k++) x = x * 6364136223846793005L + (i ^ x >>> 29); }

	static void a0(int i) { step(i); a1(i); }
	static void a1(int i) { step(i); a2(i); }
	static void a2(int i) { step(i); a3(i); }
	static void a3(int i) { step(i); a4(i); }
	static void a4(int i) { step(i); a5(i); }
	static void a5(int i) { step(i); a6(i); }
	static void a6(int i) { step(i); a7(i); }
	static void a7(int i) { step(i); a8(i); }
	static void a8(int i) { step(i); a9(i); }
	static void a9(int i) { step(i); }

	static void b0(int i) { step(i); b1(i); }
	static void b1(int i) { step(i); b2(i); }
	static void b2(int i) { step(i); b3(i); }
	static void b3(int i) { step(i); b4(i); }
	static void b4(int i) { step(i); b5(i); }
	static void b5(int i) { step(i); b6(i); }
	static void b6(int i) { step(i); b7(i); }
	static void b7(int i) { step(i); b8(i); }
	static void b8(int i) { step(i); b9(i); }
	static void b9(int i) { step(i); }

	static void c0(int i) { step(i); c1(i); }
	static void c1(int i) { step(i); c2(i); }
	static void c2(int i) { step(i); c3(i); }
	static void c3(int i) { step(i); c4(i); }
	static void c4(int i) { step(i); c5(i); }
	static void c5(int i) { step(i); c6(i); }
	static void c6(int i) { step(i); c7(i); }
	static void c7(int i) { step(i); c8(i); }
	static void c8(int i) { step(i); c9(i); }
	static void c9(int i) { step(i); }

	static void d0(int i) { step(i); d1(i); }
	static void d1(int i) { step(i); d2(i); }
	static void d2(int i) { step(i); d3(i); }
	static void d3(int i) { step(i); d4(i); }
	static void d4(int i) { step(i); d5(i); }
	static void d5(int i) { step(i); d6(i); }
	static void d6(int i) { step(i); d7(i); }
	static void d7(int i) { step(i); d8(i); }
	static void d8(int i) { step(i); d9(i); }
	static void d9(int i) { step(i); }

	static void e0(int i) { step(i); e1(i); }
	static void e1(int i) { step(i); e2(i); }
	static void e2(int i) { step(i); e3(i); }
	static void e3(int i) { step(i); e4(i); }
	static void e4(int i) { step(i); e5(i); }
	static void e5(int i) { step(i); e6(i); }
	static void e6(int i) { step(i); e7(i); }
	static void e7(int i) { step(i); e8(i); }
	static void e8(int i) { step(i); e9(i); }
	static void e9(int i) { step(i); }

	static void f0(int i) { step(i); f1(i); }
	static void f1(int i) { step(i); f2(i); }
	static void f2(int i) { step(i); f3(i); }
	static void f3(int i) { step(i); f4(i); }
	static void f4(int i) { step(i); f5(i); }
	static void f5(int i) { step(i); f6(i); }
	static void f6(int i) { step(i); f7(i); }
	static void f7(int i) { step(i); f8(i); }
	static void f8(int i) { step(i); f9(i); }
	static void f9(int i) { step(i); }
}
