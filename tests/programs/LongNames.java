// SPDX-License-Identifier: Apache-2.0
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.InputStream;
import java.lang.reflect.Constructor;
import java.util.Arrays;

/**
 * Runs a class and a method whose names are as long as a class file allows, in a thread whose name has
 * 100,000 characters, until it is killed. The names end with "-the-end".
 */
public final class LongNames {
	static final int MOST = 65535;

	static String longer(String name) {
		char[] fill = new char[MOST - name.length() - 8];
		Arrays.fill(fill, 'x');
		return name + new String(fill) + "-the-end";
	}

	/** Replaces two names in the class file: a constant holds its own length, and nothing refers to offsets. */
	static byte[] rename(InputStream from) throws Exception {
		DataInputStream in = new DataInputStream(from);
		ByteArrayOutputStream bytes = new ByteArrayOutputStream();
		DataOutputStream out = new DataOutputStream(bytes);
		out.writeLong(in.readLong());
		int nr = in.readUnsignedShort();
		out.writeShort(nr);
		for (int i = 1; i < nr; i++) {
			int tag = in.readUnsignedByte();
			out.writeByte(tag);
			if (tag == 1) {
				String text = in.readUTF();
				out.writeUTF(text.equals("LongName") || text.equals("hot") ? longer(text) : text);
				continue;
			}
			int length = tag == 5 || tag == 6 ? 8 : tag == 7 || tag == 8 || tag == 16 || tag == 19 || tag == 20 ? 2
				: tag == 15 ? 3 : 4;
			for (int k = 0; k < length; k++)
				out.writeByte(in.readByte());
			if (length == 8)
				i++;
		}
		for (int b; (b = in.read()) >= 0;)
			out.writeByte(b);
		return bytes.toByteArray();
	}

	static final class Loader extends ClassLoader {
		Class<?> make(byte[] bytes) {
			return defineClass(null, bytes, 0, bytes.length);
		}
	}

	public static void main(String[] args) throws Exception {
		Class<?> made = new Loader().make(rename(LongNames.class.getResourceAsStream("LongName.class")));
		Constructor<?> constructor = made.getDeclaredConstructor();
		constructor.setAccessible(true);
		Runnable hot = (Runnable) constructor.newInstance();
		char[] name = new char[100_000];
		Arrays.fill(name, 'n');
		Thread t = new Thread(hot, new String(name));
		t.start();
		System.out.println("ready");
		for (;;) {
			Thread.sleep(50);
			Thread brief = new Thread(() -> { }, new String(name));
			brief.start();
			brief.join();
		}
	}
}

class LongName implements Runnable {
	public static volatile long sink;

	public LongName() {}

	static void hot(int rounds) {
		long x = sink;
		for (int i = 0; i < rounds; i++)
			x = x * 6364136223846793005L + 1442695040888963407L ^ x >>> 29;
		sink = x;
	}

	public void run() {
		for (;;)
			hot(10_000);
	}
}
