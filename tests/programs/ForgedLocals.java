// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that have forged what leads to a ThreadLocal's value, each in another way, and then only
 * count. Run it without a garbage collector (-XX:+UseEpsilonGC), which would trip over it.
 */
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;

public class ForgedLocals {
	static final ThreadLocal<Map<String, Object>> CURRENT = new ThreadLocal<>();
	static final int CLASS = 8, LENGTH = 12, NOWHERE = 0xfffffff0;
	static volatile long sum;

	/* sun.misc.Unsafe, which --release hides from the compiler. */
	static Object unsafe(String method, Class<?>[] types, Object... arguments) throws Exception {
		Class<?> unsafe = Class.forName("sun.misc.Unsafe");
		Field field = unsafe.getDeclaredField("theUnsafe");
		field.setAccessible(true);
		return unsafe.getMethod(method, types).invoke(field.get(null), arguments);
	}

	static void put(Object to, long offset, int value) throws Exception {
		unsafe("putInt", new Class<?>[] { Object.class, long.class, int.class }, to, offset, value);
	}

	static void put(Object to, String name, int value) throws Exception {
		Field field = to.getClass().getDeclaredField(name);
		put(to, (Long) unsafe("objectFieldOffset", new Class<?>[] { Field.class }, field), value);
	}

	static Object read(Object from, String name) throws Exception {
		Field field = from.getClass().getDeclaredField(name);
		field.setAccessible(true);
		return field.get(from);
	}

	/* The entry of CURRENT in the table of this thread. */
	static Object entry(Object[] table) throws Exception {
		for (Object entry : table)
			if (entry != null && read(entry, "value") instanceof Map)
				return entry;
		throw new IllegalStateException("no entry");
	}

	static Object nodeOf(Map<String, Object> map) throws Exception {
		for (Object node : (Object[]) read(map, "table"))
			if (node != null)
				return node;
		throw new IllegalStateException("no node");
	}

	/* The node follows itself. */
	static void circle(Object node) throws Exception {
		Field next = node.getClass().getDeclaredField("next");
		next.setAccessible(true);
		next.set(node, node);
	}

	static void forge(int way) throws Exception {
		Map<String, Object> map = new HashMap<>();
		/* both keys have one hash code */
		map.put(way == 3 ? "sPute" : "route", new String(new char[] { 'f', 'o', 'r', 'g', 'e', 'd' }));
		CURRENT.set(map);
		Field locals = Thread.class.getDeclaredField("threadLocals");
		locals.setAccessible(true);
		Object[] table = (Object[]) read(locals.get(Thread.currentThread()), "table");
		Object entry = entry(table), node = nodeOf(map);
		switch (way) {
		case 0: put(table, LENGTH, 0); break;
		case 1: put(table, LENGTH, 1 << 31); break;
		case 2: put(table, LENGTH, 1 << 20); break;
		case 3: circle(node); break;
		case 4: put(entry, "value", NOWHERE); break;
		case 5: put(read(map.get("route"), "value"), LENGTH, 0x7fffffff); break;
		case 6: put(map.get("route"), CLASS, 0x12345678); break;
		default: put(node, "value", NOWHERE);
		}
		for (long i = 0;; i++) {
			sum += way;
			if (i % 1000000 == 0)
				Thread.sleep(3);
		}
	}

	public static void main(String[] args) throws Exception {
		for (int i = 0; i < 8; i++) {
			int way = i;
			new Thread(() -> {
				try {
					forge(way);
				} catch (Exception e) {
					e.printStackTrace();
				}
			}, "forges " + way).start();
		}
		System.out.println("ready");
		Thread.sleep(Long.MAX_VALUE);
	}
}
