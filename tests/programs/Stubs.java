// SPDX-License-Identifier: Apache-2.0
import java.math.BigInteger;
import java.security.MessageDigest;
import java.util.Random;
import java.util.zip.Adler32;
import java.util.zip.CRC32;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

// Spends its time in routines that HotSpot generates: mathematics, array copies, checksums, ciphers, large integers,
// and calls with several targets.
public class Stubs {
	interface Shape {
		int area(int a);
	}

	abstract static class Base implements Shape {
		abstract int side(int a);
	}

	static class First extends Base {
		public int area(int a) {
			return a + 1;
		}

		int side(int a) {
			return a ^ 1;
		}
	}

	static class Second extends Base {
		public int area(int a) {
			return a + 2;
		}

		int side(int a) {
			return a ^ 2;
		}
	}

	static class Third extends Base {
		public int area(int a) {
			return a + 3;
		}

		int side(int a) {
			return a ^ 3;
		}
	}

	static final Shape[] shapes = { new First(), new Second(), new Third(), new First() };
	static final Base[] bases = { new Third(), new First(), new Second(), new Second() };
	static final byte[] bytes = new byte[8192], more = new byte[8192];
	static final Object[] objects = new Object[500], others = new Object[500];
	static double sum;
	static int count;

	static void mathematics() {
		double s = 0;
		for (int i = 1; i < 40_000; i++)
			s += Math.log(i) + Math.sin(i) + Math.cos(i) + Math.exp(i % 50) + Math.pow(i, 1.1) + Math.tan(i);
		sum += s;
	}

	static void copies() {
		for (int i = 0; i < 3_000; i++) {
			System.arraycopy(bytes, i & 7, more, i & 15, 8000);
			System.arraycopy(objects, 0, others, i & 3, 490);
		}
	}

	static void checksums() {
		CRC32 crc = new CRC32();
		Adler32 adler = new Adler32();
		for (int i = 0; i < 4_000; i++)
			crc.update(bytes, 0, bytes.length);
		for (int i = 0; i < 200; i++)
			adler.update(bytes, 0, bytes.length);
		count += (int) (crc.getValue() + adler.getValue());
	}

	static void ciphers() throws Exception {
		Cipher cipher = Cipher.getInstance("AES/CBC/PKCS5Padding");
		cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[16], "AES"), new IvParameterSpec(new byte[16]));
		for (int i = 0; i < 20; i++)
			count += cipher.doFinal(bytes).length;
		MessageDigest digest = MessageDigest.getInstance("SHA-256");
		for (int i = 0; i < 20; i++)
			digest.update(bytes);
		count += digest.digest()[0];
	}

	static void numbers() {
		BigInteger a = new BigInteger(2048, new Random(1)), b = new BigInteger(2048, new Random(2));
		for (int i = 0; i < 100; i++)
			a = a.multiply(b).shiftRight(2048);
		count += a.intValue();
	}

	static void calls() {
		int x = 0;
		for (int i = 0; i < 1_000_000; i++) {
			x = shapes[i & 3].area(x);
			x = bases[(i >> 1) & 3].side(x);
		}
		count += x;
	}

	static void all() throws Exception {
		mathematics();
		copies();
		checksums();
		ciphers();
		numbers();
		calls();
	}

	public static void main(String[] args) throws Exception {
		for (int i = 0; i < 20; i++)
			all();
		System.out.println("ready");
		for (;;)
			all();
	}
}
