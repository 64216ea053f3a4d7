// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.MutableCallSite;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import java.util.zip.CRC32;

/**
 * Threads with known call shapes: each runs one shape forever and has its name. A shape is the chain
 * run, l0 .. l3, op, possibly followed by JDK code; tests/jvm/oracle.awk has the chains. Arguments name
 * the shapes to run (default: all). Once standard input names a shape, only that one runs.
 */
public final class Shapes extends Thread {
	public interface Op {
		int apply(int x) throws Throwable;
	}

	static volatile int sink;
	static volatile String turn;
	final Op op;

	Shapes(String name, Op op) {
		super(null, null, name, 16 << 20);
		this.op = op;
		setDaemon(true);
	}

	@Override
	public void run() {
		for (int i = 0;; i++)
			if (turn == null || turn.equals(getName()))
				sink = l0(i);
			else
				LockSupport.parkNanos(1000000);
	}

	int l0(int x) {
		return l1(x + 1) + 1;
	}

	int l1(int x) {
		return l2(x, 1, 2, 3, 4, 5, 6, 7, 8L, 9.0) + 1;
	}

	/** More arguments than registers: some are passed on the stack. */
	int l2(int x, int a, int b, int c, int d, int e, int f, int g, long h, double i) {
		return l3(x + a + b + c + d + e + f + g + (int) h + (int) i) + 1;
	}

	int l3(int x) {
		try {
			return op.apply(x) + 1;
		} catch (Throwable t) {
			throw new IllegalStateException(t);
		}
	}

	static int work(int x) {
		for (int i = 0; i < 40; i++)
			x = x * 31 + i;
		return x;
	}

	/** Work in loops: most stops then find the whole chain. */
	public static int spin(int x) {
		for (int i = 0; i < 300; i++)
			x += work(x);
		return x;
	}

	static int recurse(int depth, int x) {
		return depth == 0 ? spin(x) : recurse(depth - 1, x + 1) + 1;
	}

	static int even(int depth, int x) {
		return depth == 0 ? spin(x) : odd(depth - 1, x) + 1;
	}

	static int odd(int depth, int x) {
		return even(depth - 1, x) + 1;
	}

	static int thrower(int depth) throws Exception {
		if (depth == 0)
			throw new Exception("known");
		return thrower(depth - 1) + 1;
	}

	static int catcher(int x) {
		try {
			return thrower(7);
		} catch (Exception e) {
			return x;
		}
	}

	static synchronized int locked(int x) {
		return spin(x);
	}

	static final class Small implements Op {
		public int apply(int x) {
			return x ^ 5;
		}
	}

	abstract static class Shape {
		abstract int area(int x);
	}

	static final class A extends Shape {
		int area(int x) {
			return work(x);
		}
	}

	static final class B extends Shape {
		int area(int x) {
			return work(x + 1);
		}
	}

	static final class C extends Shape {
		int area(int x) {
			return work(x + 2);
		}
	}

	static final class D extends Shape {
		int area(int x) {
			return work(x + 3);
		}
	}

	static final Shape[] SHAPES = {new A(), new B(), new C(), new D()};

	static int mega(int x) {
		for (int i = 0; i < 64; i++)
			x += SHAPES[i & 3].area(x);
		return x;
	}

	static int osr(int x) {
		for (int i = 0; i < 20000000; i++)
			x = x * 31 + (x >> 3);
		return x;
	}

	static final byte[] BYTES = new byte[5000], COPY = new byte[5000];

	static int intrinsics(int x) {
		CRC32 crc = new CRC32();

		System.arraycopy(BYTES, x & 15, COPY, x & 7, 4000);
		crc.update(BYTES, 0, 3000);
		double d = Math.sin(x) + Math.pow(x, 1.5) + Math.log(x & 0xffff) + Math.exp(x & 7);
		return (int) crc.getValue() + (int) d + (Arrays.equals(BYTES, COPY) ? 1 : 0);
	}

	static int natives(int x) {
		for (int i = 0; i < 10; i++)
			x += System.identityHashCode(new Object()) + (int) System.nanoTime()
					+ Thread.currentThread().hashCode();
		return x;
	}

	static int allocate(int x) {
		Map<Integer, String> map = new HashMap<>();

		for (int i = 0; i < 50; i++)
			map.put(i * x, "value" + i);
		return map.toString().length();
	}

	static int streams(int x) {
		IntUnaryOperator f = v -> work(v + x);

		return IntStream.range(0, 50).map(f).filter(v -> (v & 1) == 0).sum();
	}

	/** The types change: compiled code is repeatedly discarded. */
	static int deopt(int x) {
		Object o = (x & 0xffff) < 10 ? (Object) Integer.valueOf(x) : "text" + (x & 7);

		return o instanceof Integer ? spin((Integer) o) : o.hashCode() + spin(x);
	}

	public static int target(int x) {
		return spin(x);
	}

	static native int callBack(int x);

	/** Called by tests/programs/shapes_jni.c. */
	static int calledBack(int x) {
		return spin(x);
	}

	/** Loaded repeatedly by new class loaders, which die. */
	public static final class Unloaded implements Op {
		public int apply(int x) {
			return spin(x);
		}
	}

	static final class Loader extends ClassLoader {
		final byte[] code;

		Loader(byte[] code) {
			super(Shapes.class.getClassLoader());
			this.code = code;
		}

		Op load() throws Exception {
			return (Op) defineClass("Shapes$Unloaded", code, 0, code.length)
					.getDeclaredConstructor().newInstance();
		}
	}

	static byte[] codeOfUnloaded() throws Exception {
		byte[] code = new byte[4096];
		int n = 0;

		try (InputStream in = Shapes.class.getResourceAsStream("Shapes$Unloaded.class")) {
			for (int got; (got = in.read(code, n, code.length - n)) > 0;)
				n += got;
		}
		return Arrays.copyOf(code, n);
	}

	static int unload(byte[] code, int x) throws Throwable {
		Op op = new Loader(code).load();

		if (x % 50 == 0)
			System.gc();
		for (int i = 0; i < 200; i++)
			x += op.apply(x);
		return x;
	}

	static final MutableCallSite SITE =
			new MutableCallSite(MethodType.methodType(int.class, int.class));
	static final MethodHandle INVOKER = SITE.dynamicInvoker();
	static MethodHandle[] storms;

	static int stormA(int x) {
		return spin(x);
	}

	static int stormB(int x) {
		return spin(x + 1);
	}

	/** Code is compiled for the call site's target and discarded when the target changes. */
	static int storm(int x) throws Throwable {
		if (x % 300 == 0) {
			SITE.setTarget(storms[x / 300 & 1]);
			MutableCallSite.syncAll(new MutableCallSite[] {SITE});
		}
		return (int) INVOKER.invokeExact(x);
	}

	static MethodHandle find(String name) throws Exception {
		return MethodHandles.lookup().findStatic(Shapes.class, name,
				MethodType.methodType(int.class, int.class));
	}

	/** Starts a platform thread if there are no virtual ones. */
	static void startVirtual(Runnable what) throws Exception {
		try {
			Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, what);
		} catch (NoSuchMethodException e) {
			new Thread(null, what, "ForkJoinPool-1-worker-1").start();
		}
	}

	public static void main(String[] args) throws Throwable {
		Method method = Shapes.class.getMethod("target", int.class);
		MethodHandle handle = find("target");
		byte[] unloaded = codeOfUnloaded();
		Object[][] shapes = {
			{"calls", new Small()},
			{"recurse", (Op) x -> recurse(61, x)},
			{"deep", (Op) x -> recurse(900, x)},
			{"mutual", (Op) x -> even(46, x)},
			{"throw", (Op) Shapes::catcher},
			{"locked", (Op) Shapes::locked},
			{"mega", (Op) Shapes::mega},
			{"osr", (Op) Shapes::osr},
			{"intrinsics", (Op) Shapes::intrinsics},
			{"natives", (Op) Shapes::natives},
			{"allocate", (Op) Shapes::allocate},
			{"streams", (Op) Shapes::streams},
			{"deopt", (Op) Shapes::deopt},
			{"reflect", (Op) x -> (int) method.invoke(null, x)},
			{"handle", (Op) x -> (int) handle.invokeExact(x)},
			{"jni", (Op) Shapes::callBack},
			{"unload", (Op) x -> unload(unloaded, x)},
			{"storm", (Op) Shapes::storm},
		};
		storms = new MethodHandle[] {find("stormA"), find("stormB")};
		SITE.setTarget(storms[0]);
		System.load(new File(Shapes.class.getProtectionDomain().getCodeSource().getLocation().toURI())
				.toPath().resolve("shapes_jni").toString());
		for (Object[] s : shapes)
			if (args.length == 0 || Arrays.asList(args).contains(s[0]))
				new Shapes((String) s[0], (Op) s[1]).start();
		startVirtual(new Shapes("virtual", (Op) x -> recurse(30, x)));
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		while ((turn = in.readLine()) != null)
			continue;
		Thread.sleep(1000000);
	}
}
