/* SPDX-License-Identifier: Apache-2.0 */
import java.lang.reflect.*;
import java.util.*;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/*
 * Virtual threads whose objects are forged all the time, while they are parked: chunks with sizes
 * beyond the heap, chunks that are their own parents or those of other threads, objects of a wrong
 * class, a table of, at times, 2^31 - 1 slots, whose nodes are rings. They wait for locks that are none, or
 * that a text owns. Their scopes are rings, and have these threads themselves. java Forges THREADS; needs a
 * JVM that never collects, --add-opens for java.lang, java.util.concurrent, java.util.concurrent.locks,
 * jdk.internal.vm and jdk.internal.misc. Prints "ready" once it forges.
 */
public class Forges {
	static Object unsafe;
	static final Map<String, Method> METHODS = new HashMap<>();
	static final Random RANDOM = new Random(1);

	static void find() throws Exception {
		Class<?> type = Class.forName("sun.misc.Unsafe");
		Field f = type.getDeclaredField("theUnsafe");
		f.setAccessible(true);
		unsafe = f.get(null);
		METHODS.put("offset", type.getMethod("objectFieldOffset", Field.class));
		METHODS.put("get", type.getMethod("getObject", Object.class, long.class));
		METHODS.put("put", type.getMethod("putObject", Object.class, long.class, Object.class));
		METHODS.put("putInt", type.getMethod("putInt", Object.class, long.class, int.class));
	}

	static Object call(String method, Object... args) throws Exception {
		return METHODS.get(method).invoke(unsafe, args);
	}

	static long offset(Class<?> type, String field) throws Exception {
		return (Long)call("offset", type.getDeclaredField(field));
	}

	static Object get(Object o, String field) throws Exception {
		return call("get", o, offset(o.getClass(), field));
	}

	static Object scope;
	static final Object[] blockers = { "text", null, new ReentrantLock(), new Object[1000], Thread.class };

	/* A scope that encloses itself and has the threads that opened it. */
	static void forgeScope(Object threads) throws Exception {
		Class<?> type = Class.forName("jdk.internal.misc.ThreadFlock");
		Object flock = type.getMethod("open", String.class).invoke(null, "forged");
		scope = get(flock, "container");
		call("put", scope, offset(Class.forName("jdk.internal.vm.StackableScope"), "previous"), scope);
		call("put", flock, offset(type, "threads"), threads);
		/* Parts of locks: a synchronizer that a text owns. */
		Object sync = get(blockers[2], "sync");
		call("put", sync, offset(Class.forName("java.util.concurrent.locks.AbstractOwnableSynchronizer"),
					 "exclusiveOwnerThread"), "text");
		blockers[2] = sync;
		blockers[1] = scope;
	}

	static void forgeWait(Thread t) throws Exception {
		call("put", t, offset(Thread.class, "parkBlocker"), blockers[RANDOM.nextInt(blockers.length)]);
		call("put", t, offset(Thread.class, "headStackableScopes"), RANDOM.nextInt(8) == 0 ? "text" : scope);
	}

	static Object[] table;
	static int slots;

	static void forgeTable() throws Exception {
		Field threads = Class.forName("jdk.internal.vm.ThreadContainers$RootContainer$TrackingRootContainer")
			.getDeclaredField("VTHREADS");
		threads.setAccessible(true);
		Object set = threads.get(null);
		Object map = call("get", set, offset(set.getClass().getSuperclass(), "map"));
		table = (Object[])get(map, "table");
		forgeScope(set);
		slots = table.length;
		for (Object node : table)
			if (node != null && RANDOM.nextInt(4) == 0)
				call("put", node, offset(Class.forName("java.util.concurrent.ConcurrentHashMap$Node"), "next"), node);
	}

	static void forgeThread(Object cont, Object chunk, Object other) throws Exception {
		String[] sizes = { "sp", "size", "bottom" };
		int[] values = { 0, 2, -1, Integer.MAX_VALUE, 1 << 24, RANDOM.nextInt(), RANDOM.nextInt(1000) };

		call("putInt", chunk, offset(chunk.getClass(), sizes[RANDOM.nextInt(3)]), values[RANDOM.nextInt(values.length)]);
		call("put", chunk, offset(chunk.getClass(), "parent"), RANDOM.nextBoolean() ? chunk : other);
		if (RANDOM.nextInt(8) == 0)
			call("put", cont, offset(cont.getClass().getSuperclass(), "tail"), RANDOM.nextBoolean() ? "text" : other);
	}

	public static void main(String[] args) throws Exception {
		find();
		List<Object> conts = new ArrayList<>(), chunks = new ArrayList<>();
		List<Thread> threads = new ArrayList<>();
		for (int i = 0; i < Integer.parseInt(args[0]); i++)
			threads.add((Thread)Thread.class.getMethod("startVirtualThread", Runnable.class)
				.invoke(null, (Runnable)() -> { while (true) LockSupport.park(); }));
		Thread.sleep(1000);
		for (Thread t : threads) {
			conts.add(get(t, "cont"));
			chunks.add(call("get", conts.get(conts.size() - 1), offset(conts.get(0).getClass().getSuperclass(), "tail")));
		}
		forgeTable();
		System.out.println("ready");
		while (true) {
			for (int i = 0; i < conts.size(); i++) {
				forgeThread(conts.get(i), chunks.get(i), chunks.get(RANDOM.nextInt(chunks.size())));
				forgeWait(threads.get(i));
			}
			/* The length of the array, with narrow class pointers. */
			call("putInt", table, 12L, RANDOM.nextInt(4) == 0 ? Integer.MAX_VALUE : slots);
			Thread.sleep(1);
		}
	}
}
