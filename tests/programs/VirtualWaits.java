/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.*;
import java.util.concurrent.locks.*;

/*
 * Virtual threads that wait, and count the time themselves: java VirtualWaits KIND THREADS SECONDS.
 * Every 100 ms it prints a line "NANOTIME A B C": the time of System.nanoTime, and the nanoseconds
 * waited so far below the methods seventy, twenty and ten, which take 70, 20 and 10 % of the waits.
 * Threads that still wait are counted up to that moment. KIND: sleep, park, lock, monitor, wait,
 * condition, semaphore, queue, forever; "direct-" before it starts the threads without an executor,
 * "scope-" starts each in a StructuredTaskScope of its own, which is opened by a platform thread, a
 * virtual thread, or a thread of another scope (--enable-preview).
 * socket: reads a byte from a server of its own, which answers after 3 ms. file: reads a byte from a
 * pipe in the same way, for which a thread keeps its carrier.
 * mixed: each waits for ever, in one of six ways, at a depth of its own.
 */
public class VirtualWaits {
	static volatile boolean stop;
	static volatile long sink;
	static final Object MONITOR = new Object();
	static final ReentrantLock LOCK = new ReentrantLock();
	static final Semaphore PERMITS = new Semaphore(0);
	static final BlockingQueue<Object> QUEUE = new ArrayBlockingQueue<>(1);
	static final Condition CONDITION = LOCK.newCondition();

	/* A thread's waits of each class, in ns, and the begin of the one under way; 0: none. */
	static class Worker {
		final long[] waited = new long[3];
		volatile long since;
		volatile int of;
	}

	static Worker[] workers;

	static long waited(int of, long now) {
		long sum = 0;
		for (Worker w : workers) {
			long since = w.since;
			sum += w.waited[of] + (since != 0 && w.of == of ? now - since : 0);
		}
		return sum;
	}

	static void hold(long ns) {
		for (long end = System.nanoTime() + ns; System.nanoTime() < end;)
			sink++;
	}

	static void waitFor(String kind) throws Exception {
		switch (kind) {
		case "sleep": Thread.sleep(3); break;
		case "park": LockSupport.parkNanos(3_000_000); break;
		case "lock": LOCK.lock(); try { hold(100_000); } finally { LOCK.unlock(); } break;
		case "monitor": synchronized (MONITOR) { hold(100_000); } break;
		case "wait": Object o = new Object(); synchronized (o) { o.wait(3); } break;
		case "condition": LOCK.lock(); try { CONDITION.awaitNanos(3_000_000); } finally { LOCK.unlock(); } break;
		case "semaphore": PERMITS.tryAcquire(3, TimeUnit.MILLISECONDS); break;
		case "forever": LockSupport.park(); break;
		case "socket": Server.ask(); break;
		case "file": Pipe.ask(); break;
		case "sleep-forever": Thread.sleep(Long.MAX_VALUE / 1_000_000); break;
		case "wait-forever": Object mine = new Object(); synchronized (mine) { mine.wait(); } break;
		case "condition-forever": LOCK.lock(); try { CONDITION.await(); } finally { LOCK.unlock(); } break;
		case "semaphore-forever": PERMITS.acquire(); break;
		case "queue-forever": QUEUE.take(); break;
		case "queue": QUEUE.poll(3, TimeUnit.MILLISECONDS); break;
		default: throw new IllegalArgumentException(kind);
		}
	}

	static void timed(Worker w, int of, String kind) throws Exception {
		w.of = of;
		w.since = System.nanoTime();
		try {
			waitFor(kind);
		} finally {
			long since = w.since;
			w.since = 0;
			w.waited[of] += System.nanoTime() - since;
		}
	}

	static void seventy(Worker w, String kind) throws Exception { timed(w, 0, kind); sink++; }
	static void twenty(Worker w, String kind) throws Exception { timed(w, 1, kind); sink++; }
	static void ten(Worker w, String kind) throws Exception { timed(w, 2, kind); sink++; }

	static void deep(int n, int i, Worker w, String kind) throws Exception {
		if (n > 0) {
			deep(n - 1, i, w, kind);
			sink++;
		} else if (i < 7) {
			seventy(w, kind);
		} else if (i < 9) {
			twenty(w, kind);
		} else {
			ten(w, kind);
		}
	}

	/* Answers each byte after 3 ms; a connection for each thread. */
	static class Server {
		static final java.net.ServerSocket SERVER = open();
		static final ConcurrentHashMap<Thread, java.net.Socket> SOCKETS = new ConcurrentHashMap<>();

		static java.net.ServerSocket open() {
			try {
				java.net.ServerSocket server = new java.net.ServerSocket(0, 1000, java.net.InetAddress.getLoopbackAddress());
				Thread accepts = new Thread(() -> accept(server));
				accepts.setDaemon(true);
				accepts.start();
				return server;
			} catch (java.io.IOException e) {
				throw new IllegalStateException(e);
			}
		}

		static void accept(java.net.ServerSocket server) {
			try {
				while (true) {
					java.net.Socket s = server.accept();
					Thread answers = new Thread(() -> answer(s));
					answers.setDaemon(true);
					answers.start();
				}
			} catch (java.io.IOException e) {
				throw new IllegalStateException(e);
			}
		}

		static void answer(java.net.Socket s) {
			try {
				for (int c; (c = s.getInputStream().read()) >= 0;) {
					Thread.sleep(3);
					s.getOutputStream().write(c);
				}
			} catch (Exception e) {
				throw new IllegalStateException(e);
			}
		}

		static void ask() throws Exception {
			java.net.Socket s = SOCKETS.get(Thread.currentThread());
			if (s == null) {
				s = new java.net.Socket(SERVER.getInetAddress(), SERVER.getLocalPort());
				s.setTcpNoDelay(true);
				SOCKETS.put(Thread.currentThread(), s);
			}
			s.getOutputStream().write(1);
			s.getInputStream().read();
		}
	}

	/* A named pipe into which a thread writes a byte every 3 ms. */
	static class Pipe {
		static final ConcurrentHashMap<Thread, java.io.FileInputStream> PIPES = new ConcurrentHashMap<>();

		static void ask() throws Exception {
			java.io.FileInputStream in = PIPES.get(Thread.currentThread());
			if (in == null) {
				String path = java.nio.file.Files.createTempDirectory("pipe").resolve("p").toString();
				new ProcessBuilder("mkfifo", path).start().waitFor();
				Thread writes = new Thread(() -> write(path));
				writes.setDaemon(true);
				writes.start();
				in = new java.io.FileInputStream(path);
				PIPES.put(Thread.currentThread(), in);
			}
			in.read();
		}

		static void write(String path) {
			try (java.io.FileOutputStream out = new java.io.FileOutputStream(path)) {
				new java.io.File(path).delete();
				new java.io.File(path).getParentFile().delete();
				for (;; Thread.sleep(3))
					out.write(1);
			} catch (Exception e) {
				throw new IllegalStateException(e);
			}
		}
	}

	static final String[] FOREVER = { "forever", "sleep-forever", "wait-forever", "condition-forever",
					  "semaphore-forever", "queue-forever" };

	static void work(int first, String kind) {
		try {
			if (kind.equals("mixed"))
				deep(first % 37, first % 10, workers[first], FOREVER[first % FOREVER.length]);
			/* At random: otherwise threads of equal pace may all be in the same method. */
			for (ThreadLocalRandom random = ThreadLocalRandom.current(); !stop;)
				deep(20, random.nextInt(10), workers[first], kind);
		} catch (Exception e) {
			e.printStackTrace();
		}
	}

	/* By reflection, because this is compiled for JDK 8. */
	static ExecutorService executor() throws Exception {
		Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
		Class<?> type = Class.forName("java.lang.Thread$Builder$OfVirtual");
		builder = type.getMethod("name", String.class, long.class).invoke(builder, "worker-", 0L);
		ThreadFactory factory = (ThreadFactory)type.getMethod("factory").invoke(builder);
		return (ExecutorService)Executors.class.getMethod("newThreadPerTaskExecutor", ThreadFactory.class)
			.invoke(null, factory);
	}

	/* Opens a scope, starts a thread in it, and waits for it. */
	static void runInScope(Callable<Object> task) {
		try {
			Class<?> type = Class.forName("java.util.concurrent.StructuredTaskScope");
			Object scope;
			try {
				scope = type.getMethod("open").invoke(null);
			} catch (NoSuchMethodException e) { /* before JDK 25 it is a class */
				scope = type.getConstructor().newInstance();
			}
			type.getMethod("fork", Callable.class).invoke(scope, task);
			type.getMethod("join").invoke(scope);
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	static void startInScope(int first, String kind) throws Exception {
		Callable<Object> task = () -> {
			work(first, kind);
			return null;
		};
		Runnable opens = () -> runInScope(task);
		if (first % 3 == 0) {
			Thread platform = new Thread(opens);
			platform.setDaemon(true);
			platform.start();
		} else {
			if (first % 3 == 1)
				opens = () -> runInScope(() -> {
					runInScope(task);
					return null;
				});
			Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, opens);
		}
	}

	public static void main(String[] args) throws Exception {
		boolean isDirect = args[0].startsWith("direct-");
		boolean isScoped = args[0].startsWith("scope-");
		String kind = isDirect ? args[0].substring(7) : isScoped ? args[0].substring(6) : args[0];
		int threads = Integer.parseInt(args[1]);
		long end = System.nanoTime() + Long.parseLong(args[2]) * 1_000_000_000L;
		workers = new Worker[threads];
		for (int i = 0; i < threads; i++)
			workers[i] = new Worker();
		ExecutorService executor = isDirect || isScoped ? null : executor();
		for (int i = 0; i < threads; i++) {
			int first = i;
			if (isScoped)
				startInScope(i, kind);
			else if (isDirect)
				Thread.class.getMethod("startVirtualThread", Runnable.class)
					.invoke(null, (Runnable)() -> work(first, kind));
			else
				executor.submit(() -> work(first, kind));
		}
		System.out.println("ready");
		while (System.nanoTime() < end) {
			Thread.sleep(100);
			long now = System.nanoTime();
			System.out.println(now + " " + waited(0, now) + " " + waited(1, now) + " " + waited(2, now));
		}
		stop = true;
		System.exit(0);
	}
}
