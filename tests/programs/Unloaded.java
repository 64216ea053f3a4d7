// SPDX-License-Identifier: Apache-2.0
/*
 * Requests of one route after another, each for -Dms=MS; the class with their ThreadLocal is loaded anew for each route,
 * and the old one is unloaded. In between, other classes are loaded in its place.
 */
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

public class Unloaded {
	/* What is loaded anew. Fields of two shapes: the other class has another String where this one has the route. */
	public static class Request implements Runnable {
		static final ThreadLocal<Request> CURRENT = new ThreadLocal<>();
		static int number;
		final String route = "/routes/" + number;

		public void run() {
			long end = System.nanoTime() + Long.getLong("ms", 7000) * 1000000;
			while (System.nanoTime() < end) {
				CURRENT.set(new Request());
				ThreadLocals.serve(number);
				CURRENT.remove();
			}
		}
	}

	public static class Other {
		static final ThreadLocal<Other> CURRENT = new ThreadLocal<>();
		final String route = "other";
	}

	static class Loader extends ClassLoader {
		@Override
		protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
			if (!name.startsWith("Unloaded$"))
				return super.loadClass(name, resolve);
			try (InputStream in = Unloaded.class.getResourceAsStream(name + ".class")) {
				ByteArrayOutputStream out = new ByteArrayOutputStream();
				for (int c; (c = in.read()) >= 0;)
					out.write(c);
				return defineClass(name, out.toByteArray(), 0, out.size());
			} catch (IOException e) {
				throw new UncheckedIOException(e);
			}
		}
	}

	static Runnable load(String name, int number) throws Exception {
		Class<?> c = new Loader().loadClass(name);
		Object made = c.getDeclaredConstructor().newInstance();
		java.lang.reflect.Field field = name.endsWith("Request") ? c.getDeclaredField("number") : null;
		if (field != null) {
			field.setAccessible(true);
			field.setInt(null, number);
		}
		return made instanceof Runnable ? (Runnable) made : null;
	}

	public static void main(String[] args) throws Exception {
		System.out.println("ready");
		for (int number = 0;; number = (number + 1) % 8) {
			Thread thread = new Thread(load("Unloaded$Request", number));
			thread.start();
			thread.join();
			thread = null;
			System.gc();
			for (int i = 0; i < 20; i++)
				load("Unloaded$Other", 0);
		}
	}
}
