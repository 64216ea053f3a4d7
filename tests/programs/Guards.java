// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.SynchronousQueue;

// Waits for monitors of many classes. For every line "CLASSES" of standard input it makes that many classes, whose
// names begin with "Guards$Guard". One thread waits for a monitor of each while another holds it for 2 ms.
public class Guards {
	public static class Guard00000 {
	}

	static final byte[] TEMPLATE = read("Guards$Guard00000.class");
	static int nr_classes;

	static byte[] read(String name) {
		try (InputStream in = Guards.class.getResourceAsStream(name)) {
			ByteArrayOutputStream out = new ByteArrayOutputStream();
			for (int b; (b = in.read()) >= 0;)
				out.write(b);
			return out.toByteArray();
		} catch (java.io.IOException e) {
			throw new RuntimeException(e);
		}
	}

	static final class Loader extends ClassLoader {
		Loader() {
			super(Guards.class.getClassLoader());
		}

		// The template's name, with another number of as many digits.
		Object make(int number) throws Exception {
			String text = new String(TEMPLATE, StandardCharsets.ISO_8859_1);
			byte[] bytes = text.replace("Guard00000", String.format("Guard%05d", number))
					       .getBytes(StandardCharsets.ISO_8859_1);
			return defineClass(null, bytes, 0, bytes.length).getDeclaredConstructor().newInstance();
		}
	}

	static void contend(SynchronousQueue<Object> held) {
		for (;;) {
			try {
				Object guard = held.take();
				synchronized (guard) {
					guard.notify();
				}
			} catch (InterruptedException e) {
				return;
			}
		}
	}

	static void hold(Object guard, SynchronousQueue<Object> held, Thread other) throws Exception {
		synchronized (guard) {
			held.put(guard);
			while (other.getState() != Thread.State.BLOCKED)
				Thread.sleep(1);
			long end = System.nanoTime() + 2_000_000;
			while (System.nanoTime() < end)
				Thread.sleep(1);
		}
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		SynchronousQueue<Object> held = new SynchronousQueue<>();
		Thread other = new Thread(() -> contend(held));
		Loader loader = new Loader();

		other.setDaemon(true);
		other.start();
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null;) {
			for (int i = Integer.parseInt(line); i > 0; i--)
				hold(loader.make(++nr_classes), held, other);
			System.out.println("done");
		}
	}
}
