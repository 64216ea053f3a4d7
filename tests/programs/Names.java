// SPDX-License-Identifier: Apache-2.0
// Threads that wait in known call shapes. Prints for each frame the JVM's own report:
// "frame THREAD CLASS METHOD LINE", leaf first, hidden frames only with -XX:+ShowHiddenFrames.
import java.io.PrintStream;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntUnaryOperator;

public class Names {
	static volatile boolean closed;
	static int sink;
	static volatile boolean isWarm; // the loop of inlined() has ended

	interface Shape { void run() throws Exception; }

	static void nap(int round) throws InterruptedException {
		Thread.sleep(round < 0 ? 3600_000 : 0);
	}

	static int recurse(int depth) throws InterruptedException {
		if (depth == 0)
			nap(-1);
		else
			return recurse(depth - 1) + 1;
		return 0;
	}

	static int leaf(int i) throws InterruptedException { nap(i); return i + 3; }
	static int middle(int i) throws InterruptedException { return leaf(i) * 7; }
	static int hot(int i) throws InterruptedException {
		return middle(i)
			+ 1;
	}

	static void inlined() throws InterruptedException {
		for (int i = 0; i < 40_000; i++)
			sink += hot(i);
		isWarm = true;
		hot(-1);
	}

	static void lambda() {
		IntUnaryOperator nested = x -> {
			Runnable r = () -> LockSupport.park();
			while (true)
				r.run();
		};
		nested.applyAsInt(1);
	}

	static void reflected() throws Exception {
		Names.class.getDeclaredMethod("waiting").invoke(null);
	}

	static synchronized void waiting() throws InterruptedException {
		Object lock = new Object();
		synchronized (lock) {
			lock.wait();
		}
	}

	static void m\u00e9thode\u540d\ud835\udcb3() throws InterruptedException { nap(-1); }

	static class Initialized {
		static { try { nap(-1); } catch (InterruptedException e) { } }
		static void touch() { }
	}

	static class Constructed {
		final long value;
		Constructed(long value) throws InterruptedException { this.value = value; nap(-1); }
	}

	static final Thread[] threads = new Thread[7];
	static int nrThreads;

	static void start(String name, Shape shape) {
		Thread t = new Thread(() -> {
			try {
				shape.run();
			} catch (Exception e) {
				throw new RuntimeException(e);
			}
		}, name);
		t.setDaemon(true);
		threads[nrThreads++] = t;
		t.start();
	}

	static void await(Thread t) throws InterruptedException {
		/* inlined() first sleeps for no time 40,000 times, on a busy machine for long each time */
		while (!isWarm)
			Thread.sleep(10);
		for (int same = 0, hash = 0; same < 20; Thread.sleep(10)) {
			Thread.State s = t.getState();
			int now = java.util.Arrays.hashCode(t.getStackTrace());
			boolean stopped = s == Thread.State.WAITING || s == Thread.State.TIMED_WAITING;
			same = stopped && now == hash ? same + 1 : 0;
			hash = now;
		}
	}

	/* From JDK 21 on: makes the JVM generate the code for continuations. */
	static void startVirtualThread() throws Exception {
		Runnable park = LockSupport::park;
		try {
			Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, park);
		} catch (NoSuchMethodException e) {
			// JDK 20 and before
		}
	}

	public static void main(String[] args) throws Exception {
		PrintStream out = new PrintStream(System.out, false, "UTF-8");
		start("t-recurse", () -> recurse(17));
		start("t-inlined", Names::inlined);
		start("t-lambda", Names::lambda);
		start("t-reflected", Names::reflected);
		start("t-unicode", Names::m\u00e9thode\u540d\ud835\udcb3);
		start("t-clinit", Initialized::touch);
		start("t-init", () -> new Constructed(5));
		startVirtualThread();
		for (Thread t : threads)
			await(t);
		for (Thread t : threads)
			for (StackTraceElement e : t.getStackTrace())
				out.println("frame " + t.getName() + " " + e.getClassName() + " "
					+ e.getMethodName() + " " + Math.max(e.getLineNumber(), 0));
		out.println("ready");
		out.flush();
		Thread.sleep(3600_000);
	}
}
